//! Chance by seed, for faults: SplitMix64, and the number of frames until something of a given
//! rarity happens next.
//!
//! Counting down to the next fault instead of throwing dice for each frame keeps the fate of a
//! frame the same however the frames were batched, and lets what nothing happens to pass by the
//! batch.

/// A seeded generator.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// Everything that follows is determined by `seed`.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.any() % bound as u64) as usize
    }

    /// How many times something fails to happen before it happens, each time with this probability.
    fn misses(&mut self, probability: f64) -> u64 {
        if probability <= 0.0 {
            return u64::MAX;
        }
        // In (0, 1]: 53 bits, so that the logarithm is finite.
        let uniform = ((self.any() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        // The inverse of the geometric distribution. A probability of 1 divides by minus infinity,
        // which gives 0 as it should.
        (uniform.ln() / (1.0 - probability).ln()) as u64
    }
}

/// Counts frames down to the next one that something happens to.
#[derive(Debug)]
pub(super) struct Countdown {
    probability: f64,
    left: u64,
    chance: Chance,
}

impl Countdown {
    pub fn new(probability: f64, mut chance: Chance) -> Countdown {
        let left = chance.misses(probability);
        Countdown {
            probability,
            left,
            chance,
        }
    }

    /// Frames before the one that it happens to.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// So many frames have passed, none of them the one that it happens to.
    pub fn pass(&mut self, frames: u64) {
        debug_assert!(frames <= self.left);
        // Never stays never.
        if self.left != u64::MAX {
            self.left -= frames;
        }
    }

    /// The next frame passes. Whether it is the one that it happens to.
    pub fn strike(&mut self) -> bool {
        if self.left > 0 {
            self.pass(1);
            return false;
        }
        self.left = self.chance.misses(self.probability);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_come_as_often_as_asked() {
        for (probability, within) in [(0.01, 0.002), (0.3, 0.01), (1.0, 0.0), (0.0, 0.0)] {
            let mut countdown = Countdown::new(probability, Chance::new(7));
            let frames = 100_000;
            let struck = (0..frames).filter(|_| countdown.strike()).count();
            let share = struck as f64 / f64::from(frames);
            assert!(
                (share - probability).abs() <= within,
                "asked {probability}, got {share} (seed 7)"
            );
        }
    }

    #[test]
    fn passing_many_is_passing_each() {
        let mut one = Countdown::new(0.02, Chance::new(3));
        let mut many = Countdown::new(0.02, Chance::new(3));
        for _ in 0..100 {
            let left = many.left();
            many.pass(left);
            assert!(many.strike());
            assert!((0..left).all(|_| !one.strike()));
            assert!(one.strike());
        }
    }
}
