//! From an operation and a kind of number to the loop that combines them.
//!
//! Each loop is `reduce_bytes` with a typed operation and a type, so that it vectorises where
//! memory is aligned. The choice is made once per reduction, the loop then runs without asking
//! again.

use super::binary128::Binary128;
use super::complex::Complex;
#[cfg(target_arch = "x86_64")]
use super::extended::Extended;
use super::half::Half;
use super::number::Number;
use super::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Predefined, Product, Sum,
    reduce_bytes,
};
use crate::datatype::{Basic, Class};

/// Sets the second to the first ∘ the second, element by element.
pub type Run = fn(&[u8], &mut [u8]);

/// A match over the kinds of number, each with the loop over its type; whatever is not listed has
/// none.
macro_rules! over {
    ($number:expr, $op:expr, $($(#[$condition:meta])? $kind:ident $type:ty),* $(,)?) => {
        match $number {
            $($(#[$condition])? Number::$kind => {
                Some(|input, inout| reduce_bytes::<$type>(&$op, input, inout))
            })*
            _ => None,
        }
    };
}
macro_rules! over_bits {
    ($number:expr, $op:expr) => {
        over!($number.without_sign(), $op, U8 u8, U16 u16, U32 u32, U64 u64, U128 u128)
    };
}
macro_rules! over_sums {
    ($number:expr, $op:expr) => {
        over!(
            $number.without_sign(), $op,
            U8 u8, U16 u16, U32 u32, U64 u64, U128 u128,
            F16 Half, F32 f32, F64 f64, #[cfg(target_arch = "x86_64")] F80 Extended, F128 Binary128,
        )
    };
}
// Of 16 bytes without sign there are only truth values, which have no order.
macro_rules! over_ordered {
    ($number:expr, $op:expr) => {
        over!(
            $number, $op,
            I8 i8, I16 i16, I32 i32, I64 i64, I128 i128,
            U8 u8, U16 u16, U32 u32, U64 u64,
            F16 Half, F32 f32, F64 f64, #[cfg(target_arch = "x86_64")] F80 Extended, F128 Binary128,
        )
    };
}

/// The loop for an operation that takes `basic`; none if this processor cannot compute with it.
pub(super) fn choose(op: Predefined, basic: Basic) -> Option<Run> {
    let number = Number::of(basic)?;
    let complex = basic.class() == Class::Complex;
    match op {
        // A complex sum is the sum of its parts.
        Predefined::Sum => over_sums!(number, Sum),
        Predefined::Product if complex => over!(
            number, Product,
            F16 Complex<Half>,
            F32 Complex<f32>,
            F64 Complex<f64>,
            #[cfg(target_arch = "x86_64")] F80 Complex<Extended>,
            F128 Complex<Binary128>,
        ),
        Predefined::Product => over_sums!(number, Product),
        Predefined::Min => over_ordered!(number, Min),
        Predefined::Max => over_ordered!(number, Max),
        Predefined::BitAnd => over_bits!(number, BitAnd),
        Predefined::BitOr => over_bits!(number, BitOr),
        Predefined::BitXor => over_bits!(number, BitXor),
        Predefined::LogicalAnd => over_bits!(number, LogicalAnd),
        Predefined::LogicalOr => over_bits!(number, LogicalOr),
        Predefined::LogicalXor => over_bits!(number, LogicalXor),
        Predefined::MinLoc | Predefined::MaxLoc => None,
        Predefined::Replace | Predefined::NoOp => None,
    }
}

/// MPI_REPLACE: the input takes the place of what was there.
pub(super) fn replace(input: &[u8], inout: &mut [u8]) {
    inout.copy_from_slice(input);
}

/// MPI_NO_OP: what was there stays.
pub(super) fn keep(_input: &[u8], _inout: &mut [u8]) {}
