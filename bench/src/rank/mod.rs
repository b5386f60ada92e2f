//! What runs inside the ranks of a benchmark job.
//!
//! A `Probe` names one measurement; every rank gets the same one and rank 0 reports. The files hold
//! the measurements: `point`, `typed` and `onesided` between two ranks, `collective` among all, `idle` what
//! happens while a rank computes or waits, `network` what is between hosts, `channel` the PM
//! network without MPI, for `oxmpi pmtest`. Measurements last as long as the probe says: rank 0
//! watches the clock and tells the others when it is over.

pub mod channel;
mod collective;
pub mod home;
mod idle;
mod network;
mod onesided;
mod point;
mod typed;
pub(crate) mod wire;

use std::time::Duration;

use oxmpi::{Communicator, Mpi};
use serde::{Deserialize, Serialize};

pub use collective::Operation;
pub use network::Exchange;
pub use onesided::OneSided;

use crate::answer::Answer;
use crate::net::Net;

/// Where messages lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Buffers {
    /// In the application's own memory, both sides.
    Private,
    /// Sent from the port, received into the application's memory: one copy.
    FromPort,
    /// Sent from the port, received in place and not read: no copy.
    InPlace,
    /// Sent from the port, received in place and read once.
    InPlaceRead,
}

/// What fills a queue of the receiver without matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crowd {
    /// Posted receives that nothing will match.
    Posted,
    /// Messages that nobody has asked for.
    Unexpected,
}

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Probe {
    /// One way of a ping-pong, ns.
    Latency {
        /// Length of a message.
        bytes: usize,
        /// How long to measure.
        time: Duration,
    },
    /// The same between two ranks that have put themselves on one CPU after the start, ns.
    LatencyUnawares {
        /// The CPU.
        cpu: usize,
        /// How long to measure.
        time: Duration,
    },
    /// Windows of messages in one direction, GB/s.
    Bandwidth {
        /// Length of a message.
        bytes: usize,
        /// Where they lie.
        buffers: Buffers,
        /// How long to measure.
        time: Duration,
    },
    /// Windows of messages in both directions at once, GB/s together.
    Bidirectional {
        /// Length of a message.
        bytes: usize,
        /// How long to measure.
        time: Duration,
    },
    /// Windows of 64 small messages, million per second.
    Rate {
        /// Length of a message.
        bytes: usize,
        /// How long to measure.
        time: Duration,
    },
    /// One way of a ping-pong with entries that do not match in the receiver's queue, ns.
    Crowded {
        /// Which queue.
        crowd: Crowd,
        /// How many.
        entries: usize,
        /// How long to measure.
        time: Duration,
    },
    /// A collective operation on all ranks, µs.
    Collective {
        /// Which.
        operation: Operation,
        /// Bytes each rank contributes (to each other rank for alltoall).
        bytes: usize,
        /// How long to measure.
        time: Duration,
    },
    /// A receive of rank 1 that is posted before it computes: share of the transfer that is done
    /// when the computing ends (%), and what was left to wait for (µs).
    OverlapReceive {
        /// Length of the message.
        bytes: usize,
        /// How long to compute.
        compute: Duration,
    },
    /// A send of rank 0 that is started before it computes: the same.
    OverlapSend {
        /// Length of the message.
        bytes: usize,
        /// How long to compute.
        compute: Duration,
    },
    /// CPU that rank 1 uses while it is blocked in a receive, %.
    Blocked {
        /// How long rank 0 stays away.
        away: Duration,
    },
    /// Whether the ranks talk by a network (1) or through shared memory (0).
    Networked,
    /// Ranks 0 and 1 with the library, and by the bare mechanism below it between the same two.
    BesideWire {
        /// By which network; the environment of the ranks names the same.
        net: Net,
        /// What they do.
        exchange: Exchange,
        /// The bare mechanism is measured before the library.
        wire_first: bool,
        /// How long to measure each.
        time: Duration,
    },
    /// One way of 8 bytes between ranks 0 and 1, ns: with rank 2 connected to them, and with all
    /// others.
    IdleConnections {
        /// How long to measure each.
        time: Duration,
    },
    /// What messages by TCP cost their receiver, by workload: see [`home`].
    Home {
        /// How long to measure each.
        time: Duration,
    },
    /// CPU time of all ranks for one all-to-all, µs.
    AllToAllCpu {
        /// To each rank.
        bytes: usize,
        /// How many.
        operations: u32,
    },
    /// One way of a ping-pong of doubles with gaps between them, ns.
    Typed {
        /// Bytes of the doubles.
        bytes: usize,
        /// Packed and unpacked by a loop instead of sent as a datatype.
        by_hand: bool,
        /// How long to measure.
        time: Duration,
    },
    /// A one-sided operation, and what stands beside it.
    OneSided {
        /// Which.
        what: OneSided,
        /// Between two hosts; all ranks are on this one otherwise.
        between_hosts: bool,
        /// How long to measure each.
        time: Duration,
    },
    /// What `oxmpi pmtest` measures, on a channel instead of with MPI.
    Pm(channel::Plan),
    /// What a rank learns about copying from messages of all lengths; no figures.
    Learned,
    /// Initialise and finalise.
    Nothing,
}

impl Probe {
    /// For people, when it fails.
    pub fn describe(&self) -> String {
        match self {
            Probe::Pm(plan) => format!("pmtest by {}", plan.net.name()),
            other => serde_json::to_string(other).unwrap_or_default(),
        }
    }

    /// Whether its two ranks belong on two hosts if there are two.
    pub fn is_between_hosts(&self) -> bool {
        match self {
            Probe::Networked | Probe::BesideWire { .. } | Probe::Pm(_) => true,
            Probe::OneSided { between_hosts, .. } => *between_hosts,
            _ => false,
        }
    }

    /// Whether its ranks belong on this host even if there are others.
    pub fn is_on_one_host(&self) -> bool {
        matches!(
            self,
            Probe::Learned
                | Probe::OneSided {
                    between_hosts: false,
                    ..
                }
        )
    }
}

/// Runs a probe given as JSON; rank 0 prints the answer as a line of JSON.
pub fn run(probe: &str) -> Result<(), Box<dyn std::error::Error>> {
    let probe: Probe = serde_json::from_str(probe)?;
    if let Probe::Pm(plan) = &probe {
        return channel::run(plan);
    }
    if let Probe::Typed {
        bytes,
        by_hand,
        time,
    } = probe
    {
        if let Some(answer) = typed::measure(bytes, by_hand, time)? {
            println!("{}", serde_json::to_string(&answer)?);
        }
        return Ok(());
    }
    if let Probe::OneSided { what, time, .. } = probe {
        if let Some(answer) = onesided::measure(what, time)? {
            println!("{}", serde_json::to_string(&answer)?);
        }
        return Ok(());
    }
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let values = measure(&mpi, &world, &probe)?;
    if world.rank() == 0 {
        let answer = Answer {
            values,
            transport: mpi.transport().to_string(),
            learned: match probe {
                Probe::Learned => learned(&mpi),
                _ => Vec::new(),
            },
        };
        println!("{}", serde_json::to_string(&answer)?);
    }
    Ok(())
}

/// What this rank has learned about copying.
fn learned(mpi: &Mpi) -> Vec<(String, String)> {
    let rows = mpi.learned().into_iter();
    rows.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn measure(
    mpi: &Mpi,
    world: &Communicator<'_>,
    probe: &Probe,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    Ok(match *probe {
        Probe::Latency { bytes, time } => point::latency(world, bytes, time)?,
        Probe::LatencyUnawares { cpu, time } => {
            crate::floor::pair::pin(cpu)?;
            point::latency(world, 8, time)?
        }
        Probe::Bandwidth {
            bytes,
            buffers,
            time,
        } => point::bandwidth(mpi, world, bytes, buffers, time)?,
        Probe::Bidirectional { bytes, time } => point::bidirectional(world, bytes, time)?,
        Probe::Rate { bytes, time } => point::rate(world, bytes, time)?,
        Probe::Crowded {
            crowd,
            entries,
            time,
        } => point::crowded(world, crowd, entries, time)?,
        Probe::Collective {
            operation,
            bytes,
            time,
        } => collective::measure(world, operation, bytes, time)?,
        Probe::OverlapReceive { bytes, compute } => idle::overlap_receive(world, bytes, compute)?,
        Probe::OverlapSend { bytes, compute } => idle::overlap_send(world, bytes, compute)?,
        Probe::Blocked { away } => idle::blocked(world, away)?,
        Probe::Networked => network::is_networked(mpi),
        Probe::BesideWire {
            net,
            exchange,
            wire_first,
            time,
        } => network::beside_wire(mpi, world, net, exchange, wire_first, time)?,
        Probe::IdleConnections { time } => network::idle_connections(mpi, world, time)?,
        Probe::Home { time } => home::measure(mpi, world, time)?,
        Probe::AllToAllCpu { bytes, operations } => {
            network::all_to_all_cpu(world, bytes, operations)?
        }
        Probe::Pm(_) | Probe::Typed { .. } | Probe::OneSided { .. } => {
            unreachable!("they join the job themselves")
        }
        Probe::Learned => point::all_lengths(world)?,
        Probe::Nothing => Vec::new(),
    })
}
