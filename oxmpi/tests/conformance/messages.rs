//! Sending and receiving: all lengths, to others and to oneself, typed and truncated.

use oxmpi::{ANY_SOURCE, ANY_TAG, ErrorKind, Plain};

use crate::pattern;

/// Around every limit a transport may have: lines, slots, eager and rendezvous.
const LENGTHS: [usize; 22] = [
    0, 1, 7, 8, 24, 56, 57, 64, 100, 1000, 1024, 4095, 4096, 8192, 16_384, 32_769, 65_535, 65_536,
    65_537, 262_144, 1_048_577, 5_000_000,
];

oxmpi_harness::ranks! {
    fn every_length_arrives_intact([2, 3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        for length in LENGTHS {
            let outgoing = pattern(u64::from(rank), length);
            let mut incoming = vec![0u8; length];
            let left = (rank + size - 1) % size;
            let status = world
                .send_recv(&outgoing, (rank + 1) % size, 5, &mut incoming, left, 5)
                .unwrap();
            assert_eq!((status.source, status.tag, status.bytes), (left, 5, length as u64));
            assert!(incoming == pattern(u64::from(left), length), "{length} bytes were damaged");
        }
    }

    fn sixty_four_mebibytes([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let length = 64 << 20;
        if world.rank() == 0 {
            world.send(&pattern(1, length), 1, 0).unwrap();
        } else {
            let mut data = vec![0u8; length];
            world.recv(&mut data, 0, 0).unwrap();
            assert!(data == pattern(1, length));
        }
    }

    fn unexpected_messages_of_every_length([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let data: Vec<_> = LENGTHS.iter().map(|&length| pattern(3, length)).collect();
            oxmpi::scope(|s| {
                for (tag, data) in data.iter().enumerate() {
                    drop(world.isend(s, data, 1, tag as i32)?);
                }
                world.send(&[1u8], 1, 100)
            })
            .unwrap();
        } else {
            // Everything has arrived, or been announced, before the first receive; taken backwards.
            world.recv(&mut [0u8], 0, 100).unwrap();
            for (tag, &length) in LENGTHS.iter().enumerate().rev() {
                let mut data = vec![0u8; length];
                world.recv(&mut data, 0, tag as i32).unwrap();
                assert!(data == pattern(3, length), "{length}");
            }
        }
    }

    fn a_rank_sends_to_itself([1, 3]) {
        let mpi = oxmpi::init().unwrap();
        for world in [mpi.world(), mpi.this()] {
            let me = world.rank();
            for length in LENGTHS {
                let outgoing = pattern(9, length);
                let mut incoming = vec![0u8; length];
                world.send_recv(&outgoing, me, 1, &mut incoming, me, 1).unwrap();
                assert!(incoming == outgoing);
            }
            // A short message to oneself may be sent before it is received.
            world.send(&[42u64], me, 2).unwrap();
            let mut got = [0u64];
            let status = world.recv(&mut got, ANY_SOURCE, ANY_TAG).unwrap();
            assert_eq!((got, status.source, status.tag), ([42], me, 2));
        }
    }

    fn structs_and_arrays_travel_typed([2]) {
        #[derive(Clone, Copy, Debug, PartialEq, Plain)]
        #[repr(C)]
        struct Particle {
            position: [f64; 3],
            kind: u32,
            charge: i32,
        }
        let particle = |i: i32| Particle {
            position: [f64::from(i), 0.5, -1.0],
            kind: 7,
            charge: -i,
        };
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            let particles: Vec<_> = (0..1000).map(particle).collect();
            world.send(&particles, 1, 0).unwrap();
            world.send(&[[1.0f32, 2.0], [3.0, 4.0]], 1, 1).unwrap();
        } else {
            let (particles, status) = world.recv_vec::<Particle>(0, 0).unwrap();
            assert_eq!(status.count::<Particle>(), Some(1000));
            assert!(particles.iter().enumerate().all(|(i, p)| *p == particle(i as i32)));
            let mut pairs = [[0.0f32; 2]; 3];
            let status = world.recv(&mut pairs, 0, 1).unwrap();
            assert_eq!(status.count::<[f32; 2]>(), Some(2));
            assert_eq!(pairs, [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]]);
        }
    }

    fn a_longer_message_than_the_buffer_is_an_error_with_the_values([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [100usize, 100_000, 3_000_000] {
            if world.rank() == 0 {
                world.send(&pattern(2, length), 1, 8).unwrap();
            } else {
                let mut data = vec![0u8; length - 10];
                let error = world.recv(&mut data, 0, 8).unwrap_err();
                let text = error.to_string();
                assert!(matches!(error.kind(), ErrorKind::Engine(_)), "{text}");
                for part in [&format!("{length} bytes"), &format!("{} bytes", length - 10), "tag 8", "rank 0"] {
                    assert!(text.contains(part), "'{part}' is missing in: {text}");
                }
                assert!(data == pattern(2, length)[..length - 10]);
            }
            // The channel works on.
            world.barrier().unwrap();
        }
    }

    fn recv_vec_takes_any_length_and_refuses_halves([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if world.rank() == 0 {
            for length in LENGTHS {
                world.send(&pattern(4, length), 1, 3).unwrap();
            }
            world.send(&[1u8, 2, 3], 1, 4).unwrap();
            world.send(&[5u64], 1, 5).unwrap();
        } else {
            for length in LENGTHS {
                let (data, _) = world.recv_vec::<u8>(0, 3).unwrap();
                assert!(data == pattern(4, length));
            }
            let error = world.recv_vec::<u64>(0, 4).unwrap_err().to_string();
            assert!(error.contains("has 3 bytes, which is no whole number of elements of 8 bytes"), "{error}");
            assert_eq!(world.recv_vec::<u64>(0, 5).unwrap().0, [5]);
        }
    }

    fn a_synchronous_send_waits_for_its_receive([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let pause = std::time::Duration::from_millis(100);
        if world.rank() == 0 {
            world.barrier().unwrap();
            let start = std::time::Instant::now();
            world.synchronous_send(&[1u8], 1, 0).unwrap();
            assert!(start.elapsed() > pause / 2, "it returned after {:?}", start.elapsed());
        } else {
            world.barrier().unwrap();
            std::thread::sleep(pause);
            world.recv(&mut [0u8], 0, 0).unwrap();
        }
    }

    fn many_small_messages_flood_a_slow_receiver([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let count = 200_000u64;
        if world.rank() == 0 {
            for i in 0..count {
                world.send(&[i, !i], 1, 0).unwrap();
            }
        } else {
            std::thread::sleep(std::time::Duration::from_millis(200));
            for i in 0..count {
                let mut data = [0; 2];
                world.recv(&mut data, 0, 0).unwrap();
                assert_eq!(data, [i, !i]);
            }
        }
    }

    fn everybody_sends_to_everybody([4, 8]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let size = world.size();
        for length in [1usize, 3000, 200_000] {
            let outgoing = pattern(u64::from(world.rank()), length);
            let mut incoming = vec![vec![0u8; length]; size as usize];
            oxmpi::scope(|s| {
                let mut requests = Vec::new();
                for (peer, buffer) in incoming.iter_mut().enumerate() {
                    requests.push(world.irecv(s, buffer, peer as u32, 6)?);
                }
                for peer in 0..size {
                    requests.push(world.isend(s, &outgoing, peer, 6)?);
                }
                oxmpi::wait_all(requests)
            })
            .unwrap();
            for (peer, data) in incoming.iter().enumerate() {
                assert!(*data == pattern(peer as u64, length));
            }
        }
    }
}
