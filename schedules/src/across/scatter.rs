//! Scatter across hosts: one message to every other host. Input: `Send` at the root, which is named
//! nowhere else; output: `Receive`. In place (root only): the root's block stays in `Send`, and its
//! `Receive` is not named. The root leads its host.

use super::super::schedule::{Builder, Region, Schedule};
use super::Here;

/// The blocks of a host go to its leader, which deals them out; those of the root's own host go
/// straight to their ranks. As [`gather::star`](super::gather::star), the other way round.
pub fn star(here: Here<'_>, bytes: usize, in_place: bool, window: u32) -> Schedule {
    let (own, root) = (Region::receive(0, bytes), here.leader(here.top_host()));
    if here.rank == root {
        return at_root(here, bytes, in_place, window);
    }
    let mut builder = Builder::for_rounds(2);
    if !here.is_leader() {
        builder.receive(here.leader(here.host()), own);
        return builder.finish();
    }
    let members = here.members();
    if members.len() == 1 {
        builder.receive(root, own);
        return builder.finish();
    }
    let joined = builder.scratch(members.len() * bytes);
    builder.receive(root, joined);
    builder.end_round();
    for (index, &rank) in members.iter().enumerate() {
        if rank != here.rank {
            builder.send(rank, joined.part(index * bytes, bytes));
        }
    }
    builder.copy(joined.part(here.local().rank as usize * bytes, bytes), own);
    builder.finish()
}

fn at_root(here: Here<'_>, bytes: usize, in_place: bool, window: u32) -> Schedule {
    let hosts = here.hosts;
    let blocks = |rank: u32, count: usize| Region::send(rank as usize * bytes, count * bytes);
    let others = || (1..hosts.count()).map(|distance| here.among_hosts().above(distance));
    let peers = hosts.count() + here.local().size;
    let mut builder = Builder::with_room(2 + peers / window.max(1), peers, 1);
    // Blocks of ranks that do not follow one another are joined before anything is sent.
    let mut joined: Vec<Region> = Vec::new();
    for host in others().filter(|host| !hosts.is_run(*host)) {
        let members = hosts.members(host);
        let region = builder.scratch(members.len() * bytes);
        for (index, &rank) in members.iter().enumerate() {
            builder.copy(blocks(rank, 1), region.part(index * bytes, bytes));
        }
        joined.push(region);
    }
    let mut joined = joined.into_iter();
    let to_hosts = others().map(|host| {
        let members = hosts.members(host);
        let region = if hosts.is_run(host) {
            blocks(members[0], members.len())
        } else {
            joined.next().expect("joined above, in the same order")
        };
        (hosts.leader(host), region)
    });
    let members = here.members().iter().filter(|rank| **rank != here.rank);
    let to_members = members.map(|&rank| (rank, blocks(rank, 1)));
    for (sent, (to, region)) in (1..).zip(to_hosts.chain(to_members)) {
        builder.send(to, region);
        if sent % window.max(1) == 0 {
            builder.end_round();
        }
    }
    if !in_place {
        builder.copy(blocks(here.rank, 1), Region::receive(0, bytes));
    }
    builder.finish()
}
