//! C programs that hold an MPI library to the text of the MPI 5.0 standard.
//!
//! The programs lie in `c/<chapter>/<name>.c`. Each is compiled once, against the standard ABI, and
//! the same binary runs on every library there is: OxMPI from an installed prefix, and MPICH as the
//! reference, by pointing the dynamic loader elsewhere. [`program`] reads what a program says about
//! itself, [`library`] finds or makes the libraries, [`trial`] compiles and runs. The tests are in
//! `tests/chapters.rs`; `cargo run -p oxmpi-conformance` runs programs by hand.
//!
//! Nothing here knows MPI: a program decides itself whether it is right, and says so.

#![forbid(unsafe_code)]

pub mod fortran;
pub mod library;
#[path = "../../xtask/limit.rs"]
mod limit;
pub mod program;
pub mod trial;
