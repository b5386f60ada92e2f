//! Reduce across hosts. Input: `Send`; output: `Receive` at the root, which is named nowhere else.
//! In place (root only): the root's input lies in `Receive`. Operations that do not commute need
//! ranks in host order.

use super::super::choose::partners;
use super::super::reduce::{scatter_gather_into, up_tree};
use super::super::schedule::{Builder, Region, Schedule};
use super::super::{Hosts, Operand};
use super::Here;
use super::lanes::Lanes;

/// Up a tree on every host to its leader, and up a tree of leaders: hosts − 1 messages between
/// hosts. In rank order one more hop when the root is not rank 0.
pub fn tree(hosts: &Hosts, rank: u32, operand: Operand, root: u32) -> Schedule {
    let here = if operand.commutative {
        Here::with_root(hosts, rank, root)
    } else {
        Here::new(hosts, rank)
    };
    let vector = operand.vector();
    let result = Region::receive(0, operand.bytes);
    let top = here.leader(here.top_host());
    let home = (rank == root && rank == top).then_some(result);
    let mut builder = Builder::for_rounds(4);
    let local = here.on_host(&mut builder, |builder, position| {
        up_tree(builder, position, here.top(), vector, None)
    });
    let combined = here.between_leaders(&mut builder, |builder, position| {
        up_tree(builder, position, here.top_host(), vector.at(local), home)
    });
    if root != top {
        builder.end_round();
        if rank == root {
            builder.receive(top, result);
        } else if let Some(combined) = combined.filter(|_| rank == top) {
            builder.send(root, combined);
        }
    }
    builder.finish()
}

/// In lanes: each combines its part of the vector on its host, then with its counterparts, and
/// hands it to the root.
pub fn lanes(hosts: &Hosts, rank: u32, operand: Operand, root: u32) -> Schedule {
    let here = Here::new(hosts, rank);
    let (host, root_host) = (here.host(), hosts.host_of(root));
    let lanes = Lanes::new(here, &operand);
    let result = Region::receive(0, operand.bytes);
    let mut builder = Builder::for_rounds(6 + 2 * hosts.count().ilog2());
    let own = lanes.own();
    // Only the root has room of the program's for the result.
    let home = if rank == root {
        result.part(own.offset, own.bytes)
    } else {
        builder.scratch(own.bytes)
    };
    let window = partners(here.local(), own.bytes);
    let combined = lanes.combine(&mut builder, operand.vector(), home, window);
    lanes.between_hosts(&mut builder, |builder, position| {
        let vector = operand.vector().at(combined);
        scatter_gather_into(builder, position, root_host, vector, Some(home));
    });
    builder.end_round();
    if rank == root {
        for (peer, part) in lanes.others() {
            builder.receive(peer, result.part(part.offset, part.bytes));
        }
    } else if host == root_host {
        builder.send(root, home);
    }
    builder.finish()
}
