//! Collectives of neighbourhoods: one round of messages along the edges of a graph (MPI 5.0 §8.6).
//!
//! Two ranks may share several edges, and all their messages look alike: the first one sent is the
//! first one received. So receives stand in the order in which the other side sends. In a graph
//! that is the order of the edges; in a grid what a rank sends down arrives at the other rank from
//! above, so there the receive from above comes first in each dimension.

use super::schedule::{Builder, Region, Schedule};

/// The schedule of a rank with these neighbours. `send` and `receive` tell where the block of an
/// edge lies.
pub fn exchange(
    rank: u32,
    sources: &[Option<u32>],
    destinations: &[Option<u32>],
    grid: bool,
    send: impl Fn(u32) -> Region,
    receive: impl Fn(u32) -> Region,
) -> Schedule {
    let edges = (sources.len() + destinations.len()) as u32;
    let mut builder = Builder::with_room(1, edges, 0);
    // Edges of a rank with itself are copies, matched by the same rule as messages.
    let mut from_here: Vec<Region> = Vec::new();
    for index in receive_order(sources.len() as u32, grid) {
        match sources[index as usize] {
            Some(source) if source == rank => from_here.push(receive(index)),
            Some(source) => builder.receive(source, receive(index)),
            None => {}
        }
    }
    let mut to_here: Vec<Region> = Vec::new();
    for (destination, index) in destinations.iter().zip(0..) {
        match *destination {
            Some(destination) if destination == rank => to_here.push(send(index)),
            Some(destination) => builder.send(destination, send(index)),
            None => {}
        }
    }
    for (from, to) in to_here.into_iter().zip(from_here) {
        // A program whose two ends of an edge disagree gets what both have room for.
        let bytes = from.bytes.min(to.bytes);
        builder.copy(from.part(0, bytes), to.part(0, bytes));
    }
    builder.finish()
}

fn receive_order(count: u32, grid: bool) -> impl Iterator<Item = u32> {
    (0..count).map(move |index| if grid { index ^ 1 } else { index })
}
