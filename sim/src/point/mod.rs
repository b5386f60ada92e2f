//! Random point-to-point programs: every rank sends and receives in its own order, with every kind
//! of pattern, mode, size and cancellation, and the oracle looks on.
//!
//! The plan (every message with its sender and receiver) is drawn before the run. Receivers never
//! wait for anything before they have posted everything, so a correct protocol cannot block the
//! program. Which receives may steal another one's message is the receiver's discipline; only the
//! disorderly one does, and it cancels what is left and collects the rest by matched probes. The
//! oracle is in `oracle`, the receiving side in `receiver`.

mod oracle;
mod receiver;
mod sender;

use oxmpi_engine::protocol::{Limits, Mode};
use oxmpi_wire::{Content, Envelope};

use crate::fabric::{Fabric, Time};
use crate::node::Node;
use crate::random::Random;
use crate::world::{Application, Next};

use receiver::{Discipline, Receiver};
use sender::Sender;

/// Contexts that the messages are spread over.
const CONTEXTS: u64 = 2;
/// Few tags, so that messages often compete for the same receive.
const TAGS: u64 = 3;
/// Messages too short to carry their number are told apart by a tag of their own, from here on.
const UNIQUE_TAGS: i32 = 1000;
/// Bytes of the number.
const NUMBER_BYTES: usize = 4;

/// What has become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its send has not been called, or is not over, or nobody has received it yet.
    Open,
    /// Received, perhaps truncated.
    Received,
    /// The sender took it back.
    Cancelled,
    /// Lost with a rank that died.
    Lost,
}

/// A message of the plan.
#[derive(Debug, Clone)]
struct Message {
    number: u32,
    from: u32,
    to: u32,
    context: u64,
    tag: i32,
    bytes: usize,
    mode: Mode,
    /// Whether the receiver may fetch it: (mapped, fetchable).
    reach: (bool, bool),
    /// The sender will try to take it back.
    cancel: bool,
    fate: Fate,
}

impl Message {
    fn envelope(&self) -> Envelope {
        Envelope {
            context: self.context,
            source: self.from,
            tag: self.tag,
            content: Content::new(self.bytes as u64, 0),
        }
    }

    fn content(&self, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed ^ u64::from(self.number) << 20);
        let mut content = self.number.to_le_bytes().to_vec();
        while content.len() < self.bytes {
            content.extend_from_slice(&random.any().to_le_bytes());
        }
        content.truncate(self.bytes);
        content
    }
}

/// The programs of all ranks.
pub struct Point {
    seed: u64,
    random: Random,
    messages: Vec<Message>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    room_bytes: u64,
    dead: Vec<bool>,
    /// Per rank: messages that it must still receive, or see taken back.
    due: Vec<u32>,
    /// When anything last changed, and packets sent by then, to notice that nothing does any more.
    last_change: (Time, u64),
}

/// What a rank of the program may be told to do.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Ranks.
    pub size: u32,
    /// Messages that each rank sends.
    pub messages: u32,
    /// Ranks will die: everybody must be disorderly, since receives from anybody may fail.
    pub deaths: bool,
}

impl Point {
    /// Draws the plan.
    pub fn new(seed: u64, shape: Shape, limits: &Limits, mut random: Random) -> Point {
        let disciplines: Vec<Vec<Discipline>> = (0..shape.size)
            .map(|_| {
                (0..CONTEXTS)
                    .map(|_| Discipline::draw(&mut random, shape.deaths))
                    .collect()
            })
            .collect();
        let mut messages: Vec<Message> = Vec::new();
        for from in 0..shape.size {
            // A few partners get most of the traffic: queues only grow between pairs that talk
            // much.
            let partners: Vec<u64> = (0..3)
                .map(|_| random.below(u64::from(shape.size)))
                .collect();
            for _ in 0..shape.messages {
                let anybody = random.below(u64::from(shape.size));
                let to = if random.chance(70) {
                    random.pick(&partners)
                } else {
                    anybody
                } as u32;
                let number = messages.len() as u32;
                let context = random.below(CONTEXTS);
                let bytes = draw_bytes(&mut random, limits);
                let tag = if bytes < NUMBER_BYTES {
                    UNIQUE_TAGS + number as i32
                } else {
                    random.below(TAGS) as i32
                };
                let mode = if random.chance(20) {
                    Mode::Synchronous
                } else {
                    Mode::Standard
                };
                let reach =
                    random.pick(&[(false, false), (false, true), (true, false), (false, true)]);
                let disorderly = disciplines[to as usize][context as usize] == Discipline::Disorder;
                let cancel = disorderly && random.chance(10);
                let fate = Fate::Open;
                messages.push(Message {
                    number,
                    from,
                    to,
                    context,
                    tag,
                    bytes,
                    mode,
                    reach,
                    cancel,
                    fate,
                });
            }
        }
        let senders = (0..shape.size)
            .map(|rank| Sender::new(rank, &messages, &mut random))
            .collect();
        let receivers = (0..shape.size)
            .map(|rank| Receiver::new(rank, &disciplines[rank as usize], &messages, &mut random))
            .collect();
        let mut due = vec![0; shape.size as usize];
        for message in &messages {
            due[message.to as usize] += 1;
        }
        Point {
            seed,
            random,
            messages,
            senders,
            receivers,
            room_bytes: limits.room_bytes,
            dead: vec![false; shape.size as usize],
            due,
            last_change: (0, 0),
        }
    }

    /// A message that is still open although both its ends live.
    fn is_due(&self, message: &Message) -> bool {
        message.fate == Fate::Open
            && !self.dead[message.from as usize]
            && !self.dead[message.to as usize]
    }

    /// A message has met its end.
    fn seal(&mut self, number: u32, fate: Fate) {
        let message = &mut self.messages[number as usize];
        if message.fate == Fate::Open && !self.dead[message.from as usize] {
            self.due[message.to as usize] -= 1;
        }
        message.fate = fate;
    }
}

/// Sizes around every border of the protocol.
fn draw_bytes(random: &mut Random, limits: &Limits) -> usize {
    let border = random.pick(&[
        0,
        8,
        limits.eager_bytes_max,
        limits.fragment_bytes as u64,
        limits.fragment_bytes_short as u64,
        limits.short_bytes_max,
        limits.fetch_bytes_min,
        limits.room_bytes,
        3 * limits.fragment_bytes as u64,
    ]);
    (border.min(LONGEST_BYTES) + random.below(5)).saturating_sub(2) as usize
}

/// Longest message of a plan, so that many fit into memory.
const LONGEST_BYTES: u64 = 20_000;

/// Turns of a rank in which nothing moves anywhere, after which nothing ever will: retries of full
/// links and deaths not yet noticed take some tens.
const PATIENCE_TURNS: Time = 1000;

impl Application for Point {
    fn step(&mut self, node: &mut Node, fabric: &mut Fabric) -> Result<Next, String> {
        let rank = node.rank();
        let mut moved = self.reap_sends(node, fabric)?;
        moved |= self.reap_receives(node, fabric)?;
        for _ in 0..1 + self.random.below(4) {
            moved |= match self.random.below(2) {
                0 => self.issue_send(node, fabric)?,
                _ => self.issue_receive(node, fabric)?,
            };
        }
        let (changed, packets) = self.last_change;
        if moved || fabric.packets() != packets {
            self.last_change = (fabric.now, fabric.packets());
        }
        if self.senders[rank as usize].is_over() && self.receiver_is_over(rank) {
            return Ok(Next::Finished);
        }
        let pace = 1 + fabric.faults.compute_max;
        let patience = PATIENCE_TURNS * (pace + fabric.faults.delay_max);
        if fabric.now > changed + patience {
            let open: Vec<&Message> = self
                .messages
                .iter()
                .filter(|message| self.is_due(message))
                .take(3)
                .collect();
            return Err(format!(
                "nothing has moved for {patience} ticks; rank {rank} still waits for {:?}; open: {open:?}",
                self.receivers[rank as usize].waits_for(),
            ));
        }
        let (sender, receiver) = (&self.senders[rank as usize], &self.receivers[rank as usize]);
        // What ended in this very turn (a message to itself, say) brings no packet that would wake
        // the rank.
        if sender.only_waits(node) && receiver.only_waits(node) {
            return Ok(Next::Wait);
        }
        Ok(Next::After(1 + self.random.below(pace)))
    }

    fn died(&mut self, rank: u32) {
        self.dead[rank as usize] = true;
        for message in self
            .messages
            .iter()
            .filter(|message| message.from == rank && message.fate == Fate::Open)
        {
            self.due[message.to as usize] -= 1;
        }
    }

    fn check(&mut self, nodes: &[Node], fabric: &Fabric) -> Result<(), String> {
        self.check_all(nodes, fabric)
    }
}
