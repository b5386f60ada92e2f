//! Halving the vector while doubling the distance, and its way back: the two halves of the
//! bandwidth-optimal reductions (Rabenseifner's scheme).
//!
//! Partners at distance 1 combine first, then at 2, 4, …: every rank always holds the result of a
//! run of neighbouring ranks, so rank order is kept and operations need not commute. The price is
//! that the parts end up in bit-reversed order, which the way back undoes.

use super::accumulate::{Accumulator, Side};
use super::cut::{Block, Cut};
use super::fold::Fold;
use super::schedule::{Builder, Region};

/// The bytes that `virtual_rank` still holds after `levels` halvings.
#[inline]
fn held(cut: &Cut, acting: u32, virtual_rank: u32, levels: u32) -> Block {
    let (mut first, mut parts) = (0, acting);
    for level in 0..levels {
        parts /= 2;
        if virtual_rank >> level & 1 == 1 {
            first += parts;
        }
    }
    cut.span(first, first + parts)
}

/// Leaves each acting rank with the full result of its part, and returns that part.
pub(crate) fn scatter_down(
    builder: &mut Builder,
    fold: &Fold,
    virtual_rank: u32,
    cut: &Cut,
    accumulator: &mut Accumulator,
) -> Block {
    let levels = fold.acting.ilog2();
    for level in 0..levels {
        let partner = virtual_rank ^ (1 << level);
        let side = if partner > virtual_rank {
            Side::Above
        } else {
            Side::Below
        };
        let keep = held(cut, fold.acting, virtual_rank, level + 1);
        let give = held(cut, fold.acting, partner, level + 1);
        let landing = accumulator.landing(builder, side);
        builder.receive(fold.actor(partner), landing.part(keep.offset, keep.bytes));
        builder.send(
            fold.actor(partner),
            accumulator.at.part(give.offset, give.bytes),
        );
        accumulator.combine(builder, side, keep);
        builder.end_round();
    }
    held(cut, fold.acting, virtual_rank, levels)
}

/// Gives every acting rank the whole vector, given that each holds its part of `vector`.
pub(crate) fn gather_up(
    builder: &mut Builder,
    fold: &Fold,
    virtual_rank: u32,
    cut: &Cut,
    vector: Region,
) {
    for level in (0..fold.acting.ilog2()).rev() {
        let partner = virtual_rank ^ (1 << level);
        let mine = held(cut, fold.acting, virtual_rank, level + 1);
        let theirs = held(cut, fold.acting, partner, level + 1);
        builder.receive(
            fold.actor(partner),
            vector.part(theirs.offset, theirs.bytes),
        );
        builder.send(fold.actor(partner), vector.part(mine.offset, mine.bytes));
        builder.end_round();
    }
}

/// Gives one acting rank the whole vector: at every level the half of the ranks farther from it is
/// relieved.
pub(crate) fn gather_to(
    builder: &mut Builder,
    fold: &Fold,
    virtual_rank: u32,
    virtual_root: u32,
    cut: &Cut,
    vector: Region,
) {
    for level in (0..fold.acting.ilog2()).rev() {
        let partner = virtual_rank ^ (1 << level);
        let mine = held(cut, fold.acting, virtual_rank, level + 1);
        if (virtual_rank ^ virtual_root) >> level & 1 == 1 {
            builder.send(fold.actor(partner), vector.part(mine.offset, mine.bytes));
            return;
        }
        let theirs = held(cut, fold.acting, partner, level + 1);
        builder.receive(
            fold.actor(partner),
            vector.part(theirs.offset, theirs.bytes),
        );
        builder.end_round();
    }
}
