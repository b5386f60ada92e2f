//! Collectives that combine data, with an operation that notices a wrong order, and with predefined
//! ones.

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Reduction, Root, Shares};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::Predefined;

use crate::area::{Area, Form, NOTHING, Pair, compose, value, values};
use crate::case::{Case, composition, join};
use crate::{COUNTS, SETTINGS, SIZES};

const FORMS: [Form; 2] = [Form::Dense, Form::Gaps];

/// The combination of some ranks' vectors.
fn combined(round: u64, ranks: std::ops::Range<u32>, first: usize, count: usize) -> Vec<Pair> {
    let one = |index| {
        ranks
            .clone()
            .map(|rank| value(round, rank, index))
            .reduce(compose)
    };
    (first..first + count)
        .map(|index| one(index).unwrap_or(NOTHING))
        .collect()
}

/// One whose vectors are as long as its result.
fn vectors<'a>(
    name: &str,
    form: Form,
    count: usize,
    rank: u32,
    in_place: bool,
    expected: impl Fn(u64) -> Vec<Pair> + 'a,
    describe: impl FnOnce(Option<Buffer>, Buffer, Reduction) -> Collective,
) -> Case<'a> {
    let mut send = Area::new(form, count);
    let mut receive = Area::new(form, count);
    let collective = describe(
        (!in_place).then(|| send.buffer(0, count)),
        receive.buffer(0, count),
        composition(form),
    );
    Case {
        name: format!("{name} of {count} {form:?} in place {in_place}"),
        send,
        receive,
        fill: Box::new(move |round, send, receive| {
            let mine = values(round, rank, 0, count);
            if in_place {
                receive.set(0, &mine)
            } else {
                send.set(0, &mine)
            }
        }),
        expected: Box::new(expected),
        checked: count,
        collective,
    }
}

oxmpi_harness::ranks! {
    fn reduce(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for (form, count) in crate::product(FORMS, COUNTS) {
            for (root, wants_in_place) in crate::product(0..size, [false, true]) {
                let at_root = rank == root;
                let expected = move |round| match at_root {
                    true => combined(round, 0..size, 0, count),
                    false => vec![NOTHING; count],
                };
                let in_place = wants_in_place && at_root;
                vectors("reduce", form, count, rank, in_place, expected, |send, receive, reduction| {
                    Collective::Reduce { send, receive, reduction, root: Root::Rank(root) }
                })
                .run(&world);
            }
        }
        process.finalize();
    }

    fn allreduce(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, count), in_place) in crate::product(crate::product(FORMS, COUNTS).collect::<Vec<_>>(), [false, true]) {
            let expected = move |round| combined(round, 0..size, 0, count);
            vectors("allreduce", form, count, rank, in_place, expected, |send, receive, reduction| {
                Collective::Allreduce { send, receive, reduction }
            })
            .run(&world);
        }
        process.finalize();
    }

    fn scan_and_exscan(SIZES, SETTINGS) {
        let (process, world) = join();
        let rank = world.rank();
        for ((form, count), in_place) in crate::product(crate::product(FORMS, COUNTS).collect::<Vec<_>>(), [false, true]) {
            let expected = move |round| combined(round, 0..rank + 1, 0, count);
            vectors("scan", form, count, rank, in_place, expected, |send, receive, reduction| {
                Collective::Scan { send, receive, reduction }
            })
            .run(&world);
            let expected = move |round| match rank {
                0 if in_place => values(round, 0, 0, count),
                0 => vec![NOTHING; count],
                _ => combined(round, 0..rank, 0, count),
            };
            vectors("exscan", form, count, rank, in_place, expected, |send, receive, reduction| {
                Collective::Exscan { send, receive, reduction }
            })
            .run(&world);
        }
        process.finalize();
    }

    fn reduce_scatter(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, count), (in_place, equal)) in crate::product(
            crate::product(FORMS, COUNTS).collect::<Vec<_>>(),
            crate::product([false, true], [false, true]).collect::<Vec<_>>(),
        ) {
            let share = |rank: u32| if equal { count } else { count * (rank as usize % 3) };
            let total: usize = (0..size).map(share).sum();
            let (first, own) = ((0..rank).map(share).sum::<usize>(), share(rank));
            let shares = match equal {
                true => Shares::Equal(count as u64),
                false => Shares::Each((0..size).map(|rank| share(rank) as u64).collect()),
            };
            let room = if in_place { total } else { own };
            let mut send = Area::new(form, total);
            let mut receive = Area::new(form, room);
            let collective = Collective::ReduceScatter {
                send: (!in_place).then(|| send.buffer(0, total)),
                receive: receive.buffer(0, room),
                shares,
                reduction: composition(form),
            };
            Case {
                name: format!("reduce_scatter of {count} {form:?} in place {in_place} equal {equal}"),
                send,
                receive,
                fill: Box::new(move |round, send, receive| {
                    let mine = values(round, rank, 0, total);
                    if in_place { receive.set(0, &mine) } else { send.set(0, &mine) }
                }),
                expected: Box::new(move |round| combined(round, 0..size, first, own)),
                checked: own,
                collective,
            }
            .run(&world);
        }
        process.finalize();
    }

    fn predefined_operations(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        let datatype = Datatype::named(Basic::Uint64);
        for op in [Predefined::Sum, Predefined::Max, Predefined::BitXor] {
            for length in [1usize, 5, 1000, 70_000] {
                let input: Vec<u64> = (0..length as u64).map(|i| i * 3 + u64::from(rank) * 1001).collect();
                let mut result = vec![0u64; length];
                // SAFETY: both vectors outlive the call.
                let buffer = |data: *const u64| unsafe {
                    Buffer::new(data.cast_mut().cast(), length as u64, &datatype)
                };
                let collective = Collective::Allreduce {
                    send: Some(buffer(input.as_ptr()).unwrap()),
                    receive: buffer(result.as_mut_ptr()).unwrap(),
                    reduction: Reduction { op: op.into(), datatype: datatype.clone() },
                };
                world.collective(collective).unwrap();
                let expected = |i: u64| {
                    let all = (0..u64::from(size)).map(|rank| i * 3 + rank * 1001);
                    match op {
                        Predefined::Sum => all.sum::<u64>(),
                        Predefined::Max => all.max().unwrap(),
                        _ => all.fold(0, |a, b| a ^ b),
                    }
                };
                assert!(result.iter().zip(0..).all(|(got, i)| *got == expected(i)), "{op} of {length}");
            }
        }
        process.finalize();
    }
}
