//! Two ranks on two hosts, beside a bare TCP connection between the same two.
//!
//! Both are measured within one job, in changing order, so that a figure and its floor see the same network, the same
//! processes and the same CPUs.

use crate::figure::{Row, Target, Unit, size_name};
use crate::rank::{Exchange, Probe};
use crate::session::{BenchError, Session};

const NAME: &str = "network";

/// What is measured, and what it should reach.
const PLAN: [(Exchange, Option<Target>); 6] = [
    (Exchange::Latency(8), Some(Target::RatioAtMost(1.25))),
    (Exchange::Latency(1 << 10), None),
    (Exchange::Latency(64 << 10), None),
    (Exchange::Stream(64 << 10), Some(Target::RatioAtLeast(0.9))),
    (Exchange::Stream(1 << 20), Some(Target::RatioAtLeast(0.9))),
    (Exchange::Rate, None),
];

/// Latency, bandwidth, message rate.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    if session.figure(2, &Probe::Networked)? == 0.0 {
        return Err(BenchError::OneHost);
    }
    let mut rows = Vec::new();
    for (exchange, target) in PLAN {
        let size = size_name(exchange.bytes());
        let (name, unit, floor) = match exchange {
            Exchange::Latency(_) => (
                format!("{size} one way"),
                Unit::Nanoseconds,
                "bare ping-pong",
            ),
            Exchange::Stream(_) => (
                format!("{size} stream"),
                Unit::GigabytesPerSecond,
                "bare stream",
            ),
            Exchange::Rate => (
                format!("{size}, windows of 64"),
                Unit::MillionPerSecond,
                "a bare call per message",
            ),
        };
        let repetitions = session.repetitions;
        let pairs = session.pairs_of_jobs(&name, repetitions, |session, wire_first| {
            let probe = Probe::BesideWire {
                exchange,
                wire_first,
                time: session.repetition(),
            };
            let (found, _) = session.job(2, &probe, &[])?;
            Ok((found[0], found[1]))
        })?;
        let mut row =
            Row::new(NAME, name, unit, &pairs.values).on_floor(floor, &pairs.values, &pairs.floors);
        row = match exchange {
            Exchange::Latency(bytes) => row.plotted("one way", "bytes", bytes as f64),
            Exchange::Stream(bytes) => row.plotted("stream", "bytes", bytes as f64),
            Exchange::Rate => row,
        };
        if let Some(target) = target {
            row = row.aiming(target);
        }
        rows.push(row);
    }
    Ok(rows)
}
