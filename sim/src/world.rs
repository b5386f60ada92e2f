//! Time and turns: which rank runs when, which packet arrives when, which rank dies.
//!
//! One agenda of events, ordered by time and, at the same time, by chance. A rank runs when a
//! packet has arrived for it, when it asked to be woken, or when it has to retry a full link. When
//! nothing is left on the agenda and a rank has not finished, it never will: that is a deadlock,
//! and the run says so.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use oxmpi_engine::protocol::Limits;
use oxmpi_wire::{Content, Envelope, Kind, MESSAGE_BYTES_MAX, PREFIX_BYTES, Repr};

use crate::fabric::{Fabric, Faults, Time};
use crate::node::Node;
use crate::random::Random;

/// What a rank does after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Runs again after that time, or when something arrives.
    After(Time),
    /// Runs again when something arrives.
    Wait,
    /// Is done; it still answers packets.
    Finished,
}

/// The program of all ranks.
pub trait Application {
    /// Rank `node.rank()` runs for a moment. An error is a finding.
    fn step(&mut self, node: &mut Node, fabric: &mut Fabric) -> Result<Next, String>;

    /// A rank has died.
    fn died(&mut self, rank: u32) {
        let _ = rank;
    }

    /// Everything is over: compares with the oracle.
    fn check(&mut self, nodes: &[Node], fabric: &Fabric) -> Result<(), String>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet is due on this link.
    Arrives { from: u32, to: u32 },
    /// The rank runs.
    Runs(u32),
    /// The rank dies.
    Dies(u32),
    /// The rank sends garbage to everybody, and nothing afterwards.
    GoesMad(u32),
    /// One rank learns of another's death.
    Learns { rank: u32, dead: u32 },
}

/// A job.
pub struct World {
    nodes: Vec<Node>,
    fabric: Fabric,
    random: Random,
    agenda: BinaryHeap<Reverse<(Time, u64, Event)>>,
    finished: Vec<bool>,
    /// The rank computes until then and looks at nothing.
    busy_until: Vec<Time>,
    /// A turn of the rank is already on the agenda for that time.
    turn_at: Vec<Option<Time>>,
}

/// A run of this many events is going round in circles: the largest test needs a tenth of it.
const EVENTS_MAX: u64 = 200_000_000;

/// Packets of garbage to one rank at most, plus one.
const GARBAGE_MAX: u64 = 5;

/// A packet that no process sends: bytes by chance, or a head in which everything is by chance but
/// its form. Its context is one that no rank uses, so that it cannot pass for a message.
fn nonsense(random: &mut Random) -> ([u8; PREFIX_BYTES], Vec<u8>) {
    let mut prefix = [0; PREFIX_BYTES];
    let mut bytes = |count| (0..count).map(|_| random.any() as u8).collect::<Vec<u8>>();
    prefix.copy_from_slice(&bytes(PREFIX_BYTES));
    let payload = bytes(200);
    let payload = payload[..random.below(200) as usize].to_vec();
    if random.chance(30) {
        return (prefix, payload);
    }
    let (send, receive) = (random.below(64), random.below(64));
    let (offset, flag) = (random.below(300), random.chance(50));
    let kinds = [
        Kind::Eager,
        Kind::More { offset },
        Kind::Data { receive, offset },
        Kind::RequestToSend {
            send,
            address: random.any(),
            mapped: flag,
            fetchable: !flag,
            sync: flag,
        },
        Kind::ClearToSend { send, receive },
        Kind::Done { send: random.any() },
        Kind::Credit,
        Kind::Cancel { send },
        Kind::CancelReply {
            send: random.any(),
            cancelled: flag,
        },
    ];
    let repr = Repr {
        envelope: Envelope {
            context: u64::MAX,
            source: random.any() as u32,
            tag: random.any() as i32,
            content: Content::new(
                random.any()
                    >> random
                        .below(64)
                        .max(MESSAGE_BYTES_MAX.leading_zeros().into()),
                0,
            ),
        },
        sequence: random.below(100) as u32,
        credit: random.any() as u16,
        kind: random.pick(&kinds),
    };
    repr.emit_prefix(&mut prefix);
    (prefix, payload)
}

impl World {
    /// `size` ranks under the given limits and faults.
    pub fn new(size: u32, limits: Limits, faults: Faults, mut random: Random) -> World {
        World {
            nodes: (0..size)
                .map(|rank| Node::new(rank, size, limits))
                .collect(),
            fabric: Fabric::new(size, faults, random.fork()),
            random: random.fork(),
            agenda: BinaryHeap::new(),
            finished: vec![false; size as usize],
            busy_until: vec![0; size as usize],
            turn_at: vec![None; size as usize],
        }
    }

    /// A rank will die at that time.
    pub fn kill(&mut self, rank: u32, at: Time) {
        self.plan(at, Event::Dies(rank));
    }

    /// A rank will go mad at that time.
    pub fn madden(&mut self, rank: u32, at: Time) {
        for node in &mut self.nodes {
            node.trusting = false;
        }
        self.plan(at, Event::GoesMad(rank));
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.agenda.push(Reverse((at, self.random.any(), event)));
    }

    fn plan_turn(&mut self, rank: u32, at: Time) {
        let planned = &mut self.turn_at[rank as usize];
        if planned.is_none_or(|planned| at < planned) {
            *planned = Some(at);
            self.plan(at, Event::Runs(rank));
        }
    }

    /// Runs the application to its end; returns the number of events.
    pub fn run(&mut self, application: &mut dyn Application) -> Result<u64, String> {
        for rank in 0..self.nodes.len() as u32 {
            let at = self.random.below(1 + self.fabric.faults.delay_max);
            self.plan_turn(rank, at);
        }
        let mut events = 0;
        while let Some(Reverse((at, _, event))) = self.agenda.pop() {
            self.fabric.now = self.fabric.now.max(at);
            events += 1;
            if events > EVENTS_MAX {
                return Err(format!(
                    "no end in sight after {EVENTS_MAX} events; {}",
                    self.unfinished()
                ));
            }
            self.happen(at, event, application)?;
            for (due, from, to) in self.fabric.take_arrivals() {
                self.plan(due, Event::Arrives { from, to });
            }
            for rank in self.fabric.take_roused() {
                let at = self.fabric.now + self.random.below(1 + self.fabric.faults.delay_max);
                self.plan_turn(rank, at);
            }
        }
        if (0..self.nodes.len())
            .any(|rank| !self.finished[rank] && self.fabric.is_alive(rank as u32))
        {
            return Err(format!(
                "deadlock: nothing is under way, {}",
                self.unfinished()
            ));
        }
        self.check_silence()?;
        application.check(&self.nodes, &self.fabric)?;
        Ok(events)
    }

    fn happen(
        &mut self,
        at: Time,
        event: Event,
        application: &mut dyn Application,
    ) -> Result<(), String> {
        match event {
            Event::Arrives { from, to } => {
                if !self.fabric.is_alive(to) {
                    return Ok(());
                }
                let busy_until = self.busy_until[to as usize];
                if busy_until > self.fabric.now {
                    // The packet waits in the link, where it takes room.
                    self.plan(busy_until, event);
                    return Ok(());
                }
                let arrived = self.nodes[to as usize].arrive(&mut self.fabric, from);
                arrived.map_err(|failure| format!("rank {to} gives up: {failure:?}"))?;
                self.plan_turn(to, self.fabric.now);
            }
            Event::Runs(rank) => {
                // A turn that has been brought forward leaves its old entry on the agenda.
                if self.turn_at[rank as usize] == Some(at) && self.fabric.is_alive(rank) {
                    self.turn_at[rank as usize] = None;
                    self.turn(rank, application)?;
                }
            }
            Event::Dies(rank) => {
                if self.fabric.is_alive(rank) && !self.finished[rank as usize] {
                    self.fabric.kill(rank);
                    application.died(rank);
                    for other in (0..self.nodes.len() as u32).filter(|other| *other != rank) {
                        let at = self.fabric.now
                            + 1
                            + self.random.below(10 * self.fabric.faults.delay_max);
                        self.plan(
                            at,
                            Event::Learns {
                                rank: other,
                                dead: rank,
                            },
                        );
                    }
                }
            }
            Event::GoesMad(rank) => {
                if self.fabric.is_alive(rank) && !self.finished[rank as usize] {
                    for other in (0..self.nodes.len() as u32).filter(|other| *other != rank) {
                        for _ in 0..self.random.below(GARBAGE_MAX) {
                            let (prefix, payload) = nonsense(&mut self.random);
                            self.fabric.forge(rank, other, prefix, payload);
                        }
                    }
                    // From here on it is as good as dead, and those whom no garbage told will learn
                    // it.
                    self.happen(at, Event::Dies(rank), application)?;
                }
            }
            Event::Learns { rank, dead } => {
                if self.fabric.is_alive(rank) {
                    let learnt = self.nodes[rank as usize].notice_death(&mut self.fabric, dead);
                    learnt.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
                    self.plan_turn(rank, self.fabric.now);
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self, rank: u32, application: &mut dyn Application) -> Result<(), String> {
        let node = &mut self.nodes[rank as usize];
        node.retry = false;
        let flushed = node.flush(&mut self.fabric);
        flushed.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        if !self.finished[rank as usize] {
            match application.step(node, &mut self.fabric)? {
                Next::After(time) => {
                    let at = self.fabric.now + time.max(1);
                    if self.random.chance(50) {
                        self.busy_until[rank as usize] = at;
                    }
                    self.plan_turn(rank, at);
                }
                Next::Wait => {}
                Next::Finished => self.finished[rank as usize] = true,
            }
        }
        if self.nodes[rank as usize].retry {
            let faults = self.fabric.faults;
            let at = self.fabric.now
                + 1
                + self
                    .random
                    .below(1 + (faults.delay_max + faults.compute_max) / 2);
            self.plan_turn(rank, at);
        }
        Ok(())
    }

    fn unfinished(&self) -> String {
        let ranks = (0..self.nodes.len())
            .filter(|rank| !self.finished[*rank] && self.fabric.is_alive(*rank as u32));
        let mut ranks: Vec<String> = ranks
            .map(|rank| {
                format!(
                    "rank {rank} ({} requests)",
                    self.nodes[rank].protocol().pending()
                )
            })
            .collect();
        let all = ranks.len();
        ranks.truncate(8);
        format!("{all} ranks have not finished: {}", ranks.join(", "))
    }

    /// Nothing may be left behind: no packet, no request, no unexpected message.
    fn check_silence(&self) -> Result<(), String> {
        if self.fabric.in_flight() > 0 {
            return Err(format!(
                "{} packets were never taken",
                self.fabric.in_flight()
            ));
        }
        for node in self
            .nodes
            .iter()
            .filter(|node| self.fabric.is_alive(node.rank()))
        {
            let (rank, protocol) = (node.rank(), node.protocol());
            if protocol.pending() > 0 || !protocol.busy().is_empty() {
                let (pending, busy) = (protocol.pending(), protocol.busy());
                return Err(format!(
                    "rank {rank} ends with {pending} requests and packets for {busy:?}"
                ));
            }
        }
        Ok(())
    }

    /// The ranks.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Packets sent so far.
    pub fn packets(&self) -> u64 {
        self.fabric.packets()
    }
}
