//! The table of the MPI 5.0 ABI, and what is generated from it.
//!
//! `mpi5.table` lists every constant, callback and function of the ABI, once. [`Table::mpi5`] reads it; [`header()`] makes `mpi.h` of
//! it, [`constants()`] the Rust constants and [`entries()`] the entry points of the library. `abi/build.rs` runs the last two and
//! `cargo xtask install` the first. Nothing here knows what a function does: that stands in `abi/src/chapter`.
//!
//! To change what a parameter is, edit the table; to change what a kind of parameter means, edit [`kind`].
#![forbid(unsafe_code)]

mod constants;
mod entries;
pub mod fortran;
mod header;
pub mod kind;
mod model;
mod parse;
mod removed;

pub use constants::constants;
pub use entries::{entries, exported};
pub use header::header;
pub use model::{
    Callback, Chapter, Constant, Face, Function, Named, Parameter, PointerConstant, Presence, Table,
};
pub use parse::TableError;
