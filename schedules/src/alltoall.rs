//! Alltoall and alltoallv: block j of rank i becomes block i of rank j. Input: `Send`, output:
//! `Receive`, a block per rank in each. In place: `Receive` holds the blocks before and after.

use super::cut::Block;
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};

/// Bruck's scheme: ⌈log₂ size⌉ rounds in which half of all blocks travel 2^k ranks up, instead of
/// size − 1 messages; each block is copied log₂ size times. For tiny blocks and many ranks.
pub fn bruck(position: Position, bytes: usize, in_place: bool) -> Schedule {
    let (size, rounds) = (position.size, position.size.next_power_of_two().ilog2());
    let source = |rank: u32| {
        let offset = rank as usize * bytes;
        if in_place {
            Region::receive(offset, bytes)
        } else {
            Region::send(offset, bytes)
        }
    };
    let result = |rank: u32| Region::receive(rank as usize * bytes, bytes);
    let mut builder = Builder::with_room(rounds + 2, 2 * rounds, 3 * size);
    if size == 1 {
        builder.copy(source(0), result(0));
        return builder.finish();
    }
    // Block i of the working memory is on its way to the rank i above the one that it started from.
    let turned = builder.scratch(size as usize * bytes);
    let outgoing = builder.scratch(size.div_ceil(2) as usize * bytes);
    let incoming = builder.scratch(size.div_ceil(2) as usize * bytes);
    let block = |index: u32| turned.part(index as usize * bytes, bytes);
    for index in 0..size {
        builder.copy(source(position.above(index)), block(index));
    }
    for level in 0..rounds {
        let travels = |index: &u32| index >> level & 1 == 1;
        let mut packed = 0;
        for index in (0..size).filter(travels) {
            builder.copy(block(index), outgoing.part(packed, bytes));
            packed += bytes;
        }
        builder.receive(position.below(1 << level), incoming.part(0, packed));
        builder.send(position.above(1 << level), outgoing.part(0, packed));
        let mut unpacked = 0;
        for index in (0..size).filter(travels) {
            builder.copy(incoming.part(unpacked, bytes), block(index));
            unpacked += bytes;
        }
    }
    for index in 0..size {
        builder.copy(block(index), result(position.below(index)));
    }
    builder.finish()
}

/// Straight between all pairs, at most `window` partners at a time, everybody starting with another
/// one.
pub fn pairwise(position: Position, bytes: usize, in_place: bool, window: u32) -> Schedule {
    let block = |rank: u32| Block {
        offset: rank as usize * bytes,
        bytes,
    };
    if in_place {
        exchange_into(position, block, bytes, window)
    } else {
        pairwise_into(position, block, block, window)
    }
}

/// [`pairwise`] for blocks of any size and place. In place `send` is not looked at: what goes to a
/// rank lies where what comes from it will lie, and has the same size.
pub fn pairwise_blocks(
    position: Position,
    send: &[Block],
    receive: &[Block],
    in_place: bool,
    window: u32,
) -> Schedule {
    if in_place {
        let largest = receive.iter().map(|block| block.bytes).max().unwrap_or(0);
        exchange_into(position, |rank| receive[rank as usize], largest, window)
    } else {
        pairwise_into(
            position,
            |rank| send[rank as usize],
            |rank| receive[rank as usize],
            window,
        )
    }
}

fn pairwise_into(
    position: Position,
    send: impl Fn(u32) -> Block,
    receive: impl Fn(u32) -> Block,
    window: u32,
) -> Schedule {
    let outgoing = |rank: u32| Region::send(send(rank).offset, send(rank).bytes);
    let incoming = |rank: u32| Region::receive(receive(rank).offset, receive(rank).bytes);
    let (peers, window) = (position.size - 1, window.max(1));
    let mut builder = Builder::with_room(1 + peers.div_ceil(window), 2 * peers, 1);
    let mut distance = 1;
    while distance < position.size {
        let end = position.size.min(distance.saturating_add(window));
        for distance in distance..end {
            builder.receive(position.below(distance), incoming(position.below(distance)));
        }
        for distance in distance..end {
            builder.send(position.above(distance), outgoing(position.above(distance)));
        }
        builder.end_round();
        distance = end;
    }
    builder.copy(outgoing(position.rank), incoming(position.rank));
    builder.finish()
}

/// In place two ranks must swap blocks with each other, not in a circle: in step s rank r meets the
/// rank s − r (modulo size), which for its part meets r.
fn exchange_into(
    position: Position,
    block: impl Fn(u32) -> Block,
    largest: usize,
    window: u32,
) -> Schedule {
    let (size, window) = (position.size, window.clamp(1, position.size));
    let mut builder = Builder::with_room(1 + size.div_ceil(window), 2 * size, size);
    let landing = builder.scratch(if size > 1 {
        window as usize * largest
    } else {
        0
    });
    let mut step = 0;
    while step < size {
        let end = size.min(step + window);
        let partners = (step..end).map(|step| Position { rank: step, size }.below(position.rank));
        let partners = partners
            .enumerate()
            .filter(|(_, partner)| *partner != position.rank);
        let landing = |slot: usize, rank: u32| landing.part(slot * largest, block(rank).bytes);
        let place = |rank: u32| Region::receive(block(rank).offset, block(rank).bytes);
        for (slot, partner) in partners.clone() {
            builder.receive(partner, landing(slot, partner));
        }
        for (_, partner) in partners.clone() {
            builder.send(partner, place(partner));
        }
        for (slot, partner) in partners {
            builder.copy(landing(slot, partner), place(partner));
        }
        builder.end_round();
        step = end;
    }
    builder.finish()
}
