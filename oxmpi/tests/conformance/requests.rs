//! Requests and scopes: waiting, testing, cancelling, forgetting, failing.

use oxmpi::{ANY_SOURCE, ErrorKind};

oxmpi_harness::ranks! {
    fn wait_any_finds_the_one_that_is_over([3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let mut data = [[0u32]; 2];
            oxmpi::scope(|s| {
                let mut requests = Vec::new();
                for (i, data) in data.iter_mut().enumerate() {
                    requests.push(world.irecv(s, data, i as u32 + 1, 0)?);
                }
                // Rank 1 answers only after rank 2's message has been seen.
                let (index, status) = oxmpi::wait_any(&mut requests).unwrap();
                assert_eq!((index, status?.source, requests.len()), (1, 2, 1));
                world.send(&[0u8], 1, 1)?;
                let (index, status) = oxmpi::wait_any(&mut requests).unwrap();
                assert_eq!((index, status?.source), (0, 1));
                assert!(oxmpi::wait_any(&mut requests).is_none());
                Ok(())
            })
            .unwrap();
            assert_eq!(data, [[1], [2]]);
        } else {
            if world.rank() == 1 {
                world.recv(&mut [0u8], 0, 1).unwrap();
            }
            world.send(&[world.rank()], 0, 0).unwrap();
        }
    }

    fn test_goes_on_until_the_message_is_there([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut data = [0u8; 100_000];
        if world.rank() == 0 {
            oxmpi::scope(|s| {
                let mut request = world.irecv(s, &mut data, 1, 0)?;
                assert!(request.test()?.is_none());
                world.send(&[0u8], 1, 1)?;
                let status = loop {
                    if let Some(status) = request.test()? {
                        break status;
                    }
                };
                // The status stays.
                assert_eq!(request.test()?, Some(status));
                assert_eq!(request.wait()?, status);
                Ok(())
            })
            .unwrap();
            assert!(data == [7; 100_000]);
        } else {
            world.recv(&mut [0u8], 0, 1).unwrap();
            world.send(&[7u8; 100_000], 0, 0).unwrap();
        }
    }

    fn a_receive_can_be_cancelled([1, 2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (mut never, mut later) = ([0u8], [0u8]);
        oxmpi::scope(|s| {
            let request = world.irecv(s, &mut never, ANY_SOURCE, 5)?;
            request.cancel();
            assert!(request.wait()?.cancelled);
            Ok(())
        })
        .unwrap();
        world.barrier().unwrap();
        // The next message goes to the next receive, not to the one that was taken back.
        let peer = (world.rank() + 1) % world.size();
        let left = (world.rank() + world.size() - 1) % world.size();
        world.send_recv(&[9u8], peer, 5, &mut later, left, 5).unwrap();
        assert_eq!((never, later), ([0], [9]));
    }

    fn cancelling_what_is_over_changes_nothing([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut data = [0u8];
        if world.rank() == 0 {
            oxmpi::scope(|s| {
                let request = world.irecv(s, &mut data, 1, 0)?;
                world.barrier()?;
                world.recv(&mut [0u8], 1, 1)?;
                request.cancel();
                let status = request.wait()?;
                assert!(!status.cancelled);
                assert_eq!(status.bytes, 1);
                Ok(())
            })
            .unwrap();
            assert_eq!(data, [3]);
        } else {
            world.barrier().unwrap();
            world.send(&[3u8], 0, 0).unwrap();
            world.send(&[3u8], 0, 1).unwrap();
        }
    }

    fn a_long_send_that_nobody_wants_can_be_taken_back([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let data = vec![1u8; 4 << 20];
            oxmpi::scope(|s| {
                let request = world.isend(s, &data, 1, 77)?;
                request.cancel();
                assert!(request.wait()?.cancelled);
                Ok(())
            })
            .unwrap();
            world.send(&[1u8], 1, 78).unwrap();
            world.send(&[2u8], 1, 77).unwrap();
        } else {
            let mut data = [0u8; 8];
            world.recv(&mut data, 0, 78).unwrap();
            let status = world.recv(&mut data, 0, 77).unwrap();
            assert_eq!((status.bytes, data[0]), (1, 2));
        }
    }

    fn forgotten_requests_are_waited_for_at_the_end_of_the_scope([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let mut data = vec![vec![0u8; 50_000]; 200];
            oxmpi::scope(|s| {
                for (i, data) in data.iter_mut().enumerate() {
                    let request = world.irecv(s, data, 1, i as i32)?;
                    if i % 2 == 0 {
                        // A leak is as harmless as a drop.
                        Box::leak(Box::new(request));
                    }
                }
                Ok(())
            })
            .unwrap();
            assert!(data.iter().enumerate().all(|(i, data)| data.iter().all(|&x| x == i as u8)));
        } else {
            std::thread::sleep(std::time::Duration::from_millis(50));
            for i in (0..200u8).rev() {
                world.send(&[i; 50_000], 0, i32::from(i)).unwrap();
            }
        }
    }

    fn a_scope_that_fails_takes_its_receives_back([1, 2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut data = [0u8; 10];
        let result = oxmpi::scope(|s| {
            drop(world.irecv(s, &mut data, ANY_SOURCE, 3)?);
            // No such rank: the scope ends although nobody will ever send with tag 3.
            world.send(&[1u8], 99, 0)
        });
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Rank { rank: 99, .. }));
        data[0] = 1;
        assert_eq!(data[0], 1);
    }

    fn a_scope_that_panics_takes_its_receives_back([1]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut data = [0u8; 10];
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            oxmpi::scope(|s| -> oxmpi::Result<()> {
                drop(world.irecv(s, &mut data, 0, 3)?);
                panic!("on purpose");
            })
        }));
        assert!(result.is_err());
        world.send(&[5u8], 0, 3).unwrap();
        let mut later = [0u8];
        world.recv(&mut later, 0, 3).unwrap();
        assert_eq!((later[0], data[0]), (5, 0));
    }

    fn long_scopes_do_not_grow([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let peer = 1 - world.rank();
        let outgoing = [1u64; 4];
        let mut incoming = vec![[0u64; 4]; 20_000];
        oxmpi::scope(|s| {
            for data in incoming.chunks_mut(100) {
                let mut requests = Vec::new();
                for data in data {
                    requests.push(world.irecv(s, data, peer, 0)?);
                    requests.push(world.isend(s, &outgoing, peer, 0)?);
                }
                oxmpi::wait_all(requests)?;
            }
            Ok(())
        })
        .unwrap();
        assert!(incoming.iter().all(|data| *data == [1; 4]));
    }

    fn truncation_of_a_request_is_reported_by_wait([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let mut data = [0u8; 4];
            let result = oxmpi::scope(|s| world.irecv(s, &mut data, 1, 0)?.wait());
            let text = result.unwrap_err().to_string();
            assert!(text.starts_with("irecv on rank 0 of 2 ("), "{text}");
            // Left to the scope, the error is the scope's.
            let result = oxmpi::scope(|s| world.irecv(s, &mut data, 1, 0).map(drop));
            let text = result.unwrap_err().to_string();
            assert!(text.starts_with("scope on rank 0 of 2 ("), "{text}");
        } else {
            world.send(&[1u8; 5], 0, 0).unwrap();
            world.send(&[1u8; 5], 0, 0).unwrap();
        }
    }
}
