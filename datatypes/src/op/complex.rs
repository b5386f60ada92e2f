//! Complex products. Sums need nothing of their own: they are sums of twice as many reals.

use super::real::Real;
use super::{Operation, Product};
use crate::plain::Plain;

/// Real and imaginary part, as C, C++ and Fortran lay them out.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Complex<T>([T; 2]);

// SAFETY: an array of two T and nothing else, so what T promises (T: Plain) holds for it.
unsafe impl<T: Plain> Plain for Complex<T> {}

impl<T: Real> Operation<Complex<T>> for Product {
    /// The product by its definition. Infinite factors may give NaN where C's annex G would still
    /// find an infinity.
    #[inline]
    fn combine(&self, left: Complex<T>, right: Complex<T>) -> Complex<T> {
        let (Complex([a, b]), Complex([c, d])) = (left, right);
        let real = a.multiply(c).subtract(b.multiply(d));
        let imaginary = a.multiply(d).add(b.multiply(c));
        Complex([real, imaginary])
    }
}
