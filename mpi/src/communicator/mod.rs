//! Communicators: a group of processes and a context of their own.
//!
//! A context keeps the messages of one communicator apart from those of every other. [`Comm`] is
//! the object, which the C interface uses too; [`Communicator`] its typed and borrowed face. Calls
//! on a communicator live beside their kind: `point`, `collective`, and `making`, which makes
//! communicators out of old ones or out of groups.

mod arguments;
mod board;
mod cached;
mod comm;
mod compare;
mod details;
mod hosts;
mod neighbours;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use crate::label::NAME_MAX;
pub(crate) use arguments::check_tag;
pub(crate) use board::{GroupBoard, Offer};
pub use comm::Comm;
pub(crate) use comm::{Context, Inter};
pub use compare::Comparison;
pub(crate) use details::MEMORY_KINDS;
pub(crate) use hosts::hosts_of;
pub use neighbours::Neighbours;

use crate::error::{Error, ErrorKind};
use crate::process::Process;
use crate::thread::{Funneled, Level};

/// A group of processes that exchange messages among themselves.
///
/// Ranks, tags and order are the communicator's own: a message sent on one is never received on
/// another. It borrows from [`Mpi`](crate::Mpi), so it cannot outlive finalisation.
pub struct Communicator<'mpi, L: Level = Funneled> {
    pub(crate) process: &'mpi Process,
    pub(crate) comm: Arc<Comm>,
    level: PhantomData<L::Handle>,
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    pub(crate) fn new(process: &'mpi Process, comm: Arc<Comm>) -> Self {
        Communicator {
            process,
            comm,
            level: PhantomData,
        }
    }

    /// This process's number in the communicator, 0 to `size() - 1`.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.comm.rank
    }

    /// How many processes the communicator has.
    #[inline]
    pub fn size(&self) -> u32 {
        self.comm.size
    }

    /// The rank in the world of a rank of this communicator.
    pub fn world_rank(&self, rank: u32) -> crate::Result<u32> {
        self.comm
            .check_rank("rank", rank)
            .map_err(|kind| self.fail("world_rank", kind))?;
        Ok(self.comm.process_of(rank))
    }

    /// The communicator as the layers between this crate and programs use it.
    #[doc(hidden)]
    pub fn inner(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Completes an error with the call and this process.
    #[doc(hidden)]
    #[cold]
    pub fn fail(&self, call: &'static str, kind: impl Into<ErrorKind>) -> Error {
        kind.into().at(
            call,
            self.comm.rank,
            self.comm.size,
            self.process.engine.host(),
        )
    }
}

impl<L: Level> fmt::Debug for Communicator<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.comm.rank)
            .field("size", &self.comm.size)
            .field("number", &self.comm.number())
            .finish()
    }
}
