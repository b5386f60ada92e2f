//! Scatter and scatterv: a block of the root's to everybody. Input: `Send` at the root, which is
//! named nowhere else; output: `Receive`. In place (root only): the root's block stays in `Send`,
//! and the root's `Receive` is not named.

use super::bcast::Tree;
use super::cut::Block;
use super::position::Position;
use super::schedule::{Builder, Direction, Region, Schedule};
use super::star::star;

/// Down a binomial tree, runs of blocks divided on the way: log₂ size sends at the root instead of
/// size − 1. For small blocks, where a message costs more than its bytes.
pub fn binomial(position: Position, bytes: usize, root: u32, in_place: bool) -> Schedule {
    let here = position.seen_from(root);
    let tree = Tree::new(here);
    let mut builder = Builder::with_room(2, 1 + tree.children_len(), 3);
    if here.rank == 0 {
        binomial_root(&mut builder, position, &tree, bytes, in_place);
        return builder.finish();
    }
    let real = |virtual_rank| {
        Position {
            rank: root,
            ..position
        }
        .above(virtual_rank)
    };
    let own = Region::receive(0, bytes);
    let joined = if tree.span() > 1 {
        builder.scratch(tree.span() as usize * bytes)
    } else {
        own
    };
    if let Some(parent) = tree.parent() {
        builder.receive(real(parent), joined);
        builder.end_round();
    }
    for child in tree.children().rev() {
        let blocks = tree.span_of(child) as usize * bytes;
        builder.send(
            real(child),
            joined.part((child - here.rank) as usize * bytes, blocks),
        );
    }
    builder.copy(joined.part(0, bytes), own);
    builder.finish()
}

fn binomial_root(
    builder: &mut Builder,
    position: Position,
    tree: &Tree,
    bytes: usize,
    in_place: bool,
) {
    let block = |rank: u32, count: u32| Region::send(rank as usize * bytes, count as usize * bytes);
    let past_end = |child: &u32| position.above(*child) + tree.span_of(*child) > position.size;
    // One subtree at most runs past the last rank; its blocks are joined before anything is sent.
    let wrapped = tree.children().find(past_end).map(|child| {
        let (first, count) = (position.above(child), tree.span_of(child));
        let at_end = position.size - first;
        let joined = builder.scratch(count as usize * bytes);
        builder.copy(
            block(first, at_end),
            joined.part(0, at_end as usize * bytes),
        );
        let rest = (count - at_end) as usize * bytes;
        builder.copy(
            block(0, count - at_end),
            joined.part(at_end as usize * bytes, rest),
        );
        joined
    });
    for child in tree.children().rev() {
        let first = position.above(child);
        match wrapped.filter(|_| past_end(&child)) {
            Some(joined) => builder.send(first, joined),
            None => builder.send(first, block(first, tree.span_of(child))),
        }
    }
    if !in_place {
        builder.copy(block(position.rank, 1), Region::receive(0, bytes));
    }
}

/// The root straight to everybody, at most `window` sends at a time.
pub fn linear(
    position: Position,
    bytes: usize,
    root: u32,
    in_place: bool,
    window: u32,
) -> Schedule {
    let block = |rank: u32| Region::send(rank as usize * bytes, bytes);
    let own = Region::receive(0, bytes);
    star(
        Direction::Send,
        position,
        root,
        own,
        block,
        in_place,
        window,
    )
}

/// [`linear`] for blocks of any size and place. `own_bytes` is what this rank receives; only the
/// root's `blocks` are looked at, since no other rank knows them.
pub fn linear_blocks(
    position: Position,
    own_bytes: usize,
    blocks: &[Block],
    root: u32,
    in_place: bool,
    window: u32,
) -> Schedule {
    let block = |rank: u32| {
        let block = blocks[rank as usize];
        Region::send(block.offset, block.bytes)
    };
    let own = Region::receive(0, own_bytes);
    star(
        Direction::Send,
        position,
        root,
        own,
        block,
        in_place,
        window,
    )
}
