//! How long something may take before it counts as hanging.
//!
//! A limit is a guard against hangs, not a test of speed. So the time that counts is the time this
//! machine could give: a second during which ten processes wanted each CPU counts as a tenth of
//! one. On an idle machine a limit of three minutes is three minutes, on a busy one more.

use std::time::{Duration, Instant};

/// How often the load is looked at; so much later than its limit a step may be ended.
pub const TICK: Duration = Duration::from_secs(1);

/// A limit grows to this many times itself at most: a step that keeps every CPU busy by itself and
/// never ends must be ended, too.
const CROWD_MAX: f64 = 20.0;

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
        let counted = passed.div_f64(crowd.clamp(1.0, CROWD_MAX));
        self.left = self.left.saturating_sub(counted);
    }
}

/// How many processes want each CPU: those that want one now, or over the last minute.
fn crowd() -> f64 {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    wanted(&text).unwrap_or(1.0) / cpus as f64
}

/// Of a text like "0.38 0.53 0.24 2/311 4711": the first number, or the one before the stroke.
fn wanted(loadavg: &str) -> Option<f64> {
    let mut words = loadavg.split(' ');
    let minute: f64 = words.next()?.parse().ok()?;
    let now: f64 = words.nth(2)?.split('/').next()?.parse().ok()?;
    Some(minute.max(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_makes_time_pass_slowly() {
        let mut patience = Patience::minutes(1);
        patience.count(Duration::from_secs(30), 0.1);
        assert_eq!(patience.left, Duration::from_secs(30));
        patience.count(Duration::from_secs(100), 5.0);
        assert_eq!(patience.left, Duration::from_secs(10));
        patience.count(Duration::from_secs(200), 1e9);
        assert!(patience.left.is_zero());
    }

    #[test]
    fn the_kernel_says_how_many_want_a_cpu() {
        assert_eq!(wanted("0.38 0.53 0.24 2/311 4711\n"), Some(2.0));
        assert_eq!(wanted("12.50 0.53 0.24 2/311 4711\n"), Some(12.5));
        assert_eq!(wanted(""), None);
        assert!(crowd() > 0.0);
    }
}
