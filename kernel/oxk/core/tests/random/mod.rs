//! Numbers by seed. `OXK_SEED=n` runs one seed, `OXK_SEEDS=n` that many; a test that fails prints
//! the seed it was at.
#![allow(
    dead_code,
    reason = "each test of this folder compiles it and uses its own part"
)]

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Prints the seed when the test that holds it fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with OXK_SEED={}", self.0);
        }
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a test with so many seeds, or as the environment says.
pub fn for_seeds(count: u64, mut test: impl FnMut(&mut Random)) {
    let seeds = match variable("OXK_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..variable("OXK_SEEDS").unwrap_or(count),
    };
    for seed in seeds {
        let _seed = Seed(seed);
        test(&mut Random::new(seed));
    }
}
