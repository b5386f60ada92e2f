//! Collectives that move data, in all forms, against what everybody can compute.

use oxmpi_core::collective::{Collective, Parts, Root};

use crate::area::{Area, NOTHING, Pair, value, values};
use crate::case::{Case, FORMS, join};
use crate::{COUNTS, SETTINGS, SIZES};

/// What blocks of the variants with v are multiples of: with the second, some go over a board and
/// others are too long for it.
const STEPS: [usize; 2] = [1, 700];

/// Elements of a rank's block in the variants with v; some have none.
fn count_of(rank: u32, peer: u32, step: usize) -> usize {
    let count = ((rank * 3 + peer * 2 + 1) % 4) as usize;
    count * if count > 1 { step } else { 1 }
}

/// Blocks laid out from the last to the first, with an element between them: where each begins, and
/// where all end.
fn laid_out(counts: &[usize]) -> (Vec<usize>, usize) {
    let mut at = 1;
    let mut starts = vec![0; counts.len()];
    for (index, count) in counts.iter().enumerate().rev() {
        starts[index] = at;
        at += count + 1;
    }
    (starts, at)
}

fn blocks(area: &mut Area, starts: &[usize], counts: &[usize]) -> Parts {
    let block = |(start, count): (&usize, &usize)| area.buffer(*start, *count);
    Parts::Each(starts.iter().zip(counts).map(block).collect())
}

/// A receive area with these blocks.
fn filled(elements: usize, blocks: impl Iterator<Item = (usize, Vec<Pair>)>) -> Vec<Pair> {
    let mut all = vec![NOTHING; elements];
    for (start, block) in blocks {
        all[start..][..block.len()].copy_from_slice(&block);
    }
    all
}

oxmpi_harness::ranks! {
    fn bcast(SIZES, SETTINGS) {
        let (process, world) = join();
        for ((_, form), count) in crate::product(FORMS, COUNTS) {
            for root in 0..world.size() {
                let mut receive = Area::new(form, count);
                let buffer = receive.buffer(0, count);
                let at_root = world.rank() == root;
                Case {
                    name: format!("bcast of {count} {form:?} from {root}"),
                    send: Area::new(form, 0),
                    receive,
                    fill: Box::new(move |round, _, receive| {
                        if at_root {
                            receive.set(0, &values(round, root, 0, count));
                        }
                    }),
                    expected: Box::new(move |round| values(round, root, 0, count)),
                    checked: count,
                    collective: Collective::Bcast { buffer, root: Root::Rank(root) },
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn barrier(SIZES, SETTINGS) {
        let (process, world) = join();
        let mut lasting = world.collective_init(Collective::Barrier).unwrap();
        for _ in 0..5 {
            lasting.start().unwrap();
            let mut one = world.icollective(Collective::Barrier).unwrap();
            world.collective(Collective::Barrier).unwrap();
            one.wait().unwrap();
            lasting.wait().unwrap();
        }
        process.finalize();
    }

    fn gather(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), count) in crate::product(FORMS, COUNTS) {
            for (root, wants_in_place) in crate::product(0..size, [false, true]) {
                let at_root = rank == root;
                let in_place = wants_in_place && at_root;
                let all = if at_root { count * size as usize } else { 0 };
                let mut send = Area::new(form, count);
                let mut receive = Area::new(receive_form, all);
                let collective = Collective::Gather {
                    send: (!in_place).then(|| send.buffer(0, count)),
                    receive: Parts::Equal(receive.buffer(0, all)),
                    root: Root::Rank(root),
                };
                Case {
                    name: format!("gather of {count} {form:?} {receive_form:?} at {root} in place {in_place}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, receive| {
                        let mine = values(round, rank, 0, count);
                        if in_place { receive.set(rank as usize * count, &mine) } else { send.set(0, &mine) }
                    }),
                    expected: Box::new(move |round| match at_root {
                        true => (0..size).flat_map(|rank| values(round, rank, 0, count)).collect(),
                        false => Vec::new(),
                    }),
                    checked: all,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn gather_of_any_length(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), root) in crate::product(FORMS, 0..size) {
            for (wants_in_place, step) in crate::product([false, true], STEPS) {
                let at_root = rank == root;
                let in_place = wants_in_place && at_root;
                let counts: Vec<usize> = (0..size).map(|rank| count_of(rank, root, step)).collect();
                let (starts, all) = laid_out(&counts);
                let all = if at_root { all } else { 0 };
                let count = counts[rank as usize];
                let mut send = Area::new(form, count);
                let mut receive = Area::new(receive_form, all);
                let collective = Collective::Gather {
                    send: (!in_place).then(|| send.buffer(0, count)),
                    receive: match at_root {
                        true => blocks(&mut receive, &starts, &counts),
                        false => Parts::Each(Vec::new()),
                    },
                    root: Root::Rank(root),
                };
                let (from, to) = (starts[rank as usize], counts.clone());
                Case {
                    name: format!("gatherv {form:?} {receive_form:?} at {root} in place {in_place} {step}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, receive| {
                        let mine = values(round, rank, 0, count);
                        if in_place { receive.set(from, &mine) } else { send.set(0, &mine) }
                    }),
                    expected: Box::new(move |round| match at_root {
                        true => filled(all, (0..size).map(|rank| {
                            (starts[rank as usize], values(round, rank, 0, to[rank as usize]))
                        })),
                        false => Vec::new(),
                    }),
                    checked: all,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn scatter(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), count) in crate::product(FORMS, COUNTS) {
            for (root, wants_in_place) in crate::product(0..size, [false, true]) {
                let at_root = rank == root;
                let in_place = wants_in_place && at_root;
                let all = if at_root { count * size as usize } else { 0 };
                let mut send = Area::new(form, all);
                let mut receive = Area::new(receive_form, count);
                let collective = Collective::Scatter {
                    send: Parts::Equal(send.buffer(0, all)),
                    receive: (!in_place).then(|| receive.buffer(0, count)),
                    root: Root::Rank(root),
                };
                Case {
                    name: format!("scatter of {count} {form:?} {receive_form:?} from {root} in place {in_place}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, _| send.set(0, &values(round, root, 0, all))),
                    expected: Box::new(move |round| match in_place {
                        true => vec![NOTHING; count],
                        false => values(round, root, rank as usize * count, count),
                    }),
                    checked: count,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn scatter_of_any_length(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), root) in crate::product(FORMS, 0..size) {
            for (wants_in_place, step) in crate::product([false, true], STEPS) {
                let at_root = rank == root;
                let in_place = wants_in_place && at_root;
                let counts: Vec<usize> = (0..size).map(|rank| count_of(rank, root, step)).collect();
                // What is sent may overlap: everybody's block begins one element after the one
                // before.
                let starts: Vec<usize> = (0..size as usize).collect();
                let all = if at_root { size as usize + 4 * step } else { 0 };
                let count = counts[rank as usize];
                let mut send = Area::new(form, all);
                let mut receive = Area::new(receive_form, count);
                let collective = Collective::Scatter {
                    send: match at_root {
                        true => blocks(&mut send, &starts, &counts),
                        false => Parts::Each(Vec::new()),
                    },
                    receive: (!in_place).then(|| receive.buffer(0, count)),
                    root: Root::Rank(root),
                };
                Case {
                    name: format!("scatterv {form:?} {receive_form:?} from {root} in place {in_place} {step}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, _| send.set(0, &values(round, root, 0, all))),
                    expected: Box::new(move |round| match in_place {
                        true => vec![NOTHING; count],
                        false => values(round, root, rank as usize, count),
                    }),
                    checked: count,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn allgather(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), count) in crate::product(FORMS, COUNTS) {
            for in_place in [false, true] {
                let all = count * size as usize;
                let mut send = Area::new(form, count);
                let mut receive = Area::new(receive_form, all);
                let collective = Collective::Allgather {
                    send: (!in_place).then(|| send.buffer(0, count)),
                    receive: Parts::Equal(receive.buffer(0, all)),
                };
                Case {
                    name: format!("allgather of {count} {form:?} {receive_form:?} in place {in_place}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, receive| {
                        let mine = values(round, rank, 0, count);
                        if in_place { receive.set(rank as usize * count, &mine) } else { send.set(0, &mine) }
                    }),
                    expected: Box::new(move |round| {
                        (0..size).flat_map(|rank| values(round, rank, 0, count)).collect()
                    }),
                    checked: all,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn allgather_of_any_length(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), in_place) in crate::product(FORMS, [false, true]) {
            for times in [1, 700] {
                let counts: Vec<usize> = (0..size).map(|rank| times * count_of(rank, 0, 1)).collect();
                let (starts, all) = laid_out(&counts);
                let count = counts[rank as usize];
                let mut send = Area::new(form, count);
                let mut receive = Area::new(receive_form, all);
                let collective = Collective::Allgather {
                    send: (!in_place).then(|| send.buffer(0, count)),
                    receive: blocks(&mut receive, &starts, &counts),
                };
                let from = starts[rank as usize];
                Case {
                    name: format!("allgatherv {form:?} {receive_form:?} in place {in_place}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, receive| {
                        let mine = values(round, rank, 0, count);
                        if in_place { receive.set(from, &mine) } else { send.set(0, &mine) }
                    }),
                    expected: Box::new(move |round| filled(all, (0..size).map(|rank| {
                        (starts[rank as usize], values(round, rank, 0, counts[rank as usize]))
                    }))),
                    checked: all,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn alltoall(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), count) in crate::product(FORMS, COUNTS) {
            for in_place in [false, true] {
                let all = count * size as usize;
                let mut send = Area::new(form, all);
                let mut receive = Area::new(receive_form, all);
                let collective = Collective::Alltoall {
                    send: (!in_place).then(|| Parts::Equal(send.buffer(0, all))),
                    receive: Parts::Equal(receive.buffer(0, all)),
                };
                Case {
                    name: format!("alltoall of {count} {form:?} {receive_form:?} in place {in_place}"),
                    send,
                    receive,
                    fill: Box::new(move |round, send, receive| {
                        let mine = values(round, rank, 0, all);
                        if in_place { receive.set(0, &mine) } else { send.set(0, &mine) }
                    }),
                    expected: Box::new(move |round| {
                        (0..size).flat_map(|from| values(round, from, rank as usize * count, count)).collect()
                    }),
                    checked: all,
                    collective,
                }
                .run(&world);
            }
        }
        process.finalize();
    }

    fn alltoall_of_any_length(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), (in_place, step)) in
            crate::product(FORMS, [(false, 1), (false, 700), (true, 1), (true, 700)])
        {
            // In place, two ranks give each other equally much.
            let count = |from: u32, to: u32| match in_place {
                true => count_of(from.min(to), from.max(to), step),
                false => count_of(from, to, step),
            };
            let send_counts: Vec<usize> = (0..size).map(|to| count(rank, to)).collect();
            let counts: Vec<usize> = (0..size).map(|from| count(from, rank)).collect();
            let (send_starts, send_all) = laid_out(&send_counts);
            let (starts, all) = laid_out(&counts);
            let mut send = Area::new(form, send_all);
            let mut receive = Area::new(receive_form, all);
            let collective = Collective::Alltoall {
                send: (!in_place).then(|| blocks(&mut send, &send_starts, &send_counts)),
                receive: blocks(&mut receive, &starts, &counts),
            };
            let (fill_starts, fill_counts) = (send_starts.clone(), send_counts.clone());
            Case {
                name: format!("alltoallv {form:?} {receive_form:?} in place {in_place} {step}"),
                send,
                receive,
                fill: Box::new(move |round, send, receive| {
                    let area = if in_place { receive } else { send };
                    for to in 0..size as usize {
                        // The place in a rank's values names the receiver.
                        area.set(fill_starts[to], &values(round, rank, 100 * to, fill_counts[to]));
                    }
                }),
                expected: Box::new(move |round| filled(all, (0..size).map(|from| {
                    let count = counts[from as usize];
                    (starts[from as usize], values(round, from, 100 * rank as usize, count))
                }))),
                checked: all,
                collective,
            }
            .run(&world);
        }
        process.finalize();
    }

    fn values_differ_between_ranks_places_and_rounds([1]) {
        assert_ne!(value(1, 0, 0), value(2, 0, 0));
        assert_ne!(value(1, 0, 0), value(1, 1, 0));
        assert_ne!(value(1, 0, 0), value(1, 0, 1));
    }
}
