//! [`Piece`]: which bytes of a message a frame carries.

use oxmpi_wire::frame::PieceHeader;

/// A run of bytes of one message, to be put into a frame behind a piece header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<M> {
    /// The caller's handle.
    pub message: M,
    /// Where the bytes begin in the message.
    pub offset: usize,
    /// How many there are.
    pub bytes: usize,
    /// The message begins with them.
    pub first: bool,
    /// The message ends with them.
    pub last: bool,
}

impl<M> Piece<M> {
    /// The header that goes in front of the bytes.
    #[inline]
    pub fn header(&self) -> PieceHeader {
        PieceHeader {
            // A piece is part of a payload, whose length fits 16 bits.
            bytes: self.bytes as u16,
            first: self.first,
            last: self.last,
        }
    }
}
