//! The 80-bit numbers of the x87 unit, which C calls long double on x86-64, in the unit's own
//! instructions.
//!
//! A value takes 16 bytes of which the last 6 mean nothing; results have zeros there, so that equal
//! results are equal bytes on every rank. The type has no alignment, so loads work anywhere. The
//! arithmetic needs the unit's precision control at 64 bits, where the System V ABI puts it at
//! process start.

use std::arch::asm;
use std::cmp::Ordering;

use super::real::Real;
use crate::plain::Plain;

/// An extended number, by its bytes.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Extended([u8; 16]);

// SAFETY: bytes and nothing else; the 6 without meaning are bytes with values, too.
unsafe impl Plain for Extended {}

macro_rules! binary {
    ($instruction:literal, $left:ident, $right:ident) => {{
        let mut result = Extended([0; 16]);
        // SAFETY: the three addresses are those of living values of at least the 10 bytes that the
        // instructions load or store; all stack registers are declared clobbered, so the stack is
        // empty before, and pushes and pops here are balanced, so it is empty after.
        unsafe {
            asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                $instruction,
                "fstp tbyte ptr [{result}]",
                left = in(reg) $left.0.as_ptr(),
                right = in(reg) $right.0.as_ptr(),
                result = in(reg) result.0.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }};
}

impl Real for Extended {
    fn add(self, other: Extended) -> Extended {
        binary!("faddp st(1), st", self, other)
    }

    fn subtract(self, other: Extended) -> Extended {
        binary!("fsubp st(1), st", self, other)
    }

    fn multiply(self, other: Extended) -> Extended {
        binary!("fmulp st(1), st", self, other)
    }

    fn order(self, other: Extended) -> Option<Ordering> {
        let (unordered, above, below): (u8, u8, u8);
        // SAFETY: as in `binary!`; nothing is stored.
        unsafe {
            asm!(
                "fld tbyte ptr [{right}]",
                "fld tbyte ptr [{left}]",
                "fucomip st, st(1)",
                "fstp st(0)",
                "setp {unordered}",
                "seta {above}",
                "setb {below}",
                left = in(reg) self.0.as_ptr(),
                right = in(reg) other.0.as_ptr(),
                unordered = out(reg_byte) unordered,
                above = out(reg_byte) above,
                below = out(reg_byte) below,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly),
            );
        }
        match (unordered, above, below) {
            (1, _, _) => None,
            (_, 1, _) => Some(Ordering::Greater),
            (_, _, 1) => Some(Ordering::Less),
            _ => Some(Ordering::Equal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sign and biased exponent, significand with its explicit leading bit.
    fn extended(sign_exponent: u16, significand: u64) -> Extended {
        let mut bytes = [0xee; 16];
        bytes[..8].copy_from_slice(&significand.to_le_bytes());
        bytes[8..10].copy_from_slice(&sign_exponent.to_le_bytes());
        Extended(bytes)
    }

    fn parts(value: Extended) -> (u16, u64) {
        assert_eq!(value.0[10..], [0; 6], "bytes without meaning are zero");
        let significand = u64::from_le_bytes(value.0[..8].try_into().unwrap());
        (u16::from_le_bytes([value.0[8], value.0[9]]), significand)
    }

    const TOP: u64 = 1 << 63;

    #[test]
    fn sixty_four_bits_are_kept() {
        let one = extended(0x3fff, TOP);
        let large = extended(0x3fff + 63, TOP);
        assert_eq!(parts(large.add(one)), (0x3fff + 63, TOP + 1));
        assert_eq!(
            parts(one.subtract(large)),
            (0x8000 | (0x3fff + 62), u64::MAX - 1)
        );
        let three = extended(0x4000, 3 << 62);
        assert_eq!(parts(three.multiply(large)), (0x4000 + 63, 3 << 62));
    }

    #[test]
    fn order_knows_signs_and_nan() {
        let (one, minus_two) = (extended(0x3fff, TOP), extended(0xc000, TOP));
        let nan = extended(0x7fff, TOP | TOP >> 1);
        assert_eq!(one.order(minus_two), Some(Ordering::Greater));
        assert_eq!(minus_two.order(one), Some(Ordering::Less));
        assert_eq!(one.order(one), Some(Ordering::Equal));
        assert_eq!(one.order(nan), None);
        assert!(nan.is_nan() && !one.is_nan());
        let many: Vec<Option<Ordering>> = (0..100).map(|_| one.order(one)).collect();
        assert!(
            many.iter().all(|order| *order == Some(Ordering::Equal)),
            "the stack never fills up"
        );
    }
}
