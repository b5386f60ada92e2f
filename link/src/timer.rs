//! When a link wants to be called although nothing arrives: one line per timer.
//!
//! Used by `lib.rs` only. Three words in an array: looking for the nearest costs less than keeping
//! them sorted.

/// What a link waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The oldest unacknowledged frame has been on its way for too long.
    Repeat,
    /// An acknowledgement has waited long enough for data that would carry it.
    Ack,
    /// A probe is due: the peer said STOP and no GO came, or did not answer the last probe.
    Probe,
}

const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timers {
    at: [u64; 3],
}

impl Timers {
    pub fn new() -> Timers {
        Timers { at: [NEVER; 3] }
    }

    #[inline]
    pub fn set(&mut self, timer: Timer, at: u64) {
        self.at[timer as usize] = at;
    }

    #[inline]
    pub fn clear(&mut self, timer: Timer) {
        self.at[timer as usize] = NEVER;
    }

    #[inline]
    pub fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize] != NEVER
    }

    /// The nearest one.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        let next = self.at[0].min(self.at[1]).min(self.at[2]);
        (next != NEVER).then_some(next)
    }

    /// Whether it has gone off; it does so once.
    pub fn take_expired(&mut self, timer: Timer, now: u64) -> bool {
        let expired = self.is_set(timer) && self.at[timer as usize] <= now;
        if expired {
            self.clear(timer);
        }
        expired
    }

    /// How far away each one is, for comparing states at different times.
    pub fn distances(&self, now: u64) -> [Option<u64>; 3] {
        self.at
            .map(|at| (at != NEVER).then(|| at.saturating_sub(now)))
    }
}
