//! MPI files (MPI 5.0 §14): what the processes of a communicator read and write together.
//!
//! What the layer is: a [`File`] is opened by all processes of a communicator; a [`View`] says
//! which bytes of it a process sees, and every access is a range of those. What it uses:
//! `oxmpi-datatypes` for the layout of views, `oxmpi-core` for messages, requests and background
//! work, and the system's files. What it promises: bytes outside a view are never written, an
//! access that fails names file, offset and bytes, a collective access that one process refuses, or
//! that fails for several, fails on every process, no wait outlasts the death of a process, and no
//! lock file or helper process exists beside the file.
//!
//! The modules, from the inside: `view` and `strip` are pure (which bytes, in which order), `sys`
//! asks the system, `apart` has what NFS needs, `mapped` shares memory, `access` is a process's own reading and writing,
//! `aggregate` decides how all processes access together, `rounds` does that, by messages or through
//! `staged` memory, `job` is an access as it was called for,
//! `errand` runs it in the background, `shared` is the pointer
//! that all processes share, `representation` converts values, `file` is the object with its
//! calls (`open` and `calls` have the rest of them), and `typed` its face for Rust programs.

mod access;
mod aggregate;
mod alone;
mod amode;
mod apart;
mod calls;
mod config_list;
mod coverage;
mod errand;
mod failure;
mod file;
mod hints;
mod job;
mod mapped;
mod messages;
mod open;
mod ordered;
mod pointer;
mod representation;
mod rounds;
mod settle;
mod share;
mod shared;
mod stage;
mod staged;
mod strip;
mod sys;
mod typed;
mod view;
mod worker;

pub use amode::Amode;
pub use file::{File, Start};
pub use hints::{Hints, Switch};
pub use open::delete;
pub use pointer::Whence;
pub use representation::{Conversion, Memory, Representation, register, representation};
pub use typed::{Access, OpenOptions, Pattern, TypedFile};
pub use view::{Piece, View};
