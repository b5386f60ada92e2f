//! Variables whose addresses stand for constants: MPI_BOTTOM, MPI_IN_PLACE and the like.
//!
//! In Fortran each is the only member of a common block. The program's linker makes one memory of
//! its block and of the variable here, so an argument that means the constant has this address.
//! Nothing is ever read or written there.

#![allow(non_upper_case_globals)]

use std::ffi::{c_char, c_int, c_void};

use crate::c::Status;
use crate::constant::{
    MPI_BOTTOM, MPI_BUFFER_AUTOMATIC, MPI_IN_PLACE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY,
};

macro_rules! blocks {
    ($($name:ident: $kind:ty = $zero:expr;)*) => {$(
        /// The common block.
        #[unsafe(no_mangle)]
        pub static mut $name: $kind = $zero;
    )*};
}

blocks! {
    mpifort_bottom_: c_int = 0;
    mpifort_in_place_: c_int = 0;
    mpifort_buffer_automatic_: c_int = 0;
    mpifort_status_ignore_: Status = Status([0; 8]);
    mpifort_statuses_ignore_: Status = Status([0; 8]);
    mpifort_errcodes_ignore_: c_int = 0;
    mpifort_unweighted_: c_int = 0;
    mpifort_weights_empty_: c_int = 0;
    mpifort_argv_null_: c_char = 0;
    mpifort_argvs_null_: c_char = 0;
}

/// What C gets for a buffer.
#[inline(always)]
pub fn buffer(address: *mut c_void) -> *mut c_void {
    if address == (&raw mut mpifort_bottom_).cast() {
        MPI_BOTTOM as *mut c_void
    } else if address == (&raw mut mpifort_in_place_).cast() {
        MPI_IN_PLACE as *mut c_void
    } else if address == (&raw mut mpifort_buffer_automatic_).cast() {
        MPI_BUFFER_AUTOMATIC as *mut c_void
    } else {
        address
    }
}

/// What C gets for a status or for statuses that are written.
#[inline(always)]
pub fn status(address: *mut Status) -> *mut Status {
    let ignored =
        address == &raw mut mpifort_status_ignore_ || address == &raw mut mpifort_statuses_ignore_;
    if ignored {
        std::ptr::null_mut()
    } else {
        address
    }
}

/// What C gets for weights.
pub fn weights(address: *mut c_int) -> *const c_int {
    if address == &raw mut mpifort_unweighted_ {
        MPI_UNWEIGHTED as *const c_int
    } else if address == &raw mut mpifort_weights_empty_ {
        MPI_WEIGHTS_EMPTY as *const c_int
    } else {
        address
    }
}

/// What C gets for error codes.
pub fn errcodes(address: *mut c_int) -> *mut c_int {
    let ignored = address == &raw mut mpifort_errcodes_ignore_;
    if ignored {
        std::ptr::null_mut()
    } else {
        address
    }
}

/// Whether an argument list is MPI_ARGV_NULL or MPI_ARGVS_NULL.
pub fn is_no_list(address: *const c_char) -> bool {
    address == (&raw const mpifort_argv_null_) || address == (&raw const mpifort_argvs_null_)
}
