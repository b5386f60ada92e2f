//! What a process may believe of those around it.
//!
//! Two questions of safety have one answer each, here, for every layer:
//!
//! - [`variable`] and [`search_path`]: a variable of the environment names a file, a library or a
//!   program. A process with more privileges than its caller must not obey it.
//! - [`create`]: a file is written where the user says. Where other users can write to that folder,
//!   one of them may have prepared a link, a pipe or a file under that name.
//!
//! The crate uses the C library alone and stands below all layers but the pure ones.

#![deny(unsafe_code)]

mod file;
mod privilege;

pub use file::{Access, FileError, create, would_create};
pub use privilege::{Untrusted, is_privileged, search_path, variable};
