//! Allgather and allgatherv across hosts. Input: `Send`, one block; output: all blocks in
//! `Receive`. In place: the own block already lies where it belongs in `Receive`. Every rank knows
//! all blocks; `block` names a rank's.

use super::super::allgather::{bruck_into, ring_into};
use super::super::bcast::binomial_into;
use super::super::position::Position;
use super::super::schedule::{Builder, Region, Schedule};
use super::Here;

/// The leader of a host joins its blocks, leaders exchange them by Bruck's scheme, and all blocks
/// are broadcast on every host: ⌈log₂ hosts⌉ rounds between hosts, in which each host's blocks
/// reach every other host once.
pub fn exchange(here: Here<'_>, in_place: bool, block: impl Fn(u32) -> Region) -> Schedule {
    let hosts = here.hosts;
    let home = block(here.rank);
    let own = if in_place {
        home
    } else {
        Region::send(0, home.bytes)
    };
    let mut builder = Builder::for_rounds(4 + hosts.count().ilog2());
    let joined = Joined::new(&mut builder, here, &block);
    let of_host = |host: u32| joined.span(hosts.start(host), hosts.start(host + 1));
    if here.is_leader() {
        for &rank in here.members().iter().filter(|rank| **rank != here.rank) {
            builder.receive(rank, joined.of(hosts.place(rank)));
        }
        builder.copy(own, joined.of(hosts.place(here.rank)));
    } else {
        builder.send(here.leader(here.host()), own);
    }
    builder.end_round();
    here.between_leaders(&mut builder, |builder, position| {
        let mut starts = vec![0];
        for distance in 0..position.size {
            starts.push(starts[distance as usize] + of_host(position.above(distance)).bytes);
        }
        bruck_into(builder, position, None, of_host, |index| {
            starts[index as usize]
        });
    });
    builder.end_round();
    here.on_host(&mut builder, |builder, position| {
        binomial_into(builder, position, here.top(), joined.all());
    });
    for (place, &rank) in (0..).zip(hosts.order()) {
        builder.copy(joined.of(place), block(rank));
    }
    builder.finish()
}

/// Around a ring in host order: each byte crosses into every host once, and everybody has the same
/// work.
pub fn ring(here: Here<'_>, in_place: bool, block: impl Fn(u32) -> Region) -> Schedule {
    let (hosts, order) = (here.hosts, here.hosts.order());
    let position = Position::new(hosts.place(here.rank), hosts.ranks());
    let rounds = position.size - 1;
    let mut builder = Builder::with_room(rounds + 1, 2 * rounds, 1);
    let own = (!in_place).then(|| Region::send(0, block(here.rank).bytes));
    let real = |place: u32| order[place as usize];
    ring_into(
        &mut builder,
        position,
        real,
        |place| block(real(place)),
        own,
    );
    builder.finish()
}

/// All blocks in host order without gaps: in `Receive` where they lie so anyway, else in scratch.
struct Joined {
    region: Region,
    /// Where each block begins, and where the last one ends.
    starts: Vec<usize>,
}

impl Joined {
    fn new(builder: &mut Builder, here: Here<'_>, block: impl Fn(u32) -> Region) -> Joined {
        let order = here.hosts.order();
        let mut starts = Vec::with_capacity(order.len() + 1);
        let (mut total, mut in_output) = (0, true);
        for &rank in order {
            let block = block(rank);
            in_output &= block.offset == total;
            starts.push(total);
            total += block.bytes;
        }
        starts.push(total);
        let region = if in_output {
            Region::receive(0, total)
        } else {
            builder.scratch(total)
        };
        Joined { region, starts }
    }

    fn all(&self) -> Region {
        self.region
    }

    /// The blocks from one place in host order to before another one.
    fn span(&self, first: u32, end: u32) -> Region {
        let (from, to) = (self.starts[first as usize], self.starts[end as usize]);
        self.region.part(from, to - from)
    }

    fn of(&self, place: u32) -> Region {
        self.span(place, place + 1)
    }
}
