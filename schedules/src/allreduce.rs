//! Allreduce: a₀ ∘ a₁ ∘ … everywhere. Input: `Send`; output: `Receive`. In place: the input lies in
//! `Receive`.

use super::accumulate::{Accumulator, Side};
use super::bcast;
use super::fold::{Fold, Role};
use super::halving;
use super::position::Position;
use super::reduce;
use super::schedule::{Builder, Region, Schedule};
use super::{Operand, Vector};

/// Everybody exchanges the whole vector with partners at distance 1, 2, 4, …: ⌊log₂ size⌋ rounds
/// (two more when size is no power of two), in rank order. The least latency for small vectors.
pub fn recursive_doubling(position: Position, operand: Operand) -> Schedule {
    let mut builder = Builder::for_rounds(3 + position.size.ilog2());
    let result = Region::receive(0, operand.bytes);
    recursive_doubling_into(&mut builder, position, operand.vector(), result);
    builder.finish()
}

/// [`recursive_doubling`] as a phase.
pub(crate) fn recursive_doubling_into(
    builder: &mut Builder,
    position: Position,
    vector: Vector,
    result: Region,
) {
    folded(
        builder,
        position,
        vector,
        result,
        |builder, fold, virtual_rank, accumulator| {
            for level in 0..fold.acting.ilog2() {
                let partner = virtual_rank ^ (1 << level);
                let side = if partner > virtual_rank {
                    Side::Above
                } else {
                    Side::Below
                };
                let landing = accumulator.landing(builder, side);
                builder.receive(fold.actor(partner), landing);
                builder.send(fold.actor(partner), accumulator.at);
                accumulator.combine(builder, side, vector.whole());
            }
            accumulator.settle(builder, vector.whole());
        },
    );
}

/// Reduces parts by halving and collects them by doubling: 2·log₂ size rounds in which each rank
/// moves about twice the vector, in rank order. For large vectors and many ranks.
pub fn halving_doubling(position: Position, operand: Operand) -> Schedule {
    let mut builder = Builder::for_rounds(3 + 2 * position.size.ilog2());
    let result = Region::receive(0, operand.bytes);
    halving_doubling_into(&mut builder, position, operand.vector(), result);
    builder.finish()
}

/// [`halving_doubling`] as a phase.
pub(crate) fn halving_doubling_into(
    builder: &mut Builder,
    position: Position,
    vector: Vector,
    result: Region,
) {
    folded(
        builder,
        position,
        vector,
        result,
        |builder, fold, virtual_rank, accumulator| {
            let cut = vector.cut(fold.acting);
            let part = halving::scatter_down(builder, fold, virtual_rank, &cut, accumulator);
            let vector = accumulator.settle(builder, part);
            builder.end_round();
            halving::gather_up(builder, fold, virtual_rank, &cut, vector);
        },
    );
}

/// Runs `act` on a power of two of ranks; the others hand in their vector before and get the result
/// after.
fn folded(
    builder: &mut Builder,
    position: Position,
    vector: Vector,
    result: Region,
    act: impl FnOnce(&mut Builder, &Fold, u32, &mut Accumulator),
) {
    let fold = Fold::new(position.size, None);
    let mut accumulator = Accumulator::new(vector.own, Some(result), vector.commutative);
    match fold.role(position) {
        Role::StandsOut(actor) => {
            builder.send(actor, vector.own);
            if vector.own.overlaps(result) {
                builder.end_round();
            }
            builder.receive(actor, result);
        }
        Role::ActsFor(virtual_rank, partner) => {
            let landing = accumulator.landing(builder, Side::Below);
            builder.receive(partner, landing);
            accumulator.combine(builder, Side::Below, vector.whole());
            act(builder, &fold, virtual_rank, &mut accumulator);
            builder.end_round();
            builder.send(partner, result);
        }
        Role::Alone(virtual_rank) => act(builder, &fold, virtual_rank, &mut accumulator),
    }
}

/// Around a ring, first reducing parts, then collecting them: 2·(size − 1) rounds, each rank moves
/// the least possible and only to its neighbour. Combines in ring order, so the operation must
/// commute.
pub fn ring(position: Position, operand: Operand) -> Schedule {
    assert!(operand.commutative, "a ring combines out of rank order");
    let (size, result) = (position.size, Region::receive(0, operand.bytes));
    let mut builder = Builder::for_rounds(2 * size);
    if size == 1 {
        builder.copy(operand.own(), result);
        return builder.finish();
    }
    let cut = operand.cut(size);
    let in_result = |index: u32| result.part(cut.part(index).offset, cut.part(index).bytes);
    let in_own = |index: u32| {
        operand
            .own()
            .part(cut.part(index).offset, cut.part(index).bytes)
    };
    // Every part of `Receive` is free until it arrives, so it can land there; in place it cannot.
    let landing = operand.in_place.then(|| builder.scratch(cut.part(0).bytes));
    let (right, left) = (position.above(1), position.below(1));
    for step in 0..size - 1 {
        let (outgoing, incoming) = (position.below(step), position.below(step + 1));
        let arriving = landing.map_or(in_result(incoming), |landing| {
            landing.part(0, in_result(incoming).bytes)
        });
        builder.receive(left, arriving);
        builder.send(
            right,
            if step == 0 {
                in_own(outgoing)
            } else {
                in_result(outgoing)
            },
        );
        match landing {
            Some(_) => builder.reduce(arriving, in_result(incoming)),
            None => builder.reduce(in_own(incoming), arriving),
        }
        builder.end_round();
    }
    for step in 0..size - 1 {
        builder.receive(left, in_result(position.below(step)));
        builder.send(
            right,
            in_result(
                Position {
                    rank: position.above(1),
                    size,
                }
                .below(step),
            ),
        );
        builder.end_round();
    }
    builder.finish()
}

/// Up a binomial tree and down again: 2·(size − 1) messages in total, the fewest. Where ranks take
/// turns on few CPUs that counts more than the longer way. Keeps rank order.
pub fn tree(position: Position, operand: Operand) -> Schedule {
    let mut builder = Builder::for_rounds(3 + position.size.ilog2());
    let result = Region::receive(0, operand.bytes);
    let home = (position.rank == 0).then_some(result);
    reduce::up_tree(&mut builder, position, 0, operand.vector(), home);
    builder.end_round();
    bcast::binomial_into(&mut builder, position, 0, result);
    builder.finish()
}
