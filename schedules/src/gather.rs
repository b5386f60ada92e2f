//! Gather and gatherv: everybody's block at the root. Input: `Send`; output: `Receive` at the root,
//! which is named nowhere else. In place (root only): the root's block already lies in its place in
//! `Receive`.

use super::bcast::Tree;
use super::cut::Block;
use super::position::Position;
use super::schedule::{Builder, Direction, Region, Schedule};
use super::star::star;

/// Up a binomial tree, blocks joined on the way: log₂ size receives at the root instead of size −
/// 1. For small blocks, where a message costs more than its bytes.
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
    let own = Region::send(0, bytes);
    let mut joined = own;
    if tree.span() > 1 {
        joined = builder.scratch(tree.span() as usize * bytes);
        for child in tree.children() {
            let blocks = tree.span_of(child) as usize * bytes;
            builder.receive(
                real(child),
                joined.part((child - here.rank) as usize * bytes, blocks),
            );
        }
        builder.copy(own, joined.part(0, bytes));
    }
    if let Some(parent) = tree.parent() {
        builder.send(real(parent), joined);
    }
    builder.finish()
}

fn binomial_root(
    builder: &mut Builder,
    position: Position,
    tree: &Tree,
    bytes: usize,
    in_place: bool,
) {
    let block =
        |rank: u32, count: u32| Region::receive(rank as usize * bytes, count as usize * bytes);
    let mut wrapped = None;
    for child in tree.children() {
        let (first, count) = (position.above(child), tree.span_of(child));
        if first + count <= position.size {
            builder.receive(first, block(first, count));
        } else {
            // One subtree at most runs past the last rank; its blocks lie at both ends of the
            // output.
            let landing = builder.scratch(count as usize * bytes);
            builder.receive(first, landing);
            wrapped = Some((first, count, landing));
        }
    }
    if !in_place {
        builder.copy(Region::send(0, bytes), block(position.rank, 1));
    }
    if let Some((first, count, landing)) = wrapped {
        let at_end = position.size - first;
        builder.copy(
            landing.part(0, at_end as usize * bytes),
            block(first, at_end),
        );
        let rest = (count - at_end) as usize * bytes;
        builder.copy(
            landing.part(at_end as usize * bytes, rest),
            block(0, count - at_end),
        );
    }
}

/// Everybody straight to the root, which receives from at most `window` ranks at a time.
pub fn linear(
    position: Position,
    bytes: usize,
    root: u32,
    in_place: bool,
    window: u32,
) -> Schedule {
    let block = |rank: u32| Region::receive(rank as usize * bytes, bytes);
    let own = Region::send(0, bytes);
    star(
        Direction::Receive,
        position,
        root,
        own,
        block,
        in_place,
        window,
    )
}

/// [`linear`] for blocks of any size and place. `own_bytes` is what this rank sends; only the
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
        Region::receive(block.offset, block.bytes)
    };
    let own = Region::send(0, own_bytes);
    star(
        Direction::Receive,
        position,
        root,
        own,
        block,
        in_place,
        window,
    )
}
