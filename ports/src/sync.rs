//! Atomics, and memory shared between a writer and a reader, from one place so that loom can stand
//! in for them.
//!
//! Outside loom these types lie in memory that several processes map: they must stay
//! `repr(C)`-stable and valid for every bit pattern, which the standard atomics and plain bytes
//! are.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;

/// Stands between two sequentially consistent operations whose order matters. It is nothing outside
/// loom; loom takes such operations for acquire and release only and needs the fence to see what
/// the hardware and the language promise anyway.
#[inline(always)]
pub fn keep_total_order() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// Stands behind a sequentially consistent read-modify-write that is to order what came before it
/// and what follows. On x86 the instruction itself is such a barrier.
#[inline(always)]
pub fn order_all() {
    #[cfg(any(loom, not(target_arch = "x86_64")))]
    fence(Ordering::SeqCst);
}

/// A full fence, for paths of a few nanoseconds. On x86 a locked instruction on a line of one's own
/// orders everything but streaming stores, as `mfence` does, in a tenth of its time: 1.7 ns and
/// 16 ns on a Zen processor.
#[inline(always)]
pub fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    {
        use std::sync::atomic::compiler_fence;
        compiler_fence(Ordering::SeqCst);
        let own = AtomicU32::new(0);
        std::hint::black_box(&own).swap(1, Ordering::SeqCst);
        compiler_fence(Ordering::SeqCst);
    }
    #[cfg(any(loom, not(target_arch = "x86_64")))]
    fence(Ordering::SeqCst);
}

/// Bytes that one side writes and the other reads, never at the same time; an atomic elsewhere
/// hands them over.
#[repr(transparent)]
pub struct SharedBytes<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: every access goes through the unsafe methods, whose callers promise that writer and
// reader take turns.
unsafe impl<const N: usize> Sync for SharedBytes<N> {}

impl<const N: usize> SharedBytes<N> {
    /// Zeroed bytes (for loom tests; mapped memory is zero by itself).
    #[cfg(loom)]
    pub fn zeroed() -> Self {
        Self(UnsafeCell::new([0; N]))
    }

    /// Lets `write` fill the bytes.
    ///
    /// # Safety
    /// The caller owns the bytes: the other side has handed them over by a release that the caller
    /// acquired.
    #[inline(always)]
    pub unsafe fn write<R>(&self, write: impl FnOnce(&mut [u8; N]) -> R) -> R {
        #[cfg(loom)]
        // SAFETY: exclusive by the caller's promise; loom checks it.
        return self.0.with_mut(|bytes| write(unsafe { &mut *bytes }));
        #[cfg(not(loom))]
        // SAFETY: exclusive by the caller's promise.
        return write(unsafe { &mut *self.0.get() });
    }

    /// Lets `read` look at the bytes.
    ///
    /// # Safety
    /// The writer has handed the bytes over by a release that the caller acquired and does not
    /// write until given back.
    #[inline(always)]
    pub unsafe fn read<R>(&self, read: impl FnOnce(&[u8; N]) -> R) -> R {
        #[cfg(loom)]
        // SAFETY: no writer by the caller's promise; loom checks it.
        return self.0.with(|bytes| read(unsafe { &*bytes }));
        #[cfg(not(loom))]
        // SAFETY: no writer by the caller's promise.
        return read(unsafe { &*self.0.get() });
    }

    /// The bytes as they lie there.
    ///
    /// # Safety
    /// As [`SharedBytes::read`], for as long as the reference lives.
    #[cfg(not(loom))]
    #[inline(always)]
    pub unsafe fn get(&self) -> &[u8; N] {
        // SAFETY: no writer by the caller's promise.
        unsafe { &*self.0.get() }
    }
}
