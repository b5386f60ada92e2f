//! Frames prove themselves: every transmission has a number of its own and a tag that only the two
//! ends can compute.
//!
//! A tag is SipHash-1-3 (64 bits) over the header and the upper half of the transmission's number,
//! under a key of one direction of one conversation. An observer of the network learns no key from frames,
//! and every number is taken once, so neither a forged, nor an altered, nor a repeated header
//! reaches the [`Link`](crate::Link). The header carries the lower half of the number; the receiver
//! knows the upper half, because it is never more than half a round away from what it has seen.
//! What the tag does not prove is the payload: a checksum finds damage, encryption (in the endpoint
//! above) also forgery.
//!
//! The session stands beside the link: the endpoint signs what the link wants to send, and verifies
//! what it gives to the link.

use core::fmt;

use oxmpi_wire::frame::{self, FRAME_HEADER_BYTES};

use crate::frame_key::FrameKey;
use crate::replay::Replay;

/// A frame that its claimed sender did not send, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// Fewer bytes than a header.
    Short,
    /// The tag is wrong: of a former job, of another process, altered or forged.
    Tag,
    /// The number was seen before, or is so old that it may have been: a repeated frame.
    Replay {
        /// The number.
        serial: u64,
    },
}

impl fmt::Display for Forgery {
    #[cold]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Forgery::Short => f.write_str("frame is shorter than its header"),
            Forgery::Tag => f.write_str(
                "frame does not prove its sender: of a former job, altered on the way, or forged",
            ),
            Forgery::Replay { serial } => {
                write!(f, "transmission {serial} was here before, or is too late")
            }
        }
    }
}

impl core::error::Error for Forgery {}

/// Both directions of a conversation: numbers and proofs of what leaves, and what was seen of the
/// other side.
#[derive(Clone, Debug)]
pub struct Session {
    key_out: FrameKey,
    key_in: FrameKey,
    /// Number of the next transmission.
    next: u64,
    seen: Replay,
}

impl Session {
    /// A conversation in which nothing was said; the other side has the keys exchanged.
    pub fn new(key_out: FrameKey, key_in: FrameKey) -> Session {
        Session {
            key_out,
            key_in,
            next: 0,
            seen: Replay::new(),
        }
    }

    /// Numbers a transmission, and says the number. The header is complete but for its tag then: it
    /// may be sealed with the number, before [`Session::prove`].
    #[inline]
    pub fn stamp(&mut self, header: &mut [u8; FRAME_HEADER_BYTES]) -> u64 {
        let serial = self.next;
        self.next += 1;
        frame::set_serial(header, serial);
        serial
    }

    /// Proves a header that [`Session::stamp`] has numbered.
    #[inline]
    pub fn prove(&self, header: &mut [u8; FRAME_HEADER_BYTES], serial: u64) {
        let tag = self.key_out.tag(header, serial);
        frame::set_tag(header, tag);
    }

    /// Numbers and proves a header that is complete, checksum included. Every transmission is
    /// signed anew, repeats too.
    #[inline]
    pub fn sign(&mut self, header: &mut [u8; FRAME_HEADER_BYTES]) {
        let serial = self.stamp(header);
        self.prove(header, serial);
    }

    /// Whether the other side sent this frame, and it was not here before; its number. A frame is
    /// taken once: the second time it is a replay.
    #[inline]
    pub fn verify(&mut self, frame: &[u8]) -> Result<u64, Forgery> {
        let serial = self.examine(frame)?;
        self.admit(serial)?;
        Ok(serial)
    }

    /// As [`Session::verify`], and nothing is remembered: whoever has more to check, such as a
    /// seal, does that before [`Session::admit`]. Otherwise a copy with other contents could take
    /// the place of the frame itself.
    #[inline]
    pub fn examine(&self, frame: &[u8]) -> Result<u64, Forgery> {
        let Some(header) = frame.first_chunk() else {
            return Err(Forgery::Short);
        };
        let serial = self.seen.whole(frame::serial(header));
        // Tags are no secrets of the receiver, and a wrong one tells a forger nothing: no need for
        // a comparison in constant time beyond that of one machine word.
        if self.key_in.tag(header, serial) != frame::tag(header) {
            return Err(Forgery::Tag);
        }
        Ok(serial)
    }

    /// Takes the number of a frame that has proven itself.
    #[inline]
    pub fn admit(&mut self, serial: u64) -> Result<(), Forgery> {
        match self.seen.admit(serial) {
            true => Ok(()),
            false => Err(Forgery::Replay { serial }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header has the lower half of the number only; when it begins anew, proofs do not repeat.
    #[test]
    fn numbers_go_on_beyond_the_header() {
        let (one, other) = (FrameKey::new([1; 16]), FrameKey::new([2; 16]));
        let (mut here, mut there) = (Session::new(one, other), Session::new(other, one));
        let mut old = [7; FRAME_HEADER_BYTES];
        here.sign(&mut old);
        assert_eq!(there.verify(&old), Ok(0));
        for serial in [u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, 7 << 32] {
            // A session that has sent, and one that has seen, as many.
            here.next = serial;
            there.seen.admit(serial - 1);
            let mut header = [7; FRAME_HEADER_BYTES];
            here.sign(&mut header);
            assert_eq!(there.verify(&header), Ok(serial));
            assert!(there.verify(&old).is_err(), "0 was long ago");
        }
    }
}
