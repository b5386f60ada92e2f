//! Process topologies (MPI 5.0 §8.5): arrays and constants around `oxmpi_core::topology`.
//!
//! Arrays that are too short for what the topology has are refused, except where the standard says
//! that the first entries are wanted.

use oxmpi_core::topology::{self, Cartesian, EdgeList, Graph, Topology};

use super::communicator::set_child;
use crate::argument::{FlagOut, Integers, IntegersOut, Out, Weights, check_room};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Info};

fn truths(ints: &[i32]) -> Vec<bool> {
    ints.iter().map(|&int| int != 0).collect()
}

/// A rank, or MPI_PROC_NULL.
fn rank_or_null(rank: Option<u32>) -> i32 {
    rank.map_or(MPI_PROC_NULL, |rank| rank as i32)
}

/// A rank that the program gave; one below zero is none of the topology's.
fn rank_of(rank: i32) -> Result<u32, Failure> {
    u32::try_from(rank).map_err(|_| {
        let text = format!("rank is {rank}; ranks are not negative");
        Failure::new(MPI_ERR_RANK, text)
    })
}

/// The first entries of an array whose length follows from other arguments.
fn list(argument: &'static str, array: &Integers, count: usize) -> Result<Vec<i32>, Failure> {
    if count > 0 && array.is_null() {
        let text = format!("{argument} is a null pointer");
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    check_room(argument, count)?;
    Ok((0..count).map(|index| array.get(index) as i32).collect())
}

/// Weights, or none.
fn weights(
    argument: &'static str,
    given: &Weights,
    count: usize,
) -> Result<Option<Vec<i32>>, Failure> {
    match given {
        Weights::Unweighted => Ok(None),
        Weights::Empty => Ok(Some(Vec::new())),
        Weights::Given(array) => list(argument, array, count).map(Some),
    }
}

/// Writes all of a list that the program has room for.
fn fill(out: &IntegersOut, values: impl IntoIterator<Item = i64>) {
    let room = out.room();
    for (index, value) in values.into_iter().take(room).enumerate() {
        out.set(index, value);
    }
}

/// Refuses room that is too small.
fn check_fits(argument: &'static str, room: usize, needed: usize) -> Result<(), Failure> {
    if room >= needed {
        return Ok(());
    }
    let text = format!("{argument} is {room}, but there are {needed} entries");
    Err(Failure::new(MPI_ERR_ARG, text))
}

/// MPI_Topo_test.
pub fn topo_test(_call: &Call, comm: &Communicator, status: Out<i32>) -> Result<(), Failure> {
    status.set(match comm.topology() {
        None => MPI_UNDEFINED,
        Some(Topology::Cartesian(_)) => MPI_CART,
        Some(Topology::Graph(_)) => MPI_GRAPH,
        Some(Topology::DistributedGraph(_)) => MPI_DIST_GRAPH,
    });
    Ok(())
}

/// MPI_Dims_create.
pub fn dims_create(
    _call: &Call,
    nnodes: i32,
    _ndims: usize,
    dims: &mut [i32],
) -> Result<(), Failure> {
    Ok(topology::dims_create(nnodes, dims)?)
}

/// MPI_Cart_create.
pub fn cart_create(
    _call: &Call,
    comm: &Communicator,
    _ndims: usize,
    dims: &[i32],
    periods: &[i32],
    _reorder: i32,
    comm_cart: Out<Handle>,
) -> Result<(), Failure> {
    // If it fails there is none; programs look at the handle alone.
    comm_cart.set(MPI_COMM_NULL);
    set_child(&comm_cart, comm, comm.cart_create(dims, &truths(periods))?)
}

/// MPI_Cartdim_get.
pub fn cartdim_get(call: &Call, comm: &Communicator, ndims: Out<i32>) -> Result<(), Failure> {
    ndims.set(comm.cartesian(call.name())?.dimensions() as i32);
    Ok(())
}

/// MPI_Cart_get.
pub fn cart_get(
    call: &Call,
    comm: &Communicator,
    maxdims: usize,
    dims: IntegersOut,
    periods: IntegersOut,
    coords: IntegersOut,
) -> Result<(), Failure> {
    let grid = comm.cartesian(call.name())?;
    check_fits("maxdims", maxdims, grid.dimensions())?;
    fill(&dims, grid.dims().into_iter().map(i64::from));
    fill(&periods, grid.periods().into_iter().map(i64::from));
    fill(
        &coords,
        grid.coords(comm.rank())?.into_iter().map(i64::from),
    );
    Ok(())
}

/// MPI_Cart_rank.
pub fn cart_rank(
    call: &Call,
    comm: &Communicator,
    coords: Integers,
    rank: Out<i32>,
) -> Result<(), Failure> {
    let grid = comm.cartesian(call.name())?;
    let coords = list("coords", &coords, grid.dimensions())?;
    rank.set(grid.rank_of(&coords)? as i32);
    Ok(())
}

/// MPI_Cart_coords.
pub fn cart_coords(
    call: &Call,
    comm: &Communicator,
    rank: i32,
    maxdims: usize,
    coords: IntegersOut,
) -> Result<(), Failure> {
    let grid = comm.cartesian(call.name())?;
    let found = grid.coords(rank_of(rank)?)?;
    check_fits("maxdims", maxdims, grid.dimensions())?;
    fill(&coords, found.into_iter().map(i64::from));
    Ok(())
}

/// MPI_Cart_shift.
pub fn cart_shift(
    call: &Call,
    comm: &Communicator,
    direction: i32,
    disp: i32,
    rank_source: Out<i32>,
    rank_dest: Out<i32>,
) -> Result<(), Failure> {
    let grid = comm.cartesian(call.name())?;
    let (source, dest) = grid.shift(comm.rank(), direction, disp)?;
    rank_source.set(rank_or_null(source));
    rank_dest.set(rank_or_null(dest));
    Ok(())
}

/// MPI_Cart_sub.
pub fn cart_sub(
    call: &Call,
    comm: &Communicator,
    remain_dims: Integers,
    newcomm: Out<Handle>,
) -> Result<(), Failure> {
    let dimensions = comm.cartesian(call.name())?.dimensions();
    let remain = truths(&list("remain_dims", &remain_dims, dimensions)?);
    set_child(&newcomm, comm, Some(comm.cart_sub(&remain)?))
}

/// MPI_Cart_map.
pub fn cart_map(
    _call: &Call,
    comm: &Communicator,
    _ndims: usize,
    dims: &[i32],
    periods: &[i32],
    newrank: Out<i32>,
) -> Result<(), Failure> {
    let grid = Cartesian::new(dims, &truths(periods))?;
    grid.check_fits(comm.size())?;
    newrank.set(
        grid.map(comm.rank())
            .map_or(MPI_UNDEFINED, |rank| rank as i32),
    );
    Ok(())
}

/// MPI_Graph_create.
pub fn graph_create(
    _call: &Call,
    comm: &Communicator,
    _nnodes: usize,
    index: &[i32],
    edges: Integers,
    _reorder: i32,
    comm_graph: Out<Handle>,
) -> Result<(), Failure> {
    let edges = list("edges", &edges, Graph::edge_count_of(index)?)?;
    set_child(&comm_graph, comm, comm.graph_create(index, &edges)?)
}

/// MPI_Graphdims_get.
pub fn graphdims_get(
    call: &Call,
    comm: &Communicator,
    nnodes: Out<i32>,
    nedges: Out<i32>,
) -> Result<(), Failure> {
    let graph = comm.graph(call.name())?;
    nnodes.set(graph.size() as i32);
    nedges.set(graph.edges().len() as i32);
    Ok(())
}

/// MPI_Graph_get.
pub fn graph_get(
    call: &Call,
    comm: &Communicator,
    maxindex: usize,
    maxedges: usize,
    index: IntegersOut,
    edges: IntegersOut,
) -> Result<(), Failure> {
    let graph = comm.graph(call.name())?;
    check_fits("maxindex", maxindex, graph.index().len())?;
    check_fits("maxedges", maxedges, graph.edges().len())?;
    fill(&index, graph.index().iter().copied().map(i64::from));
    fill(&edges, graph.edges().iter().copied().map(i64::from));
    Ok(())
}

/// MPI_Graph_neighbors_count.
pub fn graph_neighbors_count(
    call: &Call,
    comm: &Communicator,
    rank: i32,
    nneighbors: Out<i32>,
) -> Result<(), Failure> {
    let graph = comm.graph(call.name())?;
    nneighbors.set(graph.neighbours(rank_of(rank)?)?.len() as i32);
    Ok(())
}

/// MPI_Graph_neighbors.
pub fn graph_neighbors(
    call: &Call,
    comm: &Communicator,
    rank: i32,
    maxneighbors: usize,
    neighbors: IntegersOut,
) -> Result<(), Failure> {
    let found = comm.graph(call.name())?.neighbours(rank_of(rank)?)?;
    check_fits("maxneighbors", maxneighbors, found.len())?;
    fill(&neighbors, found.iter().copied().map(i64::from));
    Ok(())
}

/// MPI_Graph_map.
pub fn graph_map(
    _call: &Call,
    comm: &Communicator,
    _nnodes: usize,
    index: &[i32],
    edges: Integers,
    newrank: Out<i32>,
) -> Result<(), Failure> {
    let edges = list("edges", &edges, Graph::edge_count_of(index)?)?;
    let graph = Graph::new(index, &edges)?;
    graph.check_fits(comm.size())?;
    newrank.set(
        graph
            .map(comm.rank())
            .map_or(MPI_UNDEFINED, |rank| rank as i32),
    );
    Ok(())
}

/// MPI_Dist_graph_create.
#[expect(clippy::too_many_arguments, reason = "the standard has as many")]
pub fn dist_graph_create(
    _call: &Call,
    comm: &Communicator,
    _n: usize,
    sources: &[i32],
    degrees: &[i32],
    destinations: Integers,
    given: Weights,
    info: Option<&Info>,
    _reorder: i32,
    comm_dist_graph: Out<Handle>,
) -> Result<(), Failure> {
    let count = EdgeList::edge_count_of(degrees)?;
    let destinations = list("destinations", &destinations, count)?;
    let weights = weights("weights", &given, count)?;
    let weights = weights.as_deref();
    let new = comm.dist_graph_create(sources, degrees, &destinations, weights, info)?;
    set_child(&comm_dist_graph, comm, Some(new))
}

/// MPI_Dist_graph_create_adjacent.
#[expect(clippy::too_many_arguments, reason = "the standard has as many")]
pub fn dist_graph_create_adjacent(
    _call: &Call,
    comm: &Communicator,
    indegree: usize,
    sources: &[i32],
    sourceweights: Weights,
    outdegree: usize,
    destinations: &[i32],
    destweights: Weights,
    info: Option<&Info>,
    _reorder: i32,
    comm_dist_graph: Out<Handle>,
) -> Result<(), Failure> {
    let incoming = weights("sourceweights", &sourceweights, indegree)?;
    let outgoing = weights("destweights", &destweights, outdegree)?;
    let (incoming, outgoing) = (incoming.as_deref(), outgoing.as_deref());
    let new = comm.dist_graph_create_adjacent(sources, incoming, destinations, outgoing, info)?;
    set_child(&comm_dist_graph, comm, Some(new))
}

/// MPI_Dist_graph_neighbors_count.
pub fn dist_graph_neighbors_count(
    call: &Call,
    comm: &Communicator,
    indegree: Out<i32>,
    outdegree: Out<i32>,
    weighted: FlagOut,
) -> Result<(), Failure> {
    let graph = comm.distributed_graph(call.name())?;
    indegree.set(graph.sources().len() as i32);
    outdegree.set(graph.destinations().len() as i32);
    weighted.set(graph.weighted());
    Ok(())
}

/// MPI_Dist_graph_neighbors: the first so many, in the order in which neighbourhood collectives see
/// them.
#[expect(clippy::too_many_arguments, reason = "the standard has as many")]
pub fn dist_graph_neighbors(
    call: &Call,
    comm: &Communicator,
    maxindegree: usize,
    sources: IntegersOut,
    sourceweights: IntegersOut,
    maxoutdegree: usize,
    destinations: IntegersOut,
    destweights: IntegersOut,
) -> Result<(), Failure> {
    let graph = comm.distributed_graph(call.name())?;
    let first = |values: &[u32], most: usize| -> Vec<i64> {
        values.iter().take(most).copied().map(i64::from).collect()
    };
    fill(&sources, first(graph.sources(), maxindegree));
    fill(&destinations, first(graph.destinations(), maxoutdegree));
    // Arrays for weights that do not exist stay as they are.
    for (out, values, most) in [
        (&sourceweights, graph.source_weights(), maxindegree),
        (&destweights, graph.destination_weights(), maxoutdegree),
    ] {
        let values = values.unwrap_or_default().iter().take(most);
        fill(out, values.copied().map(i64::from));
    }
    Ok(())
}
