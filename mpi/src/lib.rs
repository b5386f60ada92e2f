//! The core of OxMPI: communicators, ranks, tags, requests and collectives that run.
//!
//! What the layer is: it checks arguments, turns ranks into processes and typed slices into
//! addresses, and asks the engine below to move the bytes; nothing is copied here. It has two faces
//! over the same code: the safe one that the public crate `oxmpi` shows to Rust programs, and the
//! one that takes addresses and datatypes, for the C interface. What it uses: `oxmpi-engine`,
//! `oxmpi-datatypes`, `oxmpi-schedules`, and `oxmpi-join` to learn which rank this process is. What
//! it promises: no call of the safe face can make the engine touch memory that is not lent to it
//! (the borrow checker sees to that), no handle outlives finalisation, and a wrong argument is an
//! error that names the values.
//!
//! The modules, from the caller inwards: [`init()`] and [`thread`] (the process joins its job),
//! `communicator` (groups and contexts), `point` (messages between two ranks), `collective` (calls
//! all ranks make together, over the schedules of `oxmpi-schedules`), [`window`] (one-sided
//! communication) and [`one_sided`] (its typed face).

// `derive(Plain)` names the public crate; this crate's own structs are derived, too.
extern crate self as oxmpi;

pub mod any_request;
mod attached;
pub mod attribute;
pub mod buffer;
pub mod collective;
pub mod communicator;
mod disagreement;
mod error;
pub mod group;
pub mod info;
mod init;
mod kept;
mod label;
pub mod making;
#[cfg(feature = "serde")]
mod object;
pub mod one_sided;
mod opened;
pub mod pm;
mod point;
pub mod prepared;
pub mod process;
pub mod session;
mod spreads;
mod status;
pub mod thread;
pub mod topology;
pub mod view;
pub mod window;

pub use attached::{Attached, OVERHEAD_BYTES as BUFFERED_OVERHEAD_BYTES, Pool};
pub use communicator::Communicator;
pub use error::{
    CommunicatorError, Error, ErrorKind, FileError, FileFault, FileLoss, Result, WindowError,
};
pub use init::{Mpi, init, init_with, wtime};
pub use opened::Session;
pub use oxmpi_datatypes::{Plain, data};
pub use point::{
    Claimed, InPlace, Incoming, Message, Outgoing, PortBuffer, Request, Scope, SendMode, scope,
    wait_all, wait_any,
};
pub use process::COMMUNICATORS_MAX;
pub use status::{ANY_SOURCE, ANY_TAG, PROC_NULL, Source, Status, TAG_MAX, Tag};
