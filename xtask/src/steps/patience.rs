//! How long something may take before it counts as hanging.
//!
//! A limit is a guard against hangs, not a test of speed. So the time that counts is the time this
//! machine could give: a second during which ten processes wanted each CPU counts as a tenth of
//! one. On an idle machine a limit of three minutes is three minutes, on a busy one more.

use std::time::{Duration, Instant};

#[path = "../../limit.rs"]
mod limit;

use limit::crowd;

/// How often the load is looked at; so much later than its limit a step may be ended.
pub const TICK: Duration = Duration::from_secs(1);

/// Time that is left.
#[derive(Debug)]
pub struct Patience {
    left: Duration,
    looked: Instant,
}

impl Patience {
    /// All of it is left.
    pub fn new(limit: Duration) -> Patience {
        let looked = Instant::now();
        Patience {
            left: limit,
            looked,
        }
    }

    /// The same in minutes.
    pub fn minutes(minutes: u64) -> Patience {
        Patience::new(Duration::from_secs(60 * minutes))
    }

    /// Counts what has passed since the last look; true when nothing is left.
    pub fn is_over(&mut self) -> bool {
        let passed = self.looked.elapsed();
        if passed >= TICK {
            self.count(passed, crowd());
            self.looked += passed;
        }
        self.left.is_zero()
    }

    fn count(&mut self, passed: Duration, crowd: f64) {
        let counted = passed.div_f64(crowd);
        self.left = self.left.saturating_sub(counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_makes_time_pass_slowly() {
        let mut patience = Patience::minutes(1);
        patience.count(Duration::from_secs(30), 1.0);
        assert_eq!(patience.left, Duration::from_secs(30));
        patience.count(Duration::from_secs(100), 5.0);
        assert_eq!(patience.left, Duration::from_secs(10));
        patience.count(Duration::from_secs(200), 20.0);
        assert!(patience.left.is_zero());
    }

    #[test]
    fn the_kernel_says_how_many_want_a_cpu() {
        use limit::wanted;
        assert_eq!(wanted("0.38 0.53 0.24 2/311 4711\n"), Some(2.0));
        assert_eq!(wanted("12.50 0.53 0.24 2/311 4711\n"), Some(12.5));
        assert_eq!(wanted(""), None);
        assert!(crowd() >= 1.0);
    }
}
