//! Collective operations on 2, 4, 8 and 16 ranks.
//!
//! The floor of an operation is the least that must happen one after the other: a flag hop for two
//! ranks with a core each; a yield hand-off per rank when ranks share cores, because each of them
//! must run at least once. To this come the copies that no algorithm can avoid, each rank's result
//! into its memory, by all cores at once.

use crate::figure::{Row, Target, Unit, size_name};
use crate::floor::{hop, pair, stream};
use crate::rank::{Operation, Probe};
use crate::session::{BenchError, Session};

/// Operation, bytes, and the numbers of ranks for which it runs.
const PLAN: [(Operation, usize, &[u32]); 14] = [
    (Operation::Barrier, 0, &[2, 4, 8, 16]),
    (Operation::Bcast, 8, &[2, 4, 8, 16]),
    (Operation::Bcast, 64 << 10, &[2, 16]),
    (Operation::Reduce, 8, &[2, 16]),
    (Operation::Allreduce, 8, &[2, 4, 8, 16]),
    (Operation::Allreduce, 64 << 10, &[2, 4, 8, 16]),
    (Operation::Allreduce, 1 << 20, &[2, 16]),
    (Operation::Scan, 8, &[2, 16]),
    (Operation::Gather, 64, &[2, 16]),
    (Operation::Scatter, 64, &[2, 16]),
    (Operation::Allgather, 64, &[2, 16]),
    (Operation::Alltoall, 64, &[2, 4, 8, 16]),
    (Operation::Alltoall, 16 << 10, &[2, 16]),
    (Operation::ReduceScatter, 8, &[2, 16]),
];

/// Everything of `PLAN`.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for (operation, bytes, sizes) in PLAN {
        for &ranks in sizes {
            rows.push(row(session, operation, bytes, ranks)?);
        }
    }
    Ok(rows)
}

fn row(
    session: &mut Session,
    operation: Operation,
    bytes: usize,
    ranks: u32,
) -> Result<Row, BenchError> {
    let series = if bytes == 0 {
        operation.name().to_owned()
    } else {
        format!("{} {}", operation.name(), size_name(bytes))
    };
    let name = format!("{series}, {ranks} ranks");
    let crowded = ranks as usize > pair::usable_cpus().len();
    let pairs = session.pairs(
        &name,
        |session| {
            let ns = if crowded {
                f64::from(ranks) * hop::yield_ns(session.cpus, session.effort)?
            } else {
                hop::flag_ns(session.cpus, session.effort)?
            };
            let copied = unavoidable_bytes(operation, bytes, ranks);
            let copies_ns = if copied < COPIES_COUNT_FROM {
                0.0
            } else {
                let cpus = pair::usable_cpus().len().min(ranks as usize);
                copied as f64
                    / (stream::memcpy_gbps(session.cpus, bytes, session.effort)? * cpus as f64)
            };
            Ok((ns + copies_ns) / 1000.0)
        },
        |session| {
            session.figure(
                ranks,
                &Probe::Collective {
                    operation,
                    bytes,
                    time: session.repetition(),
                },
            )
        },
    )?;
    let copies = if unavoidable_bytes(operation, bytes, ranks) < COPIES_COUNT_FROM {
        ""
    } else {
        " + copies"
    };
    let floor = if crowded {
        format!("{ranks} yields{copies}")
    } else {
        format!("flag hop{copies}")
    };
    let row = Row::new("collectives", name, Unit::Microseconds, &pairs.values)
        .on_floor(floor, &pairs.values, &pairs.floors)
        .plotted(series, "ranks", f64::from(ranks));
    Ok(match (operation, bytes, ranks) {
        (Operation::Barrier, _, 16) | (Operation::Allreduce, 8, 16) if crowded => {
            row.aiming(Target::RatioAtMost(2.5))
        }
        // The best of the other libraries on a 2-core machine with a flag hop of 0.16 µs and a
        // yield of 0.83 µs.
        (Operation::Barrier, _, 2) => row.aiming(Target::AtMost(0.33)),
        (Operation::Allreduce, 8, 2) => row.aiming(Target::AtMost(0.43)),
        (Operation::Allreduce, 0x1_0000, 16) => row.aiming(Target::AtMost(388.0)),
        (Operation::Alltoall, 64, 16) => row.aiming(Target::AtMost(254.0)),
        _ => row,
    })
}

/// Results smaller than this, over all ranks, cost less to copy than to agree on.
const COPIES_COUNT_FROM: usize = 32 << 10;

/// Bytes that must be written somewhere, over all ranks, whatever the algorithm.
fn unavoidable_bytes(operation: Operation, bytes: usize, ranks: u32) -> usize {
    let ranks = ranks as usize;
    match operation {
        Operation::Barrier => 0,
        Operation::Reduce => bytes,
        Operation::Gather => ranks * bytes,
        Operation::Bcast | Operation::Scatter | Operation::Scan | Operation::ReduceScatter => {
            ranks * bytes
        }
        Operation::Allreduce => ranks * bytes,
        Operation::Allgather | Operation::Alltoall => ranks * ranks * bytes,
    }
}
