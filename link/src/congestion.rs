//! The window on networks that others use too: it shrinks on loss and on growing round trips, and
//! grows otherwise.
//!
//! Additive increase, multiplicative decrease, in rounds: a round ends when a frame sent after its
//! beginning is acknowledged.
//! - until the first sign of congestion the window doubles per round, then it grows by a frame per
//!   round;
//! - a loss takes 1/8 off it, at most once per round. Less than TCP's half, since losses are often
//!   chance here; and the same for everybody: who joins late has measured its least round trip
//!   through a full queue, so whatever depends on it would not be fair (the simulator showed it);
//! - a round whose *least* round trip is above twice the least of late plus [`DELAY_NS_MIN`] takes
//!   1/8 off it. The least, because a receiver that computes for a while delays some frames of a
//!   round, but a queue delays all of them.
//!
//! Delay alone never takes the window below [`DELAY_FRAMES_MIN`]: a receiver that shares its core
//! looks like a queue for ever.

use crate::config::{REORDER_FRAMES, WINDOW_FRAMES_MAX};

/// Fractions of a frame, in which the window is counted.
const UNIT: u32 = 1 << 16;

/// Frames of the first round: half of what one segmented UDP send carries.
const FIRST_FRAMES: u32 = 32;

/// Least window: a loss is noticed without a time-out when three later frames arrive.
const FRAMES_MIN: u32 = 1 + REORDER_FRAMES;

/// What one segmented UDP send carries, about 90 kB.
const DELAY_FRAMES_MIN: u32 = 64;

/// Delay that is no sign of anything: less than a scheduler needs to run somebody else.
const DELAY_NS_MIN: u64 = 200_000;

const _: () = assert!((WINDOW_FRAMES_MAX as u64 + 1) * (UNIT as u64) <= u32::MAX as u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Congestion {
    /// In [`UNIT`]s.
    window: u32,
    frames_max: u32,
    /// No sign of congestion yet.
    doubling: bool,
    /// Losses of transmissions before this one have been answered already.
    answered: u32,
    /// The round ends when this transmission is known to have arrived.
    round_ends: u32,
    /// Least round trip of this round.
    round_ns_least: u64,
}

impl Congestion {
    pub fn new(frames_max: u32) -> Congestion {
        Congestion {
            window: FIRST_FRAMES.min(frames_max) * UNIT,
            frames_max,
            doubling: true,
            answered: 0,
            round_ends: 0,
            round_ns_least: u64::MAX,
        }
    }

    /// Frames that may be on their way.
    #[inline]
    pub fn window_frames(&self) -> u32 {
        self.window / UNIT
    }

    /// Frames were acknowledged. `limited` says whether the window was what held the sender back:
    /// an unused window proves nothing.
    pub fn grow(&mut self, frames: u32, limited: bool) {
        if !limited {
            return;
        }
        let frames = u64::from(frames);
        let unit = u64::from(UNIT);
        let step = if self.doubling {
            frames * unit
        } else {
            frames * unit * unit / u64::from(self.window)
        };
        let most = u64::from(self.frames_max) * unit;
        // At most `frames_max` units, which fit by the assertion above.
        self.window = (u64::from(self.window) + step).min(most) as u32;
    }

    /// A round trip was measured without the peer's delay in it. `arrived` and `next` are numbers
    /// of transmissions.
    pub fn measure(&mut self, ns: u64, ns_least: u64, arrived: u32, next: u32) {
        self.round_ns_least = self.round_ns_least.min(ns);
        if (arrived.wrapping_sub(self.round_ends) as i32) < 0 {
            return;
        }
        if self.round_ns_least > 2 * ns_least + DELAY_NS_MIN {
            self.doubling = false;
            let floor = (DELAY_FRAMES_MIN * UNIT).min(self.window);
            self.window = (self.window - self.window / 8).max(floor);
        }
        // Numbers of transmissions wrap: what was answered may not fall so far behind that it seems
        // to lie ahead.
        let oldest = arrived.wrapping_sub(4 * WINDOW_FRAMES_MAX);
        if (oldest.wrapping_sub(self.answered) as i32) > 0 {
            self.answered = oldest;
        }
        self.round_ends = next;
        self.round_ns_least = u64::MAX;
    }

    /// A transmission was lost; `next` is the number of the next one.
    pub fn lose(&mut self, lost: u32, next: u32) {
        if (lost.wrapping_sub(self.answered) as i32) < 0 {
            return;
        }
        self.answered = next;
        self.doubling = false;
        let less = self.window / 8;
        self.window = (self.window - less).max(FRAMES_MIN.min(self.frames_max) * UNIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_until_the_first_loss_and_then_creeps() {
        let mut congestion = Congestion::new(512);
        congestion.grow(32, true);
        assert_eq!(congestion.window_frames(), 64);
        congestion.lose(5, 100);
        let after = congestion.window_frames();
        assert!((40..64).contains(&after), "{after}");
        congestion.lose(50, 120);
        assert_eq!(
            congestion.window_frames(),
            after,
            "one loss per round counts"
        );
        congestion.grow(after, true);
        assert!(congestion.window_frames() <= after + 1);
        congestion.grow(1000, false);
        assert!(congestion.window_frames() <= after + 1);
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let mut congestion = Congestion::new(100);
        for round in 0..100 {
            congestion.lose(round * 10, round * 10 + 10);
        }
        assert_eq!(congestion.window_frames(), FRAMES_MIN);
        for _ in 0..100_000 {
            congestion.grow(2, true);
        }
        assert_eq!(congestion.window_frames(), 100);
    }

    #[test]
    fn a_loss_counts_after_any_number_of_frames_without_one() {
        let mut congestion = Congestion::new(512);
        let mut next = 0u32;
        for _ in 0..10 {
            next = next.wrapping_add(1 << 29);
            congestion.measure(10, 10, next.wrapping_sub(1), next);
            let before = congestion.clone();
            let mut after = before.clone();
            after.lose(next, next + 1);
            assert!(after.window_frames() < before.window_frames());
        }
    }

    #[test]
    fn a_queue_shrinks_it_but_a_slow_receiver_not_to_nothing() {
        let mut congestion = Congestion::new(512);
        congestion.grow(480, true);
        for round in 0..100 {
            let sent = round * 10;
            congestion.measure(1_000_000, 10_000, sent, sent + 10);
        }
        assert_eq!(congestion.window_frames(), DELAY_FRAMES_MIN);
    }
}
