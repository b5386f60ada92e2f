//! What the operations ask of a floating-point format, and from it sum, product, minimum and
//! maximum for the formats that Rust has no type for: `Half`, `Extended` and `Binary128`, each in a
//! file of its own.

use std::cmp::Ordering;

use super::binary128::Binary128;
#[cfg(target_arch = "x86_64")]
use super::extended::Extended;
use super::half::Half;
use super::{Max, Min, Operation, Product, Sum};
use crate::plain::Plain;

/// A floating-point format; every result is rounded once, to nearest, ties to even.
pub(super) trait Real: Plain {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// None when one of them is NaN.
    fn order(self, other: Self) -> Option<Ordering>;

    /// Whether it is not a number, which alone is not equal to itself.
    fn is_nan(self) -> bool {
        self.order(self).is_none()
    }

    /// The one that comes first; a number wins over NaN.
    fn first(self, other: Self, wanted: Ordering) -> Self {
        match self.order(other) {
            Some(order) if order == wanted => self,
            None if !self.is_nan() => self,
            _ => other,
        }
    }
}

macro_rules! native {
    ($($type:ty),*) => {$(
        impl Real for $type {
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline]
            fn subtract(self, other: Self) -> Self {
                self - other
            }

            #[inline]
            fn multiply(self, other: Self) -> Self {
                self * other
            }

            #[inline]
            fn order(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
        }
    )*};
}
native!(f32, f64);

macro_rules! emulated {
    ($type:ty) => {
        impl Operation<$type> for Sum {
            fn combine(&self, left: $type, right: $type) -> $type {
                left.add(right)
            }
        }
        impl Operation<$type> for Product {
            fn combine(&self, left: $type, right: $type) -> $type {
                left.multiply(right)
            }
        }
        impl Operation<$type> for Min {
            fn combine(&self, left: $type, right: $type) -> $type {
                left.first(right, Ordering::Less)
            }
        }
        impl Operation<$type> for Max {
            fn combine(&self, left: $type, right: $type) -> $type {
                left.first(right, Ordering::Greater)
            }
        }
    };
}
emulated!(Half);
emulated!(Binary128);
#[cfg(target_arch = "x86_64")]
emulated!(Extended);
