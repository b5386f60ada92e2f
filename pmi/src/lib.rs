//! The protocols by which launchers and ranks find each other: PMI-1 and PMI-2 (text over a
//! descriptor), PMIx (a library loaded at run time).
//!
//! Two halves that share nothing but the formats between them:
//!
//! - [`Client`], the rank's side. It works the same whatever launcher started the process: rank,
//!   size, hosts, put, fence, get. It blocks, because a rank has nothing to do before it knows the
//!   others.
//! - [`Server`], the launcher's side of PMI-1 and PMI-2. It is pure: bytes of ranks in, replies and
//!   fences out. Each agent of a job has one for the ranks of its host; who carries the fences
//!   between agents is not its business.
//!
//! A message is a command with named values, `wire1` and `wire2` are its two written forms,
//! `mapping` says which rank is on which host, `pieces` cuts values that are longer than the
//! protocols allow. Nothing here knows what the values mean.

#![deny(unsafe_code)]

mod client;
mod error;
mod mapping;
mod message;
mod pieces;
#[cfg(any(test, fuzzing))]
pub mod properties;
mod server;
mod socket;
#[allow(unsafe_code)]
mod sys;
mod wire1;
mod wire2;

pub use client::Client;
pub use error::PmiError;
pub use server::{Event, Facts, Left, Server};

/// The largest job either side believes in. A host map of this size takes 4 MiB; a larger number is
/// a mistake.
pub const RANKS_MAX: u32 = 1 << 20;
