//! Two ranks: latency, bandwidth, zero copy, both directions, message rate.

use crate::figure::{Row, Target, Unit, size_name};
use crate::floor::{hop, stream};
use crate::rank::{Buffers, Probe};
use crate::session::{BenchError, Session};

/// One way, against the flag hop (8 B) or the bare slot with a copy on each side.
pub fn latency(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for bytes in [8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10] {
        let name = format!("{} one way", size_name(bytes));
        let pairs = session.pairs(
            &format!("latency {name}"),
            |session| {
                Ok(if bytes == 8 {
                    hop::flag_ns(session.cpus, session.effort)?
                } else {
                    hop::slot_ns(session.cpus, bytes, session.effort)?
                })
            },
            |session| {
                session.figure(
                    2,
                    &Probe::Latency {
                        bytes,
                        time: session.repetition(),
                    },
                )
            },
        )?;
        let floor = if bytes == 8 { "flag hop" } else { "slot" };
        let mut row = Row::new("latency", name, Unit::Nanoseconds, &pairs.values)
            .on_floor(floor, &pairs.values, &pairs.floors)
            .plotted("one way", "bytes", bytes as f64);
        match bytes {
            8 => row = row.aiming(Target::RatioAtMost(1.6)),
            1024 => row = row.aiming(Target::RatioAtMost(1.5)),
            _ => {}
        }
        rows.push(row);
    }
    Ok(rows)
}

/// One direction, against the faster of a bare two-copy ring and a bare process_vm_readv.
pub fn bandwidth(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for bytes in [1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let ring = session.best_ring(bytes)?;
        let name = size_name(bytes);
        let mut readv_won = 0;
        let pairs = session.pairs(
            &format!("bandwidth {name}"),
            |session| {
                let ring = stream::ring_gbps(session.cpus, bytes, ring, session.effort)?;
                // Where the kernel forbids it, there is nothing to compare with.
                let readv = stream::readv_gbps(session.cpus, bytes, session.effort).unwrap_or(0.0);
                readv_won += usize::from(readv > ring);
                Ok(ring.max(readv))
            },
            |session| {
                let time = session.repetition();
                session.figure(
                    2,
                    &Probe::Bandwidth {
                        bytes,
                        buffers: Buffers::Private,
                        time,
                    },
                )
            },
        )?;
        let floor = if 2 * readv_won > pairs.values.len() {
            "readv"
        } else {
            "two-copy ring"
        };
        let mut row = Row::new("bandwidth", name, Unit::GigabytesPerSecond, &pairs.values)
            .on_floor(floor, &pairs.values, &pairs.floors)
            .plotted("one direction", "bytes", bytes as f64);
        if matches!(bytes, 0x1_0000 | 0x10_0000 | 0x40_0000) {
            row = row.aiming(Target::RatioAtLeast(0.9));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Out of port buffers, against the two-copy ring.
pub fn zero_copy(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for (buffers, series) in [
        (Buffers::FromPort, "from a port buffer, one copy"),
        (Buffers::InPlaceRead, "in place, read once"),
        (Buffers::InPlace, "in place, not read"),
    ] {
        for bytes in [64 << 10, 1 << 20, 4 << 20] {
            let ring = session.best_ring(bytes)?;
            let name = format!("{}, {series}", size_name(bytes));
            let pairs = session.pairs(
                &format!("zerocopy {name}"),
                |session| {
                    Ok(stream::ring_gbps(
                        session.cpus,
                        bytes,
                        ring,
                        session.effort,
                    )?)
                },
                |session| {
                    session.figure(
                        2,
                        &Probe::Bandwidth {
                            bytes,
                            buffers,
                            time: session.repetition(),
                        },
                    )
                },
            )?;
            let mut row = Row::new("zerocopy", name, Unit::GigabytesPerSecond, &pairs.values)
                .on_floor("two-copy ring", &pairs.values, &pairs.floors)
                .plotted(series, "bytes", bytes as f64);
            if bytes == 1 << 20 && buffers == Buffers::InPlaceRead {
                row = row.aiming(Target::RatioAtLeast(1.5));
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Both directions at once, against twice nothing: the one-way ring, for want of a fairer
/// mechanism.
pub fn bidirectional(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for bytes in [8 << 10, 64 << 10, 1 << 20, 4 << 20] {
        let ring = session.best_ring(bytes)?;
        let name = size_name(bytes);
        let pairs = session.pairs(
            &format!("bidirectional {name}"),
            |session| {
                Ok(stream::ring_gbps(
                    session.cpus,
                    bytes,
                    ring,
                    session.effort,
                )?)
            },
            |session| {
                session.figure(
                    2,
                    &Probe::Bidirectional {
                        bytes,
                        time: session.repetition(),
                    },
                )
            },
        )?;
        rows.push(
            Row::new(
                "bidirectional",
                name,
                Unit::GigabytesPerSecond,
                &pairs.values,
            )
            .on_floor("two-copy ring, one way", &pairs.values, &pairs.floors)
            .plotted("both directions", "bytes", bytes as f64),
        );
    }
    Ok(rows)
}

/// Small messages, against one message per flag hop: a window can beat it, because hops overlap.
pub fn rate(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for bytes in [8, 64, 1024] {
        let name = format!("{}, windows of 64", size_name(bytes));
        let pairs = session.pairs(
            &format!("rate {name}"),
            |session| Ok(1000.0 / hop::flag_ns(session.cpus, session.effort)?),
            |session| {
                session.figure(
                    2,
                    &Probe::Rate {
                        bytes,
                        time: session.repetition(),
                    },
                )
            },
        )?;
        let mut row = Row::new("rate", name, Unit::MillionPerSecond, &pairs.values)
            .on_floor("one per flag hop", &pairs.values, &pairs.floors)
            .plotted("messages", "bytes", bytes as f64);
        if bytes == 8 {
            // Set for a machine whose flag hop is 0.16 µs.
            row = row.aiming(Target::AtLeast(10.0));
        }
        rows.push(row);
    }
    Ok(rows)
}
