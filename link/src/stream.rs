//! The stream: messages that wait or are on their way, one behind the other, and how frames are cut
//! out of it.
//!
//! Used by `send.rs`. A frame is a place in the stream and a length, so a frame that is repeated
//! has the same content as before, whatever has been queued since. A message stays until
//! `take_released` gave it back.

use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

use oxmpi_wire::frame::{PIECE_HEADER_BYTES, PIECES_MAX};

use crate::Config;
use crate::config::{ASK_FRAMES_MIN, START_BYTES_MIN};
use crate::piece::Piece;

/// A place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    /// Number of the message, counted from the first one of this link.
    pub message: u64,
    pub offset: usize,
}

/// The place where the first message begins.
pub(crate) const BEGINNING: Position = Position {
    message: 0,
    offset: 0,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Message<M> {
    handle: M,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream<M> {
    messages: VecDeque<Message<M>>,
    /// Number of the message at the front.
    front: u64,
    /// Messages before this one are acknowledged wholly.
    released: u64,
    /// Where the next new frame begins.
    cursor: Position,
}

impl<M: Copy> Stream<M> {
    /// An empty stream with room for `messages_max` messages.
    pub fn new(messages_max: usize) -> Stream<M> {
        Stream::with(VecDeque::with_capacity(messages_max))
    }

    /// Empty as when it was made, in the same memory.
    pub fn renew(&mut self) {
        self.messages.clear();
        *self = Stream::with(core::mem::take(&mut self.messages));
    }

    fn with(messages: VecDeque<Message<M>>) -> Stream<M> {
        Stream {
            messages,
            front: 0,
            released: 0,
            cursor: BEGINNING,
        }
    }

    /// What [`Stream::new`] allocates.
    pub const fn bytes(messages_max: usize) -> usize {
        messages_max * size_of::<Message<M>>()
    }

    /// Messages that have not been given back.
    #[inline]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    #[inline]
    pub fn push(&mut self, handle: M, bytes: usize) {
        self.messages.push_back(Message { handle, bytes });
    }

    /// Whether something has not been put into a frame yet.
    #[inline]
    pub fn has_uncut(&self) -> bool {
        self.cursor.message != self.front + self.messages.len() as u64
    }

    /// Everything before the frame that begins at `oldest`, or before the next new frame, is
    /// acknowledged.
    #[inline]
    pub fn release(&mut self, oldest: Option<Position>) {
        self.released = oldest.unwrap_or(self.cursor).message;
    }

    /// The next message that the peer has wholly.
    #[inline]
    pub fn take_released(&mut self) -> Option<M> {
        if self.front == self.released {
            return None;
        }
        self.front += 1;
        let message = self.messages.pop_front();
        if self.messages.is_empty() {
            // Begins at the first place again, so that a few messages at a time use few cache
            // lines of a long queue.
            self.messages.clear();
        }
        Some(message.expect("released messages are queued").handle)
    }

    /// Cuts the next frame: where it begins, and the length of its payload. There must be something
    /// uncut.
    #[inline]
    pub fn cut(&mut self, config: &Config) -> (Position, u16) {
        let begin = self.cursor;
        let mut room = config.payload_bytes_max;
        for number in 0..PIECES_MAX {
            let index = (self.cursor.message - self.front) as usize;
            let Some(message) = self.messages.get(index) else {
                break;
            };
            let left = message.bytes - self.cursor.offset;
            if PIECE_HEADER_BYTES + left <= room {
                room -= PIECE_HEADER_BYTES + left;
                self.cursor.message += 1;
                self.cursor.offset = 0;
            } else {
                if number == 0 || room >= PIECE_HEADER_BYTES + START_BYTES_MIN {
                    self.cursor.offset += room - PIECE_HEADER_BYTES;
                    room = 0;
                }
                break;
            }
        }
        // Config::assert_legal: a payload's length fits 16 bits.
        (begin, (config.payload_bytes_max - room) as u16)
    }

    /// Cuts at most `frames_max` full frames that neither begin nor end a message: where the first
    /// begins, its message, how many bytes of it each carries, and their number.
    #[inline]
    pub fn cut_middle(
        &mut self,
        config: &Config,
        frames_max: u32,
    ) -> Option<(Position, M, usize, u32)> {
        let begin = self.cursor;
        let index = (begin.message - self.front) as usize;
        let message = self.messages.get(index).filter(|_| begin.offset > 0)?;
        let bytes = config.payload_bytes_max - PIECE_HEADER_BYTES;
        let left = message.bytes - begin.offset;
        let frames = (left.saturating_sub(1) / bytes).min(frames_max as usize);
        if frames == 0 {
            return None;
        }
        self.cursor.offset += frames * bytes;
        Some((begin, message.handle, bytes, frames as u32))
    }

    /// Whether the frame just cut, from `begin` on, ends a message whose sender likely waits for
    /// its memory.
    #[inline]
    pub fn ended_long_message(&self, config: &Config, begin: Position) -> bool {
        if begin.offset == 0 || self.cursor.message == begin.message {
            return false;
        }
        let message = &self.messages[(begin.message - self.front) as usize];
        message.bytes > config.payload_bytes_max * ASK_FRAMES_MIN
    }

    /// The pieces of a frame.
    pub fn pieces(&self, begin: Position, length: u16) -> impl Iterator<Item = Piece<M>> + '_ {
        let mut position = begin;
        let mut room = usize::from(length);
        core::iter::from_fn(move || {
            if room == 0 {
                return None;
            }
            let index = (position.message - self.front) as usize;
            let message = &self.messages[index];
            let left = message.bytes - position.offset;
            let bytes = left.min(room - PIECE_HEADER_BYTES);
            let piece = Piece {
                message: message.handle,
                offset: position.offset,
                bytes,
                first: position.offset == 0,
                last: bytes == left,
            };
            room -= PIECE_HEADER_BYTES + bytes;
            position = Position {
                message: position.message + 1,
                offset: 0,
            };
            Some(piece)
        })
    }
}

impl<M: Hash> Stream<M> {
    /// What decides about the next action. Messages are counted from the front, since only
    /// differences matter.
    pub fn digest<H: Hasher>(&self, state: &mut H) {
        self.messages.hash(state);
        (self.released - self.front).hash(state);
        (self.cursor.message - self.front, self.cursor.offset).hash(state);
    }
}
