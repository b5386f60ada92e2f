//! Long transfers, measured: how much arrives per second over a path that loses frames, and how
//! flows share a trunk.

use oxmpi_link::{Config, Recovery};

use super::network::{Faults, Shape, Time};
use super::scenario::{Conversation, Hosts, Load, MS, Scenario, US};
use super::world::World;
use crate::random::Random;

/// A kind of path, and the parameters of the protocol that suit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// One segment of 10 Gbit/s with 20 µs one way: raw Ethernet.
    Lan,
    /// A routed path of 1 Gbit/s with 1 ms one way: UDP.
    Ip,
}

/// A number of flows, each between two nodes of its own, through one trunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The path; the trunk has its rate.
    pub path: Path,
    /// How losses are made good.
    pub recovery: Recovery,
    /// Whether the window obeys congestion.
    pub congestion: bool,
    /// Frames lost by chance, in millionths.
    pub loss_ppm: u32,
    /// Number of flows.
    pub flows: u32,
    /// Where chance comes from.
    pub seed: u64,
}

impl Transfer {
    /// Payload bytes that arrive in order during `measured` after a start of `warm_up`, for each
    /// flow.
    pub fn bytes(&self, warm_up: Time, measured: Time) -> Result<Vec<u64>, String> {
        let mut world = World::new(self.scenario());
        world.run_until(warm_up)?;
        let arrived = |world: &World| -> Vec<u64> {
            world
                .ends
                .iter()
                .skip(1)
                .step_by(2)
                .map(|end| end.arrived.bytes)
                .collect()
        };
        let before = arrived(&world);
        world.run_until(warm_up + measured)?;
        Ok(arrived(&world)
            .iter()
            .zip(before)
            .map(|(after, before)| after - before)
            .collect())
    }

    fn scenario(&self) -> Scenario {
        let bits_per_second = match self.path {
            Path::Lan => 10_000_000_000,
            Path::Ip => 1_000_000_000,
        };
        let latency_ns = match self.path {
            Path::Lan => 20 * US,
            Path::Ip => MS,
        };
        let round_trip_bytes = 2 * latency_ns * bits_per_second / 8_000_000_000;
        let mut random = Random::new(self.seed);
        // The later ones find the trunk full of the earlier ones' frames.
        let conversation = |flow| Conversation {
            nodes: [2 * flow, 2 * flow + 1],
            loads: [Load::Endless(MESSAGE_BYTES), Load::List(Vec::new())],
            begin_ns: u64::from(flow) * latency_ns + random.below(1 + latency_ns),
            pause_ns: 0,
        };
        Scenario {
            seed: self.seed,
            shape: Shape {
                nodes: 2 * self.flows,
                bits_per_second,
                trunk_bits_per_second: Some(bits_per_second),
                // Switches and routers are built to hold about what a round trip does; never less
                // than some frames for each flow.
                queue_bytes: round_trip_bytes.max(QUEUE_BYTES_MIN),
                latency_ns,
                jitter_ns: JITTER_NS,
            },
            faults: Faults {
                loss_ppm: self.loss_ppm,
                ..Faults::default()
            },
            cuts: Vec::new(),
            hosts: Hosts {
                ring_frames: RING_FRAMES,
                frame_ns: 300,
                slow_frame_ns: 300,
                nap_ppm: 0,
                nap_ns: 0,
                sleeps: true,
            },
            conversations: (0..self.flows).map(conversation).collect(),
            link: self.link(),
            probe_ns: None,
        }
    }

    /// The figures of `net`'s endpoint.
    fn link(&self) -> Config {
        // What an Ethernet frame of 1500 bytes leaves: less the frame's header, and under UDP those
        // of IP and UDP.
        let payload_bytes_max = match self.path {
            Path::Lan => 1460,
            Path::Ip => 1432,
        };
        Config {
            me: 0,
            peer: 0,
            name_out: 0,
            name_in: 0,
            channel_out: 0,
            channel_in: 0,
            payload_bytes_max,
            window_frames_max: WINDOW_FRAMES,
            recovery: self.recovery,
            congestion: self.congestion,
            checked: false,
            sealed: false,
            backlog_high: RING_FRAMES / 2,
            backlog_low: RING_FRAMES / 4,
            rto_ns_min: MS,
            rto_ns_max: 250 * MS,
            ack_delay_ns: 50 * US,
            first_sequence: 0,
            dead_after_ns: 10_000 * MS,
            messages_max: 64,
        }
    }
}

/// Messages long enough that their number does not matter.
const MESSAGE_BYTES: u32 = 64 * 1024;
/// Some interrupts' worth.
const JITTER_NS: Time = 5 * US;
/// The ring of the Ethernet device.
const RING_FRAMES: usize = 4096;
/// The window of `net`'s endpoint, more than both paths hold in a round trip (33 and 167 frames).
const WINDOW_FRAMES: u32 = 256;
/// The smallest queue of a switch's port that is sold.
const QUEUE_BYTES_MIN: u64 = 150_000;

/// Jain's index of fairness: 1 when all have the same, 1/n when one has everything.
pub fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}
