//! The field table, and a view that reads the fields out of bytes.
//!
//! All integers are little endian. A packet is the header, the body its kind calls for, the
//! payload:
//!
//! | offset | field    | type | meaning                                                         |
//! |-------:|----------|------|-----------------------------------------------------------------|
//! |      0 | version  | u8   | [`VERSION`]                                                     |
//! |      1 | kind     | u8   | [`Code`], whose bits say how long the body is                   |
//! |      2 | credit   | u16  | eager space given back, in [`CREDIT_UNIT`](crate::CREDIT_UNIT)s |
//! |      4 | source   | u32  | the sender's rank in the communicator                           |
//! |      8 | context  | u64  | the communicator's context                                      |
//! |     16 | tag      | i32  | users' tags are not negative; the library's own may be          |
//! |     20 | sequence | u32  | counts packets between this ordered pair of processes           |
//! |     24 | bytes    | u48  | length of the whole message, not of this fragment               |
//! |     30 | signature | u8  | what the sender says of its data; 0 says nothing                |
//! |     31 | flags    | u8   | [`flag`](crate::flag); a kind refuses flags it does not have                 |
//! |     32 | word 0   | u64  | body, see [`Kind`](crate::Kind): tokens, or the offset of `More` |
//! |     40 | word 1   | u64  | body: address, receive token, offsets                           |
//! |     48 | word 2   | u64  | body: operation and element of an accumulate                    |
//!
//! What the bits of the kind byte mean, and what a receiver does with a kind that it does not know,
//! is in [`code`](crate::code).
//!
//! [`Packet`] checks once, in [`Packet::new_checked`], and reads without failing afterwards.

use crate::code::{body_bytes, is_possible};
use crate::{BODY_MAX, Code, Content, HEADER_BYTES, PREFIX_BYTES, VERSION, WireError};

/// Where the fields lie; nobody outside this file knows.
mod field {
    pub const VERSION: usize = 0;
    pub const KIND: usize = 1;
    pub const CREDIT: usize = 2;
    pub const SOURCE: usize = 4;
    pub const CONTEXT: usize = 8;
    pub const TAG: usize = 16;
    pub const SEQUENCE: usize = 20;
    /// One word: the length in the lower 48 bits, the signature in 8, the flags in the upper 8.
    pub const LENGTH: usize = 24;
    pub const BODY: usize = 32;
}

const _: () = assert!(field::BODY == HEADER_BYTES && field::LENGTH + 8 == HEADER_BYTES);

/// Where the flags begin in the word of the length.
const FLAGS_SHIFT: u32 = 56;

/// A read-only view of a packet that has been found legal.
///
/// The buffer may be longer than the packet's prefix: the rest is the payload.
#[derive(Clone, Copy, Debug)]
pub struct Packet<T: AsRef<[u8]>> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// Checks version, kind, flags and length; everything read afterwards is there and legal.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, WireError> {
        check(buffer.as_ref())?;
        Ok(Packet { buffer })
    }

    /// The kind byte.
    #[inline]
    pub fn kind_byte(&self) -> u8 {
        self.buffer.as_ref()[field::KIND]
    }

    /// The kind; `None` if it is one that this version does not know.
    #[inline]
    pub fn code(&self) -> Option<Code> {
        Code::from_byte(self.kind_byte())
    }

    /// The flags, all of which the kind allows if it is known.
    #[inline]
    pub fn flags(&self) -> u8 {
        (self.length() >> FLAGS_SHIFT) as u8
    }

    /// The communicator's context.
    #[inline]
    pub fn context(&self) -> u64 {
        u64::from_le_bytes(self.array(field::CONTEXT))
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

    /// Length of the whole message and what the sender says of its data.
    #[inline]
    pub fn content(&self) -> Content {
        Content::from_word(self.length())
    }

    /// Number of this packet between its pair of processes.
    #[inline]
    pub fn sequence(&self) -> u32 {
        u32::from_le_bytes(self.array(field::SEQUENCE))
    }

    /// Eager space given back, in units of [`CREDIT_UNIT`](crate::CREDIT_UNIT) bytes.
    #[inline]
    pub fn credit(&self) -> u16 {
        u16::from_le_bytes(self.array(field::CREDIT))
    }

    /// A word of the body; only for kinds whose body has it.
    #[inline]
    pub(crate) fn word(&self, number: usize) -> u64 {
        u64::from_le_bytes(self.array(field::BODY + 8 * number))
    }

    /// What follows header and body.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.buffer.as_ref()[HEADER_BYTES + body_bytes(self.kind_byte())..]
    }

    #[inline]
    fn length(&self) -> u64 {
        u64::from_le_bytes(self.array(field::LENGTH))
    }

    #[inline]
    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        *self.buffer.as_ref()[offset..]
            .first_chunk()
            .expect("new_checked saw header and body of this kind")
    }
}

#[inline]
fn check(bytes: &[u8]) -> Result<(), WireError> {
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
    let kind = header[field::KIND];
    if !is_possible(kind) {
        return Err(WireError::Kind { found: kind });
    }
    let needed = HEADER_BYTES + body_bytes(kind);
    if found < needed {
        return Err(WireError::Short { found, needed });
    }
    let Some(code) = Code::from_byte(kind) else {
        return Ok(());
    };
    let flags = header[HEADER_BYTES - 1];
    let (allowed, required) = (code.flags_allowed(), code.flags_required());
    if flags & !allowed != required {
        return Err(WireError::Flags {
            kind,
            found: flags,
            allowed: allowed | required,
        });
    }
    check_body(code, &bytes[HEADER_BYTES..needed])
}

/// Parts of words that no kind uses are 0.
#[inline]
fn check_body(code: Code, body: &[u8]) -> Result<(), WireError> {
    let unused: &[u8] = match code {
        Code::Refused => &body[10..],
        Code::Introduce | Code::Introduced => &body[12..],
        Code::Accumulate => &body[20..],
        Code::CompareSwap => &body[18..],
        _ => return Ok(()),
    };
    match unused.iter().all(|&byte| byte == 0) {
        true => Ok(()),
        false => Err(WireError::Body { kind: code as u8 }),
    }
}

/// All fields of a prefix, ready to be written; built by `Repr` only.
pub(crate) struct Fields {
    pub kind: u8,
    pub flags: u8,
    pub context: u64,
    pub source: u32,
    pub tag: i32,
    pub content: Content,
    pub sequence: u32,
    pub credit: u16,
    pub words: [u64; BODY_MAX / 8],
}

impl Fields {
    /// The fields of an eager header of this version without flags; `None` for anything else.
    #[inline(always)]
    pub(crate) fn read_eager(prefix: &[u8; PREFIX_BYTES]) -> Option<Fields> {
        Fields::read_plain(prefix, Code::Eager)
    }

    /// As [`Fields::read_eager`], for the header of a further packet of an eager message, with its
    /// offset in the first word.
    #[inline(always)]
    pub(crate) fn read_more(prefix: &[u8; PREFIX_BYTES]) -> Option<Fields> {
        let mut fields = Fields::read_plain(prefix, Code::More)?;
        fields.words[0] = u64::from_le_bytes(get(prefix, field::BODY));
        Some(fields)
    }

    #[inline(always)]
    fn read_plain(prefix: &[u8; PREFIX_BYTES], code: Code) -> Option<Fields> {
        let expected = [VERSION, code as u8];
        let length = u64::from_le_bytes(get(prefix, field::LENGTH));
        if get::<2>(prefix, field::VERSION) != expected || length >> FLAGS_SHIFT != 0 {
            return None;
        }
        Some(Fields {
            kind: code as u8,
            flags: 0,
            context: u64::from_le_bytes(get(prefix, field::CONTEXT)),
            source: u32::from_le_bytes(get(prefix, field::SOURCE)),
            tag: i32::from_le_bytes(get(prefix, field::TAG)),
            content: Content::from_word(length),
            sequence: u32::from_le_bytes(get(prefix, field::SEQUENCE)),
            credit: u16::from_le_bytes(get(prefix, field::CREDIT)),
            words: [0; BODY_MAX / 8],
        })
    }

    /// Writes header and body and returns how many bytes they took; the rest stays as it was.
    #[inline(always)]
    pub(crate) fn write(&self, out: &mut [u8; PREFIX_BYTES]) -> usize {
        let length = self.content.word() | u64::from(self.flags) << FLAGS_SHIFT;
        out[field::VERSION] = VERSION;
        out[field::KIND] = self.kind;
        put(out, field::CREDIT, self.credit.to_le_bytes());
        put(out, field::SOURCE, self.source.to_le_bytes());
        put(out, field::CONTEXT, self.context.to_le_bytes());
        put(out, field::TAG, self.tag.to_le_bytes());
        put(out, field::SEQUENCE, self.sequence.to_le_bytes());
        put(out, field::LENGTH, length.to_le_bytes());
        let body = body_bytes(self.kind);
        if body > 0 {
            put(out, field::BODY, self.words[0].to_le_bytes());
        }
        if body > 8 {
            put(out, field::BODY + 8, self.words[1].to_le_bytes());
        }
        if body > 16 {
            put(out, field::BODY + 16, self.words[2].to_le_bytes());
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
