//! Collectives in phases: between hosts they must look like their whole schedule, whoever does the
//! rest.

use super::super::across::phases;
use super::across::{hosts, map};
use super::*;

/// What a schedule exchanges with ranks of other hosts, in order.
fn crossing(schedule: &Schedule, rank: u32, hosts: &Hosts) -> Vec<(Direction, u32, usize)> {
    let transfers = schedule.transfers().iter();
    transfers
        .filter(|transfer| hosts.host_of(transfer.peer) != hosts.host_of(rank))
        .map(|transfer| (transfer.direction, transfer.peer, transfer.region.bytes))
        .collect()
}

#[test]
fn leaders_send_the_same_whether_their_hosts_use_boards_or_messages() {
    let mut compared = 0;
    for seed in 0..400 {
        let size = 2 + seed as u32 % 23;
        let numbers = map(size, 16, seed);
        let Some(hosts) = hosts(&numbers) else {
            continue;
        };
        let oversubscribed = seed % 3 == 0;
        let placement = Placement {
            hosts: Some(&hosts),
            oversubscribed,
        };
        for collective in [
            Collective::Barrier,
            Collective::Bcast,
            Collective::Allreduce,
        ] {
            let root = seed as u32 % size;
            let case = scenario(collective, size, root, 5, seed).prepare();
            for rank in 0..size {
                let (call, position) = (case.call(rank), Position::new(rank, size));
                let Some(phases) = phases(&call, position, placement) else {
                    // Only where the operation needs another order than the hosts have.
                    assert!(collective == Collective::Allreduce && !hosts.in_rank_order());
                    continue;
                };
                let whole = plan::schedule(&call, position, placement);
                assert_eq!(
                    crossing(&phases.between, rank, &hosts),
                    crossing(&whole, rank, &hosts),
                    "rank {rank} of {:?} on {numbers:?}",
                    case.scenario
                );
                let local = phases.between.transfers().iter();
                assert!(
                    local
                        .map(|transfer| hosts.host_of(transfer.peer))
                        .all(|host| host != hosts.host_of(rank))
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 1000);
}

#[test]
fn long_calls_and_calls_on_one_host_have_no_phases() {
    let hosts = hosts(&[0, 0, 1, 1]).expect("two hosts");
    let long = plan::Call::Bcast {
        bytes: 1 << 20,
        root: 0,
    };
    let position = Position::new(0, 4);
    assert!(phases(&long, position, Placement::several_hosts(&hosts)).is_none());
    assert!(phases(&plan::Call::Barrier, position, Placement::one_host(4, 4)).is_none());
}
