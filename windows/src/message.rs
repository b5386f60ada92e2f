//! Requests as they travel: a message is a batch of operations, one behind the other. Pure.
//!
//! | offset | field                                                                   |
//! |-------:|-------------------------------------------------------------------------|
//! |      0 | kind                                                                    |
//! |      1 | flags: data follows inline, a layout follows, exclusive                 |
//! |      2 | the operation's ABI handle                                              |
//! |      4 | the element's ABI handles: value and, of a pair, index                  |
//! |      8 | tag of the data message, or of the answer                               |
//! |     12 | bytes of the layout                                                     |
//! |     16 | displacement in bytes                                                   |
//! |     24 | bytes of data                                                           |
//!
//! Behind each come its layout and its inline data. Numbers are little endian.

use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::Predefined;

use crate::{Element, LockKind};

/// Bytes of a request without layout and data.
pub const HEAD_BYTES: usize = 32;

const INLINE: u8 = 1;
const LAYOUT: u8 = 2;
const EXCLUSIVE: u8 = 4;

/// What is asked of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Write the data.
    Put,
    /// Answer with the data.
    Get,
    /// Combine the data.
    Accumulate(Element, Predefined),
    /// Combine the data and answer with what was there.
    Fetch(Element, Predefined),
    /// The data is the value to compare with and the new one; answer with what was there.
    CompareSwap,
    /// Nothing that follows is done before the lock is held.
    Lock(LockKind),
    /// Give the lock back when everything before is done, and answer.
    Unlock,
    /// Answer when everything before is done.
    Flush,
    /// Look whether a lock that is waited for has become free.
    Poke,
}

/// One operation of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'m> {
    /// What is asked.
    pub kind: Kind,
    /// Of the message that brings the data, or takes the answer.
    pub tag: u32,
    /// From the beginning of the window, or an address in a dynamic one.
    pub displacement: i64,
    /// Bytes that are accessed.
    pub bytes: u64,
    /// Where they lie; empty if they are one block.
    pub layout: &'m [u8],
    /// The data, if it is short.
    pub data: Option<&'m [u8]>,
}

impl Request<'_> {
    /// A request without data.
    pub fn bare(kind: Kind, tag: u32) -> Request<'static> {
        Request {
            kind,
            tag,
            displacement: 0,
            bytes: 0,
            layout: &[],
            data: None,
        }
    }

    /// Appends it to a batch.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (kind, element, op, flag) = match self.kind {
            Kind::Put => (1, None, None, 0),
            Kind::Get => (2, None, None, 0),
            Kind::Accumulate(element, op) => (3, Some(element), Some(op), 0),
            Kind::Fetch(element, op) => (4, Some(element), Some(op), 0),
            Kind::CompareSwap => (5, None, None, 0),
            Kind::Lock(LockKind::Shared) => (6, None, None, 0),
            Kind::Lock(LockKind::Exclusive) => (6, None, None, EXCLUSIVE),
            Kind::Unlock => (7, None, None, 0),
            Kind::Flush => (8, None, None, 0),
            Kind::Poke => (9, None, None, 0),
        };
        let (value, index) = match element {
            None => (0, 0),
            Some(Element::Basic(basic)) => (basic.handle(), 0),
            Some(Element::Pair(value, index)) => (value.handle(), index.handle()),
        };
        let inline = if self.data.is_some() { INLINE } else { 0 };
        let layout = if self.layout.is_empty() { 0 } else { LAYOUT };
        out.extend_from_slice(&[kind, flag | inline | layout]);
        let op = op.map_or(0, Predefined::handle);
        for handle in [op, value, index] {
            out.extend_from_slice(&handle.to_le_bytes());
        }
        out.extend_from_slice(&self.tag.to_le_bytes());
        out.extend_from_slice(&(self.layout.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.displacement.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(self.layout);
        out.extend_from_slice(self.data.unwrap_or(&[]));
    }
}

/// The first request of a batch and how long it is; none if it cannot be read.
pub fn decode(batch: &[u8]) -> Option<(Request<'_>, usize)> {
    let (head, rest) = batch.split_at_checked(HEAD_BYTES)?;
    let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let flags = head[1];
    let combination = || {
        let op = Predefined::from_handle(short(2))?;
        let value = Basic::from_handle(short(4))?;
        let element = match short(6) {
            0 => Element::Basic(value),
            index => Element::Pair(value, Basic::from_handle(index)?),
        };
        Some((element, op))
    };
    let kind = match head[0] {
        1 => Kind::Put,
        2 => Kind::Get,
        3 => combination().map(|(element, op)| Kind::Accumulate(element, op))?,
        4 => combination().map(|(element, op)| Kind::Fetch(element, op))?,
        5 => Kind::CompareSwap,
        6 if flags & EXCLUSIVE != 0 => Kind::Lock(LockKind::Exclusive),
        6 => Kind::Lock(LockKind::Shared),
        7 => Kind::Unlock,
        8 => Kind::Flush,
        9 => Kind::Poke,
        _ => return None,
    };
    let (layout, rest) = rest.split_at_checked(word(12) as usize)?;
    if layout.is_empty() == (flags & LAYOUT != 0) {
        return None;
    }
    let bytes = long(24);
    let length = match kind {
        _ if flags & INLINE == 0 => 0,
        Kind::CompareSwap => usize::try_from(bytes.checked_mul(2)?).ok()?,
        _ => usize::try_from(bytes).ok()?,
    };
    let data = rest.get(..length)?;
    let request = Request {
        kind,
        tag: word(8),
        displacement: long(16) as i64,
        bytes,
        layout,
        data: (flags & INLINE != 0).then_some(data),
    };
    Some((request, HEAD_BYTES + layout.len() + length))
}

/// Why a target could not do its part; the answer to a flush or an unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The memory is not the window's.
    Memory {
        /// Where the access begins.
        displacement: i64,
        /// How long it is.
        bytes: u64,
    },
    /// A process that held or awaited the lock earlier has died.
    Died {
        /// Which.
        process: u32,
    },
    /// The request cannot be read, or means nothing.
    Garbled,
}

/// Bytes of a refusal; no bytes at all mean that all is well.
pub const REFUSAL_BYTES: usize = 17;

impl Refusal {
    /// As it travels.
    pub fn encode(&self) -> [u8; REFUSAL_BYTES] {
        let (kind, first, second) = match *self {
            Refusal::Memory {
                displacement,
                bytes,
            } => (1, displacement as u64, bytes),
            Refusal::Died { process } => (2, u64::from(process), 0),
            Refusal::Garbled => (3, 0, 0),
        };
        let mut out = [0; REFUSAL_BYTES];
        out[0] = kind;
        out[1..9].copy_from_slice(&first.to_le_bytes());
        out[9..].copy_from_slice(&second.to_le_bytes());
        out
    }

    /// The refusal that travelled so.
    pub fn decode(bytes: &[u8; REFUSAL_BYTES]) -> Refusal {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        match bytes[0] {
            1 => Refusal::Memory {
                displacement: long(1) as i64,
                bytes: long(9),
            },
            2 => Refusal::Died {
                process: long(1) as u32,
            },
            _ => Refusal::Garbled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_arrive_as_they_were() {
        let sum = Kind::Accumulate(Element::Basic(Basic::Double), Predefined::Sum);
        let pair = Element::Pair(Basic::Float, Basic::Int);
        let kinds = [
            Kind::Put,
            Kind::Get,
            sum,
            Kind::Fetch(pair, Predefined::MaxLoc),
            Kind::CompareSwap,
            Kind::Lock(LockKind::Shared),
            Kind::Lock(LockKind::Exclusive),
            Kind::Unlock,
            Kind::Flush,
            Kind::Poke,
        ];
        let mut batch = Vec::new();
        let mut requests = Vec::new();
        for (at, kind) in kinds.into_iter().enumerate() {
            let data = (at % 2 == 0).then_some(&[7_u8; 16][..]);
            let double = kind == Kind::CompareSwap;
            let request = Request {
                kind,
                tag: at as u32,
                displacement: -5 + at as i64,
                bytes: if double { 8 } else { 16 },
                layout: if at % 3 == 0 { &[3; 24] } else { &[] },
                data,
            };
            request.encode(&mut batch);
            requests.push(request);
        }
        let mut rest = &batch[..];
        for request in requests {
            let (found, length) = decode(rest).unwrap();
            assert_eq!(found, request);
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        for length in 0..HEAD_BYTES + 40 {
            let first = decode(&batch[..length]);
            assert_eq!(first.is_some(), length >= HEAD_BYTES + 40, "{length}");
        }
    }

    #[test]
    fn refusals_arrive_as_they_were() {
        let memory = Refusal::Memory {
            displacement: -9,
            bytes: 1 << 40,
        };
        for refusal in [memory, Refusal::Died { process: 7 }, Refusal::Garbled] {
            assert_eq!(Refusal::decode(&refusal.encode()), refusal);
        }
    }
}
