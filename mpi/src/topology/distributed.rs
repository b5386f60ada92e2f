//! Graphs of which each rank knows its own edges (MPI 5.0 §8.5.4, MPI_DIST_GRAPH_CREATE and its
//! adjacent form).
//!
//! In the adjacent form a rank gives its own neighbours: [`DistributedGraph::new`]. In the general
//! form it gives any edges: an [`EdgeList`] is checked, divided into one [`Contribution`] for each
//! rank that has an end of an edge, and the caller takes these to their ranks as words. There
//! [`DistributedGraph::assemble`] joins what has come, in the order of the ranks it came from, so
//! that all queries see one order.

use super::TopologyError;
use std::collections::BTreeMap;

/// A rank's view of a graph: its neighbours in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributedGraph {
    incoming: Neighbours,
    outgoing: Neighbours,
    weighted: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Neighbours {
    ranks: Vec<u32>,
    /// As many as ranks; all 1 if the graph has no weights.
    weights: Vec<i32>,
}

/// One end of an edge, seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The rank at the far end.
    pub rank: u32,
    /// What it weighs; 1 if the graph has no weights.
    pub weight: i32,
}

/// What one rank's edges say about another rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// Edges that end at that rank.
    pub incoming: Vec<Edge>,
    /// Edges that begin there.
    pub outgoing: Vec<Edge>,
}

/// The edges one rank gives to MPI_DIST_GRAPH_CREATE: source, destination and weight of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeList {
    edges: Vec<(u32, u32, i32)>,
    weighted: bool,
}

impl DistributedGraph {
    /// The graph in which this rank of a communicator of `size` has these neighbours. No weights
    /// are MPI_UNWEIGHTED, empty ones MPI_WEIGHTS_EMPTY; a list without neighbours may have either.
    pub fn new(
        size: u32,
        sources: &[i32],
        source_weights: Option<&[i32]>,
        destinations: &[i32],
        destination_weights: Option<&[i32]>,
    ) -> Result<DistributedGraph, TopologyError> {
        let half = |given, missing| Err(TopologyError::HalfWeighted { given, missing });
        match (source_weights, destination_weights) {
            (Some(_), None) if !destinations.is_empty() => {
                return half("sourceweights", "destweights");
            }
            (None, Some(_)) if !sources.is_empty() => return half("destweights", "sourceweights"),
            _ => {}
        }
        Ok(DistributedGraph {
            incoming: Neighbours {
                ranks: check_ranks("sources", sources, size)?,
                weights: check_weights("sourceweights", source_weights, sources.len())?,
            },
            outgoing: Neighbours {
                ranks: check_ranks("destinations", destinations, size)?,
                weights: check_weights("destweights", destination_weights, destinations.len())?,
            },
            weighted: source_weights.is_some() || destination_weights.is_some(),
        })
    }

    /// The graph that the contributions to this rank describe, one from each rank that has any, in
    /// the order of these ranks.
    pub fn assemble<'a>(
        weighted: bool,
        contributions: impl IntoIterator<Item = &'a Contribution>,
    ) -> DistributedGraph {
        let (mut incoming, mut outgoing) = (Neighbours::default(), Neighbours::default());
        for contribution in contributions {
            incoming.extend(&contribution.incoming);
            outgoing.extend(&contribution.outgoing);
        }
        DistributedGraph {
            incoming,
            outgoing,
            weighted,
        }
    }

    /// The ranks with an edge to this one.
    pub fn sources(&self) -> &[u32] {
        &self.incoming.ranks
    }

    /// The ranks to which this one has an edge.
    pub fn destinations(&self) -> &[u32] {
        &self.outgoing.ranks
    }

    /// Whether the edges have weights.
    pub fn weighted(&self) -> bool {
        self.weighted
    }

    /// The weights of the edges from the sources, if there are weights.
    pub fn source_weights(&self) -> Option<&[i32]> {
        self.weighted.then_some(&self.incoming.weights)
    }

    /// The weights of the edges to the destinations, if there are weights.
    pub fn destination_weights(&self) -> Option<&[i32]> {
        self.weighted.then_some(&self.outgoing.weights)
    }
}

impl Neighbours {
    fn extend(&mut self, edges: &[Edge]) {
        self.ranks.extend(edges.iter().map(|edge| edge.rank));
        self.weights.extend(edges.iter().map(|edge| edge.weight));
    }
}

impl EdgeList {
    /// The edges from `sources[i]` to the next `degrees[i]` of `destinations`, for each i.
    pub fn new(
        size: u32,
        sources: &[i32],
        degrees: &[i32],
        destinations: &[i32],
        weights: Option<&[i32]>,
    ) -> Result<EdgeList, TopologyError> {
        check_length("degrees", degrees.len(), "n", sources.len())?;
        let count = EdgeList::edge_count_of(degrees)?;
        check_length("destinations", destinations.len(), "degrees", count)?;
        let froms = check_ranks("sources", sources, size)?;
        let tos = check_ranks("destinations", destinations, size)?;
        let each_weight = check_weights("weights", weights, count)?;
        let froms = froms.iter().zip(degrees);
        // Degrees are not negative, edge_count_of has seen to that.
        let froms = froms.flat_map(|(&from, &degree)| std::iter::repeat_n(from, degree as usize));
        let edges = froms
            .zip(tos)
            .zip(each_weight)
            .map(|((from, to), weight)| (from, to, weight));
        Ok(EdgeList {
            edges: edges.collect(),
            weighted: weights.is_some(),
        })
    }

    /// How many edges these degrees speak of: how far a caller in C may read.
    pub fn edge_count_of(degrees: &[i32]) -> Result<usize, TopologyError> {
        let mut count = 0usize;
        for (index, &value) in degrees.iter().enumerate() {
            let Ok(degree) = usize::try_from(value) else {
                return Err(TopologyError::Negative {
                    argument: "degrees",
                    index,
                    value,
                });
            };
            count += degree;
        }
        Ok(count)
    }

    /// Whether the edges have weights.
    pub fn weighted(&self) -> bool {
        self.weighted
    }

    /// What these edges say about each rank that is an end of one, by rank.
    pub fn contributions(&self) -> BTreeMap<u32, Contribution> {
        let mut contributions: BTreeMap<u32, Contribution> = BTreeMap::new();
        for &(from, to, weight) in &self.edges {
            contributions
                .entry(from)
                .or_default()
                .outgoing
                .push(Edge { rank: to, weight });
            contributions
                .entry(to)
                .or_default()
                .incoming
                .push(Edge { rank: from, weight });
        }
        contributions
    }
}

impl Contribution {
    /// The contribution as words for a message: how many edges come in, then rank and weight of
    /// each edge, those that come in first.
    pub fn to_words(&self) -> Vec<i32> {
        let edges = self.incoming.iter().chain(&self.outgoing);
        // Ranks were ints when the list was made, and a list that came through MPI is no longer
        // than one.
        let mut words = vec![self.incoming.len() as i32];
        words.extend(edges.flat_map(|edge| [edge.rank as i32, edge.weight]));
        words
    }

    /// The contribution that another rank of a communicator of `size` has sent as words.
    pub fn from_words(size: u32, words: &[i32]) -> Result<Contribution, TopologyError> {
        let broken = TopologyError::BrokenContribution { words: words.len() };
        let Some((&incoming, ends)) = words.split_first() else {
            return Err(broken);
        };
        let (ends, rest) = ends.as_chunks::<2>();
        let edge = |&[rank, weight]: &[i32; 2]| {
            let rank = u32::try_from(rank).ok().filter(|&rank| rank < size)?;
            Some(Edge { rank, weight })
        };
        let edges: Option<Vec<Edge>> = ends.iter().map(edge).collect();
        match (edges, usize::try_from(incoming)) {
            (Some(mut edges), Ok(incoming)) if incoming <= edges.len() && rest.is_empty() => {
                let outgoing = edges.split_off(incoming);
                Ok(Contribution {
                    incoming: edges,
                    outgoing,
                })
            }
            _ => Err(broken),
        }
    }
}

fn check_ranks(
    argument: &'static str,
    ranks: &[i32],
    size: u32,
) -> Result<Vec<u32>, TopologyError> {
    let check = |(index, &rank): (usize, &i32)| match u32::try_from(rank) {
        Ok(number) if number < size => Ok(number),
        _ => Err(TopologyError::NeighbourOutOfRange {
            argument,
            index,
            rank,
            size,
        }),
    };
    ranks.iter().enumerate().map(check).collect()
}

fn check_weights(
    argument: &'static str,
    weights: Option<&[i32]>,
    edges: usize,
) -> Result<Vec<i32>, TopologyError> {
    let Some(weights) = weights else {
        return Ok(vec![1; edges]);
    };
    check_length(argument, weights.len(), "the number of edges", edges)?;
    match weights.iter().enumerate().find(|&(_, &weight)| weight < 0) {
        Some((index, &value)) => Err(TopologyError::Negative {
            argument,
            index,
            value,
        }),
        None => Ok(weights.to_vec()),
    }
}

fn check_length(
    first: &'static str,
    first_len: usize,
    second: &'static str,
    second_len: usize,
) -> Result<(), TopologyError> {
    if first_len == second_len {
        return Ok(());
    }
    Err(TopologyError::Lengths {
        first,
        first_len,
        second,
        second_len,
    })
}
