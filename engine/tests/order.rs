//! Several wildcard receives that are looked at together and posted again: every message arrives
//! once and intact, and those of one sender are handed out in the order they were sent, whatever
//! their lengths and however their packets mix. By seed, on the pure protocol: packets wait in one
//! queue per pair of processes and are delivered in a random order of pairs.

use std::collections::VecDeque;
use std::time::Duration;

use oxmpi_engine::protocol::{
    Effect, Limits, Mode, Posted, Protocol, RequestId, STANDSTILL_MAX, Source, Turn,
};
use oxmpi_engine::{Content, Envelope, Pattern};
use oxmpi_wire::Repr;

const SENDERS: u32 = 4;
const MESSAGES: u32 = 40;
const POSTED: usize = 4;
const SEEDS: u64 = 300;
const BYTES_MAX: usize = 3000;

/// All three ways a message can go: in one packet, in several, and offered; and too little room for
/// what is sent.
const LIMITS: Limits = Limits {
    eager_bytes_max: 1024,
    copied_bytes_max: u64::MAX,
    room_bytes: 6000,
    reserved_bytes: 0,
    kept_bytes_max: 6000,
    fragment_bytes: 400,
    fragment_bytes_short: 150,
    short_bytes_max: 600,
    fetch_bytes_min: u64::MAX,
    unexpected_max: 1000,
};

/// Splitmix64: enough for tests, and repeatable.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Byte `at` of message `number` from `from`.
fn byte(from: u32, number: u32, at: usize) -> u8 {
    (from as usize * 31 + number as usize * 7 + at) as u8
}

fn pattern(tag: Option<i32>) -> Pattern {
    Pattern {
        context: 3,
        source: None,
        tag,
        signature: 0,
    }
}

/// Process 0 receives, the others send. A buffer is an index here: of a message at its sender, of a
/// receive at process 0.
struct Job {
    processes: Vec<Protocol<usize>>,
    /// Packets from each process to each other.
    wires: Vec<VecDeque<(Repr, Vec<u8>)>>,
    /// What each sender has sent: the number of the message, and its length.
    sent: Vec<Vec<usize>>,
    buffers: Vec<Vec<u8>>,
}

impl Job {
    fn new() -> Job {
        let size = SENDERS + 1;
        Job {
            processes: (0..size)
                .map(|me| Protocol::new(me, size, LIMITS))
                .collect(),
            wires: vec![VecDeque::new(); (size * size) as usize],
            sent: vec![Vec::new(); size as usize],
            buffers: vec![vec![0; BYTES_MAX]; POSTED],
        }
    }

    fn wire(&mut self, from: u32, to: u32) -> &mut VecDeque<(Repr, Vec<u8>)> {
        &mut self.wires[(from * (SENDERS + 1) + to) as usize]
    }

    fn send(&mut self, from: u32, bytes: usize) {
        let messages = &mut self.sent[from as usize];
        let number = messages.len();
        messages.push(bytes);
        let envelope = Envelope {
            context: 3,
            source: from,
            tag: number as i32 % 3,
            content: Content::new(bytes as u64, 0),
        };
        let source = Source {
            buffer: number,
            address: 0,
            mapped: false,
            fetchable: false,
        };
        let sender = &mut self.processes[from as usize];
        sender.send(0, envelope, source, Mode::Standard).unwrap();
    }

    /// One packet of a process leaves, if one is due.
    fn transmit(&mut self, from: u32) {
        let Some(&to) = self.processes[from as usize].busy().first() else {
            return;
        };
        let protocol = &mut self.processes[from as usize];
        if let Some(transmit) = protocol.poll_transmit(to) {
            let payload = transmit.payload.map_or(Vec::new(), |piece| {
                let first = piece.offset as usize;
                (first..first + piece.bytes)
                    .map(|at| byte(from, piece.buffer as u32, at))
                    .collect()
            });
            protocol.sent(&transmit);
            self.wire(from, to).push_back((transmit.repr, payload));
        }
        self.processes[from as usize].settle();
    }

    /// One packet arrives, if one is on the wire.
    fn deliver(&mut self, from: u32, to: u32) {
        let Some((repr, payload)) = self.wire(from, to).pop_front() else {
            return;
        };
        match self.processes[to as usize].handle(from, &repr, &payload) {
            Ok(Effect::None) => {}
            Ok(Effect::Deliver {
                buffer,
                offset,
                bytes,
            }) => {
                let at = offset as usize;
                self.buffers[buffer][at..at + bytes].copy_from_slice(&payload[..bytes]);
            }
            other => panic!("{other:?}"),
        }
    }

    fn post(&mut self, buffer: usize, tag: Option<i32>) -> RequestId {
        let receiver = &mut self.processes[0];
        let (id, posted) = receiver.post(None, pattern(tag), buffer, BYTES_MAX as u64);
        match posted {
            Posted::Waiting => {}
            Posted::Stashed { stash, bytes } => {
                self.buffers[buffer][..bytes].copy_from_slice(&stash[..bytes]);
                receiver.recycle(stash);
            }
            Posted::Fetch(_) => panic!("nothing can be fetched"),
        }
        id
    }

    /// The receive that is to be handed out, if there is one.
    fn look(&mut self, requests: &[RequestId]) -> Option<usize> {
        let receiver = &mut self.processes[0];
        receiver.begin_look();
        for &id in requests {
            receiver.note(id);
        }
        let turns = requests
            .iter()
            .enumerate()
            .filter_map(|(at, &id)| match receiver.turn(id) {
                Turn::Over(turn) => Some((turn, at)),
                // Here bytes always keep coming.
                Turn::Behind { .. } | Turn::Pending => None,
            });
        turns.min().map(|(_, at)| at)
    }

    /// Some event, most often one that lets packets move.
    fn happen(&mut self, random: &mut Random) {
        let process = random.below(SENDERS as usize + 1) as u32;
        match random.below(4) {
            0 => self.transmit(process),
            1 if process > 0 => self.deliver(0, process),
            _ if process > 0 => self.deliver(process, 0),
            _ => self.transmit(0),
        }
    }

    /// A message that was handed out is intact.
    fn judge(&mut self, at: usize, id: RequestId) -> (u32, u32) {
        let completion = self.processes[0].take(id).unwrap().unwrap();
        let bytes = completion.bytes as usize;
        let from = completion.source;
        let buffer = &self.buffers[at];
        let is_number =
            |number: &usize| (0..bytes).all(|i| buffer[i] == byte(from, *number as u32, i));
        let tag = completion.tag as usize;
        let numbers = (0..self.sent[from as usize].len())
            .filter(|number| self.sent[from as usize][*number] == bytes && number % 3 == tag);
        // Lengths are different, so that there is one at most.
        let found: Vec<usize> = numbers.filter(is_number).collect();
        assert_eq!(found.len(), 1, "a message of {bytes} bytes from {from}");
        (from, found[0] as u32)
    }
}

/// A length that no other message of the sender has: a third each of short, longer, and offered
/// ones.
fn length(random: &mut Random, number: usize) -> usize {
    [1, 200, 1100][random.below(3)] + number + 40 * random.below(4)
}

/// Runs a job; `tagged` receives name one of three tags in turn, the others take anything.
fn run(seed: u64, tagged: bool) {
    let mut random = Random(seed);
    let mut job = Job::new();
    let mut next = vec![vec![0u32; 3]; SENDERS as usize + 1];
    let mut expected = vec![0u32; SENDERS as usize + 1];
    let mut left = SENDERS * MESSAGES;
    let tag = |at: usize| tagged.then_some(at as i32 % 3);
    let mut requests: Vec<RequestId> = (0..POSTED).map(|at| job.post(at, tag(at))).collect();
    let mut idle = 0;
    while left > 0 {
        idle += 1;
        assert!(idle < 1_000_000, "seed {seed}: {left} messages never came");
        let sender = 1 + random.below(SENDERS as usize) as u32;
        let sent = job.sent[sender as usize].len();
        if sent < MESSAGES as usize && random.below(8) == 0 {
            let bytes = length(&mut random, sent);
            job.send(sender, bytes);
        }
        job.happen(&mut random);
        if random.below(3) > 0 {
            continue;
        }
        while let Some(at) = job.look(&requests) {
            let (from, number) = job.judge(at, requests[at]);
            if tagged {
                let tag = number as usize % 3;
                let due = &mut next[from as usize][tag];
                assert_eq!(number, *due * 3 + tag as u32, "seed {seed}: from {from}");
                *due += 1;
            } else {
                let due = &mut expected[from as usize];
                assert_eq!(number, *due, "seed {seed}: from {from}");
                *due += 1;
            }
            left -= 1;
            idle = 0;
            requests[at] = job.post(at, tag(at));
            if random.below(2) == 0 {
                break;
            }
        }
    }
}

#[test]
fn messages_of_a_sender_are_handed_out_in_order() {
    (0..SEEDS).for_each(|seed| run(seed, false));
}

#[test]
fn messages_of_a_sender_and_a_tag_are_handed_out_in_order() {
    (0..SEEDS).for_each(|seed| run(seed, true));
}

/// A long message whose bytes stop coming, and a short one behind it.
#[test]
fn a_message_that_stands_still_holds_nothing_back_for_long() {
    let mut job = Job::new();
    let requests: Vec<RequestId> = (0..2).map(|at| job.post(at, None)).collect();
    job.send(1, 2000);
    job.send(1, 10);
    // The offer, the short message, the answer, and the first piece.
    (0..2).for_each(|_| job.transmit(1));
    (0..2).for_each(|_| job.deliver(1, 0));
    job.transmit(0);
    job.deliver(0, 1);
    let receiver = &mut job.processes[0];
    let look = |receiver: &mut Protocol<usize>| {
        receiver.begin_look();
        for &id in &requests {
            receiver.note(id);
        }
        (receiver.turn(requests[0]), receiver.turn(requests[1]))
    };
    let (Turn::Pending, Turn::Behind { turn: 2, earlier }) = look(receiver) else {
        panic!("{:?}", look(receiver));
    };
    assert_eq!(earlier, requests[0]);
    let (start, moment) = (Duration::from_secs(5), Duration::from_millis(1));
    assert!(receiver.keeps_coming(earlier, start));
    assert!(receiver.keeps_coming(earlier, start + STANDSTILL_MAX - moment));
    assert!(!receiver.keeps_coming(earlier, start + STANDSTILL_MAX));
    // It moves again, and counts again.
    job.transmit(1);
    job.deliver(1, 0);
    let receiver = &mut job.processes[0];
    let again = start + 2 * STANDSTILL_MAX;
    assert!(receiver.keeps_coming(earlier, again));
    assert!(!receiver.keeps_coming(earlier, again + STANDSTILL_MAX));
    // When it is over, both can be handed out, the long one first.
    for _ in 0..10 {
        job.transmit(1);
        job.deliver(1, 0);
    }
    assert_eq!(job.look(&requests), Some(0));
    let turns = look(&mut job.processes[0]);
    assert_eq!(turns, (Turn::Over(1), Turn::Over(2)));
}
