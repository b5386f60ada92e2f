//! What a packet is for, with the fields that only its kind has.
//!
//! The kinds for messages are spoken by the engine. Those for regions (one-sided communication),
//! for fault tolerance and for introducing processes have their codes, bodies and texts, so that
//! both sides of a conversation can already refuse them politely (see [`code`](crate::code)).

use core::fmt;

use crate::code::{is_ordered, reason};
use crate::{BODY_MAX, Code, Packet, flag};

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
    /// As [`Kind::ClearToSend`], said by the receiver's kernel, which does not know where the
    /// packets of its process are in the order. A sender that does not know it refuses it, and the
    /// process then says [`Kind::ClearToSend`].
    Cleared {
        /// The receiver's token, to be put into the data.
        receive: u64,
        /// The sender's token, out of its request.
        send: u64,
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
    /// The receiver does not do what a packet asked for.
    Refused {
        /// The asking side's token.
        token: u64,
        /// The kind byte of what was refused.
        kind: u8,
        /// Why: one of [`reason`], or one that a later version added.
        reason: u8,
    },
    /// Bytes for the region of the envelope's context; payload follows.
    Put {
        /// The origin's token.
        token: u64,
        /// Where in the region.
        offset: u64,
        /// The payload begins with a description of the target's datatype.
        typed: bool,
    },
    /// The origin asks for as many bytes of a region as the envelope says.
    Get {
        /// The origin's token.
        token: u64,
        /// Where in the region.
        offset: u64,
        /// The payload is a description of the target's datatype.
        typed: bool,
    },
    /// Elements to be combined with those of a region, each of them at once; payload follows.
    Accumulate {
        /// The origin's token.
        token: u64,
        /// Where in the region.
        offset: u64,
        /// Number of the operation in the standard's ABI.
        operation: u16,
        /// Number of the elements' predefined datatype in the standard's ABI.
        element: u16,
        /// The payload begins with a description of the target's datatype.
        typed: bool,
        /// The origin wants what was there before.
        fetching: bool,
    },
    /// One element of a region is replaced if it has a certain value; payload: that value, the new
    /// one.
    CompareSwap {
        /// The origin's token.
        token: u64,
        /// Where in the region.
        offset: u64,
        /// Number of the element's predefined datatype in the standard's ABI.
        element: u16,
    },
    /// What was asked for by `Get`, or was there before an accumulate; payload follows.
    Fetched {
        /// The origin's token.
        token: u64,
        /// Where in the answer the payload belongs.
        offset: u64,
    },
    /// A put, an accumulate, an unlock or a flush has taken effect.
    Served {
        /// The origin's token.
        token: u64,
    },
    /// The origin asks for the lock of a region.
    Lock {
        /// The origin's token.
        token: u64,
        /// Nobody else may hold it at the same time.
        exclusive: bool,
    },
    /// The origin holds the lock now.
    Locked {
        /// The origin's token.
        token: u64,
    },
    /// The origin gives the lock back.
    Unlock {
        /// The origin's token.
        token: u64,
    },
    /// The origin asks to be told when everything before has taken effect.
    Flush {
        /// The origin's token.
        token: u64,
    },
    /// The envelope's context is revoked: nothing more is sent or received in it.
    Revoke,
    /// A process's part in an agreement; payload: the processes that it knows to have failed.
    Agree {
        /// Which agreement of this context.
        instance: u64,
        /// The process's value.
        value: u64,
    },
    /// What was agreed on; payload: the processes that are agreed to have failed.
    Agreed {
        /// Which agreement of this context.
        instance: u64,
        /// The value.
        value: u64,
    },
    /// A process introduces itself; payload: its card.
    Introduce {
        /// Its token.
        token: u64,
        /// The name by which it will call the receiver: what the receiver's frames to it carry.
        name: u32,
    },
    /// The answer to an introduction; payload: the card of the process that answers.
    Introduced {
        /// The token of the introduction.
        token: u64,
        /// The name by which the process that answers will call the other.
        name: u32,
    },
    /// A kind that this version does not know, as it came.
    Unknown(Unknown),
}

/// A packet of a kind that this version does not know. Only the parser makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    kind: u8,
    flags: u8,
    words: [u64; BODY_MAX / 8],
}

impl Unknown {
    /// The kind byte.
    #[inline]
    pub const fn kind(&self) -> u8 {
        self.kind
    }
}

impl Kind {
    /// The kind byte that stands for it on the wire.
    #[inline]
    pub const fn byte(&self) -> u8 {
        let code = match self {
            Kind::Eager => Code::Eager,
            Kind::More { .. } => Code::More,
            Kind::RequestToSend { .. } => Code::RequestToSend,
            Kind::ClearToSend { .. } => Code::ClearToSend,
            Kind::Cleared { .. } => Code::Cleared,
            Kind::Data { .. } => Code::Data,
            Kind::Done { .. } => Code::Done,
            Kind::Credit => Code::Credit,
            Kind::Cancel { .. } => Code::Cancel,
            Kind::CancelReply { .. } => Code::CancelReply,
            Kind::Refused { .. } => Code::Refused,
            Kind::Put { .. } => Code::Put,
            Kind::Get { .. } => Code::Get,
            Kind::Accumulate { .. } => Code::Accumulate,
            Kind::CompareSwap { .. } => Code::CompareSwap,
            Kind::Fetched { .. } => Code::Fetched,
            Kind::Served { .. } => Code::Served,
            Kind::Lock { .. } => Code::Lock,
            Kind::Locked { .. } => Code::Locked,
            Kind::Unlock { .. } => Code::Unlock,
            Kind::Flush { .. } => Code::Flush,
            Kind::Revoke => Code::Revoke,
            Kind::Agree { .. } => Code::Agree,
            Kind::Agreed { .. } => Code::Agreed,
            Kind::Introduce { .. } => Code::Introduce,
            Kind::Introduced { .. } => Code::Introduced,
            Kind::Unknown(unknown) => return unknown.kind,
        };
        code as u8
    }

    /// Whether the packet has a place in the order of its pair of processes. Data of a matched
    /// message has none: it says itself where it belongs, and may take another way than what
    /// decides about matching.
    #[inline]
    pub const fn is_ordered(&self) -> bool {
        is_ordered(self.byte())
    }

    /// The token of a packet that has to be answered, even by a receiver that does not serve its
    /// kind; see [`Kind::Refused`].
    #[inline]
    pub const fn asks(&self) -> Option<u64> {
        if self.flags() & flag::ASKS == 0 || crate::code::body_bytes(self.byte()) == 0 {
            return None;
        }
        Some(self.words()[0])
    }

    #[inline]
    pub(crate) const fn flags(&self) -> u8 {
        match *self {
            Kind::RequestToSend {
                mapped,
                fetchable,
                sync,
                ..
            } => {
                (mapped as u8 * flag::MAPPED)
                    | (fetchable as u8 * flag::FETCHABLE)
                    | (sync as u8 * flag::SYNC)
            }
            Kind::CancelReply { cancelled, .. } => cancelled as u8 * flag::CANCELLED,
            Kind::Put { typed, .. } | Kind::Get { typed, .. } => {
                flag::ASKS | (typed as u8 * flag::TYPED)
            }
            Kind::Accumulate {
                typed, fetching, ..
            } => flag::ASKS | (typed as u8 * flag::TYPED) | (fetching as u8 * flag::FETCHING),
            Kind::Lock { exclusive, .. } => flag::ASKS | (exclusive as u8 * flag::EXCLUSIVE),
            Kind::CompareSwap { .. }
            | Kind::Unlock { .. }
            | Kind::Flush { .. }
            | Kind::Introduce { .. }
            | Kind::Cleared { .. } => flag::ASKS,
            Kind::Unknown(unknown) => unknown.flags,
            _ => 0,
        }
    }

    #[inline]
    pub(crate) const fn words(&self) -> [u64; BODY_MAX / 8] {
        match *self {
            Kind::Eager | Kind::Credit | Kind::Revoke => [0; 3],
            Kind::More { offset } => [offset, 0, 0],
            Kind::RequestToSend { send, address, .. } => [send, address, 0],
            Kind::ClearToSend { send, receive } => [send, receive, 0],
            Kind::Cleared { receive, send } => [receive, send, 0],
            Kind::Data { receive, offset } => [receive, offset, 0],
            Kind::Done { send } | Kind::Cancel { send } => [send, 0, 0],
            Kind::CancelReply { send, .. } => [send, 0, 0],
            Kind::Refused {
                token,
                kind,
                reason,
            } => [token, kind as u64 | (reason as u64) << 8, 0],
            Kind::Put { token, offset, .. }
            | Kind::Get { token, offset, .. }
            | Kind::Fetched { token, offset } => [token, offset, 0],
            Kind::Accumulate {
                token,
                offset,
                operation,
                element,
                ..
            } => [token, offset, element as u64 | (operation as u64) << 16],
            Kind::CompareSwap {
                token,
                offset,
                element,
            } => [token, offset, element as u64],
            Kind::Served { token }
            | Kind::Lock { token, .. }
            | Kind::Locked { token }
            | Kind::Unlock { token }
            | Kind::Flush { token } => [token, 0, 0],
            Kind::Agree { instance, value } | Kind::Agreed { instance, value } => {
                [instance, value, 0]
            }
            Kind::Introduce { token, name } | Kind::Introduced { token, name } => {
                [token, name as u64, 0]
            }
            Kind::Unknown(unknown) => unknown.words,
        }
    }

    /// The kind of a packet that has been checked.
    #[inline]
    pub(crate) fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Kind {
        let flags = packet.flags();
        let has = |flag: u8| flags & flag != 0;
        let Some(code) = packet.code() else {
            return Kind::Unknown(Unknown::parse(packet));
        };
        match code {
            Code::Eager => Kind::Eager,
            Code::Credit => Kind::Credit,
            Code::Revoke => Kind::Revoke,
            Code::More => Kind::More {
                offset: packet.word(0),
            },
            Code::Done => Kind::Done {
                send: packet.word(0),
            },
            Code::Cancel => Kind::Cancel {
                send: packet.word(0),
            },
            Code::CancelReply => Kind::CancelReply {
                send: packet.word(0),
                cancelled: has(flag::CANCELLED),
            },
            Code::RequestToSend => Kind::RequestToSend {
                send: packet.word(0),
                address: packet.word(1),
                mapped: has(flag::MAPPED),
                fetchable: has(flag::FETCHABLE),
                sync: has(flag::SYNC),
            },
            Code::ClearToSend => Kind::ClearToSend {
                send: packet.word(0),
                receive: packet.word(1),
            },
            Code::Cleared => Kind::Cleared {
                receive: packet.word(0),
                send: packet.word(1),
            },
            Code::Data => Kind::Data {
                receive: packet.word(0),
                offset: packet.word(1),
            },
            other => Kind::parse_later(other, packet),
        }
    }

    /// As [`Kind::parse`], for kinds that the engine does not speak yet: out of the way of the
    /// others.
    #[cold]
    fn parse_later<T: AsRef<[u8]>>(code: Code, packet: &Packet<T>) -> Kind {
        let has = |flag: u8| packet.flags() & flag != 0;
        let token = packet.word(0);
        match code {
            Code::Refused => Kind::Refused {
                token,
                kind: packet.word(1) as u8,
                reason: (packet.word(1) >> 8) as u8,
            },
            Code::Put => Kind::Put {
                token,
                offset: packet.word(1),
                typed: has(flag::TYPED),
            },
            Code::Get => Kind::Get {
                token,
                offset: packet.word(1),
                typed: has(flag::TYPED),
            },
            Code::Accumulate => Kind::Accumulate {
                token,
                offset: packet.word(1),
                element: packet.word(2) as u16,
                operation: (packet.word(2) >> 16) as u16,
                typed: has(flag::TYPED),
                fetching: has(flag::FETCHING),
            },
            Code::CompareSwap => Kind::CompareSwap {
                token,
                offset: packet.word(1),
                element: packet.word(2) as u16,
            },
            Code::Fetched => Kind::Fetched {
                token,
                offset: packet.word(1),
            },
            Code::Served => Kind::Served { token },
            Code::Lock => Kind::Lock {
                token,
                exclusive: has(flag::EXCLUSIVE),
            },
            Code::Locked => Kind::Locked { token },
            Code::Unlock => Kind::Unlock { token },
            Code::Flush => Kind::Flush { token },
            Code::Agree => Kind::Agree {
                instance: token,
                value: packet.word(1),
            },
            Code::Agreed => Kind::Agreed {
                instance: token,
                value: packet.word(1),
            },
            Code::Introduce => Kind::Introduce {
                token,
                name: packet.word(1) as u32,
            },
            Code::Introduced => Kind::Introduced {
                token,
                name: packet.word(1) as u32,
            },
            Code::Eager
            | Code::Credit
            | Code::Revoke
            | Code::More
            | Code::Done
            | Code::Cancel
            | Code::CancelReply
            | Code::RequestToSend
            | Code::ClearToSend
            | Code::Cleared
            | Code::Data => unreachable!("Kind::parse reads it"),
        }
    }
}

impl Unknown {
    #[cold]
    fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Unknown {
        let kind = packet.kind_byte();
        let mut words = [0; BODY_MAX / 8];
        let used = crate::code::body_bytes(kind) / 8;
        for (number, word) in words[..used].iter_mut().enumerate() {
            *word = packet.word(number);
        }
        Unknown {
            kind,
            flags: packet.flags(),
            words,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let described = |is: bool| if is { ", with datatype" } else { "" };
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
            Kind::Cleared { receive, send } => {
                write!(f, "cleared by the kernel {send:#x}, receive {receive:#x}")
            }
            Kind::Data { receive, offset } => write!(f, "data for {receive:#x} at {offset}"),
            Kind::Done { send } => write!(f, "done {send:#x}"),
            Kind::Credit => f.write_str("credit"),
            Kind::Cancel { send } => write!(f, "cancel {send:#x}"),
            Kind::CancelReply { send, cancelled } => {
                let answer = if cancelled { "taken back" } else { "too late" };
                write!(f, "cancel {send:#x}: {answer}")
            }
            Kind::Refused {
                token,
                kind,
                reason,
            } => {
                write!(f, "refused {token:#x}: kind {kind:#04x} ")?;
                match reason {
                    reason::UNKNOWN => f.write_str("is not known"),
                    reason::NOT_SERVED => f.write_str("is not served"),
                    other => write!(f, "for reason {other}"),
                }
            }
            Kind::Put {
                token,
                offset,
                typed,
            } => write!(f, "put {token:#x} at {offset}{}", described(typed)),
            Kind::Get {
                token,
                offset,
                typed,
            } => write!(f, "get {token:#x} at {offset}{}", described(typed)),
            Kind::Accumulate {
                token,
                offset,
                operation,
                element,
                typed,
                fetching,
            } => {
                let fetch = if fetching { ", fetching" } else { "" };
                let typed = described(typed);
                write!(
                    f,
                    "accumulate {token:#x} at {offset}, operation {operation:#x} of {element:#x}{fetch}{typed}"
                )
            }
            Kind::CompareSwap {
                token,
                offset,
                element,
            } => write!(
                f,
                "compare and swap {token:#x} at {offset}, element {element:#x}"
            ),
            Kind::Fetched { token, offset } => write!(f, "fetched {token:#x} at {offset}"),
            Kind::Served { token } => write!(f, "served {token:#x}"),
            Kind::Lock { token, exclusive } => {
                let how = if exclusive { "exclusive" } else { "shared" };
                write!(f, "lock {token:#x}, {how}")
            }
            Kind::Locked { token } => write!(f, "locked {token:#x}"),
            Kind::Unlock { token } => write!(f, "unlock {token:#x}"),
            Kind::Flush { token } => write!(f, "flush {token:#x}"),
            Kind::Revoke => f.write_str("revoke"),
            Kind::Agree { instance, value } => write!(f, "agree {instance}: {value:#x}"),
            Kind::Agreed { instance, value } => write!(f, "agreed {instance}: {value:#x}"),
            Kind::Introduce { token, name } => {
                write!(f, "introduce {token:#x}, calls the receiver {name}")
            }
            Kind::Introduced { token, name } => {
                write!(f, "introduced {token:#x}, calls the receiver {name}")
            }
            Kind::Unknown(unknown) => write!(f, "unknown kind {:#04x}", unknown.kind),
        }
    }
}
