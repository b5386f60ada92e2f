//! Barrier across hosts: everybody reports to its leader, leaders meet, everybody is released.

use super::super::barrier::{dissemination_into, release, report};
use super::super::position::Position;
use super::super::schedule::{Builder, Schedule};
use super::Here;

/// Leaders meet by dissemination: ⌈log₂ hosts⌉ rounds between hosts, the fewest.
pub fn exchange(here: Here<'_>) -> Schedule {
    around(here, dissemination_into)
}

/// Leaders meet in a tree: 2·(hosts − 1) messages between hosts, the fewest.
pub fn tree(here: Here<'_>) -> Schedule {
    around(here, tree_of_leaders)
}

/// How leaders meet in a tree.
pub(super) fn tree_of_leaders(builder: &mut Builder, position: Position) {
    report(builder, position);
    release(builder, position);
}

fn around(here: Here<'_>, meet: impl FnOnce(&mut Builder, Position)) -> Schedule {
    let mut builder = Builder::for_rounds(2 + here.hosts.count().ilog2());
    here.on_host(&mut builder, report);
    here.between_leaders(&mut builder, meet);
    here.on_host(&mut builder, release);
    builder.finish()
}
