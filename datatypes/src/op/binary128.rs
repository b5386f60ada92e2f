//! IEEE binary128 in software, for REAL*16 and COMPLEX*32.
//!
//! A finite number is taken apart into sign, biased exponent and significand; sums and products are
//! formed exactly, or with all that is lost gathered in the lowest bit, and `Binary128::round` puts
//! them together again.

use std::cmp::Ordering;

use super::real::Real;
use crate::plain::Plain;

/// A quadruple-precision number, by its bits.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Binary128(u128);

// SAFETY: a u128 and nothing else.
unsafe impl Plain for Binary128 {}

const SIGN: u128 = 1 << 127;
/// The leading bit of a normal significand; it is not stored.
const LEADING: u128 = 1 << 112;
const FRACTION: u128 = LEADING - 1;
const EXPONENT_MAX: i32 = 0x7fff;
const BIAS: i32 = 0x3fff;
const INFINITY: u128 = (EXPONENT_MAX as u128) << 112;
const NAN: u128 = INFINITY | LEADING >> 1;
/// Bits below the last place that take part in rounding.
const GUARD: u32 = 3;

impl Binary128 {
    fn magnitude(self) -> u128 {
        self.0 & !SIGN
    }

    fn sign(self) -> u128 {
        self.0 & SIGN
    }

    fn has_nan(self, other: Binary128) -> bool {
        self.magnitude() > INFINITY || other.magnitude() > INFINITY
    }

    /// Biased exponent and significand of a finite number. Subnormals have the exponent of the
    /// smallest normal ones.
    fn parts(self) -> (i32, u128) {
        let (exponent, fraction) = ((self.magnitude() >> 112) as i32, self.0 & FRACTION);
        if exponent == 0 {
            (1, fraction)
        } else {
            (exponent, fraction | LEADING)
        }
    }

    /// As `parts`, with the leading bit in its place also for subnormals, and zero for zero.
    fn normal_parts(self) -> (i32, u128) {
        let (exponent, significand) = self.parts();
        if significand == 0 {
            return (1, 0);
        }
        let shift = significand.leading_zeros() - LEADING.leading_zeros();
        (exponent - shift as i32, significand << shift)
    }

    /// The number nearest to `significand`, which has `GUARD` bits below the last place of
    /// `exponent`.
    fn round(sign: u128, exponent: i32, significand: u128) -> Binary128 {
        if significand == 0 {
            return Binary128(sign);
        }
        let place = LEADING.leading_zeros() - GUARD;
        let zeros = significand.leading_zeros();
        let (mut exponent, mut significand) = if zeros >= place {
            (
                exponent - (zeros - place) as i32,
                significand << (zeros - place),
            )
        } else {
            (
                exponent + (place - zeros) as i32,
                shifted(significand, place - zeros),
            )
        };
        if exponent >= EXPONENT_MAX {
            return Binary128(sign | INFINITY);
        }
        if exponent < 1 {
            significand = shifted(significand, exponent.abs_diff(1));
            exponent = 1;
        }
        // The leading bit adds the one that is missing in the exponent; subnormals have neither.
        let truncated = ((exponent - 1) as u128) << 112;
        let truncated = truncated + (significand >> GUARD);
        let rest = significand & ((1 << GUARD) - 1);
        let half = 1 << (GUARD - 1);
        // A carry goes into the exponent, and from the largest number to infinity.
        let up = rest > half || (rest == half && truncated & 1 == 1);
        Binary128(sign | (truncated + u128::from(up)))
    }
}

/// Shifted right, with the lowest bit set if any bit was lost.
fn shifted(value: u128, by: u32) -> u128 {
    if by >= 128 {
        return u128::from(value != 0);
    }
    let kept = value >> by;
    kept | u128::from(kept << by != value)
}

/// The product as high and low half.
fn wide_product(left: u128, right: u128) -> (u128, u128) {
    let halves = |value: u128| (value >> 64, value & u128::from(u64::MAX));
    let ((a, b), (c, d)) = (halves(left), halves(right));
    let (low_high, low) = halves(b * d);
    let middle = a * d + low_high;
    let (carry, middle) = halves(middle);
    let (second_carry, middle) = halves(b * c + middle);
    (a * c + carry + second_carry, middle << 64 | low)
}

impl Real for Binary128 {
    fn add(self, other: Binary128) -> Binary128 {
        let (large, small) = if self.magnitude() >= other.magnitude() {
            (self, other)
        } else {
            (other, self)
        };
        if self.has_nan(other) {
            return Binary128(NAN);
        }
        let opposed = large.sign() != small.sign();
        if large.magnitude() == INFINITY {
            let both = opposed && small.magnitude() == INFINITY;
            return if both { Binary128(NAN) } else { large };
        }
        let (exponent, augend) = large.parts();
        let (lower, addend) = small.parts();
        let addend = shifted(addend << GUARD, exponent.abs_diff(lower));
        if !opposed {
            return Binary128::round(large.sign(), exponent, (augend << GUARD) + addend);
        }
        let difference = (augend << GUARD) - addend;
        let sign = if difference == 0 { 0 } else { large.sign() };
        Binary128::round(sign, exponent, difference)
    }

    fn subtract(self, other: Binary128) -> Binary128 {
        self.add(Binary128(other.0 ^ SIGN))
    }

    fn multiply(self, other: Binary128) -> Binary128 {
        let sign = self.sign() ^ other.sign();
        let (left, right) = (self.magnitude(), other.magnitude());
        if self.has_nan(other) {
            return Binary128(NAN);
        }
        if left == INFINITY || right == INFINITY {
            let undefined = left == 0 || right == 0;
            return Binary128(if undefined { NAN } else { sign | INFINITY });
        }
        let (exponent, significand) = self.normal_parts();
        let (second_exponent, second_significand) = other.normal_parts();
        let (high, low) = wide_product(significand, second_significand);
        // The product of two numbers with 112 bits below the leading one has 224; all but 112 and
        // GUARD go.
        let lost = 112 - GUARD;
        let kept = high << (128 - lost) | low >> lost;
        let kept = kept | u128::from(low << (128 - lost) != 0);
        Binary128::round(sign, exponent + second_exponent - BIAS, kept)
    }

    fn order(self, other: Binary128) -> Option<Ordering> {
        if self.has_nan(other) {
            return None;
        }
        // Two's complement of the magnitude puts the two zeros together.
        let key = |value: Binary128| {
            let magnitude = value.magnitude() as i128;
            if value.sign() == 0 {
                magnitude
            } else {
                -magnitude
            }
        };
        Some(key(self).cmp(&key(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two numbers, their sum and their product, by another implementation of the format. In turn:
    /// equal exponents, near ones, far ones, underflow, subnormals, overflow, products among the
    /// subnormals.
    #[rustfmt::skip]
    const VECTORS: &[(u128, u128, u128, u128)] = &[
        (0xbfff0975fbde15b0_2a337357ae2cc59b, 0xbfff107a27529ad0_e4093df8432a8be5, 0xc0000cf811985840_871e58a7f8aba8c0, 0x3fff1a8c069ca094_9b1277254780b088),
        (0xc02220aec4233f8e_c9ddc8f042775a71, 0xc01fefe9c5610885_6ef14999f8114bd4, 0xc0225eabfccf609f_77bbf223817983ec, 0x4043179cc5724a5e_a84adc782bfab056),
        (0x3fff66b049cdc80b_f991db0c819b315b, 0x3ffa9b57fb8d31f9_be1edefcfabd75da, 0x3fff738b09aa319b_c782d20469711d0a, 0x3ffb202c266d914a_a49a15ecc8256962),
        (0x80659a347dd2966b_6860000000000000, 0x3fb4ff7aa865d7d4_6edd22562c4c697b, 0x3fb4ff7aa865d7d4_6edd22562c4c697b, 0x801b99c9a90079dd_330e12df0e1e6203),
        (0x00029abfb303fd7b_0ff20e6dfbb7c441, 0x0004a40a022b9b89_6c129af7f2440efe, 0x0005055cf7764d74_18078f49b8990007, 0x0000000000000000_0000000000000000),
        (0x7ffe583abdfb5837_9d8dbb3a00000000, 0xfffe04828c93ce01_df9a26c8470349dd, 0x7ffc4ee0c59e28d6_f7ce51c6e3f2d88c, 0xffff000000000000_0000000000000000),
        (0x20120929f41aa230_58aee9fdc3f41b74, 0x9fb2ff171a9fae42_e5baa16ee5b5419e, 0x20120929f41aa230_58aee9fdc3f21c5d, 0x8000000000000000_0021162ac99c07c3),
        (0x3fff0d4e5b2b3b2a_b200000000000000, 0x3fff0d4e5b2b3b2a_b36eb1caa58ee7de, 0x40000d4e5b2b3b2a_b2b758e552c773ef, 0x3fff1b4dc3948927_8cf7819f340024f8),
        (0xc00ba99fdb7b2948_0da24e08451a8d1a, 0xc00805073f90be80_7f2e6910bdea3ffd, 0xc00bca40c36d4118_1d881b2a5cd7d51a, 0x4014b1fc07d28f1d_a3956a633bb30b32),
        (0xbfffb292a535dc4e_3b4de2fabe6d6476, 0x3fdbb292a535dc4e_3b4de2fabe6d6470, 0xbfffb292a535c125_10fa8535dab88646, 0xbfdc70dac615bd83_81d0c46f4b2cb0fd),
        (0x806cd7a9d87056f0_3b0d936889b10a00, 0x3f8a680cabb95f09_27429c30e8b6cff7, 0x3f8a680cabb95f09_27429c30e8b6cff7, 0x800000a5d78c2e06_fbcf8bc32e58f7ab),
        (0x00003fe289df33d1_cb9848f06e9659f6, 0x00003fe289df33d1_cb9848f06e9659f4, 0x00007fc513be67a3_973091e0dd2cb3ea, 0x0000000000000000_0000000000000000),
        (0x7ffea050c605b6b0_f3fbe985738811dd, 0xfffee3da342cd6be_31523358d080e093, 0xfffc0e25b89c8034_f559274d73e33ad8, 0xffff000000000000_0000000000000000),
        (0x9fd669de94be57c2_b3dfbbcafb209bed, 0x9f94c27cb6b9819a_1ab7a90d79b5d419, 0x9fd669de94be57c2_b3e02c6a28cefc54, 0x0000000000000000_0000000000000000),
        (0xbfff64f31f78431a_a2bd6f78450d351c, 0xbfff63c58085e876_40f7cd92ebbc3e26, 0xc000645c4fff15c8_71da9e859864b9a1, 0x3ffff01086ef42c6_455fe6e3de947ef4),
        (0x400c64256e5e6b1d_10f1368a1f6db08b, 0xc009f9d1347a292a_8ea99d9b624dd7f8, 0x400c24eb47cf25f7_bf1c02d6b323f58c, 0xc0175fd8712474f4_6198c952d390d7de),
        (0x3fffe03f67599a00_7b315baeaed9a930, 0x3fb7e6f8de04d766_de684601baf1c748, 0x3fffe03f67599a00_7b315d95a7b7ae07, 0x3fb8c8c59e1024ee_d2c9f2ba9a20c998),
        (0x806b2c31942af3d0_d097050107aa5237, 0xbfa1015173d16b53_f0a63b79f28c7d45, 0xbfa1015173d16b53_f0a63b79f28c7d45, 0x000d2dbd493ed840_3043dd9ed9e11d4a),
        (0x00015863c3f93cd5_141ed10a6a735bec, 0x8003f16505bac65b_2d3b4ee773e54517, 0x80039b4c14bc7725_e8339aa4d9486e1c, 0x8000000000000000_0000000000000000),
        (0x7ffe73820a044cbb_5c5ddb8f13500ae2, 0x7ffd73820a044cbb_5c5ddb8f13500ae7, 0x7fff000000000000_0000000000000000, 0x7fff000000000000_0000000000000000),
        (0x2052c092d0bd880a_f92dc94f084bb19a, 0x1faac092d0bd880a_f92dc94f084bb19d, 0x2052c092d0bd880a_f92dc94f084bb19a, 0x0000312022eca1e8_a1e0876383923202),
        (0x3fff9cba3190dac7_e69008066ff9aab2, 0x3fffb447c2d4b567_29c8f524254aa5cd, 0x4000a880fa32c817_882c7e954aa22840, 0x40005fb067153dff_f5990a3c031f1875),
        (0x401c66e0417c07e5_29b2ce151357a6aa, 0x401abc3cde83e367_946362f6c168dd61, 0x401cd5ef791d00bf_0ecba6d2c3b1de02, 0x403837612308e98c_36d47a7d360cd0cb),
        (0xbfffeb1847e667e6_b5bdd63a675e8000, 0xbfad43275df9a5cc_2beb8aec129ca587, 0xbfffeb1847e667e6_b5bdd63ab828577e, 0x3fae35f593d8b1fe_701fe78a1bca495d),
        (0x00419bee65713982_2da6ea6534278000, 0x3fac89c6995148c7_09100e0b1e053b96, 0x3fac89c6995148c7_09100e0b1e053b96, 0x000000004f34115a_31a0ad0c8ed50d6f),
        (0x0000cffddf1d4bac_ae70e5fe7ef21a3b, 0x8001cffddf1d4bac_ae70e5fe7ef21a3c, 0x8001000000000000_0000000000000001, 0x8000000000000000_0000000000000000),
        (0x7ffe380000000000_0000000000000000, 0xfffc0f8222d20e7f_9d07a6f8789dd5a3, 0x7ffde83eee96f8c0_317c2c83c3b1152e, 0xffff000000000000_0000000000000000),
        (0xa0090edbe495b2fe_057014720c59e61b, 0x1f820edbe495b2fe_057014720c59e61f, 0xa0090edbe495b2fe_057014720c59e61b, 0x8000000000000000_0000000000000000),
    ];

    const ONE: u128 = (BIAS as u128) << 112;

    #[test]
    fn sums_and_products_of_known_vectors() {
        for &(left, right, sum, product) in VECTORS {
            let (a, b) = (Binary128(left), Binary128(right));
            assert_eq!(a.add(b).0, sum, "{left:#x} + {right:#x}");
            assert_eq!(b.add(a).0, sum, "{right:#x} + {left:#x}");
            assert_eq!(a.multiply(b).0, product, "{left:#x} * {right:#x}");
            assert_eq!(b.multiply(a).0, product, "{right:#x} * {left:#x}");
        }
    }

    /// Integers of 56 bits have exact sums and products, which i128 knows.
    #[test]
    fn integers_are_exact() {
        let number = |value: i128| {
            let sign = if value < 0 { SIGN } else { 0 };
            Binary128::round(sign, BIAS + 112, value.unsigned_abs() << GUARD)
        };
        let mut state = 1u64;
        for _ in 0..1000 {
            let mut next = || {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                i128::from(state as i64 >> (8 + (state >> 20) % 50))
            };
            let (left, right) = (next(), next());
            let (a, b) = (number(left), number(right));
            assert_eq!(a.add(b).0, number(left + right).0, "{left} + {right}");
            assert_eq!(a.subtract(b).0, number(left - right).0, "{left} - {right}");
            assert_eq!(
                a.multiply(b).magnitude(),
                number(left * right).magnitude(),
                "{left} * {right}"
            );
            assert_eq!(a.order(b), Some(left.cmp(&right)));
        }
    }

    /// IEEE 754-2019, clauses 6 and 7.
    #[test]
    fn specials() {
        let (one, minus_zero) = (Binary128(ONE), Binary128(SIGN));
        let (infinity, minus_infinity) = (Binary128(INFINITY), Binary128(SIGN | INFINITY));
        assert!(infinity.add(minus_infinity).is_nan());
        assert_eq!(infinity.add(one).0, INFINITY);
        assert_eq!(infinity.multiply(Binary128(SIGN | ONE)).0, SIGN | INFINITY);
        assert!(infinity.multiply(minus_zero).is_nan());
        assert!(one.add(Binary128(NAN)).is_nan() && one.multiply(Binary128(NAN)).is_nan());
        assert_eq!(one.subtract(one).0, 0);
        assert_eq!(minus_zero.add(minus_zero).0, SIGN);
        assert_eq!(minus_zero.add(Binary128(0)).0, 0);
        assert_eq!(minus_zero.multiply(one).0, SIGN);
        assert_eq!(minus_zero.order(Binary128(0)), Some(Ordering::Equal));
        assert_eq!(minus_infinity.order(one), Some(Ordering::Less));
        let largest = Binary128(INFINITY - 1);
        assert_eq!(largest.add(largest).0, INFINITY);
        let last_place = Binary128((BIAS as u128 - 112) << 112);
        let half_place = Binary128((BIAS as u128 - 113) << 112);
        assert_eq!(one.add(last_place).0, ONE + 1);
        assert_eq!(one.add(half_place).0, ONE, "a tie goes to even");
        assert_eq!(
            Binary128(ONE + 1).add(half_place).0,
            ONE + 2,
            "a tie goes to even"
        );
    }
}
