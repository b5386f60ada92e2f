//! The only source of chance in a run: SplitMix64, so that a seed says everything.

/// A seeded generator.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Everything that follows is determined by `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
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
    pub fn below(&mut self, bound: u64) -> u64 {
        self.any() % bound
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// One of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A generator of its own for another part of the run, so that one part's use does not shift
    /// the other's.
    pub fn fork(&mut self) -> Random {
        Random(self.any())
    }
}
