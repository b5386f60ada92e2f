//! Two groups of all small sizes, in both orders, with every role: schedules are valid, end, and
//! bring what they should.

use super::super::inter::{self, Groups, Role};
use super::super::reduce_scatter::Blocks;
use super::oracle::{self, ELEMENT_BYTES, mix};
use super::*;

/// The groups as each process of both sees them.
fn everybody(first: u32, second: u32) -> Vec<Groups> {
    let one = (0..first).map(|rank| Groups::new(rank, first, second, true));
    let other = (0..second).map(|rank| Groups::new(rank, second, first, false));
    one.chain(other).collect()
}

/// What a process sends.
fn data(process: u32, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| mix(u64::from(process) << 32 | at as u64) as u8)
        .collect()
}

/// Runs a collective in which every process reads `send` bytes and writes `receive` bytes, and
/// tells what each got.
fn outcome(
    groups: &[Groups],
    send: impl Fn(Groups) -> usize,
    receive: impl Fn(Groups) -> Vec<u8>,
    build: impl Fn(Groups) -> Schedule,
) -> Vec<Vec<u8>> {
    let size = groups.len() as u32;
    let member = |groups: &Groups| {
        let (schedule, bytes, receive) = (build(*groups), send(*groups), receive(*groups));
        let extents = Extents {
            send: bytes,
            receive: receive.len(),
        };
        let valid = schedule.validate(Position::new(groups.rank, size), extents);
        valid.unwrap_or_else(|fault| panic!("{groups:?}: {fault}\n{schedule}"));
        (schedule, data(groups.rank, bytes), receive)
    };
    let members = groups.iter().map(member).collect();
    let mut random = Random(u64::from(size));
    let ranks = simulate(&groups, members, false, &mut random);
    ranks.into_iter().map(|rank| rank.receive).collect()
}

/// The combination of the vectors of a group.
fn combination(side: inter::Side, bytes: usize) -> Vec<u8> {
    let mut all: Vec<Vec<u8>> = (side.first..side.first + side.size)
        .map(|process| data(process, bytes))
        .collect();
    let mut result = all.pop().expect("no group is empty");
    for vector in all.iter().rev() {
        oracle::combine(false, vector, &mut result);
    }
    result
}

fn all_pairs(check: impl Fn(Vec<Groups>)) {
    for first in 1..=5 {
        for second in 1..=5 {
            check(everybody(first, second));
        }
    }
}

/// Every process as the root, with the role that it gives to the others.
fn all_roots(groups: &[Groups], check: impl Fn(u32, &dyn Fn(Groups) -> Role)) {
    for root in 0..groups.len() as u32 {
        let home = groups[root as usize].local;
        check(root, &|here: Groups| {
            if here.rank == root {
                Role::Root
            } else if here.local == home {
                Role::Bystander
            } else {
                Role::Opposite(root)
            }
        });
    }
}

const BYTES: usize = 4 * ELEMENT_BYTES;

#[test]
fn rooted_ones_bring_data_across() {
    all_pairs(|groups| {
        all_roots(&groups, |root, role| {
            let empty = |_: Groups| vec![0; BYTES];
            let at_root = |here: Groups| match here.rank == root {
                true => data(root, BYTES),
                false => empty(here),
            };
            let got = outcome(
                &groups,
                |_| 0,
                at_root,
                |here| inter::bcast(here, role(here), BYTES),
            );
            for here in &groups {
                let has = role(*here) != Role::Bystander;
                assert_eq!(got[here.rank as usize] == data(root, BYTES), has);
            }

            let remote = groups[root as usize].remote;
            let block = |rank: u32| Region::receive(rank as usize * BYTES, BYTES);
            let got = outcome(
                &groups,
                |_| BYTES,
                |here| vec![0; here.remote.size as usize * BYTES],
                |here| inter::gather(here, role(here), Region::send(0, BYTES), block),
            );
            let expected: Vec<u8> = (remote.first..remote.first + remote.size)
                .flat_map(|process| data(process, BYTES))
                .collect();
            assert_eq!(got[root as usize], expected);

            let block = |rank: u32| Region::send(rank as usize * BYTES, BYTES);
            let got = outcome(
                &groups,
                |here| here.remote.size as usize * BYTES,
                empty,
                |here| inter::scatter(here, role(here), Region::receive(0, BYTES), block),
            );
            let sent = data(root, remote.size as usize * BYTES);
            for rank in 0..remote.size {
                let got = &got[(remote.first + rank) as usize];
                assert_eq!(*got, sent[rank as usize * BYTES..][..BYTES]);
            }

            let got = outcome(
                &groups,
                |_| BYTES,
                empty,
                |here| inter::reduce(here, role(here), BYTES),
            );
            assert_eq!(got[root as usize], combination(remote, BYTES));
        });
    });
}

#[test]
fn all_to_all_crosses_between_the_groups() {
    all_pairs(|groups| {
        let send = |rank: u32| Region::send(rank as usize * BYTES, BYTES);
        let receive = |rank: u32| Region::receive(rank as usize * BYTES, BYTES);
        let got = outcome(
            &groups,
            |here| here.remote.size as usize * BYTES,
            |here| vec![0; here.remote.size as usize * BYTES],
            |here| inter::alltoall(here, send, receive),
        );
        for here in &groups {
            for from in 0..here.remote.size {
                let process = here.remote.first + from;
                let sent = data(process, here.local.size as usize * BYTES);
                let to = (here.rank - here.local.first) as usize;
                assert_eq!(
                    got[here.rank as usize][from as usize * BYTES..][..BYTES],
                    sent[to * BYTES..][..BYTES]
                );
            }
        }
    });
}

#[test]
fn everybody_gets_the_combination_of_the_other_group() {
    all_pairs(|groups| {
        let got = outcome(
            &groups,
            |_| BYTES,
            |_| vec![0; BYTES],
            |here| inter::allreduce(here, BYTES),
        );
        for here in &groups {
            assert_eq!(got[here.rank as usize], combination(here.remote, BYTES));
        }
    });
}

#[test]
fn the_combination_of_the_other_group_is_dealt_out() {
    all_pairs(|groups| {
        // Vectors of both groups are equally long, shares differ between groups and ranks.
        let total = 12 * ELEMENT_BYTES;
        let ends = |size: u32| -> Vec<usize> {
            (1..=size as usize)
                .map(|rank| match rank == size as usize {
                    true => total,
                    false => (rank * rank).min(12) * ELEMENT_BYTES,
                })
                .collect()
        };
        let share = |here: Groups| {
            let ends = ends(here.local.size);
            let rank = here.rank - here.local.first;
            Blocks::Ends(&ends).span(rank, rank + 1)
        };
        let got = outcome(
            &groups,
            |_| total,
            |here| vec![0; share(here).bytes],
            |here| inter::reduce_scatter(here, Blocks::Ends(&ends(here.local.size))),
        );
        for here in &groups {
            let Block { offset, bytes } = share(*here);
            let expected = combination(here.remote, total);
            assert_eq!(got[here.rank as usize], expected[offset..][..bytes]);
        }
    });
}
