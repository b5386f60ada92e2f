//! Broadcast: the root's bytes to everybody. The buffer is `Receive` on every rank, the root
//! included.
//!
//! The binomial tree that it defines also carries reduce, gather and scatter: the subtree of a node
//! is a run of neighbouring (virtual) ranks, which keeps gathered blocks contiguous and reductions
//! in order.

use super::allgather;
use super::cut::{Cut, segments};
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};

/// The binomial tree over virtual ranks with root 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    rank: u32,
    size: u32,
}

impl Tree {
    #[inline]
    pub fn new(virtual_position: Position) -> Tree {
        Tree {
            rank: virtual_position.rank,
            size: virtual_position.size,
        }
    }

    #[inline]
    pub fn parent(&self) -> Option<u32> {
        (self.rank > 0).then(|| self.rank & (self.rank - 1))
    }

    /// Number of virtual ranks in this node's subtree, itself included: they are `rank..rank +
    /// span`.
    #[inline]
    pub fn span(&self) -> u32 {
        self.span_of(self.rank)
    }

    /// The same for any node.
    #[inline]
    pub fn span_of(&self, node: u32) -> u32 {
        let left = self.size - node;
        if node == 0 {
            left
        } else {
            left.min(1 << node.trailing_zeros())
        }
    }

    /// Children by rising rank: their subtrees follow this node and one another without gaps.
    #[inline]
    pub fn children(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + use<> {
        let rank = self.rank;
        (0..self.children_len()).map(move |bit| rank + (1 << bit))
    }

    #[inline]
    pub fn children_len(&self) -> u32 {
        self.span().next_power_of_two().ilog2()
    }
}

/// Whole buffer down a binomial tree: ⌈log₂ size⌉ hops, the least for small buffers.
pub fn binomial(position: Position, bytes: usize, root: u32) -> Schedule {
    let mut builder = Builder::with_room(2, 1 + position.size.ilog2(), 0);
    binomial_into(&mut builder, position, root, Region::receive(0, bytes));
    builder.finish()
}

/// The binomial broadcast of a region as a phase of another collective. Its sends belong to the
/// round that it leaves open.
pub(crate) fn binomial_into(builder: &mut Builder, position: Position, root: u32, region: Region) {
    let tree = Tree::new(position.seen_from(root));
    let real = |virtual_rank| {
        Position {
            rank: root,
            ..position
        }
        .above(virtual_rank)
    };
    if let Some(parent) = tree.parent() {
        builder.receive(real(parent), region);
        builder.end_round();
    }
    // The child with the largest subtree first: it has the longest way to go.
    for child in tree.children().rev() {
        builder.send(real(child), region);
    }
}

/// Scatters parts down the binomial tree, then everybody collects all parts: each rank sends about
/// twice the buffer instead of log₂ size times. By recursive doubling where size is a power of two
/// and the number of rounds counts, else around a ring.
pub fn scatter_allgather(position: Position, bytes: usize, root: u32) -> Schedule {
    let here = position.seen_from(root);
    let tree = Tree::new(here);
    let cut = Cut::bytes(bytes, position.size);
    let part = |first: u32, end: u32| {
        let block = cut.span(first, end);
        Region::receive(block.offset, block.bytes)
    };
    let real = |virtual_rank| {
        Position {
            rank: root,
            ..position
        }
        .above(virtual_rank)
    };
    let mut builder = Builder::with_room(2 + position.size, 2 * position.size, 0);
    if let Some(parent) = tree.parent() {
        builder.receive(real(parent), part(here.rank, here.rank + tree.span()));
        builder.end_round();
    }
    for child in tree.children().rev() {
        builder.send(real(child), part(child, child + tree.span_of(child)));
    }
    builder.end_round();
    if position.size.is_power_of_two() {
        allgather::doubling_into(&mut builder, here, real, part, None);
    } else {
        allgather::ring_into(
            &mut builder,
            here,
            real,
            |index| part(index, index + 1),
            None,
        );
    }
    builder.finish()
}

/// Segments down a chain: every rank receives one segment while it passes on the one before, so
/// that for buffers of many segments each rank sends the buffer just once.
pub fn chain(position: Position, bytes: usize, root: u32, segment_bytes: usize) -> Schedule {
    let mut builder = Builder::for_rounds(bytes.div_ceil(segment_bytes.max(1)) as u32 + 1);
    let top = Position {
        rank: root,
        ..position
    };
    let (here, buffer) = (position.seen_from(root), Region::receive(0, bytes));
    builder.among(
        |place| top.above(place),
        |builder| chain_into(builder, here, buffer, segment_bytes),
    );
    builder.finish()
}

/// [`chain`] as a phase, from rank 0 up.
pub(crate) fn chain_into(
    builder: &mut Builder,
    position: Position,
    buffer: Region,
    segment_bytes: usize,
) {
    let before = position.rank.checked_sub(1);
    let after = Some(position.rank + 1).filter(|after| *after < position.size);
    let mut waiting: Option<Region> = None;
    for segment in segments(buffer.bytes, 1, segment_bytes) {
        let region = buffer.part(segment.offset, segment.bytes);
        if let Some(before) = before {
            builder.receive(before, region);
        }
        if let (Some(after), Some(region)) = (after, waiting) {
            builder.send(after, region);
        }
        waiting = Some(region);
        builder.end_round();
    }
    if let (Some(after), Some(region)) = (after, waiting) {
        builder.send(after, region);
    }
}
