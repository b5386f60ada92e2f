//! A task farm: rank 0 hands out work piece by piece, the others ask for more when they are done.
//!
//! Tasks differ in length, so a quick rank gets more of them. The tag tells a task from the end.

use oxmpi::{ANY_SOURCE, ANY_TAG, Communicator};

const TASKS: u64 = 100;

/// The message holds a task.
const TASK: i32 = 1;
/// The message holds a result.
const RESULT: i32 = 2;
/// There is nothing more to do.
const STOP: i32 = 3;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    if world.size() == 1 {
        println!("a farm needs at least 2 ranks: oxmpi run -n 4 …");
    } else if world.rank() == 0 {
        let sum = hand_out(&world)?;
        assert_eq!(sum, (0..TASKS).map(collatz).sum());
        println!("{TASKS} tasks done by {} workers", world.size() - 1);
    } else {
        work(&world)?;
    }
    Ok(())
}

fn hand_out(world: &Communicator<'_>) -> oxmpi::Result<u64> {
    let mut tasks = 0..TASKS;
    let mut busy = 0;
    for worker in 1..world.size() {
        busy += give(world, worker, tasks.next())?;
    }
    let (mut sum, mut result) = (0, [0]);
    while busy > 0 {
        let status = world.recv(&mut result, ANY_SOURCE, RESULT)?;
        sum += result[0];
        busy -= 1;
        busy += give(world, status.source, tasks.next())?;
    }
    Ok(sum)
}

/// Sends a task, or word that there are none left. How many results that will bring.
fn give(world: &Communicator<'_>, worker: u32, task: Option<u64>) -> oxmpi::Result<u32> {
    match task {
        Some(task) => world.send(&[task], worker, TASK)?,
        None => world.send(&[0u64; 0], worker, STOP)?,
    }
    Ok(u32::from(task.is_some()))
}

fn work(world: &Communicator<'_>) -> oxmpi::Result<()> {
    loop {
        let (task, status) = world.recv_vec::<u64>(0, ANY_TAG)?;
        if status.tag == STOP {
            return Ok(());
        }
        world.send(&[collatz(task[0])], 0, RESULT)?;
    }
}

/// Steps until 1; some numbers take much longer than others.
fn collatz(start: u64) -> u64 {
    let (mut number, mut steps) = (start + 1, 0);
    while number != 1 {
        number = if number % 2 == 0 {
            number / 2
        } else {
            3 * number + 1
        };
        steps += 1;
    }
    steps
}
