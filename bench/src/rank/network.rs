//! Measurements between ranks of different hosts, and of what a network with many connections
//! costs.
//!
//! The bare connection, datagrams or frames that stand beside a figure are exchanged by the same
//! two ranks (`wire` makes them meet), and take turns with the library within one job.

use std::time::Duration;

use oxmpi::{Communicator, Mpi, op};
use serde::{Deserialize, Serialize};

use super::idle::cpu_time;
use super::point::{RATE_WINDOW, ping_pong, posted_windows};
use super::wire::{Ranks, WireError, meet, spread_over_cpus};
use crate::floor::stream;
use crate::floor::wire::{self, Medium, batch};
use crate::net::Net;

/// What one of these measurements gives.
type Found = Result<Vec<f64>, Box<dyn std::error::Error>>;

const CONNECT: i32 = 12;

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

/// 1 if the ranks of this job talk by a network, 0 if they share memory.
pub fn is_networked(mpi: &Mpi) -> Vec<f64> {
    vec![f64::from(u8::from(mpi.network_counters().is_some()))]
}

/// An exchange between ranks 0 and 1 with the library, and the same by the bare mechanism below it.
pub fn beside_wire(
    mpi: &Mpi,
    world: &Communicator<'_>,
    net: Net,
    exchange: Exchange,
    wire_first: bool,
    time: Duration,
) -> Found {
    let transport = mpi.transport().to_string();
    // What stands in parentheses are reasons against others.
    let talk = transport.split(" (").next().unwrap_or_default();
    if !talk.to_ascii_lowercase().contains(net.word()) {
        return Err(WireError::OtherNetwork { net, transport }.into());
    }
    let mut ends = Ranks { mpi, world };
    let shared = spread_over_cpus(&mut ends)?;
    let mut medium = meet(&mut ends, net, shared)?;
    let mut bare = None;
    if wire_first {
        bare = over_wire(medium.as_mut(), world, exchange, time)?;
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
        bare = over_wire(medium.as_mut(), world, exchange, time)?;
    }
    Ok([ours, bare].into_iter().flatten().collect())
}

fn over_wire(
    medium: &mut dyn Medium,
    world: &Communicator<'_>,
    exchange: Exchange,
    time: Duration,
) -> std::io::Result<Option<f64>> {
    let (bytes, window) = (exchange.bytes(), exchange.window());
    match (exchange, world.rank()) {
        (Exchange::Latency(_), 0) => wire::ping_ns(medium, bytes, time).map(Some),
        (Exchange::Latency(_), _) => wire::pong(medium, bytes).map(|()| None),
        (_, 0) => {
            let rate = wire::stream(medium, bytes, window, time)?;
            Ok(Some(exchange.scaled(rate)))
        }
        (_, _) => wire::sink(medium, bytes, window).map(|()| None),
    }
}

/// One way of 8 bytes between ranks 0 and 1, ns: while one other rank is connected to them, and
/// while all others are. The others say nothing after they have connected.
pub fn idle_connections(mpi: &Mpi, world: &Communicator<'_>, time: Duration) -> Found {
    let (rank, size) = (world.rank(), world.size());
    if rank <= 1 {
        spread_over_cpus(&mut Ranks { mpi, world })?;
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

/// Ranks 0 and 1 never give their CPU away while they wait in the library, because that is how they
/// are measured. Outside of the measurement hundreds of others need it to wake up and answer, so
/// there they look now and then.
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
