//! Scan: rank r gets a₀ ∘ … ∘ aᵣ. Input: `Send`; output: `Receive`. In place: the input lies in
//! `Receive`. Both algorithms keep rank order.

use super::Operand;
use super::cut::segments;
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};

/// Every rank passes the result of its last d ranks to the one d above it, for d = 1, 2, 4, …:
/// ⌈log₂ size⌉ rounds with one message out, one in and one reduction each.
pub fn recursive_doubling(position: Position, operand: Operand) -> Schedule {
    let mut builder = Builder::for_rounds(2 + position.size.ilog2());
    let result = Region::receive(0, operand.bytes);
    recursive_doubling_into(&mut builder, position, operand.own(), result);
    builder.finish()
}

/// [`recursive_doubling`] as a phase.
pub(crate) fn recursive_doubling_into(
    builder: &mut Builder,
    position: Position,
    own: Region,
    result: Region,
) {
    builder.copy(own, result);
    let landing = if position.rank > 0 {
        builder.scratch(own.bytes)
    } else {
        result
    };
    let mut distance = 1;
    while distance < position.size {
        if position.rank >= distance {
            builder.receive(position.rank - distance, landing);
        }
        if position.rank + distance < position.size {
            builder.send(position.rank + distance, result);
        }
        if position.rank >= distance {
            builder.reduce(landing, result);
        }
        builder.end_round();
        distance *= 2;
    }
}

/// Segments up the chain of ranks: each rank reduces every byte once instead of log₂ size times,
/// and segments overlap. For large vectors.
pub fn chain(position: Position, operand: Operand, segment_bytes: usize) -> Schedule {
    let before = position.rank.checked_sub(1);
    let after = Some(position.rank + 1).filter(|after| *after < position.size);
    let segments = segments(operand.bytes, operand.element_bytes, segment_bytes);
    let mut builder = Builder::for_rounds(1 + segments.clone().count() as u32);
    let longest = segments.clone().next().map_or(0, |segment| segment.bytes);
    let landing = if before.is_some() {
        builder.scratch(longest)
    } else {
        Region::receive(0, 0)
    };
    let mut waiting: Option<Region> = None;
    for segment in segments {
        let result = Region::receive(segment.offset, segment.bytes);
        if let Some(before) = before {
            builder.receive(before, landing.part(0, segment.bytes));
        }
        if let (Some(after), Some(region)) = (after, waiting) {
            builder.send(after, region);
        }
        builder.copy(operand.own().part(segment.offset, segment.bytes), result);
        if before.is_some() {
            builder.reduce(landing.part(0, segment.bytes), result);
        }
        waiting = Some(result);
        builder.end_round();
    }
    if let (Some(after), Some(region)) = (after, waiting) {
        builder.send(after, region);
    }
    builder.finish()
}
