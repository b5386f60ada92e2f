//! MPI datatypes and operations: what a buffer holds, and how two buffers are combined.
//!
//! What the layer is: [`datatype`] (typemaps compiled into blocks and loops, and the cursor that
//! walks them), [`op`] (predefined operations, their kernels and number formats, users' functions),
//! [`Plain`] (memory that may travel as its bytes) and [`data`] (whatever a call can be given to
//! send from or receive into). What it uses: no other layer. It does no I/O, has no state and knows
//! no communicator, so the engine can pack messages and accumulate with it. What it promises: a
//! layout is never expanded into its elements, a walk can be resumed at any packed byte, and an
//! operation that is not defined for a type is an error before anything is combined.

// `derive(Plain)` names the public crate; this crate's own structs are derived, too.
extern crate self as oxmpi;

pub mod data;
pub mod datatype;
mod element;
pub mod op;
pub mod plain;

pub use data::{Data, DataMut};
pub use element::ElementMark;
pub use oxmpi_derive::Plain;
pub use plain::Plain;
