//! What happens while a rank is not in the library, or has nothing to do in it.

use std::time::Duration;

use crate::figure::{Row, Target, Unit};
use crate::floor::{Cpus, hop, pair};
use crate::rank::Probe;
use crate::session::{BenchError, Session};
use crate::suite::neighbour::{Load, Neighbours};

/// Repetitions of figures that last seconds each.
const SLOW_REPETITIONS: usize = 3;

/// A 64 MiB transfer beside one second of computing.
pub fn overlap(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let (bytes, compute) = (64 << 20, Duration::from_secs(1));
    let mut rows = Vec::new();
    for (name, probe) in [
        (
            "64 MiB receive posted before 1 s of computing",
            Probe::OverlapReceive { bytes, compute },
        ),
        (
            "64 MiB send started before 1 s of computing",
            Probe::OverlapSend { bytes, compute },
        ),
    ] {
        let mut last = vec![0.0; 3];
        let shares = session.repeat(name, SLOW_REPETITIONS, |session| {
            last = session.job(2, &probe, &[])?.0;
            Ok(last[0])
        })?;
        let mut row = Row::new("overlap", name, Unit::Percent, &shares).noting(format!(
            "share of the transfer that was over when the computing ended; {:.1} µs were left to wait for, alone it takes {:.0} µs",
            last[1], last[2]
        ));
        if matches!(probe, Probe::OverlapReceive { .. }) {
            row = row.aiming(Target::AtLeast(99.0));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// CPU while blocked, and hops between ranks that share a core.
pub fn wait(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    let probe = Probe::Blocked {
        away: Duration::from_secs(2),
    };
    let used = session.repeat("blocked for 2 s", SLOW_REPETITIONS, |session| {
        session.figure(2, &probe)
    })?;
    rows.push(
        Row::new(
            "wait",
            "CPU used while blocked in a receive for 2 s",
            Unit::Percent,
            &used,
        )
        .aiming(Target::AtMost(1.0)),
    );

    let cpu = session.cpus.this;
    let latency = |session: &Session| Probe::Latency {
        bytes: 8,
        time: session.repetition(),
    };
    let pairs = session.pairs(
        "two ranks on one core",
        |session| Ok(hop::yield_ns(session.cpus, session.effort)?),
        |session| pair::confined(cpu, || session.figure(2, &latency(session)))?,
    )?;
    rows.push(
        Row::new(
            "wait",
            "8 B one way, 2 ranks on one core",
            Unit::Nanoseconds,
            &pairs.values,
        )
        .on_floor("yield hand-off", &pairs.values, &pairs.floors),
    );
    if session.cpus
        != (Cpus {
            this: cpu,
            peer: cpu,
        })
    {
        let pairs = session.pairs(
            "two ranks on one core, unawares",
            |session| Ok(hop::yield_ns(session.cpus, session.effort)?),
            |session| {
                session.figure(
                    2,
                    &Probe::LatencyUnawares {
                        cpu,
                        time: session.repetition(),
                    },
                )
            },
        )?;
        rows.push(
            Row::new(
                "wait",
                "the same, and the library was not told",
                Unit::Nanoseconds,
                &pairs.values,
            )
            .on_floor("yield hand-off", &pairs.values, &pairs.floors),
        );
    }
    for load in [Load::Busy(1), Load::Busy(2), Load::Bursty] {
        rows.push(beside(session, load)?);
    }
    Ok(rows)
}

/// A ping-pong beside programs that compute, and the same between bare spinners.
fn beside(session: &mut Session, load: Load) -> Result<Row, BenchError> {
    let name = format!("8 B one way, {}", load.name());
    let pairs = session.pairs(
        &name,
        |session| {
            let _neighbours = Neighbours::start(load);
            Ok(hop::flag_ns(session.cpus, session.effort)?)
        },
        |session| {
            let _neighbours = Neighbours::start(load);
            let time = session.repetition();
            session.figure(2, &Probe::Latency { bytes: 8, time })
        },
    )?;
    Ok(
        Row::new("wait", &name, Unit::Nanoseconds, &pairs.values).on_floor(
            "flag hop beside it",
            &pairs.values,
            &pairs.floors,
        ),
    )
}
