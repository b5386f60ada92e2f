//! How a process joins its job, whichever launcher started it.
//!
//! [`Identity::from_env`] reads what the environment says; [`Membership::from_env`] does all of it:
//! it asks the launcher by PMI or PMIx where the environment is not enough, opens the memory that
//! the ranks of a host share, agrees with all ranks on a network, and hands the engine what it
//! needs. A process without a launcher is a job of one rank.
//!
//! This is the part of starting a job that every MPI program carries. The launcher itself is the
//! layer above, `launch`; what both must agree on is here (limits) or in `settings` (the names of
//! environment variables). The layer uses `engine`, `net`, `ports`, `pmi` and `settings`. Unsafe
//! code is in `sys` and `crash` alone.

#![deny(unsafe_code)]

mod cpu_sharing;
mod cpus;
#[allow(unsafe_code)]
pub mod crash;
mod error;
mod identity;
mod mark;
mod membership;
mod network;
#[allow(unsafe_code)]
mod sys;

pub use cpus::usable_cpus;
pub use error::WireUpError;
pub use identity::{Identity, IdentityError, announced_size};
pub use membership::{LauncherLine, Membership};
pub use sys::host_name;

/// Ranks of a job at most: communicators are numbered by the process that makes them, with 16 bits
/// for it.
pub const RANKS_MAX: u32 = 65_535;
