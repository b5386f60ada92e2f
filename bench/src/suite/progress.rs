//! The network's handler, in this process and in the kernel, beside a plain loop that polls and
//! reads all sockets, and beside itself with more connections.
//!
//! Everything here goes by TCP, also between ranks of one host, because what is compared is who
//! looks after sockets and how. The plain loop is the baseline of O2G's paper: select, then read
//! what is ready, then match; the kernel's handler is the paper's own.

use std::time::Duration;

use oxmpi_settings as settings;

use crate::figure::{Row, Target, Unit};
use crate::floor::Effort;
use crate::rank::Probe;
use crate::session::{BenchError, Session};

const NAME: &str = "progress";

/// Settings of a job.
type Environment = &'static [(&'static str, &'static str)];

/// By TCP only.
const TCP: (&str, &str) = (settings::SHARED_MEMORY.name, "off");
/// The ways to look after sockets.
const HANDLER: &[(&str, &str)] = &[TCP, (settings::PROGRESS.name, "user")];
const PLAIN: &[(&str, &str)] = &[TCP, (settings::PROGRESS.name, "sock")];
const KERNEL: &[(&str, &str)] = &[TCP, (settings::PROGRESS.name, "kernel")];
/// The same for the two ranks that talk among hundreds. A job of more ranks than CPUs yields at
/// every look, which would hide what a look costs.
const HANDLER_SPINNING: &[(&str, &str)] = &[TCP, HANDLER[1], (settings::WAIT.name, "spin")];
const PLAIN_SPINNING: &[(&str, &str)] = &[TCP, PLAIN[1], (settings::WAIT.name, "spin")];
const KERNEL_SPINNING: &[(&str, &str)] = &[TCP, KERNEL[1], (settings::WAIT.name, "spin")];

/// Connections that nobody uses, at most; ranks 0 and 1 have as many each.
const IDLE: u32 = 500;

/// Repetitions of figures that last seconds each.
fn slow_repetitions(session: &Session) -> usize {
    if session.effort == Effort::Quick {
        1
    } else {
        3
    }
}

/// Ranks and operations of the all-to-all, and bytes for each rank.
const ALL_TO_ALL: (u32, u32, usize) = (8, 200, 4 << 10);

/// Latency, system calls, idle connections, CPU time, overlap.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let kernel = has_driver(session);
    let mut handlers = vec![("", HANDLER)];
    if kernel {
        handlers.push((", kernel", KERNEL));
    }
    let mut rows = Vec::new();
    for (suffix, handler) in &handlers {
        rows.push(latency(session, suffix, handler)?);
        rows.extend(system_calls(session, suffix, handler)?);
    }
    rows.push(idle(session, "user", HANDLER_SPINNING, HANDLER)?.aiming(Target::RatioAtMost(1.1)));
    rows.push(idle(session, "sock", PLAIN_SPINNING, PLAIN)?);
    if kernel {
        rows.push(idle(session, "kernel", KERNEL_SPINNING, KERNEL)?);
    }
    for (suffix, handler) in &handlers {
        rows.push(all_to_all(session, suffix, handler)?);
    }
    rows.extend(overlap(session, kernel)?);
    Ok(rows)
}

/// Whether the driver is there; that it is not is said, for its rows are missing then.
fn has_driver(session: &mut Session) -> bool {
    let found = oxmpi_net::tcp::find_driver();
    if let Err(error) = &found {
        let note = format!("skipped: everything with OXMPI_PROGRESS=kernel, because {error}");
        session.notes.push(note);
    }
    found.is_ok()
}

fn latency(session: &mut Session, suffix: &str, handler: Environment) -> Result<Row, BenchError> {
    let name = format!("8 B one way by TCP{suffix}");
    let probe = Probe::Latency {
        bytes: 8,
        time: session.repetition(),
    };
    let pairs = session.pairs(
        &name,
        |session| Ok(session.job(2, &probe, PLAIN)?.0[0]),
        |session| Ok(session.job(2, &probe, handler)?.0[0]),
    )?;
    Ok(
        Row::new(NAME, name, Unit::Nanoseconds, &pairs.values).on_floor(
            "plain loop",
            &pairs.values,
            &pairs.floors,
        ),
    )
}

fn system_calls(
    session: &mut Session,
    suffix: &str,
    environment: Environment,
) -> Result<Vec<Row>, BenchError> {
    const NAMES: [&str; 3] = [
        "receive calls per message, ping-pong of 8 B",
        "those of them that brought something",
        "receive calls per message, windows of 64",
    ];
    let probe = Probe::SystemCalls {
        time: session.repetition(),
    };
    let repetitions = slow_repetitions(session);
    session.announce("receive calls", repetitions);
    let (mut handler, mut plain) = ([(); 3].map(|()| Vec::new()), [(); 3].map(|()| Vec::new()));
    for _ in 0..repetitions {
        for (environment, columns) in [(PLAIN, &mut plain), (environment, &mut handler)] {
            let (found, _) = session.job(2, &probe, environment)?;
            for (column, value) in columns.iter_mut().zip(found) {
                column.push(value);
            }
        }
        session.step();
    }
    let rows = NAMES.iter().zip(handler.iter().zip(&plain));
    Ok(rows
        .map(|(name, (handler, plain))| {
            let name = format!("{name}{suffix}");
            Row::new(NAME, name, Unit::Calls, handler).on_floor("plain loop", handler, plain)
        })
        .collect())
}

/// The floor is the same handler with one idle connection, in the same job.
fn idle(
    session: &mut Session,
    progress: &str,
    talking: &[(&str, &str)],
    idling: &[(&str, &str)],
) -> Result<Row, BenchError> {
    let name = format!("8 B one way, {IDLE} idle connections, {progress}");
    let repetitions = slow_repetitions(session);
    let pairs = session.pairs_of_jobs(&name, repetitions, |session, _| {
        let probe = Probe::IdleConnections {
            time: session.repetition(),
        };
        let (found, _) = session.job_of_parts(&[(2, talking), (IDLE, idling)], &probe)?;
        Ok((found[1], found[0]))
    })?;
    Ok(Row::new(NAME, name, Unit::Nanoseconds, &pairs.values)
        .on_floor("1 idle connection", &pairs.values, &pairs.floors)
        .plotted(
            format!("8 B one way, {progress}"),
            "entries",
            f64::from(IDLE),
        ))
}

fn all_to_all(
    session: &mut Session,
    suffix: &str,
    handler: Environment,
) -> Result<Row, BenchError> {
    let (ranks, operations, bytes) = ALL_TO_ALL;
    let name = format!("CPU time of an all-to-all of 4 KiB, {ranks} ranks{suffix}");
    let probe = Probe::AllToAllCpu { bytes, operations };
    let pairs = session.pairs(
        &name,
        |session| Ok(session.job(ranks, &probe, PLAIN)?.0[0]),
        |session| Ok(session.job(ranks, &probe, handler)?.0[0]),
    )?;
    Ok(
        Row::new(NAME, name, Unit::Microseconds, &pairs.values).on_floor(
            "plain loop",
            &pairs.values,
            &pairs.floors,
        ),
    )
}

fn overlap(session: &mut Session, kernel: bool) -> Result<Vec<Row>, BenchError> {
    let name = "64 MiB receive posted before 1 s of computing";
    let probe = Probe::OverlapReceive {
        bytes: 64 << 20,
        compute: Duration::from_secs(1),
    };
    let repetitions = slow_repetitions(session);
    let mut rows = Vec::new();
    let mut ways = vec![("user", HANDLER), ("sock", PLAIN)];
    if kernel {
        ways.push(("kernel", KERNEL));
    }
    for (progress, environment) in ways {
        let name = format!("{name}, {progress}");
        let shares = session.repeat(&name, repetitions, |session| {
            Ok(session.job(2, &probe, environment)?.0[0])
        })?;
        rows.push(Row::new(NAME, name, Unit::Percent, &shares));
    }
    Ok(rows)
}
