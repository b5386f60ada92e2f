//! Programs that look again and again, with MPI_Test or MPI_Iprobe in a loop, instead of waiting.
//!
//! Where ranks outnumber CPUs, such a loop may keep the very rank off its CPU that it looks out for:
//! each message then takes a time slice of the scheduler, 2 to 4 ms, instead of some microseconds.
//! So a rank that looks in vain again soon after gives way. A rank that computes in between does
//! not: each look would cost it the rest of its slice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A rank that looks again within this time has not computed in between: an interpreter takes some
/// microseconds from one look to the next.
const AGAIN: Duration = Duration::from_micros(20);

/// A process's looks that found nothing.
#[derive(Debug)]
pub struct VainLooks {
    /// Others need the CPU.
    gives_way: bool,
    began: Instant,
    /// When the last one ended, in nanoseconds; 0 before the first. Threads that look at the same
    /// time may take each other's looks for their own, which costs a yield.
    last: AtomicU64,
}

impl VainLooks {
    pub fn new(gives_way: bool) -> Self {
        Self {
            gives_way,
            began: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    /// A call of the program has looked for something and not found it; it has let go of the engine.
    #[inline(always)]
    pub fn happened(&self) {
        if self.gives_way {
            self.give_way();
        }
    }

    /// As `happened`, if nothing was found.
    #[inline(always)]
    pub fn told<T, E>(&self, found: Result<Option<T>, E>) -> Result<Option<T>, E> {
        if matches!(found, Ok(None)) {
            self.happened();
        }
        found
    }

    #[inline(never)]
    fn give_way(&self) {
        if self.is_again(self.nanoseconds()) {
            std::thread::yield_now();
        }
        self.last.store(self.nanoseconds(), Ordering::Relaxed);
    }

    /// Whether a look at this time follows another one at once.
    fn is_again(&self, now: u64) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last != 0 && now.saturating_sub(last) < AGAIN.as_nanos() as u64
    }

    fn nanoseconds(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_computes_between_two_looks_keeps_the_cpu() {
        let looks = VainLooks::new(true);
        assert!(!looks.is_again(1_000), "the first");
        looks.last.store(1_000, Ordering::Relaxed);
        assert!(looks.is_again(1_000) && looks.is_again(20_999));
        assert!(!looks.is_again(21_000));
        // Another thread was faster.
        assert!(looks.is_again(900));
    }
}
