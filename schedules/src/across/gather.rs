//! Gather across hosts: one message from every other host. Input: `Send`; output: `Receive` at the
//! root, which is named nowhere else. In place (root only): the root's block already lies in its
//! place in `Receive`. The root leads its host.

use super::super::schedule::{Builder, Region, Schedule};
use super::Here;

/// The blocks of a host are joined by its leader, which sends them to the root; the root's own host
/// sends straight to it. For blocks that are cheaper to copy once more than to send alone. The root
/// receives from at most `window` ranks at a time.
pub fn star(here: Here<'_>, bytes: usize, in_place: bool, window: u32) -> Schedule {
    let (own, root) = (Region::send(0, bytes), here.leader(here.top_host()));
    if here.rank == root {
        return at_root(here, bytes, in_place, window);
    }
    let mut builder = Builder::for_rounds(2);
    if !here.is_leader() {
        builder.send(here.leader(here.host()), own);
        return builder.finish();
    }
    let members = here.members();
    let mut joined = own;
    if members.len() > 1 {
        joined = builder.scratch(members.len() * bytes);
        for (index, &rank) in members.iter().enumerate() {
            let slot = joined.part(index * bytes, bytes);
            if rank != here.rank {
                builder.receive(rank, slot);
            }
        }
        builder.copy(own, joined.part(here.local().rank as usize * bytes, bytes));
    }
    builder.send(root, joined);
    builder.finish()
}

fn at_root(here: Here<'_>, bytes: usize, in_place: bool, window: u32) -> Schedule {
    let hosts = here.hosts;
    let blocks = |rank: u32, count: usize| Region::receive(rank as usize * bytes, count * bytes);
    let peers = hosts.count() + here.local().size;
    let mut builder = Builder::with_room(1 + peers / window.max(1), peers, 1);
    // Blocks of ranks that do not follow one another land together and are taken apart at the end.
    let mut to_part: Vec<(u32, Region)> = Vec::new();
    let mut received = 0;
    let mut receive = |builder: &mut Builder, from: u32, region: Region| {
        builder.receive(from, region);
        received += 1;
        if received % window.max(1) == 0 {
            builder.end_round();
        }
    };
    for &rank in here.members().iter().filter(|rank| **rank != here.rank) {
        receive(&mut builder, rank, blocks(rank, 1));
    }
    for distance in 1..hosts.count() {
        let host = here.among_hosts().above(distance);
        let members = hosts.members(host);
        let region = if hosts.is_run(host) {
            blocks(members[0], members.len())
        } else {
            let landing = builder.scratch(members.len() * bytes);
            to_part.push((host, landing));
            landing
        };
        receive(&mut builder, hosts.leader(host), region);
    }
    if !in_place {
        builder.copy(Region::send(0, bytes), blocks(here.rank, 1));
    }
    for (host, landing) in to_part {
        for (index, &rank) in hosts.members(host).iter().enumerate() {
            builder.copy(landing.part(index * bytes, bytes), blocks(rank, 1));
        }
    }
    builder.finish()
}
