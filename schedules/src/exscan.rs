//! Exscan: rank r gets a₀ ∘ … ∘ aᵣ₋₁; rank 0 gets nothing and its `Receive` is left alone. Input:
//! `Send`; output: `Receive`. In place: the input lies in `Receive`. Both algorithms keep rank
//! order.

use super::Operand;
use super::cut::segments;
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};

/// As the scan by recursive doubling, carrying the inclusive result in scratch and the exclusive
/// one in `Receive`: two reductions per round, no extra round.
pub fn recursive_doubling(position: Position, operand: Operand) -> Schedule {
    let levels = position.size.ilog2();
    let mut builder = Builder::with_room(2 + levels, 2 + 2 * levels, 2 + 2 * levels);
    let result = Region::receive(0, operand.bytes);
    recursive_doubling_into(&mut builder, position, operand.own(), result);
    builder.finish()
}

/// [`recursive_doubling`] as a phase. `own` is left as it is, unless it is the result's place.
pub(crate) fn recursive_doubling_into(
    builder: &mut Builder,
    position: Position,
    own: Region,
    result: Region,
) {
    let (rank, size) = (position.rank, position.size);
    // Only what is sent on after the first round needs the inclusive result.
    let inclusive = if rank > 0 && (own.overlaps(result) || rank + 2 < size) {
        let inclusive = builder.scratch(own.bytes);
        builder.copy(own, inclusive);
        inclusive
    } else {
        own
    };
    let landing = if rank > 1 {
        builder.scratch(own.bytes)
    } else {
        result
    };
    let mut distance = 1;
    while distance < size {
        let arriving = if distance == 1 { result } else { landing };
        if rank >= distance {
            builder.receive(rank - distance, arriving);
        }
        if rank + distance < size {
            builder.send(rank + distance, inclusive);
        }
        if rank >= distance {
            if distance > 1 {
                builder.reduce(arriving, result);
            }
            if rank + 2 * distance < size {
                builder.reduce(arriving, inclusive);
            }
        }
        builder.end_round();
        distance *= 2;
    }
}

/// Segments up the chain of ranks: what arrives is the result, what goes on is it ∘ the own input.
pub fn chain(position: Position, operand: Operand, segment_bytes: usize) -> Schedule {
    let before = position.rank.checked_sub(1);
    let after = Some(position.rank + 1).filter(|after| *after < position.size);
    let segments = segments(operand.bytes, operand.element_bytes, segment_bytes);
    let mut builder = Builder::for_rounds(1 + segments.clone().count() as u32);
    let longest = segments.clone().next().map_or(0, |segment| segment.bytes);
    let passes_on = before.is_some() && after.is_some();
    let inclusive = builder.scratch(if passes_on { longest } else { 0 });
    let landing = builder.scratch(if passes_on && operand.in_place {
        longest
    } else {
        0
    });
    let mut waiting: Option<Region> = None;
    for segment in segments {
        let own = operand.own().part(segment.offset, segment.bytes);
        let result = Region::receive(segment.offset, segment.bytes);
        let arriving = if passes_on && operand.in_place {
            landing.part(0, segment.bytes)
        } else {
            result
        };
        if let Some(before) = before {
            builder.receive(before, arriving);
        }
        if let (Some(after), Some(region)) = (after, waiting) {
            builder.send(after, region);
        }
        if passes_on {
            let inclusive = inclusive.part(0, segment.bytes);
            builder.copy(own, inclusive);
            builder.reduce(arriving, inclusive);
            builder.copy(arriving, result);
            waiting = Some(inclusive);
        } else {
            waiting = Some(own);
        }
        builder.end_round();
    }
    if let (Some(after), Some(region)) = (after, waiting) {
        builder.send(after, region);
    }
    builder.finish()
}
