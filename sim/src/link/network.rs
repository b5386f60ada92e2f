//! The network between the nodes: what a frame meets between the sender's card and the receiver's
//! ring.
//!
//! A frame leaves by its node's card, which takes frames only as fast as the wire does; it crosses
//! the trunk when the two nodes are on different switches, then the switch's port to the receiver.
//! Ports forward at their rate and drop what their queue has no room for, as real ones do. On the
//! way a frame may be lost, doubled, delayed so that others overtake it, or damaged, and a cut node
//! is neither heard nor reached. The network counts every harm it does, so that the protocol's
//! repeats can be held against it.

use oxmpi_wire::frame::{Frame, Kind};

use crate::random::Random;

/// Nanoseconds since the run began.
pub type Time = u64;

/// What Ethernet adds to a frame on the wire: header, check sequence, preamble and the gap between
/// frames.
pub const WIRE_BYTES: usize = 14 + 4 + 8 + 12;

/// Chances of harm, in millionths of all frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// The frame is lost.
    pub loss_ppm: u32,
    /// It arrives twice.
    pub duplicate_ppm: u32,
    /// It is held back for up to `reorder_ns`.
    pub reorder_ppm: u32,
    /// The longest delay of a frame that is held back.
    pub reorder_ns: Time,
    /// One to four of its bits are flipped.
    pub corrupt_ppm: u32,
    /// A frame that looks like it, but that the other end has not signed, arrives before it.
    pub foreign_ppm: u32,
}

/// The shape of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of nodes.
    pub nodes: u32,
    /// Rate of cards and switch ports.
    pub bits_per_second: u64,
    /// Rate of the trunk between the switches, which odd and even nodes are on; without it there is
    /// one switch.
    pub trunk_bits_per_second: Option<u64>,
    /// What a port's queue holds.
    pub queue_bytes: u64,
    /// One way, without queues.
    pub latency_ns: Time,
    /// Frames leave their node up to this much later, in order: buses and interrupts. Without it,
    /// who found a full queue once would find it full each time, and who has filled it would never
    /// notice.
    pub jitter_ns: Time,
}

impl Shape {
    /// Rate of the slowest thing on the way.
    pub fn slowest_bits_per_second(&self) -> u64 {
        self.trunk_bits_per_second
            .unwrap_or(u64::MAX)
            .min(self.bits_per_second)
    }
}

/// A node that is cut off for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The node.
    pub node: u32,
    /// What it sends is lost.
    pub outward: bool,
    /// What is sent to it is lost.
    pub inward: bool,
    /// From when.
    pub begin: Time,
    /// Until when; [`Time::MAX`] when it never heals.
    pub end: Time,
}

impl Cut {
    /// Whether it never heals.
    pub fn is_final(&self) -> bool {
        self.end == Time::MAX
    }
}

/// What forwards frames at a rate and drops what does not fit.
#[derive(Debug, Clone, Copy)]
struct Port {
    bits_per_second: u64,
    queue_bytes: u64,
    busy_until: Time,
}

impl Port {
    fn new(bits_per_second: u64, queue_bytes: u64) -> Port {
        Port {
            bits_per_second,
            queue_bytes,
            busy_until: 0,
        }
    }

    fn wire_ns(&self, bytes: u64) -> Time {
        (bytes * 8 * 1_000_000_000).div_ceil(self.bits_per_second)
    }

    /// Whether the queue has room now.
    fn has_room(&self, now: Time) -> bool {
        self.busy_until <= now + self.wire_ns(self.queue_bytes)
    }

    /// When a frame that comes now has left.
    fn forward(&mut self, now: Time, bytes: usize) -> Time {
        self.busy_until = self.busy_until.max(now) + self.wire_ns((bytes + WIRE_BYTES) as u64);
        self.busy_until
    }
}

/// A frame under way.
#[derive(Debug, Clone)]
pub struct Flight {
    /// Who sent it.
    pub from: u32,
    /// Whom it reaches.
    pub to: u32,
    /// Header and payload.
    pub bytes: Vec<u8>,
    /// Where it comes next.
    stage: Stage,
}

/// Where a frame under way comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The trunk between the switches.
    Trunk,
    /// The receiver's port of its switch.
    Port,
    /// The receiver.
    Node,
}

/// What becomes of a frame that has come to its next place.
#[derive(Debug)]
pub enum Step {
    /// It comes to the next place at that time.
    Goes(Time, Flight),
    /// It has arrived.
    Arrived(Flight),
    /// It is lost.
    Lost,
}

/// What the network did to the frames between two nodes, in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Harm {
    /// Lost by chance, by a cut or in a full queue, or damaged.
    pub lost: u64,
    /// Doubled.
    pub doubled: u64,
    /// Held back.
    pub delayed: u64,
}

/// The network.
#[derive(Debug)]
pub struct Network {
    /// Its shape.
    pub shape: Shape,
    /// Its faults.
    pub faults: Faults,
    /// Who is cut off when.
    pub cuts: Vec<Cut>,
    /// Frames that cards took.
    pub frames: u64,
    /// Harm of all conversations together.
    pub harm: Harm,
    cards: Vec<Port>,
    /// When the last frame of each card has left.
    latest: Vec<Time>,
    ports: Vec<Port>,
    trunks: [Port; 2],
    random: Random,
}

/// Frames of 1500 bytes that a card takes before it asks to wait.
const CARD_FRAMES: u64 = 32;

impl Network {
    /// A network in which nothing has been sent.
    pub fn new(shape: Shape, faults: Faults, cuts: Vec<Cut>, random: Random) -> Network {
        let card = Port::new(shape.bits_per_second, CARD_FRAMES * 1500);
        let port = Port::new(shape.bits_per_second, shape.queue_bytes);
        let trunk = shape.trunk_bits_per_second.unwrap_or(shape.bits_per_second);
        Network {
            shape,
            faults,
            cuts,
            frames: 0,
            harm: Harm::default(),
            cards: vec![card; shape.nodes as usize],
            latest: vec![0; shape.nodes as usize],
            ports: vec![port; shape.nodes as usize],
            trunks: [Port::new(trunk, shape.queue_bytes); 2],
            random,
        }
    }

    /// When the node's card takes another frame; `now` if it does at once.
    pub fn card_ready(&self, now: Time, node: u32) -> Time {
        let card = &self.cards[node as usize];
        if card.has_room(now) {
            return now;
        }
        card.busy_until - card.wire_ns(card.queue_bytes)
    }

    /// A node sends. What it causes is one, two or no frames under way.
    pub fn send(
        &mut self,
        now: Time,
        from: u32,
        to: u32,
        bytes: Vec<u8>,
        out: &mut Vec<(Time, Flight)>,
    ) {
        let leaves = self.cards[from as usize].forward(now, bytes.len());
        self.frames += 1;
        if self.is_cut(now, from, to) || self.happens(self.faults.loss_ppm) {
            self.harm.lost += 1;
            return;
        }
        let crosses = self.shape.trunk_bits_per_second.is_some() && from % 2 != to % 2;
        let flight = Flight {
            from,
            to,
            bytes,
            stage: if crosses { Stage::Trunk } else { Stage::Port },
        };
        let jitter = self.random.below(1 + self.shape.jitter_ns);
        let latest = &mut self.latest[from as usize];
        *latest = (leaves + jitter).max(*latest);
        let due = *latest + self.shape.latency_ns / 2;
        if self.happens(self.faults.foreign_ppm) {
            out.push((due, self.foreign(&flight)));
        }
        if self.happens(self.faults.duplicate_ppm) {
            self.harm.doubled += 1;
            out.push((due + self.delay(), flight.clone()));
        }
        out.push((due, self.damaged(flight)));
    }

    /// A frame comes to its next place.
    pub fn step(&mut self, now: Time, mut flight: Flight) -> Step {
        let Flight {
            from, to, stage, ..
        } = flight;
        if stage != Stage::Trunk && self.is_cut(now, from, to) {
            self.harm.lost += 1;
            return Step::Lost;
        }
        let port = match stage {
            Stage::Trunk => &mut self.trunks[from as usize % 2],
            Stage::Port => &mut self.ports[to as usize],
            Stage::Node => return Step::Arrived(flight),
        };
        if !port.has_room(now) {
            self.harm.lost += 1;
            return Step::Lost;
        }
        let mut due = port.forward(now, flight.bytes.len());
        if stage == Stage::Trunk {
            flight.stage = Stage::Port;
        } else {
            flight.stage = Stage::Node;
            due += self.shape.latency_ns / 2;
            if self.happens(self.faults.reorder_ppm) {
                self.harm.delayed += 1;
                due += self.delay();
            }
        }
        Step::Goes(due, flight)
    }

    /// Whether frames between the two are lost now.
    fn is_cut(&self, now: Time, from: u32, to: u32) -> bool {
        let cuts = |cut: &Cut| {
            (cut.begin..cut.end).contains(&now)
                && (cut.node == from && cut.outward || cut.node == to && cut.inward)
        };
        self.cuts.iter().any(cuts)
    }

    fn happens(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.random.below(1_000_000) < u64::from(ppm)
    }

    fn delay(&mut self) -> Time {
        self.random.below(1 + self.faults.reorder_ns)
    }

    fn damaged(&mut self, mut flight: Flight) -> Flight {
        if self.happens(self.faults.corrupt_ppm) {
            self.harm.lost += 1;
            for _ in 0..1 + self.random.below(4) {
                self.flip(&mut flight.bytes);
            }
        }
        flight
    }

    fn flip(&mut self, bytes: &mut [u8]) {
        let bit = self.random.below(8 * bytes.len() as u64);
        bytes[bit as usize / 8] ^= 1 << (bit % 8);
    }

    /// A frame of somebody who knows everything but the keys.
    fn foreign(&mut self, flight: &Flight) -> Flight {
        let mut flight = flight.clone();
        let Ok((mut frame, _)) = Frame::parse(&flight.bytes) else {
            return flight;
        };
        frame.tag ^= self.random.any() | 1;
        frame.ack = frame.ack.wrapping_add(self.random.below(64) as u32);
        if frame.kind == Kind::Data {
            frame.sequence = frame.sequence.wrapping_add(self.random.below(4) as u32);
        }
        if let Some(header) = flight.bytes.first_chunk_mut() {
            frame.emit(header);
        }
        flight
    }
}
