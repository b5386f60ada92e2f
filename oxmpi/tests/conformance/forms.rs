//! Collectives in all their forms: begun in a scope, awaited, prepared and started again; and what
//! a failing scope leaves behind.

use oxmpi::collective::{self, Root};
use oxmpi::op::{self, Max, Sum};
use oxmpi::{Communicator, ErrorKind};

use crate::futures::block_on;

/// On boards where they are small enough, by messages alone, and without the driver thread.
const SETTINGS: [oxmpi_harness::Setting; 3] =
    [&[], &[("OXMPI_BOARDS", "off")], &[("OXMPI_DRIVER", "off")]];

const SIZES: [u32; 4] = [1, 2, 3, 4];

fn data(rank: u32, length: usize) -> Vec<u64> {
    (0..length)
        .map(|i| u64::from(rank) * 1000 + i as u64)
        .collect()
}

/// The sum of all ranks' data.
fn sum(size: u32, length: usize) -> Vec<u64> {
    let all: Vec<Vec<u64>> = (0..size).map(|rank| data(rank, length)).collect();
    (0..length)
        .map(|i| all.iter().map(|data| data[i]).sum())
        .collect()
}

/// Every collective that is begun at once, each with memory of its own.
fn begin_everything(world: &Communicator<'_>, length: usize) {
    let (rank, size) = (world.rank(), world.size());
    let (own, places) = (rank as usize, size as usize);
    let root = size - 1;
    let is_root = rank == root;
    let mine = data(rank, length);
    let all_of: Vec<u64> = (0..size).flat_map(|rank| data(rank, length)).collect();
    let counts: Vec<usize> = (0..places).map(|rank| length * (rank % 2)).collect();
    let ends = |at: &mut usize, count: &usize| {
        let begin = *at;
        *at += count;
        Some(begin)
    };
    let displacements: Vec<usize> = counts.iter().scan(0, ends).collect();
    let total: usize = counts.iter().sum();

    let mut shared = if is_root {
        mine.clone()
    } else {
        vec![0; length]
    };
    let mut gathered = vec![0; if is_root { length * places } else { 0 }];
    let mut gathered_v = vec![0; total];
    let mut dealt = vec![0; length];
    let mut dealt_v = vec![0; counts[own]];
    let mut everything = vec![0; length * places];
    let mut everything_v = vec![0; total];
    let mut turned = vec![0; length * places];
    let mut turned_v = vec![0; length * places];
    let mut reduced = vec![0; if is_root { length } else { 0 }];
    let mut summed = vec![0; length];
    let mut in_place = mine.clone();
    let mut scanned = vec![0; length];
    let mut before = vec![7; length];
    let mut share = vec![0; length];
    let mut share_v = vec![0; counts[own]];
    let long = data(0, length * places);
    let long_v = data(0, total);
    let part_v = data(rank, counts[own]);
    let equal = vec![length; places];
    let steps: Vec<usize> = (0..places).map(|rank| rank * length).collect();

    oxmpi::scope(|s| {
        let mut requests = vec![
            world.begin(s, collective::barrier())?,
            world.begin(s, collective::bcast(&mut shared, root))?,
            world.begin(
                s,
                collective::gather(&mine, is_root.then_some(&mut gathered[..]), root),
            )?,
            world.begin(
                s,
                collective::gatherv(
                    &part_v,
                    is_root.then_some((&mut gathered_v[..], &counts[..], &displacements[..])),
                    root,
                ),
            )?,
            world.begin(
                s,
                collective::scatter(is_root.then_some(&all_of[..]), &mut dealt, root),
            )?,
            world.begin(
                s,
                collective::scatterv(
                    is_root.then_some((&long_v[..], &counts[..], &displacements[..])),
                    &mut dealt_v,
                    root,
                ),
            )?,
            world.begin(s, collective::allgather(&mine, &mut everything))?,
            world.begin(
                s,
                collective::allgatherv(&part_v, &mut everything_v, &counts, &displacements),
            )?,
            world.begin(s, collective::alltoall(&all_of, &mut turned))?,
            world.begin(
                s,
                collective::alltoallv(&all_of, &equal, &steps, &mut turned_v, &equal, &steps),
            )?,
            world.begin(
                s,
                collective::reduce(&mine, is_root.then_some(&mut reduced[..]), Sum, root),
            )?,
            world.begin(s, collective::allreduce(&mine, &mut summed, Sum))?,
            world.begin(s, collective::allreduce_in_place(&mut in_place, Sum))?,
            world.begin(s, collective::scan(&mine, &mut scanned, Sum))?,
            world.begin(s, collective::exscan(&mine, &mut before, Sum))?,
            world.begin(s, collective::reduce_scatter_block(&long, &mut share, Max))?,
            world.begin(
                s,
                collective::reduce_scatter(&long_v, &mut share_v, &counts, Sum),
            )?,
        ];
        // A blocking one and messages do not mix with them.
        world.barrier()?;
        assert_eq!(world.allreduce_one(1u32, Sum)?, size);
        // In another order on each rank; one is never waited for.
        requests.rotate_left(own);
        drop(requests.pop());
        while let Some((_, status)) = oxmpi::wait_any(&mut requests) {
            assert_eq!(status?.bytes, 0);
        }
        Ok(())
    })
    .unwrap();

    assert_eq!(shared, data(root, length));
    assert_eq!(dealt, mine);
    assert_eq!(dealt_v, long_v[displacements[own]..][..counts[own]]);
    assert_eq!(everything, all_of);
    let parts: Vec<u64> = (0..size)
        .flat_map(|rank| data(rank, counts[rank as usize]))
        .collect();
    assert_eq!(everything_v, parts);
    if is_root {
        assert_eq!(gathered, all_of);
        assert_eq!(gathered_v, parts);
        assert_eq!(reduced, sum(size, length));
    }
    let mine_of_all: Vec<u64> = (0..size).flat_map(|_| data(rank, length)).collect();
    assert_eq!(turned, mine_of_all);
    assert_eq!(turned_v, mine_of_all);
    assert_eq!(summed, sum(size, length));
    assert_eq!(in_place, sum(size, length));
    assert_eq!(scanned, sum(rank + 1, length));
    let expected = if rank == 0 {
        vec![7; length]
    } else {
        sum(rank, length)
    };
    assert_eq!(before, expected);
    assert_eq!(share, long[own * length..][..length]);
    let scaled = |value: &u64| value * u64::from(size);
    let shares: Vec<u64> = long_v[displacements[own]..][..counts[own]]
        .iter()
        .map(scaled)
        .collect();
    assert_eq!(share_v, shares);
}

oxmpi_harness::ranks! {
    fn all_of_them_at_once_in_a_scope(SIZES, SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        for length in [0, 1, 100, 5000] {
            begin_everything(&mpi.world(), length);
        }
    }

    fn one_can_be_awaited(SIZES, SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (mut total, mut greatest) = (0, vec![0; 3000]);
        let mine = data(world.rank(), 3000);
        oxmpi::scope(|s| {
            let both = async {
                world.begin(s, collective::allreduce(&1u64, &mut total, Sum))?.await?;
                // Functions of the program run on its own threads.
                let larger = op::user(true, move |a: &u64, b: &u64| *a.max(b));
                world.begin(s, collective::allreduce(&mine, &mut greatest, larger))?.await
            };
            block_on(both).0.map(drop)
        })
        .unwrap();
        assert_eq!(total, u64::from(world.size()));
        assert_eq!(greatest, data(world.size() - 1, 3000));
    }

    fn a_sleeping_executor_is_woken_by_the_last_rank([2, 3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        let mut total = 0;
        oxmpi::scope(|s| {
            let (outcome, wakes) = block_on(world.begin(s, collective::allreduce(&2, &mut total, Sum))?);
            assert!(world.rank() == 0 || wakes >= 1, "nobody woke it");
            outcome.map(drop)
        })
        .unwrap();
        assert_eq!(total, 2 * world.size() as i32);
    }

    fn prepared_ones_are_started_again_and_again(SIZES, SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let (mut mine, mut total) = ([0u32; 4], [0; 4]);
        let mut shared = vec![0u8; 2000];
        let mut all = vec![0; size as usize];
        let mut own = 0u64;
        oxmpi::scope(|s| {
            let mut sum = world.prepare(s, collective::allreduce(&mut mine, &mut total, Sum))?;
            let mut share = world.prepare(s, collective::bcast(&mut shared, 0))?;
            let all = (rank == 0).then_some(&mut all[..]);
            let mut gather = world.prepare(s, collective::gather(&mut own, all, 0))?;
            for round in 0..5u32 {
                sum.input_mut().fill(rank + round);
                if rank == 0 {
                    share.output_mut().fill(round as u8 + 1);
                }
                *gather.input_mut() = u64::from(rank * round);
                // In any order.
                let (started, shared, gathered);
                if (rank + round).is_multiple_of(2) {
                    (started, shared, gathered) = (sum.start()?, share.start()?, gather.start()?);
                } else {
                    (gathered, shared, started) = (gather.start()?, share.start()?, sum.start()?);
                }
                sum = started.wait()?;
                share = block_on(shared).0?;
                gather = gathered.wait()?;
                let expected = size * (size - 1) / 2 + size * round;
                assert_eq!(sum.output(), &[expected; 4]);
                assert!(share.output().iter().all(|&byte| byte == round as u8 + 1));
                let all: Vec<u64> = (0..size).map(|rank| u64::from(rank * round)).collect();
                assert_eq!(gather.output(), if rank == 0 { &all[..] } else { &[] });
            }
            // The last start is waited for by the scope's end.
            sum.input_mut().fill(1);
            drop(sum.start()?);
            Ok(())
        })
        .unwrap();
        assert_eq!(total, [size; 4]);
    }

    fn values_need_no_slices(SIZES) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        assert_eq!(world.allreduce_one(rank, Sum).unwrap(), size * (size - 1) / 2);
        assert_eq!(world.allgather_one(rank as u8).unwrap(), (0..size as u8).collect::<Vec<u8>>());
        let before = world.exscan_one(2u64, Sum).unwrap();
        assert_eq!(before, (rank > 0).then_some(2 * u64::from(rank)));
        let mut shared = f64::from(rank + 1);
        world.bcast(&mut shared, 0).unwrap();
        assert_eq!(shared, 1.0);
        let mut total = 0.0;
        world.allreduce(&shared, &mut total, Sum).unwrap();
        assert_eq!(total, f64::from(size));
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        let mut came = 0;
        world.send_recv(&rank, right, 0, &mut came, left, 0).unwrap();
        assert_eq!(came, left);
        oxmpi::scope(|s| {
            let request = world.isend(s, &rank, right, 1)?;
            assert_eq!(world.recv_one::<u32>(left, 1)?.0, left);
            request.wait()
        })
        .unwrap();
        oxmpi::scope(|s| {
            let request = world.isend(s, &[1u8; 3], right, 1)?;
            let error = world.recv_one::<u8>(left, 1).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Engine(_)), "{error}");
            request.wait()
        })
        .unwrap();
        oxmpi::scope(|s| {
            let request = world.isend(s, &[0u8; 0], right, 1)?;
            let error = world.recv_one::<u8>(left, 1).unwrap_err();
            assert!(error.to_string().contains("recv_vec"), "{error}");
            request.wait()
        })
        .unwrap();
    }

    fn nobody_is_over_at_once([1, 2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let nobody = oxmpi::PROC_NULL;
        let mut number = 5;
        world.send(&number, nobody, 0).unwrap();
        world.synchronous_send(&number, None, 0).unwrap();
        let status = world.recv(&mut number, nobody, 0).unwrap();
        assert_eq!((number, status.bytes, status.cancelled), (5, 0, false));
        assert_eq!(world.recv_vec::<u64>(nobody, 0).unwrap().0, []);
        assert_eq!(world.probe(nobody, oxmpi::ANY_TAG).unwrap().bytes, 0);
        assert_eq!(world.iprobe(nobody, 0).unwrap().unwrap().bytes, 0);
        assert!(world.recv_in_place::<u8>(nobody, 0).unwrap().is_empty());
        let message = world.improbe(nobody, 0).unwrap().unwrap();
        message.recv(&mut number).unwrap();
        let (mut one, mut two) = (1, 2);
        oxmpi::scope(|s| {
            let mut requests = vec![world.irecv(s, &mut one, nobody, 0)?, world.isend(s, &number, None, 0)?];
            assert!(requests[1].test()?.is_some());
            assert_eq!(oxmpi::wait_any(&mut requests).unwrap().1?.bytes, 0);
            oxmpi::wait_all(requests)
        })
        .unwrap();
        world.send_recv(&one, nobody, 0, &mut two, nobody, 0).unwrap();
        assert_eq!((one, two, number), (1, 2, 5));
    }

    /// A vector that was replaced or has grown lies elsewhere than what was prepared.
    fn a_prepared_one_refuses_memory_that_has_moved([1, 2], SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (mut data, mut sums) = (vec![1u32; 8], vec![0u32; 8]);
        oxmpi::scope(|s| {
            let mut step = world.prepare(s, collective::allreduce(&mut data, &mut sums, Sum))?;
            step.input_mut()[0] = 5;
            step = step.start()?.wait()?;
            assert_eq!(step.output()[0], 5 * world.size());
            *step.input_mut() = vec![2; 8];
            let refused = step.start().expect_err("it lies elsewhere").to_string();
            assert!(refused.contains("no longer where it was"), "{refused}");
            Ok(())
        })
        .unwrap();
    }

    /// A rank whose body fails does not wait for the others, and goes on.
    fn a_failing_scope_gives_its_collectives_up([2, 3], SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let other = world.dup().unwrap();
        let mut data = vec![0u8; 100_000];
        if world.rank() == 0 {
            let failed = oxmpi::scope(|s| {
                drop(other.begin(s, collective::bcast(&mut data, 1))?);
                let mut lasting = [0; 3];
                let _ = &mut lasting;
                Err::<(), _>(world.send(&1, 99, 0).unwrap_err())
            });
            assert_eq!(failed.unwrap_err().call(), "send");
        }
        data.fill(1);
        world.barrier().unwrap();
    }

    fn wrong_arguments_are_told_before_anything_moves([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (two, mut three) = ([0u8; 2], [0u8; 3]);
        oxmpi::scope(|s| {
            let error = world.begin(s, collective::allgather(&two, &mut three)).unwrap_err();
            assert!(error.to_string().starts_with("allgather on rank"), "{error}");
            assert!(error.to_string().contains("has 3 element(s) but needs 4"), "{error}");
            Ok(())
        })
        .unwrap();
        let error = world.bcast(&mut three, Root::This).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InterRoot), "{error}");
        let error = world.reduce(&two, None, Sum, world.rank()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::RootBuffer { .. }), "{error}");
        world.barrier().unwrap();
    }
}
