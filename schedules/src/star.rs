//! The star: the root exchanges one block with every other rank, at most `window` at a time. Gather
//! is the star whose root receives, scatter the one whose root sends; they differ in nothing else.

use super::position::Position;
use super::schedule::{Builder, Direction, Region, Schedule};

/// The schedule of a star. `root_does` says which way the root's blocks go; `own` is the block of a
/// rank that is not the root, as that rank (or the root for itself) names it; `block` is where a
/// rank's block lies at the root, asked only there.
pub fn star(
    root_does: Direction,
    position: Position,
    root: u32,
    own: Region,
    block: impl Fn(u32) -> Region,
    in_place: bool,
    window: u32,
) -> Schedule {
    assert!(
        root < position.size,
        "root {root} is outside a communicator of {}",
        position.size
    );
    if position.rank != root {
        let mut builder = Builder::with_room(1, 1, 0);
        match root_does {
            Direction::Receive => builder.send(root, own),
            Direction::Send => builder.receive(root, own),
        }
        return builder.finish();
    }
    let peers = position.size - 1;
    let mut builder = Builder::with_room(1 + peers / window.max(1), peers, 1);
    for distance in 1..position.size {
        let peer = position.above(distance);
        match root_does {
            Direction::Receive => builder.receive(peer, block(peer)),
            Direction::Send => builder.send(peer, block(peer)),
        }
        if distance % window.max(1) == 0 {
            builder.end_round();
        }
    }
    if !in_place {
        match root_does {
            Direction::Receive => builder.copy(own, block(root)),
            Direction::Send => builder.copy(block(root), own),
        }
    }
    builder.finish()
}
