//! `libmpifort_abi.so.1`: the Fortran interface of the MPI 5.0 standard ABI (§20.4.2).
//!
//! What the layer is: the procedures of mpif.h, of module mpi and of module mpi_f08, which turn
//! Fortran's arguments into C's. What it uses: `libmpi_abi.so.1` through its C functions alone, so
//! any library of the standard ABI may lie below. What it promises: handles, statuses, sentinels,
//! texts, LOGICAL values, sections of arrays and callbacks cross in both directions as the standard
//! says, and a call that needs no conversion costs a few nanoseconds.
//!
//! The way of a call: the program calls `mpi_send_` or `mpi_send_f08ts_`, which is generated
//! ([`generated`]) from the table in `abi/table`. It converts handles ([`handle`]), looks whether an
//! address stands for a constant ([`sentinel`]), converts texts ([`text`]) and LOGICAL ([`logical`]),
//! describes or copies sections ([`section`]) and calls the C function. What the table cannot say is
//! written in [`hand`].

pub mod arrays;
pub mod c;
pub mod constant;
pub mod generated;
pub mod hand;
pub mod handle;
pub mod interlanguage;
pub mod kept;
pub mod logical;
pub mod partitioned;
pub mod predefined;
pub mod removed;
pub mod section;
pub mod sentinel;
pub mod slot;
pub mod text;
