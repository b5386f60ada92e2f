//! Two ranks on two hosts, by each network that they have, beside the bare mechanism below it
//! between the same two.
//!
//! Figure and floor are measured within one job, in changing order, so that both see the same
//! network, the same processes and the same CPUs. The networks take turns, so that they can be
//! compared with each other as well, and so do jobs that encrypt and those that do not. What the
//! proof in every frame costs is measured beside them, without a network.

use std::hint::black_box;
use std::time::Instant;

use oxmpi_link::{FrameKey, Session as Conversation};
use oxmpi_wire::frame::FRAME_HEADER_BYTES;

use crate::figure::{Row, Target, Unit, size_name};
use crate::net::Net;
use crate::rank::{Exchange, Probe};
use crate::session::{BenchError, Session};

const NAME: &str = "network";

/// What is measured.
const PLAN: [Exchange; 6] = [
    Exchange::Latency(8),
    Exchange::Latency(1 << 10),
    Exchange::Latency(64 << 10),
    Exchange::Stream(64 << 10),
    Exchange::Stream(1 << 20),
    Exchange::Rate,
];

/// What is also measured encrypted: where each message costs most, and where each byte does.
const ENCRYPTED: [Exchange; 2] = [Exchange::Latency(8), Exchange::Stream(1 << 20)];

/// Frames that are proven at a stretch: some 20 µs, in which a process is seldom interrupted.
const FRAMES: u32 = 500;
/// Stretches in one repetition, of which the shortest counts.
const STRETCHES: usize = 40;

/// What one network found in each round, encrypted if that was measured, and its floor.
struct Column {
    net: Net,
    values: Vec<f64>,
    encrypted: Vec<f64>,
    floors: Vec<f64>,
}

/// Latency, bandwidth, message rate.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let nets = usable(session, NAME)?;
    let names: Vec<&str> = nets.iter().map(|net| net.name()).collect();
    session.transport = Some(format!("{}, as each figure says", names.join(", ")));
    let mut rows = Vec::new();
    for exchange in PLAN {
        let columns = measure(session, exchange, &nets)?;
        rows.extend(columns.iter().map(|column| on_floor(exchange, column)));
        rows.extend(columns.iter().flat_map(|column| {
            let others = columns.iter();
            others.filter_map(|other| beside(exchange, column, other))
        }));
        rows.extend(
            columns
                .iter()
                .filter_map(|column| encrypted(exchange, column)),
        );
    }
    rows.push(proofs(session)?);
    Ok(rows)
}

/// The networks that were asked for and can be used between these hosts; what is left out is noted
/// under the name of the benchmark.
pub(super) fn usable(session: &mut Session, bench: &str) -> Result<Vec<Net>, BenchError> {
    let mut usable = Vec::new();
    for net in session.nets.clone() {
        match session.job(2, &Probe::Networked, &net.environment()) {
            Ok((found, _)) if found[0] == 0.0 => return Err(BenchError::OneHost),
            Ok(_) => usable.push(net),
            // Not everybody may open packet sockets, and not every network lets datagrams through.
            Err(error) => session.left_out(&format!("{bench} by {}", net.name()), &error),
        }
    }
    if usable.is_empty() {
        return Err(BenchError::NoNetwork);
    }
    Ok(usable)
}

fn measure(
    session: &mut Session,
    exchange: Exchange,
    nets: &[Net],
) -> Result<Vec<Column>, BenchError> {
    let repetitions = session.repetitions;
    let rounds = session.steadily(&name(exchange), repetitions, |session, round| {
        nets.iter()
            .map(|net| {
                let probe = Probe::BesideWire {
                    net: *net,
                    exchange,
                    wire_first: round.is_multiple_of(2),
                    time: session.repetition(),
                };
                let [chosen] = net.environment();
                let (found, _) = session.job(2, &probe, &[chosen])?;
                let mut encrypted = None;
                if ENCRYPTED.contains(&exchange) {
                    let sealed = (oxmpi_settings::ENCRYPT.name, "on");
                    let (found, _) = session.job(2, &probe, &[chosen, sealed])?;
                    encrypted = Some(found[0]);
                }
                Ok((found[0], found[1], encrypted))
            })
            .collect::<Result<Vec<_>, BenchError>>()
    })?;
    let column = |(index, net): (usize, &Net)| Column {
        net: *net,
        values: rounds.iter().map(|round| round[index].0).collect(),
        floors: rounds.iter().map(|round| round[index].1).collect(),
        encrypted: rounds.iter().filter_map(|round| round[index].2).collect(),
    };
    Ok(nets.iter().enumerate().map(column).collect())
}

fn name(exchange: Exchange) -> String {
    let size = size_name(exchange.bytes());
    match exchange {
        Exchange::Latency(_) => format!("{size} one way"),
        Exchange::Stream(_) => format!("{size} stream"),
        Exchange::Rate => format!("{size}, windows of 64"),
    }
}

fn unit(exchange: Exchange) -> Unit {
    match exchange {
        Exchange::Latency(_) => Unit::Nanoseconds,
        Exchange::Stream(_) => Unit::GigabytesPerSecond,
        Exchange::Rate => Unit::MillionPerSecond,
    }
}

/// A figure beside its floor.
fn on_floor(exchange: Exchange, column: &Column) -> Row {
    let net = column.net;
    let mechanism = match net {
        Net::Tcp => "TCP",
        Net::Udp => "UDP",
        Net::Ethernet => "frames",
    };
    let floor = match exchange {
        Exchange::Latency(_) => format!("bare {mechanism} ping-pong"),
        Exchange::Stream(_) => format!("bare {mechanism} stream"),
        Exchange::Rate => format!("a bare {mechanism} call per message"),
    };
    let row = Row::new(
        NAME,
        format!("{}, {}", name(exchange), net.name()),
        unit(exchange),
        &column.values,
    )
    .on_floor(floor, &column.values, &column.floors);
    let row = match exchange {
        Exchange::Latency(bytes) => {
            row.plotted(format!("one way, {}", net.name()), "bytes", bytes as f64)
        }
        Exchange::Stream(bytes) => {
            row.plotted(format!("stream, {}", net.name()), "bytes", bytes as f64)
        }
        Exchange::Rate => row,
    };
    match floor_target(exchange, net) {
        Some(target) => row.aiming(target),
        None => row,
    }
}

/// What a figure should reach of its floor.
fn floor_target(exchange: Exchange, net: Net) -> Option<Target> {
    match (exchange, net) {
        (Exchange::Latency(8), Net::Tcp) => Some(Target::RatioAtMost(1.25)),
        (Exchange::Latency(8), Net::Udp) => Some(Target::RatioAtMost(1.35)),
        (Exchange::Latency(8), Net::Ethernet) => Some(Target::RatioAtMost(1.5)),
        (Exchange::Stream(_), Net::Tcp) => Some(Target::RatioAtLeast(0.9)),
        (Exchange::Stream(0x10_0000), Net::Udp) => Some(Target::RatioAtLeast(0.8)),
        (Exchange::Stream(_), Net::Ethernet) => Some(Target::RatioAtLeast(0.85)),
        _ => None,
    }
}

/// A figure beside the same by another network, where that says something: beside TCP, and streams
/// by Ethernet beside UDP, which may carry them.
fn beside(exchange: Exchange, column: &Column, other: &Column) -> Option<Row> {
    let target = match (exchange, column.net, other.net) {
        (_, Net::Udp | Net::Ethernet, Net::Tcp) => None,
        (Exchange::Stream(0x10_0000), Net::Ethernet, Net::Udp) => Some(Target::RatioAtLeast(0.95)),
        _ => return None,
    };
    let (this, that) = (column.net.name(), other.net.name());
    let row = Row::new(
        NAME,
        format!("{}, {this} beside {that}", name(exchange)),
        unit(exchange),
        &column.values,
    )
    .on_floor(format!("OxMPI by {that}"), &column.values, &other.values);
    Some(match target {
        Some(target) => row.aiming(target),
        None => row,
    })
}

/// A figure with `--encrypt` beside the same without.
fn encrypted(exchange: Exchange, column: &Column) -> Option<Row> {
    if column.encrypted.is_empty() {
        return None;
    }
    let net = column.net.name();
    let row = Row::new(
        NAME,
        format!("{}, {net} encrypted", name(exchange)),
        unit(exchange),
        &column.encrypted,
    );
    Some(row.on_floor(
        format!("OxMPI by {net} in the clear"),
        &column.encrypted,
        &column.values,
    ))
}

/// What the proof in every frame costs at either end: half of one frame's signing and verifying.
fn proofs(session: &mut Session) -> Result<Row, BenchError> {
    let repetitions = session.repetitions;
    let values = session.steadily("a frame's proof", repetitions, |_, _| Ok(proof_ns()))?;
    let row = Row::new(
        NAME,
        "proof of a frame, either end",
        Unit::Nanoseconds,
        &values,
    );
    Ok(row.aiming(Target::AtMost(20.0)))
}

fn proof_ns() -> f64 {
    let (one, other) = (FrameKey::new([1; 16]), FrameKey::new([2; 16]));
    let mut here = Conversation::new(one, other);
    let mut there = Conversation::new(other, one);
    let mut header = [7; FRAME_HEADER_BYTES];
    let mut shortest = f64::MAX;
    for _ in 0..STRETCHES {
        let begin = Instant::now();
        for _ in 0..FRAMES {
            here.sign(&mut header);
            let verified = there.verify(black_box(&header));
            assert!(verified.is_ok());
        }
        shortest = shortest.min(begin.elapsed().as_nanos() as f64);
    }
    shortest / f64::from(2 * FRAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(net: Net) -> Column {
        Column {
            net,
            values: vec![1.0, 2.0],
            encrypted: vec![2.0, 4.0],
            floors: vec![1.0, 1.0],
        }
    }

    #[test]
    fn encryption_stands_beside_the_clear() {
        let row = encrypted(Exchange::Latency(8), &column(Net::Udp)).unwrap();
        assert_eq!(row.name, "8 B one way, UDP encrypted");
        assert!(row.floor.is_some());
        let unmeasured = Column {
            encrypted: Vec::new(),
            ..column(Net::Udp)
        };
        assert!(encrypted(Exchange::Rate, &unmeasured).is_none());
        assert!(proof_ns() > 0.0);
    }

    #[test]
    fn every_network_has_a_floor_and_a_target_for_the_shortest_message() {
        for net in Net::ALL {
            let row = on_floor(Exchange::Latency(8), &column(net));
            assert!(row.floor.is_some() && row.met == Some(net == Net::Ethernet));
            assert!(row.name.ends_with(net.name()), "{}", row.name);
        }
    }

    #[test]
    fn networks_are_compared_with_tcp_and_the_bulk_of_frames_with_udp() {
        let compared = |exchange| {
            let nets = Net::ALL.map(column);
            nets.iter()
                .flat_map(|this| nets.iter().filter_map(|that| beside(exchange, this, that)))
                .map(|row| (row.name, row.target.is_some()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            compared(Exchange::Rate),
            [
                ("8 B, windows of 64, UDP beside TCP".to_owned(), false),
                ("8 B, windows of 64, Ethernet beside TCP".to_owned(), false)
            ]
        );
        assert_eq!(
            compared(Exchange::Stream(1 << 20)).last(),
            Some(&("1 MiB stream, Ethernet beside UDP".to_owned(), true))
        );
    }
}
