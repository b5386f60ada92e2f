//! Which types and operations can be accumulated, as traits: what the standard forbids does not
//! compile.

use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Operation, Predefined,
    Product, Sum,
};
use oxmpi_datatypes::plain::Plain;

mod sealed {
    pub trait Sealed {}
}

/// A number that accumulations combine, atomically per number.
pub trait Element: Plain + sealed::Sealed {
    #[doc(hidden)]
    const BASIC: Basic;
    #[doc(hidden)]
    const ZERO: Self;
}

/// A number that can be compared and swapped: integers.
pub trait Integer: Element {}

macro_rules! elements {
    ($($type:ty: $basic:ident),* $(,)?) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const BASIC: Basic = Basic::$basic;
            const ZERO: $type = 0 as $type;
        }
        const _: () = assert!(size_of::<$type>() == size_of::<[u8; bytes_of(Basic::$basic)]>());
    )*};
}

/// Bytes of the basic types above.
const fn bytes_of(basic: Basic) -> usize {
    match basic {
        Basic::Int8 | Basic::Uint8 => 1,
        Basic::Int16 | Basic::Uint16 => 2,
        Basic::Int32 | Basic::Uint32 | Basic::Float => 4,
        _ => 8,
    }
}

elements! {
    u8: Uint8, u16: Uint16, u32: Uint32, u64: Uint64, usize: Uint64,
    i8: Int8, i16: Int16, i32: Int32, i64: Int64, isize: Int64,
    f32: Float, f64: Double,
}

macro_rules! integers {
    ($($type:ty),*) => {$(impl Integer for $type {})*};
}
integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

/// What is there is replaced: an atomic put (MPI_REPLACE).
#[derive(Clone, Copy, Debug)]
pub struct Replace;

/// What is there stays: an atomic get (MPI_NO_OP).
#[derive(Clone, Copy, Debug)]
pub struct NoOp;

/// An operation that combines into a window: those of `oxmpi::op` that the library knows by name
/// (the target's process runs them, so a function of this program's own cannot be one), and
/// [`Replace`].
pub trait Accumulation<T: Element>: sealed::Sealed {
    #[doc(hidden)]
    const OP: Predefined;
}

/// As [`Accumulation`], where what was there is fetched: [`NoOp`] is one, too.
pub trait Fetching<T: Element>: sealed::Sealed {
    #[doc(hidden)]
    const OP: Predefined;
}

macro_rules! operations {
    ($($op:ident: $predefined:ident),*) => {$(
        impl sealed::Sealed for $op {}
        impl<T: Element> Accumulation<T> for $op
        where
            $op: Operation<T>,
        {
            const OP: Predefined = Predefined::$predefined;
        }
        impl<T: Element> Fetching<T> for $op
        where
            $op: Operation<T>,
        {
            const OP: Predefined = Predefined::$predefined;
        }
    )*};
}
operations!(
    Sum: Sum,
    Product: Product,
    Min: Min,
    Max: Max,
    BitAnd: BitAnd,
    BitOr: BitOr,
    BitXor: BitXor,
    LogicalAnd: LogicalAnd,
    LogicalOr: LogicalOr,
    LogicalXor: LogicalXor
);

impl sealed::Sealed for Replace {}
impl<T: Element> Accumulation<T> for Replace {
    const OP: Predefined = Predefined::Replace;
}
impl<T: Element> Fetching<T> for Replace {
    const OP: Predefined = Predefined::Replace;
}

impl sealed::Sealed for NoOp {}
impl<T: Element> Fetching<T> for NoOp {
    const OP: Predefined = Predefined::NoOp;
}
