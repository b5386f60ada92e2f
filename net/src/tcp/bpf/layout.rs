//! The memory that the program in the kernel and this process have in common: who writes what, and
//! where it lies.
//!
//! A page of *control*, the *queue* of slots that have something new, a *state* for each slot, and
//! a *ring* of bytes for each. What the kernel writes and what the process writes are on different
//! cache lines.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// Connections that can have a slot; a power of two. Others are read as ever.
pub(super) const SLOTS_MAX: u32 = 64;
/// Bytes of a ring, a power of two. The kernel hands over pieces of up to 64 KiB. Beyond the upper
/// bound a ring would only leave the processor's caches.
const RING_BYTES_MIN: u32 = 64 << 10;
const RING_BYTES_MAX: u32 = 1 << 20;
/// Rings begin with a page.
pub(super) const RINGS_ALIGN: u32 = 4096;

/// What concerns all slots.
#[repr(C)]
pub(super) struct Control {
    /// The process sleeps, or is about to; the kernel clears it when it wakes it.
    pub asleep: Line<AtomicU32>,
    /// Notices given, by the kernel.
    pub queue_head: Line<AtomicU64>,
}

/// On a cache line of its own.
#[repr(C, align(64))]
pub(super) struct Line<T>(pub T);

/// One connection.
#[repr(C)]
pub(super) struct State {
    pub kernels: Line<Kernels>,
    pub ours: Line<Ours>,
    /// There is a notice in the queue. The kernel sets it, the process clears it.
    pub listed: Line<AtomicU32>,
    fill: Line<[u8; 64]>,
}

/// Written by the kernel.
#[repr(C)]
pub(super) struct Kernels {
    /// Bytes that were put into the ring.
    pub head: AtomicU64,
    /// Bytes that went on to the socket.
    pub passed: AtomicU64,
    /// What had passed when the ring was used again.
    pub before: AtomicU64,
    /// The number of the next byte of the stream.
    pub next: AtomicU32,
    /// The last [`Ours::resume`] that was obeyed.
    pub resumed: AtomicU32,
    /// Everything goes on to the socket.
    pub passing: AtomicU32,
    /// Bytes are missing of the stream.
    pub broken: AtomicU32,
}

/// Written by the process.
#[repr(C)]
pub(super) struct Ours {
    /// Bytes that were taken out of the ring.
    pub tail: AtomicU64,
    /// Changed in order to have the ring used again.
    pub resume: AtomicU32,
    /// Everything is to go on to the socket.
    pub straight: AtomicU32,
    /// No notices: the process looks by itself.
    pub quiet: AtomicU32,
}

/// Offsets, for the program.
pub(super) mod at {
    use super::{Control, Kernels, Ours, State};
    use std::mem::offset_of;

    pub const CONTROL: u32 = 0;
    pub const ASLEEP: i16 = offset_of!(Control, asleep) as i16;
    pub const QUEUE_HEAD: i16 = offset_of!(Control, queue_head) as i16;
    /// States are so many bits long.
    pub const STATE_SHIFT: i32 = 8;
    const OURS: usize = offset_of!(State, ours);
    pub const HEAD: i16 = offset_of!(Kernels, head) as i16;
    pub const PASSED: i16 = offset_of!(Kernels, passed) as i16;
    pub const BEFORE: i16 = offset_of!(Kernels, before) as i16;
    pub const NEXT: i16 = offset_of!(Kernels, next) as i16;
    pub const RESUMED: i16 = offset_of!(Kernels, resumed) as i16;
    pub const PASSING: i16 = offset_of!(Kernels, passing) as i16;
    pub const BROKEN: i16 = offset_of!(Kernels, broken) as i16;
    pub const TAIL: i16 = (OURS + offset_of!(Ours, tail)) as i16;
    pub const RESUME: i16 = (OURS + offset_of!(Ours, resume)) as i16;
    pub const STRAIGHT: i16 = (OURS + offset_of!(Ours, straight)) as i16;
    pub const QUIET: i16 = (OURS + offset_of!(Ours, quiet)) as i16;
    pub const LISTED: i16 = offset_of!(State, listed) as i16;

    const _: () = assert!(size_of::<State>() == 1 << STATE_SHIFT);
    const _: () = assert!(offset_of!(State, kernels) == 0);
}

/// How many slots, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub slots: u32,
    pub ring_bytes: u32,
}

impl Layout {
    /// For a job of `size`, with about `bytes` bytes in all. A connection may be made anew before the
    /// old one is forgotten.
    pub fn new(size: u32, bytes: u64) -> Layout {
        let wanted = size.clamp(2, SLOTS_MAX).next_power_of_two();
        let most = u32::try_from(bytes / u64::from(RING_BYTES_MIN)).unwrap_or(u32::MAX);
        let slots = wanted.min(1 << most.max(1).ilog2());
        let ring = bytes / u64::from(slots);
        let ring = ring.clamp(RING_BYTES_MIN.into(), RING_BYTES_MAX.into());
        Layout {
            slots,
            ring_bytes: 1 << ring.ilog2(),
        }
    }

    pub fn queue(self) -> u32 {
        size_of::<Control>() as u32
    }

    pub fn states(self) -> u32 {
        (self.queue() + self.slots * 4).next_multiple_of(64)
    }

    pub fn rings(self) -> u32 {
        (self.states() + (self.slots << at::STATE_SHIFT)).next_multiple_of(RINGS_ALIGN)
    }

    /// All of it. The last ring is never used: the kernel's verifier does not see that no copy
    /// begins in the middle of the ring before it and goes on beyond its end.
    pub fn bytes(self) -> u32 {
        self.rings() + (self.slots + 1) * self.ring_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_have_room_for_a_piece_and_share_what_there_is() {
        let layout = |size, bytes| {
            let layout = Layout::new(size, bytes);
            (layout.slots, layout.ring_bytes)
        };
        assert_eq!(layout(1, 8 << 20), (2, 1 << 20));
        assert_eq!(layout(2, 8 << 20), (2, 1 << 20));
        assert_eq!(layout(5, 8 << 20), (8, 1 << 20));
        assert_eq!(layout(16, 8 << 20), (16, 512 << 10));
        assert_eq!(layout(502, 8 << 20), (64, 128 << 10));
        assert_eq!(layout(502, 64 << 10), (1, 64 << 10));
        assert_eq!(layout(3, 128 << 10), (2, 64 << 10));
        assert_eq!(layout(u32::MAX, 1 << 30), (64, 1 << 20));
        for size in [1, 3, 64, 1000] {
            let layout = Layout::new(size, 8 << 20);
            assert!(layout.states().is_multiple_of(64));
            assert!(layout.rings() >= layout.states() + layout.slots * 256);
        }
    }
}
