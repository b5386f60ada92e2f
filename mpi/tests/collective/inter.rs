//! Collectives of intercommunicators: even ranks of the job against odd ones, in all forms.

use std::sync::Arc;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts, Root, Shares};
use oxmpi_core::communicator::Comm;
use oxmpi_core::making::intercomm_create;

use crate::area::{Area, NOTHING, Pair, compose, value, values};
use crate::case::{Case, FORMS, composition, join};

const SIZES: [u32; 3] = [2, 3, 5];

/// Even ranks and odd ranks of the world, and the processes of both groups in the order of their
/// ranks.
struct Two {
    comm: Arc<Comm>,
    /// World ranks of the own group.
    local: Vec<u32>,
    remote: Vec<u32>,
}

impl Two {
    fn new(world: &Comm) -> Two {
        let parity = world.rank() % 2;
        let half = world.split(Some(parity), 0).unwrap().unwrap();
        let other = 1 - parity as i32;
        let comm = Arc::new(intercomm_create(&half, 0, Some(world), other, 3).unwrap());
        let of = |parity| {
            (0..world.size())
                .filter(|rank| rank % 2 == parity)
                .collect()
        };
        Two {
            comm,
            local: of(parity),
            remote: of(1 - parity),
        }
    }

    /// Roles of this process for every root of the job.
    fn roots(&self, world: &Comm) -> Vec<(u32, Root)> {
        let role = |root: u32| match self.remote.iter().position(|rank| *rank == root) {
            Some(rank) => Root::Rank(rank as u32),
            None if root == world.rank() => Root::This,
            None => Root::Nobody,
        };
        (0..world.size()).map(|root| (root, role(root))).collect()
    }

    /// The combination of the other group's vectors.
    fn combined(&self, round: u64, first: usize, count: usize) -> Vec<Pair> {
        let one = |index| {
            let all = self.remote.iter().map(|rank| value(round, *rank, index));
            all.reduce(compose).unwrap()
        };
        (first..first + count).map(one).collect()
    }
}

oxmpi_harness::ranks! {
    fn barrier(SIZES) {
        let (process, world) = join();
        let two = Two::new(&world);
        for _ in 0..5 {
            two.comm.collective(Collective::Barrier).unwrap();
            let mut barrier = two.comm.icollective(Collective::Barrier).unwrap();
            barrier.wait().unwrap();
        }
        process.finalize();
    }

    fn from_and_to_a_root(SIZES) {
        let (process, world) = join();
        let two = &Two::new(&world);
        let me = world.rank();
        let others = two.remote.len();
        for ((form, receive_form), count) in crate::product(FORMS, [1, 6, 3000]) {
            for (root, role) in two.roots(&world) {
                let mut receive = Area::new(form, count);
                let buffer = receive.buffer(0, count);
                Case {
                    name: format!("bcast of {count} from {root}"),
                    send: Area::new(form, 0),
                    receive,
                    fill: Box::new(move |round, _, receive| {
                        if me == root {
                            receive.set(0, &values(round, me, 0, count));
                        }
                    }),
                    expected: Box::new(move |round| match role {
                        Root::Nobody => vec![NOTHING; count],
                        _ => values(round, root, 0, count),
                    }),
                    checked: count,
                    collective: Collective::Bcast { buffer, root: role },
                }
                .run(&two.comm);

                let all = others * count;
                let mut send = Area::new(form, count);
                let mut receive = Area::new(receive_form, all);
                let collective = Collective::Gather {
                    send: Some(send.buffer(0, count)),
                    receive: Parts::Equal(receive.buffer(0, all)),
                    root: role,
                };
                Case {
                    name: format!("gather of {count} at {root}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, count))),
                    expected: Box::new(move |round| match role {
                        Root::This => two.remote.iter().flat_map(|rank| values(round, *rank, 0, count)).collect(),
                        _ => vec![NOTHING; all],
                    }),
                    checked: all,
                    collective,
                }
                .run(&two.comm);

                let mut send = Area::new(form, all);
                let mut receive = Area::new(receive_form, count);
                let place = two.local.iter().position(|rank| *rank == me).unwrap();
                let blocks = (0..others).map(|rank| send.buffer(rank * count, count)).collect();
                let collective = Collective::Scatter {
                    send: Parts::Each(blocks),
                    receive: Some(receive.buffer(0, count)),
                    root: role,
                };
                Case {
                    name: format!("scatterv of {count} from {root}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, all))),
                    expected: Box::new(move |round| match role {
                        Root::Rank(_) => values(round, root, place * count, count),
                        _ => vec![NOTHING; count],
                    }),
                    checked: count,
                    collective,
                }
                .run(&two.comm);

                let mut send = Area::new(form, count);
                let mut receive = Area::new(form, count);
                let collective = Collective::Reduce {
                    send: Some(send.buffer(0, count)),
                    receive: receive.buffer(0, count),
                    reduction: composition(form),
                    root: role,
                };
                Case {
                    name: format!("reduce of {count} at {root}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, count))),
                    expected: Box::new(move |round| match role {
                        Root::This => two.combined(round, 0, count),
                        _ => vec![NOTHING; count],
                    }),
                    checked: count,
                    collective,
                }
                .run(&two.comm);
            }
        }
        process.finalize();
    }

    fn everybody_with_everybody(SIZES) {
        let (process, world) = join();
        let two = &Two::new(&world);
        let me = world.rank();
        let others = two.remote.len();
        let place = two.local.iter().position(|rank| *rank == me).unwrap();
        for ((form, receive_form), count) in crate::product(FORMS, [0, 1, 6, 3000]) {
            let all = others * count;
            let mut send = Area::new(form, count);
            let mut receive = Area::new(receive_form, all);
            let blocks = (0..others).map(|rank| receive.buffer(rank * count, count)).collect();
            let collective = Collective::Allgather {
                send: Some(send.buffer(0, count)),
                receive: Parts::Each(blocks),
            };
            Case {
                name: format!("allgatherv of {count}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, count))),
                expected: Box::new(move |round| {
                    two.remote.iter().flat_map(|rank| values(round, *rank, 0, count)).collect()
                }),
                checked: all,
                collective,
            }
            .run(&two.comm);

            let mut send = Area::new(form, all);
            let mut receive = Area::new(receive_form, all);
            let collective = Collective::Alltoall {
                send: Some(Parts::Equal(send.buffer(0, all))),
                receive: Parts::Equal(receive.buffer(0, all)),
            };
            Case {
                name: format!("alltoall of {count}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, all))),
                expected: Box::new(move |round| {
                    let from = |rank: &u32| values(round, *rank, place * count, count);
                    two.remote.iter().flat_map(from).collect()
                }),
                checked: all,
                collective,
            }
            .run(&two.comm);

            let mut send = Area::new(form, count);
            let mut receive = Area::new(form, count);
            let collective = Collective::Allreduce {
                send: Some(send.buffer(0, count)),
                receive: receive.buffer(0, count),
                reduction: composition(form),
            };
            Case {
                name: format!("allreduce of {count}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, count))),
                expected: Box::new(move |round| two.combined(round, 0, count)),
                checked: count,
                collective,
            }
            .run(&two.comm);

            // Both groups' vectors have 6 times `count` elements; a group of up to three ranks gets
            // equal shares of them.
            let (total, share) = (6 * count, 6 * count / two.local.len());
            let mut send = Area::new(form, total);
            let mut receive = Area::new(form, share);
            let shares = match count % 2 {
                0 => Shares::Equal(share as u64),
                _ => Shares::Each(vec![share as u64; two.local.len()]),
            };
            let collective = Collective::ReduceScatter {
                send: Some(send.buffer(0, total)),
                receive: receive.buffer(0, share),
                shares,
                reduction: composition(form),
            };
            Case {
                name: format!("reduce_scatter of {total}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, me, 0, total))),
                expected: Box::new(move |round| two.combined(round, place * share, share)),
                checked: share,
                collective,
            }
            .run(&two.comm);
        }
        process.finalize();
    }

    fn what_two_groups_cannot_do_is_refused([2]) {
        let (process, world) = join();
        let two = Two::new(&world);
        let mut area = Area::new(crate::area::Form::Dense, 2);
        let refused = |collective| match two.comm.collective(collective) {
            Ok(()) => panic!("it was accepted"),
            Err(error) => error.to_string(),
        };
        let (receive, reduction) = (area.buffer(0, 1), composition(crate::area::Form::Dense));
        assert_eq!(
            refused(Collective::Scan { send: None, receive: receive.clone(), reduction: reduction.clone() }),
            "scan needs a communicator of one group, and this is an intercommunicator; use MPI_Intercomm_merge first"
        );
        assert_eq!(
            refused(Collective::Allreduce { send: None, receive, reduction }),
            "allreduce cannot be done in place here: the communicator is an intercommunicator; \
             pass a buffer instead of MPI_IN_PLACE"
        );
        assert_eq!(
            refused(Collective::Bcast { buffer: Buffer::empty(), root: Root::Rank(1) }),
            "root 1 does not exist: the communicator has 1 rank(s), 0 to 0"
        );
        process.finalize();
    }
}
