//! Arguments as chapters see them: safe to use, whatever the program passed.
//!
//! Entry points make these values by methods of `Call` (check.rs), which refuse null pointers; who
//! uses them needs no `unsafe`. Results are written through pointers and never through `&mut`,
//! because programs may give one address for two results.

use crate::constant::{MPI_BUFFER_AUTOMATIC, MPI_IN_PLACE};

mod array;
mod list;
mod result;
mod text;

pub use array::{Counted, Datatypes, Integers, IntegersOut, StatusesOut, Weights};
pub use list::{check_room, list};
pub use result::{CountOut, FlagOut, InOut, Out, Position, StatusOut};
pub use text::TextOut;

/// The name of the constant that this address is, where a program gave it for memory; 0 is
/// MPI_BOTTOM, which can be the origin of a datatype.
#[inline(always)]
pub fn constant(address: usize) -> Option<&'static str> {
    match address {
        MPI_IN_PLACE => Some("MPI_IN_PLACE"),
        MPI_BUFFER_AUTOMATIC => Some("MPI_BUFFER_AUTOMATIC"),
        _ => None,
    }
}

/// A function of the program, or one of the constants that stand for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback(usize);

impl Callback {
    /// The function at an address.
    #[inline]
    pub fn new(address: *const std::ffi::c_void) -> Callback {
        Callback(address as usize)
    }

    /// The address, to be compared with constants such as MPI_COMM_DUP_FN.
    pub fn address(self) -> usize {
        self.0
    }

    /// The function as a function pointer; none if the address is null.
    ///
    /// # Safety
    /// `F` must be the type of an `extern "C"` function pointer, the one that the standard names
    /// for this parameter, and the address must not be one of the constants that stand for a
    /// function.
    pub unsafe fn function<F: Copy>(self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // SAFETY: the caller's promise, and the sizes are equal.
        (self.0 != 0).then(|| unsafe { std::mem::transmute_copy::<usize, F>(&self.0) })
    }
}
