//! Broadcast across hosts. The buffer is `Receive` on every rank, the root included. The root leads
//! its host.

use super::super::bcast::{binomial_into, chain_into};
use super::super::position::Position;
use super::super::schedule::{Builder, Region, Schedule};
use super::Here;

/// Down a tree of leaders, and from each of them down a tree of its host's ranks: hosts − 1
/// messages between hosts.
pub fn tree(here: Here<'_>, bytes: usize) -> Schedule {
    let buffer = Region::receive(0, bytes);
    let mut builder = Builder::for_rounds(2);
    // What goes to other hosts comes first: it has the longest way.
    here.between_leaders(&mut builder, |builder, position| {
        binomial_into(builder, position, here.top_host(), buffer);
    });
    here.on_host(&mut builder, |builder, position| {
        binomial_into(builder, position, here.top(), buffer);
    });
    builder.finish()
}

/// Segments down a chain that visits one host after the other: the buffer crosses to each other
/// host once, and on every host one rank receives from outside while another one sends on.
pub fn chain(here: Here<'_>, bytes: usize, segment_bytes: usize) -> Schedule {
    let order = Order::new(here);
    let position = Position::new(order.place(here.rank), here.hosts.ranks());
    let mut builder = Builder::for_rounds(bytes.div_ceil(segment_bytes.max(1)) as u32 + 1);
    builder.among(
        |place| order.rank(place),
        |builder| chain_into(builder, position, Region::receive(0, bytes), segment_bytes),
    );
    builder.finish()
}

/// Host order turned so that the root's host comes first, and in it the root.
struct Order<'a> {
    here: Here<'a>,
    /// Where the root's host begins in host order.
    first: Position,
    /// Which of its host's ranks the root is.
    root_index: u32,
}

impl<'a> Order<'a> {
    fn new(here: Here<'a>) -> Order<'a> {
        let root = here.leader(here.top_host());
        Order {
            here,
            first: Position::new(here.hosts.start(here.top_host()), here.hosts.ranks()),
            root_index: here.hosts.index(root),
        }
    }

    fn rank(&self, place: u32) -> u32 {
        // The root steps out of the line of its host, to its front; those before it move up by one.
        let place = match place {
            0 => self.root_index,
            place if place <= self.root_index => place - 1,
            place => place,
        };
        self.here.hosts.order()[self.first.above(place) as usize]
    }

    fn place(&self, rank: u32) -> u32 {
        let place = Position {
            rank: self.here.hosts.place(rank),
            ..self.first
        }
        .below(self.first.rank);
        match place {
            place if place == self.root_index => 0,
            place if place < self.root_index => place + 1,
            place => place,
        }
    }
}
