//! Port buffers: one copy, or none.

use crate::pattern;

oxmpi_harness::ranks! {
    fn sent_from_a_port_buffer_received_anywhere([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [1usize, 1000, 100_000, 3_000_000] {
            if world.rank() == 0 {
                let mut buffer = mpi.port_buffer::<u8>(length).unwrap();
                assert_eq!(buffer.len(), length);
                buffer.copy_from_slice(&pattern(5, length));
                world.send(&buffer, 1, 0).unwrap();
                world.send(&buffer[length / 2..], 1, 1).unwrap();
            } else {
                let mut data = vec![0u8; length];
                world.recv(&mut data, 0, 0).unwrap();
                assert!(data == pattern(5, length));
                let (rest, _) = world.recv_vec::<u8>(0, 1).unwrap();
                assert!(rest == pattern(5, length)[length / 2..]);
            }
        }
    }

    fn received_into_a_port_buffer([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut buffer = mpi.port_buffer::<f64>(200_000).unwrap();
        let peer = 1 - world.rank();
        let outgoing = vec![f64::from(world.rank()); 200_000];
        world.send_recv(&outgoing, peer, 0, &mut buffer, peer, 0).unwrap();
        assert!(buffer.iter().all(|&x| x == f64::from(peer)));
    }

    fn a_long_message_is_read_where_it_lies([2], [oxmpi_harness::ONE_HOST]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let length = 1 << 18;
        if world.rank() == 0 {
            let mut buffer = mpi.port_buffer::<u64>(length).unwrap();
            for round in 0..20u64 {
                buffer.iter_mut().enumerate().for_each(|(i, x)| *x = round + i as u64);
                // Returns when the receiver is done, so the next round may write again.
                world.send(&buffer, 1, 0).unwrap();
            }
        } else {
            for round in 0..20u64 {
                let message = world.recv_in_place::<u64>(0, 0).unwrap();
                assert!(message.is_zero_copy());
                assert_eq!(message.status().count::<u64>(), Some(length));
                assert!(message.iter().enumerate().all(|(i, &x)| x == round + i as u64));
            }
        }
    }

    fn in_place_falls_back_to_a_copy([2]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let length = 200_000;
        if world.rank() == 0 {
            // Ordinary memory; then port memory at an address that does not suit the type.
            world.send(&pattern(6, length), 1, 0).unwrap();
            let mut buffer = mpi.port_buffer::<u8>(length + 1).unwrap();
            buffer[1..].copy_from_slice(&pattern(7, length));
            world.send(&buffer[1..], 1, 0).unwrap();
            world.send(&[1u8; 3], 1, 0).unwrap();
        } else {
            for seed in [6, 7] {
                let message = world.recv_in_place::<u64>(0, 0).unwrap();
                assert!(!message.is_zero_copy());
                let expected = pattern(seed, length);
                let mut words = expected.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap()));
                assert!(message.iter().all(|&x| Some(x) == words.next()));
            }
            assert!(world.recv_in_place::<u64>(0, 0).is_err());
        }
    }

    fn absurd_lengths_are_refused([1]) {
        let mpi = oxmpi::init().unwrap();
        let error = mpi.port_buffer::<u64>(usize::MAX).unwrap_err().to_string();
        assert!(error.starts_with("port_buffer on rank 0 of 1"), "{error}");
        assert!(mpi.port_buffer::<u8>(1 << 60).is_err());
        assert!(mpi.port_buffer::<u8>(0).unwrap().is_empty());
    }
}
