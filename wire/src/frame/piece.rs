//! Pieces: what the payload of a Data frame consists of.
//!
//! | offset | field | type | meaning                                                      |
//! |-------:|-------|------|--------------------------------------------------------------|
//! |      0 | bytes | u16  | bytes of the message that follow                             |
//! |      2 | flags | u16  | 1 FIRST: a message begins here, 2 LAST: it ends with these   |
//!
//! A message of no bytes is one piece with both flags.

/// Bytes in front of each piece.
pub const PIECE_HEADER_BYTES: usize = 4;

/// Most pieces in a frame: 64 messages of 68 bytes and more (the shortest packets the engine sends)
/// fill three ordinary Ethernet frames, and a frame's list of pieces stays short enough to gather 7
/// such frames in one system call (1024 elements, 2 per piece).
pub const PIECES_MAX: usize = 64;

const FIRST: u16 = 1;
const LAST: u16 = 2;

/// What stands in front of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PieceHeader {
    /// Bytes of the message that follow.
    pub bytes: u16,
    /// A message begins with them.
    pub first: bool,
    /// The message ends with them.
    pub last: bool,
}

impl PieceHeader {
    /// The header's bytes.
    #[inline]
    pub fn emit(&self) -> [u8; PIECE_HEADER_BYTES] {
        let flags = u16::from(self.first) * FIRST + u16::from(self.last) * LAST;
        let [a, b] = self.bytes.to_le_bytes();
        let [c, d] = flags.to_le_bytes();
        [a, b, c, d]
    }

    /// Reads the header at the beginning of `bytes`; `None` if there is none, if it has other
    /// flags, or if fewer bytes follow than it says.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<PieceHeader> {
        let (&[a, b, c, d], rest) = bytes.split_first_chunk::<PIECE_HEADER_BYTES>()?;
        let length = u16::from_le_bytes([a, b]);
        let flags = u16::from_le_bytes([c, d]);
        if flags & !(FIRST | LAST) != 0 || rest.len() < usize::from(length) {
            return None;
        }
        Some(PieceHeader {
            bytes: length,
            first: flags & FIRST != 0,
            last: flags & LAST != 0,
        })
    }
}
