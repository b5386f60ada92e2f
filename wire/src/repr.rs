//! What a packet means: a plain value that can hold only legal states.
//!
//! The engine builds and inspects these; bytes exist only inside [`Repr::emit`] and
//! [`Repr::parse`]. Both are on the path of every message, so they are small, inlined and copy
//! fields at constant offsets of a fixed-size prefix.

use core::fmt;

use crate::code::body_bytes;
use crate::packet::Fields;
use crate::{CREDIT_UNIT, Content, Kind, PREFIX_BYTES, Packet, WireError};

/// What a message is matched by, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The communicator's context: messages of different contexts never meet. How it is composed is
    /// the affair of the layer that makes communicators.
    pub context: u64,
    /// The sender's rank in that communicator.
    pub source: u32,
    /// The tag; users' tags are not negative.
    pub tag: i32,
    /// Length of the whole message, and what the sender says of its data for a receiver to compare.
    pub content: Content,
}

impl Envelope {
    /// Length of the whole message.
    #[inline(always)]
    pub const fn bytes(&self) -> u64 {
        self.content.bytes()
    }

    /// What the sender says of its data; 0 says nothing.
    #[inline(always)]
    pub const fn signature(&self) -> u8 {
        self.content.signature()
    }
}

/// A packet without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// What the message is matched by. Kinds that answer by token carry it for people to read.
    pub envelope: Envelope,
    /// Number of this packet between its ordered pair of processes; it wraps. 0 where
    /// [`Kind::is_ordered`] says that there is none.
    pub sequence: u32,
    /// Eager space given back to the peer, in units of [`CREDIT_UNIT`] bytes.
    pub credit: u16,
    /// What the packet is for.
    pub kind: Kind,
}

impl Repr {
    /// Bytes of header and body, without payload: 32 to 56.
    #[inline]
    pub const fn bytes_on_wire(&self) -> usize {
        crate::HEADER_BYTES + body_bytes(self.kind.byte())
    }

    /// Reads a packet that has been checked.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Repr {
        Repr {
            envelope: Envelope {
                context: packet.context(),
                source: packet.source(),
                tag: packet.tag(),
                content: packet.content(),
            },
            sequence: packet.sequence(),
            credit: packet.credit(),
            kind: Kind::parse(packet),
        }
    }

    /// Checks and reads the first bytes of a ring cell. The cell always has room for the largest
    /// body, so no length is compared here.
    #[inline]
    pub fn parse_prefix(prefix: &[u8; PREFIX_BYTES]) -> Result<Repr, WireError> {
        Ok(Repr::parse(&Packet::new_checked(prefix)?))
    }

    /// Writes header and body into a ring cell and returns how many bytes they took
    /// ([`Repr::bytes_on_wire`]); the bytes behind them stay as they were.
    #[inline(always)]
    pub fn emit_prefix(&self, out: &mut [u8; PREFIX_BYTES]) -> usize {
        let Envelope {
            context,
            source,
            tag,
            content,
        } = self.envelope;
        Fields {
            kind: self.kind.byte(),
            flags: self.kind.flags(),
            context,
            source,
            tag,
            content,
            sequence: self.sequence,
            credit: self.credit,
            words: self.kind.words(),
        }
        .write(out)
    }

    /// Writes header and body to the front of `out` and returns how many bytes they took.
    ///
    /// # Panics
    /// When `out` is shorter than [`Repr::bytes_on_wire`].
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> usize {
        if let Some(prefix) = out.first_chunk_mut() {
            return self.emit_prefix(prefix);
        }
        let mut prefix = [0; PREFIX_BYTES];
        let used = self.emit_prefix(&mut prefix);
        assert!(
            out.len() >= used,
            "{} bytes given for a packet prefix of {used}; offer Repr::bytes_on_wire()",
            out.len()
        );
        out[..used].copy_from_slice(&prefix[..used]);
        used
    }
}

/// The header of an eager packet by itself. Most packets are short eager ones: handling them
/// without the general [`Repr`] keeps every field in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eager {
    /// What the message is matched by.
    pub envelope: Envelope,
    /// As [`Repr::sequence`].
    pub sequence: u32,
    /// As [`Repr::credit`].
    pub credit: u16,
}

impl Eager {
    /// Reads the header if it is an eager one of this version with no flags set; anything else is
    /// [`Repr::parse_prefix`]'s to judge.
    #[inline(always)]
    pub fn parse_prefix(prefix: &[u8; PREFIX_BYTES]) -> Option<Eager> {
        Fields::read_eager(prefix).map(|fields| Eager::of(&fields))
    }

    #[inline(always)]
    fn of(fields: &Fields) -> Eager {
        Eager {
            envelope: Envelope {
                context: fields.context,
                source: fields.source,
                tag: fields.tag,
                content: fields.content,
            },
            sequence: fields.sequence,
            credit: fields.credit,
        }
    }

    /// Writes the header and returns how many bytes it took.
    #[inline(always)]
    pub fn emit_prefix(&self, out: &mut [u8; PREFIX_BYTES]) -> usize {
        let repr = Repr {
            envelope: self.envelope,
            sequence: self.sequence,
            credit: self.credit,
            kind: Kind::Eager,
        };
        repr.emit_prefix(out)
    }
}

/// The header of a further packet of an eager message by itself, as [`Eager`] is of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct More {
    /// The message, and the packet's place in the order.
    pub head: Eager,
    /// Where in the message its payload begins.
    pub offset: u64,
}

impl More {
    /// Bytes of header and body.
    pub const BYTES_ON_WIRE: usize = crate::HEADER_BYTES + body_bytes(crate::Code::More as u8);

    /// As [`Eager::parse_prefix`].
    #[inline(always)]
    pub fn parse_prefix(prefix: &[u8; PREFIX_BYTES]) -> Option<More> {
        Fields::read_more(prefix).map(|fields| More {
            head: Eager::of(&fields),
            offset: fields.words[0],
        })
    }

    /// Writes header and body and returns how many bytes they took.
    #[inline(always)]
    pub fn emit_prefix(&self, out: &mut [u8; PREFIX_BYTES]) -> usize {
        let repr = Repr {
            envelope: self.head.envelope,
            sequence: self.head.sequence,
            credit: self.head.credit,
            kind: Kind::More {
                offset: self.offset,
            },
        };
        repr.emit_prefix(out)
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Envelope {
            context,
            source,
            tag,
            content,
        } = self;
        let bytes = content.bytes();
        write!(
            f,
            "context {context:#x} source {source} tag {tag}, {bytes} bytes"
        )
    }
}

/// One line for traces: `#9 eager | context 0x2 source 1 tag 7, 4096 bytes | returns 128 bytes`.
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} | {}", self.sequence, self.kind, self.envelope)?;
        if self.credit != 0 {
            let returned = u64::from(self.credit) * CREDIT_UNIT;
            write!(f, " | returns {returned} bytes")?;
        }
        Ok(())
    }
}
