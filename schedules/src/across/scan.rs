//! Scan across hosts whose ranks are in host order. Input: `Send`; output: `Receive`. In place: the
//! input lies in `Receive`.

use super::super::bcast::binomial_into;
use super::super::exscan::recursive_doubling_into as exscan_into;
use super::super::scan::recursive_doubling_into as scan_into;
use super::super::schedule::{Builder, Region, Schedule};
use super::super::{Hosts, Operand};
use super::Here;

/// A scan on every host, whose last rank then has the host's total; an exscan of the totals between
/// hosts; and what came before a host is handed to its ranks. ⌈log₂ hosts⌉ rounds between hosts
/// instead of ⌈log₂ size⌉.
pub fn exchange(hosts: &Hosts, rank: u32, operand: Operand) -> Schedule {
    let result = Region::receive(0, operand.bytes);
    let here = last_leads(hosts, rank);
    let mut builder = Builder::for_rounds(6 + here.local().size.ilog2() + hosts.count().ilog2());
    here.on_host(&mut builder, |builder, position| {
        scan_into(builder, position, operand.own(), result);
    });
    if let Some(before) = before_host(here, &mut builder, result) {
        builder.reduce(before, result);
    }
    builder.finish()
}

/// On this rank's host the last rank leads: it is the first to know the host's total.
pub(super) fn last_leads(hosts: &Hosts, rank: u32) -> Here<'_> {
    let members = hosts.members(hosts.host_of(rank));
    Here::with_root(hosts, rank, members[members.len() - 1])
}

/// What the hosts before this one combine to, on every rank; nothing on the first host. `total`
/// counts on the last rank of each host.
pub(super) fn before_host(here: Here<'_>, builder: &mut Builder, total: Region) -> Option<Region> {
    let (hosts, host) = (here.hosts, here.host());
    let before = builder.scratch(if host > 0 { total.bytes } else { 0 });
    if here.is_leader() {
        let last = |host: u32| hosts.order()[hosts.start(host + 1) as usize - 1];
        builder.among(last, |builder| {
            exscan_into(builder, here.among_hosts(), total, before);
        });
    }
    if host == 0 {
        return None;
    }
    builder.end_round();
    here.on_host(builder, |builder, position| {
        binomial_into(builder, position, here.top(), before);
    });
    Some(before)
}
