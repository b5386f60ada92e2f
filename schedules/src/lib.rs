//! Collectives as schedules: which rank sends what to whom, and what is combined where.
//!
//! What the layer is: an algorithm turns (rank, size, bytes, …) into a [`Schedule`] without any
//! I/O; an [`Execution`] walks through it and holds indexes only, so the library (with engine
//! requests) and the simulator (with simulated links) drive the same code. [`choose`] holds the one
//! table of which algorithm runs when, [`plan`] applies it. [`Memory`] runs the local steps on
//! plain slices. What it uses: no other layer. What it promises: a schedule names ranks of the
//! communicator and bytes of the caller's buffers, nothing else, and no two steps of a round touch
//! the same bytes unless both read.
//!
//! What the driver must provide: messages between one pair of ranks that belong to one collective
//! are matched in the order in which they were started (MPI's non-overtaking order does that with
//! one tag per collective).
//!
//! The algorithms beside this file treat all ranks alike; those in [`across`] know which ranks
//! share a host. The feature `oracle` adds what checks them: `oracle` computes every collective the
//! slow way, and `Schedule::validate` proves a schedule's promises. Programs have no use for
//! either.
#![forbid(unsafe_code)]

pub mod across;
pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod choose;
pub mod exscan;
pub mod gather;
pub mod inter;
pub mod neighbours;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
pub mod plan;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;

mod accumulate;
mod call;
mod cut;
mod execution;
mod fold;
mod halving;
mod hosts;
mod memory;
mod position;
mod schedule;
mod star;
#[cfg(any(test, feature = "oracle"))]
mod validate;

#[cfg(test)]
mod tests;

pub use cut::{Block, Cut};
pub use execution::{Action, Execution};
pub use hosts::Hosts;
pub use memory::{Combine, Memory};
pub use position::{Placement, Position};
pub use schedule::{
    Builder, Direction, Local, Place, Region, RoundView, SCRATCH_ALIGN, Schedule, Transfer,
};
#[cfg(any(test, feature = "oracle"))]
pub use validate::{Extents, ScheduleFault};

/// What the reducing collectives reduce: the vector of every rank, cut only between its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Length of the vector.
    pub bytes: usize,
    /// Size of one element: no transfer or reduction ever begins inside one.
    pub element_bytes: usize,
    /// Whether a ∘ b = b ∘ a; otherwise results are combined strictly in rank order.
    pub commutative: bool,
    /// The input lies in the receive buffer (MPI_IN_PLACE); see each algorithm for where exactly.
    pub in_place: bool,
}

impl Operand {
    /// Where this rank's input lies.
    pub(crate) fn own(&self) -> Region {
        if self.in_place {
            Region::receive(0, self.bytes)
        } else {
            Region::send(0, self.bytes)
        }
    }

    /// This rank's input as the phases of an algorithm take it.
    #[inline]
    pub(crate) fn vector(&self) -> Vector {
        Vector {
            own: self.own(),
            element_bytes: self.element_bytes,
            commutative: self.commutative,
        }
    }

    /// Cuts the vector into parts that begin and end between elements.
    pub(crate) fn cut(&self, parts: u32) -> Cut {
        self.vector().cut(parts)
    }
}

/// What a phase of a reduction reduces: this rank's contribution, wherever the phase before has
/// left it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    /// Where the contribution lies.
    pub own: Region,
    /// Size of one element.
    pub element_bytes: usize,
    /// Whether the order of contributions does not count.
    pub commutative: bool,
}

impl Vector {
    /// All of it.
    #[inline]
    pub fn whole(&self) -> Block {
        Block {
            offset: 0,
            bytes: self.own.bytes,
        }
    }

    /// Cuts it into parts that begin and end between elements.
    #[inline]
    pub fn cut(&self, parts: u32) -> Cut {
        Cut::elements(self.own.bytes, self.element_bytes, parts)
    }

    /// The same elements at another place.
    #[inline]
    pub fn at(self, own: Region) -> Vector {
        Vector { own, ..self }
    }
}
