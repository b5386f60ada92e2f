//! Round trips, measured, and the time-out that follows from them.
//!
//! Jacobson's estimate as RFC 6298 has it: smoothed round trip and its variation, time-out =
//! smoothed + 4 variations, within the configured bounds, doubled for each time-out in a row.
//! Karn's rule is kept by the caller (frames that were repeated give no sample) and by the
//! back-off, which a sample ends at once and progress without one by halves.

use crate::Config;

/// Time-out before anything was measured, if the bounds allow it: long for a local network, short
/// for a person.
const RTO_NS_FIRST: u64 = 10_000_000;

/// The least round trip is forgotten after two periods of this length, since routes change.
const LEAST_PERIOD_NS: u64 = 10_000_000_000;

/// Doublings after which the time-out has reached any `rto_ns_max` that makes sense.
const BACKOFF_MAX: u32 = 32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoundTrip {
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    least_ns: u64,
    least_ns_of_period: u64,
    period_began: u64,
    backoff: u32,
    /// Doublings taken back since the last sample.
    taken_back: u32,
}

impl RoundTrip {
    pub fn new(now: u64) -> RoundTrip {
        RoundTrip {
            smoothed_ns: None,
            variation_ns: 0,
            least_ns: u64::MAX,
            least_ns_of_period: u64::MAX,
            period_began: now,
            backoff: 0,
            taken_back: 0,
        }
    }

    /// A frame that was sent once was acknowledged after this time.
    #[inline]
    pub fn sample(&mut self, now: u64, ns: u64) {
        self.backoff = 0;
        self.taken_back = 0;
        match self.smoothed_ns {
            None => {
                self.smoothed_ns = Some(ns);
                self.variation_ns = ns / 2;
            }
            Some(smoothed) => {
                let deviation = smoothed.abs_diff(ns);
                self.variation_ns = self.variation_ns - self.variation_ns / 4 + deviation / 4;
                self.smoothed_ns = Some(smoothed - smoothed / 8 + ns / 8);
            }
        }
        self.least_ns_of_period = self.least_ns_of_period.min(ns);
        self.least_ns = self.least_ns.min(ns);
        if now.saturating_sub(self.period_began) > LEAST_PERIOD_NS {
            self.least_ns = self.least_ns_of_period;
            self.least_ns_of_period = ns;
            self.period_began = now;
        }
    }

    /// Nothing came in time.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
    }

    /// Frames were acknowledged, but none that was sent once only. Where nearly all are repeated
    /// there would be no sample for a long time, so this takes half of the doublings back; one at a
    /// time would climb for ever where every second try is lost.
    pub fn progress(&mut self) {
        let less = self.backoff.div_ceil(2);
        self.backoff -= less;
        self.taken_back += less;
    }

    /// An acknowledgement brought nothing new: a repeat arrived that was not needed. So round trips
    /// may have become longer than the time-out, and a doubling that was taken back was right.
    pub fn needless_repeat(&mut self) {
        if self.taken_back > 0 {
            self.taken_back -= 1;
            self.back_off();
        }
    }

    /// How long to wait for an acknowledgement, which the peer may hold back for its
    /// `ack_delay_ns`.
    #[inline]
    pub fn rto_ns(&self, config: &Config) -> u64 {
        let measured = match self.smoothed_ns {
            Some(smoothed) => smoothed + 4 * self.variation_ns + config.ack_delay_ns,
            None => RTO_NS_FIRST,
        };
        let base = measured.clamp(config.rto_ns_min, config.rto_ns_max);
        if self.backoff == 0 {
            return base;
        }
        base.saturating_mul(1 << self.backoff)
            .min(config.rto_ns_max)
    }

    /// The smoothed round trip, if there is one.
    pub fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// The least round trip of late: nothing that happens sooner can be an answer.
    #[inline]
    pub fn least_ns(&self) -> Option<u64> {
        (self.least_ns != u64::MAX).then_some(self.least_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_out_follows_what_is_measured() {
        let config = Config {
            rto_ns_min: 1000,
            rto_ns_max: 1_000_000,
            ack_delay_ns: 100,
            ..Config::new(0, 1)
        };
        let mut rtt = RoundTrip::new(0);
        assert_eq!(rtt.rto_ns(&config), 1_000_000);
        rtt.sample(0, 2000);
        assert_eq!(rtt.rto_ns(&config), 2000 + 4 * 1000 + 100);
        for _ in 0..100 {
            rtt.sample(0, 2000);
        }
        assert!(rtt.rto_ns(&config) < 2200);
        rtt.back_off();
        rtt.back_off();
        assert!(rtt.rto_ns(&config) >= 8000);
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto_ns(&config), 1_000_000);
        rtt.sample(0, 2000);
        assert!(rtt.rto_ns(&config) < 2200);
    }

    #[test]
    fn progress_takes_back_what_needless_repeats_restore() {
        let config = Config {
            rto_ns_min: 1000,
            rto_ns_max: 1_000_000,
            ack_delay_ns: 0,
            ..Config::new(0, 1)
        };
        let mut rtt = RoundTrip::new(0);
        rtt.sample(0, 0);
        let doublings = |rtt: &RoundTrip| (rtt.rto_ns(&config) / 1000).ilog2();
        for _ in 0..5 {
            rtt.back_off();
        }
        assert_eq!(doublings(&rtt), 5);
        rtt.progress();
        assert_eq!(doublings(&rtt), 2);
        for _ in 0..9 {
            rtt.needless_repeat();
        }
        assert_eq!(doublings(&rtt), 5);
        rtt.sample(0, 0);
        rtt.needless_repeat();
        assert_eq!(doublings(&rtt), 0);
    }

    #[test]
    fn the_least_round_trip_is_forgotten_in_the_end() {
        let mut rtt = RoundTrip::new(0);
        rtt.sample(1, 10);
        rtt.sample(LEAST_PERIOD_NS, 50);
        assert_eq!(rtt.least_ns(), Some(10));
        rtt.sample(LEAST_PERIOD_NS + 1, 60);
        rtt.sample(2 * LEAST_PERIOD_NS + 2, 70);
        assert_eq!(rtt.least_ns(), Some(60));
    }
}
