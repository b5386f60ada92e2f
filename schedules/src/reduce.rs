//! Reduce: a₀ ∘ a₁ ∘ … at the root. Input: `Send`; output: `Receive` at the root, which is named
//! nowhere else. In place (root only): the root's input lies in `Receive`.

use super::accumulate::{Accumulator, Side};
use super::bcast::Tree;
use super::fold::{Fold, Role};
use super::halving;
use super::position::Position;
use super::schedule::{Builder, Region, Schedule};
use super::{Operand, Vector};

/// Up to this much scratch a node of a tree receives from all children at once, so that their order
/// of arrival does not matter; beyond it one after the other through two buffers.
pub(crate) const FAN_IN_BYTES_MAX: usize = 64 * 1024;

/// Up a binomial tree whose root is the root: the shortest way, for operations that commute.
pub fn binomial(position: Position, operand: Operand, root: u32) -> Schedule {
    assert!(
        operand.commutative,
        "the rotated tree combines out of rank order"
    );
    let mut builder = Builder::for_rounds(2 + position.size.ilog2());
    let home = (position.rank == root).then(|| Region::receive(0, operand.bytes));
    up_tree(&mut builder, position, root, operand.vector(), home);
    builder.finish()
}

/// Up a binomial tree with rank 0 on top, whose subtrees are runs of ranks: strictly in rank order.
/// One more hop when the root is another rank.
pub fn in_order(position: Position, operand: Operand, root: u32) -> Schedule {
    let mut builder = Builder::for_rounds(3 + position.size.ilog2());
    let home = (position.rank == 0 && root == 0).then(|| Region::receive(0, operand.bytes));
    let at = up_tree(&mut builder, position, 0, operand.vector(), home);
    if root != 0 {
        builder.end_round();
        if position.rank == 0 {
            builder.send(root, at);
        } else if position.rank == root {
            builder.receive(0, Region::receive(0, operand.bytes));
        }
    }
    builder.finish()
}

/// The tree as a phase: the result ends at `home` if that is given. Returns where this rank's own
/// partial result lies, which on the top of the tree is the result. The vector is used up unless it
/// lies in `Send`.
pub(crate) fn up_tree(
    builder: &mut Builder,
    position: Position,
    top: u32,
    vector: Vector,
    home: Option<Region>,
) -> Region {
    let tree = Tree::new(position.seen_from(top));
    let real = |virtual_rank| {
        Position {
            rank: top,
            ..position
        }
        .above(virtual_rank)
    };
    let (own, bytes) = (vector.own, vector.own.bytes);
    let children = tree.children_len();
    let mut at = own;
    if children as usize * bytes <= FAN_IN_BYTES_MAX {
        let free_home = home.filter(|home| *home != own);
        let first = children - u32::from(children > 0 && free_home.is_some());
        let slots = builder.scratch(first as usize * bytes);
        let landing = |index: u32| match free_home {
            Some(home) if index == first => home,
            _ => slots.part(index as usize * bytes, bytes),
        };
        for (index, child) in tree.children().enumerate() {
            builder.receive(real(child), landing(index as u32));
        }
        for index in 0..children {
            builder.reduce(at, landing(index));
            at = landing(index);
        }
    } else {
        let mut accumulator = Accumulator::new(own, home, vector.commutative);
        for child in tree.children() {
            let landing = accumulator.landing(builder, Side::Above);
            builder.receive(real(child), landing);
            accumulator.combine(builder, Side::Above, vector.whole());
        }
        at = accumulator.at;
    }
    if let Some(home) = home {
        builder.copy(at, home);
        at = home;
    }
    if let Some(parent) = tree.parent() {
        builder.send(real(parent), at);
    }
    at
}

/// Reduces parts by halving, then gathers them at the root: every rank moves about twice the vector
/// instead of the root's path moving it log₂ size times. Keeps rank order.
pub fn scatter_gather(position: Position, operand: Operand, root: u32) -> Schedule {
    let mut builder = Builder::for_rounds(3 + 2 * position.size.ilog2());
    let home = (position.rank == root).then(|| Region::receive(0, operand.bytes));
    scatter_gather_into(&mut builder, position, root, operand.vector(), home);
    builder.finish()
}

/// [`scatter_gather`] as a phase: the result ends at `home`, which the root must have.
pub(crate) fn scatter_gather_into(
    builder: &mut Builder,
    position: Position,
    root: u32,
    vector: Vector,
    home: Option<Region>,
) {
    let fold = Fold::new(position.size, Some(root));
    let cut = vector.cut(fold.acting);
    let mut accumulator = Accumulator::new(vector.own, home, vector.commutative);
    let virtual_rank = match fold.role(position) {
        Role::StandsOut(actor) => {
            builder.send(actor, vector.own);
            return;
        }
        Role::ActsFor(virtual_rank, partner) => {
            let side = if partner > position.rank {
                Side::Above
            } else {
                Side::Below
            };
            let landing = accumulator.landing(builder, side);
            builder.receive(partner, landing);
            accumulator.combine(builder, side, vector.whole());
            virtual_rank
        }
        Role::Alone(virtual_rank) => virtual_rank,
    };
    let virtual_root = match fold.role(Position {
        rank: root,
        ..position
    }) {
        Role::Alone(virtual_root) | Role::ActsFor(virtual_root, _) => virtual_root,
        Role::StandsOut(_) => unreachable!("the fold favours the root {root}"),
    };
    let part = halving::scatter_down(builder, &fold, virtual_rank, &cut, &mut accumulator);
    let result = accumulator.settle(builder, part);
    halving::gather_to(builder, &fold, virtual_rank, virtual_root, &cut, result);
}
