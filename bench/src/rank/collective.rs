//! Collective operations on all ranks of a job, back to back, µs per operation of the slowest rank.
//!
//! Batches of operations between two looks at the clock; rank 0 decides after each batch whether
//! there is another and tells the others by a broadcast that is not timed.

use std::time::{Duration, Instant};

use oxmpi::{Communicator, Result, op};
use serde::{Deserialize, Serialize};

use crate::floor::median;

/// Which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Operation {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Scan,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    ReduceScatter,
}

impl Operation {
    /// As in MPI, small.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Barrier => "barrier",
            Operation::Bcast => "bcast",
            Operation::Reduce => "reduce",
            Operation::Allreduce => "allreduce",
            Operation::Scan => "scan",
            Operation::Gather => "gather",
            Operation::Scatter => "scatter",
            Operation::Allgather => "allgather",
            Operation::Alltoall => "alltoall",
            Operation::ReduceScatter => "reduce_scatter",
        }
    }
}

/// Batches thrown away while things settle.
const WARM: usize = 2;

/// µs per operation.
pub fn measure(
    world: &Communicator<'_>,
    operation: Operation,
    bytes: usize,
    time: Duration,
) -> Result<Vec<f64>> {
    let size = world.size() as usize;
    let elements = (bytes / 8).max(1);
    let small = vec![1.0f64; elements];
    let mut into = vec![0.0f64; elements];
    let many = vec![1.0f64; elements * size];
    let mut into_many = vec![0.0f64; elements * size];
    let root = world.rank() == 0;
    let mut once = || -> Result<()> {
        match operation {
            Operation::Barrier => world.barrier(),
            Operation::Bcast => world.bcast(&mut into, 0),
            Operation::Reduce => world.reduce(&small, root.then_some(&mut into[..]), op::Sum, 0),
            Operation::Allreduce => world.allreduce(&small, &mut into, op::Sum),
            Operation::Scan => world.scan(&small, &mut into, op::Sum),
            Operation::Gather => world.gather(&small, root.then_some(&mut into_many[..]), 0),
            Operation::Scatter => world.scatter(root.then_some(&many[..]), &mut into, 0),
            Operation::Allgather => world.allgather(&small, &mut into_many),
            Operation::Alltoall => world.alltoall(&many, &mut into_many),
            Operation::ReduceScatter => {
                world.reduce_scatter(&many, &mut into, &vec![elements; size], op::Sum)
            }
        }
    };
    let mut per_operation = Vec::new();
    let mut batch = 1u64;
    let began = Instant::now();
    loop {
        world.barrier()?;
        let start = Instant::now();
        for _ in 0..batch {
            once()?;
        }
        // A root may run ahead of the others; an operation is over when the last rank has its part.
        let (mine, mut took) = ([start.elapsed().as_nanos() as f64], [0.0]);
        world.reduce(&mine, root.then_some(&mut took[..]), op::Max, 0)?;
        per_operation.push(took[0] / 1000.0 / batch as f64);
        let mut next = [0u64];
        if root && (began.elapsed() < time || per_operation.len() < WARM + 5) {
            // Batches of a tenth of the time: a rank that runs ahead of the others by one operation
            // must not count.
            let fitting = time.as_nanos() as f64 / 10.0 * batch as f64 / took[0].max(1.0);
            next[0] = if per_operation.len() <= WARM {
                fitting.clamp(1.0, 1e5) as u64
            } else {
                batch
            };
        }
        world.bcast(&mut next, 0)?;
        if next[0] == 0 {
            return Ok(vec![median(&mut per_operation[WARM..])]);
        }
        batch = next[0];
    }
}
