//! The random numbers of the programs: the generator of the NAS benchmarks, and a hash.
//!
//! NAS defines x' = a·x mod 2^46 with a = 5^13 and the seed 314159265, in floating point for
//! machines without 64-bit integers. Here it is the integer sequence itself, bit for bit the same,
//! and its state after any number of steps is one power away, so every rank begins in the right
//! place.

/// NAS's multiplier, 5^13.
pub(crate) const NAS_MULTIPLIER: u64 = 1_220_703_125;
/// NAS's seed.
pub(crate) const NAS_SEED: u64 = 314_159_265;

const MODULUS_MASK: u64 = (1 << 46) - 1;

/// The NAS generator.
#[derive(Clone, Debug)]
pub(crate) struct Nas {
    state: u64,
}

impl Nas {
    /// The generator after `steps` numbers have been drawn.
    pub(crate) fn after(steps: u64) -> Self {
        let mut state = NAS_SEED;
        let (mut power, mut left) = (NAS_MULTIPLIER, steps);
        while left > 0 {
            if left & 1 == 1 {
                state = times(state, power);
            }
            power = times(power, power);
            left >>= 1;
        }
        Nas { state }
    }

    /// The next number, as the integer x of x / 2^46.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        self.state = times(self.state, NAS_MULTIPLIER);
        self.state
    }
}

/// Wrapping is harmless: 2^46 divides 2^64.
#[inline]
fn times(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & MODULUS_MASK
}

/// A well-mixed number from a place in a matrix, so that any rank can make any element.
#[inline]
pub(crate) fn mixed(row: usize, column: usize) -> u64 {
    let mut x = (row as u64) << 32 | column as u64;
    // The finaliser of splitmix64: two multiplications by odd constants between shifts.
    x = (x.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumping_equals_drawing() {
        let mut drawn = Nas::after(0);
        for steps in 0..200 {
            assert_eq!(Nas::after(steps).state, drawn.state);
            drawn.draw();
        }
    }

    #[test]
    fn agrees_with_the_definition_in_wide_arithmetic() {
        let mut nas = Nas::after(0);
        let mut state = u128::from(NAS_SEED);
        for _ in 0..1000 {
            state = state * u128::from(NAS_MULTIPLIER) % (1 << 46);
            assert_eq!(u128::from(nas.draw()), state);
        }
    }
}
