//! What MPI 5.0 §7 and §8.5 say of communicators, on real processes.

use std::sync::Arc;

use super::*;
use crate::communicator::{Comm, Comparison, NAME_MAX};
use crate::group::Group;
use crate::info::Info;
use crate::process::{Process, Threads};
use crate::topology::Topology;

/// The world, for the length of a test.
struct World(Arc<Comm>);

impl World {
    fn enter() -> World {
        // SAFETY: a test's body is one thread.
        let process = unsafe { Process::join(Threads::One) }.unwrap();
        World(Arc::new(process.world()))
    }
}

impl std::ops::Deref for World {
    type Target = Arc<Comm>;
    fn deref(&self) -> &Arc<Comm> {
        &self.0
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.process.finalize();
        }
    }
}

/// The processes of all members of a communicator, found by a collective on it.
fn roll_call(comm: &Comm) -> Vec<u32> {
    let mut all = vec![0; comm.size as usize];
    comm.allgather_plain(&[comm.process.rank()], &mut all)
        .unwrap();
    all
}

/// Members are who they should be, and the ring of messages between the groups works.
fn check_inter(inter: &Comm, local: &[u32], remote: &[u32]) {
    assert_eq!(inter.group().processes(), local);
    assert_eq!(inter.remote_group().unwrap().processes(), remote);
    assert_eq!(local[inter.rank as usize], inter.process.rank());
    let both = &inter.inter().unwrap().union;
    let mut expected = [local, remote].concat();
    if !inter.inter().unwrap().first {
        expected = [remote, local].concat();
    }
    assert_eq!(roll_call(both), expected);
    // Everybody sends its process to rank (rank mod remote size) and receives what is for it.
    let mine = [inter.process.rank()];
    let dest = inter.rank % inter.peers;
    let (mut sent, mut got) = (Vec::new(), Vec::new());
    sent.push(
        inter
            .begin_making_send(oxmpi_datatypes::plain::bytes(&mine), dest, 3)
            .unwrap(),
    );
    for (rank, &process) in (0u32..).zip(remote) {
        if rank % inter.size == inter.rank {
            let data = inter.making_receive(rank, 3).unwrap();
            got.push((u32::from_ne_bytes(data.try_into().unwrap()), process));
        }
    }
    sent.into_iter().for_each(|message| message.wait().unwrap());
    assert!(got.iter().all(|(got, expected)| got == expected), "{got:?}");
}

oxmpi_harness::ranks! {
    fn names_hints_and_comparisons([2]) {
        let world = World::enter();
        assert_eq!(world.name(), b"MPI_COMM_WORLD");
        assert_eq!(world.process.this().name(), b"MPI_COMM_SELF");
        let hints = Info::new();
        hints.set("mpi_assert_no_any_tag", "true").unwrap();
        hints.set("something_else", "true").unwrap();
        world.set_info(&hints);
        assert_eq!(world.info().get_text("mpi_assert_no_any_tag").as_deref(), Some("true"));
        assert!(!world.info().contains("something_else"));

        let copy = world.dup().unwrap();
        assert_eq!(copy.name(), b"");
        assert_eq!(copy.info().get_text("mpi_assert_no_any_tag").as_deref(), Some("false"));
        let copy = world.dup_with_info(Some(&hints)).unwrap();
        assert_eq!(copy.info().get_text("mpi_assert_no_any_tag").as_deref(), Some("true"));
        copy.set_name(&[b'x'; 300]);
        assert_eq!(copy.name().len(), NAME_MAX - 1);
        assert_eq!(world.compare(&copy), Comparison::Congruent);
        assert_eq!(world.compare(&world), Comparison::Identical);
        let turned = world.split(Some(0), -i64::from(world.rank)).unwrap().unwrap();
        assert_eq!(world.compare(&turned), Comparison::Similar);
        assert_eq!(world.compare(&world.process.this()), Comparison::Unequal);
    }

    fn idup_is_ready_later([1, 2, 3, 5], [&[], &[("OXMPI_BOARDS", "off")]]) {
        let world = World::enter();
        let duplicates: Vec<_> = (0..3).map(|_| world.idup().unwrap()).collect();
        // Something else goes on meanwhile.
        roll_call(&world);
        for (copy, mut operation) in duplicates.into_iter().rev() {
            operation.wait().unwrap();
            assert_eq!(roll_call(&copy), world.group().processes());
            let again = copy.dup().unwrap();
            assert_eq!(roll_call(&again), world.group().processes());
        }
    }

    fn disjoint_groups_are_created_in_one_call([1, 4, 5]) {
        let world = World::enter();
        let (rank, size) = (world.rank, world.size);
        // Odd and even backwards; the last process gives an empty group.
        let last = size - 1;
        let members: Vec<u32> = (0..last).rev().filter(|r| r % 2 == rank % 2).collect();
        let group = match rank == last {
            true => Group::empty(),
            false => Group::new(members.clone()),
        };
        let new = world.create(&group).unwrap();
        assert_eq!(new.is_some(), rank != last);
        if let Some(new) = new {
            assert_eq!(roll_call(&new), members);
        }
        let strangers = Group::new(vec![0, 77]);
        let error = world.process.this().create(&strangers).unwrap_err();
        assert!(error.to_string().contains("process"), "{error}");
    }

    fn only_members_create_a_group([4, 7]) {
        let world = World::enter();
        let members: Vec<u32> = (0..world.size).filter(|r| r % 3 != 1).rev().collect();
        if world.rank % 3 != 1 {
            let group = Group::new(members.clone());
            let one = world.create_group(&group, 5).unwrap().unwrap();
            let two = world.create_group(&group, 5).unwrap().unwrap();
            assert_eq!(roll_call(&one), members);
            assert_eq!(roll_call(&two), members);
            assert!(one.create_group(&group, -1).is_err());
        }
    }

    fn split_types([3]) {
        let world = World::enter();
        let shared = world.split_type(SplitType::Shared, -i64::from(world.rank), None).unwrap().unwrap();
        assert_eq!(roll_call(&shared), [2, 1, 0]);
        assert!(world.split_type(SplitType::Undefined, 0, None).unwrap().is_none());
        assert!(world.split_type(SplitType::HardwareGuided, 0, None).unwrap().is_none());
        assert!(world.split_type(SplitType::HardwareUnguided, 0, None).unwrap().is_none());
        let info = Info::new();
        info.set("mpi_hw_resource_type", "mpi_shared_memory").unwrap();
        let guided = world.split_type(SplitType::HardwareGuided, 0, Some(&info)).unwrap().unwrap();
        assert_eq!(roll_call(&guided), [0, 1, 2]);
        info.set("mpi_hw_resource_type", "hyperspace").unwrap();
        assert!(world.split_type(SplitType::ResourceGuided, 0, Some(&info)).unwrap().is_none());
        info.set("mpi_pset_name", "mpi://SELF").unwrap();
        let alone = world.split_type(SplitType::ResourceGuided, 0, Some(&info)).unwrap().unwrap();
        assert_eq!(roll_call(&alone), [world.rank]);
    }

    fn intercommunicators_of_odd_and_even([2, 3, 5, 6], [&[], &[("OXMPI_BOARDS", "off")]]) {
        let world = World::enter();
        let (rank, size) = (world.rank, world.size);
        let side = |side: u32| -> Vec<u32> { (0..size).filter(|r| r % 2 == side).collect() };
        // Local groups backwards, so that the leader is not the lowest process.
        let (local, remote) = (side(rank % 2), side(1 - rank % 2));
        let half = world.split(Some(rank % 2), 0).unwrap().unwrap();
        let leader = half.size - 1;
        let other_leader = *remote.last().unwrap() as i32;
        let inter = intercomm_create(&half, leader, (half.rank == leader).then_some(&world), other_leader, 9).unwrap();
        check_inter(&inter, &local, &remote);
        assert_eq!(world.compare(&inter), Comparison::Unequal);

        let copy = inter.dup().unwrap();
        check_inter(&copy, &local, &remote);
        assert_eq!(inter.compare(&copy), Comparison::Congruent);
        let inter = Arc::new(inter);
        let (later, mut operation) = inter.idup().unwrap();
        operation.wait().unwrap();
        check_inter(&later, &local, &remote);

        // The side that says high stands behind.
        let merged = inter.merge(rank % 2 == 0).unwrap();
        assert_eq!(roll_call(&merged), [side(1), side(0)].concat());
        let merged = inter.merge(rank % 2 == 1).unwrap();
        assert_eq!(roll_call(&merged), [side(0), side(1)].concat());
        let mut either = roll_call(&inter.merge(true).unwrap());
        either.sort();
        assert!(either.into_iter().eq(0..size));

        // The first of each side by themselves; and a colour that only one side has.
        let pair = inter.split(Some(inter.rank.min(1)), -i64::from(inter.rank)).unwrap();
        if inter.rank == 0 {
            check_inter(pair.as_ref().unwrap(), &local[..1], &remote[..1]);
        } else {
            assert_eq!(pair.is_some(), remote.len() > 1);
        }
        assert!(inter.split(Some(rank % 2), 0).unwrap().is_none());
        let first = inter.create(&Group::new(vec![local[0]])).unwrap();
        assert_eq!(first.is_some(), rank == local[0]);
        if let Some(first) = first {
            check_inter(&first, &local[..1], &remote[..1]);
        }
    }

    fn groups_of_an_intercommunicator_are_disjoint([2]) {
        let world = World::enter();
        // Both processes are in both local groups.
        let copy = world.dup().unwrap();
        let result = intercomm_create(&copy, world.rank, Some(&world), (1 - world.rank) as i32, 0);
        let error = result.unwrap_err();
        assert!(error.to_string().contains("both groups") || error.to_string().contains("own error"), "{error}");
    }

    fn a_leader_that_cannot_go_on_tells_its_group([3]) {
        let world = World::enter();
        let error = intercomm_create(&world, 1, Some(&world), 55, 0).unwrap_err();
        let expected = match world.rank == 1 {
            true => "remote_leader 55 does not exist",
            false => "local leader 1 could not",
        };
        assert!(error.to_string().contains(expected), "{error}");
    }

    fn grids_and_their_parts([5, 6]) {
        let world = World::enter();
        let grid = world.cart_create(&[2, 2], &[true, false]).unwrap();
        assert_eq!(grid.is_some(), world.rank < 4);
        if let Some(grid) = grid {
            let (sources, destinations) = grid.neighbours().unwrap();
            assert_eq!(sources, destinations);
            let (row, column) = (grid.rank / 2, grid.rank % 2);
            let other = Some(2 * (1 - row) + column);
            let beside = Some(2 * row + 1 - column);
            let columns = if column == 0 { [None, beside] } else { [beside, None] };
            assert_eq!(sources, [[other, other], columns].concat());
            let line = grid.cart_sub(&[false, true]).unwrap();
            assert_eq!(roll_call(&line), [2 * row, 2 * row + 1]);
            assert_eq!(line.cartesian("test").unwrap().periods(), [false]);
            let copy = grid.dup().unwrap();
            assert_eq!(copy.topology(), grid.topology());
            let point = grid.cart_sub(&[false, false]).unwrap();
            assert_eq!((point.size, point.cartesian("test").unwrap().dimensions()), (1, 0));
        }
        assert!(world.cart_create(&[100], &[false]).is_err());
        assert!(world.neighbours().unwrap_err().to_string().contains("none"));
    }

    fn distributed_graphs([1, 4]) {
        let world = World::enter();
        let (rank, size) = (world.rank as i32, world.size as i32);
        let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
        let ring = world.dist_graph_create_adjacent(&[left], None, &[right], None, None).unwrap();
        assert_eq!(ring.neighbours().unwrap(), (vec![Some(left as u32)], vec![Some(right as u32)]));
        // Rank 0 knows all edges of the same ring; the others know nothing.
        let all: Vec<i32> = (0..size).collect();
        let next: Vec<i32> = (0..size).map(|r| (r + 1) % size).collect();
        let known = if rank == 0 { size as usize } else { 0 };
        let graph = world.dist_graph_create(
            &all[..known], &vec![1; known], &next[..known], Some(&all[..known]), None).unwrap();
        assert_eq!(graph.neighbours().unwrap(), ring.neighbours().unwrap());
        let Some(Topology::DistributedGraph(own)) = graph.topology() else { panic!() };
        assert_eq!(own.source_weights(), Some(&[left][..]));
        assert_eq!(own.destination_weights(), Some(&[rank][..]));
        let whole = world.graph_create(&[0, 0][..size.min(2) as usize], &[]).unwrap();
        assert_eq!(whole.is_some(), rank < 2);
    }
}
