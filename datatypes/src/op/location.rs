//! MPI_MINLOC and MPI_MAXLOC on packed pairs of value and index (MPI 5.0 §6.9.4).
//!
//! A packed pair is the value's bytes and then the index's, without a gap, so nothing is aligned.
//! There is a loop for every kind of value. The index is looked at only when two values are equal,
//! so its order is a function to call.

use std::cmp::Ordering;

use super::binary128::Binary128;
#[cfg(target_arch = "x86_64")]
use super::extended::Extended;
use super::half::Half;
use super::number::Number;
use super::real::Real;
use crate::datatype::Basic;
use crate::plain::Plain;

/// How pairs of one type are combined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    run: fn(&Location, &[u8], &mut [u8]),
    index_order: fn(&[u8], &[u8]) -> Ordering,
    index_bytes: usize,
    /// `Less` for MINLOC, `Greater` for MAXLOC.
    wanted: Ordering,
}

macro_rules! by_number {
    ($number:expr, $function:ident) => {
        match $number {
            Number::I8 => $function::<i8>,
            Number::I16 => $function::<i16>,
            Number::I32 => $function::<i32>,
            Number::I64 => $function::<i64>,
            Number::I128 => $function::<i128>,
            Number::U8 => $function::<u8>,
            Number::U16 => $function::<u16>,
            Number::U32 => $function::<u32>,
            Number::U64 => $function::<u64>,
            Number::U128 => $function::<u128>,
            Number::F16 => $function::<Half>,
            Number::F32 => $function::<f32>,
            Number::F64 => $function::<f64>,
            #[cfg(target_arch = "x86_64")]
            Number::F80 => $function::<Extended>,
            Number::F128 => $function::<Binary128>,
        }
    };
}

impl Location {
    /// For pairs of these types; none if this processor cannot compare them.
    pub(super) fn choose(value: Basic, index: Basic, wanted: Ordering) -> Option<Location> {
        Some(Location {
            run: by_number!(Number::of(value)?, locate),
            index_order: by_number!(Number::of(index)?, order_bytes),
            index_bytes: index.size() as usize,
            wanted,
        })
    }

    /// Leaves the wanted one of each two pairs in `inout`.
    pub(super) fn combine(&self, input: &[u8], inout: &mut [u8]) {
        (self.run)(self, input, inout);
    }
}

fn locate<V: Ordered>(location: &Location, input: &[u8], inout: &mut [u8]) {
    let pair_bytes = size_of::<V>() + location.index_bytes;
    let pairs = input.chunks_exact(pair_bytes);
    for (input, inout) in pairs.zip(inout.chunks_exact_mut(pair_bytes)) {
        let (value, index) = input.split_at(size_of::<V>());
        let (other, other_index) = inout.split_at(size_of::<V>());
        let order = read::<V>(value).total_order(read::<V>(other), location.wanted);
        let takes = match order {
            Ordering::Equal => (location.index_order)(index, other_index) == Ordering::Less,
            order => order == location.wanted,
        };
        if takes {
            inout.copy_from_slice(input);
        }
    }
}

fn order_bytes<V: Ordered>(left: &[u8], right: &[u8]) -> Ordering {
    read::<V>(left).total_order(read::<V>(right), Ordering::Less)
}

fn read<V: Plain>(bytes: &[u8]) -> V {
    assert_eq!(
        bytes.len(),
        size_of::<V>(),
        "a part of a pair has its type's size"
    );
    // SAFETY: the slice has the size of a V, just asserted, and every bit pattern is one (V:
    // Plain).
    unsafe { bytes.as_ptr().cast::<V>().read_unaligned() }
}

/// Values that can be searched for the smallest and largest one.
trait Ordered: Plain {
    /// As numbers; a NaN comes behind all of them, where the wanted ones come first.
    fn total_order(self, other: Self, wanted: Ordering) -> Ordering;
}

macro_rules! ordered_integers {
    ($($type:ty),*) => {$(
        impl Ordered for $type {
            #[inline]
            fn total_order(self, other: Self, _wanted: Ordering) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}
ordered_integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

macro_rules! ordered_reals {
    ($($(#[$condition:meta])? $type:ty),*) => {$(
        $(#[$condition])?
        impl Ordered for $type {
            #[inline]
            fn total_order(self, other: Self, wanted: Ordering) -> Ordering {
                self.order(other).unwrap_or_else(|| match (Real::is_nan(self), Real::is_nan(other)) {
                    (true, true) => Ordering::Equal,
                    (false, _) => wanted,
                    (true, false) => wanted.reverse(),
                })
            }
        }
    )*};
}
ordered_reals!(
    Half,
    f32,
    f64,
    #[cfg(target_arch = "x86_64")]
    Extended,
    Binary128
);
