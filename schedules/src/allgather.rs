//! Allgather and allgatherv: everybody's block to everybody. Input: `Send`, one block; output: all
//! blocks in `Receive`. In place: the own block already lies where it belongs in `Receive`.
//!
//! The phases take functions from block numbers to regions, so equal blocks, given blocks and the
//! parts of a broadcast all use them.

use super::cut::Block;
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};

/// Passes blocks around a ring: size − 1 rounds, each byte travels only between neighbours, no
/// extra copy.
pub fn ring(position: Position, bytes: usize, in_place: bool) -> Schedule {
    let rounds = position.size - 1;
    let mut builder = Builder::with_room(rounds + 1, 2 * rounds, 1);
    let own = (!in_place).then(|| Region::send(0, bytes));
    ring_into(
        &mut builder,
        position,
        |rank| rank,
        |index| equal(index, bytes),
        own,
    );
    builder.finish()
}

/// Doubles the number of known blocks in every round, straight in the output; powers of two only.
pub fn recursive_doubling(position: Position, bytes: usize, in_place: bool) -> Schedule {
    assert!(
        position.size.is_power_of_two(),
        "recursive doubling with {} ranks",
        position.size
    );
    let rounds = position.size.ilog2();
    let mut builder = Builder::with_room(rounds + 1, 2 * rounds, 1);
    let own = (!in_place).then(|| Region::send(0, bytes));
    let blocks = |first: u32, end: u32| {
        Region::receive(first as usize * bytes, (end - first) as usize * bytes)
    };
    doubling_into(&mut builder, position, |rank| rank, blocks, own);
    builder.finish()
}

/// Bruck's scheme: ⌈log₂ size⌉ rounds for any size, at the price of collecting in scratch (own
/// block first) and turning the blocks into order at the end.
pub fn bruck(position: Position, bytes: usize, in_place: bool) -> Schedule {
    let start = |index: u32| index as usize * bytes;
    let own = (!in_place).then(|| Region::send(0, bytes));
    let mut builder = bruck_builder(position);
    let block = |index| equal(index, bytes);
    bruck_into(&mut builder, position, own, block, start);
    builder.finish()
}

/// [`ring`] for blocks of any size and place; every rank knows all of them.
pub fn ring_blocks(position: Position, blocks: &[Block], in_place: bool) -> Schedule {
    let rounds = position.size - 1;
    let mut builder = Builder::with_room(rounds + 1, 2 * rounds, 1);
    let own = (!in_place).then(|| Region::send(0, blocks[position.rank as usize].bytes));
    ring_into(
        &mut builder,
        position,
        |rank| rank,
        |index| given(blocks, index),
        own,
    );
    builder.finish()
}

/// [`bruck`] for blocks of any size and place; every rank knows all of them.
pub fn bruck_blocks(position: Position, blocks: &[Block], in_place: bool) -> Schedule {
    let mut starts = Vec::with_capacity(blocks.len() + 1);
    let mut total = 0;
    for index in 0..position.size {
        starts.push(total);
        total += blocks[position.above(index) as usize].bytes;
    }
    starts.push(total);
    let own = (!in_place).then(|| Region::send(0, blocks[position.rank as usize].bytes));
    let mut builder = bruck_builder(position);
    let block = |index| given(blocks, index);
    let start = |index: u32| starts[index as usize];
    bruck_into(&mut builder, position, own, block, start);
    builder.finish()
}

#[inline]
fn equal(index: u32, bytes: usize) -> Region {
    Region::receive(index as usize * bytes, bytes)
}

#[inline]
fn given(blocks: &[Block], index: u32) -> Region {
    let block = blocks[index as usize];
    Region::receive(block.offset, block.bytes)
}

/// The ring as a phase. `own` is where the own block lies if not yet in its place.
pub(crate) fn ring_into(
    builder: &mut Builder,
    here: Position,
    real: impl Fn(u32) -> u32,
    block: impl Fn(u32) -> Region,
    own: Option<Region>,
) {
    let (right, left) = (real(here.above(1)), real(here.below(1)));
    for step in 0..here.size - 1 {
        let outgoing = block(here.below(step));
        builder.receive(left, block(here.below(step + 1)));
        builder.send(
            right,
            if step == 0 {
                own.unwrap_or(outgoing)
            } else {
                outgoing
            },
        );
        builder.end_round();
    }
    settle_own(builder, own, block(here.rank));
}

/// Recursive doubling as a phase; `blocks` gives the region of a run of blocks.
pub(crate) fn doubling_into(
    builder: &mut Builder,
    here: Position,
    real: impl Fn(u32) -> u32,
    blocks: impl Fn(u32, u32) -> Region,
    own: Option<Region>,
) {
    let mut distance = 1;
    while distance < here.size {
        let partner = here.rank ^ distance;
        let (mine, theirs) = (here.rank & !(distance - 1), partner & !(distance - 1));
        let outgoing = blocks(mine, mine + distance);
        builder.receive(real(partner), blocks(theirs, theirs + distance));
        builder.send(
            real(partner),
            if distance == 1 {
                own.unwrap_or(outgoing)
            } else {
                outgoing
            },
        );
        if distance == 1 {
            settle_own(builder, own, outgoing);
        }
        builder.end_round();
        distance *= 2;
    }
    if here.size == 1 {
        settle_own(builder, own, blocks(0, 1));
    }
}

#[inline]
fn settle_own(builder: &mut Builder, own: Option<Region>, place: Region) {
    if let Some(own) = own {
        builder.copy(own, place);
    }
}

fn bruck_builder(position: Position) -> Builder {
    let rounds = position.size.next_power_of_two().ilog2();
    Builder::with_room(rounds + 1, 2 * rounds, 4)
}

/// Bruck's scheme as a phase. `own` is where the own block lies if not yet in its place; `start`
/// gives where block `rank + index` begins in the packed working memory, for index 0..=size.
pub(crate) fn bruck_into(
    builder: &mut Builder,
    position: Position,
    own: Option<Region>,
    block: impl Fn(u32) -> Region,
    start: impl Fn(u32) -> usize,
) {
    let size = position.size;
    let home = block(position.rank);
    let own = own.unwrap_or(home);
    if size == 1 {
        builder.copy(own, home);
        return;
    }
    let packed = builder.scratch(start(size));
    let mut known = 1;
    while known < size {
        let count = known.min(size - known);
        let incoming = packed.part(start(known), start(known + count) - start(known));
        builder.receive(position.above(known), incoming);
        builder.send(
            position.below(known),
            if known == 1 {
                own
            } else {
                packed.part(0, start(count))
            },
        );
        if known == 1 && size > 2 {
            builder.copy(own, packed.part(0, own.bytes));
        }
        builder.end_round();
        known += count;
    }
    builder.copy(own, home);
    for index in 1..size {
        let to = block(position.above(index));
        builder.copy(packed.part(start(index), to.bytes), to);
    }
}
