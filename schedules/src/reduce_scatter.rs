//! Reduce-scatter: block r of a₀ ∘ a₁ ∘ … at rank r. Input: the whole vector in `Send`; output: the
//! own block at the start of `Receive`. In place: the whole vector lies in `Receive`, whose rest is
//! used up.
//!
//! Blocks follow one another without gaps, as MPI has it; `ends` says where each one ends, so the
//! same code serves reduce_scatter and reduce_scatter_block.

use super::accumulate::{Accumulator, Side};
use super::cut::Block;
use super::fold::{Fold, Role};
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};

/// The blocks of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks<'a> {
    /// Every rank gets that many bytes (reduce_scatter_block).
    Equal(usize),
    /// Where each rank's block ends: running sums of the sizes (reduce_scatter).
    Ends(&'a [usize]),
}

impl Blocks<'_> {
    #[inline]
    fn start(&self, rank: u32) -> usize {
        match self {
            Blocks::Equal(bytes) => rank as usize * bytes,
            Blocks::Ends(_) if rank == 0 => 0,
            Blocks::Ends(ends) => ends[rank as usize - 1],
        }
    }

    /// The bytes of the blocks `first..end`.
    #[inline]
    pub fn span(&self, first: u32, end: u32) -> Block {
        let offset = self.start(first);
        Block {
            offset,
            bytes: self.start(end) - offset,
        }
    }

    /// Length of the whole vector.
    #[inline]
    pub fn total(&self, size: u32) -> usize {
        self.start(size)
    }
}

/// Every rank gets each contribution to its block from its owner, `window` at a time: the least
/// data, size − 1 messages. Keeps rank order: what comes from below is combined going down to rank
/// 0, what comes from above going down from the last rank, and the two meet at the end.
pub fn pairwise(
    position: Position,
    blocks: Blocks<'_>,
    commutative: bool,
    in_place: bool,
    window: u32,
) -> Schedule {
    let vector = |block: Block| {
        if in_place {
            Region::receive(block.offset, block.bytes)
        } else {
            Region::send(block.offset, block.bytes)
        }
    };
    let block = |rank: u32| vector(blocks.span(rank, rank + 1));
    let own = block(position.rank);
    let result = Region::receive(0, own.bytes);
    let size = position.size;
    let mut builder = Builder::with_room(1 + size.div_ceil(window.max(1)), 2 * size, size + 2);
    // In place the own block is nobody else's business, so it may be the accumulator where it lies.
    let lower = if in_place { own } else { result };
    let pieces = |rank: u32| std::iter::once(block(rank));
    let at = pairwise_into(&mut builder, position, pieces, lower, commutative, window);
    builder.copy(at, result);
    builder.finish()
}

/// [`pairwise`] as a phase. What belongs to a rank are `pieces` of the vector; this rank's are
/// combined, one after the other, in `lower`, or where the answer says. `lower` may be where they
/// lie.
pub(crate) fn pairwise_into<I: Iterator<Item = Region>>(
    builder: &mut Builder,
    position: Position,
    pieces: impl Fn(u32) -> I,
    lower: Region,
    commutative: bool,
    window: u32,
) -> Region {
    let (rank, size, window) = (position.rank, position.size, window.clamp(1, position.size));
    let mut packed = 0;
    for piece in pieces(rank) {
        builder.copy(piece, lower.part(packed, piece.bytes));
        packed += piece.bytes;
    }
    let slots = builder.scratch(if size > 1 {
        window as usize * packed
    } else {
        0
    });
    let mut upper: Option<Region> = None;
    let kept = builder.scratch(if commutative { 0 } else { packed });
    let mut distance = 1;
    while distance < size {
        let end = size.min(distance + window);
        let slot = |at: u32| slots.part((at - distance) as usize * packed, packed);
        for at in distance..end {
            let mut landed = 0;
            for piece in pieces(rank) {
                builder.receive(position.below(at), slot(at).part(landed, piece.bytes));
                landed += piece.bytes;
            }
        }
        for at in distance..end {
            let to = position.above(at);
            for piece in pieces(to) {
                builder.send(to, piece);
            }
        }
        for at in distance..end {
            match upper {
                _ if commutative || at <= rank => builder.reduce(slot(at), lower),
                Some(upper) => builder.reduce(slot(at), upper),
                None => {
                    builder.copy(slot(at), kept);
                    upper = Some(kept);
                }
            }
        }
        builder.end_round();
        distance = end;
    }
    match upper {
        Some(upper) => {
            builder.reduce(lower, upper);
            upper
        }
        None => lower,
    }
}

/// Halves the vector between partners far apart first: log₂ size rounds, each rank moves about one
/// vector. Combines out of rank order, so the operation must commute.
pub fn recursive_halving(position: Position, blocks: Blocks<'_>, in_place: bool) -> Schedule {
    let total = blocks.total(position.size);
    let whole = Block {
        offset: 0,
        bytes: total,
    };
    let own_vector = if in_place {
        Region::receive(0, total)
    } else {
        Region::send(0, total)
    };
    let own = blocks.span(position.rank, position.rank + 1);
    let result = Region::receive(0, own.bytes);
    let fold = Fold::new(position.size, None);
    let mut builder = Builder::for_rounds(3 + position.size.ilog2());
    let mut accumulator = Accumulator::new(own_vector, None, true);
    let virtual_rank = match fold.role(position) {
        Role::StandsOut(actor) => {
            builder.send(actor, own_vector);
            builder.end_round();
            builder.receive(actor, result);
            return builder.finish();
        }
        Role::ActsFor(virtual_rank, partner) => {
            let landing = accumulator.landing(&mut builder, Side::Below);
            builder.receive(partner, landing);
            accumulator.combine(&mut builder, Side::Below, whole);
            virtual_rank
        }
        Role::Alone(virtual_rank) => virtual_rank,
    };
    let span = |first: u32, count: u32| {
        blocks.span(fold.first_covered(first), fold.first_covered(first + count))
    };
    let mut distance = fold.acting / 2;
    while distance > 0 {
        let partner = virtual_rank ^ distance;
        let keep = span(virtual_rank & !(distance - 1), distance);
        let give = span(partner & !(distance - 1), distance);
        let landing = accumulator.landing(&mut builder, Side::Below);
        builder.receive(fold.actor(partner), landing.part(keep.offset, keep.bytes));
        builder.send(
            fold.actor(partner),
            accumulator.at.part(give.offset, give.bytes),
        );
        accumulator.combine(&mut builder, Side::Below, keep);
        builder.end_round();
        distance /= 2;
    }
    if let Role::ActsFor(_, partner) = fold.role(position) {
        let theirs = blocks.span(partner, partner + 1);
        builder.send(partner, accumulator.at.part(theirs.offset, theirs.bytes));
    }
    builder.copy(accumulator.at.part(own.offset, own.bytes), result);
    builder.finish()
}
