//! Several collectives at once, progress of one while the program waits for something else, and
//! what is refused.

use oxmpi_core::ErrorKind;
use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts, Reduction, Root};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::Predefined;

use crate::area::{Area, Form, NOTHING, values};
use crate::case::join;
use crate::{SETTINGS, SIZES};

fn bcast(area: &mut Area, count: usize, root: u32) -> Collective {
    Collective::Bcast {
        buffer: area.buffer(0, count),
        root: Root::Rank(root),
    }
}

oxmpi_harness::ranks! {
    fn many_at_once_on_one_communicator(SIZES, SETTINGS) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        let count = 3000;
        let mut areas: Vec<Area> = (0..8).map(|_| Area::new(Form::Dense, count)).collect();
        let mut operations = Vec::new();
        for (round, area) in areas.iter_mut().enumerate() {
            let root = round as u32 % size;
            if rank == root {
                area.set(0, &values(round as u64, root, 0, count));
            }
            operations.push(world.icollective(bcast(area, count, root)).unwrap());
            // A blocking one in between does not mix with those under way.
            world.collective(Collective::Barrier).unwrap();
        }
        // In another order on each rank.
        operations.rotate_left(rank as usize);
        if rank % 2 == 1 {
            operations.reverse();
        }
        for mut operation in operations {
            operation.wait().unwrap();
        }
        for (round, area) in areas.iter().enumerate() {
            assert!(area.get() == values(round as u64, round as u32 % size, 0, count), "round {round}");
        }
        process.finalize();
    }

    fn persistent_ones_start_in_any_order(SIZES) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        let count = 900;
        let mut areas: Vec<Area> = (0..3).map(|_| Area::new(Form::Gaps, count)).collect();
        let mut operations: Vec<_> = areas
            .iter_mut()
            .zip(0..)
            .map(|(area, root)| world.collective_init(bcast(area, count, root % size)).unwrap())
            .collect();
        for round in 0..4 {
            for (area, root) in areas.iter_mut().zip(0..) {
                area.clear();
                if rank == root % size {
                    area.set(0, &values(round, root, 0, count));
                }
            }
            for step in 0..3 {
                let at = (step + rank as usize + round as usize) % 3;
                operations[at].start().unwrap();
                assert!(matches!(operations[at].start(), Err(ErrorKind::AlreadyActive)));
            }
            for operation in &mut operations {
                operation.wait().unwrap();
            }
            for (area, root) in areas.iter().zip(0..) {
                assert!(area.get() == values(round, root, 0, count));
            }
        }
        process.finalize();
    }

    fn a_collective_goes_on_while_its_process_waits_for_a_message([2, 3], SETTINGS) {
        let (process, world) = join();
        for _ in 0..20 {
            let mut barrier = world.icollective(Collective::Barrier).unwrap();
            let mut number = [0u8];
            // SAFETY: the byte outlives the receive.
            let buffer = unsafe { Buffer::raw(number.as_mut_ptr(), 1) };
            if world.rank() == 0 {
                barrier.wait().unwrap();
                for dest in 1..world.size() {
                    world.send_buffer(&buffer, Some(dest), 5, oxmpi_core::SendMode::Standard).unwrap();
                }
            } else {
                // The barrier is still under way; rank 0 sends only after it.
                world.recv_buffer(&buffer, Some(oxmpi_core::Source::Rank(0)), oxmpi_core::Tag::Is(5)).unwrap();
                barrier.wait().unwrap();
            }
        }
        process.finalize();
    }

    fn a_freed_request_ends_by_itself([2, 3]) {
        let (process, world) = join();
        let mut area = Area::new(Form::Dense, 4000);
        area.set(0, &values(1, 0, 0, 4000));
        if world.rank() > 0 {
            area.clear();
        }
        world.icollective(bcast(&mut area, 4000, 0)).unwrap().detach();
        for _ in 0..3 {
            world.collective(Collective::Barrier).unwrap();
            let mut barrier = world.icollective(Collective::Barrier).unwrap();
            barrier.wait().unwrap();
        }
        while area.get().last() == Some(&NOTHING) {
            process.progress();
        }
        assert!(area.get() == values(1, 0, 0, 4000));
        process.finalize();
    }

    fn what_the_standard_forbids_is_refused([2]) {
        let (process, world) = join();
        let mut area = Area::new(Form::Dense, 8);
        let refused = |collective| match world.collective(collective) {
            Ok(()) => panic!("it was accepted"),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            refused(bcast(&mut area, 1, 2)),
            "root 2 does not exist: the communicator has 2 rank(s), 0 to 1"
        );
        assert_eq!(
            refused(Collective::Bcast { buffer: area.buffer(0, 1), root: Root::This }),
            "MPI_ROOT and MPI_PROC_NULL are roots in intercommunicators only; name the rank of the root"
        );
        let other = 1 - world.rank();
        assert_eq!(
            refused(Collective::Gather {
                send: None,
                receive: Parts::Equal(area.buffer(0, 8)),
                root: Root::Rank(other)
            }),
            "gather cannot be done in place here: only the root can leave its data in place; \
             pass a buffer instead of MPI_IN_PLACE"
        );
        assert_eq!(
            refused(Collective::Allgather {
                send: Some(area.buffer(1, 4)),
                receive: Parts::Equal(area.buffer(0, 8))
            }),
            "the send buffer and the receive buffer share memory; keep them apart, or pass MPI_IN_PLACE as the send buffer"
        );
        let illegal = Reduction { op: Predefined::BitAnd.into(), datatype: Datatype::named(Basic::Double) };
        let mut number = [0f64];
        // SAFETY: the number outlives the call.
        let buffer = unsafe { Buffer::new(number.as_mut_ptr().cast(), 1, &illegal.datatype) }.unwrap();
        let text = refused(Collective::Allreduce { send: None, receive: buffer, reduction: illegal });
        assert!(text.starts_with("MPI_BAND does not take MPI_DOUBLE"), "{text}");
        let mut barrier = world.icollective(Collective::Barrier).unwrap();
        assert!(matches!(barrier.cancel(), Err(ErrorKind::CancelCollective)));
        assert!(matches!(barrier.start(), Err(ErrorKind::NotPersistent)));
        barrier.wait().unwrap();
        process.finalize();
    }

    fn ranks_that_disagree_on_a_length_are_told([2]) {
        let (process, world) = join();
        let mut area = Area::new(Form::Dense, 8);
        let count = 3 + world.rank() as usize;
        let mut operation = world.icollective(bcast(&mut area, count, 0)).unwrap();
        match (world.rank(), operation.wait()) {
            (0, ended) => drop(ended.unwrap()),
            (_, Err(ErrorKind::CollectiveMismatch { peer: 0, expected: 64, got: 48 })) => {}
            (_, other) => panic!("{other:?}"),
        }
        process.finalize();
    }
}
