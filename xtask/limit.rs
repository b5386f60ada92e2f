//! How busy this machine is, for limits of time: tests of other crates include this file, too.
//!
//! A limit guards against hangs, or states a promise for an idle machine. Where ten processes want
//! each CPU, everything takes ten times as long and is still right.
#![allow(dead_code, reason = "each user calls its part")]

use std::time::Duration;

/// A machine counts as this much slower at most: what never ends must be ended.
const CROWD_MAX: f64 = 20.0;

/// What `idle` on an idle machine is on this one, now.
pub fn limit(idle: Duration) -> Duration {
    idle.mul_f64(crowd())
}

/// How many processes want each CPU, now or over the last minute: 1 to [`CROWD_MAX`].
pub fn crowd() -> f64 {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let wanted = wanted(&text).unwrap_or(1.0);
    (wanted / cpus as f64).clamp(1.0, CROWD_MAX)
}

/// Of a text like "0.38 0.53 0.24 2/311 4711": the first number, or the one before the stroke.
pub fn wanted(loadavg: &str) -> Option<f64> {
    let mut words = loadavg.split(' ');
    let minute: f64 = words.next()?.parse().ok()?;
    let now: f64 = words.nth(2)?.split('/').next()?.parse().ok()?;
    Some(minute.max(now))
}
