//! Measurements between ranks of different hosts, and of what a network with many connections costs.
//!
//! The bare connection that stands beside a figure is made by the same two ranks, between the same addresses that the library
//! would choose, and takes turns with the library within one job. Ranks that turn out to share a machine (hosts for tests are
//! parts of one) take a CPU each: both would otherwise be alone on their host and free to meet on one.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use oxmpi::{Communicator, Mpi, op};
use oxmpi_net::Card;
use oxmpi_net::address::{self, Local, Policy, PortRange};
use oxmpi_net::tcp::Counters;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::idle::cpu_time;
use super::point::{RATE_WINDOW, Sample, ping_pong, posted_windows};
use crate::floor::tcp::Connection;
use crate::floor::wire::{self, Carrier, batch};
use crate::floor::{pair, stream};

/// What one of these measurements gives.
type Found = Result<Vec<f64>, Box<dyn std::error::Error>>;

const CARD: i32 = 10;
const MACHINE: i32 = 11;
const CONNECT: i32 = 12;
const CALLS: i32 = 13;

/// How long one address of the other rank is tried for the bare connection; the library's own connection exists by then, so the
/// host does answer.
const DIAL_MAX: Duration = Duration::from_secs(2);

/// Ranks asked to connect at once: they wake up together, and there may be two CPUs for them.
const AT_ONCE: usize = 32;

/// Between two looks at whether another rank has answered.
const NAP: Duration = Duration::from_micros(100);

/// What two ranks do with each other, with the library and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exchange {
    /// One way of a ping-pong of this many bytes, ns.
    Latency(usize),
    /// Windows of messages of this many bytes, GB/s.
    Stream(usize),
    /// Windows of 64 messages of 8 bytes, million per second.
    Rate,
}

impl Exchange {
    /// Length of a message.
    pub fn bytes(self) -> usize {
        match self {
            Exchange::Latency(bytes) | Exchange::Stream(bytes) => bytes,
            Exchange::Rate => 8,
        }
    }

    fn window(self) -> usize {
        match self {
            Exchange::Rate => RATE_WINDOW,
            other => stream::window(other.bytes()),
        }
    }

    /// Messages per nanosecond in the unit of the figure.
    fn scaled(self, rate: f64) -> f64 {
        match self {
            Exchange::Rate => rate * 1000.0,
            other => rate * other.bytes() as f64,
        }
    }
}

/// Why there is no bare connection to compare with.
#[derive(Debug, Error)]
pub enum WireError {
    /// No port.
    #[error(
        "no port for the bare connection: all of {range} are taken or refused; OXMPI_PORT_RANGE is too narrow, it needs one more than the ranks"
    )]
    NoPort {
        /// Where one was looked for.
        range: PortRange,
    },
    /// The other rank cannot be reached.
    #[error(
        "rank 1 on {host} does not answer at {tried} although the library reaches it; is a firewall between, and OXMPI_PORT_RANGE not set?"
    )]
    Unreachable {
        /// Its host.
        host: String,
        /// Where it was looked for.
        tried: String,
    },
}

/// 1 if the ranks of this job talk by a network, 0 if they share memory.
pub fn is_networked(mpi: &Mpi) -> Vec<f64> {
    vec![f64::from(u8::from(mpi.network_counters().is_some()))]
}

/// An exchange between ranks 0 and 1 with the library, and the same over a bare connection.
pub fn beside_wire(
    mpi: &Mpi,
    world: &Communicator<'_>,
    exchange: Exchange,
    wire_first: bool,
    time: Duration,
) -> Found {
    let mut bare_end = meet(mpi, world)?;
    let mut bare = None;
    if wire_first {
        bare = over_wire(&mut bare_end, world, exchange, time)?;
    }
    world.barrier()?;
    let ours = match exchange {
        Exchange::Latency(bytes) => ping_pong(world, bytes, batch(bytes), time)?.value,
        other => posted_windows(world, other.bytes(), other.window(), time)?
            .value
            .map(|rate| other.scaled(rate)),
    };
    world.barrier()?;
    if !wire_first {
        bare = over_wire(&mut bare_end, world, exchange, time)?;
    }
    Ok([ours, bare].into_iter().flatten().collect())
}

fn over_wire(
    carrier: &mut dyn Carrier,
    world: &Communicator<'_>,
    exchange: Exchange,
    time: Duration,
) -> std::io::Result<Option<f64>> {
    let (bytes, window) = (exchange.bytes(), exchange.window());
    match (exchange, world.rank()) {
        (Exchange::Latency(_), 0) => wire::ping_ns(carrier, bytes, time).map(Some),
        (Exchange::Latency(_), _) => wire::pong(carrier, bytes).map(|()| None),
        (_, 0) => {
            let rate = wire::stream(carrier, bytes, window, time)?;
            Ok(Some(exchange.scaled(rate)))
        }
        (_, _) => wire::sink(carrier, bytes, window).map(|()| None),
    }
}

/// Makes the bare connection: rank 1 listens, and tells rank 0 where.
fn meet(mpi: &Mpi, world: &Communicator<'_>) -> Result<Connection, Box<dyn std::error::Error>> {
    let (policy, local) = (Policy::from_env()?, Local::read()?);
    let shared = spread_over_cpus(world, local.machine)?;
    let stream = if world.rank() == 1 {
        let listener = listen()?;
        let offered = address::offered(&local.interfaces, &policy)?;
        let port = listener.local_addr()?.port();
        let card = Card::new(mpi.host(), local.machine, port, offered).to_string();
        world.send(card.as_bytes(), 0, CARD)?;
        listener.accept()?.0
    } else {
        let (text, _) = world.recv_vec::<u8>(1, CARD)?;
        let card: Card = String::from_utf8_lossy(&text).parse()?;
        dial(&card, &local, &policy)?
    };
    Ok(Connection::new(stream, shared)?)
}

fn listen() -> Result<TcpListener, Box<dyn std::error::Error>> {
    let range = PortRange::from_env()?;
    let wildcards = |port| {
        [
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ]
    };
    // The library's listener of this rank has the first one.
    range
        .attempts(1)
        .flat_map(wildcards)
        .find_map(|address| TcpListener::bind(address).ok())
        .ok_or_else(|| WireError::NoPort { range }.into())
}

fn dial(card: &Card, local: &Local, policy: &Policy) -> Result<TcpStream, WireError> {
    let candidates = address::order(card, local, policy);
    candidates
        .iter()
        .find_map(|candidate| TcpStream::connect_timeout(&candidate.address, DIAL_MAX).ok())
        .ok_or_else(|| WireError::Unreachable {
            host: card.host.clone(),
            tried: candidates
                .iter()
                .map(|candidate| candidate.address.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// Ranks 0 and 1 of one machine take a CPU each; says whether they have to share one.
fn spread_over_cpus(
    world: &Communicator<'_>,
    machine: u64,
) -> Result<bool, Box<dyn std::error::Error>> {
    let cpus = pair::usable_cpus();
    let rank = world.rank();
    let chosen = cpus[rank as usize % cpus.len()];
    let (mine, mut other) = ([machine, chosen as u64], [0; 2]);
    if rank == 0 {
        world.send(&mine, 1, MACHINE)?;
        world.recv(&mut other, 1, MACHINE)?;
    } else {
        world.recv(&mut other, 0, MACHINE)?;
        world.send(&mine, 0, MACHINE)?;
    }
    if other[0] != machine {
        return Ok(false);
    }
    pair::pin(chosen)?;
    Ok(other == mine)
}

/// One way of 8 bytes between ranks 0 and 1, ns: while one other rank is connected to them, and while all others are. The
/// others say nothing after they have connected.
pub fn idle_connections(world: &Communicator<'_>, time: Duration) -> Found {
    let (rank, size) = (world.rank(), world.size());
    if rank <= 1 {
        spread_over_cpus(world, Local::read()?.machine)?;
    }
    let mut found = Vec::new();
    for mut crowd in [2..3, 3..size] {
        match rank {
            0 => {
                let crowd: Vec<u32> = crowd.collect();
                for some in crowd.chunks(AT_ONCE) {
                    send_napping(world, some)?;
                    some.iter()
                        .try_for_each(|other| receive_napping(world, *other))?;
                }
                send_napping(world, &[1])?;
            }
            1 => crowd
                .chain([0])
                .try_for_each(|other| receive_napping(world, other))?,
            _ if crowd.any(|other| other == rank) => {
                world.recv(&mut [0u8], 0, CONNECT)?;
                world.send(&[0u8], 1, CONNECT)?;
                world.send(&[0u8], 0, CONNECT)?;
            }
            _ => {}
        }
        found.extend(ping_pong(world, 8, batch(8), time)?.value);
    }
    match rank {
        0 => send_napping(world, &(2..size).collect::<Vec<_>>())?,
        1 => {}
        _ => drop(world.recv(&mut [0u8], 0, CONNECT)?),
    }
    Ok(found)
}

/// Ranks 0 and 1 never give their CPU away while they wait in the library, because that is how they are measured. Outside of
/// the measurement hundreds of others need it to wake up and answer, so there they look now and then.
fn send_napping(world: &Communicator<'_>, to: &[u32]) -> oxmpi::Result<()> {
    oxmpi::scope(|scope| {
        let sends = to
            .iter()
            .map(|other| world.isend(scope, &[0u8], *other, CONNECT))
            .collect::<oxmpi::Result<Vec<_>>>()?;
        for mut send in sends {
            while send.test()?.is_none() {
                std::thread::sleep(NAP);
            }
        }
        Ok(())
    })
}

fn receive_napping(world: &Communicator<'_>, from: u32) -> oxmpi::Result<()> {
    while world.iprobe(from, CONNECT)?.is_none() {
        std::thread::sleep(NAP);
    }
    world.recv(&mut [0u8], from, CONNECT)?;
    Ok(())
}

/// System calls for receiving, per message of 8 bytes: of rank 0 in a ping-pong, those of them that brought something, and of
/// rank 1 while windows of 64 arrive.
pub fn system_calls(mpi: &Mpi, world: &Communicator<'_>, time: Duration) -> Found {
    spread_over_cpus(world, Local::read()?.machine)?;
    let (answers, alone) = counted(mpi, || ping_pong(world, 8, batch(8), time))?;
    world.barrier()?;
    let (windows, crowd) = counted(mpi, || posted_windows(world, 8, RATE_WINDOW, time))?;
    if world.rank() == 1 {
        let calls = crowd.reads + crowd.questions;
        world.send(&[calls as f64 / windows.messages as f64], 0, CALLS)?;
        return Ok(Vec::new());
    }
    let mut in_windows = [0.0];
    world.recv(&mut in_windows, 1, CALLS)?;
    let per_answer = |calls: u64| calls as f64 / answers.messages as f64;
    Ok(vec![
        per_answer(alone.reads + alone.questions),
        per_answer(alone.reads - alone.empty_reads),
        in_windows[0],
    ])
}

/// What the network's counters counted meanwhile.
fn counted(
    mpi: &Mpi,
    measure: impl FnOnce() -> oxmpi::Result<Sample>,
) -> oxmpi::Result<(Sample, Counters)> {
    let counters = || mpi.network_counters().unwrap_or_default();
    let before = counters();
    let sample = measure()?;
    let after = counters();
    let counted = Counters {
        reads: after.reads - before.reads,
        empty_reads: after.empty_reads - before.empty_reads,
        questions: after.questions - before.questions,
        ..Counters::default()
    };
    Ok((sample, counted))
}

/// CPU time that an all-to-all of `bytes` to each rank takes of all ranks together, µs.
pub fn all_to_all_cpu(world: &Communicator<'_>, bytes: usize, operations: u32) -> Found {
    let many = vec![1u8; bytes * world.size() as usize];
    let mut into_many = many.clone();
    // The first one makes the connections.
    world.alltoall(&many, &mut into_many)?;
    world.barrier()?;
    let before = cpu_time();
    for _ in 0..operations {
        world.alltoall(&many, &mut into_many)?;
    }
    let mine = [(cpu_time() - before).as_secs_f64() * 1e6 / f64::from(operations)];
    let (root, mut all) = (world.rank() == 0, [0.0]);
    world.reduce(&mine, root.then_some(&mut all[..]), op::Sum, 0)?;
    Ok(if root { all.to_vec() } else { Vec::new() })
}
