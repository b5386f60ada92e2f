//! Texts whose length travels with them, and the program's own values of LOGICAL.

use std::ffi::{c_char, c_int, c_void};

use super::call;
use crate::handle;
use crate::logical;
use crate::text::{TextIn, TextOut, Trim};

/// The length with C's final zero; 0 asks for the length alone.
fn with_zero(length: c_int) -> c_int {
    if length > 0 {
        length.saturating_add(1)
    } else {
        length
    }
}

/// MPI_Info_get_string.
///
/// # Safety
/// The arguments are what the interface says.
pub unsafe fn info_get_string<const P: bool>(
    info: *mut c_int,
    key: *mut c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
    key_length: usize,
    value_length: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let key = TextIn::new(key, key_length, Trim::Both);
        let asked = *buflen;
        let (mut length, mut found) = (with_zero(asked), 0);
        let mut text = TextOut::new(length.max(0) as usize);
        let info = handle::info(*info);
        let room = text.as_mut_ptr();
        let code = call!(
            P,
            MPI_Info_get_string,
            PMPI_Info_get_string,
            (info, key.as_ptr(), &mut length, room, &mut found)
        );
        if code == 0 {
            if found != 0 {
                *buflen = (length - 1).max(0);
                if asked > 0 {
                    text.give(value, value_length);
                }
            }
            *flag = logical::give(found != 0);
        }
        code
    }
}

/// MPI_Session_get_nth_pset.
///
/// # Safety
/// The arguments are what the interface says.
pub unsafe fn session_get_nth_pset<const P: bool>(
    session: *mut c_int,
    info: *mut c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
    name_length: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let asked = *pset_len;
        let mut length = with_zero(asked);
        let mut text = TextOut::new(length.max(0) as usize);
        let (session, info) = (handle::session(*session), handle::info(*info));
        let room = text.as_mut_ptr();
        let code = call!(
            P,
            MPI_Session_get_nth_pset,
            PMPI_Session_get_nth_pset,
            (session, info, *n, &mut length, room)
        );
        if code == 0 {
            *pset_len = (length - 1).max(0);
            if asked > 0 {
                text.give(pset_name, name_length);
            }
        }
        code
    }
}

/// MPI_Abi_set_fortran_booleans.
///
/// # Safety
/// The arguments are what the interface says.
pub unsafe fn abi_set_fortran_booleans<const P: bool>(
    size: *const c_int,
    truth: *mut c_void,
    falsehood: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let code = unsafe {
        call!(
            P,
            MPI_Abi_set_fortran_booleans,
            PMPI_Abi_set_fortran_booleans,
            (*size, truth, falsehood)
        )
    };
    // Other sizes than that of a default LOGICAL concern C alone.
    // SAFETY: the caller's promise: both are LOGICALs of this size.
    unsafe {
        if code == 0 && *size == 4 {
            logical::set(*truth.cast::<c_int>(), *falsehood.cast::<c_int>());
        }
    }
    code
}
