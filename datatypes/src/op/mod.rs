//! Operations for reduce, allreduce, scan and their kin.
//!
//! An operation combines two values, the left one from lower ranks. It comes in two forms. This
//! file has the typed one, for Rust programs: [`Operation`] and the structs that implement it. Its
//! neighbours have the dynamic one, [`Op`], for callers that know datatypes only at run time.
//!
//! Schedules move bytes, so the last part of this file turns a typed operation into one over bytes:
//! whole slices where the memory is aligned for the type (the compiler then vectorises the loop),
//! single values where it is not. The dynamic operations are made of that, too.

mod binary128;
mod combiner;
mod complex;
mod error;
#[cfg(target_arch = "x86_64")]
mod extended;
mod half;
mod kernel;
mod location;
mod number;
mod predefined;
mod real;
mod typed_op;
mod user_op;

pub use combiner::{Combiner, Op};
pub use error::{Named, OpError};
pub use kernel::Run;
pub use predefined::Predefined;
pub use typed_op::TypedOp;
pub use user_op::UserOp;

use crate::plain::Plain;

/// Combines two values of `T`. It must be associative; `left` comes from lower ranks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not combine elements of `{T}`",
    label = "no operation on `{T}`",
    note = "sums, products, minima and maxima are for numbers and arrays of them, the others for \
            integers; `op::user` makes an operation of your own for any `Plain` type"
)]
pub trait Operation<T: Plain> {
    /// The combination of `left` and `right`.
    fn combine(&self, left: T, right: T) -> T;

    /// Whether order is free: `combine(a, b)` equals `combine(b, a)`.
    fn is_commutative(&self) -> bool {
        true
    }

    /// Which operation of the standard it is, if it is one: ranks that disagree are told.
    fn predefined(&self) -> Option<Predefined> {
        None
    }
}

/// `a + b`; integers wrap around.
#[derive(Clone, Copy, Debug)]
pub struct Sum;
/// `a * b`; integers wrap around.
#[derive(Clone, Copy, Debug)]
pub struct Product;
/// The smaller one; a number wins over NaN.
#[derive(Clone, Copy, Debug)]
pub struct Min;
/// The larger one; a number wins over NaN.
#[derive(Clone, Copy, Debug)]
pub struct Max;
/// `a & b`.
#[derive(Clone, Copy, Debug)]
pub struct BitAnd;
/// `a | b`.
#[derive(Clone, Copy, Debug)]
pub struct BitOr;
/// `a ^ b`.
#[derive(Clone, Copy, Debug)]
pub struct BitXor;
/// 1 when both are not zero, else 0.
#[derive(Clone, Copy, Debug)]
pub struct LogicalAnd;
/// 1 when one of them is not zero, else 0.
#[derive(Clone, Copy, Debug)]
pub struct LogicalOr;
/// 1 when exactly one of them is not zero, else 0.
#[derive(Clone, Copy, Debug)]
pub struct LogicalXor;

/// An operation of the program's own, see [`user`].
#[derive(Clone, Copy, Debug)]
pub struct User<F> {
    commutative: bool,
    combine: F,
}

/// Makes an operation from a function that combines two values. When it is not commutative the
/// values are combined in the order of the ranks.
///
/// ```
/// // Composition of the maps x -> a * x + b: associative, but order matters.
/// let compose = oxmpi::op::user(false, |f: &[f64; 2], g: &[f64; 2]| [f[0] * g[0], f[0] * g[1] + f[1]]);
/// # let _ = compose;
/// ```
pub fn user<T: Plain, F: Fn(&T, &T) -> T>(commutative: bool, combine: F) -> User<F> {
    User {
        commutative,
        combine,
    }
}

impl<T: Plain, F: Fn(&T, &T) -> T> Operation<T> for User<F> {
    fn combine(&self, left: T, right: T) -> T {
        (self.combine)(&left, &right)
    }

    fn is_commutative(&self) -> bool {
        self.commutative
    }
}

macro_rules! operation {
    ($op:ident, $a:ident, $b:ident, $result:expr => $($type:ty),*) => {$(
        impl Operation<$type> for $op {
            #[inline]
            fn combine(&self, $a: $type, $b: $type) -> $type {
                $result
            }

            #[inline]
            fn predefined(&self) -> Option<Predefined> {
                Some(Predefined::$op)
            }
        }
    )*};
}
macro_rules! integers {
    ($($type:ident),*) => {$(
        operation!(Sum, a, b, a.wrapping_add(b) => $type);
        operation!(Product, a, b, a.wrapping_mul(b) => $type);
        operation!(Min, a, b, a.min(b) => $type);
        operation!(Max, a, b, a.max(b) => $type);
        operation!(BitAnd, a, b, a & b => $type);
        operation!(BitOr, a, b, a | b => $type);
        operation!(BitXor, a, b, a ^ b => $type);
        operation!(LogicalAnd, a, b, $type::from(a != 0 && b != 0) => $type);
        operation!(LogicalOr, a, b, $type::from(a != 0 || b != 0) => $type);
        operation!(LogicalXor, a, b, $type::from((a != 0) != (b != 0)) => $type);
    )*};
}
integers!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);
operation!(Sum, a, b, a + b => f32, f64);
operation!(Product, a, b, a * b => f32, f64);
operation!(Min, a, b, a.min(b) => f32, f64);
operation!(Max, a, b, a.max(b) => f32, f64);

/// Arrays are combined element by element.
macro_rules! arrays {
    ($($op:ident),*) => {$(
        impl<T: Plain, const N: usize> Operation<[T; N]> for $op
        where
            $op: Operation<T>,
        {
            #[inline]
            fn combine(&self, left: [T; N], right: [T; N]) -> [T; N] {
                std::array::from_fn(|i| self.combine(left[i], right[i]))
            }

            #[inline]
            fn predefined(&self) -> Option<Predefined> {
                Some(Predefined::$op)
            }
        }
    )*};
}
arrays!(
    Sum, Product, Min, Max, BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor
);

/// Sets `into` to `input ∘ into`, element by element, both seen as bytes: the form in which
/// schedules reduce, with the lower ranks' part on the left.
pub fn reduce_bytes<T: Plain>(operation: &impl Operation<T>, input: &[u8], into: &mut [u8]) {
    let size = size_of::<T>();
    assert_eq!(
        input.len(),
        into.len(),
        "the two sides of a reduction differ in length"
    );
    if size == 0 {
        return;
    }
    assert_eq!(into.len() % size, 0, "a reduction cuts an element in two");
    // SAFETY: every bit pattern is a T (T: Plain), and align_to keeps to the slice's bounds.
    let (skew, typed, _) = unsafe { input.align_to::<T>() };
    // SAFETY: as above.
    let (skew_into, typed_into, _) = unsafe { into.align_to_mut::<T>() };
    if skew.is_empty() && skew_into.is_empty() {
        for (into, &input) in typed_into.iter_mut().zip(typed) {
            *into = operation.combine(input, *into);
        }
    } else {
        reduce_unaligned(operation, input, into);
    }
}

fn reduce_unaligned<T: Plain>(operation: &impl Operation<T>, input: &[u8], into: &mut [u8]) {
    let size = size_of::<T>();
    for (input, into) in input.chunks_exact(size).zip(into.chunks_exact_mut(size)) {
        // SAFETY: each chunk has the size of a T and every bit pattern is one (T: Plain).
        unsafe {
            let left = input.as_ptr().cast::<T>().read_unaligned();
            let right = into.as_ptr().cast::<T>().read_unaligned();
            let result = operation.combine(left, right);
            into.as_mut_ptr().cast::<T>().write_unaligned(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::{bytes, bytes_mut};

    fn reduced<T: Plain>(op: impl Operation<T>, input: &[T], into: &[T]) -> Vec<T> {
        let mut result = into.to_vec();
        reduce_bytes(&op, bytes(input), bytes_mut(&mut result));
        result
    }

    #[test]
    fn named_operations() {
        let (a, b) = ([6_i32, -1, 0], [3, 5, 0]);
        assert_eq!(reduced(Sum, &a, &b), [9, 4, 0]);
        assert_eq!(reduced(Product, &a, &b), [18, -5, 0]);
        assert_eq!(reduced(Min, &a, &b), [3, -1, 0]);
        assert_eq!(reduced(Max, &a, &b), [6, 5, 0]);
        assert_eq!(reduced(BitAnd, &a, &b), [2, 5, 0]);
        assert_eq!(reduced(BitOr, &a, &b), [7, -1, 0]);
        assert_eq!(reduced(BitXor, &a, &b), [5, -6, 0]);
        assert_eq!(reduced(LogicalAnd, &a, &b), [1, 1, 0]);
        assert_eq!(reduced(LogicalOr, &a, &b), [1, 1, 0]);
        assert_eq!(reduced(LogicalXor, &a, &b), [0, 0, 0]);
        assert_eq!(reduced(Max, &[f64::NAN], &[1.0]), [1.0]);
        assert_eq!(reduced(Sum, &[u8::MAX], &[1]), [0]);
        assert_eq!(reduced(Sum, &[[1.0_f32, 2.0]], &[[3.0, 4.0]]), [[4.0, 6.0]]);
    }

    #[test]
    fn the_input_stands_on_the_left() {
        let minus = user(false, |a: &i64, b: &i64| a - b);
        assert!(!Operation::<i64>::is_commutative(&minus));
        assert_eq!(reduced(minus, &[10], &[3]), [7]);
    }

    #[test]
    fn unaligned_memory_gives_the_same() {
        let input: Vec<u64> = (0..9).collect();
        let into: Vec<u64> = (100..109).collect();
        let expected = reduced(Sum, &input, &into);
        for (skew, skew_into) in [(1, 0), (0, 1), (3, 3), (5, 2)] {
            let mut from = [0u8; 80];
            let mut to = [0u8; 80];
            from[skew..][..72].copy_from_slice(bytes(&input));
            to[skew_into..][..72].copy_from_slice(bytes(&into));
            reduce_bytes::<u64>(&Sum, &from[skew..][..72], &mut to[skew_into..][..72]);
            assert_eq!(&to[skew_into..][..72], bytes(&expected));
        }
    }
}
