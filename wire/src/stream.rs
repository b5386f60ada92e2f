//! How packets lie in a stream of TCP or in a message of `link`: a length, the packet's header and
//! body, the payload.
//!
//! | offset | field   | type | meaning                                                      |
//! |-------:|---------|------|--------------------------------------------------------------|
//! |      0 | length  | u32  | payload bytes, or [`GOODBYE`] or [`PAUSE`] with nothing else |
//! |      4 | header  |      | 32 bytes and the kind's body, see [`packet`](crate::packet)  |
//! |        | payload |      |                                                              |
//!
//! With `--encrypt` a stream of TCP is cut into records, wherever it is convenient, and each is
//! sealed:
//!
//! | offset | field    | type | meaning                                                            |
//! |-------:|----------|------|--------------------------------------------------------------------|
//! |      0 | length   | u32  | bytes of contents, 1 to [`RECORD_BYTES_MAX`]; readable and proven  |
//! |      4 | contents |      | so many bytes of the stream, encrypted                             |
//! |        | seal     |      | [`SEAL_BYTES`](crate::frame::SEAL_BYTES): proves length, contents and the record's place |

use crate::code::{body_bytes, is_possible};
use crate::{HEADER_BYTES, PREFIX_BYTES, VERSION};

/// Bytes before the header.
pub const LENGTH_BYTES: usize = 4;
/// The longest thing that precedes a payload.
pub const HEAD_MAX: usize = LENGTH_BYTES + PREFIX_BYTES;
/// The longest payload of one packet: no sender makes longer ones, so a longer one is garbage.
pub const PAYLOAD_MAX: usize = 1 << 20;

/// The most that is sealed at once: a receiver can use nothing of a record before it has all of it,
/// and sealing costs little more per byte in short records than in long ones.
pub const RECORD_BYTES_MAX: usize = 16 << 10;
/// Bytes before a record's contents.
pub const RECORD_HEADER_BYTES: usize = 4;

/// The header of a record with so many bytes of contents.
#[inline]
pub fn record_header(bytes: usize) -> [u8; RECORD_HEADER_BYTES] {
    debug_assert!((1..=RECORD_BYTES_MAX).contains(&bytes));
    (bytes as u32).to_le_bytes()
}

/// How many bytes of contents a record with this header has; `Err`: a length that no sender writes.
#[inline]
pub fn record_bytes(header: &[u8; RECORD_HEADER_BYTES]) -> Result<usize, u32> {
    let length = u32::from_le_bytes(*header);
    match length as usize {
        1..=RECORD_BYTES_MAX => Ok(length as usize),
        _ => Err(length),
    }
}

/// Instead of a length: the sender has finalised, and nothing follows.
pub const GOODBYE: u32 = u32::MAX;
/// Instead of a length: the sender closes the connection for now, or may be silent for long; it may
/// come back, or end without another word.
pub const PAUSE: u32 = u32::MAX - 1;

/// What a stream or a message holds next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Not enough to tell.
    Incomplete,
    /// A packet: its header and body begin behind the length and end at `head`, then `payload`
    /// bytes follow.
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
    /// A packet of another version of the layout: nothing behind it can be read.
    OtherVersion {
        /// The version byte that was found.
        found: u8,
    },
    /// What no sender writes.
    Garbage {
        /// The length found.
        length: u32,
        /// The kind byte, if there is one.
        kind: Option<u8>,
    },
}

/// Looks at the front of a stream.
#[inline(always)]
pub fn next(bytes: &[u8]) -> Next {
    let Some(length) = bytes.first_chunk::<LENGTH_BYTES>() else {
        return Next::Incomplete;
    };
    let length = u32::from_le_bytes(*length);
    if length >= PAUSE {
        return Next::Farewell {
            pause: length == PAUSE,
        };
    }
    if length as usize > PAYLOAD_MAX {
        return Next::Garbage { length, kind: None };
    }
    // Version and kind are the header's first bytes; the rest is checked once all of it is here.
    // The kind byte tells the length of the body, of kinds that this version does not know, too.
    let Some(&[found, kind]) = bytes[LENGTH_BYTES..].first_chunk() else {
        return Next::Incomplete;
    };
    if found != VERSION {
        return Next::OtherVersion { found };
    }
    if !is_possible(kind) {
        return Next::Garbage {
            length,
            kind: Some(kind),
        };
    }
    let head = LENGTH_BYTES + HEADER_BYTES + body_bytes(kind);
    if bytes.len() < head {
        return Next::Incomplete;
    }
    Next::Packet {
        head,
        payload: length as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    use crate::{Content, Envelope, Kind, Repr};
    use proptest::prelude::*;

    fn packet(kind: Kind, payload: u32) -> Vec<u8> {
        let repr = Repr {
            envelope: Envelope {
                context: 1,
                source: 2,
                tag: 3,
                content: Content::new(4, 0),
            },
            sequence: 5,
            credit: 6,
            kind,
        };
        let mut prefix = [0; PREFIX_BYTES];
        let used = repr.emit_prefix(&mut prefix);
        let mut bytes = payload.to_le_bytes().to_vec();
        bytes.extend_from_slice(&prefix[..used]);
        bytes
    }

    #[test]
    fn records_say_their_length() {
        assert_eq!(record_header(0x1234), [0x34, 0x12, 0, 0]);
        assert_eq!(record_bytes(&record_header(1)), Ok(1));
        assert_eq!(record_bytes(&record_header(RECORD_BYTES_MAX)), Ok(16_384));
        assert_eq!(record_bytes(&[0; 4]), Err(0));
        assert_eq!(record_bytes(&[1, 0x40, 0, 0]), Err(0x4001));
    }

    #[test]
    fn a_packet_is_seen_when_its_head_is_there() {
        let bytes = packet(
            Kind::Data {
                receive: 7,
                offset: 8,
            },
            100,
        );
        for cut in 0..bytes.len() {
            assert_eq!(next(&bytes[..cut]), Next::Incomplete, "cut at {cut}");
        }
        let head = bytes.len();
        assert_eq!(next(&bytes), Next::Packet { head, payload: 100 });
    }

    #[test]
    fn farewells_need_only_their_length() {
        assert_eq!(
            next(&GOODBYE.to_le_bytes()),
            Next::Farewell { pause: false }
        );
        assert_eq!(next(&PAUSE.to_le_bytes()), Next::Farewell { pause: true });
    }

    #[test]
    fn nonsense_is_named() {
        let long = (PAYLOAD_MAX as u32 + 1).to_le_bytes();
        let length = PAYLOAD_MAX as u32 + 1;
        assert_eq!(next(&long), Next::Garbage { length, kind: None });
        let kind = Some(0x40);
        assert_eq!(
            next(&[0, 0, 0, 0, VERSION, 0x40]),
            Next::Garbage { length: 0, kind }
        );
        let other = [0, 0, 0, 0, VERSION - 1, 1];
        let found = VERSION - 1;
        assert_eq!(next(&other), Next::OtherVersion { found });
    }

    /// A kind of a later release has a known length, so that what follows it can be read.
    #[test]
    fn an_unknown_kind_is_a_packet() {
        for (kind, words) in [(0x1f, 0), (0x5f, 1), (0xbf, 2), (0xdf, 3)] {
            let mut bytes = std::vec![0; HEAD_MAX];
            bytes[0] = 7;
            bytes[LENGTH_BYTES..][..2].copy_from_slice(&[VERSION, kind]);
            let head = LENGTH_BYTES + HEADER_BYTES + 8 * words;
            assert_eq!(next(&bytes), Next::Packet { head, payload: 7 });
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Next::Packet { head, payload } = next(&bytes) {
                prop_assert!(head <= bytes.len() && head <= HEAD_MAX && payload <= PAYLOAD_MAX);
            }
        }
    }
}
