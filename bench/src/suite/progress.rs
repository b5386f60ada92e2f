//! Readers of TCP connections: a plain loop that polls and reads all sockets, the library's
//! handler, io_uring, BPF programs, the driver in the kernel; and each beside itself with more
//! connections.
//!
//! Everything here goes by TCP, also between ranks of one host, because the readers of sockets are
//! compared. The plain loop is the baseline of O2G's paper: select, then read what is ready, then
//! match; the kernel's handler is the paper's own.

use std::time::Duration;

use oxmpi_settings as settings;

use crate::figure::{Row, Target, Unit};
use crate::floor::Effort;
use crate::rank::Probe;
use crate::rank::home::{MEASURES, WORKLOADS};
use crate::session::{BenchError, Session};

const NAME: &str = "progress";

/// Settings of a job.
type Environment = &'static [(&'static str, &'static str)];

/// Ranks of one host talk by a network, too,
const NETWORK: (&str, &str) = (settings::SHARED_MEMORY.name, "off");
/// and the network is TCP: without this, `sock` and `user` would be UDP.
const TCP: (&str, &str) = (settings::NET.name, "tcp");

/// A way to look after sockets: its name, and the settings of a job.
struct Home {
    name: &'static str,
    environment: Environment,
    /// For the two ranks that talk among hundreds. A job of more ranks than CPUs yields at every
    /// look, which would hide what a look costs.
    spinning: Environment,
    /// Nothing moves messages while the program computes but who reads the connections.
    without_driver: Environment,
}

macro_rules! home {
    ($name:literal) => {
        Home {
            name: $name,
            environment: &[NETWORK, TCP, (settings::PROGRESS.name, $name)],
            spinning: &[
                NETWORK,
                TCP,
                (settings::PROGRESS.name, $name),
                (settings::WAIT.name, "spin"),
            ],
            without_driver: &[
                NETWORK,
                TCP,
                (settings::PROGRESS.name, $name),
                (settings::DRIVER.name, "off"),
            ],
        }
    };
}

const PLAIN: Home = home!("sock");
const HANDLER: Home = home!("user");
const RING: Home = home!("uring");
const BPF: Home = home!("bpf");
const KERNEL: Home = home!("kernel");

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

/// What messages cost, idle connections, CPU time, overlap.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let homes = homes(session);
    let mut rows = costs(session, &homes)?;
    for home in &homes {
        let row = idle(session, home)?;
        rows.push(match home.name {
            "user" => row.aiming(Target::RatioAtMost(1.1)),
            _ => row,
        });
    }
    for home in &homes[1..] {
        rows.push(all_to_all(session, home)?);
    }
    for home in &homes {
        rows.push(overlap(session, home, true)?);
        rows.push(overlap(session, home, false)?);
    }
    Ok(rows)
}

/// The names of what there is here, the plain loop first.
pub(crate) fn names(session: &mut Session) -> Vec<&'static str> {
    let notes = session.notes.len();
    let names = homes(session).iter().map(|home| home.name).collect();
    // What is missing is said by `run`.
    session.notes.truncate(notes);
    names
}

/// The plain loop, and what there is here besides; what is not is said, for its rows are missing
/// then.
fn homes(session: &mut Session) -> Vec<Home> {
    let mut homes = vec![PLAIN, HANDLER];
    let ring = oxmpi_net::tcp::find_ring().map_err(|error| error.to_string());
    let bpf = oxmpi_net::tcp::find_bpf().map_err(|error| error.to_string());
    let driver = oxmpi_net::tcp::find_driver().map_err(|error| error.to_string());
    for (home, found) in [(RING, ring), (BPF, bpf), (KERNEL, driver)] {
        match found {
            Ok(()) => homes.push(home),
            Err(error) => {
                let name = home.name;
                let note =
                    format!("skipped: everything with OXMPI_PROGRESS={name}, because {error}");
                session.notes.push(note);
            }
        }
    }
    homes
}

/// What a message costs its receiver, for each workload. Homes take turns, so that a ratio is one
/// of neighbours.
fn costs(session: &mut Session, homes: &[Home]) -> Result<Vec<Row>, BenchError> {
    let probe = Probe::Home {
        time: session.repetition(),
    };
    let repetitions = session.repetitions;
    session.announce("cost of messages", repetitions * homes.len());
    // By home, then by figure.
    let mut found = vec![vec![Vec::new(); WORKLOADS.len() * MEASURES.len()]; homes.len()];
    for round in 0..repetitions {
        for turn in 0..homes.len() {
            let home = (round + turn) % homes.len();
            let (values, _) = session.job(2, &probe, homes[home].environment)?;
            for (index, column) in found[home].iter_mut().enumerate() {
                column.push(values.get(index).copied().unwrap_or(1.0));
            }
            session.step();
        }
    }
    let mut rows = Vec::new();
    for (workload, measures) in WORKLOADS.iter().enumerate() {
        for (measure, name) in MEASURES.iter().enumerate() {
            let index = workload * MEASURES.len() + measure;
            let unit = match measure {
                0 => Unit::Nanoseconds,
                1 => Unit::Calls,
                4 => Unit::Times,
                _ => Unit::Count,
            };
            for (home, columns) in homes.iter().zip(&found) {
                let name = format!("{measures}, {name}, {}", home.name);
                let row = Row::new(NAME, name, unit, &columns[index]);
                rows.push(match measure {
                    0 => row.on_floor("plain loop", &columns[index], &found[0][index]),
                    _ => row,
                });
            }
        }
    }
    Ok(rows)
}

/// The floor is the same home with one idle connection, in the same job.
fn idle(session: &mut Session, home: &Home) -> Result<Row, BenchError> {
    let name = format!("8 B one way, {IDLE} idle connections, {}", home.name);
    let repetitions = slow_repetitions(session);
    let pairs = session.pairs_of_jobs(&name, repetitions, |session, _| {
        let probe = Probe::IdleConnections {
            time: session.repetition(),
        };
        let parts = [(2, home.spinning), (IDLE, home.environment)];
        let (found, _) = session.job_of_parts(&parts, &probe)?;
        Ok((found[1], found[0]))
    })?;
    Ok(Row::new(NAME, name, Unit::Nanoseconds, &pairs.values)
        .on_floor("1 idle connection", &pairs.values, &pairs.floors)
        .plotted(
            format!("8 B one way, {}", home.name),
            "entries",
            f64::from(IDLE),
        ))
}

fn all_to_all(session: &mut Session, home: &Home) -> Result<Row, BenchError> {
    let (ranks, operations, bytes) = ALL_TO_ALL;
    let name = format!(
        "CPU time of an all-to-all of 4 KiB, {ranks} ranks, {}",
        home.name
    );
    let probe = Probe::AllToAllCpu { bytes, operations };
    let pairs = session.pairs(
        &name,
        |session| Ok(session.job(ranks, &probe, PLAIN.environment)?.0[0]),
        |session| Ok(session.job(ranks, &probe, home.environment)?.0[0]),
    )?;
    Ok(
        Row::new(NAME, name, Unit::Microseconds, &pairs.values).on_floor(
            "plain loop",
            &pairs.values,
            &pairs.floors,
        ),
    )
}

fn overlap(session: &mut Session, home: &Home, driver: bool) -> Result<Row, BenchError> {
    let probe = Probe::OverlapReceive {
        bytes: 64 << 20,
        compute: Duration::from_secs(1),
    };
    let (environment, thread) = match driver {
        true => (home.environment, ""),
        false => (home.without_driver, ", driver thread off"),
    };
    let what = "64 MiB receive posted before 1 s of computing";
    let name = format!("{what}, {}{thread}", home.name);
    let repetitions = slow_repetitions(session);
    let shares = session.repeat(&name, repetitions, |session| {
        Ok(session.job(2, &probe, environment)?.0[0])
    })?;
    Ok(Row::new(NAME, name, Unit::Percent, &shares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_home_reads_tcp_connections() {
        for home in [PLAIN, HANDLER, RING, BPF, KERNEL] {
            for environment in [home.environment, home.spinning, home.without_driver] {
                assert!(environment.contains(&("OXMPI_NET", "tcp")), "{}", home.name);
                assert!(environment.contains(&("OXMPI_SHARED_MEMORY", "off")));
            }
        }
    }
}
