//! Exscan across hosts whose ranks are in host order: rank 0 gets nothing and its `Receive` is left
//! alone. Input: `Send`; output: `Receive`. In place: the input lies in `Receive`.

use super::super::scan::recursive_doubling_into as scan_into;
use super::super::schedule::{Builder, Region, Schedule};
use super::super::{Hosts, Operand};
use super::scan::{before_host, last_leads};

/// As the scan: its results on a host move up by one rank, and what came before the host is
/// combined with them.
pub fn exchange(hosts: &Hosts, rank: u32, operand: Operand) -> Schedule {
    let result = Region::receive(0, operand.bytes);
    let here = last_leads(hosts, rank);
    let local = here.local();
    let mut builder = Builder::for_rounds(7 + local.size.ilog2() + hosts.count().ilog2());
    let inclusive = if local.size > 1 {
        builder.scratch(operand.bytes)
    } else {
        operand.own()
    };
    here.on_host(&mut builder, |builder, position| {
        scan_into(builder, position, operand.own(), inclusive);
        if position.rank > 0 {
            builder.receive(position.rank - 1, result);
        }
        if position.rank + 1 < position.size {
            builder.send(position.rank + 1, inclusive);
        }
    });
    if let Some(before) = before_host(here, &mut builder, inclusive) {
        if local.rank == 0 {
            builder.copy(before, result);
        } else {
            builder.reduce(before, result);
        }
    }
    builder.finish()
}
