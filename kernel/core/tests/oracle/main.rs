//! Random streams, requests and cuts, against plain lists in program order.
//!
//! The model knows what was sent and how many bytes of each socket the core has used: a packet
//! whose head is used has been decided, and the model decides it too, by walking its lists.
//! Whatever the core then says (records, flags, answers, memory) must be what the lists say: every
//! message once, intact, in order, in the right entry.

mod acts;
#[path = "../double/mod.rs"]
mod double;

use std::collections::{BTreeMap, VecDeque};

use double::{Double, Random, Taken, content, packet, seeds};
use oxmpi_matching::Pattern;
use oxmpi_o2g_core::{CancelError, PutError, Reply, Step};
use oxmpi_wire::o2g::{
    ANSWER, ANSWERS, ANY_SOURCE, ANY_TAG, Counters, DONE, Entry, MATCHED, NO_BUFFER, NO_SLOT,
    RecordKind, WAITING,
};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

const ECONNRESET: u32 = 104;

/// A packet that was sent.
#[derive(Clone, Debug)]
struct Sent {
    /// Where in the stream its head ends.
    head_end: u64,
    /// Where it ends.
    end: u64,
    envelope: Envelope,
    kind: Kind,
    sequence: u32,
    /// Whose bytes it has, and which.
    message: u32,
    offset: u64,
    payload: usize,
}

/// The record that a packet must have.
#[derive(Clone, Debug)]
struct Expected {
    sent: Sent,
    cookie: Option<u64>,
    /// `Some`: it is placed, and so many bytes are in the buffer.
    placed: Option<u64>,
    /// Its record says that the driver answers it.
    answers: bool,
}

/// A socket, with the peer behind it.
struct Wire {
    index: u32,
    rank: u32,
    /// Bytes that the core has not used.
    pending: VecDeque<u8>,
    written: u64,
    used: u64,
    /// Packets whose head is not used, then those whose payload is not.
    undecided: VecDeque<Sent>,
    incomplete: VecDeque<Expected>,
    /// Records that are to come.
    records: VecDeque<Expected>,
    /// A packet that is dumped in pieces, and what there is of it.
    assembling: Option<(Expected, Vec<u8>)>,
    /// The entry of the eager message that was begun last.
    eager: Option<u64>,
    /// Requests that the driver is to answer: cookie, the sender's token, the promise.
    unanswered: VecDeque<(u64, u64, Promise)>,
    /// The process is within a packet.
    busy: bool,
}

/// A request to send that was matched: wire, cookie, message, length.
type Promise = (usize, u64, u32, u64);

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting,
    Matched,
    Done,
    Cancelled,
}

struct Receive {
    entry: Entry,
    pattern: Pattern,
    state: State,
    message: u32,
    bytes: u64,
    arrived: u64,
    checked: bool,
}

struct World {
    random: Random,
    double: Double,
    wires: Vec<Wire>,
    /// By cookie; `posted` are those that wait, the oldest first.
    receives: BTreeMap<u64, Receive>,
    posted: Vec<u64>,
    /// Who has a slot.
    slots: BTreeMap<u32, u64>,
    n_entries: u64,
    /// Unexpected messages whose records the process has not taken, the oldest first: sequence and
    /// envelope.
    remembered: Vec<(u32, Envelope)>,
    /// Requests to send that were matched and answered.
    promises: Vec<Promise>,
    sequence: u32,
    generation: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let n_entries = 1 + random.below(24);
        let n_wires = 1 + random.below(4) as u32;
        let mut double = Double::new(n_wires, n_entries as u32, 64 << 10);
        let wires = (0..n_wires).map(|number| Wire {
            index: double.core.open_socket(100 + number, number).expect("room"),
            rank: 100 + number,
            pending: VecDeque::new(),
            written: 0,
            used: 0,
            undecided: VecDeque::new(),
            incomplete: VecDeque::new(),
            records: VecDeque::new(),
            assembling: None,
            eager: None,
            unanswered: VecDeque::new(),
            busy: false,
        });
        let wires = wires.collect();
        World {
            random,
            double,
            wires,
            receives: BTreeMap::new(),
            posted: Vec::new(),
            slots: BTreeMap::new(),
            n_entries,
            remembered: Vec::new(),
            promises: Vec::new(),
            sequence: 0,
            generation: 0,
        }
    }

    /// Lets the core read some of what was sent, and decides the same.
    fn deliver(&mut self, number: usize, bytes: usize, softirq: bool) -> usize {
        let cut_max = if self.random.one_in(3) { 64 } else { 70_000 };
        let cut = 1 + self.random.below(cut_max) as usize;
        let wire = &mut self.wires[number];
        let bytes = bytes.min(wire.pending.len());
        let data = wire.pending.make_contiguous()[..bytes].to_vec();
        let ran = self.double.run(wire.index, softirq, &data, cut);
        wire.pending.drain(..ran.consumed);
        wire.used += ran.consumed as u64;
        match ran.step {
            Step::Done => assert_eq!(ran.consumed, bytes),
            Step::Stop => assert!(self.double.core.is_stopped(wire.index)),
            Step::Thread => assert!(softirq),
            step => panic!("{step:?} without a reason"),
        }
        self.decide(number);
        ran.consumed
    }

    fn decide(&mut self, number: usize) {
        loop {
            let wire = &mut self.wires[number];
            if let Some(expected) = wire.incomplete.front() {
                if expected.sent.end > wire.used {
                    return;
                }
                let expected = wire.incomplete.pop_front().expect("the front");
                self.arrive(&expected);
                continue;
            }
            match wire.undecided.front() {
                Some(sent) if sent.head_end <= wire.used => {
                    let sent = wire.undecided.pop_front().expect("the front");
                    self.decide_packet(number, sent);
                }
                _ => return,
            }
        }
    }

    fn decide_packet(&mut self, number: usize, sent: Sent) {
        let mut answers = false;
        let cookie = match sent.kind {
            Kind::Eager => {
                let met = self.meet(&sent);
                self.wires[number].eager = met;
                met
            }
            Kind::RequestToSend {
                send,
                mapped,
                fetchable,
                ..
            } => {
                let met = self.meet(&sent);
                let buffered = met.filter(|cookie| self.is_buffered(*cookie));
                if let Some(cookie) = buffered
                    && sent.envelope.bytes() > 0
                {
                    let promise = (number, cookie, sent.message, sent.envelope.bytes());
                    let asked = self.receives[&cookie].entry.flags & ANSWER != 0;
                    answers = asked && !mapped && !fetchable;
                    match answers {
                        true => {
                            let unanswered = &mut self.wires[number].unanswered;
                            unanswered.push_back((cookie, send, promise));
                        }
                        false => self.promises.push(promise),
                    }
                }
                met
            }
            Kind::More { .. } => self.wires[number].eager,
            Kind::Data { receive, .. } => {
                let known = self.receives.get(&receive);
                // A piece of no bytes may come when the message is complete.
                let due = known.is_some_and(|receive| receive.state == State::Matched)
                    && !self.is_unanswered(receive);
                due.then_some(receive)
            }
            _ => None,
        };
        let is_request = matches!(sent.kind, Kind::RequestToSend { .. });
        let placed = cookie
            .filter(|&cookie| self.is_buffered(cookie) && !is_request)
            .map(|cookie| {
                let space = self.receives[&cookie]
                    .entry
                    .bytes
                    .saturating_sub(sent.offset);
                space.min(sent.payload as u64)
            });
        let expected = Expected {
            sent,
            cookie,
            placed,
            answers,
        };
        let wire = &mut self.wires[number];
        wire.records.push_back(expected.clone());
        wire.incomplete.push_back(expected);
    }

    fn is_unanswered(&self, cookie: u64) -> bool {
        let mut all = self.wires.iter().flat_map(|wire| &wire.unanswered);
        all.any(|unanswered| unanswered.0 == cookie)
    }

    fn is_buffered(&self, cookie: u64) -> bool {
        self.receives[&cookie].entry.flags & NO_BUFFER == 0
    }

    /// The oldest receive that accepts the message, or it is remembered.
    fn meet(&mut self, sent: &Sent) -> Option<u64> {
        let accepts = |cookie: &u64| self.receives[cookie].pattern.accepts(&sent.envelope);
        let Some(at) = self.posted.iter().position(accepts) else {
            self.remembered.push((sent.sequence, sent.envelope));
            return None;
        };
        let cookie = self.posted.remove(at);
        let receive = self.receives.get_mut(&cookie).expect("posted");
        receive.state = State::Matched;
        receive.message = sent.message;
        receive.bytes = sent.envelope.bytes();
        Some(cookie)
    }

    /// All of a packet is there.
    fn arrive(&mut self, expected: &Expected) {
        let Some(cookie) = expected.cookie else {
            return;
        };
        let buffered = self.is_buffered(cookie);
        let receive = self.receives.get_mut(&cookie).expect("known");
        let request = matches!(expected.sent.kind, Kind::RequestToSend { .. });
        receive.arrived += match (request, buffered) {
            (true, false) => receive.bytes,
            _ => expected.sent.payload as u64,
        };
        if receive.arrived == receive.bytes {
            receive.state = State::Done;
        }
    }

    fn check_record(&mut self, taken: &Taken) {
        let at = |wire: &Wire| wire.rank == taken.record.rank;
        let number = self.wires.iter().position(at).expect("a rank");
        let wire = &mut self.wires[number];
        match taken.kind {
            RecordKind::Packet => {
                assert!(wire.assembling.is_none(), "the last packet is not complete");
                let expected = wire.records.pop_front().expect("a packet that was sent");
                let (sent, record) = (&expected.sent, &taken.record);
                let repr = taken.repr();
                assert_eq!((repr.sequence, repr.kind), (sent.sequence, sent.kind));
                assert_eq!(repr.envelope, sent.envelope);
                assert_eq!(record.payload, sent.payload as u64);
                let slot = expected.cookie.map_or(NO_SLOT, |cookie| cookie as u32);
                assert_eq!(
                    (record.slot, record.cookie),
                    (slot, expected.cookie.unwrap_or(0))
                );
                assert_eq!(record.placed, expected.placed.unwrap_or(0));
                assert_eq!(record.detail, ANSWERS * u32::from(expected.answers));
                self.remembered
                    .retain(|&(sequence, _)| sequence != sent.sequence);
                match expected.placed {
                    Some(_) => assert_eq!(record.here, 0),
                    None => wire.assembling = Some((expected, Vec::new())),
                }
            }
            RecordKind::Payload => assert!(!taken.payload.is_empty()),
            kind => panic!("{kind:?} without a reason"),
        }
        if let Some((expected, bytes)) = &mut wire.assembling {
            bytes.extend_from_slice(&taken.payload);
            let sent = &expected.sent;
            if bytes.len() >= sent.payload {
                assert!(*bytes == content(sent.message, sent.offset, sent.payload));
                wire.assembling = None;
            }
        }
    }

    /// Flags and memory are what the lists say.
    fn check_entries(&mut self) {
        self.double.release();
        for (&slot, cookie) in &self.slots {
            let receive = self.receives.get_mut(cookie).expect("known");
            let flag = self.double.flag(slot);
            let state = match receive.state {
                State::Waiting => WAITING,
                State::Matched => MATCHED,
                State::Done => DONE,
                State::Cancelled => continue,
            };
            assert_eq!((flag.state, flag.cookie), (state, *cookie));
            let released = self.double.finished.contains_key(cookie);
            assert_eq!(released, receive.state == State::Done);
            if receive.state == State::Done && !receive.checked {
                receive.checked = true;
                assert_eq!((flag.bytes, flag.error), (receive.bytes, 0));
                let memory = self.double.finished.get(cookie).expect("released");
                let bytes = receive.bytes.min(receive.entry.bytes) as usize;
                let filled = if receive.entry.flags & NO_BUFFER == 0 {
                    bytes
                } else {
                    0
                };
                assert!(memory[..filled] == content(receive.message, 0, filled));
                assert!(memory[filled..].iter().all(|&byte| byte == 0xee));
            }
        }
    }

    /// Everything that was sent arrives, and everything is let go in the end.
    fn finish(mut self) -> Counters {
        while self.wires.iter().any(|wire| !wire.pending.is_empty()) {
            let mut moved = self.take(u64::MAX);
            self.double.map_tail(self.double.tail);
            for number in 0..self.wires.len() {
                moved += self.deliver(number, usize::MAX, false) as u64;
            }
            assert!(moved > 0, "nothing moves");
            self.check_entries();
        }
        self.take(u64::MAX);
        self.double.map_tail(self.double.tail);
        for wire in &self.wires {
            assert!(wire.records.is_empty() && wire.assembling.is_none());
            assert!(self.double.core.end(wire.index, 0));
        }
        for (slot, cookie) in std::mem::take(&mut self.slots) {
            match self.receives[&cookie].state {
                State::Waiting => assert_eq!(self.double.core.cancel(cookie), Ok(())),
                State::Matched => {
                    let flag = self.double.flag(slot);
                    assert_eq!((flag.state, flag.error), (DONE, ECONNRESET));
                }
                State::Done | State::Cancelled => {}
            }
        }
        self.double.release();
        assert!(self.double.buffers.is_empty(), "all memory is let go");
        for _ in &self.wires {
            let closed = self.double.take().expect("a record of each end");
            assert_eq!(closed.kind, RecordKind::Closed);
        }
        assert!(self.double.take().is_none());
        assert_eq!(self.double.control().stopped, 0);
        let counters = self.double.core.counters();
        assert_eq!(counters.packets, u64::from(self.sequence));
        counters
    }
}

/// A prefix with zeroes behind it.
fn prefix_of(head: &[u8]) -> [u8; PREFIX_BYTES] {
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..head.len()].copy_from_slice(head);
    prefix
}

#[test]
fn every_message_arrives_once_intact_in_order_and_where_it_belongs() {
    let mut runs = Vec::new();
    for seed in seeds(400) {
        let mut world = World::new(seed);
        for _ in 0..200 {
            world.step();
        }
        runs.push(world.finish());
    }
    // What is to be tested has happened.
    let sum = |of: fn(&Counters) -> u64| runs.iter().map(of).sum::<u64>();
    assert!(sum(|run| run.matched) > 0 && sum(|run| run.unexpected) > 0);
    assert!(sum(|run| run.stops) > 0 && sum(|run| run.agains) > 0);
    assert!(sum(|run| run.answers) > 0);
    assert!(sum(|run| run.placed_bytes_softirq) > 0 && sum(|run| run.placed_bytes_thread) > 0);
}
