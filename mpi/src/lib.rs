//! MPI in safe Rust: the crate programs use.
//!
//! ```no_run
//! use oxmpi::op::Sum;
//!
//! fn main() -> oxmpi::Result<()> {
//!     let mpi = oxmpi::init()?;
//!     let world = mpi.world();
//!     let mut total = [0];
//!     world.allreduce(&[world.rank()], &mut total, Sum)?;
//!     println!("rank {} of {}: the sum of all ranks is {}", world.rank(), world.size(), total[0]);
//!     Ok(())
//! }
//! ```
//!
//! What the layer is: communicators, ranks, tags, types and collectives. It checks arguments, turns
//! ranks into processes and typed slices into addresses, and asks the engine below to move the bytes;
//! nothing is copied here. What it uses: `oxmpi-engine`, and `oxmpi-launch` to learn which rank this
//! process is. What it promises: no call can make the engine touch memory that is not lent to it (the
//! borrow checker sees to that), no handle outlives finalisation, and a wrong argument is an error that
//! names the values.
//!
//! The modules, from the caller inwards: [`init()`] and [`thread`] (the process joins its job),
//! `communicator` (groups and contexts), `point` (messages between two ranks), `collective` (calls all
//! ranks make together) over [`collectives`] (their schedules, without I/O), [`op`] and [`Plain`].

// `derive(Plain)` names this crate from outside; so must this crate's own structs.
extern crate self as oxmpi;

pub mod attribute;
pub mod buffer;
pub mod collective;
pub mod collectives;
pub mod communicator;
pub mod datatype;
mod error;
pub mod group;
#[doc(hidden)]
pub mod harness;
pub mod info;
mod init;
pub mod op;
pub mod operation;
mod plain;
pub mod pm;
mod point;
pub mod process;
pub mod session;
mod status;
pub mod thread;
pub mod topology;

pub use communicator::{COMMUNICATORS_MAX, Communicator};
pub use error::{Error, ErrorKind, Result};
pub use init::{Mpi, init, init_with, wtime};
pub use oxmpi_derive::Plain;
pub use plain::Plain;
pub use point::{
    Attached, BUFFERED_OVERHEAD_BYTES, Claimed, InPlace, Incoming, Message, Outgoing, Pool,
    PortBuffer, Request, Scope, SendMode, scope, wait_all, wait_any,
};
pub use status::{ANY_SOURCE, ANY_TAG, Source, Status, TAG_MAX, Tag};
