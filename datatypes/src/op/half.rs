//! IEEE binary16, by way of `f32`.
//!
//! Sum, difference and product of two halves, rounded to the 24 bits of an `f32` and then to the 11
//! of a half, are the correctly rounded ones: twice 11 and 2 more bits are enough for the first
//! rounding never to spoil the second.

use std::cmp::Ordering;

use super::real::Real;
use crate::plain::Plain;

/// A half-precision number, by its bits.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Half(u16);

// SAFETY: a u16 and nothing else.
unsafe impl Plain for Half {}

/// 2^24, the inverse of the smallest subnormal half.
const SUBNORMALS: f32 = 16_777_216.0;
/// Bits of 2^-14, the smallest normal half, as an `f32`.
const NORMAL: u32 = 0x3880_0000;
/// Bits of 65520: from here on rounding gives infinity.
const OVERFLOW: u32 = 0x477f_f000;
/// Bits of infinity as an `f32`.
const INFINITY: u32 = 0x7f80_0000;
/// Difference of the two exponent biases, 127 and 15.
const BIAS: u32 = 112;

impl Half {
    fn widen(self) -> f32 {
        let bits = u32::from(self.0);
        let (exponent, fraction) = (bits >> 10 & 0x1f, bits & 0x3ff);
        let magnitude = match exponent {
            0 => fraction as f32 / SUBNORMALS,
            0x1f => f32::from_bits(INFINITY | fraction << 13),
            _ => f32::from_bits((exponent + BIAS) << 23 | fraction << 13),
        };
        f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
    }

    fn round(value: f32) -> Half {
        let sign = (value.to_bits() >> 16) as u16 & 0x8000;
        let magnitude = value.to_bits() & !(1 << 31);
        let bits = match magnitude {
            // A quiet NaN keeps what fits of its payload.
            _ if magnitude > INFINITY => 0x7e00 | (magnitude >> 13 & 0x1ff) as u16,
            OVERFLOW.. => 0x7c00,
            // A carry goes into the exponent, where it belongs.
            NORMAL.. => {
                let even = magnitude >> 13 & 1;
                ((magnitude + 0xfff + even - (BIAS << 23)) >> 13) as u16
            }
            _ => (f32::from_bits(magnitude) * SUBNORMALS).round_ties_even() as u16,
        };
        Half(sign | bits)
    }
}

impl Real for Half {
    fn add(self, other: Half) -> Half {
        Half::round(self.widen() + other.widen())
    }

    fn subtract(self, other: Half) -> Half {
        Half::round(self.widen() - other.widen())
    }

    fn multiply(self, other: Half) -> Half {
        Half::round(self.widen() * other.widen())
    }

    fn order(self, other: Half) -> Option<Ordering> {
        self.widen().partial_cmp(&other.widen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_widening() {
        for bits in 0..=u16::MAX {
            let wide = Half(bits).widen();
            if wide.is_nan() {
                assert!(Half::round(wide).widen().is_nan(), "{bits:#x}");
            } else {
                assert_eq!(Half::round(wide).0, bits);
            }
        }
    }

    /// IEEE 754-2019, 3.6: p = 11, emax = 15; so the numbers below follow from the format alone.
    #[test]
    fn rounding_is_to_nearest_even() {
        let rounded = |value: f32| Half::round(value).0;
        assert_eq!(rounded(1.0), 0x3c00);
        assert_eq!(rounded(-2.0), 0xc000);
        assert_eq!(rounded(65504.0), 0x7bff);
        assert_eq!(rounded(65519.996), 0x7bff);
        assert_eq!(rounded(65520.0), 0x7c00);
        assert_eq!(rounded(f32::NEG_INFINITY), 0xfc00);
        let step = 2f32.powi(-10);
        assert_eq!(rounded(1.0 + step / 2.0), 0x3c00);
        assert_eq!(rounded(1.0 + step * 1.5), 0x3c02);
        assert_eq!(rounded(1.0 + step * 0.5 + step / 4096.0), 0x3c01);
        let smallest = 2f32.powi(-24);
        assert_eq!(rounded(smallest), 1);
        assert_eq!(rounded(smallest / 2.0), 0);
        assert_eq!(rounded(smallest * 1.5), 2);
        assert_eq!(rounded(smallest * 1023.5), 0x400);
        assert_eq!(rounded(-0.0), 0x8000);
    }

    #[test]
    fn arithmetic() {
        let (one, tiny) = (Half(0x3c00), Half(0x1000));
        assert_eq!(one.add(one).0, 0x4000);
        assert_eq!(
            one.add(tiny).0,
            0x3c00,
            "half of the last place goes to even"
        );
        assert_eq!(Half(0x7bff).add(Half(0x7bff)).0, 0x7c00);
        assert_eq!(one.subtract(one).0, 0);
        assert_eq!(
            Half(0x4200).multiply(Half(0xc400)).0,
            0xca00,
            "3 * -4 = -12"
        );
        assert_eq!(Half(0).order(Half(0x8000)), Some(Ordering::Equal));
        assert!(Half(0x7e00).is_nan() && !Half(0x7c00).is_nan());
    }
}
