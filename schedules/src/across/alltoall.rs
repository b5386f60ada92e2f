//! Alltoall across hosts: block j of rank i becomes block i of rank j. Input: `Send`, output:
//! `Receive`, a block per rank in each. In place: `Receive` holds the blocks before and after.

use super::super::schedule::{Builder, Place, Region, Schedule};
use super::Here;

/// Everybody's blocks go to the leader of its host, which sends every other host all that is meant
/// for it in one message and deals out what comes. Blocks are copied several times on the way: for
/// small ones, of which a pair of hosts would otherwise exchange as many messages as it has pairs
/// of ranks. Leaders deal with at most `window` others at a time.
pub fn exchange(here: Here<'_>, bytes: usize, in_place: bool, window: u32) -> Schedule {
    let all = here.hosts.ranks() as usize * bytes;
    let own = if in_place {
        Region::receive(0, all)
    } else {
        Region::send(0, all)
    };
    let mut builder = Builder::default();
    if here.is_leader() {
        Leader::new(&mut builder, here, bytes, own).run(&mut builder, window);
    } else {
        let leader = here.leader(here.host());
        builder.send(leader, own);
        builder.end_round();
        builder.receive(leader, Region::receive(0, all));
    }
    builder.finish()
}

/// The leader's memory.
struct Leader<'a> {
    here: Here<'a>,
    bytes: usize,
    /// The blocks of each rank of this host, by index.
    inputs: Vec<Region>,
    /// What goes to and comes from each host; empty for the own one. By source, then by
    /// destination.
    outgoing: Vec<Region>,
    incoming: Vec<Region>,
}

impl<'a> Leader<'a> {
    /// Collects the input of the whole host.
    fn new(builder: &mut Builder, here: Here<'a>, bytes: usize, own: Region) -> Leader<'a> {
        let hosts = here.hosts;
        let mut inputs = Vec::new();
        for &rank in here.members() {
            // What lies in place would be overwritten before the last of it is read.
            let copied = rank != here.rank || own.place == Place::Receive;
            let input = if copied {
                builder.scratch(own.bytes)
            } else {
                own
            };
            if rank != here.rank {
                builder.receive(rank, input);
            }
            inputs.push(input);
        }
        let index = here.local().rank as usize;
        builder.copy(own, inputs[index]);
        let mut leader = Leader {
            here,
            bytes,
            inputs,
            outgoing: Vec::new(),
            incoming: Vec::new(),
        };
        for host in 0..hosts.count() {
            let pairs = match host == here.host() {
                true => 0,
                false => here.members().len() * hosts.members(host).len(),
            };
            leader.outgoing.push(builder.scratch(pairs * bytes));
            leader.incoming.push(builder.scratch(pairs * bytes));
        }
        leader
    }

    /// Block number `index` of a region of blocks.
    fn block(&self, region: Region, index: u32) -> Region {
        region.part(index as usize * self.bytes, self.bytes)
    }

    fn run(&self, builder: &mut Builder, window: u32) {
        self.pack(builder);
        self.exchange(builder, window.max(1));
        self.deal_out(builder);
    }

    fn pack(&self, builder: &mut Builder) {
        let hosts = self.here.hosts;
        for host in (0..hosts.count()).filter(|host| *host != self.here.host()) {
            let mut next = 0;
            for &input in &self.inputs {
                for &to in hosts.members(host) {
                    let packed = self.block(self.outgoing[host as usize], next);
                    builder.copy(self.block(input, to), packed);
                    next += 1;
                }
            }
        }
    }

    fn exchange(&self, builder: &mut Builder, window: u32) {
        self.here.between_leaders(builder, |builder, position| {
            for distance in 1..position.size {
                let (above, below) = (position.above(distance), position.below(distance));
                builder.receive(below, self.incoming[below as usize]);
                builder.send(above, self.outgoing[above as usize]);
                if distance % window == 0 {
                    builder.end_round();
                }
            }
            builder.end_round();
        });
    }

    fn deal_out(&self, builder: &mut Builder) {
        let (here, hosts) = (self.here, self.here.hosts);
        let (members, size) = (here.members(), hosts.ranks());
        // A rank's result can lie where its input was only if nobody reads that any more: so it
        // lies elsewhere.
        let all = size as usize * self.bytes;
        let result = |builder: &mut Builder, rank| match rank == here.rank {
            true => Region::receive(0, all),
            false => builder.scratch(all),
        };
        let results: Vec<Region> = members.iter().map(|&rank| result(builder, rank)).collect();
        for (to, &result) in (0..).zip(&results) {
            for from in 0..size {
                let (host, index) = (hosts.host_of(from), hosts.index(from));
                let block = if host == here.host() {
                    self.block(self.inputs[index as usize], members[to as usize])
                } else {
                    let width = members.len() as u32;
                    self.block(self.incoming[host as usize], index * width + to)
                };
                builder.copy(block, self.block(result, from));
            }
        }
        for (&rank, result) in members.iter().zip(results) {
            if rank != here.rank {
                builder.send(rank, result);
            }
        }
    }
}
