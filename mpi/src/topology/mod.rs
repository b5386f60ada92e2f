//! Process topologies: which ranks of a communicator are whose neighbours (MPI 5.0 §8).
//!
//! A [`Topology`] is one of three: a [`Cartesian`] grid, a [`Graph`] that every rank knows whole,
//! or a [`DistributedGraph`] of which each rank knows its own edges. All are values computed from
//! the arguments of the call that creates them; the messages that a distributed graph takes are the
//! caller's, who carries [`Contribution`]s between the ranks. Ranks are never reordered: the
//! mapping is the identity.
#![forbid(unsafe_code)]

mod cartesian;
mod dimensions;
mod distributed;
mod error;
mod graph;
#[cfg(test)]
mod tests;

pub use cartesian::{Cartesian, Part};
pub use dimensions::dims_create;
pub use distributed::{Contribution, DistributedGraph, Edge, EdgeList};
pub use error::TopologyError;
pub use graph::Graph;

/// The topology of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A grid: MPI_CART.
    Cartesian(Cartesian),
    /// A graph every rank knows whole: MPI_GRAPH.
    Graph(Graph),
    /// A graph of which each rank knows its edges: MPI_DIST_GRAPH.
    DistributedGraph(DistributedGraph),
}

impl Topology {
    /// From whom a neighbourhood collective on this rank receives, in the order of its blocks (MPI
    /// 5.0 §8.6); `None` is MPI_PROC_NULL, whose block is left as it is.
    ///
    /// A rank may occur several times. In a periodic dimension of one or two places the neighbour
    /// before and the neighbour after are the same rank: what it sends forwards arrives in the
    /// block before, so blocks of a grid must be told apart by their direction and not by their
    /// order alone.
    pub fn sources(&self, rank: u32) -> Result<Vec<Option<u32>>, TopologyError> {
        match self {
            Topology::Cartesian(grid) => grid.neighbours(rank),
            Topology::Graph(graph) => Ok(some(graph.neighbours(rank)?)),
            Topology::DistributedGraph(graph) => Ok(some(graph.sources())),
        }
    }

    /// To whom a neighbourhood collective on this rank sends, in the order of its blocks.
    pub fn destinations(&self, rank: u32) -> Result<Vec<Option<u32>>, TopologyError> {
        match self {
            Topology::Cartesian(_) | Topology::Graph(_) => self.sources(rank),
            Topology::DistributedGraph(graph) => Ok(some(graph.destinations())),
        }
    }
}

fn some(ranks: &[u32]) -> Vec<Option<u32>> {
    ranks.iter().copied().map(Some).collect()
}

/// A rank given as an int, if the topology has it.
fn check_rank(rank: u32, size: u32) -> Result<u32, TopologyError> {
    if rank < size {
        return Ok(rank);
    }
    Err(TopologyError::RankOutOfRange { rank, size })
}

/// The topology's places must not outnumber the processes that are to take them.
fn check_places(places: u64, processes: u32) -> Result<(), TopologyError> {
    if places <= u64::from(processes) {
        return Ok(());
    }
    Err(TopologyError::TooManyPlaces { places, processes })
}
