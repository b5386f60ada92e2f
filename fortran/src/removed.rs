//! Procedures that MPI 3.0 removed (MPI 5.0 §17.1), for programs of mpif.h and module mpi that are
//! older. They have no interfaces in the modules, so compilers take their arguments unseen.
//!
//! Their addresses, strides and extents are default INTEGERs. One that does not fit is an error of
//! class MPI_ERR_ARG that names the successor: a shortened address would point elsewhere.

#![allow(missing_docs, clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};

use crate::constant::MPI_ERR_ARG;
use crate::{c, generated};

/// MPI_COMM_SELF, whose error handler hears of errors that belong to no object.
const MPI_COMM_SELF: c_int = 258;

/// Gives a value that may be too long for an INTEGER.
///
/// # Safety
/// `place` and `ierror` are the addresses of INTEGERs.
unsafe fn give(value: i64, place: *mut c_int, ierror: *mut c_int) {
    // SAFETY: the caller's promise; the texts end with a NUL, and the class is the standard's.
    unsafe {
        if let Ok(value) = c_int::try_from(value) {
            *place = value;
            return;
        }
        let mut code = MPI_ERR_ARG;
        if c::MPI_Add_error_code(MPI_ERR_ARG, &mut code) == 0 {
            let text = c"MPI_ERR_ARG: an address or extent is too long for the INTEGER of a \
                         procedure that MPI 3.0 removed; use MPI_GET_ADDRESS, MPI_TYPE_GET_EXTENT";
            c::MPI_Add_error_string(code, text.as_ptr());
        }
        c::MPI_Comm_call_errhandler(crate::handle::comm(MPI_COMM_SELF), code);
        *ierror = code;
    }
}

/// The displacements of `count` blocks, as long as their successors take them.
///
/// # Safety
/// `displacements` has as many entries as `count` says.
unsafe fn widened(count: *const c_int, displacements: *const c_int) -> Vec<i64> {
    // SAFETY: the caller's promise. A negative count is an error that the successor finds.
    let count = usize::try_from(unsafe { *count }).unwrap_or(0);
    // SAFETY: the same promise.
    (0..count)
        .map(|each| i64::from(unsafe { *displacements.add(each) }))
        .collect()
}

/// Procedures with the arguments of their successors.
macro_rules! renamed {
    ($($name:ident $successor:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* ierror: *mut c_int) {
            // SAFETY: the Fortran program vouches for its arguments.
            unsafe { generated::$successor($($argument,)* ierror) }
        }
    )*};
}

renamed! {
    mpi_errhandler_create_ mpi_comm_create_errhandler_
        (procedure: *const c_void, errhandler: *mut c_int);
    mpi_errhandler_get_ mpi_comm_get_errhandler_(comm: *mut c_int, errhandler: *mut c_int);
    mpi_errhandler_set_ mpi_comm_set_errhandler_(comm: *mut c_int, errhandler: *mut c_int);
    pmpi_errhandler_create_ pmpi_comm_create_errhandler_
        (procedure: *const c_void, errhandler: *mut c_int);
    pmpi_errhandler_get_ pmpi_comm_get_errhandler_(comm: *mut c_int, errhandler: *mut c_int);
    pmpi_errhandler_set_ pmpi_comm_set_errhandler_(comm: *mut c_int, errhandler: *mut c_int);
}

/// MPI_ADDRESS, and its PMPI twin.
macro_rules! addresses {
    ($($name:ident $successor:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            location: *mut c_void, address: *mut c_int, ierror: *mut c_int,
        ) {
            let mut found = 0;
            // SAFETY: the Fortran program vouches for its arguments.
            unsafe {
                generated::$successor(location, &mut found, ierror);
                if *ierror == 0 {
                    give(found, address, ierror);
                }
            }
        }
    )*};
}

addresses! {
    mpi_address_ mpi_get_address_;
    pmpi_address_ pmpi_get_address_;
}

/// What they tell of a datatype.
macro_rules! bounds {
    ($($name:ident $successor:ident |$lb:ident, $extent:ident| $told:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            datatype: *mut c_int, place: *mut c_int, ierror: *mut c_int,
        ) {
            let (mut $lb, mut $extent) = (0, 0);
            // SAFETY: the Fortran program vouches for its arguments.
            unsafe {
                generated::$successor(datatype, &mut $lb, &mut $extent, ierror);
                if *ierror == 0 {
                    give($told, place, ierror);
                }
            }
        }
    )*};
}

bounds! {
    mpi_type_extent_ mpi_type_get_extent_ |lb, extent| extent;
    mpi_type_lb_ mpi_type_get_extent_ |lb, extent| lb;
    mpi_type_ub_ mpi_type_get_extent_ |lb, extent| lb + extent;
    pmpi_type_extent_ pmpi_type_get_extent_ |lb, extent| extent;
    pmpi_type_lb_ pmpi_type_get_extent_ |lb, extent| lb;
    pmpi_type_ub_ pmpi_type_get_extent_ |lb, extent| lb + extent;
}

/// The three constructors with displacements in bytes.
macro_rules! constructors {
    ($($hvector:ident $as_hvector:ident $hindexed:ident $as_hindexed:ident
       $structure:ident $as_structure:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hvector(
            count: *const c_int, length: *const c_int, stride: *const c_int,
            oldtype: *mut c_int, newtype: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: the Fortran program vouches for its arguments.
            unsafe {
                let stride = i64::from(*stride);
                generated::$as_hvector(count, length, &stride, oldtype, newtype, ierror);
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hindexed(
            count: *const c_int, lengths: *const c_int, displacements: *const c_int,
            oldtype: *mut c_int, newtype: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: the Fortran program vouches for its arguments.
            unsafe {
                let places = widened(count, displacements);
                let places = places.as_ptr();
                generated::$as_hindexed(count, lengths, places, oldtype, newtype, ierror);
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $structure(
            count: *const c_int, lengths: *const c_int, displacements: *const c_int,
            types: *mut c_int, newtype: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: the Fortran program vouches for its arguments.
            unsafe {
                let places = widened(count, displacements);
                let places = places.as_ptr();
                generated::$as_structure(count, lengths, places, types, newtype, ierror);
            }
        }
    )*};
}

constructors! {
    mpi_type_hvector_ mpi_type_create_hvector_ mpi_type_hindexed_ mpi_type_create_hindexed_
        mpi_type_struct_ mpi_type_create_struct_;
    pmpi_type_hvector_ pmpi_type_create_hvector_ pmpi_type_hindexed_ pmpi_type_create_hindexed_
        pmpi_type_struct_ pmpi_type_create_struct_;
}
