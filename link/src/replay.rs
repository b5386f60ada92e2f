//! Which transmissions were here: the newest number, and a window of bits behind it.

/// Numbers behind the newest of which it is known whether they were here; older ones are refused.
/// Networks that send frames by several ways at once, and the fault device, reorder by some
/// hundreds; what is dropped here is repeated like any lost frame.
pub const REPLAY_WINDOW: u64 = 2048;

const WORDS: usize = REPLAY_WINDOW as usize / 64 + 1;

/// The numbers that were here.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// One more than the newest; 0: there was none.
    next: u64,
    /// A ring of bits by number. One word more than the window, so that clearing whole words ahead
    /// forgets nothing within it.
    bits: [u64; WORDS],
}

impl Replay {
    pub fn new() -> Replay {
        Replay {
            next: 0,
            bits: [0; WORDS],
        }
    }

    /// The whole number of which `low` is the lower half: the one that is nearest to what is
    /// expected.
    #[inline]
    pub fn whole(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.next as u32) as i32;
        self.next.wrapping_add_signed(i64::from(ahead))
    }

    /// Notes a number of a frame that has proven itself. False: it was here, or may have been.
    #[inline]
    pub fn admit(&mut self, serial: u64) -> bool {
        if serial >= self.next {
            self.advance(serial);
        } else if self.next - serial > REPLAY_WINDOW {
            return false;
        }
        let word = &mut self.bits[(serial / 64) as usize % WORDS];
        let bit = 1 << (serial % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// `serial` is the newest: words between the former newest and it were never here.
    #[inline]
    fn advance(&mut self, serial: u64) {
        // The word of `next` may be new, or hold the last bits of those before.
        let begun = self.next.div_ceil(64);
        let words = (serial / 64 + 1).saturating_sub(begun).min(WORDS as u64);
        for word in 0..words {
            self.bits[((serial / 64).wrapping_sub(word)) as usize % WORDS] = 0;
        }
        self.next = serial + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn each_number_once() {
        let mut replay = Replay::new();
        for serial in [0, 1, 5, 3, 63, 64, 2000, 65, 2] {
            assert!(replay.admit(serial), "{serial}");
            assert!(!replay.admit(serial), "{serial} again");
        }
        assert!(replay.admit(1 << 40));
        assert!(!replay.admit(2001), "too old to tell");
        assert!(replay.admit((1 << 40) - REPLAY_WINDOW + 1));
        assert!(!replay.admit((1 << 40) - REPLAY_WINDOW));
    }

    #[test]
    fn halves_become_whole() {
        let mut replay = Replay::new();
        assert_eq!(replay.whole(7), 7);
        for at in [(1 << 32) - 5, u64::from(u32::MAX), 1 << 32, 3 << 32 | 9] {
            replay.admit(at);
            for near in at.saturating_sub(3000)..at + 3000 {
                assert_eq!(replay.whole(near as u32), near, "near {at}");
            }
        }
    }

    proptest! {
        /// Against a plain list of all that were here.
        #[test]
        fn the_window_is_that_of_a_list(steps in prop::collection::vec((0u64..5000, 0u64..3000), 1..300)) {
            let mut replay = Replay::new();
            let mut seen = HashSet::new();
            let mut newest = 0;
            for (ahead, back) in steps {
                let serial = (newest + ahead).saturating_sub(back);
                let known = seen.contains(&serial);
                let old = !seen.is_empty() && serial + REPLAY_WINDOW <= newest;
                prop_assert_eq!(replay.admit(serial), !known && !old, "{} of {}", serial, newest);
                if !old {
                    seen.insert(serial);
                }
                newest = newest.max(serial);
            }
        }
    }
}
