//! What can be wrong with the arguments that describe a topology. Error classes are assigned in the
//! ABI layer.

/// Why a topology cannot be made, or cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A number of nodes to be laid out that is no number of nodes.
    #[error("nnodes is {nodes}: it must be positive")]
    NodesNotPositive {
        /// What was given.
        nodes: i32,
    },
    /// A dimension below zero, which neither is fixed nor asks to be chosen.
    #[error("dims[{dimension}] is {value}: give a positive size, or 0 to have it chosen")]
    NegativeDimension {
        /// Which dimension.
        dimension: usize,
        /// What was given.
        value: i32,
    },
    /// Sizes given by the caller that no choice of the others completes.
    #[error(
        "{nodes} nodes cannot be laid out in {fixed} times anything: nnodes must be a multiple of the sizes given in dims"
    )]
    NotDivisible {
        /// How many nodes.
        nodes: i32,
        /// The product of the given sizes, `u64::MAX` if it is larger.
        fixed: u64,
    },
    /// A grid dimension without places.
    #[error("dims[{dimension}] is {value}: every dimension of a grid must be positive")]
    DimensionNotPositive {
        /// Which dimension.
        dimension: usize,
        /// What was given.
        value: i32,
    },
    /// Two array arguments that belong together differ in length.
    #[error("{first} has {first_len} entries but {second} asks for {second_len}")]
    Lengths {
        /// Name of one array.
        first: &'static str,
        /// Its length.
        first_len: usize,
        /// What its length follows from.
        second: &'static str,
        /// The length that asks for.
        second_len: usize,
    },
    /// More places than processes to take them.
    #[error(
        "the topology has {places} places for {processes} processes: it must not have more places than processes"
    )]
    TooManyPlaces {
        /// How many places, `u64::MAX` if there are more.
        places: u64,
        /// How many processes.
        processes: u32,
    },
    /// A rank that the topology does not have.
    #[error("rank {rank} is not in a topology of {size} ranks")]
    RankOutOfRange {
        /// The rank given.
        rank: u32,
        /// How many ranks there are.
        size: u32,
    },
    /// A coordinate outside a dimension that does not wrap around.
    #[error(
        "coords[{dimension}] is {coordinate}, but that dimension has {size} places and is not periodic"
    )]
    CoordinateOutOfRange {
        /// Which dimension.
        dimension: usize,
        /// What was given.
        coordinate: i32,
        /// The dimension's size.
        size: u32,
    },
    /// A dimension that the grid does not have.
    #[error(
        "direction {direction} of a grid with {dimensions} dimensions: directions go from 0 to dimensions - 1"
    )]
    NoSuchDirection {
        /// What was given.
        direction: i32,
        /// How many dimensions there are.
        dimensions: usize,
    },
    /// A list of node degrees that is not a running total.
    #[error(
        "index[{node}] is {value} after {before}: it counts the edges up to and including this node, so it cannot be less"
    )]
    IndexDecreases {
        /// Which node.
        node: usize,
        /// What was given.
        value: i32,
        /// The entry before it, or 0.
        before: u32,
    },
    /// An edge to a node that the graph does not have.
    #[error("edges[{edge}] is {rank}, but the graph has {nodes} nodes: they are numbered from 0")]
    EdgeOutOfRange {
        /// Which edge.
        edge: usize,
        /// Where it leads.
        rank: i32,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A neighbour that the communicator does not have.
    #[error("{argument}[{index}] is {rank}, but the communicator has {size} ranks")]
    NeighbourOutOfRange {
        /// The argument's name in the standard.
        argument: &'static str,
        /// Which entry of it.
        index: usize,
        /// What was given.
        rank: i32,
        /// The communicator's size.
        size: u32,
    },
    /// A count of edges, or an edge's weight, below zero.
    #[error("{argument}[{index}] is {value}: it must not be negative")]
    Negative {
        /// The argument's name in the standard.
        argument: &'static str,
        /// Which entry of it.
        index: usize,
        /// What was given.
        value: i32,
    },
    /// Weights for edges in one direction and none for those in the other.
    #[error("{given} has weights but {missing} is MPI_UNWEIGHTED: weigh all edges or none")]
    HalfWeighted {
        /// The argument with weights.
        given: &'static str,
        /// The one without.
        missing: &'static str,
    },
    /// A contribution whose words are not those of a contribution: ranks do not run the same call.
    #[error(
        "another rank's edges came as {words} words that make no sense: did all ranks make the same call?"
    )]
    BrokenContribution {
        /// How many words came.
        words: usize,
    },
}
