//! [`FrameKey`]: the tags by which frames prove themselves, SipHash-1-3 (Aumasson and Bernstein).
//!
//! The length of what is hashed is known here: the proven part of a header, which has the lower
//! half of the transmission's number, and the upper half. Written out for this length it needs
//! neither a buffer nor a look at the length, as the crate `siphasher` does; the tests hold it
//! against that crate, and `oxmpi bench network` times it ("proof of a frame").

use core::fmt;

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PROVEN_BYTES};

/// Bytes of a key: 128 bits, as many as a guess can never cover.
pub const FRAME_KEY_BYTES: usize = 16;

/// Bytes that are hashed: the proven part of the header, and half a number.
const HASHED_BYTES: usize = PROVEN_BYTES + 4;

const _: () = assert!(
    PROVEN_BYTES.is_multiple_of(8),
    "whole words, and then the rest"
);

/// The key of the tags of one direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameKey([u64; 2]);

/// The hash on its way.
struct State([u64; 4]);

impl FrameKey {
    /// The key with these bytes.
    pub const fn new(bytes: [u8; FRAME_KEY_BYTES]) -> FrameKey {
        let whole = u128::from_le_bytes(bytes);
        FrameKey([whole as u64, (whole >> 64) as u64])
    }

    /// What proves a header, in the transmission with this number.
    #[inline]
    pub(crate) fn tag(&self, header: &[u8; FRAME_HEADER_BYTES], serial: u64) -> u64 {
        let [k0, k1] = self.0;
        let mut state = State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        let (words, _) = header[..PROVEN_BYTES].as_chunks::<8>();
        for word in words {
            state.take(u64::from_le_bytes(*word));
        }
        // The last word has what is left of the bytes, and their number on top.
        state.take((HASHED_BYTES as u64) << 56 | serial >> 32);
        state.finish()
    }
}

impl State {
    #[inline(always)]
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline(always)]
    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        self.round();
        self.round();
        self.round();
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }

    #[inline(always)]
    fn round(&mut self) {
        let v = &mut self.0;
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
}

/// Not shown: texts reach logs.
impl fmt::Debug for FrameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FrameKey(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use core::hash::Hasher;

    use proptest::prelude::*;
    use siphasher::sip::SipHasher13;

    use super::*;

    proptest! {
        #[test]
        fn tags_are_siphash(
            key: [u8; FRAME_KEY_BYTES],
            header: [u8; FRAME_HEADER_BYTES],
            serial: u64,
        ) {
            let mut hasher = SipHasher13::new_with_key(&key);
            hasher.write(&header[..PROVEN_BYTES]);
            hasher.write(&serial.to_le_bytes()[4..]);
            prop_assert_eq!(FrameKey::new(key).tag(&header, serial), hasher.finish());
        }
    }
}
