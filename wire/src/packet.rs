//! The field table, and a view that reads the fields out of bytes.
//!
//! All integers are little endian. A packet is the header, the body its kind calls for, the payload:
//!
//! | offset | field    | type | meaning                                                          |
//! |-------:|----------|------|------------------------------------------------------------------|
//! |      0 | version  | u8   | [`VERSION`]                                                      |
//! |      1 | kind     | u8   | [`Code`]                                                         |
//! |      2 | flags    | u16  | [`flag`]; a kind refuses flags it does not have                  |
//! |      4 | context  | u32  | the communicator's context                                       |
//! |      8 | source   | u32  | the sender's rank in that communicator                           |
//! |     12 | tag      | i32  | users' tags are not negative; the library's own may be           |
//! |     16 | bytes    | u64  | length of the whole message, not of this fragment                |
//! |     24 | sequence | u32  | counts packets between this ordered pair of processes            |
//! |     28 | credit   | u32  | eager space given back, in [`CREDIT_UNIT`](crate::CREDIT_UNIT)s  |
//! |     32 | word 0   | u64  | body, see [`Kind`](crate::Kind): tokens, or the offset of `More` |
//! |     40 | word 1   | u64  | body: address, receive token, or the offset of `Data`            |
//! |     48 | word 2   | u64  | body: not used by this version                                   |
//!
//! [`Packet`] checks once, in [`Packet::new_checked`], and reads without failing afterwards.

use crate::{BODY_MAX, HEADER_BYTES, PREFIX_BYTES, VERSION, WireError};

/// Where the fields lie; nobody outside this file knows.
mod field {
    pub const VERSION: usize = 0;
    pub const KIND: usize = 1;
    pub const FLAGS: usize = 2;
    pub const CONTEXT: usize = 4;
    pub const SOURCE: usize = 8;
    pub const TAG: usize = 12;
    pub const BYTES: usize = 16;
    pub const SEQUENCE: usize = 24;
    pub const CREDIT: usize = 28;
    pub const BODY: usize = 32;
}

const _: () = assert!(field::BODY == HEADER_BYTES && field::CREDIT + 4 == HEADER_BYTES);

/// The flag bits of the header.
pub mod flag {
    /// `RequestToSend`: the address is an offset in the shared segment.
    pub const MAPPED: u16 = 1;
    /// `RequestToSend`: the receiver may read the bytes out of the sender's memory itself.
    pub const FETCHABLE: u16 = 2;
    /// `RequestToSend`: the sender waits for the match, even of a message that would fit elsewhere.
    pub const SYNC: u16 = 4;
    /// `CancelReply`: the message was taken back; without it the match came first.
    pub const CANCELLED: u16 = 8;
}

/// The kind byte of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Code {
    /// First fragment of a message whose bytes travel without asking.
    Eager = 1,
    /// Further fragment of the eager message this sender began last.
    More = 2,
    /// A message that waits at the sender until it is matched.
    RequestToSend = 3,
    /// The receiver has matched and awaits the data.
    ClearToSend = 4,
    /// Fragment of a matched message.
    Data = 5,
    /// The receiver fetched everything itself.
    Done = 6,
    /// Nothing but the header's credit.
    Credit = 7,
    /// The sender asks to take back an unmatched `RequestToSend`.
    Cancel = 8,
    /// The answer to `Cancel`.
    CancelReply = 9,
}

impl Code {
    /// The kind a kind byte names, if this version has it.
    #[inline]
    pub const fn from_byte(byte: u8) -> Option<Code> {
        Some(match byte {
            1 => Code::Eager,
            2 => Code::More,
            3 => Code::RequestToSend,
            4 => Code::ClearToSend,
            5 => Code::Data,
            6 => Code::Done,
            7 => Code::Credit,
            8 => Code::Cancel,
            9 => Code::CancelReply,
            _ => return None,
        })
    }

    /// Bytes of the body that follows the header of this kind.
    #[inline]
    pub const fn body_bytes(self) -> usize {
        match self {
            Code::Eager | Code::Credit => 0,
            Code::More | Code::Done | Code::Cancel | Code::CancelReply => 8,
            Code::RequestToSend | Code::ClearToSend | Code::Data => 16,
        }
    }

    /// The flags this kind may carry.
    #[inline]
    pub const fn flags_allowed(self) -> u16 {
        match self {
            Code::RequestToSend => flag::MAPPED | flag::FETCHABLE | flag::SYNC,
            Code::CancelReply => flag::CANCELLED,
            _ => 0,
        }
    }
}

/// A read-only view of a packet that has been found legal.
///
/// The buffer may be longer than the packet's prefix: the rest is the payload.
#[derive(Clone, Copy, Debug)]
pub struct Packet<T: AsRef<[u8]>> {
    buffer: T,
    code: Code,
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// Checks version, kind, flags and length; everything read afterwards is there and legal.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, WireError> {
        let code = check(buffer.as_ref())?;
        Ok(Packet { buffer, code })
    }

    /// The kind.
    #[inline]
    pub fn code(&self) -> Code {
        self.code
    }

    /// The flags, all of which the kind allows.
    #[inline]
    pub fn flags(&self) -> u16 {
        u16::from_le_bytes(self.array(field::FLAGS))
    }

    /// The communicator's context.
    #[inline]
    pub fn context(&self) -> u32 {
        u32::from_le_bytes(self.array(field::CONTEXT))
    }

    /// The sender's rank in the communicator.
    #[inline]
    pub fn source(&self) -> u32 {
        u32::from_le_bytes(self.array(field::SOURCE))
    }

    /// The message's tag.
    #[inline]
    pub fn tag(&self) -> i32 {
        i32::from_le_bytes(self.array(field::TAG))
    }

    /// Length of the whole message.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from_le_bytes(self.array(field::BYTES))
    }

    /// Number of this packet between its pair of processes.
    #[inline]
    pub fn sequence(&self) -> u32 {
        u32::from_le_bytes(self.array(field::SEQUENCE))
    }

    /// Eager space given back, in units of [`CREDIT_UNIT`](crate::CREDIT_UNIT) bytes.
    #[inline]
    pub fn credit(&self) -> u32 {
        u32::from_le_bytes(self.array(field::CREDIT))
    }

    /// The body's first word; only for kinds whose body has it.
    #[inline]
    pub(crate) fn word0(&self) -> u64 {
        u64::from_le_bytes(self.array(field::BODY))
    }

    /// The body's second word; only for kinds whose body has it.
    #[inline]
    pub(crate) fn word1(&self) -> u64 {
        u64::from_le_bytes(self.array(field::BODY + 8))
    }

    /// What follows header and body.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buffer.as_ref()[HEADER_BYTES + self.code.body_bytes()..]
    }

    #[inline]
    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        *self.buffer.as_ref()[offset..]
            .first_chunk()
            .expect("new_checked saw header and body of this kind")
    }
}

#[inline]
fn check(bytes: &[u8]) -> Result<Code, WireError> {
    let found = bytes.len();
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(WireError::Short {
            found,
            needed: HEADER_BYTES,
        });
    };
    if header[field::VERSION] != VERSION {
        return Err(WireError::Version {
            found: header[field::VERSION],
        });
    }
    let Some(code) = Code::from_byte(header[field::KIND]) else {
        return Err(WireError::Kind {
            found: header[field::KIND],
        });
    };
    let flags = u16::from_le_bytes([header[field::FLAGS], header[field::FLAGS + 1]]);
    let allowed = code.flags_allowed();
    if flags & !allowed != 0 {
        return Err(WireError::Flags {
            kind: code as u8,
            found: flags,
            allowed,
        });
    }
    let needed = HEADER_BYTES + code.body_bytes();
    if found < needed {
        return Err(WireError::Short { found, needed });
    }
    Ok(code)
}

/// All fields of a prefix, ready to be written; built by `Repr` only.
pub(crate) struct Fields {
    pub code: Code,
    pub flags: u16,
    pub context: u32,
    pub source: u32,
    pub tag: i32,
    pub bytes: u64,
    pub sequence: u32,
    pub credit: u32,
    pub words: [u64; BODY_MAX / 8],
}

impl Fields {
    /// The fields of an eager header of this version without flags; `None` for anything else.
    #[inline(always)]
    pub(crate) fn read_eager(prefix: &[u8; PREFIX_BYTES]) -> Option<Fields> {
        const EAGER: [u8; 4] = [VERSION, Code::Eager as u8, 0, 0];
        if get::<4>(prefix, field::VERSION) != EAGER {
            return None;
        }
        Some(Fields {
            code: Code::Eager,
            flags: 0,
            context: u32::from_le_bytes(get(prefix, field::CONTEXT)),
            source: u32::from_le_bytes(get(prefix, field::SOURCE)),
            tag: i32::from_le_bytes(get(prefix, field::TAG)),
            bytes: u64::from_le_bytes(get(prefix, field::BYTES)),
            sequence: u32::from_le_bytes(get(prefix, field::SEQUENCE)),
            credit: u32::from_le_bytes(get(prefix, field::CREDIT)),
            words: [0; BODY_MAX / 8],
        })
    }

    /// Writes header and body and returns how many bytes they took; the rest stays as it was.
    #[inline(always)]
    pub(crate) fn write(&self, out: &mut [u8; PREFIX_BYTES]) -> usize {
        out[field::VERSION] = VERSION;
        out[field::KIND] = self.code as u8;
        put(out, field::FLAGS, self.flags.to_le_bytes());
        put(out, field::CONTEXT, self.context.to_le_bytes());
        put(out, field::SOURCE, self.source.to_le_bytes());
        put(out, field::TAG, self.tag.to_le_bytes());
        put(out, field::BYTES, self.bytes.to_le_bytes());
        put(out, field::SEQUENCE, self.sequence.to_le_bytes());
        put(out, field::CREDIT, self.credit.to_le_bytes());
        let body = self.code.body_bytes();
        if body > 0 {
            put(out, field::BODY, self.words[0].to_le_bytes());
        }
        if body > 8 {
            put(out, field::BODY + 8, self.words[1].to_le_bytes());
        }
        HEADER_BYTES + body
    }
}

/// Offsets are constants, so after inlining this is one load without a bounds check.
#[inline(always)]
fn get<const N: usize>(prefix: &[u8; PREFIX_BYTES], offset: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&prefix[offset..offset + N]);
    value
}

/// Offsets are constants, so after inlining this is one store without a bounds check.
#[inline(always)]
fn put<const N: usize>(out: &mut [u8; PREFIX_BYTES], offset: usize, value: [u8; N]) {
    out[offset..offset + N].copy_from_slice(&value);
}
