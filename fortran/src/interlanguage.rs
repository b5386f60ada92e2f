//! For C programs that talk to Fortran: handles and statuses of one language as the other's
//! (MPI 5.0 §19.3). mpi.h declares them.

#![allow(
    non_snake_case,
    non_upper_case_globals,
    missing_docs,
    clippy::missing_safety_doc
)]

use std::ffi::c_int;

use crate::c::Handle;
use crate::c::Status;
use crate::constant::{MPI_ERR_ARG, MPI_SUCCESS};
use crate::handle;
use crate::sentinel::{mpifort_status_ignore_, mpifort_statuses_ignore_};

macro_rules! handles {
    ($($f2c:ident $to_c:ident $c2f:ident $to_fortran:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $f2c(value: c_int) -> Handle {
            handle::$to_c(value)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $c2f(of: Handle) -> c_int {
            handle::$to_fortran(of)
        }
    )*};
}

handles! {
    MPI_Comm_f2c comm MPI_Comm_c2f comm_out;
    MPI_Group_f2c group MPI_Group_c2f group_out;
    MPI_Type_f2c datatype MPI_Type_c2f datatype_out;
    MPI_Op_f2c op MPI_Op_c2f op_out;
    MPI_Info_f2c info MPI_Info_c2f info_out;
    MPI_Errhandler_f2c errhandler MPI_Errhandler_c2f errhandler_out;
    MPI_Request_f2c request MPI_Request_c2f request_out;
    MPI_Message_f2c message MPI_Message_c2f message_out;
    MPI_Session_f2c session MPI_Session_c2f session_out;
    MPI_Win_f2c win MPI_Win_c2f win_out;
    MPI_File_f2c file MPI_File_c2f file_out;
}

/// A status is the same 32 bytes everywhere.
unsafe fn copy(from: *const Status, to: *mut Status) -> c_int {
    let ignored = |status: *const Status| {
        status.is_null()
            || status == &raw const mpifort_status_ignore_
            || status == &raw const mpifort_statuses_ignore_
    };
    if ignored(from) || ignored(to) {
        return MPI_ERR_ARG;
    }
    // SAFETY: both are addresses of statuses.
    unsafe { *to = *from };
    MPI_SUCCESS
}

macro_rules! statuses {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(from: *const Status, to: *mut Status) -> c_int {
            // SAFETY: the caller passes addresses of statuses.
            unsafe { copy(from, to) }
        }
    )*};
}

statuses! {
    MPI_Status_f2c MPI_Status_c2f MPI_Status_f082c MPI_Status_c2f08 MPI_Status_f2f08 MPI_Status_f082f
}

macro_rules! fortran_statuses {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(from: *const Status, to: *mut Status, ierror: *mut c_int) {
            // SAFETY: the caller passes addresses of statuses; IERROR may be left out.
            unsafe {
                let code = copy(from, to);
                if !ierror.is_null() {
                    *ierror = code;
                }
            }
        }
    )*};
}

fortran_statuses! { mpi_status_f2f08_ mpi_status_f082f_ }

/// An address that C programs read.
#[repr(transparent)]
pub struct Address(*mut Status);

// SAFETY: the address never changes, and nothing is read or written there.
unsafe impl Sync for Address {}

#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: Address = Address(&raw mut mpifort_status_ignore_);
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: Address = Address(&raw mut mpifort_statuses_ignore_);
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Address = Address(&raw mut mpifort_status_ignore_);
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Address = Address(&raw mut mpifort_statuses_ignore_);
