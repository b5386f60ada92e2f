//! Requests as futures, on a runtime of the program's choice (here futures-lite).
//!
//! The runtime's thread sleeps until a message arrives; nothing spins.

use futures_lite::future;
use oxmpi::{Communicator, Scope};

/// Questions that each rank asks its right neighbour.
const QUESTIONS: u64 = 20;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let left = (rank + size - 1) % size;

    // Buffers live outside the scope; what is begun inside ends before the scope does.
    let questions: Vec<[u64; 1]> = (0..QUESTIONS).map(|i| [i + u64::from(rank)]).collect();
    let mut answers = vec![[0]; questions.len()];
    let mut asked = vec![[0]; questions.len()];
    let square = |i: u64| [(i + u64::from(left)).pow(2)];
    let squares: Vec<[u64; 1]> = (0..QUESTIONS).map(square).collect();
    oxmpi::scope(|s| {
        // Two conversations at once, each written from top to bottom as if it were alone.
        let ask = ask(&world, s, &questions, &mut answers, right);
        let answer = answer(&world, s, &mut asked, &squares, left);
        let (ask, answer) = future::block_on(future::zip(ask, answer));
        ask.and(answer)
    })?;

    for (i, [answer]) in answers.iter().enumerate() {
        assert_eq!(*answer, (i as u64 + u64::from(rank)).pow(2));
    }
    if rank == 0 {
        println!("{QUESTIONS} questions of each of {size} ranks are answered");
    }
    Ok(())
}

async fn ask<'scope>(
    world: &'scope Communicator<'scope>,
    s: &'scope Scope<'scope, '_>,
    questions: &'scope [[u64; 1]],
    answers: &'scope mut [[u64; 1]],
    whom: u32,
) -> oxmpi::Result<()> {
    for (question, answer) in questions.iter().zip(answers) {
        world.isend(s, question, whom, 0)?.await?;
        world.irecv(s, answer, whom, 1)?.await?;
    }
    Ok(())
}

async fn answer<'scope>(
    world: &'scope Communicator<'scope>,
    s: &'scope Scope<'scope, '_>,
    asked: &'scope mut [[u64; 1]],
    squares: &'scope [[u64; 1]],
    whom: u32,
) -> oxmpi::Result<()> {
    for (question, square) in asked.iter_mut().zip(squares) {
        let status = world.irecv(s, question, whom, 0)?.await?;
        assert_eq!(status.source, whom);
        world.isend(s, square, whom, 1)?.await?;
    }
    Ok(())
}
