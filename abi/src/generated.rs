//! The entry points, generated from the table by `build.rs`. How one looks stands in
//! `abi/table/src/entries.rs`.
//!
//! `alias!` makes `MPI_X` a weak second name of `PMPI_X`, so that a tool which defines its own
//! `MPI_X` takes the call and can pass it on. Alias and function must come out in one object file,
//! which they do because they stand in one module.

#![allow(
    non_snake_case,
    missing_docs,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::unnecessary_cast,
    clippy::let_and_return,
    clippy::unit_arg,
    clippy::clone_on_copy,
    unused_unsafe,
    unused_variables
)]

use std::ffi::{c_char, c_int, c_void};

use crate::argument::*;
use crate::call::{Call, Face};
use crate::handle::Handle;
use crate::status::Status;
use crate::subject::Subject;
use crate::{chapter, constant};

macro_rules! alias {
    ($name:literal) => {
        core::arch::global_asm!(
            concat!(".weak ", $name),
            concat!(".type ", $name, ",@function"),
            concat!(".set ", $name, ", P", $name),
        );
    };
}

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
