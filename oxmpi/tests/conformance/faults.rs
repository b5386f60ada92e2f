//! Bad input and faults: an error that names the values, never a hang.

use oxmpi::{ErrorKind, TAG_MAX, op};
use oxmpi_harness::run_and_judge;

/// The text after "call on rank r of n (host): ".
fn said<T: std::fmt::Debug>(result: oxmpi::Result<T>) -> String {
    let text = result.unwrap_err().to_string();
    let (place, said) = text
        .split_once("): ")
        .expect("an error tells where it happened");
    assert!(place.contains(" on rank "), "{text}");
    said.to_owned()
}

oxmpi_harness::ranks! {
    fn wrong_ranks_and_tags([1, 2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let size = world.size();
        let missing = format!("the communicator has {size} rank(s), 0 to {}", size - 1);
        assert_eq!(said(world.send(&[1u8], size, 0)), format!("dest {size} does not exist: {missing}"));
        assert_eq!(said(world.send(&[1u8], u32::MAX, 0)), format!("dest {} does not exist: {missing}", u32::MAX));
        assert_eq!(said(world.recv(&mut [1u8], 7, 0)), format!("source 7 does not exist: {missing}"));
        assert_eq!(said(world.bcast(&mut [1u8], 9)), format!("root 9 does not exist: {missing}"));
        assert_eq!(said(world.gather(&[1u8], None, 9)), format!("root 9 does not exist: {missing}"));
        assert_eq!(
            said(world.send(&[1u8], 0, -1)),
            "tag -1 is not allowed: tags go from 0 to 1073741823; ANY_TAG receives any of them"
        );
        assert!(said(world.recv(&mut [1u8], 0, TAG_MAX + 1)).starts_with("tag 1073741824 is not allowed"));
        assert!(said(world.probe(0, -5)).starts_with("tag -5 is not allowed"));
        assert!(said(world.iprobe(7, 0)).starts_with("source 7 does not exist"));
        assert!(said(world.matched_probe(7, 0)).starts_with("source 7 does not exist"));
        assert!(said(world.recv_vec::<u8>(7, 0)).starts_with("source 7 does not exist"));
        assert!(said(world.recv_in_place::<u8>(7, 0)).starts_with("source 7 does not exist"));
        oxmpi::scope(|s| {
            assert!(said(world.isend(s, &[1u8], size, 0)).starts_with("dest"));
            assert!(said(world.irecv(s, &mut [0u8; 0], 7, 0)).starts_with("source"));
            Ok(())
        })
        .unwrap();
        // A wrong argument has done nothing.
        let me = world.rank();
        world.send(&[4u8], me, TAG_MAX).unwrap();
        assert_eq!(world.recv(&mut [0u8], me, TAG_MAX).unwrap().tag, TAG_MAX);
    }

    fn wrong_lengths_in_collectives([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let me = world.rank();
        assert_eq!(
            said(world.allreduce(&[1, 2], &mut [0], op::Sum)),
            "the receive buffer has 1 element(s) but needs 2: as many elements as the send buffer"
        );
        assert_eq!(
            said(world.allgather(&[1, 2], &mut [0; 3])),
            "the receive buffer has 3 element(s) but needs 4: one block as long as the other buffer for each rank"
        );
        assert_eq!(
            said(world.gather(&[1], None, me)),
            format!("rank {me} is the root and must pass Some(receive buffer); the other ranks pass None")
        );
        assert!(said(world.gather(&[1], Some(&mut [0; 3]), me)).starts_with("the receive buffer has 3"));
        assert!(said(world.scatter(None, &mut [0], me)).contains("Some(send buffer)"));
        assert!(said(world.scatter(Some(&[0; 3]), &mut [0], me)).starts_with("the send buffer has 3"));
        assert!(said(world.reduce(&[1], Some(&mut [0; 3]), op::Sum, me)).starts_with("the receive buffer has 3"));
        assert!(said(world.scan(&[1], &mut [0; 3], op::Sum)).starts_with("the receive buffer has 3"));
        assert!(said(world.exscan(&[1], &mut [0; 3], op::Sum)).starts_with("the receive buffer has 3"));
        assert!(said(world.alltoall(&[1, 2, 3], &mut [0; 3])).starts_with("the send buffer has 3"));
        assert!(said(world.alltoall(&[1, 2], &mut [0; 3])).starts_with("the receive buffer has 3"));
        assert!(said(world.reduce_scatter(&[1, 2], &mut [0], &[1], op::Sum)).starts_with("counts has 1 entries"));
        assert!(said(world.reduce_scatter(&[1, 2], &mut [0], &[1, 2], op::Sum)).starts_with("the send buffer has 2"));
        assert!(said(world.reduce_scatter(&[1, 2], &mut [0; 3], &[1, 1], op::Sum)).starts_with("the receive buffer"));
        assert!(said(world.reduce_scatter_block(&[1, 2, 3], &mut [0], op::Sum)).starts_with("the send buffer has 3"));
        assert!(said(world.allgatherv(&[1], &mut [0; 2], &[1, 1], &[0, 0])).starts_with("the blocks of ranks 0 and 1 overlap"));
        assert!(said(world.allgatherv(&[1], &mut [0; 2], &[1, 1], &[0, 2])).starts_with("the block of rank 1"));
        assert!(said(world.allgatherv(&[1], &mut [0; 2], &[1], &[0, 1])).starts_with("counts has 1 entries"));
        assert!(said(world.allgatherv(&[1, 2], &mut [0; 2], &[1, 1], &[0, 1])).starts_with("the send buffer has 2"));
        let parts = Some((&mut [0; 2][..], &[1, 1][..], &[1][..]));
        assert!(said(world.gatherv(&[1], parts, me)).starts_with("displacements has 1 entries"));
        let parts = Some((&[0; 2][..], &[1, usize::MAX][..], &[0, 1][..]));
        assert!(said(world.scatterv(parts, &mut [0], me)).starts_with("the block of rank 1"));
        assert!(said(world.alltoallv(&[1], &[1, 1], &[0, 0], &mut [0; 2], &[2, 0], &[0, 0])).starts_with("the receive buffer"));
        // None of these was a call the other rank had to answer.
        world.barrier().unwrap();
    }

    fn ranks_that_disagree_on_a_length_are_told([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let length = 3 + world.rank() as usize;
        let mut data = vec![0u64; length];
        let result = world.bcast(&mut data, 0);
        if world.rank() == 1 {
            let text = said(result);
            assert!(text.starts_with("rank 0 sent 24 bytes where 32 were expected"), "{text}");
        }
    }

    fn ranks_in_different_collectives_are_told([2], [oxmpi_harness::ONE_HOST]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let first = world.rank() == 0;
        let result = if first { world.barrier() } else { world.allreduce_in_place(&mut [1u8], op::Sum) };
        let (here, there) = if first { ("barrier", "allreduce") } else { ("allreduce", "barrier") };
        let peer = 1 - world.rank();
        assert_eq!(
            said(result),
            format!(
                "rank {peer} is in {there} where this rank is in {here}; all ranks must call the same collectives \
                 in the same order"
            )
        );
        let mut data = [1u8; 2];
        let root = world.rank();
        let result = world.gather(&[3u8], Some(&mut data), root);
        assert_eq!(
            said(result),
            format!(
                "rank {peer} says that the root is rank {peer}, this rank says {root}; all ranks must name the same root"
            )
        );
        world.barrier().unwrap();
    }

    fn an_operation_cannot_call_a_collective_of_its_communicator([2], [&[], &[("OXMPI_BOARDS", "off")]]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let nested = op::user(true, |a: &u64, _: &u64| match world.barrier() {
            Err(error) if matches!(error.kind(), ErrorKind::ConcurrentCollective) => 1000,
            _ => *a,
        });
        let mut result = [0u64];
        world.allreduce(&[1u64], &mut result, nested).unwrap();
        assert_eq!(result, [1000]);
        world.barrier().unwrap();
    }

    fn a_process_initialises_once([1, 2]) {
        let mpi = oxmpi::init().unwrap();
        let error = oxmpi::init().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::AlreadyInitialised));
        mpi.world().barrier().unwrap();
        drop(mpi);
        let error = oxmpi::init().unwrap_err();
        assert_eq!(
            error.to_string(),
            "init: this process has already finalised, and it cannot be initialised again; keep one Mpi alive \
             for as long as messages are exchanged"
        );
    }

    fn two_threads_in_one_collective_are_told([2]) {
        let mpi = oxmpi::init_with::<oxmpi::thread::Multiple>().unwrap();
        let world = mpi.world();
        // The operation itself calls a collective while the outer one is under way on this rank.
        let nested = op::user(true, |a: &u64, _: &u64| match world.barrier() {
            Err(error) if matches!(error.kind(), ErrorKind::ConcurrentCollective) => 1000,
            _ => *a,
        });
        let mut result = [0u64];
        let root = world.rank() == 0;
        world.reduce(&[1u64], root.then_some(&mut result[..]), nested, 0).unwrap();
        assert!(!root || result == [1000]);
        world.barrier().unwrap();
    }
}

#[test]
fn the_death_of_a_peer_is_an_error_that_names_it() {
    let path = concat!(
        module_path!(),
        "::the_death_of_a_peer_is_an_error_that_names_it"
    );
    let body = || {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        world.barrier().unwrap();
        if world.rank() == 1 {
            std::process::abort();
        }
        // The launcher ends the job soon; until then this must be an error or go on waiting, not a
        // wrong result.
        let error = world.recv(&mut [0u8], 1, 0).unwrap_err();
        eprintln!("rank 0 was told: {error}");
    };
    run_and_judge(path, &[2], body, |outcome, text| {
        assert_ne!(outcome.code, 0, "{text}");
        assert!(text.contains("rank 1"), "{text}");
        assert!(
            outcome.wall < std::time::Duration::from_secs(300),
            "{:?}\n{text}",
            outcome.wall
        );
    });
}

#[test]
fn the_death_of_a_peer_ends_a_barrier() {
    let path = concat!(module_path!(), "::the_death_of_a_peer_ends_a_barrier");
    let body = || {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        world.barrier().unwrap();
        if world.rank() == 2 {
            std::process::abort();
        }
        let error = world.barrier().unwrap_err();
        eprintln!("rank {} was told: {error}", world.rank());
    };
    run_and_judge(path, &[4], body, |outcome, text| {
        assert_ne!(outcome.code, 0, "{text}");
        assert!(text.contains("rank 2"), "{text}");
        assert!(
            outcome.wall < std::time::Duration::from_secs(300),
            "{:?}\n{text}",
            outcome.wall
        );
    });
}

#[test]
fn abort_ends_the_job_with_its_code() {
    let path = concat!(module_path!(), "::abort_ends_the_job_with_its_code");
    let body = || {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 1 {
            mpi.abort(42);
        }
        let _ = world.recv(&mut [0u8], 2, 0);
        std::thread::sleep(std::time::Duration::from_secs(1000));
    };
    run_and_judge(path, &[3], body, |outcome, text| {
        assert_eq!(outcome.code, 42, "{text}");
        assert!(
            outcome.wall < std::time::Duration::from_secs(300),
            "{:?}\n{text}",
            outcome.wall
        );
    });
}

#[test]
fn a_rank_that_panics_ends_the_job() {
    let path = concat!(module_path!(), "::a_rank_that_panics_ends_the_job");
    let body = || {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        assert_ne!(world.rank(), 2, "on purpose");
        world.barrier().unwrap();
    };
    run_and_judge(path, &[3], body, |outcome, text| {
        assert_ne!(outcome.code, 0, "{text}");
        assert!(text.contains("on purpose"), "{text}");
        assert!(
            outcome.wall < std::time::Duration::from_secs(300),
            "{:?}\n{text}",
            outcome.wall
        );
    });
}

#[test]
fn a_process_without_a_launcher_is_a_single_rank() {
    // This test process itself was started by nobody.
    if std::env::var_os("OXMPI_RANK").is_some() {
        return;
    }
    let mpi = oxmpi::init().unwrap();
    let world = mpi.world();
    assert_eq!((world.rank(), world.size()), (0, 1));
    let mut sum = [3];
    world.allreduce_in_place(&mut sum, op::Sum).unwrap();
    world.barrier().unwrap();
    assert_eq!(sum, [3]);
    assert!(!mpi.transport().to_string().is_empty());
    assert!(!mpi.host().is_empty());
}
