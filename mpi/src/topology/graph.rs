//! Graphs that every rank knows whole (MPI 5.0 §8.5.3, MPI_GRAPH_CREATE).
//!
//! `index[i]` counts the neighbours of nodes 0 to i, `edges` lists the neighbours node by node. A
//! node may be its own neighbour, or another's several times, and edges need not go both ways.
//! Every edge leads to a node.

use super::{TopologyError, check_places, check_rank};

/// A graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    index: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    /// The graph that these lists describe.
    pub fn new(index: &[i32], edges: &[i32]) -> Result<Graph, TopologyError> {
        let index = Graph::check_index(index)?;
        let count = index.last().map_or(0, |&count| count as usize);
        if edges.len() != count {
            return Err(TopologyError::Lengths {
                first: "edges",
                first_len: edges.len(),
                second: "index",
                second_len: count,
            });
        }
        let nodes = index.len();
        let check = |(edge, &rank): (usize, &i32)| match u32::try_from(rank) {
            Ok(to) if (to as usize) < nodes => Ok(to),
            _ => Err(TopologyError::EdgeOutOfRange { edge, rank, nodes }),
        };
        let edges = edges
            .iter()
            .enumerate()
            .map(check)
            .collect::<Result<_, _>>()?;
        Ok(Graph { index, edges })
    }

    /// How many edges a list of running totals speaks of: how far a caller in C may read.
    pub fn edge_count_of(index: &[i32]) -> Result<usize, TopologyError> {
        Ok(Graph::check_index(index)?
            .last()
            .map_or(0, |&count| count as usize))
    }

    fn check_index(index: &[i32]) -> Result<Vec<u32>, TopologyError> {
        let mut before = 0;
        let check = |(node, &value): (usize, &i32)| match u32::try_from(value) {
            Ok(total) if total >= before => {
                before = total;
                Ok(total)
            }
            _ => Err(TopologyError::IndexDecreases {
                node,
                value,
                before,
            }),
        };
        index.iter().enumerate().map(check).collect()
    }

    /// Whether this many processes are enough for the graph.
    pub fn check_fits(&self, processes: u32) -> Result<(), TopologyError> {
        check_places(self.index.len() as u64, processes)
    }

    /// How many nodes it has.
    pub fn size(&self) -> u32 {
        // MPI counts nodes by an int; a list longer than that never got here through it.
        u32::try_from(self.index.len()).unwrap_or(u32::MAX)
    }

    /// The running totals it was made from.
    pub fn index(&self) -> &[u32] {
        &self.index
    }

    /// The edges it was made from.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The neighbours of this rank, in the order of the list.
    pub fn neighbours(&self, rank: u32) -> Result<&[u32], TopologyError> {
        let rank = check_rank(rank, self.size())? as usize;
        let from = if rank == 0 { 0 } else { self.index[rank - 1] };
        Ok(&self.edges[from as usize..self.index[rank] as usize])
    }

    /// The node of a process, or `None` if the graph has none for it: MPI_GRAPH_MAP.
    pub fn map(&self, rank: u32) -> Option<u32> {
        (rank < self.size()).then_some(rank)
    }
}
