//! What the nodes of a channel say to each other, in the words of `wire`: its kinds fit, so no
//! header of our own is needed.
//!
//! | operation             | kind          | context | tag | bytes          | words                 | payload |
//! |-----------------------|---------------|---------|-----|----------------|-----------------------|---------|
//! | message, beginning    | eager         | 0       | 0   | of the message |                       | yes     |
//! | message, further part | more          | 0       | 0   | of the message | offset                | yes     |
//! | write                 | more          | region  | 1   | of this part   | offset in the region  | yes     |
//! | read                  | clear to send | region  | 2   | wanted         | offset, token         | no      |
//! | answer to a read      | more          | token   | 3   | of the answer  | offset in the answer  | yes     |
//! | refusal               | done          | region  | 4   | asked for      | token of a read, or 0 | no      |
//!
//! None of them is what bulk rails carry, so everything between two nodes stays in one order: a
//! message sent after a write arrives after it.

use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr, WireError};

const MESSAGE: i32 = 0;
const WRITE: i32 = 1;
const READ: i32 = 2;
const ANSWER: i32 = 3;
const REFUSAL: i32 = 4;

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Part of a message.
    Message {
        /// Where the part belongs.
        offset: u64,
        /// Of the whole message.
        total: u64,
    },
    /// Bytes for a region.
    Write {
        /// Its number.
        region: u32,
        /// Where they belong.
        offset: u64,
        /// Of this part.
        bytes: u64,
    },
    /// A request for bytes of a region.
    Read {
        /// Its number.
        region: u32,
        /// Where they begin.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Of who asks; never 0.
        token: u32,
    },
    /// Part of the answer.
    Answer {
        /// Out of the request.
        token: u32,
        /// Where the part belongs.
        offset: u64,
        /// Of the whole answer.
        total: u64,
    },
    /// A region does not exist or is too short.
    Refusal {
        /// Its number.
        region: u32,
        /// Bytes that were to be written or read.
        bytes: u64,
        /// Out of the request; 0 after a write.
        token: u32,
    },
}

impl Action {
    /// Writes the packet's head and says how long it is.
    #[inline]
    pub fn emit(&self, source: u32, prefix: &mut [u8; PREFIX_BYTES]) -> usize {
        let (context, tag, bytes, kind) = match *self {
            Action::Message { offset: 0, total } => (0, MESSAGE, total, Kind::Eager),
            Action::Message { offset, total } => (0, MESSAGE, total, Kind::More { offset }),
            Action::Write {
                region,
                offset,
                bytes,
            } => (region, WRITE, bytes, Kind::More { offset }),
            Action::Read {
                region,
                offset,
                bytes,
                token,
            } => {
                let kind = Kind::ClearToSend {
                    send: offset,
                    receive: token.into(),
                };
                (region, READ, bytes, kind)
            }
            Action::Answer {
                token,
                offset,
                total,
            } => (token, ANSWER, total, Kind::More { offset }),
            Action::Refusal {
                region,
                bytes,
                token,
            } => {
                let send = token.into();
                (region, REFUSAL, bytes, Kind::Done { send })
            }
        };
        let envelope = Envelope {
            context: u64::from(context),
            source,
            tag,
            content: Content::new(bytes, 0),
        };
        let repr = Repr {
            envelope,
            sequence: 0,
            credit: 0,
            kind,
        };
        repr.emit_prefix(prefix)
    }

    /// Reads a packet's head; `None` if no channel writes such a one.
    #[inline]
    pub fn parse(prefix: &[u8; PREFIX_BYTES]) -> Result<Option<Action>, WireError> {
        let Repr { envelope, kind, .. } = Repr::parse_prefix(prefix)?;
        let (context, tag, bytes) = (envelope.context, envelope.tag, envelope.bytes());
        let Ok(context) = u32::try_from(context) else {
            return Ok(None);
        };
        Ok(Some(match (kind, tag) {
            (Kind::Eager, MESSAGE) => Action::Message {
                offset: 0,
                total: bytes,
            },
            (Kind::More { offset }, MESSAGE) if offset > 0 => Action::Message {
                offset,
                total: bytes,
            },
            (Kind::More { offset }, WRITE) => Action::Write {
                region: context,
                offset,
                bytes,
            },
            (Kind::ClearToSend { send, receive }, READ) => match u32::try_from(receive) {
                Ok(token) if token != 0 => Action::Read {
                    region: context,
                    offset: send,
                    bytes,
                    token,
                },
                _ => return Ok(None),
            },
            (Kind::More { offset }, ANSWER) => Action::Answer {
                token: context,
                offset,
                total: bytes,
            },
            (Kind::Done { send }, REFUSAL) => match u32::try_from(send) {
                Ok(token) => Action::Refusal {
                    region: context,
                    bytes,
                    token,
                },
                Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn operations() -> impl Strategy<Value = Action> {
        let length = || 0..=oxmpi_wire::MESSAGE_BYTES_MAX;
        let message =
            (any::<u64>(), length()).prop_map(|(offset, total)| Action::Message { offset, total });
        let write = (any::<u32>(), any::<u64>(), length()).prop_map(|(region, offset, bytes)| {
            Action::Write {
                region,
                offset,
                bytes,
            }
        });
        let read = (any::<u32>(), any::<u64>(), length(), 1..u32::MAX).prop_map(
            |(region, offset, bytes, token)| Action::Read {
                region,
                offset,
                bytes,
                token,
            },
        );
        let answer = (any::<u32>(), any::<u64>(), length()).prop_map(|(token, offset, total)| {
            Action::Answer {
                token,
                offset,
                total,
            }
        });
        let refusal = (any::<u32>(), length(), any::<u32>()).prop_map(|(region, bytes, token)| {
            Action::Refusal {
                region,
                bytes,
                token,
            }
        });
        prop_oneof![message, write, read, answer, refusal]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(operation in operations(), source: u32) {
            let mut prefix = [0xAA; PREFIX_BYTES];
            operation.emit(source, &mut prefix);
            prop_assert_eq!(Action::parse(&prefix), Ok(Some(operation)));
        }

        #[test]
        fn any_bytes_are_read_without_panic(prefix: [u8; PREFIX_BYTES]) {
            let _ = Action::parse(&prefix);
        }
    }
}
