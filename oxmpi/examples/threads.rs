//! Threads: several of each rank send and receive at once, each pair on a tag of its own.
//!
//! The level is part of the types. Below `Multiple` this program would not compile, because handles
//! stay on their thread.

use oxmpi::op::Sum;
use oxmpi::thread::Multiple;

const THREADS: u32 = 4;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init_with::<Multiple>()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let sums: Vec<oxmpi::Result<u32>> = std::thread::scope(|threads| {
        let started: Vec<_> = (0..THREADS)
            .map(|thread| {
                let world = &world;
                threads.spawn(move || {
                    let mut sum = 0;
                    for distance in 1..size {
                        let to = (rank + distance) % size;
                        let from = (rank + size - distance) % size;
                        let (mine, mut theirs) = ([rank * thread], [0]);
                        world.send_recv(
                            &mine,
                            to,
                            thread as i32,
                            &mut theirs,
                            from,
                            thread as i32,
                        )?;
                        sum += theirs[0];
                    }
                    Ok(sum)
                })
            })
            .collect();
        started.into_iter().map(|t| t.join().unwrap()).collect()
    });

    let others: u32 = (0..size).filter(|&other| other != rank).sum();
    for (thread, sum) in (0..THREADS).zip(sums) {
        assert_eq!(sum?, others * thread);
    }
    let mut ranks = [0];
    world.allreduce(&[1], &mut ranks, Sum)?;
    assert_eq!(ranks[0], size);
    if rank == 0 {
        println!("{THREADS} threads on each of {size} ranks have talked");
    }
    Ok(())
}
