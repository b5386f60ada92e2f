//! A part of a batch, given to a device as a batch of its own: what wrapping devices need that
//! drop, hold or spread some of the frames.
//!
//! The frames are not copied; only their pieces are listed again, and not even these when the part
//! is the whole.

use super::Batch;

/// Memory for the lists of pieces, kept between calls.
#[derive(Default)]
pub(super) struct Part {
    batch: Batch,
}

impl Part {
    /// Shows frames `begin..end` of a batch to `send`.
    pub fn of<R>(
        &mut self,
        batch: &Batch,
        begin: usize,
        end: usize,
        send: impl FnOnce(&Batch) -> R,
    ) -> R {
        if begin == 0 && end == batch.len() {
            return send(batch);
        }
        self.batch.clear();
        for frame in begin..end {
            for piece in batch.pieces(frame, frame + 1) {
                push(&mut self.batch, piece.iov_base.cast(), piece.iov_len);
            }
            self.batch.end_frame();
        }
        let answer = send(&self.batch);
        self.batch.clear();
        answer
    }

    /// Shows whole frames that lie in one piece each to `send`.
    pub fn whole<'a, R>(
        &mut self,
        frames: impl Iterator<Item = &'a [u8]>,
        send: impl FnOnce(&Batch) -> R,
    ) -> R {
        self.batch.clear();
        for frame in frames {
            push(&mut self.batch, frame.as_ptr(), frame.len());
            self.batch.end_frame();
        }
        let answer = send(&self.batch);
        self.batch.clear();
        answer
    }
}

#[allow(unsafe_code)]
fn push(into: &mut Batch, piece: *const u8, bytes: usize) {
    // SAFETY: both callers borrow what holds the memory for the whole call (a batch whose pusher
    // made the same promise, or slices), and clear the list before they return; a list left over by
    // a panic in between is cleared before it is shown again, because nobody else can reach it.
    unsafe { into.push(piece, bytes) };
}
