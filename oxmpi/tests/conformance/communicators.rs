//! Communicators: world, self, dup, split, their contexts and their numbers.

use oxmpi::{ANY_SOURCE, ANY_TAG, op};

oxmpi_harness::ranks! {
    fn world_and_self([1, 2, 5]) {
        let mpi = oxmpi::init().unwrap();
        let (world, this) = (mpi.world(), mpi.this());
        assert!(world.rank() < world.size());
        assert_eq!((this.rank(), this.size()), (0, 1));
        assert_eq!(this.world_rank(0).unwrap(), world.rank());
        assert!(this.world_rank(1).is_err());
        let mut all = vec![0; world.size() as usize];
        world.allgather(&[world.rank()], &mut all).unwrap();
        assert!(all.iter().copied().eq(0..world.size()));
        let mut alone = [0];
        this.allreduce(&[world.rank()], &mut alone, op::Sum).unwrap();
        assert_eq!(alone, [world.rank()]);
    }

    fn messages_stay_in_their_communicator([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let copy = world.dup().unwrap();
        if world.rank() == 0 {
            world.send(&[1u8], 1, 0).unwrap();
            copy.send(&[2u8], 1, 0).unwrap();
        } else {
            let mut data = [0u8];
            copy.recv(&mut data, ANY_SOURCE, ANY_TAG).unwrap();
            assert_eq!(data, [2]);
            world.recv(&mut data, ANY_SOURCE, ANY_TAG).unwrap();
            assert_eq!(data, [1]);
        }
    }

    fn split_divides_and_orders([1, 2, 3, 6, 8]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        // Odd and even, in reverse order.
        let half = world.split(Some(rank % 2), -i64::from(rank)).unwrap().unwrap();
        let members: Vec<u32> = (0..size).rev().filter(|r| r % 2 == rank % 2).collect();
        assert_eq!(half.size() as usize, members.len());
        let mut found = vec![0; members.len()];
        half.allgather(&[rank], &mut found).unwrap();
        assert_eq!(found, members);
        for (r, &member) in members.iter().enumerate() {
            assert_eq!(half.world_rank(r as u32).unwrap(), member);
        }
        // A ring inside each half at the same time.
        let (right, left) = ((half.rank() + 1) % half.size(), (half.rank() + half.size() - 1) % half.size());
        let mut got = [0];
        let status = half.send_recv(&[rank], right, 0, &mut got, left, 0).unwrap();
        assert_eq!((status.source, got[0]), (left, members[left as usize]));
        // Split again, and leave somebody out.
        let first = half.split((half.rank() == 0).then_some(3), 0).unwrap();
        assert_eq!(first.is_some(), half.rank() == 0);
    }

    fn equal_keys_keep_the_order_of_ranks([4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let same = world.split(Some(7), 0).unwrap().unwrap();
        assert_eq!((same.rank(), same.size()), (world.rank(), world.size()));
    }

    fn collectives_in_halves_do_not_disturb_each_other([4, 7]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let color = world.rank() % 2;
        let half = world.split(Some(color), 0).unwrap().unwrap();
        for round in 0..100u32 {
            let mut value = [0u32; 50];
            if half.rank() == round % half.size() {
                value = [round * 2 + color; 50];
            }
            half.bcast(&mut value, round % half.size()).unwrap();
            assert_eq!(value, [round * 2 + color; 50]);
        }
    }

    fn numbers_are_used_again([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for _ in 0..MANY {
            let copy = world.dup().unwrap();
            copy.barrier().unwrap();
        }
    }

    fn more_communicators_than_boards([4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        // Some meet on boards and some, for want of one, by messages; made and dropped in changing
        // order.
        let mut all = Vec::new();
        for round in 0..60u32 {
            let next = match round % 3 {
                0 => world.dup().unwrap(),
                1 => world.split(Some(world.rank() % 2), 0).unwrap().unwrap(),
                _ => world.split(Some(world.rank() / 2), -i64::from(world.rank())).unwrap().unwrap(),
            };
            all.push(next);
            if round % 4 == 3 {
                drop(all.swap_remove(round as usize % all.len()));
            }
            for communicator in &all {
                let mut sum = [1u32];
                communicator.allreduce_in_place(&mut sum, op::Sum).unwrap();
                assert_eq!(sum, [communicator.size()]);
            }
        }
    }

    fn many_exist_at_once_and_none_hears_another([1, 2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let all: Vec<_> = (0..MANY).map(|_| world.dup().unwrap()).collect();
        let next = (world.rank() + 1) % world.size();
        let before = (world.rank() + world.size() - 1) % world.size();
        let some = || all.iter().enumerate().step_by(997);
        // All are sent before any is received, with one tag: only the contexts tell them apart.
        for (number, communicator) in some() {
            communicator.send(&[number as u32], next, 5).unwrap();
        }
        for (number, communicator) in some().collect::<Vec<_>>().into_iter().rev() {
            let mut got = [0u32];
            communicator.recv(&mut got, before, 5).unwrap();
            assert_eq!(got, [number as u32]);
        }
        world.barrier().unwrap();
    }
}

/// More communicators than a count of 14 bits could tell apart.
const MANY: u32 = (1 << 14) + 1000;
