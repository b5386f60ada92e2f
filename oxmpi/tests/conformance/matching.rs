//! Which message a receive gets: order, wildcards, probe, matched probe.

use oxmpi::{ANY_SOURCE, ANY_TAG, ErrorKind};

oxmpi_harness::ranks! {
    /// MPI 5.0 §3.5: messages of one sender that match the same receive arrive in order, whatever
    /// their lengths.
    fn messages_do_not_overtake([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let length = |i: u64| if i.is_multiple_of(3) { 20_000 } else { (i % 7) as usize } + 1;
        if world.rank() == 0 {
            for i in 0..300u64 {
                world.send(&vec![i; length(i)], 1, (i % 2) as i32).unwrap();
            }
        } else {
            for i in 0..300u64 {
                let (data, status) = world.recv_vec::<u64>(0, ANY_TAG).unwrap();
                assert_eq!((data[0], data.len(), status.tag), (i, length(i), (i % 2) as i32));
            }
        }
    }

    fn posted_receives_are_filled_in_the_order_of_posting([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            world.barrier().unwrap();
            for i in 0..100u64 {
                world.send(&[i], 1, 4).unwrap();
            }
        } else {
            let mut data = [[0u64]; 100];
            oxmpi::scope(|s| {
                let mut requests = Vec::new();
                for (i, data) in data.iter_mut().enumerate() {
                    // Wildcards and exact ones compete; order of posting decides.
                    requests.push(match i % 3 {
                        0 => world.irecv(s, data, ANY_SOURCE, 4)?,
                        1 => world.irecv(s, data, 0, ANY_TAG)?,
                        _ => world.irecv(s, data, 0, 4)?,
                    });
                }
                world.barrier()?;
                oxmpi::wait_all(requests)
            })
            .unwrap();
            assert!(data.iter().enumerate().all(|(i, data)| data[0] == i as u64));
        }
    }

    fn tags_select([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            for tag in 0..10 {
                world.send(&[tag], 1, tag).unwrap();
            }
        } else {
            for tag in [7, 0, 9, 3] {
                let mut data = [0];
                world.recv(&mut data, 0, tag).unwrap();
                assert_eq!(data, [tag]);
            }
            let mut rest = Vec::new();
            for _ in 0..6 {
                let mut data = [0];
                let status = world.recv(&mut data, ANY_SOURCE, ANY_TAG).unwrap();
                assert_eq!(data, [status.tag]);
                rest.push(status.tag);
            }
            assert_eq!(rest, [1, 2, 4, 5, 6, 8]);
        }
    }

    fn any_source_hears_everybody_in_each_ones_order([4, 8]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let per_rank = 500u64;
        if world.rank() == 0 {
            let mut next = vec![0u64; world.size() as usize];
            for _ in 0..per_rank * u64::from(world.size() - 1) {
                let mut data = [0u64];
                let status = world.recv(&mut data, ANY_SOURCE, 1).unwrap();
                let expected = &mut next[status.source as usize];
                assert_eq!(data[0], *expected, "from rank {}", status.source);
                *expected += 1;
            }
            assert_eq!(next[0], 0);
        } else {
            for i in 0..per_rank {
                world.send(&[i], 0, 1).unwrap();
            }
        }
    }

    fn probe_tells_and_leaves_the_message([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [0usize, 10, 100_000] {
            if world.rank() == 0 {
                world.send(&vec![1u16; length], 1, 12).unwrap();
            } else {
                let status = world.probe(ANY_SOURCE, ANY_TAG).unwrap();
                assert_eq!((status.source, status.tag), (0, 12));
                assert_eq!(status.count::<u16>(), Some(length));
                assert_eq!(world.iprobe(0, 12).unwrap(), Some(status));
                assert_eq!(world.iprobe(0, 13).unwrap(), None);
                let mut data = vec![0u16; length];
                world.recv(&mut data, status.source, status.tag).unwrap();
                assert!(data.iter().all(|&x| x == 1));
                assert_eq!(world.iprobe(ANY_SOURCE, ANY_TAG).unwrap(), None);
            }
            world.barrier().unwrap();
        }
    }

    fn a_matched_message_is_out_of_reach_of_others([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [5usize, 300_000] {
            if world.rank() == 0 {
                oxmpi::scope(|s| {
                    let (first, second) = (vec![1u8; length], vec![2u8; length]);
                    let (first, second): (&'static [u8], &'static [u8]) = (first.leak(), second.leak());
                    let a = world.isend(s, first, 1, 3)?;
                    let b = world.isend(s, second, 1, 3)?;
                    a.wait()?;
                    b.wait()
                })
                .unwrap();
            } else {
                let message = world.matched_probe(0, ANY_TAG).unwrap();
                assert_eq!(message.status().bytes, length as u64);
                let mut data = vec![0u8; length];
                world.recv(&mut data, 0, 3).unwrap();
                assert!(data.iter().all(|&x| x == 2));
                message.recv(&mut data).unwrap();
                assert!(data.iter().all(|&x| x == 1));
                assert!(world.improbe(ANY_SOURCE, ANY_TAG).unwrap().is_none());
            }
            world.barrier().unwrap();
        }
    }

    fn a_matched_message_can_be_dropped_or_be_too_long([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [5usize, 300_000] {
            if world.rank() == 0 {
                for i in 0..3u8 {
                    world.send(&vec![i; length], 1, 3).unwrap();
                }
            } else {
                drop(world.matched_probe(0, 3).unwrap());
                let mut short = vec![0u8; length - 1];
                let error = world.matched_probe(0, 3).unwrap().recv(&mut short).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Engine(_)));
                let (data, _) = world.matched_probe(0, 3).unwrap().recv_vec::<u8>().unwrap();
                assert!(data == vec![2; length]);
            }
        }
    }
}
