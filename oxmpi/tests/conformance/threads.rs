//! Many threads inside the library at once, and the levels below that.

use oxmpi::thread::{Multiple, Serialized};
use oxmpi::{ANY_SOURCE, ANY_TAG, op};

oxmpi_harness::ranks! {
    fn pairs_of_threads_exchange_at_once([2, 3]) {
        let mpi = oxmpi::init_with::<Multiple>().unwrap();
        let world = mpi.world();
        let (right, left) = ((world.rank() + 1) % world.size(), (world.rank() + world.size() - 1) % world.size());
        std::thread::scope(|threads| {
            for thread in 0..6i32 {
                let world = &world;
                threads.spawn(move || {
                    let length = [1, 100, 5000, 70_000, 300_000, 3][thread as usize];
                    for round in 0..30u64 {
                        let outgoing = vec![round * 10 + thread as u64; length];
                        let mut incoming = vec![0u64; length];
                        world.send_recv(&outgoing, right, thread, &mut incoming, left, thread).unwrap();
                        assert!(incoming == outgoing);
                    }
                });
            }
        });
    }

    fn threads_share_an_any_source_queue([2]) {
        let mpi = oxmpi::init_with::<Multiple>().unwrap();
        let world = mpi.world();
        let per_thread = 500u64;
        if world.rank() == 0 {
            let sums: Vec<u64> = std::thread::scope(|threads| {
                let receivers: Vec<_> = (0..4)
                    .map(|_| {
                        threads.spawn(|| {
                            let mut sum = 0;
                            for _ in 0..per_thread {
                                // Matched, so that no other thread can take what this one has seen.
                                let message = world.matched_probe(ANY_SOURCE, ANY_TAG).unwrap();
                                let (data, _) = message.recv_vec::<u64>().unwrap();
                                sum += data.iter().sum::<u64>();
                            }
                            sum
                        })
                    })
                    .collect();
                receivers.into_iter().map(|receiver| receiver.join().unwrap()).collect()
            });
            let total = 4 * per_thread;
            assert_eq!(sums.iter().sum::<u64>(), total * (total - 1) / 2);
        } else {
            std::thread::scope(|threads| {
                for thread in 0..4u64 {
                    let world = &world;
                    threads.spawn(move || {
                        for i in 0..per_thread {
                            world.send(&[thread * per_thread + i], 0, thread as i32).unwrap();
                        }
                    });
                }
            });
        }
    }

    fn each_thread_has_its_own_communicator([2, 4]) {
        let mpi = oxmpi::init_with::<Multiple>().unwrap();
        let world = mpi.world();
        let communicators: Vec<_> = (0..4).map(|_| world.dup().unwrap()).collect();
        std::thread::scope(|threads| {
            for (i, communicator) in communicators.iter().enumerate() {
                threads.spawn(move || {
                    for round in 0..50u64 {
                        let mut sum = [round + i as u64];
                        communicator.allreduce_in_place(&mut sum, op::Sum).unwrap();
                        assert_eq!(sum[0], (round + i as u64) * u64::from(communicator.size()));
                    }
                });
            }
        });
    }

    fn communicators_are_made_by_several_threads_at_once([2, 3]) {
        let mpi = oxmpi::init_with::<Multiple>().unwrap();
        let world = mpi.world();
        let parents: Vec<_> = (0..3).map(|_| world.dup().unwrap()).collect();
        std::thread::scope(|threads| {
            for (i, parent) in parents.iter().enumerate() {
                threads.spawn(move || {
                    for round in 0..10 {
                        let child = parent.dup().unwrap();
                        let mut value = [if child.rank() == 0 { i * 100 + round } else { 0 }];
                        child.bcast(&mut value, 0).unwrap();
                        assert_eq!(value[0], i * 100 + round);
                    }
                });
            }
        });
    }

    fn serialized_passes_from_thread_to_thread([2]) {
        let mpi = std::sync::Mutex::new(oxmpi::init_with::<Serialized>().unwrap());
        for round in 0..3u32 {
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    let mpi = mpi.lock().unwrap();
                    let world = mpi.world();
                    let mut sum = [round];
                    world.allreduce_in_place(&mut sum, op::Sum).unwrap();
                    assert_eq!(sum, [2 * round]);
                });
            });
        }
    }
}
