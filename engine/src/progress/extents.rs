//! Which memory of this process others can map: asked by every send, changed when a port buffer
//! comes or goes.
//!
//! It has a lock of its own, because a port buffer may be dropped by any thread at any time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The port buffers of this process.
#[derive(Default)]
pub(crate) struct Extents {
    /// How many there are, to be asked without the lock.
    count: AtomicUsize,
    known: Mutex<Vec<Known>>,
}

struct Known {
    address: u64,
    bytes: u64,
    /// Offset in the shared segment.
    offset: u64,
}

impl Extents {
    /// Whether there are any.
    #[inline(always)]
    pub fn exist(&self) -> bool {
        // Relaxed: whoever sends from a port buffer got it from the thread that added it.
        self.count.load(Ordering::Relaxed) != 0
    }

    /// The offset in the segment of `bytes` bytes at `address`, if they lie in a port buffer.
    pub fn find(&self, address: u64, bytes: u64) -> Option<u64> {
        self.known
            .lock()
            .expect("no user code runs under this lock")
            .iter()
            .find_map(|known| {
                let distance = address.checked_sub(known.address)?;
                (distance.checked_add(bytes)? <= known.bytes).then(|| known.offset + distance)
            })
    }

    pub fn add(&self, address: u64, bytes: u64, offset: u64) {
        let mut known = self
            .known
            .lock()
            .expect("no user code runs under this lock");
        known.push(Known {
            address,
            bytes,
            offset,
        });
        self.count.store(known.len(), Ordering::Relaxed);
    }

    pub fn remove(&self, address: u64) {
        let mut known = self
            .known
            .lock()
            .expect("no user code runs under this lock");
        known.retain(|known| known.address != address);
        self.count.store(known.len(), Ordering::Relaxed);
    }
}
