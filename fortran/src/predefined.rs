//! The predefined callbacks as Fortran procedures, MPI_Sizeof, MPI_F_sync_reg and `==` of handles.

#![allow(missing_docs, clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};

use crate::logical;
use crate::section::Descriptor;

macro_rules! attribute_functions {
    ($value:ty: $($null_copy:ident $dup:ident $null_delete:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $null_copy(
            _of: *mut c_int, _keyval: *mut c_int, _extra: *mut $value, _from: *mut $value,
            _to: *mut $value, flag: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes what the interface says.
            unsafe { (*flag, *ierror) = (logical::give(false), 0) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $dup(
            _of: *mut c_int, _keyval: *mut c_int, _extra: *mut $value, from: *mut $value,
            to: *mut $value, flag: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes what the interface says.
            unsafe { (*to, *flag, *ierror) = (*from, logical::give(true), 0) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $null_delete(
            _of: *mut c_int, _keyval: *mut c_int, _value: *mut $value, _extra: *mut $value,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes what the interface says.
            unsafe { *ierror = 0 }
        }
    )*};
}

attribute_functions! { i64:
    mpi_comm_null_copy_fn_ mpi_comm_dup_fn_ mpi_comm_null_delete_fn_;
    mpi_type_null_copy_fn_ mpi_type_dup_fn_ mpi_type_null_delete_fn_;
    mpi_win_null_copy_fn_ mpi_win_dup_fn_ mpi_win_null_delete_fn_;
}
attribute_functions! { c_int: mpi_null_copy_fn_ mpi_dup_fn_ mpi_null_delete_fn_; }

macro_rules! conversions {
    ($($name:ident $count:ty;)*) => {$(
        /// Its address says that no conversion is needed; the library never calls it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _user: *mut c_void, _datatype: *mut c_int, _count: *mut $count, _file: *mut c_void,
            _position: *mut i64, _extra: *mut i64, ierror: *mut c_int,
        ) {
            // SAFETY: the caller passes what the interface says.
            unsafe { *ierror = 0 }
        }
    )*};
}

conversions! { mpi_conversion_fn_null_ c_int; mpi_conversion_fn_null_c_ i64; }

macro_rules! sizeof {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(x: *const Descriptor, size: *mut c_int, ierror: *mut c_int) {
            // SAFETY: the compiler made the descriptor; IERROR may be left out.
            unsafe {
                *size = (*x).element_bytes as c_int;
                if !ierror.is_null() {
                    *ierror = 0;
                }
            }
        }
    )*};
}

sizeof! { mpi_sizeof_fts_ pmpi_sizeof_fts_ mpi_sizeof_f08ts_ pmpi_sizeof_f08ts_ }

macro_rules! sync_reg {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_buffer: *mut c_void) {}
    )*};
}

sync_reg! {
    mpi_f_sync_reg_ pmpi_f_sync_reg_ mpi_f_sync_reg_fts_ pmpi_f_sync_reg_fts_
    mpi_f_sync_reg_f08ts_ pmpi_f_sync_reg_f08ts_
}

macro_rules! comparisons {
    ($($eq:ident $ne:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $eq(a: *const c_int, b: *const c_int) -> c_int {
            // SAFETY: the addresses of two handles.
            logical::give(unsafe { *a == *b })
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ne(a: *const c_int, b: *const c_int) -> c_int {
            // SAFETY: the addresses of two handles.
            logical::give(unsafe { *a != *b })
        }
    )*};
}

comparisons! {
    mpi_comm_eq_ mpi_comm_ne_;
    mpi_group_eq_ mpi_group_ne_;
    mpi_datatype_eq_ mpi_datatype_ne_;
    mpi_op_eq_ mpi_op_ne_;
    mpi_info_eq_ mpi_info_ne_;
    mpi_errhandler_eq_ mpi_errhandler_ne_;
    mpi_request_eq_ mpi_request_ne_;
    mpi_message_eq_ mpi_message_ne_;
    mpi_session_eq_ mpi_session_ne_;
    mpi_win_eq_ mpi_win_ne_;
    mpi_file_eq_ mpi_file_ne_;
}
