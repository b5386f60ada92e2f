//! What a packet means: a plain value that can hold only legal states.
//!
//! The engine builds and inspects these; bytes exist only inside [`Repr::emit`] and [`Repr::parse`].
//! Both are on the path of every message, so they are small, inlined and copy fields at constant
//! offsets of a fixed-size prefix.

use core::fmt;

use crate::packet::Fields;
use crate::{BODY_MAX, CREDIT_UNIT, Code, PREFIX_BYTES, Packet, WireError, flag};

/// What a message is matched by, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The communicator's context: messages of different contexts never meet.
    pub context: u32,
    /// The sender's rank in that communicator.
    pub source: u32,
    /// The tag; users' tags are not negative.
    pub tag: i32,
    /// Length of the whole message.
    pub bytes: u64,
}

/// What a packet is for, with the fields only that kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// First fragment of a message whose bytes travel without asking; payload follows.
    Eager,
    /// Further fragment of the eager message this sender began last; payload follows.
    More {
        /// Where in the message the payload belongs.
        offset: u64,
    },
    /// A message that waits at the sender until it is matched.
    RequestToSend {
        /// The sender's token for it.
        send: u64,
        /// Where the bytes lie: in the sender's memory, or in the shared segment if `mapped`.
        address: u64,
        /// The address is an offset in the shared segment.
        mapped: bool,
        /// The receiver may read the bytes itself.
        fetchable: bool,
        /// A synchronous send: it completes only when it is matched.
        sync: bool,
    },
    /// The receiver has matched and awaits the data.
    ClearToSend {
        /// The sender's token, out of its request.
        send: u64,
        /// The receiver's token, to be put into the data.
        receive: u64,
    },
    /// Fragment of a matched message; payload follows.
    Data {
        /// The receiver's token.
        receive: u64,
        /// Where in the message the payload belongs.
        offset: u64,
    },
    /// The receiver fetched everything itself.
    Done {
        /// The sender's token.
        send: u64,
    },
    /// Nothing but the header's credit.
    Credit,
    /// The sender asks to take back an unmatched request to send.
    Cancel {
        /// The sender's token.
        send: u64,
    },
    /// The answer to a cancel.
    CancelReply {
        /// The sender's token.
        send: u64,
        /// Whether the message was taken back; otherwise the match came first.
        cancelled: bool,
    },
}

impl Kind {
    /// The kind byte that stands for it on the wire.
    #[inline]
    pub const fn code(&self) -> Code {
        match self {
            Kind::Eager => Code::Eager,
            Kind::More { .. } => Code::More,
            Kind::RequestToSend { .. } => Code::RequestToSend,
            Kind::ClearToSend { .. } => Code::ClearToSend,
            Kind::Data { .. } => Code::Data,
            Kind::Done { .. } => Code::Done,
            Kind::Credit => Code::Credit,
            Kind::Cancel { .. } => Code::Cancel,
            Kind::CancelReply { .. } => Code::CancelReply,
        }
    }

    /// Whether the packet has a place in the order of its pair of processes. Data of a matched message has none: it says itself where it belongs, and may take another way
    /// than what decides about matching.
    #[inline]
    pub const fn is_ordered(&self) -> bool {
        !matches!(self, Kind::Data { .. })
    }

    #[inline]
    const fn flags(&self) -> u16 {
        match *self {
            Kind::RequestToSend {
                mapped,
                fetchable,
                sync,
                ..
            } => {
                (mapped as u16 * flag::MAPPED)
                    | (fetchable as u16 * flag::FETCHABLE)
                    | (sync as u16 * flag::SYNC)
            }
            Kind::CancelReply { cancelled, .. } => cancelled as u16 * flag::CANCELLED,
            _ => 0,
        }
    }

    #[inline]
    const fn words(&self) -> [u64; BODY_MAX / 8] {
        match *self {
            Kind::Eager | Kind::Credit => [0; 3],
            Kind::More { offset } => [offset, 0, 0],
            Kind::RequestToSend { send, address, .. } => [send, address, 0],
            Kind::ClearToSend { send, receive } => [send, receive, 0],
            Kind::Data { receive, offset } => [receive, offset, 0],
            Kind::Done { send } | Kind::Cancel { send } => [send, 0, 0],
            Kind::CancelReply { send, .. } => [send, 0, 0],
        }
    }
}

/// A packet without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// What the message is matched by. Kinds that answer by token carry it for people to read.
    pub envelope: Envelope,
    /// Number of this packet between its ordered pair of processes; it wraps. 0 where [`Kind::is_ordered`] says that there is none.
    pub sequence: u32,
    /// Eager space given back to the peer, in units of [`CREDIT_UNIT`] bytes.
    pub credit: u32,
    /// What the packet is for.
    pub kind: Kind,
}

impl Repr {
    /// Bytes of header and body, without payload: 32 to 48 in this version.
    #[inline]
    pub const fn bytes_on_wire(&self) -> usize {
        crate::HEADER_BYTES + self.kind.code().body_bytes()
    }

    /// Reads a packet that has been checked.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Repr {
        let flags = packet.flags();
        let kind = match packet.code() {
            Code::Eager => Kind::Eager,
            Code::More => Kind::More {
                offset: packet.word0(),
            },
            Code::RequestToSend => Kind::RequestToSend {
                send: packet.word0(),
                address: packet.word1(),
                mapped: flags & flag::MAPPED != 0,
                fetchable: flags & flag::FETCHABLE != 0,
                sync: flags & flag::SYNC != 0,
            },
            Code::ClearToSend => Kind::ClearToSend {
                send: packet.word0(),
                receive: packet.word1(),
            },
            Code::Data => Kind::Data {
                receive: packet.word0(),
                offset: packet.word1(),
            },
            Code::Done => Kind::Done {
                send: packet.word0(),
            },
            Code::Credit => Kind::Credit,
            Code::Cancel => Kind::Cancel {
                send: packet.word0(),
            },
            Code::CancelReply => Kind::CancelReply {
                send: packet.word0(),
                cancelled: flags & flag::CANCELLED != 0,
            },
        };
        Repr {
            envelope: Envelope {
                context: packet.context(),
                source: packet.source(),
                tag: packet.tag(),
                bytes: packet.bytes(),
            },
            sequence: packet.sequence(),
            credit: packet.credit(),
            kind,
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
            bytes,
        } = self.envelope;
        Fields {
            code: self.kind.code(),
            flags: self.kind.flags(),
            context,
            source,
            tag,
            bytes,
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

/// The header of an eager packet by itself. Most packets are short eager ones: handling them without
/// the general [`Repr`] keeps every field in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eager {
    /// What the message is matched by.
    pub envelope: Envelope,
    /// As [`Repr::sequence`].
    pub sequence: u32,
    /// As [`Repr::credit`].
    pub credit: u32,
}

impl Eager {
    /// Reads the header if it is an eager one of this version with no flags set; anything else is
    /// [`Repr::parse_prefix`]'s to judge.
    #[inline(always)]
    pub fn parse_prefix(prefix: &[u8; PREFIX_BYTES]) -> Option<Eager> {
        Fields::read_eager(prefix).map(|fields| Eager {
            envelope: Envelope {
                context: fields.context,
                source: fields.source,
                tag: fields.tag,
                bytes: fields.bytes,
            },
            sequence: fields.sequence,
            credit: fields.credit,
        })
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

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Envelope {
            context,
            source,
            tag,
            bytes,
        } = self;
        write!(
            f,
            "context {context} source {source} tag {tag}, {bytes} bytes"
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Eager => f.write_str("eager"),
            Kind::More { offset } => write!(f, "more at {offset}"),
            Kind::RequestToSend {
                send,
                address,
                mapped,
                fetchable,
                sync,
            } => {
                let place = if mapped { "segment" } else { "address" };
                write!(f, "request to send {send:#x}, {place} {address:#x}")?;
                f.write_str(if fetchable { ", fetchable" } else { "" })?;
                f.write_str(if sync { ", synchronous" } else { "" })
            }
            Kind::ClearToSend { send, receive } => {
                write!(f, "clear to send {send:#x}, receive {receive:#x}")
            }
            Kind::Data { receive, offset } => write!(f, "data for {receive:#x} at {offset}"),
            Kind::Done { send } => write!(f, "done {send:#x}"),
            Kind::Credit => f.write_str("credit"),
            Kind::Cancel { send } => write!(f, "cancel {send:#x}"),
            Kind::CancelReply { send, cancelled } => {
                let answer = if cancelled { "taken back" } else { "too late" };
                write!(f, "cancel {send:#x}: {answer}")
            }
        }
    }
}

/// One line for traces: `#9 eager | context 2 source 1 tag 7, 4096 bytes | returns 128 bytes`.
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
