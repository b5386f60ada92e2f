//! The entry points, generated from the table by `build.rs`. How one looks stands in
//! `abi/table/src/fortran/entries.rs`.
//!
//! `alias!` gives an entry point a second name. Alias and function must come out in one object
//! file, which they do because they stand in one module.

#![allow(
    non_snake_case,
    missing_docs,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::unnecessary_cast,
    clippy::let_and_return,
    unused_mut,
    unused_variables
)]

use std::ffi::{c_char, c_int, c_void};

use crate::arrays::{
    Counterparts, Handles, Logicals, changed, completed, counterparts, dimensions, freed, is_over,
    place, places,
};
use crate::c::Handle;
use crate::c::Status;
use crate::section::{Descriptor, Staged, persistent};
use crate::text::{TextIn, TextOut, Trim};
use crate::{c, constant, hand, handle, logical, partitioned, sentinel};

macro_rules! alias {
    ($name:literal, $of:literal) => {
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!(".set ", $name, ", ", $of),
        );
    };
}

/// Sets IERROR, which programs of mpi_f08 may leave out.
///
/// # Safety
/// `ierror` is null or the address of an INTEGER.
#[inline(always)]
unsafe fn give(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: not null, so the address of an INTEGER.
        unsafe { *ierror = code }
    }
}

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
