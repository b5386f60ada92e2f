//! `libmpi_abi.so.1`: the MPI 5.0 standard ABI for C programs.
//!
//! What the layer is: C symbols, handles, error classes and error handlers; nothing about MPI is
//! decided here. What it uses: the crate `oxmpi`, where the semantics are. What it promises: a
//! wrong argument or a stale, foreign or random handle is the error class that the standard names
//! and never a crash, and an error reaches the error handler of the object it belongs to.
//!
//! The way of a call: the program calls `MPI_Send`, a weak name for `PMPI_Send`, which is generated
//! (`generated`) from a line of the table in `abi/table`. It notes the call ([`call`]), checks and
//! converts the arguments ([`check`], [`argument`]), looks up handles ([`handle`], [`object`]) and
//! calls a hand-written function of a [`chapter`]. If that returns a [`failure`], the error handler
//! is run ([`call`]), which speaks the caller's language ([`caller`]), and, if it is
//! MPI_ERRORS_ARE_FATAL, the job ends ([`fatal`]).

pub mod argument;
pub mod call;
pub mod caller;
pub mod chapter;
pub mod check;
pub mod constant;
pub mod failure;
pub mod fatal;
mod fortran_sizes;
pub mod generated;
pub mod handle;
mod last_failure;
pub mod object;
pub mod request;
mod request_table;
pub mod stage;
pub mod status;
pub mod subject;
mod usual;
