//! Two groups that talk (MPI 5.0 §7.6), communicators of groups (§7.4.2), what is kept with them
//! (§7.7).

use std::sync::Arc;

use oxmpi::attribute::Key;
use oxmpi::collective::{self, Root};
use oxmpi::op::Sum;
use oxmpi::{Communicator, ErrorKind};

/// Ranks 0 and 1 on one side, the others on the other.
fn sides<'m>(world: &Communicator<'m>) -> (bool, Communicator<'m>) {
    let is_low = world.rank() < 2;
    let side = world.split(Some(u32::from(is_low)), 0).unwrap().unwrap();
    // The first of one side is rank 0 of the world, of the other rank 2.
    let beyond = (side.rank() == 0).then_some((world, if is_low { 2 } else { 0 }));
    let both = side.intercommunicator(0, beyond, 9).unwrap();
    (is_low, both)
}

static SHARED: Key<Vec<u32>> = Key::copied();
static OWN: Key<String> = Key::new();

oxmpi_harness::ranks! {
    fn two_groups_talk([3, 5]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (is_low, both) = sides(&world);
        let others = world.size() - both.size();
        assert!(both.is_inter() && !world.is_inter());
        assert_eq!((both.remote_size(), world.remote_size()), (others, world.size()));
        // Ranks are those of the other group.
        if is_low {
            for rank in 0..others {
                both.send(&(both.rank() * 100 + rank), rank, 1).unwrap();
            }
        } else {
            for rank in 0..2 {
                let (got, status) = both.recv_one::<u32>(rank, 1).unwrap();
                assert_eq!((got, status.source), (rank * 100 + both.rank(), rank));
            }
        }
        let error = both.send(&0, others, 0).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Rank { size, .. } if *size == others), "{error}");
        // From one process of a group to all of the other one.
        let mut data = if is_low && both.rank() == 1 { 7 } else { 0 };
        let root = match (is_low, both.rank()) {
            (true, 1) => Root::This,
            (true, _) => Root::Nobody,
            (false, _) => Root::Rank(1),
        };
        both.bcast(&mut data, root).unwrap();
        assert_eq!(data == 7, !is_low || both.rank() == 1);
        // The other group's numbers.
        let mut all = vec![0; others as usize];
        both.allgather(&world.rank(), &mut all).unwrap();
        let theirs = if is_low { 2..world.size() } else { 0..2 };
        assert_eq!(all, theirs.clone().collect::<Vec<_>>());
        assert_eq!(both.allgather_one(world.rank()).unwrap(), all);
        let (mine, mut sum) = (world.rank(), 0);
        oxmpi::scope(|s| both.begin(s, collective::allreduce(&mine, &mut sum, Sum))?.wait())
            .unwrap();
        assert_eq!(sum, theirs.sum::<u32>());
        // What needs one group says so.
        let error = both.scan(&1, &mut data, Sum).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OneGroupOnly { .. }), "{error}");
        let error = both.allreduce_in_place(&mut data, Sum).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InPlace { .. }), "{error}");
        // One group again, the low ranks behind.
        let merged = both.dup().unwrap().merge(is_low).unwrap();
        let place = if is_low { world.rank() + others } else { world.rank() - 2 };
        assert_eq!((merged.size(), merged.rank()), (world.size(), place));
        merged.barrier().unwrap();
        assert!(world.merge(true).unwrap_err().to_string().contains("intercommunicator"));
    }

    fn windows_and_files_need_one_group([3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (_, both) = sides(&world);
        let error = both.window::<u64>(4).unwrap_err();
        assert!(error.to_string().contains("group"), "{error}");
        assert!(both.grid(&[1], &[false]).is_err());
    }

    fn groups_choose_ranks([1, 4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let all = world.group();
        let backwards: Vec<u32> = (0..size).rev().collect();
        let turned = world.create(&all.select(&backwards).unwrap()).unwrap().unwrap();
        assert_eq!((turned.rank(), turned.world_rank(0).unwrap()), (size - 1 - rank, size - 1));
        let rest = world.create(&all.without(&[0]).unwrap()).unwrap();
        assert_eq!(rest.map(|rest| rest.size()), (rank > 0).then(|| size - 1));
        let error = all.select(&[0, 0]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::RankTwice { rank: 0, .. }), "{error}");
        assert!(all.select(&[u32::MAX]).is_err());
    }

    fn attributes_stay_with_their_communicator([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let made = world.attribute_or_insert_with(&SHARED, || vec![1, 2]);
        let again = mpi.world().attribute_or_insert_with(&SHARED, || unreachable!());
        assert!(Arc::ptr_eq(&made, &again));
        assert_eq!(world.set_attribute(&OWN, "mine".to_owned()), None);
        let copy = world.dup().unwrap();
        assert!(Arc::ptr_eq(&made, &copy.attribute(&SHARED).unwrap()));
        assert_eq!(copy.attribute(&OWN), None);
        assert_eq!(world.split(Some(0), 0).unwrap().unwrap().attribute(&SHARED), None);
        assert_eq!(*copy.set_attribute(&SHARED, vec![3]).unwrap(), [1, 2]);
        assert_eq!(*world.attribute(&SHARED).unwrap(), [1, 2]);
        assert_eq!(*world.remove_attribute(&OWN).unwrap(), "mine");
        assert_eq!(world.attribute(&OWN), None);
        // They go with their communicator.
        let kept = Arc::downgrade(&copy.attribute(&SHARED).unwrap());
        drop(copy);
        assert!(kept.upgrade().is_none());
    }
}
