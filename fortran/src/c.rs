//! The C library as Rust sees it: its types, and its functions from the table.

#![allow(missing_docs)]

use std::ffi::{c_char, c_int, c_void};

/// A handle as C holds it: a pointer to nothing.
pub type Handle = usize;

/// A status; the same bytes in C, as an array of INTEGER, and as TYPE(MPI_Status).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status(pub [c_int; 8]);

const _: () = assert!(size_of::<Status>() == 32);

include!(concat!(env!("OUT_DIR"), "/externs.rs"));
