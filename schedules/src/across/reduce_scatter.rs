//! Reduce-scatter across hosts. Input: the whole vector in `Send`; output: the own block at the
//! start of `Receive`. In place: the whole vector lies in `Receive`, whose rest is used up.
//! Operations that do not commute need ranks in host order.

use super::super::Vector;
use super::super::allreduce::recursive_doubling_into;
use super::super::choose::partners;
use super::super::reduce::up_tree;
use super::super::reduce_scatter::{Blocks, pairwise_into};
use super::super::schedule::{Builder, Region, Schedule};
use super::Here;

fn whole(here: Here<'_>, blocks: Blocks<'_>, in_place: bool) -> Region {
    let total = blocks.total(here.hosts.ranks());
    if in_place {
        Region::receive(0, total)
    } else {
        Region::send(0, total)
    }
}

/// Leaders combine the whole vector among themselves by recursive doubling, and deal out its
/// blocks: ⌈log₂ hosts⌉ rounds between hosts. For vectors that are mostly latency.
pub fn exchange(here: Here<'_>, blocks: Blocks<'_>, commutative: bool, in_place: bool) -> Schedule {
    let own = whole(here, blocks, in_place);
    // Nothing is cut here, so the size of an element does not matter.
    let vector = Vector {
        own,
        element_bytes: 1,
        commutative,
    };
    let block = |rank: u32| blocks.span(rank, rank + 1);
    let result = Region::receive(0, block(here.rank).bytes);
    let mut builder = Builder::for_rounds(4 + here.hosts.count().ilog2());
    let local = here.on_host(&mut builder, |builder, position| {
        up_tree(builder, position, here.top(), vector, None)
    });
    builder.end_round();
    if !here.is_leader() {
        builder.receive(here.leader(here.host()), result);
        return builder.finish();
    }
    let combined = builder.scratch(own.bytes);
    here.between_leaders(&mut builder, |builder, position| {
        recursive_doubling_into(builder, position, vector.at(local), combined);
    });
    builder.end_round();
    let share = |rank| combined.part(block(rank).offset, block(rank).bytes);
    for &rank in here.members().iter().filter(|rank| **rank != here.rank) {
        builder.send(rank, share(rank));
    }
    builder.copy(share(here.rank), result);
    builder.finish()
}

/// In lanes: the ranks of a host divide all blocks among themselves, so that a block's counterparts
/// of its owner combine it, each on its host, and send it to the owner. Every block comes to its
/// owner once from each other host: the least possible.
pub fn lanes(here: Here<'_>, blocks: Blocks<'_>, commutative: bool, in_place: bool) -> Schedule {
    let hosts = here.hosts;
    let vector = whole(here, blocks, in_place);
    let block = |rank: u32| {
        let block = blocks.span(rank, rank + 1);
        vector.part(block.offset, block.bytes)
    };
    let width = here.local().size;
    // What the rank with that index on this host takes care of, in host order.
    let owners = |index: u32| {
        (0..hosts.count()).flat_map(move |host| {
            let members = hosts.members(host).iter().copied();
            members.skip(index as usize).step_by(width as usize)
        })
    };
    let own_index = here.local().rank;
    let bytes: usize = owners(own_index).map(|owner| block(owner).bytes).sum();
    let mut builder = Builder::default();
    let home = builder.scratch(bytes);
    // A partner means as many messages as there are owners.
    let window = partners(here.local(), bytes) / owners(own_index).count() as u32;
    let combined = here.on_host(&mut builder, |builder, position| {
        let pieces = |index| owners(index).map(block);
        pairwise_into(builder, position, pieces, home, commutative, window.max(1))
    });
    builder.end_round();

    let own = block(here.rank).bytes;
    let slots = builder.scratch(hosts.count() as usize * own);
    let slot = |host: u32| slots.part(host as usize * own, own);
    let mut at = 0;
    let shares = owners(own_index).map(|owner| {
        at += block(owner).bytes;
        (
            owner,
            combined.part(at - block(owner).bytes, block(owner).bytes),
        )
    });
    let shares: Vec<(u32, Region)> = shares.collect();
    let of_host = |host: u32| {
        let before = |host| shares.partition_point(|(owner, _)| hosts.host_of(*owner) < host);
        &shares[before(host)..before(host + 1)]
    };
    let (_, mine) = of_host(here.host())[0];
    let position = here.among_hosts();
    let window = partners(position, own);
    for distance in 1..position.size {
        let below = position.below(distance);
        let counterparts = hosts.members(below);
        let counterpart = counterparts[own_index as usize % counterparts.len()];
        builder.receive(counterpart, slot(below));
        for &(owner, share) in of_host(position.above(distance)) {
            builder.send(owner, share);
        }
        if distance % window == 0 {
            builder.end_round();
        }
    }
    // From the right, because an operation combines its input from the left.
    let contribution = |host| {
        if host == here.host() {
            mine
        } else {
            slot(host)
        }
    };
    let last = contribution(hosts.count() - 1);
    for host in (0..hosts.count() - 1).rev() {
        builder.reduce(contribution(host), last);
    }
    builder.copy(last, Region::receive(0, own));
    builder.finish()
}
