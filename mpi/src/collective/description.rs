//! A collective as its caller describes it: which one, on which memory, with which root and
//! operation.
//!
//! Blocking, nonblocking and persistent calls of the C interface all begin with a [`Collective`];
//! `job` turns it into places and a schedule. Memory is owned as [`Buffer`]s, so a description may
//! outlive the call that made it. Where the standard lets a rank pass MPI_IN_PLACE, the buffer that
//! it replaces is an `Option`, and `None` means in place. Arguments that the standard ignores on a
//! rank (a receive buffer away from the root) are ignored here too.

use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::topology::Topology;
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_datatypes::op::Op;

/// Who gives or gets the data of a rooted collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// This rank; in an intercommunicator, of the remote group.
    Rank(u32),
    /// The calling process (MPI_ROOT in an intercommunicator).
    This,
    /// Another process of the caller's group (MPI_PROC_NULL in an intercommunicator).
    Nobody,
}

impl From<u32> for Root {
    fn from(rank: u32) -> Self {
        Root::Rank(rank)
    }
}

/// Memory with a block for every peer.
#[derive(Clone, Debug)]
pub enum Parts {
    /// Blocks of equal length one after the other.
    Equal(Buffer),
    /// A block of its own for each peer (the variants with v and w).
    Each(Vec<Buffer>),
}

/// How the result of a reduction is dealt out.
#[derive(Clone, Debug)]
pub enum Shares {
    /// To every rank this many elements.
    Equal(u64),
    /// To each rank its own number of elements.
    Each(Vec<u64>),
}

/// What a reduction does with which elements.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The operation.
    pub op: Op,
    /// The elements.
    pub datatype: Datatype,
}

/// With whom a rank exchanges data in a neighbourhood collective. Nobody (`None`) is the neighbour
/// beyond the edge of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// From whom blocks come, in the order of the receive buffer.
    pub sources: Vec<Option<u32>>,
    /// To whom blocks go, in the order of the send buffer.
    pub destinations: Vec<Option<u32>>,
    /// Both lists are the pairs (one down, one up) of the dimensions of a grid: what goes down
    /// arrives from above.
    pub grid: bool,
}

impl Neighbours {
    /// Those that the topology of a communicator names.
    pub fn of(comm: &Comm) -> Result<Neighbours, ErrorKind> {
        let (sources, destinations) = comm.neighbours()?;
        Ok(Neighbours {
            sources,
            destinations,
            grid: matches!(comm.topology(), Some(Topology::Cartesian(_))),
        })
    }
}

/// A call that all processes of a communicator make.
#[derive(Clone, Debug)]
pub enum Collective {
    /// Nobody goes on before everybody is there.
    Barrier,
    /// The root's data for everybody.
    Bcast {
        /// Read at the root, written elsewhere.
        buffer: Buffer,
        /// Whose data.
        root: Root,
    },
    /// Everybody's block for the root.
    Gather {
        /// This rank's block; the root may leave it in place.
        send: Option<Buffer>,
        /// All blocks, at the root.
        receive: Parts,
        /// For whom.
        root: Root,
    },
    /// A block of the root's for everybody.
    Scatter {
        /// All blocks, at the root.
        send: Parts,
        /// This rank's block; the root may leave it in place.
        receive: Option<Buffer>,
        /// From whom.
        root: Root,
    },
    /// Everybody's block for everybody.
    Allgather {
        /// This rank's block.
        send: Option<Buffer>,
        /// All blocks.
        receive: Parts,
    },
    /// A block from everybody for everybody.
    Alltoall {
        /// A block for each rank.
        send: Option<Parts>,
        /// A block from each rank.
        receive: Parts,
    },
    /// The combination of all vectors for the root.
    Reduce {
        /// This rank's vector; the root may leave it in place.
        send: Option<Buffer>,
        /// The result, at the root.
        receive: Buffer,
        /// What is combined and how.
        reduction: Reduction,
        /// For whom.
        root: Root,
    },
    /// The combination of all vectors for everybody.
    Allreduce {
        /// This rank's vector.
        send: Option<Buffer>,
        /// The result.
        receive: Buffer,
        /// What is combined and how.
        reduction: Reduction,
    },
    /// The combination of all vectors, dealt out.
    ReduceScatter {
        /// This rank's vector. In place, it is in the receive buffer, which is that long then.
        send: Option<Buffer>,
        /// This rank's share of the result.
        receive: Buffer,
        /// Who gets how much.
        shares: Shares,
        /// What is combined and how.
        reduction: Reduction,
    },
    /// The combination of the vectors of ranks 0 to this one.
    Scan {
        /// This rank's vector.
        send: Option<Buffer>,
        /// The result.
        receive: Buffer,
        /// What is combined and how.
        reduction: Reduction,
    },
    /// The combination of the vectors of the ranks below this one; rank 0 keeps its buffer as it
    /// is.
    Exscan {
        /// This rank's vector.
        send: Option<Buffer>,
        /// The result.
        receive: Buffer,
        /// What is combined and how.
        reduction: Reduction,
    },
    /// The same block for all neighbours.
    NeighbourAllgather {
        /// This rank's block.
        send: Buffer,
        /// A block from each source.
        receive: Parts,
        /// Between whom.
        neighbours: Neighbours,
    },
    /// A block for each neighbour.
    NeighbourAlltoall {
        /// A block for each destination.
        send: Parts,
        /// A block from each source.
        receive: Parts,
        /// Between whom.
        neighbours: Neighbours,
    },
}

impl Collective {
    /// Its name, for error texts.
    pub fn name(&self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Bcast { .. } => "bcast",
            Collective::Gather { .. } => "gather",
            Collective::Scatter { .. } => "scatter",
            Collective::Allgather { .. } => "allgather",
            Collective::Alltoall { .. } => "alltoall",
            Collective::Reduce { .. } => "reduce",
            Collective::Allreduce { .. } => "allreduce",
            Collective::ReduceScatter { .. } => "reduce_scatter",
            Collective::Scan { .. } => "scan",
            Collective::Exscan { .. } => "exscan",
            Collective::NeighbourAllgather { .. } => "neighbor_allgather",
            Collective::NeighbourAlltoall { .. } => "neighbor_alltoall",
        }
    }
}
