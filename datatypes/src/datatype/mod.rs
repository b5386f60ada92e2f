//! MPI datatypes: what a buffer holds, where it lies, and how its bytes are gathered and scattered.
//!
//! A [`Datatype`] is a constructor with its arguments (kept for envelope and contents) and the
//! typemap that follows from them, held three ways: `Bounds` (where it begins and ends),
//! [`Signature`] (which basic types in which order) and [`Layout`] (a small program of blocks and
//! loops). The constructors are written in four operations on typemaps: repeat, shift, concatenate
//! and mark; nothing ever expands a typemap. A [`Cursor`] walks through a layout from any packed
//! offset; pack, unpack, iovecs and external32 all use it.
//!
//! Nothing here knows about handles, communicators or memory other than slices, and nothing is
//! unsafe. Counts and displacements are 64 bits wide; what does not fit in them is an error that
//! names the argument.
#![forbid(unsafe_code)]

mod array;
mod basic;
mod bounds;
mod construct;
mod contents;
mod cursor;
mod error;
mod external;
mod layout;
mod mark;
mod pack;
mod piece;
mod predefined;
mod properties;
mod records;
mod signature;
mod strided;
mod typemap;
mod whole;

pub use array::{Darray, Distribution, Order};
pub use basic::{Basic, Class, Form, Support};
pub use construct::{DEPTH_MAX, Datatype};
pub use contents::{Combiner, Constructor, Contents, Envelope};
pub use cursor::{Cursor, Places, Run, Runs, Strip};
pub use error::{CopyError, DatatypeError, ExternalError};
pub use layout::{Layout, Part, Shape};
pub use predefined::TypeClass;
pub use signature::{Elements, Signature};
