//! Communicators with a process topology (MPI 5.0 §8.5).
//!
//! The topology itself is a value (see `topology`); here it is given to a new communicator, and the
//! edges of a distributed graph are brought to the ranks at their ends. Ranks keep their order:
//! `reorder` is a permission that is not used.

use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::info::Info;
use crate::topology::{Cartesian, Contribution, DistributedGraph, EdgeList, Graph, Topology};
use oxmpi_datatypes::plain::{bytes, bytes_mut};
use oxmpi_schedules::Block;
use oxmpi_schedules::plan::Call;

impl Comm {
    /// A grid of the first ranks; the others get nothing. Collective.
    pub fn cart_create(&self, dims: &[i32], periods: &[bool]) -> Result<Option<Comm>, ErrorKind> {
        self.check_intra("MPI_Cart_create")?;
        let grid = Cartesian::new(dims, periods)?;
        grid.check_fits(self.size)?;
        let member = self.rank < grid.size();
        self.with_topology(member, Topology::Cartesian(grid))
    }

    /// The part of a grid that is left when only some dimensions remain. Collective.
    pub fn cart_sub(&self, remain: &[bool]) -> Result<Comm, ErrorKind> {
        let part = self.cartesian("MPI_Cart_sub")?.sub(self.rank, remain)?;
        let new = self.split(Some(part.colour), i64::from(part.key))?;
        let mut new = new.expect("a rank with a colour is in its part");
        new.details.topology = Some(Topology::Cartesian(part.grid));
        Ok(new)
    }

    /// A graph of the first ranks; the others get nothing. Collective.
    pub fn graph_create(&self, index: &[i32], edges: &[i32]) -> Result<Option<Comm>, ErrorKind> {
        self.check_intra("MPI_Graph_create")?;
        let graph = Graph::new(index, edges)?;
        graph.check_fits(self.size)?;
        let member = self.rank < graph.size();
        self.with_topology(member, Topology::Graph(graph))
    }

    /// A graph in which this rank has these neighbours; no weights mean that all edges are alike.
    /// Collective.
    pub fn dist_graph_create_adjacent(
        &self,
        sources: &[i32],
        source_weights: Option<&[i32]>,
        destinations: &[i32],
        destination_weights: Option<&[i32]>,
        info: Option<&Info>,
    ) -> Result<Comm, ErrorKind> {
        self.check_intra("MPI_Dist_graph_create_adjacent")?;
        let graph = DistributedGraph::new(
            self.size,
            sources,
            source_weights,
            destinations,
            destination_weights,
        )?;
        self.with_graph(graph, info)
    }

    /// A graph whose edges any rank may give: from `sources[i]` to the next `degrees[i]` of
    /// `destinations`. Collective.
    pub fn dist_graph_create(
        &self,
        sources: &[i32],
        degrees: &[i32],
        destinations: &[i32],
        weights: Option<&[i32]>,
        info: Option<&Info>,
    ) -> Result<Comm, ErrorKind> {
        self.check_intra("MPI_Dist_graph_create")?;
        let edges = EdgeList::new(self.size, sources, degrees, destinations, weights)?;
        let contributions = self.exchange_edges(&edges)?;
        let graph = DistributedGraph::assemble(edges.weighted(), &contributions);
        self.with_graph(graph, info)
    }

    fn with_topology(&self, member: bool, topology: Topology) -> Result<Option<Comm>, ErrorKind> {
        let mut new = self.split(member.then_some(0), 0)?;
        if let Some(new) = &mut new {
            new.details.topology = Some(topology);
        }
        Ok(new)
    }

    fn with_graph(&self, graph: DistributedGraph, info: Option<&Info>) -> Result<Comm, ErrorKind> {
        let new = self.with_topology(true, Topology::DistributedGraph(graph))?;
        let new = new.expect("every rank is a member");
        info.inspect(|info| new.set_info(info));
        Ok(new)
    }

    /// What all ranks' edges say about this rank, in the order of the ranks that gave them.
    fn exchange_edges(&self, edges: &EdgeList) -> Result<Vec<Contribution>, ErrorKind> {
        let size = self.size as usize;
        let mut words = Vec::new();
        let mut lengths = vec![0u64; size];
        for (rank, contribution) in edges.contributions() {
            let said = contribution.to_words();
            lengths[rank as usize] = said.len() as u64;
            words.extend(said);
        }
        let mut coming = vec![0u64; size];
        let call = Call::Alltoall {
            bytes: size_of::<u64>(),
            in_place: false,
        };
        self.move_data(&call, bytes(&lengths), bytes_mut(&mut coming))?;
        let total: u64 = coming.iter().sum();
        let mut told = vec![0i32; total as usize];
        let call = Call::Alltoallv {
            send: &blocks(&lengths),
            receive: &blocks(&coming),
            in_place: false,
        };
        self.move_data(&call, bytes(&words), bytes_mut(&mut told))?;
        let mut rest = &told[..];
        let mut contributions = Vec::new();
        for &length in coming.iter().filter(|&&length| length > 0) {
            let (one, others) = rest.split_at(length as usize);
            contributions.push(Contribution::from_words(self.size, one)?);
            rest = others;
        }
        Ok(contributions)
    }
}

/// Lists of words, one behind the other.
fn blocks(lengths: &[u64]) -> Vec<Block> {
    let mut offset = 0;
    let block = |&length: &u64| {
        let bytes = length as usize * size_of::<i32>();
        let block = Block { offset, bytes };
        offset += bytes;
        block
    };
    lengths.iter().map(block).collect()
}
