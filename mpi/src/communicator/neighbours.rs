//! What follows from a communicator's topology (MPI 5.0 §8.5): its neighbours, and the topology by
//! kind.

use super::Comm;
use crate::error::{CommunicatorError, ErrorKind};
use crate::topology::{Cartesian, DistributedGraph, Graph, Topology};

/// From whom a neighbourhood collective receives and to whom it sends; `None` is the null process.
pub type Neighbours = (Vec<Option<u32>>, Vec<Option<u32>>);

impl Comm {
    /// The neighbours of this rank, in the order in which neighbourhood collectives see them.
    pub fn neighbours(&self) -> Result<Neighbours, ErrorKind> {
        let Some(topology) = self.topology() else {
            return Err(self
                .without("a neighbourhood collective", "a topology")
                .into());
        };
        Ok((
            topology.sources(self.rank)?,
            topology.destinations(self.rank)?,
        ))
    }

    /// The grid, if that is the topology.
    pub fn cartesian(&self, call: &'static str) -> Result<&Cartesian, CommunicatorError> {
        match self.topology() {
            Some(Topology::Cartesian(grid)) => Ok(grid),
            _ => Err(self.without(call, "a Cartesian topology")),
        }
    }

    /// The graph that every rank knows whole, if that is the topology.
    pub fn graph(&self, call: &'static str) -> Result<&Graph, CommunicatorError> {
        match self.topology() {
            Some(Topology::Graph(graph)) => Ok(graph),
            _ => Err(self.without(call, "a graph topology")),
        }
    }

    /// The distributed graph, if that is the topology.
    pub fn distributed_graph(
        &self,
        call: &'static str,
    ) -> Result<&DistributedGraph, CommunicatorError> {
        match self.topology() {
            Some(Topology::DistributedGraph(graph)) => Ok(graph),
            _ => Err(self.without(call, "a distributed graph topology")),
        }
    }

    fn without(&self, call: &'static str, needed: &'static str) -> CommunicatorError {
        let found = match self.topology() {
            None => "none",
            Some(Topology::Cartesian(_)) => "a Cartesian one",
            Some(Topology::Graph(_)) => "a graph",
            Some(Topology::DistributedGraph(_)) => "a distributed graph",
        };
        CommunicatorError::NoTopology {
            call,
            needed,
            found,
        }
    }

    /// Refuses communicators with two groups: they have no topology.
    pub fn check_intra(&self, call: &'static str) -> Result<(), CommunicatorError> {
        match self.is_inter() {
            false => Ok(()),
            true => Err(CommunicatorError::IsInter { call }),
        }
    }
}
