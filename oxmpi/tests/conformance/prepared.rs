//! Messages that are prepared once and started again and again (MPI 5.0 §3.9), whole and in parts
//! (chapter 4), and exchanges with a shape for each rank (§6.8, MPI_ALLTOALLW).

use oxmpi::collective;
use oxmpi::thread::Multiple;
use oxmpi::view::Shape;
use oxmpi::{ANY_SOURCE, ANY_TAG, ErrorKind, PROC_NULL};

const SETTINGS: [oxmpi_harness::Setting; 2] = [&[], &[("OXMPI_DRIVER", "off")]];

oxmpi_harness::ranks! {
    fn messages_are_started_again_and_again([2, 3], SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
        for length in [1, 100_000] {
            let (mut here, mut there) = (vec![0; length], vec![0; length]);
            oxmpi::scope(|s| {
                let mut send = world.prepare_send(s, &mut here, next, 3)?;
                let mut receive = world.prepare_recv(s, &mut there, ANY_SOURCE, ANY_TAG)?;
                assert_eq!(receive.status(), None);
                for step in 0..10 {
                    send.input_mut().fill(rank * 100 + step);
                    let (receiving, sending) = (receive.start()?, send.start()?);
                    (receive, send) = (receiving.wait()?, sending.wait()?);
                    let status = receive.status().unwrap();
                    assert_eq!((status.source, status.tag), (before, 3));
                    assert_eq!(status.count::<u32>(), Some(length));
                    assert!(receive.output().iter().all(|&got| got == before * 100 + step));
                }
                Ok(())
            })
            .unwrap();
        }
    }

    fn prepared_messages_take_views_nobody_and_futures([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let peer = 1 - world.rank();
        let column = Shape::strided(3, 1, 3).unwrap();
        let matrix: Vec<u32> = (0..9).collect();
        let view = column.of(&matrix[2..]).unwrap();
        let mut got = [0; 3];
        oxmpi::scope(|s| {
            let send = world.prepare_send(s, &view, peer, 0)?;
            let receive = world.prepare_recv(s, &mut got, peer, 0)?;
            let (receiving, sending) = (receive.start()?, send.start()?);
            drop(futures_lite::future::block_on(receiving)?);
            drop(futures_lite::future::block_on(sending)?);
            Ok(())
        })
        .unwrap();
        assert_eq!(got, [2, 5, 8]);
        oxmpi::scope(|s| {
            let send = world.prepare_send(s, &1, PROC_NULL, 0)?;
            drop(send.start()?.wait()?.start()?.wait()?);
            let receive = world.prepare_recv(s, &mut got, PROC_NULL, 0)?;
            receive.start()?.wait().map(drop)
        })
        .unwrap();
        let error = oxmpi::scope(|s| world.prepare_send(s, &1, 2, 0).map(drop)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Rank { .. }), "{error}");
        // Memory that has moved is refused.
        let mut data = vec![1];
        let error = oxmpi::scope(|s| {
            let mut send = world.prepare_send(s, &mut data, peer, 0)?;
            send.input_mut().resize(1 << 20, 0);
            send.start().map(drop)
        });
        assert!(matches!(error.unwrap_err().kind(), ErrorKind::MovedMemory));
    }

    /// What a failing body leaves behind is taken back.
    fn a_scope_that_fails_ends([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let peer = 1 - world.rank();
        let (mut one, mut two) = ([0; 4], [0; 4]);
        let failed = oxmpi::scope(|s| {
            let receive = world.prepare_recv(s, &mut one, peer, 0)?.start()?;
            let parts = world.prepare_partitioned_recv(s, &mut two, 2, peer, 1)?.start()?;
            let error = world.send(&1, 9, 0);
            drop((receive, parts));
            error
        });
        assert!(failed.is_err());
        world.barrier().unwrap();
    }

    fn parts_travel_when_they_are_ready([2], SETTINGS) {
        let mpi = oxmpi::init_with::<Multiple>().unwrap();
        let world = mpi.world();
        for length in [8, 80_000] {
            let mut data = vec![0u32; length];
            oxmpi::scope(|s| {
                if world.rank() == 0 {
                    let mut send = world.prepare_partitioned_send(s, &mut data, 8, 1, 5)?;
                    for step in 0..5 {
                        let mut filling = send.start()?;
                        std::thread::scope(|threads| {
                            for mut part in filling.parts() {
                                threads.spawn(move || {
                                    let number = part.number() as u32;
                                    part.fill(step * 10 + number);
                                    // The last one is left to the wait.
                                    if number != 7 {
                                        part.ready().unwrap();
                                    }
                                });
                            }
                        });
                        assert_eq!(filling.parts().len(), 1);
                        send = filling.wait()?;
                        assert_eq!(send.data()[length - 1], step * 10 + 7);
                    }
                    return Ok(());
                }
                // In another number of parts.
                let mut receive = world.prepare_partitioned_recv(s, &mut data, 4, 0, 5)?;
                for step in 0..5 {
                    let arriving = receive.start()?;
                    let mut seen = [false; 4];
                    while seen != [true; 4] {
                        for (number, seen) in seen.iter_mut().enumerate() {
                            if let Some(part) = arriving.part(number)? {
                                let half = part.len() / 2;
                                let first = step * 10 + 2 * number as u32;
                                assert!(part[..half].iter().all(|&got| got == first));
                                assert!(part[half..].iter().all(|&got| got == first + 1));
                                *seen = true;
                            }
                        }
                    }
                    assert!(arriving.part(4).is_err());
                    receive = arriving.wait()?;
                    let status = receive.status().unwrap();
                    assert_eq!((status.source, status.tag), (0, 5));
                    assert_eq!(status.count::<u32>(), Some(length));
                }
                Ok(())
            })
            .unwrap();
        }
    }

    fn parts_must_be_equal([1]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for (length, parts) in [(7, 2), (4, 0)] {
            let mut data = vec![0u8; length];
            let made = oxmpi::scope(|s| {
                world.prepare_partitioned_send(s, &mut data, parts, 0, 0).map(drop)
            });
            assert!(matches!(made.unwrap_err().kind(), ErrorKind::Length { .. }));
        }
        // One that is dropped without a word is sent as it is.
        let (mut here, mut there) = ([1u8; 4], [0u8; 4]);
        oxmpi::scope(|s| {
            let receive = world.prepare_partitioned_recv(s, &mut there, 1, 0, 0)?.start()?;
            drop(world.prepare_partitioned_send(s, &mut here, 2, 0, 0)?.start()?);
            receive.wait().map(drop)
        })
        .unwrap();
        assert_eq!(there, [1; 4]);
    }

    /// At once, begun and prepared; with vectors of any length, and views of a matrix.
    fn each_rank_has_its_own_shape([1, 2, 4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let data: Vec<Vec<usize>> = (0..size).map(|to| vec![rank * 10 + to; rank + to]).collect();
        let expected: Vec<Vec<usize>> =
            (0..size).map(|from| vec![from * 10 + rank; rank + from]).collect();
        let empty = || (0..size).map(|from| vec![0; rank + from]).collect::<Vec<_>>();
        let mut got = empty();
        world.alltoallw(&data, &mut got).unwrap();
        assert_eq!(got, expected);
        let mut got = empty();
        oxmpi::scope(|s| world.begin(s, collective::alltoallw(&data, &mut got))?.wait()).unwrap();
        assert_eq!(got, expected);
        let mut got = empty();
        oxmpi::scope(|s| {
            let call = collective::alltoallw(&data, &mut got);
            let prepared = world.prepare(s, call)?;
            prepared.start()?.wait()?.start()?.wait().map(drop)
        })
        .unwrap();
        assert_eq!(got, expected);
        // To each rank the places of a row that it would have if they were dealt out in turn.
        let row: Vec<usize> = (0..3 * size).map(|place| rank * 100 + place).collect();
        let every_size = Shape::strided(3, 1, size).unwrap();
        let parts: Vec<_> = (0..size).map(|to| every_size.of(&row[to..]).unwrap()).collect();
        let mut turned = vec![vec![0; 3]; size];
        let across = Shape::strided(3, 1, 1).unwrap();
        let mut into: Vec<_> = turned.iter_mut().map(|to| across.of_mut(to).unwrap()).collect();
        world.alltoallw(&parts, &mut into).unwrap();
        let sent = |from| (0..3).map(move |i| from * 100 + i * size + rank).collect::<Vec<_>>();
        assert_eq!(turned, (0..size).map(sent).collect::<Vec<_>>());
        // One for each rank, and to itself as much as from itself.
        let error = world.alltoallw(&data[1..], &mut got).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::PerRank { .. }), "{error}");
        got[rank].push(0);
        let error = world.alltoallw(&data, &mut got).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Length { .. }), "{error}");
    }

    fn neighbours_have_shapes_of_their_own([3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
        let ring = world.graph(&[before], &[next]).unwrap();
        let data = [vec![rank; rank as usize + 1]];
        let mut got = [vec![9; before as usize + 1]];
        ring.run(collective::neighbour_alltoallw(&data, &mut got)).unwrap();
        assert_eq!(got, [vec![before; before as usize + 1]]);
        let mut none: [Vec<u32>; 0] = [];
        let error = ring.run(collective::neighbour_alltoallw(&data, &mut none)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::PerNeighbour { .. }), "{error}");
    }
}
