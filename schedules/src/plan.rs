//! From a call to its schedule: the one entry that the library, the simulator and the tests use.
//!
//! [`schedule`] asks the table in [`choose`](super::choose) and builds what it answers;
//! [`schedule_by`] builds with a given algorithm, which is how each is tested and measured against
//! the others.

use super::across::{self, Here};
pub use super::call::{Call, KeptCall};
use super::choose::{Algorithm, CHAIN_SEGMENT_BYTES, Reach, partners};
use super::cut::Block;
use super::hosts::Hosts;
use super::position::{Placement, Position};
use super::schedule::{Builder, Region, Schedule};
use super::{
    allgather, allreduce, alltoall, barrier, bcast, exscan, gather, reduce, reduce_scatter, scan,
    scatter,
};

/// The schedule of this rank, by the algorithm that the table names.
#[inline]
pub fn schedule(call: &Call<'_>, position: Position, placement: Placement<'_>) -> Schedule {
    let algorithm = call.rule(position, placement).algorithm;
    schedule_by(algorithm, call, position, placement.hosts)
        .expect("the table names only algorithms that fit")
}

/// The schedule of this rank by a given algorithm; `None` where that algorithm cannot do the call
/// (an operation that does not commute, a size that is no power of two, one host where it needs
/// several, or simply another collective's).
pub fn schedule_by(
    algorithm: Algorithm,
    call: &Call<'_>,
    position: Position,
    hosts: Option<&Hosts>,
) -> Option<Schedule> {
    flat(algorithm, call, position).or_else(|| across_hosts(algorithm, call, position, hosts?))
}

/// The root's part of a gatherv or scatterv in which only some of the others exchange messages with
/// it; its own block is not copied.
///
/// # Panics
/// If the call is another one.
pub fn root_with(call: &Call<'_>, others: &[u32]) -> Schedule {
    let mut builder = Builder::with_room(1, others.len() as u32, 0);
    for &rank in others {
        match *call {
            Call::Gatherv { blocks, .. } => {
                let Block { offset, bytes } = blocks[rank as usize];
                builder.receive(rank, Region::receive(offset, bytes));
            }
            Call::Scatterv { blocks, .. } => {
                let Block { offset, bytes } = blocks[rank as usize];
                builder.send(rank, Region::send(offset, bytes));
            }
            _ => panic!("{call:?} is no gatherv and no scatterv"),
        }
    }
    builder.finish()
}

/// By an algorithm that does not look at hosts.
fn flat(algorithm: Algorithm, call: &Call<'_>, position: Position) -> Option<Schedule> {
    use Algorithm::*;
    let by = |bytes: usize| partners(position, bytes);
    Some(match (*call, algorithm) {
        (Call::Barrier, Dissemination) => barrier::dissemination(position),
        (Call::Barrier, Tree) => barrier::tree(position),
        (Call::Bcast { bytes, root }, Binomial) => bcast::binomial(position, bytes, root),
        (Call::Bcast { bytes, root }, ScatterAllgather) => {
            bcast::scatter_allgather(position, bytes, root)
        }
        (Call::Bcast { bytes, root }, Chain) => {
            bcast::chain(position, bytes, root, CHAIN_SEGMENT_BYTES)
        }
        (Call::Reduce { operand, root }, Binomial) if operand.commutative => {
            reduce::binomial(position, operand, root)
        }
        (Call::Reduce { operand, root }, InOrder) => reduce::in_order(position, operand, root),
        (Call::Reduce { operand, root }, ScatterGather) => {
            reduce::scatter_gather(position, operand, root)
        }
        (Call::Allreduce(operand), RecursiveDoubling) => {
            allreduce::recursive_doubling(position, operand)
        }
        (Call::Allreduce(operand), HalvingDoubling) => {
            allreduce::halving_doubling(position, operand)
        }
        (Call::Allreduce(operand), Ring) if operand.commutative => {
            allreduce::ring(position, operand)
        }
        (Call::Allreduce(operand), Tree) => allreduce::tree(position, operand),
        (Call::Scan(operand), RecursiveDoubling) => scan::recursive_doubling(position, operand),
        (Call::Scan(operand), Chain) => scan::chain(position, operand, CHAIN_SEGMENT_BYTES),
        (Call::Exscan(operand), RecursiveDoubling) => exscan::recursive_doubling(position, operand),
        (Call::Exscan(operand), Chain) => exscan::chain(position, operand, CHAIN_SEGMENT_BYTES),
        (
            Call::Gather {
                bytes,
                root,
                in_place,
            },
            Binomial,
        ) => gather::binomial(position, bytes, root, in_place),
        (
            Call::Gather {
                bytes,
                root,
                in_place,
            },
            Linear,
        ) => gather::linear(position, bytes, root, in_place, by(bytes)),
        (
            Call::Gatherv {
                own_bytes,
                blocks,
                root,
                in_place,
            },
            Linear,
        ) => gather::linear_blocks(position, own_bytes, blocks, root, in_place, by(0)),
        (
            Call::Scatter {
                bytes,
                root,
                in_place,
            },
            Binomial,
        ) => scatter::binomial(position, bytes, root, in_place),
        (
            Call::Scatter {
                bytes,
                root,
                in_place,
            },
            Linear,
        ) => scatter::linear(position, bytes, root, in_place, by(bytes)),
        (
            Call::Scatterv {
                own_bytes,
                blocks,
                root,
                in_place,
            },
            Linear,
        ) => scatter::linear_blocks(position, own_bytes, blocks, root, in_place, by(0)),
        (Call::Allgather { bytes, in_place }, RecursiveDoubling)
            if position.size.is_power_of_two() =>
        {
            allgather::recursive_doubling(position, bytes, in_place)
        }
        (Call::Allgather { bytes, in_place }, Bruck) => allgather::bruck(position, bytes, in_place),
        (Call::Allgather { bytes, in_place }, Ring) => allgather::ring(position, bytes, in_place),
        (Call::Allgatherv { blocks, in_place }, Bruck) => {
            allgather::bruck_blocks(position, blocks, in_place)
        }
        (Call::Allgatherv { blocks, in_place }, Ring) => {
            allgather::ring_blocks(position, blocks, in_place)
        }
        (Call::Alltoall { bytes, in_place }, Bruck) => alltoall::bruck(position, bytes, in_place),
        (Call::Alltoall { bytes, in_place }, Pairwise) => {
            alltoall::pairwise(position, bytes, in_place, by(bytes))
        }
        (
            Call::Alltoallv {
                send,
                receive,
                in_place,
            },
            Pairwise,
        ) => alltoall::pairwise_blocks(position, send, receive, in_place, by(0)),
        (
            Call::ReduceScatter {
                blocks,
                commutative: true,
                in_place,
            },
            RecursiveHalving,
        ) => reduce_scatter::recursive_halving(position, blocks, in_place),
        (
            Call::ReduceScatter {
                blocks,
                commutative,
                in_place,
            },
            Pairwise,
        ) => {
            let average = blocks.total(position.size) / position.size as usize;
            reduce_scatter::pairwise(position, blocks, commutative, in_place, by(average))
        }
        _ => return None,
    })
}

/// By an algorithm that does.
fn across_hosts(
    algorithm: Algorithm,
    call: &Call<'_>,
    position: Position,
    hosts: &Hosts,
) -> Option<Schedule> {
    use Algorithm::*;
    let reach = match call {
        Call::Scan(_) | Call::Exscan(_) => Reach::SeveralInOrder,
        _ => Reach::Several,
    };
    if !reach.covers(Some(hosts), call.commutative()) {
        return None;
    }
    let rank = position.rank;
    let here = Here::new(hosts, rank);
    let by = |bytes: usize| partners(position, bytes);
    Some(match (*call, algorithm) {
        (Call::Barrier, LeaderTree) => across::barrier::tree(here),
        (Call::Barrier, LeaderExchange) => across::barrier::exchange(here),
        (Call::Bcast { bytes, root }, LeaderTree) => {
            across::bcast::tree(Here::with_root(hosts, rank, root), bytes)
        }
        (Call::Bcast { bytes, root }, HostChain) => {
            let here = Here::with_root(hosts, rank, root);
            across::bcast::chain(here, bytes, CHAIN_SEGMENT_BYTES)
        }
        (Call::Reduce { operand, root }, LeaderTree) => {
            across::reduce::tree(hosts, rank, operand, root)
        }
        (Call::Reduce { operand, root }, Lanes) => {
            across::reduce::lanes(hosts, rank, operand, root)
        }
        (Call::Allreduce(operand), LeaderTree) => across::allreduce::tree(here, operand),
        (Call::Allreduce(operand), LeaderExchange) => across::allreduce::exchange(here, operand),
        (Call::Allreduce(operand), Lanes) => across::allreduce::lanes(here, operand),
        (Call::Scan(operand), LeaderExchange) => across::scan::exchange(hosts, rank, operand),
        (Call::Exscan(operand), LeaderExchange) => across::exscan::exchange(hosts, rank, operand),
        (
            Call::Gather {
                bytes,
                root,
                in_place,
            },
            LeaderStar,
        ) => {
            let here = Here::with_root(hosts, rank, root);
            across::gather::star(here, bytes, in_place, by(bytes))
        }
        (
            Call::Scatter {
                bytes,
                root,
                in_place,
            },
            LeaderStar,
        ) => {
            let here = Here::with_root(hosts, rank, root);
            across::scatter::star(here, bytes, in_place, by(bytes))
        }
        (Call::Allgather { bytes, in_place }, LeaderExchange | HostRing) => {
            let block = |rank: u32| Region::receive(rank as usize * bytes, bytes);
            all_gathered(algorithm, here, in_place, block)
        }
        (Call::Allgatherv { blocks, in_place }, LeaderExchange | HostRing) => {
            let block = |rank: u32| {
                let block = blocks[rank as usize];
                Region::receive(block.offset, block.bytes)
            };
            all_gathered(algorithm, here, in_place, block)
        }
        (Call::Alltoall { bytes, in_place }, LeaderExchange) => {
            across::alltoall::exchange(here, bytes, in_place, by(bytes))
        }
        (
            Call::ReduceScatter {
                blocks,
                commutative,
                in_place,
            },
            LeaderExchange,
        ) => across::reduce_scatter::exchange(here, blocks, commutative, in_place),
        (
            Call::ReduceScatter {
                blocks,
                commutative,
                in_place,
            },
            Lanes,
        ) => across::reduce_scatter::lanes(here, blocks, commutative, in_place),
        _ => return None,
    })
}

fn all_gathered(
    algorithm: Algorithm,
    here: Here<'_>,
    in_place: bool,
    block: impl Fn(u32) -> Region,
) -> Schedule {
    match algorithm {
        Algorithm::HostRing => across::allgather::ring(here, in_place, block),
        _ => across::allgather::exchange(here, in_place, block),
    }
}
