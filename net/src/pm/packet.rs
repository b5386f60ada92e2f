//! How a packet lies in a message of `link`: a length, the packet's header and body as `wire` lays them out, the payload. The same as in a stream of the TCP transport.
//!
//! | offset | field   | type | meaning                                                      |
//! |-------:|---------|------|--------------------------------------------------------------|
//! |      0 | length  | u32  | payload bytes, or [`GOODBYE`] or [`PAUSE`] with nothing else |
//! |      4 | header  |      | `wire`: 32 bytes and the kind's body                         |
//! |        | payload |      |                                                              |

use oxmpi_wire::{Code, HEADER_BYTES, PREFIX_BYTES};

pub(super) use crate::tcp::PAYLOAD_MAX;

/// Bytes before the header.
pub(super) const LENGTH_BYTES: usize = 4;
/// The longest thing that precedes a payload.
pub(super) const HEAD_MAX: usize = LENGTH_BYTES + PREFIX_BYTES;

/// Instead of a length: the sender has finalised, and nothing follows.
pub(super) const GOODBYE: u32 = u32::MAX;
/// Instead of a length: the sender may be silent for long, and end without another word.
pub(super) const PAUSE: u32 = u32::MAX - 1;

/// What a message is, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Not enough to tell.
    Incomplete,
    /// A packet: its header and body begin behind the length and end at `head`, then `payload` bytes follow.
    Packet {
        /// Length and header together.
        head: usize,
        /// Payload bytes.
        payload: usize,
    },
    /// [`GOODBYE`] or [`PAUSE`].
    Farewell {
        /// The sender may come back.
        pause: bool,
    },
    /// What no sender writes.
    Garbage {
        /// The length found.
        length: u32,
        /// The kind byte, if there is one.
        kind: Option<u8>,
    },
}

/// Looks at the front of a message.
#[inline(always)]
pub(super) fn begin(bytes: &[u8]) -> Beginning {
    let Some(length) = bytes.first_chunk::<LENGTH_BYTES>() else {
        return Beginning::Incomplete;
    };
    let length = u32::from_le_bytes(*length);
    if length >= PAUSE {
        return Beginning::Farewell {
            pause: length == PAUSE,
        };
    }
    if length as usize > PAYLOAD_MAX {
        return Beginning::Garbage { length, kind: None };
    }
    // The kind is the header's second byte; `wire` checks the rest once all of it is here.
    let Some(&kind) = bytes.get(LENGTH_BYTES + 1) else {
        return Beginning::Incomplete;
    };
    let Some(code) = Code::from_byte(kind) else {
        return Beginning::Garbage {
            length,
            kind: Some(kind),
        };
    };
    let head = LENGTH_BYTES + HEADER_BYTES + code.body_bytes();
    if bytes.len() < head {
        return Beginning::Incomplete;
    }
    Beginning::Packet {
        head,
        payload: length as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn farewells_need_only_their_length() {
        let farewell = |pause| Beginning::Farewell { pause };
        assert_eq!(begin(&GOODBYE.to_le_bytes()), farewell(false));
        assert_eq!(begin(&PAUSE.to_le_bytes()), farewell(true));
    }

    #[test]
    fn nonsense_is_named() {
        let length = PAYLOAD_MAX as u32 + 1;
        let garbage = Beginning::Garbage { length, kind: None };
        assert_eq!(begin(&length.to_le_bytes()), garbage);
        let kind = Some(77);
        let garbage = Beginning::Garbage { length: 0, kind };
        assert_eq!(begin(&[0, 0, 0, 0, 1, 77]), garbage);
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Beginning::Packet { head, payload } = begin(&bytes) {
                prop_assert!(head <= bytes.len() && head <= HEAD_MAX && payload <= PAYLOAD_MAX);
            }
        }
    }
}
