//! Frames on their way to a device: pieces of memory, gathered by the kernel.
//!
//! Most of them lie in the user's memory and are not copied on this side of the kernel.

use std::ffi::c_void;

/// Frames for one node, each a list of pieces of memory.
#[derive(Default)]
pub struct Batch {
    pieces: Vec<libc::iovec>,
    /// Where each frame ends in `pieces`, and its length.
    ends: Vec<(usize, usize)>,
}

// SAFETY: the pieces are read only, and who pushes them promises that they stay.
#[allow(unsafe_code)]
unsafe impl Send for Batch {}

impl Batch {
    /// No frames.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.ends.clear();
    }

    /// Adds a piece to the frame that is being put together.
    ///
    /// # Safety
    /// The memory must stay as it is until the batch has been sent or cleared.
    #[allow(unsafe_code)]
    pub unsafe fn push(&mut self, piece: *const u8, bytes: usize) {
        self.pieces.push(libc::iovec {
            iov_base: piece.cast_mut().cast::<c_void>(),
            iov_len: bytes,
        });
    }

    /// The pieces pushed since the last frame are one frame.
    pub fn end_frame(&mut self) {
        let begin = self.ends.last().map_or(0, |end| end.0);
        let bytes = self.pieces[begin..].iter().map(|piece| piece.iov_len).sum();
        self.ends.push((self.pieces.len(), bytes));
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Length of a frame.
    pub fn frame_bytes(&self, frame: usize) -> usize {
        self.ends[frame].1
    }

    /// The pieces of frames `begin..end`, for `sendmsg`.
    pub fn pieces(&self, begin: usize, end: usize) -> &[libc::iovec] {
        let first = if begin == 0 {
            0
        } else {
            self.ends[begin - 1].0
        };
        let last = if end == 0 { 0 } else { self.ends[end - 1].0 };
        &self.pieces[first..last]
    }

    /// A copy of one frame's bytes, for devices that keep or change frames.
    #[allow(unsafe_code)]
    pub fn copy_frame(&self, frame: usize, into: &mut Vec<u8>) {
        into.clear();
        for piece in self.pieces(frame, frame + 1) {
            if piece.iov_len > 0 {
                // SAFETY: who pushed the piece promised that its memory stays until the batch is
                // sent or cleared.
                let bytes = unsafe {
                    std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len)
                };
                into.extend_from_slice(bytes);
            }
        }
    }
}
