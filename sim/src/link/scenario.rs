//! What a seed means: which nodes talk to whom about what, over which network, with which
//! parameters of the protocol.
//!
//! Scenarios are small, so that thousands run in a minute, and their parameters are drawn from the
//! corners: windows of one frame, sequence numbers about to wrap, frames of a few bytes, rings of a
//! few frames. A death is possible only where a cut never heals; everywhere else the dead-peer time
//! is so long against time-outs, naps and cuts that silence of that length cannot come about by
//! chance, and a link that gives up is a finding.

use oxmpi_link::{Config, Recovery};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PIECE_HEADER_BYTES};

use super::network::{Cut, Faults, Shape, Time, WIRE_BYTES};
use crate::random::Random;

/// One microsecond.
pub const US: Time = 1_000;
/// One millisecond.
pub const MS: Time = 1_000_000;

/// Time-outs at their longest that fit into the dead-peer time. At 30 % loss a question and its
/// answer get through in 49 of 100 cases, so 48 misses in a row happen once in 10^14 silences.
const TIMEOUTS_TILL_DEATH: u64 = 48;

/// Data frames that a scenario needs when nothing is lost, roughly: some ten milliseconds of
/// computing.
const FRAMES: u64 = 1500;

/// How nodes take frames in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hosts {
    /// Frames that wait at most; more are dropped.
    pub ring_frames: usize,
    /// Time a node needs for a frame.
    pub frame_ns: Time,
    /// The same for slow nodes: every third one, if it is another time.
    pub slow_frame_ns: Time,
    /// Chance that a node is descheduled after a frame, in millionths.
    pub nap_ppm: u32,
    /// For how long at most.
    pub nap_ns: Time,
    /// A node that has nothing to do sleeps, and lets owed acknowledgements go before.
    pub sleeps: bool,
}

/// What one end of a conversation says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Load {
    /// Messages of these lengths.
    List(Vec<u32>),
    /// Messages of this length for as long as the run lasts.
    Endless(u32),
}

impl Load {
    /// How long a message is; none if it is not said.
    pub fn length(&self, message: u32) -> Option<usize> {
        match self {
            Load::List(lengths) => lengths.get(message as usize).map(|length| *length as usize),
            Load::Endless(length) => Some(*length as usize),
        }
    }

    /// Number of messages.
    pub fn messages(&self) -> u32 {
        match self {
            Load::List(lengths) => lengths.len() as u32,
            Load::Endless(_) => u32::MAX,
        }
    }
}

/// Two nodes that talk to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The nodes.
    pub nodes: [u32; 2],
    /// What each of them says.
    pub loads: [Load; 2],
    /// When it begins.
    pub begin_ns: Time,
    /// Longest pause before a message; 0 when all are there at the start.
    pub pause_ns: Time,
}

/// A run, spelt out.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Where contents and chance come from.
    pub seed: u64,
    /// The network.
    pub shape: Shape,
    /// What it does to frames.
    pub faults: Faults,
    /// Who is cut off when.
    pub cuts: Vec<Cut>,
    /// The nodes.
    pub hosts: Hosts,
    /// Who talks to whom.
    pub conversations: Vec<Conversation>,
    /// The protocol's parameters; names and channels are filled in for each end.
    pub link: Config,
    /// How often an end that waits for messages asks for a sign of life.
    pub probe_ns: Option<Time>,
}

impl Scenario {
    /// What the seed means; `nodes` overrules the number of nodes.
    pub fn draw(seed: u64, nodes: Option<u32>) -> Scenario {
        let mut random = Random::new(seed);
        let drawn = match random.below(20) {
            0..10 => 2,
            10..16 => 3 + random.below(6),
            16..19 => 9 + random.below(56),
            _ => 65 + random.below(192),
        };
        let nodes = nodes.unwrap_or(drawn as u32);
        let mut link = draw_link(&mut random);
        let shape = draw_shape(nodes, link.payload_bytes_max, &mut random);
        let hosts = draw_hosts(&mut link, &mut random);
        let round_trip = round_trip_ns(&shape, &hosts, &link);
        // A time-out below the time that a few frames need on the wire or at the receiver would
        // mostly be too early.
        link.rto_ns_min = link.rto_ns_min.max(8 * frame_ns(&shape, &hosts, &link));
        link.rto_ns_max = link.rto_ns_max.max(rto_ns_max_sane(&shape, &hosts, &link));
        let faults = draw_faults(&link, &mut random);
        let longest_cut = 20 * link.rto_ns_max;
        let mut cuts = Vec::new();
        if random.chance(25) {
            for _ in 0..1 + random.below(3) {
                cuts.push(draw_cut(nodes, longest_cut, &mut random));
            }
        }
        link.dead_after_ns = TIMEOUTS_TILL_DEATH * link.rto_ns_max
            + 3 * longest_cut
            + 4 * hosts.nap_ns
            + 4 * round_trip;
        let dies = cuts.iter().any(Cut::is_final);
        Scenario {
            seed,
            shape,
            faults,
            cuts,
            hosts,
            conversations: draw_conversations(nodes, link.payload_bytes_max, &mut random),
            probe_ns: (dies || random.chance(20)).then(|| link.rto_ns_max * (1 + random.below(4))),
            link,
        }
    }

    /// Data frames that all messages of lists need when nothing is lost and nothing is coalesced.
    pub fn frames(&self) -> u64 {
        let payload = (self.link.payload_bytes_max - PIECE_HEADER_BYTES) as u64;
        let frames = |load: &Load| match load {
            Load::List(lengths) => lengths
                .iter()
                .map(|length| 1 + u64::from(*length) / payload)
                .sum(),
            Load::Endless(_) => 0,
        };
        self.conversations
            .iter()
            .flat_map(|conversation| &conversation.loads)
            .map(frames)
            .sum()
    }

    /// Whether the two may be separated for ever.
    pub fn may_die(&self, nodes: [u32; 2]) -> bool {
        self.cuts
            .iter()
            .any(|cut| cut.is_final() && nodes.contains(&cut.node))
    }
}

/// A frame's way there and its answer's way back when all queues are full.
fn round_trip_ns(shape: &Shape, hosts: &Hosts, link: &Config) -> Time {
    let queue = shape.queue_bytes * 8 * 1_000_000_000 / shape.slowest_bits_per_second();
    let ring = hosts.ring_frames as u64 * hosts.frame_ns.max(hosts.slow_frame_ns);
    2 * (shape.latency_ns + 3 * queue + ring) + link.ack_delay_ns
}

/// Time that the longest frame takes at that rate.
fn wire_ns(bits_per_second: u64, payload: usize) -> Time {
    let frame_bytes = (payload + FRAME_HEADER_BYTES + WIRE_BYTES) as u64;
    frame_bytes * 8 * 1_000_000_000 / bits_per_second
}

/// Time that the longest frame takes where it takes longest.
fn frame_ns(shape: &Shape, hosts: &Hosts, link: &Config) -> Time {
    let wire_ns = wire_ns(shape.slowest_bits_per_second(), link.payload_bytes_max);
    hosts.slow_frame_ns.max(hosts.frame_ns).max(wire_ns)
}

/// What whoever configures a link has to see to: time-outs can grow beyond a round trip through
/// full queues, and until all senders together repeat themselves far less often than one receiver
/// or one port can bear. Otherwise repeats alone keep the queues full, for ever.
fn rto_ns_max_sane(shape: &Shape, hosts: &Hosts, link: &Config) -> Time {
    let together = 4 * u64::from(shape.nodes) * frame_ns(shape, hosts, link);
    round_trip_ns(shape, hosts, link)
        .max(together)
        .max(link.rto_ns_min)
}

fn draw_link(random: &mut Random) -> Config {
    let window_frames_max = random.pick(&[1, 2, 3, 8, 8, 32, 32, 128]);
    let rto_ns_min = random.pick(&[50 * US, 200 * US, MS, 5 * MS]);
    Config {
        me: 0,
        peer: 0,
        name_out: 0,
        name_in: 0,
        channel_out: 0,
        channel_in: 0,
        payload_bytes_max: random.pick(&[24, 64, 300, 1460, 1460, 8960]),
        window_frames_max,
        recovery: random.pick(&[Recovery::GoBackN, Recovery::Selective]),
        congestion: random.chance(50),
        checked: random.chance(50),
        sealed: false,
        backlog_high: 0,
        backlog_low: 0,
        rto_ns_min,
        rto_ns_max: rto_ns_min * random.pick(&[2, 8, 20]),
        ack_delay_ns: rto_ns_min / random.pick(&[2, 4, 10]),
        first_sequence: match random.below(3) {
            0 => 0,
            1 => random.any() as u32,
            _ => u32::MAX - random.below(300) as u32,
        },
        dead_after_ns: 0,
        messages_max: random.pick(&[1, 2, 16, 64]),
    }
}

fn draw_shape(nodes: u32, payload: usize, random: &mut Random) -> Shape {
    let bits_per_second =
        random.pick(&[100_000_000, 1_000_000_000, 10_000_000_000, 10_000_000_000]);
    let trunk_bits_per_second = random
        .chance(30)
        .then(|| bits_per_second / random.pick(&[1, 2, 10]));
    let slowest = trunk_bits_per_second.unwrap_or(bits_per_second);
    Shape {
        nodes,
        bits_per_second,
        trunk_bits_per_second,
        // A port that cannot hold a few frames drops the same ones for ever.
        queue_bytes: random
            .pick(&[6_000, 30_000, 200_000, 1_000_000])
            .max(4 * payload as u64),
        latency_ns: random.pick(&[US, 20 * US, 20 * US, 300 * US, 2 * MS]),
        // See `Shape::jitter_ns`: about a frame, so that no two repeats meet the same queue.
        jitter_ns: wire_ns(slowest, payload),
    }
}

/// Rings and marks. The high mark leaves room for a window of one sender; what more senders overrun
/// is lost and repeated.
fn draw_hosts(link: &mut Config, random: &mut Random) -> Hosts {
    let frame_ns = random.pick(&[100, 500, 2 * US]);
    let room = random.pick(&[2, 8, 64, 1000]);
    let ring_frames = room + link.window_frames_max as usize;
    link.backlog_high = room;
    link.backlog_low = room / random.pick(&[2, 4]);
    let naps = random.chance(30);
    Hosts {
        ring_frames,
        frame_ns,
        slow_frame_ns: random.pick(&[frame_ns, frame_ns, 20 * US, 100 * US]),
        nap_ppm: if naps {
            random.pick(&[1_000, 20_000])
        } else {
            0
        },
        nap_ns: random.pick(&[MS, 10 * MS]),
        sleeps: random.chance(50),
    }
}

fn draw_faults(link: &Config, random: &mut Random) -> Faults {
    let percent = 10_000;
    let mut chance = |choices: &[u32]| {
        if random.chance(50) {
            random.pick(choices)
        } else {
            0
        }
    };
    Faults {
        loss_ppm: chance(&[
            1_000,
            percent,
            5 * percent,
            10 * percent,
            20 * percent,
            30 * percent,
        ]),
        duplicate_ppm: chance(&[1_000, percent, 20 * percent]),
        reorder_ppm: chance(&[percent, 5 * percent, 50 * percent]),
        // Only a checksum can tell a damaged frame.
        corrupt_ppm: if link.checked {
            chance(&[1_000, percent, 10 * percent])
        } else {
            0
        },
        foreign_ppm: chance(&[percent]),
        reorder_ns: random.pick(&[10 * US, 200 * US, 3 * MS]),
    }
}

fn draw_cut(nodes: u32, longest: Time, random: &mut Random) -> Cut {
    let (outward, inward) =
        random.pick(&[(true, true), (true, true), (true, false), (false, true)]);
    let begin = random.below(20 * MS);
    let length = 1 + random.below(longest);
    let end = if random.chance(30) {
        Time::MAX
    } else {
        begin + length
    };
    Cut {
        node: random.below(u64::from(nodes)) as u32,
        outward,
        inward,
        begin,
        end,
    }
}

fn draw_conversations(nodes: u32, payload: usize, random: &mut Random) -> Vec<Conversation> {
    let pairs: Vec<[u32; 2]> = match random.below(4) {
        _ if nodes == 2 => vec![[0, 1]],
        // All to one.
        0 => (1..nodes).map(|node| [node, 0]).collect(),
        // All to all where that is not too much, else neighbours.
        1 if nodes <= 8 => (0..nodes)
            .flat_map(|a| (0..a).map(move |b| [a, b]))
            .collect(),
        1 => (0..nodes).map(|node| [node, (node + 1) % nodes]).collect(),
        // Each with some other.
        _ => {
            let mut pairs: Vec<[u32; 2]> = (1..nodes)
                .map(|a| [a, random.below(u64::from(a)) as u32])
                .collect();
            pairs.dedup();
            pairs
        }
    };
    let budget = 1 + FRAMES / pairs.len() as u64;
    let both_ways = random.chance(60);
    let pause_ns = random.pick(&[0, 0, 5 * US, 300 * US]);
    let draw = |nodes| {
        let there = draw_load(budget, payload, random);
        let back = if both_ways { budget } else { budget / 20 };
        Conversation {
            nodes,
            loads: [there, draw_load(back, payload, random)],
            begin_ns: 0,
            pause_ns,
        }
    };
    pairs.into_iter().map(draw).collect()
}

/// Messages of about that many frames in all.
fn draw_load(frames: u64, payload: usize, random: &mut Random) -> Load {
    let payload = payload as u64;
    let mut lengths = Vec::new();
    let (mut used, frames) = (0, random.below(1 + frames));
    while used < frames {
        let length = match random.below(8) {
            0 => 0,
            1..4 => random.below(17),
            // Around the most that fits into one frame.
            4 => payload - 8 + random.below(10),
            5..7 => random.below(4 * payload),
            _ => random.below(40 * payload),
        };
        lengths.push(length as u32);
        used += 1 + length / payload;
    }
    Load::List(lengths)
}
