//! The receiving half: which frame is expected, what is delivered, and which frames are kept until
//! an earlier one comes.
//!
//! `lib.rs` calls it with frames that have proved to belong to the conversation. Pieces of an
//! expected frame stay where they are, in the device's memory; only frames that came too early are
//! copied (`kept.rs`).
//!
//! Invariants: frames before `expected` were delivered or are about to be, exactly once; a frame is
//! accepted only if its pieces continue the stream, so nobody sees a message without its beginning
//! or its end.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::ops::Range;

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PIECE_HEADER_BYTES, PIECES_MAX, PieceHeader};

use crate::Config;
use crate::kept::{Edges, Kept};

/// A run of bytes of a message, delivered in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// A message begins with it.
    pub first: bool,
    /// The message ends with it.
    pub last: bool,
    /// Where the bytes are; see [`Link::bytes`](crate::Link::bytes).
    pub place: Place,
}

/// Where delivered bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the frame just handled, counted from its first byte.
    Frame(Range<usize>),
    /// In a frame that came earlier and was kept: slot, and bytes within it.
    Kept(usize, Range<usize>),
}

/// What became of a Data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was expected; it and perhaps kept ones behind it are delivered.
    InOrder,
    /// It came before an earlier one and is kept.
    Kept,
    /// It came before an earlier one and cannot be kept.
    TooEarly,
    /// It was there already.
    Duplicate,
}

/// Pieces that do not continue the stream.
pub(crate) struct BadPieces;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Receiver {
    /// Number of the frame that is delivered next.
    expected: u32,
    /// The frame before it ended within a message.
    within_message: bool,
    /// Pieces of the frame just handled, and how many of them were delivered.
    ready: Vec<(u32, PieceHeader)>,
    ready_next: usize,
    kept: Kept,
    /// Kept frames before this one are to be delivered, from `draining` on.
    draining: u32,
    /// Byte within the kept frame that is being delivered.
    draining_at: usize,
}

impl Receiver {
    pub fn new(config: &Config) -> Receiver {
        Receiver::with(config, Vec::with_capacity(PIECES_MAX), Kept::new(config))
    }

    /// As when it was made, in the same memory.
    pub fn renew(&mut self, config: &Config) {
        self.kept.renew();
        self.ready.clear();
        let ready = core::mem::take(&mut self.ready);
        *self = Receiver::with(config, ready, core::mem::take(&mut self.kept));
    }

    fn with(config: &Config, ready: Vec<(u32, PieceHeader)>, kept: Kept) -> Receiver {
        Receiver {
            expected: config.first_sequence,
            within_message: false,
            ready,
            ready_next: 0,
            kept,
            draining: config.first_sequence,
            draining_at: 0,
        }
    }

    /// What [`Receiver::new`] allocates.
    pub const fn bytes(config: &Config) -> usize {
        PIECES_MAX * size_of::<(u32, PieceHeader)>() + Kept::bytes(config)
    }

    /// Number of the next frame expected: the acknowledgement of all before it.
    #[inline]
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Whether everything delivered was taken.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.ready_next == self.ready.len() && self.draining == self.expected
    }

    /// Frames kept until an earlier one comes, without those that are being delivered.
    #[inline]
    pub fn kept(&self) -> u32 {
        self.kept.count() - self.expected.wrapping_sub(self.draining)
    }

    /// Takes a Data frame, or says what is wrong with its pieces.
    #[inline]
    pub fn accept(
        &mut self,
        config: &Config,
        sequence: u32,
        payload: &[u8],
    ) -> Result<Arrival, BadPieces> {
        let ahead = sequence.wrapping_sub(self.expected);
        if ahead == 0 {
            let edges = self.read_pieces(payload)?;
            if edges.begins_message == self.within_message {
                self.ready.clear();
                return Err(BadPieces);
            }
            self.advance(edges);
            self.draining = self.expected;
            if self.kept.count() > 0 {
                self.advance_over_kept();
            }
            return Ok(Arrival::InOrder);
        }
        if ahead as i32 <= 0 {
            return Ok(Arrival::Duplicate);
        }
        if !self.kept.has_room_for(payload) || ahead >= config.window_frames_max {
            return Ok(Arrival::TooEarly);
        }
        if self.kept.holds(sequence) {
            return Ok(Arrival::Duplicate);
        }
        let edges = self.read_pieces(payload)?;
        self.ready.clear();
        self.kept.insert(sequence, payload, edges);
        Ok(Arrival::Kept)
    }

    /// Takes a frame that is expected and whose only piece continues a message without ending it,
    /// and says where in the frame that piece is; `None` if it is another one.
    #[inline]
    pub fn accept_middle(
        &mut self,
        sequence: u32,
        payload: &[u8],
        bytes_max: usize,
    ) -> Option<Range<usize>> {
        let piece = PieceHeader::parse(payload)?;
        let bytes = usize::from(piece.bytes);
        let middle = !piece.first && !piece.last && PIECE_HEADER_BYTES + bytes == payload.len();
        let simple = self.within_message && self.kept.count() == 0 && self.is_drained();
        if !middle || !simple || sequence != self.expected || bytes > bytes_max {
            return None;
        }
        self.expected = self.expected.wrapping_add(1);
        self.draining = self.expected;
        let begin = FRAME_HEADER_BYTES + PIECE_HEADER_BYTES;
        Some(begin..begin + bytes)
    }

    /// Notes where the pieces are. Within the frame they must continue each other; whether the
    /// first continues the stream is for the caller to see.
    #[inline]
    fn read_pieces(&mut self, payload: &[u8]) -> Result<Edges, BadPieces> {
        self.ready.clear();
        self.ready_next = 0;
        let mut at = 0;
        let mut previous_last = None;
        let mut begins_message = false;
        while at < payload.len() {
            let piece = PieceHeader::parse(&payload[at..]);
            let legal = piece.filter(|piece| {
                self.ready.len() < PIECES_MAX
                    && previous_last.is_none_or(|last| last == piece.first)
            });
            let Some(piece) = legal else {
                self.ready.clear();
                return Err(BadPieces);
            };
            if previous_last.is_none() {
                begins_message = piece.first;
            }
            previous_last = Some(piece.last);
            at += PIECE_HEADER_BYTES;
            self.ready.push(((FRAME_HEADER_BYTES + at) as u32, piece));
            at += usize::from(piece.bytes);
        }
        Ok(Edges {
            begins_message,
            // The parser of frames refuses Data without any piece.
            ends_message: previous_last.unwrap_or(false),
        })
    }

    #[inline]
    fn advance(&mut self, edges: Edges) {
        self.expected = self.expected.wrapping_add(1);
        self.within_message = !edges.ends_message;
    }

    fn advance_over_kept(&mut self) {
        while let Some(edges) = self.kept.edges(self.expected) {
            if edges.begins_message == self.within_message {
                // Damaged on an unchecked link. The sender believes it to be here, but its time-out
                // repeats the oldest frame in any case.
                self.kept.release(self.expected);
                break;
            }
            self.advance(edges);
        }
        self.draining_at = 0;
    }

    /// The next run of bytes, in order.
    #[inline]
    pub fn poll_delivered(&mut self) -> Option<Delivered> {
        if let Some(&(at, piece)) = self.ready.get(self.ready_next) {
            self.ready_next += 1;
            let begin = at as usize;
            return Some(Delivered {
                first: piece.first,
                last: piece.last,
                place: Place::Frame(begin..begin + usize::from(piece.bytes)),
            });
        }
        if self.draining == self.expected {
            return None;
        }
        self.poll_kept()
    }

    fn poll_kept(&mut self) -> Option<Delivered> {
        loop {
            let slot = self.kept.slot(self.draining);
            let payload = self.kept.payload(slot);
            if let Some(piece) = PieceHeader::parse(&payload[self.draining_at..]) {
                let begin = self.draining_at + PIECE_HEADER_BYTES;
                let end = begin + usize::from(piece.bytes);
                self.draining_at = end;
                return Some(Delivered {
                    first: piece.first,
                    last: piece.last,
                    place: Place::Kept(slot, begin..end),
                });
            }
            self.kept.release(self.draining);
            self.draining = self.draining.wrapping_add(1);
            self.draining_at = 0;
            if self.draining == self.expected {
                return None;
            }
        }
    }

    /// The bytes of a kept frame.
    #[inline]
    pub fn kept_bytes(&self, slot: usize, range: &Range<usize>) -> &[u8] {
        &self.kept.payload(slot)[range.clone()]
    }

    /// Which frames beyond the expected one are kept, as a bitmap: bit `i` stands for `expected + 1
    /// + i`.
    pub fn write_bitmap(&self, config: &Config, bitmap: &mut Vec<u8>) {
        bitmap.clear();
        let bits = (config.window_frames_max as usize - 1).min(config.payload_bytes_max * 8);
        let mut found = 0;
        for bit in 0..bits {
            if found == self.kept() {
                break;
            }
            if self.kept.holds(self.expected.wrapping_add(1 + bit as u32)) {
                found += 1;
                bitmap.resize(bit / 8 + 1, 0);
                bitmap[bit / 8] |= 1 << (bit % 8);
            }
        }
    }

    /// What decides about the next action. Content is not part of it: it follows from the numbers.
    pub fn digest<H: Hasher>(&self, window: u32, state: &mut H) {
        (self.expected, self.within_message, self.is_drained()).hash(state);
        for ahead in 1..window {
            self.kept
                .holds(self.expected.wrapping_add(ahead))
                .hash(state);
        }
    }
}
