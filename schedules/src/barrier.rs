//! Barrier: nobody leaves before everybody has entered.

use super::bcast::Tree;
use super::position::Position;
use super::schedule::{Builder, Schedule};

/// In round k every rank signals the one 2^k above it: after ⌈log₂ size⌉ rounds everybody has
/// heard, directly or not, of everybody. No root, no power of two needed, the fewest rounds
/// possible.
pub fn dissemination(position: Position) -> Schedule {
    let rounds = position.size.next_power_of_two().ilog2();
    let mut builder = Builder::with_room(rounds, 2 * rounds, 0);
    dissemination_into(&mut builder, position);
    builder.finish()
}

/// The dissemination as a phase.
pub(crate) fn dissemination_into(builder: &mut Builder, position: Position) {
    let mut distance = 1;
    while distance < position.size {
        builder.receive_signal(position.below(distance));
        builder.send_signal(position.above(distance));
        builder.end_round();
        distance *= 2;
    }
}

/// Everybody signals up a binomial tree and is released down it: 2·(size − 1) messages in total
/// instead of size·log₂ size, which wins where ranks take turns on few CPUs.
pub fn tree(position: Position) -> Schedule {
    let mut builder = Builder::for_rounds(2);
    report(&mut builder, position);
    release(&mut builder, position);
    builder.finish()
}

/// Tells the top of the tree, rank 0, that everybody is there: it has heard of all once the round
/// that this opens is over.
pub(crate) fn report(builder: &mut Builder, position: Position) {
    let tree = Tree::new(position);
    for child in tree.children() {
        builder.receive_signal(child);
    }
    builder.end_round();
    if let Some(parent) = tree.parent() {
        builder.send_signal(parent);
    }
}

/// Lets everybody go, down the same tree.
pub(crate) fn release(builder: &mut Builder, position: Position) {
    let tree = Tree::new(position);
    if let Some(parent) = tree.parent() {
        builder.receive_signal(parent);
        builder.end_round();
    }
    for child in tree.children() {
        builder.send_signal(child);
    }
}
