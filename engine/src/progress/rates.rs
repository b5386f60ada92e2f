//! Whether long messages are fetched out of the sender's memory or streamed through the ring: by
//! what both cost here.
//!
//! One copy by the kernel against two by the processes sounds like a clear case, but the kernel's
//! copy pins pages and the ring's two copies overlap and stay in the cache: on one machine the
//! fetch wins by a third, on another the ring by a factor of three. So both are timed as they
//! happen, the cheaper is used, and now and then the other is tried again.

use std::time::Duration;

/// The first long messages go by turns: of a program's first ones, pages are missing or far away.
const TRIALS: u32 = 8;
/// Long messages between two tries of the method that is not preferred.
const RETRY_AFTER: u32 = 256;
/// Weight of a new observation, as a fraction of 2^-3.
const SMOOTHING: f32 = 0.125;

#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Ranks share CPUs: both copies of the ring cost the same CPU.
    oversubscribed: bool,
    /// Nanoseconds per byte of a fetch, and of one of the ring's copies.
    fetch: Option<f32>,
    copy: Option<f32>,
    /// Long messages since the last try of the other method.
    since_retry: u32,
    /// Trials that have been made.
    trials: u32,
}

impl Rates {
    pub fn new(oversubscribed: bool) -> Self {
        Self {
            oversubscribed,
            ..Self::default()
        }
    }

    /// A fetch took so long.
    pub fn observe_fetch(&mut self, bytes: u64, time: Duration) {
        observe(&mut self.fetch, bytes, time);
    }

    /// A copy out of the ring took so long.
    pub fn observe_copy(&mut self, bytes: u64, time: Duration) {
        observe(&mut self.copy, bytes, time);
    }

    /// Which way the next long message goes: true to fetch it.
    pub fn choose_fetch(&mut self) -> bool {
        if self.trials < TRIALS {
            self.trials += 1;
            // The first long message finds out whether fetching is permitted at all.
            return self.trials % 2 == 1;
        }
        let preferred = self.prefers_fetch();
        self.since_retry += 1;
        if self.since_retry >= RETRY_AFTER {
            self.since_retry = 0;
            return !preferred;
        }
        preferred
    }

    /// Nanoseconds per byte of a fetch, and of a copy out of the ring, if they were timed.
    pub fn costs(&self) -> (Option<f32>, Option<f32>) {
        (self.fetch, self.copy)
    }

    /// Whether a fetch is the cheaper way, as far as is known.
    pub fn prefers_fetch(&self) -> bool {
        match (self.fetch, self.copy) {
            (None, _) => true,
            (Some(_), None) => false,
            // Where sender and receiver run at the same time their copies overlap, and one counts.
            (Some(fetch), Some(copy)) => {
                fetch
                    < if self.oversubscribed {
                        2.0 * copy
                    } else {
                        copy
                    }
            }
        }
    }
}

fn observe(rate: &mut Option<f32>, bytes: u64, time: Duration) {
    let new = time.as_nanos() as f32 / bytes.max(1) as f32;
    *rate = Some(match *rate {
        None => new,
        // A preempted copy says nothing about the method: it counts as twice the usual at most.
        Some(old) => old + SMOOTHING * (new.min(2.0 * old) - old),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(fetch_ns: u64, copy_ns: u64, oversubscribed: bool) -> Rates {
        let mut rates = Rates::new(oversubscribed);
        rates.observe_fetch(1 << 20, Duration::from_nanos(fetch_ns));
        rates.observe_copy(1 << 20, Duration::from_nanos(copy_ns));
        rates
    }

    #[test]
    fn both_are_tried_before_one_is_preferred() {
        let mut rates = Rates::new(false);
        assert!(rates.choose_fetch());
        rates.observe_fetch(1 << 20, Duration::from_micros(100));
        assert!(!rates.choose_fetch());
    }

    #[test]
    fn the_cheaper_is_preferred_and_the_other_tried_again() {
        let mut faster_ring = rates(100_000, 50_000, false);
        (0..TRIALS).for_each(|_| _ = faster_ring.choose_fetch());
        let fetches = (0..10 * RETRY_AFTER)
            .filter(|_| faster_ring.choose_fetch())
            .count();
        assert_eq!(fetches, 10);
        assert!(rates(50_000, 100_000, false).prefers_fetch());
    }

    #[test]
    fn on_shared_cpus_both_copies_count() {
        assert!(!rates(60_000, 50_000, false).prefers_fetch());
        assert!(rates(60_000, 50_000, true).prefers_fetch());
    }
}
