//! `Data`: whatever a call can be given to send from or to receive into.
//!
//! A value, an array, a slice, a vector and a view with gaps all come down to a [`Memory`]: where
//! the elements lie, how many there are, and their layout if they do not lie together. Calls take
//! any of them by this one trait, so a number needs no slice around it and a column of a matrix no
//! packing.

use crate::datatype::Datatype;
use crate::plain::Plain;

/// Where elements lie.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The first byte, or where the layout counts from.
    pub address: *mut u8,
    /// How many elements there are.
    pub elements: usize,
    /// Where the bytes of all elements lie together, if they are not one block.
    pub layout: Option<Datatype>,
}

impl Memory {
    /// Elements one after the other.
    #[inline(always)]
    pub fn block<T>(address: *const T, elements: usize) -> Memory {
        Memory {
            address: address.cast_mut().cast(),
            elements,
            layout: None,
        }
    }
}

/// What can be sent as it lies in memory: a number or a struct that derives [`Plain`] (one element),
/// an array, slice or vector of them, a view of some elements of a slice.
///
/// # Safety
/// All of the memory that [`Data::memory`] names must hold elements of [`Data::Element`] that can
/// be read for as long as the object is borrowed, wherever the object itself is moved meanwhile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent as it lies in memory",
    label = "neither `Plain` nor a slice, vector or view of what is",
    note = "a struct of numbers can be by `#[derive(Clone, Copy, oxmpi::Plain)]` and `#[repr(C)]`",
    note = "anything else can travel as an object: `send_object`, with the feature `serde`"
)]
pub unsafe trait Data {
    /// What it consists of.
    type Element: Plain;

    /// Where it lies.
    fn memory(&self) -> Memory;
}

/// What can be received into.
///
/// # Safety
/// As [`Data`], for memory that can be written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be received into",
    label = "not memory that can be written",
    note = "pass `&mut` of a number or `Plain` struct, of a slice or vector of such, or of a `ViewMut`"
)]
pub unsafe trait DataMut: Data {
    /// Where it lies.
    fn memory_mut(&mut self) -> Memory;
}

/// A value is its one element.
macro_rules! values {
    ($($type:ty),*) => {$(
        // SAFETY: a borrowed value stays where it is.
        unsafe impl Data for $type {
            type Element = $type;

            #[inline(always)]
            fn memory(&self) -> Memory {
                Memory::block(self, 1)
            }
        }

        // SAFETY: as above.
        unsafe impl DataMut for $type {
            #[inline(always)]
            fn memory_mut(&mut self) -> Memory {
                Memory::block(self, 1)
            }
        }
    )*};
}
values!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64
);

/// Several elements, one after the other.
macro_rules! slices {
    ($([$($bound:tt)*] $type:ty),*) => {$(
        // SAFETY: borrowed elements stay where they are.
        unsafe impl<T: Plain $($bound)*> Data for $type {
            type Element = T;

            #[inline(always)]
            fn memory(&self) -> Memory {
                Memory::block(self.as_ptr(), self.len())
            }
        }

        // SAFETY: as above.
        unsafe impl<T: Plain $($bound)*> DataMut for $type {
            #[inline(always)]
            fn memory_mut(&mut self) -> Memory {
                Memory::block(self.as_mut_ptr(), self.len())
            }
        }
    )*};
}
slices!([] [T], [] Vec<T>, [] Box<[T]>, [, const N: usize] [T; N]);

// SAFETY: what is borrowed stays where it is, wherever the reference goes.
unsafe impl<D: Data + ?Sized> Data for &D {
    type Element = D::Element;

    #[inline(always)]
    fn memory(&self) -> Memory {
        (**self).memory()
    }
}

// SAFETY: as above.
unsafe impl<D: Data + ?Sized> Data for &mut D {
    type Element = D::Element;

    #[inline(always)]
    fn memory(&self) -> Memory {
        (**self).memory()
    }
}

// SAFETY: as above.
unsafe impl<D: DataMut + ?Sized> DataMut for &mut D {
    #[inline(always)]
    fn memory_mut(&mut self) -> Memory {
        (**self).memory_mut()
    }
}
