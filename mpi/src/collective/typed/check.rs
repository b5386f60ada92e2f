//! From a typed description to a [`Collective`], after checks in elements.
//!
//! Whatever could make a collective leave its memory is refused here, with the argument that is
//! wrong. Ranks are those that data comes from and goes to: of an intercommunicator, the remote
//! ones, whose lengths only they know.

use super::super::Neighbours;
use super::super::blocks::{blocks_to_receive, blocks_to_send, check_length, for_all};
use super::super::description::{Collective, Parts, Reduction, Root, Shares};
use super::call::Kind;
use super::sides::Given;
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::{ErrorKind, Result};
use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::Memory;
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::Op;
use oxmpi_schedules::Block;

const PER_RANK: &str = "one block as long as the other buffer for each rank";
const OWN_COUNT: &str = "the count given for this rank";
const SAME: &str = "as many elements as the send buffer";

/// The collective that a typed call describes.
///
/// # Safety
/// The memory of both sides must be there, and used by nobody else, until the collective is over.
#[inline]
pub(super) unsafe fn describe<T: Plain>(
    comm: &Comm,
    kind: Kind,
    send: Given<'_>,
    receive: Given<'_>,
    op: Option<Op>,
) -> Result<Collective, ErrorKind> {
    let reduction = |op: Option<Op>| Reduction {
        op: op.expect("a reduction has an operation"),
        // The operation knows its elements.
        datatype: Datatype::named(Basic::Byte),
    };
    // SAFETY: the caller's promise, here and in all calls of these.
    let buffer = |given: &Given<'_>| unsafe { buffer::<T>(given) };
    Ok(match kind {
        Kind::Barrier => Collective::Barrier,
        Kind::Bcast(root) => Collective::Bcast {
            buffer: buffer(&receive)?,
            root,
        },
        Kind::Allreduce => {
            same_length(&send, &receive)?;
            Collective::Allreduce {
                send: given(&send, buffer)?,
                receive: buffer(&receive)?,
                reduction: reduction(op),
            }
        }
        Kind::Scan => {
            same_length(&send, &receive)?;
            Collective::Scan {
                send: given(&send, buffer)?,
                receive: buffer(&receive)?,
                reduction: reduction(op),
            }
        }
        Kind::Exscan => {
            same_length(&send, &receive)?;
            Collective::Exscan {
                send: given(&send, buffer)?,
                receive: buffer(&receive)?,
                reduction: reduction(op),
            }
        }
        Kind::Reduce(root) => {
            let receive = at_root(comm, "receive", root, receive)?;
            if !comm.is_inter() && !matches!(receive, Given::Nothing) {
                same_length(&send, &receive)?;
            }
            Collective::Reduce {
                send: given(&send, buffer)?,
                receive: buffer(&receive)?,
                reduction: reduction(op),
                root,
            }
        }
        Kind::Gather { root, each } => {
            let receive = at_root(comm, "receive", root, receive)?;
            Collective::Gather {
                send: given(&send, buffer)?,
                // SAFETY: the caller's promise.
                receive: unsafe { all_of::<T>(comm, "receive", &receive, &send, each)? },
                root,
            }
        }
        Kind::Scatter { root, each } => {
            let send = at_root(comm, "send", root, send)?;
            Collective::Scatter {
                // SAFETY: the caller's promise.
                send: unsafe { all_of::<T>(comm, "send", &send, &receive, each)? },
                receive: given(&receive, buffer)?,
                root,
            }
        }
        Kind::Allgather => Collective::Allgather {
            send: given(&send, buffer)?,
            // SAFETY: the caller's promise.
            receive: unsafe { all_of::<T>(comm, "receive", &receive, &send, false)? },
        },
        Kind::Alltoall => {
            let peers = comm.peers;
            check_blocks(comm, &send, &receive)?;
            // SAFETY: the caller's promise.
            unsafe {
                Collective::Alltoall {
                    send: Some(parts::<T>(&send, "send", peers)?),
                    receive: parts::<T>(&receive, "receive", peers)?,
                }
            }
        }
        Kind::ReduceScatter => {
            let counts = check_shares(comm, &send, &receive)?;
            let element = size_of::<T>() as u64;
            let shares = counts.iter().map(|&count| count as u64 * element).collect();
            Collective::ReduceScatter {
                send: given(&send, buffer)?,
                receive: buffer(&receive)?,
                shares: Shares::Each(shares),
                reduction: reduction(op),
            }
        }
        Kind::ReduceScatterBlock => {
            let own = length(&receive);
            let rule = "one block as long as the receive buffer for each rank";
            check_length("send", length(&send), for_all(own, comm.size), rule)?;
            Collective::ReduceScatter {
                send: given(&send, buffer)?,
                receive: buffer(&receive)?,
                shares: Shares::Equal((own * size_of::<T>()) as u64),
                reduction: reduction(op),
            }
        }
        Kind::NeighbourAllgather => {
            let neighbours = Neighbours::of(comm)?;
            let needed = length(&send).saturating_mul(neighbours.sources.len());
            let rule = "one block as long as the send buffer for each neighbour";
            check_length("receive", length(&receive), needed, rule)?;
            Collective::NeighbourAllgather {
                send: buffer(&send)?,
                receive: Parts::Equal(buffer(&receive)?),
                neighbours,
            }
        }
        Kind::NeighbourAlltoall => {
            let neighbours = Neighbours::of(comm)?;
            let (to, from) = (neighbours.destinations.len(), neighbours.sources.len());
            check_neighbours(&send, &receive, to, from)?;
            // SAFETY: the caller's promise.
            unsafe {
                Collective::NeighbourAlltoall {
                    send: parts::<T>(&send, "send", to as u32)?,
                    receive: parts::<T>(&receive, "receive", from as u32)?,
                    neighbours,
                }
            }
        }
    })
}

/// Elements of a side, blocks or not.
#[inline]
fn length(given: &Given<'_>) -> usize {
    match given {
        Given::Nothing => 0,
        Given::Whole(memory) | Given::Blocks(memory, ..) => memory.elements,
        Given::Each(all) => all.iter().map(|memory| memory.elements).sum(),
    }
}

/// # Safety
/// As [`describe`].
#[inline]
unsafe fn buffer<T: Plain>(given: &Given<'_>) -> Result<Buffer, ErrorKind> {
    Ok(match given {
        Given::Nothing => Buffer::empty(),
        // SAFETY: the caller's promise.
        Given::Whole(memory) | Given::Blocks(memory, ..) => unsafe { Buffer::of::<T>(memory)? },
        Given::Each(_) => unreachable!("memory for each rank is never asked for as one"),
    })
}

/// A side that may lie in place.
#[inline]
fn given(
    given: &Given<'_>,
    buffer: impl FnOnce(&Given<'_>) -> Result<Buffer, ErrorKind>,
) -> Result<Option<Buffer>, ErrorKind> {
    match given {
        Given::Nothing => Ok(None),
        given => buffer(given).map(Some),
    }
}

/// Blocks for or from several ranks.
///
/// # Safety
/// As [`describe`].
unsafe fn parts<T: Plain>(
    given: &Given<'_>,
    side: &'static str,
    ranks: u32,
) -> Result<Parts, ErrorKind> {
    if let Given::Each(all) = given {
        if all.len() != ranks as usize {
            let (list, got, size) = (side, all.len(), ranks);
            return Err(ErrorKind::PerRank { list, got, size });
        }
        // SAFETY: the caller's promise.
        let buffers = all.iter().map(|memory| unsafe { Buffer::of::<T>(memory) });
        return Ok(Parts::Each(buffers.collect::<Result<_, _>>()?));
    }
    let Given::Blocks(memory, counts, displacements) = given else {
        // SAFETY: the caller's promise.
        return Ok(Parts::Equal(unsafe { buffer::<T>(given)? }));
    };
    let (length, element) = (memory.elements, size_of::<T>());
    let blocks = match side {
        "send" => blocks_to_send(length, counts, displacements, ranks, element)?,
        _ => blocks_to_receive(length, counts, displacements, ranks, element)?,
    };
    let part = |Block { offset, bytes }: Block| {
        let memory = Memory {
            address: memory.address.wrapping_add(offset),
            elements: bytes / element.max(1),
            layout: None,
        };
        // SAFETY: the caller's promise; the block lies inside the memory, which is a slice.
        unsafe { Buffer::of::<T>(&memory) }
    };
    let parts: Result<Vec<Buffer>, _> = blocks.into_iter().map(part).collect();
    Ok(Parts::Each(parts?))
}

/// A block of every rank on one side and the own one on the other.
///
/// # Safety
/// As [`describe`].
unsafe fn all_of<T: Plain>(
    comm: &Comm,
    side: &'static str,
    all: &Given<'_>,
    own: &Given<'_>,
    each: bool,
) -> Result<Parts, ErrorKind> {
    let other = match side {
        "send" => "receive",
        _ => "send",
    };
    match all {
        Given::Nothing if each => return Ok(Parts::Each(Vec::new())),
        Given::Nothing => {}
        Given::Whole(memory) if comm.is_inter() => check_divisible(comm, side, memory.elements)?,
        Given::Whole(memory) => {
            let needed = for_all(length(own), comm.size);
            check_length(side, memory.elements, needed, PER_RANK)?;
        }
        // Counts of a wrong number are told first.
        Given::Blocks(..) => {}
        Given::Each(_) => unreachable!("only an alltoall has memory for each rank"),
    }
    // SAFETY: the caller's promise.
    let parts = unsafe { parts::<T>(all, side, comm.peers)? };
    if let Given::Blocks(_, counts, _) = all
        && !comm.is_inter()
    {
        check_length(other, length(own), counts[comm.rank as usize], OWN_COUNT)?;
    }
    Ok(parts)
}

fn check_divisible(comm: &Comm, side: &'static str, elements: usize) -> Result<(), ErrorKind> {
    let peers = comm.peers as usize;
    let rule = "a whole number of elements for each rank";
    check_length(side, elements, elements / peers * peers, rule)
}

/// Of blocks that every rank exchanges with every other.
fn check_blocks(comm: &Comm, send: &Given<'_>, receive: &Given<'_>) -> Result<(), ErrorKind> {
    let own = |given: &Given<'_>| match given {
        Given::Blocks(_, counts, _) => Some(counts.get(comm.rank as usize).copied()),
        // Of lists that are too short or too long, that is told.
        Given::Each(all) if all.len() != comm.peers as usize => Some(None),
        Given::Each(all) => Some(all.get(comm.rank as usize).map(|memory| memory.elements)),
        _ => None,
    };
    if let (Some(sent), Some(received)) = (own(send), own(receive)) {
        let rule = "what this rank sends to itself must be what it expects from itself";
        return match (sent, received) {
            (Some(sent), Some(received)) if !comm.is_inter() => {
                check_length("receive", received, sent, rule)
            }
            _ => Ok(()),
        };
    }
    check_divisible(comm, "send", length(send))?;
    if comm.is_inter() {
        return check_divisible(comm, "receive", length(receive));
    }
    let rule = "as many elements as are sent";
    check_length("receive", length(receive), length(send), rule)
}

fn check_neighbours(
    send: &Given<'_>,
    receive: &Given<'_>,
    to: usize,
    from: usize,
) -> Result<(), ErrorKind> {
    let entries = |list: &'static str, got: usize, neighbours: usize| match got == neighbours {
        true => Ok(()),
        false => Err(ErrorKind::PerNeighbour {
            list,
            got,
            neighbours,
        }),
    };
    if let (Given::Each(sent), Given::Each(received)) = (send, receive) {
        entries("send", sent.len(), to)?;
        return entries("receive", received.len(), from);
    }
    if let (Given::Blocks(_, sent, places), Given::Blocks(_, received, at)) = (send, receive) {
        entries("send_counts", sent.len(), to)?;
        entries("send_displacements", places.len(), to)?;
        entries("receive_counts", received.len(), from)?;
        return entries("receive_displacements", at.len(), from);
    }
    let block = length(send) / to.max(1);
    let rule = "a whole number of elements for each neighbour";
    check_length("send", length(send), block * to, rule)?;
    // Whoever has nobody to send to cannot tell the length of a block.
    let needed = match to {
        0 => length(receive) / from.max(1) * from,
        _ => block.saturating_mul(from),
    };
    let rule = "one block as long as those that are sent for each neighbour";
    check_length("receive", length(receive), needed, rule)
}

/// The counts of a reduce_scatter, which stand on its send side.
fn check_shares<'a>(
    comm: &Comm,
    send: &Given<'a>,
    receive: &Given<'_>,
) -> Result<&'a [usize], ErrorKind> {
    let Given::Blocks(_, counts, _) = *send else {
        unreachable!("its description has counts")
    };
    let size = comm.size;
    if counts.len() != size as usize {
        let (list, got) = ("counts", counts.len());
        return Err(ErrorKind::PerRank { list, got, size });
    }
    let total = counts
        .iter()
        .fold(0usize, |sum, &count| sum.saturating_add(count));
    check_length("send", length(send), total, "the sum of all counts")?;
    let own = counts[comm.rank as usize];
    check_length("receive", length(receive), own, OWN_COUNT)?;
    Ok(counts)
}

/// Nothing given means in place.
#[inline]
fn same_length(send: &Given<'_>, receive: &Given<'_>) -> Result<(), ErrorKind> {
    match send {
        Given::Nothing => Ok(()),
        send => check_length("receive", length(receive), length(send), SAME),
    }
}

/// The buffer that only the root gives, after a check that there is such a root; elsewhere it is
/// ignored.
fn at_root<'a>(
    comm: &Comm,
    buffer: &'static str,
    root: Root,
    given: Given<'a>,
) -> Result<Given<'a>, ErrorKind> {
    let is_root = match root {
        Root::Rank(rank) => {
            comm.check_rank("root", rank)?;
            rank == comm.rank && !comm.is_inter()
        }
        Root::This => true,
        Root::Nobody => false,
    };
    match given {
        _ if !is_root => Ok(Given::Nothing),
        Given::Nothing => Err(ErrorKind::RootBuffer {
            buffer,
            root: comm.rank,
        }),
        given => Ok(given),
    }
}
