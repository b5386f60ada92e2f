//! The checksum of a frame: CRC32C (Castagnoli, as in iSCSI and SCTP) over the header as far as it
//! is known before the frame is numbered, and the payload.
//!
//! The sender's payload lies in memory that `link` never sees, so whoever gathers a frame computes
//! it on the way, with [`Checksum`]; the receiver's is checked in `handle_frame`.

use crc::{CRC_32_ISCSI, Crc, Digest, Table};
use oxmpi_wire::frame::{self, CHECKED_BYTES, FRAME_HEADER_BYTES};

/// Sixteen tables: 16 bytes a step, several times faster than one table; 16 KiB that only checked
/// links ever touch.
static CASTAGNOLI: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// A checksum in the making: header first, then the payload in any number of runs.
pub struct Checksum(Digest<'static, u32, Table<16>>);

impl Checksum {
    /// Begins with a header.
    pub fn of_header(header: &[u8; FRAME_HEADER_BYTES]) -> Checksum {
        let mut digest = CASTAGNOLI.digest();
        digest.update(&header[..CHECKED_BYTES]);
        Checksum(digest)
    }

    /// Goes on with bytes of the payload.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum.
    pub fn finish(self) -> u32 {
        self.0.finalize()
    }

    /// Puts the checksum into the header it began with.
    pub fn seal(self, header: &mut [u8; FRAME_HEADER_BYTES]) {
        frame::set_crc(header, self.finish());
    }
}

/// The checksum that a whole frame should carry.
pub(crate) fn of_frame(bytes: &[u8]) -> u32 {
    let (header, payload) = bytes
        .split_first_chunk::<FRAME_HEADER_BYTES>()
        .expect("the frame was parsed");
    let mut checksum = Checksum::of_header(header);
    checksum.update(payload);
    checksum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// RFC 3720 §B.4 gives 32 bytes of zeros as `aa 36 91 8a`, lowest byte first.
    #[test]
    fn it_is_the_checksum_of_iscsi() {
        assert_eq!(CASTAGNOLI.checksum(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn a_sealed_header_verifies() {
        let mut header = [7; FRAME_HEADER_BYTES];
        let mut checksum = Checksum::of_header(&header);
        checksum.update(b"pay");
        checksum.update(b"load");
        let expected = {
            let mut whole = Vec::from(header);
            whole.extend(b"payload");
            of_frame(&whole)
        };
        checksum.seal(&mut header);
        let mut sealed = Vec::from(header);
        sealed.extend(b"payload");
        assert_eq!(of_frame(&sealed), expected);
        assert_eq!(header[28..32], expected.to_le_bytes());
        // The number and the proof of a transmission come later, and differ from one to the next.
        sealed[24..28].fill(1);
        sealed[32..40].fill(2);
        assert_eq!(of_frame(&sealed), expected);
    }
}
