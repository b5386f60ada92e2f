//! Allreduce across hosts. Input: `Send`; output: `Receive`. In place: the input lies in `Receive`.
//! Operations that do not commute need ranks in host order.

use super::super::allreduce::{halving_doubling_into, recursive_doubling_into};
use super::super::bcast::binomial_into;
use super::super::choose::partners;
use super::super::position::Position;
use super::super::reduce::up_tree;
use super::super::schedule::{Builder, Region, Schedule};
use super::super::{Operand, Vector};
use super::Here;
use super::lanes::Lanes;

/// Leaders exchange what their hosts have combined by recursive doubling: ⌈log₂ hosts⌉ rounds
/// between hosts, the fewest.
pub fn exchange(here: Here<'_>, operand: Operand) -> Schedule {
    around(here, operand, recursive_doubling_into)
}

/// Up a tree of leaders and down again: 2·(hosts − 1) messages between hosts, the fewest.
pub fn tree(here: Here<'_>, operand: Operand) -> Schedule {
    around(here, operand, tree_of_leaders)
}

/// How leaders combine what their hosts have combined, in a tree.
pub(super) fn tree_of_leaders(
    builder: &mut Builder,
    position: Position,
    vector: Vector,
    result: Region,
) {
    let home = (position.rank == 0).then_some(result);
    up_tree(builder, position, 0, vector, home);
    builder.end_round();
    binomial_into(builder, position, 0, result);
}

fn around(
    here: Here<'_>,
    operand: Operand,
    meet: impl FnOnce(&mut Builder, Position, Vector, Region),
) -> Schedule {
    let (vector, result) = (operand.vector(), Region::receive(0, operand.bytes));
    let mut builder = Builder::for_rounds(4 + here.hosts.count().ilog2());
    let local = here.on_host(&mut builder, |builder, position| {
        up_tree(builder, position, here.top(), vector, None)
    });
    here.between_leaders(&mut builder, |builder, position| {
        meet(builder, position, vector.at(local), result);
    });
    builder.end_round();
    here.on_host(&mut builder, |builder, position| {
        binomial_into(builder, position, here.top(), result);
    });
    builder.finish()
}

/// In lanes: each combines its part of the vector on its host, then with its counterparts by
/// halving and doubling, and gives it to all ranks of its host. Between hosts the least possible
/// moves, in as many conversations as there are lanes.
pub fn lanes(here: Here<'_>, operand: Operand) -> Schedule {
    let lanes = Lanes::new(here, &operand);
    let result = Region::receive(0, operand.bytes);
    let own = lanes.own();
    let home = result.part(own.offset, own.bytes);
    let mut builder = Builder::for_rounds(6 + 2 * here.hosts.count().ilog2());
    let window = partners(here.local(), own.bytes);
    let combined = lanes.combine(&mut builder, operand.vector(), home, window);
    lanes.between_hosts(&mut builder, |builder, position| {
        halving_doubling_into(builder, position, operand.vector().at(combined), home);
    });
    builder.end_round();
    for (peer, part) in lanes.others() {
        builder.receive(peer, result.part(part.offset, part.bytes));
    }
    for &peer in here.members() {
        if peer != here.rank {
            builder.send(peer, home);
        }
    }
    builder.finish()
}
