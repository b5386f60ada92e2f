//! The hand-written half of every function of the standard, one file for each chapter of the table.
//!
//! To add a function:
//!
//! 1. Find its entry in `abi/table/mpi5.table`. The chapter's name is the file's name here, the
//!    function's name is that of C in lower case without `MPI_`, and one function serves both the
//!    `int` and the large form.
//! 2. Write it with the parameters in the table's order, after `call: &Call`, with the types that
//!    `abi/table/src/kind.rs` lists. Handles arrive as objects (`&Communicator`, `&Type`,
//!    `Option<&Info>`), results as values with `set`.
//! 3. Return `Result<(), Failure>`. Errors of the layer below become failures by `?`; the class is
//!    chosen in `failure.rs`. A new object gets its handle from `object::handle_for`. A failure of
//!    a request names its communicator with `Failure::on`.
//! 4. Take the mark `todo` (or `later`) off the entry. Until then a generated answer stands in and
//!    the chapter is not called.
//!
//! For example, this entry of the table
//!
//! ```text
//! MPI_Get_count  large
//!     status datatype count:count_out
//! ```
//!
//! is this function, which C programs know as `MPI_Get_count` and `MPI_Get_count_c` (see
//! [`status`]):
//!
//! ```ignore
//! pub fn get_count(_call: &Call, status: &Status, datatype: &Type, count: CountOut) -> Result<(), Failure> {
//!     let elements = datatype.count_in(status.bytes());
//!     count.set(elements.map_or(i64::from(MPI_UNDEFINED), |elements| elements as i64));
//!     Ok(())
//! }
//! ```

// What a function does is described by the standard under its C name; its parameters are those of
// the standard, and programs vouch for the memory that their pointers name.
#![allow(
    missing_docs,
    clippy::too_many_arguments,
    clippy::not_unsafe_ptr_arg_deref
)]

pub mod attached;
pub mod attribute;
pub mod collective;
pub mod communicator;
pub mod datatype;
pub mod dynamic;
pub mod environment;
pub mod errhandler;
pub mod error;
pub mod file;
pub mod generalized;
pub mod group;
pub mod info;
pub mod integer;
pub mod neighbor;
pub mod op;
pub mod pack;
pub mod partitioned;
pub mod point;
pub mod request;
pub mod session;
pub mod status;
pub mod tool;
pub mod topology;
pub mod version;
pub mod window;
