//! Collectives of an intercommunicator: two groups, and what one of them gives the other gets (MPI
//! 5.0 §6.2.3).
//!
//! Schedules name ranks of both groups together: one group's ranks come first, the other's after
//! them. The barrier of both groups is the ordinary one. Data crosses between the groups directly;
//! where a whole group's vectors are combined for all of the other group, the first rank of the
//! receiving group (its leader) does it and deals out the result.

use super::cut::Block;
use super::reduce_scatter::Blocks;
use super::schedule::{Builder, Region, Schedule};

/// One of the groups, as ranks of both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its first rank.
    pub first: u32,
    /// Its size.
    pub size: u32,
}

impl Side {
    fn ranks(self) -> std::ops::Range<u32> {
        self.first..self.first + self.size
    }
}

/// A process and the two groups as it sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The process, as a rank of both groups together.
    pub rank: u32,
    /// The group it belongs to.
    pub local: Side,
    /// The other one.
    pub remote: Side,
}

/// What a process is in a rooted collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The root: it deals with all of the remote group.
    Root,
    /// A process of the other group: it deals with the root, a rank of both groups together.
    Opposite(u32),
    /// Another process of the root's group: it has nothing to do.
    Bystander,
}

impl Groups {
    /// Everybody, for a process with that rank in a local group that stands first or second.
    pub fn new(rank: u32, local_size: u32, remote_size: u32, local_is_first: bool) -> Groups {
        let (local, remote) = if local_is_first {
            (0, local_size)
        } else {
            (remote_size, 0)
        };
        Groups {
            rank: local + rank,
            local: Side {
                first: local,
                size: local_size,
            },
            remote: Side {
                first: remote,
                size: remote_size,
            },
        }
    }

    fn is_leader(&self) -> bool {
        self.rank == self.local.first
    }
}

/// The root's data, which lies in `Receive`, for everybody in the other group.
pub fn bcast(groups: Groups, role: Role, bytes: usize) -> Schedule {
    let data = Region::receive(0, bytes);
    scatter(groups, role, data, |_| data)
}

/// The block of every remote process for the root. `own` is the block that a process of the other
/// group sends, `block` where the block of a remote rank belongs at the root.
pub fn gather(groups: Groups, role: Role, own: Region, block: impl Fn(u32) -> Region) -> Schedule {
    let mut builder = Builder::with_room(1, groups.remote.size, 0);
    match role {
        Role::Root => {
            for (peer, rank) in groups.remote.ranks().zip(0..) {
                builder.receive(peer, block(rank));
            }
        }
        Role::Opposite(root) => builder.send(root, own),
        Role::Bystander => {}
    }
    builder.finish()
}

/// A block of the root's for every remote process; as [`gather`], the other way round.
pub fn scatter(groups: Groups, role: Role, own: Region, block: impl Fn(u32) -> Region) -> Schedule {
    let mut builder = Builder::with_room(1, groups.remote.size, 0);
    match role {
        Role::Root => {
            for (peer, rank) in groups.remote.ranks().zip(0..) {
                builder.send(peer, block(rank));
            }
        }
        Role::Opposite(root) => builder.receive(root, own),
        Role::Bystander => {}
    }
    builder.finish()
}

/// A block for every remote rank and one from each: alltoall, and allgather where all blocks to
/// send are the same.
pub fn alltoall(
    groups: Groups,
    send: impl Fn(u32) -> Region,
    receive: impl Fn(u32) -> Region,
) -> Schedule {
    let mut builder = Builder::with_room(1, 2 * groups.remote.size, 0);
    for (peer, rank) in groups.remote.ranks().zip(0..) {
        builder.receive(peer, receive(rank));
    }
    // Everybody begins with another peer, so that nobody is sent to by all at once.
    let size = groups.remote.size;
    for step in 0..size {
        let rank = (groups.rank - groups.local.first + step) % size;
        builder.send(groups.remote.first + rank, send(rank));
    }
    builder.finish()
}

/// The combination of the remote group's vectors, in the order of its ranks, for the root. Input:
/// `Send`; output: `Receive`.
pub fn reduce(groups: Groups, role: Role, bytes: usize) -> Schedule {
    let mut builder = Builder::default();
    match role {
        Role::Root => {
            let vectors = receive_vectors(&mut builder, groups, bytes);
            let combined = combine(&mut builder, &vectors);
            builder.copy(combined, Region::receive(0, bytes));
        }
        Role::Opposite(root) => builder.send(root, Region::send(0, bytes)),
        Role::Bystander => {}
    }
    builder.finish()
}

/// The combination of the remote group's vectors for everybody. Input: `Send`; output: `Receive`.
pub fn allreduce(groups: Groups, bytes: usize) -> Schedule {
    through_leader(groups, bytes, |_| Block { offset: 0, bytes })
}

/// The combination of the remote group's vectors, dealt out in `blocks` over the local group. Both
/// groups' vectors have the same length. Input: `Send`; output: the own block at the start of
/// `Receive`.
pub fn reduce_scatter(groups: Groups, blocks: Blocks<'_>) -> Schedule {
    let bytes = blocks.total(groups.local.size);
    through_leader(groups, bytes, |rank| blocks.span(rank, rank + 1))
}

/// Everybody's vector goes to the leader of the other group, which combines them and gives
/// everybody of its own group its share, at the start of `Receive`. The leaders' receives are all
/// there before anybody waits, so they cannot wait for each other.
fn through_leader(groups: Groups, bytes: usize, share: impl Fn(u32) -> Block) -> Schedule {
    let mut builder = Builder::default();
    let own = share(groups.rank - groups.local.first);
    let result = Region::receive(0, own.bytes);
    if !groups.is_leader() {
        builder.send(groups.remote.first, Region::send(0, bytes));
        builder.receive(groups.local.first, result);
        return builder.finish();
    }
    let vectors = receive_vectors(&mut builder, groups, bytes);
    builder.send(groups.remote.first, Region::send(0, bytes));
    let combined = combine(&mut builder, &vectors);
    builder.copy(combined.part(own.offset, own.bytes), result);
    for (peer, rank) in groups.local.ranks().zip(0..) {
        if peer != groups.rank {
            let Block { offset, bytes } = share(rank);
            builder.send(peer, combined.part(offset, bytes));
        }
    }
    builder.finish()
}

/// Receives the vector of every remote rank into memory of its own.
fn receive_vectors(builder: &mut Builder, groups: Groups, bytes: usize) -> Vec<Region> {
    let mut receive = |peer| {
        let landing = builder.scratch(bytes);
        builder.receive(peer, landing);
        landing
    };
    groups.remote.ranks().map(&mut receive).collect()
}

/// Combines the vectors in order and tells where the result is: in the last one, the others are
/// used up.
fn combine(builder: &mut Builder, vectors: &[Region]) -> Region {
    let (last, before) = vectors.split_last().expect("no group is empty");
    // From the right, because an operation combines its input from the left.
    for vector in before.iter().rev() {
        builder.reduce(*vector, *last);
    }
    *last
}
