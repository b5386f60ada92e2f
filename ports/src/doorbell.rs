//! Finding work and waking its receiver: one doorbell per port.
//!
//! A ring that its receiver does not poll is *cold*: after publishing, its sender sets its bit in
//! the port's bitmap and wakes the receiver if that sleeps. The receiver takes all bits of a word
//! at once, so it finds work in a constant number of loads however many senders there are. The
//! two-level bitmap serves [`SENDERS_MAX`] senders.
//!
//! Sleeping is Dekker's dance: the receiver says that it sleeps, then looks for bits; the sender
//! sets its bit, then looks whether the receiver sleeps. Both use sequentially consistent
//! operations, so at least one sees the other.

use crate::sync::{AtomicU32, AtomicU64, Ordering, keep_total_order};

/// Senders a bitmap serves: 64 words of 64 bits, found through one summary word.
pub const SENDERS_MAX: usize = 64 * 64;

/// The receiver is awake: nobody needs to wake it.
pub const AWAKE: u32 = 0;
/// The receiver sleeps in a futex wait on this word (or is about to).
pub const ASLEEP: u32 = 1;

/// A port's doorbell, in shared memory.
#[repr(C, align(64))]
pub struct Doorbell {
    asleep: AtomicU32,
    _asleep_line: [u32; 15],
    summary: AtomicU64,
    _summary_line: [u64; 7],
    words: [AtomicU64; 64],
}

impl Doorbell {
    /// A quiet doorbell (for loom tests; mapped memory is zero, which is the same).
    #[cfg(loom)]
    pub fn quiet() -> Self {
        Self {
            asleep: AtomicU32::new(AWAKE),
            _asleep_line: [0; 15],
            summary: AtomicU64::new(0),
            _summary_line: [0; 7],
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// The sender's part: mark work and say whether the caller must [`wake`] the receiver.
    ///
    /// The summary bit is set whenever it is found clear, not only when our word was empty: a
    /// sender that died between the two stores must not silence its neighbours in the word.
    #[must_use]
    pub fn ring(&self, sender: usize) -> bool {
        self.mark_word(sender);
        self.summary.fetch_or(1 << (sender / 64), Ordering::SeqCst);
        keep_total_order();
        self.rouse()
    }

    /// The first of the two stores of [`Doorbell::ring`]: all that a sender has done that dies
    /// between them.
    pub(crate) fn mark_word(&self, sender: usize) {
        self.words[sender / 64].fetch_or(1 << (sender % 64), Ordering::SeqCst);
    }

    /// A sender begins to ring and dies (for loom tests).
    #[cfg(loom)]
    pub fn ring_and_die(&self, sender: usize) {
        self.mark_word(sender);
    }

    /// Marks the receiver awake; true if it slept, and then the caller must wake it.
    #[must_use]
    pub fn rouse(&self) -> bool {
        self.asleep.load(Ordering::SeqCst) == ASLEEP
            && self.asleep.swap(AWAKE, Ordering::SeqCst) == ASLEEP
    }

    /// Whether any bit may be set: one load.
    #[inline(always)]
    pub fn is_rung(&self) -> bool {
        self.summary.load(Ordering::Relaxed) != 0
    }

    /// Takes all bits; each sender is reported to `found` once. Bits are cleared before the caller
    /// looks at the rings, so what is published later rings again.
    pub fn take(&self, mut found: impl FnMut(usize)) {
        let mut summary = self.summary.swap(0, Ordering::SeqCst);
        while summary != 0 {
            let word = summary.trailing_zeros() as usize;
            summary &= summary - 1;
            let mut bits = self.words[word].swap(0, Ordering::SeqCst);
            while bits != 0 {
                found(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// The receiver says that it is about to sleep. It must then look for work once more before it
    /// waits.
    pub fn announce_sleep(&self) {
        // A swap and not a store: the same instruction on x86, and an order that loom can follow.
        self.asleep.swap(ASLEEP, Ordering::SeqCst);
        keep_total_order();
    }

    /// The receiver changed its mind, or has woken.
    pub fn announce_awake(&self) {
        self.asleep.swap(AWAKE, Ordering::SeqCst);
    }

    /// The second look before sleeping, ordered after [`Doorbell::announce_sleep`].
    pub fn is_rung_before_sleep(&self) -> bool {
        self.summary.load(Ordering::SeqCst) != 0
    }

    /// The word to wait on.
    pub fn asleep_word(&self) -> &AtomicU32 {
        &self.asleep
    }
}

/// Waits until the doorbell's word is no longer [`ASLEEP`], a signal arrives or the time is over.
/// Spurious returns are fine.
#[cfg(not(loom))]
pub fn sleep(doorbell: &Doorbell, at_most: Option<std::time::Duration>) {
    let timeout = at_most.map(|time| libc::timespec {
        tv_sec: time.as_secs() as _,
        tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
    });
    // SAFETY: the word outlives the call; a shared (not private) futex because other processes wake
    // us; the timeout pointer is null or points to a local that outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            doorbell.asleep_word().as_ptr(),
            libc::FUTEX_WAIT,
            ASLEEP,
            timeout
                .as_ref()
                .map_or(std::ptr::null(), |time| time as *const libc::timespec),
        );
    }
}

/// Wakes the receiver that sleeps on this doorbell.
#[cfg(not(loom))]
pub fn wake(doorbell: &Doorbell) {
    // SAFETY: the word outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            doorbell.asleep_word().as_ptr(),
            libc::FUTEX_WAKE,
            i32::MAX,
        );
    }
}
