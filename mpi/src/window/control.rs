//! The words by which the ranks of a host keep each other out of a window: for each rank of the
//! host a lock for MPI_Win_lock, an entry in it for every rank of the window, and a small lock for
//! accumulations of elements that the processor cannot change at once.
//!
//! The block lies in memory that the ranks of the host share. Ranks of other hosts are represented
//! by the service of the target, which draws tickets in their names.

use std::sync::atomic::{AtomicU32, Ordering};

use oxmpi_engine::Engine;
use oxmpi_engine::turn_lock::{Entry, TurnLock};

/// A line of memory.
const LINE: usize = 64;
/// Looks at a small lock before the CPU is offered to others.
const LOOKS_MAX: u32 = 64;
/// Offers of the CPU before it is asked whether the holder is dead: some milliseconds.
const OFFERS_MAX: u32 = 1000;

/// Where the words are.
pub(super) struct Control {
    base: *mut u8,
    /// Bytes for each rank of the host.
    stride: usize,
    /// Ranks of the host.
    near: usize,
    /// Ranks of the window.
    size: usize,
}

// SAFETY: everything is reached through atomics.
unsafe impl Send for Control {}
// SAFETY: as above.
unsafe impl Sync for Control {}

impl Control {
    /// Bytes for each rank of the host in a window of `size` ranks.
    fn stride(size: usize) -> usize {
        2 * LINE + (size * size_of::<Entry>()).next_multiple_of(LINE)
    }

    /// Bytes of the block for `near` ranks of a host in a window of `size` ranks.
    pub(super) fn bytes(near: usize, size: usize) -> u64 {
        (near * Control::stride(size)) as u64
    }

    /// The block at an address.
    ///
    /// # Safety
    /// [`Control::bytes`] bytes there, aligned to a line and zero at first, must stay mapped for as
    /// long as this lives, and be used for nothing else.
    pub(super) unsafe fn at(base: *mut u8, near: usize, size: usize) -> Control {
        assert!(base.cast::<TurnLock>().is_aligned());
        Control {
            base,
            stride: Control::stride(size),
            near,
            size,
        }
    }

    #[inline(always)]
    fn place(&self, near: usize, offset: usize) -> *mut u8 {
        assert!(near < self.near, "only ranks of this host have words here");
        self.base.wrapping_add(near * self.stride + offset)
    }

    /// The lock of a rank of this host.
    #[inline(always)]
    pub(super) fn lock(&self, near: usize) -> &TurnLock {
        // SAFETY: inside the block and aligned to a line; any words are a lock, zero is a free one.
        unsafe { &*self.place(near, 0).cast() }
    }

    /// What a rank of the window shows in that lock.
    #[inline(always)]
    pub(super) fn entry(&self, near: usize, rank: u32) -> &Entry {
        assert!((rank as usize) < self.size);
        let offset = 2 * LINE + rank as usize * size_of::<Entry>();
        // SAFETY: inside the block and aligned; any word is an entry.
        unsafe { &*self.place(near, offset).cast() }
    }

    /// Who accumulates by hand in the memory of a rank of this host: 0, or its process + 1.
    fn busy(&self, near: usize) -> &AtomicU32 {
        // SAFETY: inside the block and aligned; any word is one.
        unsafe { &*self.place(near, LINE).cast() }
    }

    /// Runs `change` while nobody else accumulates by hand in the memory of a rank of this host. A
    /// process that died meanwhile is no hindrance: what it left is as it is.
    pub(super) fn alone<R>(&self, near: usize, engine: &Engine, change: impl FnOnce() -> R) -> R {
        let busy = self.busy(near);
        let me = engine.rank() + 1;
        let mut looks = 0;
        let mut offers = 0;
        // Acquire: pairs with the release below; the holder's changes are seen.
        while let Err(holder) =
            busy.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed)
        {
            looks += 1;
            if looks < LOOKS_MAX {
                std::hint::spin_loop();
                continue;
            }
            std::thread::yield_now();
            offers += 1;
            // Another thread of this process, or the driver, may be the holder: it lives.
            if offers % OFFERS_MAX == 0 && holder != 0 && holder != me && engine.is_dead(holder - 1)
            {
                let _ = busy.compare_exchange(holder, 0, Ordering::Acquire, Ordering::Relaxed);
            }
        }
        let result = change();
        busy.store(0, Ordering::Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_engine::turn_lock::{Drawn, Wish};

    #[test]
    fn words_of_different_ranks_are_apart() {
        let (near, size) = (3, 9);
        let mut block = vec![[0_u128; 4]; Control::bytes(near, size) as usize / 64 + 1];
        let base = block.as_mut_ptr().cast::<u8>();
        let base = base.wrapping_add(base.align_offset(64));
        // SAFETY: the block is long enough and lives until the end.
        let control = unsafe { Control::at(base, near, size) };
        for at in 0..near {
            for rank in 0..size as u32 {
                let (lock, entry) = (control.lock(at), control.entry(at, rank));
                let Drawn::Inside(ticket, _) = lock.draw(Wish::Write, entry) else {
                    panic!("nobody else has drawn here");
                };
                let _ = lock.release(ticket, entry);
            }
        }
    }
}
