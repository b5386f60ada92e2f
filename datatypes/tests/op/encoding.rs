//! The standard's groups of types, written out name by name, and small integers in the bytes of
//! each type.

use oxmpi_datatypes::datatype::Basic::{self, *};

pub const C_INTEGER: &[Basic] = &[
    Int,
    Long,
    Short,
    UnsignedShort,
    Unsigned,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    SignedChar,
    UnsignedChar,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
];
pub const FORTRAN_INTEGER: &[Basic] = &[Integer, Integer1, Integer2, Integer4, Integer8, Integer16];
pub const FLOATING: &[Basic] = &[
    Float,
    Double,
    Real,
    DoublePrecision,
    LongDouble,
    Real2,
    Real4,
    Real8,
    Real16,
];
pub const LOGICAL: &[Basic] = &[
    Logical, CBool, CxxBool, Logical1, Logical2, Logical4, Logical8, Logical16,
];
pub const COMPLEX: &[Basic] = &[
    Complex,
    CFloatComplex,
    CDoubleComplex,
    CLongDoubleComplex,
    CxxFloatComplex,
    CxxDoubleComplex,
    CxxLongDoubleComplex,
    DoubleComplex,
    Complex4,
    Complex8,
    Complex16,
    Complex32,
];
pub const BYTE: &[Basic] = &[Byte];
pub const MULTI_LANGUAGE: &[Basic] = &[Aint, Offset, Count];
pub const PAIRS: &[Basic] = &[
    FloatInt,
    DoubleInt,
    LongInt,
    TwoInt,
    ShortInt,
    LongDoubleInt,
    TwoReal,
    TwoDoublePrecision,
    TwoInteger,
];

/// How a number, or each part of a complex one, is encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    Signed(usize),
    Unsigned(usize),
    /// Bits of exponent and of the stored fraction.
    Ieee(u32, u32),
    /// The x87 format, in 16 bytes.
    Extended,
}

const HALF: Format = Format::Ieee(5, 10);
const SINGLE: Format = Format::Ieee(8, 23);
const DOUBLE: Format = Format::Ieee(11, 52);
const QUADRUPLE: Format = Format::Ieee(15, 112);

pub fn format(basic: Basic) -> Format {
    match basic {
        Char if std::ffi::c_char::MIN == 0 => Format::Unsigned(1),
        Char | SignedChar | Int8 | Integer1 => Format::Signed(1),
        Short | Int16 | Integer2 => Format::Signed(2),
        Int | Int32 | Integer | Integer4 => Format::Signed(4),
        Long | LongLong | Int64 | Integer8 | Aint | Offset | Count => Format::Signed(8),
        Integer16 => Format::Signed(16),
        UnsignedChar | Uint8 | Byte | CBool | CxxBool | Logical1 => Format::Unsigned(1),
        UnsignedShort | Uint16 | Logical2 => Format::Unsigned(2),
        Unsigned | Uint32 | Logical | Logical4 => Format::Unsigned(4),
        UnsignedLong | UnsignedLongLong | Uint64 | Logical8 => Format::Unsigned(8),
        Logical16 => Format::Unsigned(16),
        Real2 | Complex4 => HALF,
        Float | Real | Real4 | Complex | CFloatComplex | CxxFloatComplex | Complex8 => SINGLE,
        Double | DoublePrecision | Real8 | CDoubleComplex | CxxDoubleComplex | DoubleComplex
        | Complex16 => DOUBLE,
        LongDouble | CLongDoubleComplex | CxxLongDoubleComplex => Format::Extended,
        Real16 | Complex32 => QUADRUPLE,
        other => panic!("{other:?} is not a number"),
    }
}

/// The integer in this format; it must have an exact form there, and integers keep their low bits.
pub fn encode(format: Format, value: i128) -> Vec<u8> {
    match format {
        Format::Signed(bytes) | Format::Unsigned(bytes) => value.to_le_bytes()[..bytes].to_vec(),
        Format::Ieee(exponent, fraction) => {
            let bytes = (1 + exponent + fraction) / 8;
            let bits = ieee(value, exponent, fraction);
            bits.to_le_bytes()[..bytes as usize].to_vec()
        }
        Format::Extended => {
            let sign = u16::from(value < 0) << 15;
            let magnitude = u64::try_from(value.unsigned_abs()).unwrap();
            let zeros = magnitude.leading_zeros();
            let exponent = if value == 0 {
                0
            } else {
                16383 + 63 - zeros as u16
            };
            let mut encoded = magnitude
                .checked_shl(zeros)
                .unwrap_or(0)
                .to_le_bytes()
                .to_vec();
            encoded.extend((sign | exponent).to_le_bytes());
            encoded.resize(16, 0);
            encoded
        }
    }
}

fn ieee(value: i128, exponent_bits: u32, fraction_bits: u32) -> u128 {
    if value == 0 {
        return 0;
    }
    let magnitude = value.unsigned_abs();
    let exponent = magnitude.ilog2();
    let room = u128::MAX >> (128 - fraction_bits);
    let fraction = if exponent <= fraction_bits {
        magnitude << (fraction_bits - exponent)
    } else {
        let lost = exponent - fraction_bits;
        assert_eq!(
            magnitude >> lost << lost,
            magnitude,
            "{value} has no exact form"
        );
        magnitude >> lost
    };
    let biased = u128::from(exponent) + (1 << (exponent_bits - 1)) - 1;
    let sign = u128::from(value < 0) << (exponent_bits + fraction_bits);
    sign | biased << fraction_bits | fraction & room
}

/// What the type makes of the integer whose low bits it keeps.
pub fn seen(format: Format, value: i128) -> i128 {
    match format {
        Format::Signed(16) | Format::Unsigned(16) | Format::Ieee(..) | Format::Extended => value,
        Format::Signed(bytes) => value << (128 - 8 * bytes) >> (128 - 8 * bytes),
        Format::Unsigned(bytes) => value & ((1 << (8 * bytes)) - 1),
    }
}

/// Turns minus zero into zero: the oracle does not tell them apart.
pub fn without_minus_zero(format: Format, bytes: &mut [u8]) {
    let end = match format {
        Format::Ieee(..) => bytes.len(),
        Format::Extended => 10,
        _ => return,
    };
    let rest = bytes[..end - 1].iter().all(|byte| *byte == 0);
    if rest && bytes[end - 1] == 0x80 {
        bytes[end - 1] = 0;
    }
}
