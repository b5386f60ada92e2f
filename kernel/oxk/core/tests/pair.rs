//! Three endpoints, each with every other, over streams that are cut anywhere, against an oracle
//! that reads the same streams and keeps two vectors.

mod random;
mod shim;

use std::collections::HashMap;

use oxmpi_oxk_core::{
    Bounds, CancelError, ECANCELED, EMSGSIZE, FULL, PeerToken, Step, Token, Verdict,
};
use oxmpi_wire::stream::{self, Next};
use oxmpi_wire::{Kind, PREFIX_BYTES, Repr};
use random::{Random, for_seeds};
use shim::{BOUNDS, Shim, content};

const ENDS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    /// The sender's name for it.
    name: u64,
    from: usize,
    bits: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Received,
    Taken,
    Withdrawn,
}

/// What must happen at one end.
#[derive(Default)]
struct Oracle {
    posted: Vec<(u64, u64, u64)>,
    unexpected: Vec<(Message, Option<u64>)>,
    met: HashMap<u64, Message>,
    /// What becomes of each sender's messages.
    fates: HashMap<u64, Fate>,
    /// Of each sender's stream: bytes that are no packet yet, payload to come, messages so far.
    read: [(Vec<u8>, usize, usize); ENDS],
}

impl Oracle {
    fn arrive(&mut self, message: Message, send: Option<u64>) {
        let accepts = |&(_, bits, mask): &(u64, u64, u64)| (bits ^ message.bits) & mask == 0;
        match self.posted.iter().position(accepts) {
            Some(at) => {
                let (user, ..) = self.posted.remove(at);
                self.meet(user, message);
            }
            None => self.unexpected.push((message, send)),
        }
    }

    fn meet(&mut self, user: u64, message: Message) {
        self.met.insert(user, message);
        self.fates.insert(message.name, Fate::Received);
    }

    fn find(&self, bits: u64, mask: u64) -> Option<usize> {
        let accepts = |(message, _): &(Message, _)| (bits ^ message.bits) & mask == 0;
        self.unexpected.iter().position(accepts)
    }

    fn receive(&mut self, user: u64, bits: u64, mask: u64) {
        match self.find(bits, mask) {
            Some(at) => {
                let (message, _) = self.unexpected.remove(at);
                self.meet(user, message);
            }
            None => self.posted.push((user, bits, mask)),
        }
    }

    /// Reads what a sender's stream has brought; `sent` are its messages in order.
    fn read(&mut self, from: usize, bytes: &[u8], sent: &[Message]) {
        self.read[from].0.extend_from_slice(bytes);
        loop {
            let (buffer, payload, count) = &mut self.read[from];
            let skipped = (*payload).min(buffer.len());
            buffer.drain(..skipped);
            *payload -= skipped;
            let Next::Packet {
                head,
                payload: next,
            } = stream::next(buffer)
            else {
                return;
            };
            if *payload > 0 {
                return;
            }
            *payload = next;
            let mut prefix = [0; PREFIX_BYTES];
            prefix[..head - 4].copy_from_slice(&buffer[4..head]);
            buffer.drain(..head);
            let repr = Repr::parse_prefix(&prefix).expect("endpoints write packets");
            let send = match repr.kind {
                Kind::Eager => None,
                Kind::RequestToSend { send, .. } => Some(send),
                Kind::Cancel { send } => {
                    let is_it = |(message, token): &(Message, Option<u64>)| {
                        message.from == from && *token == Some(send)
                    };
                    if let Some(at) = self.unexpected.iter().position(is_it) {
                        let (message, _) = self.unexpected.remove(at);
                        self.fates.insert(message.name, Fate::Withdrawn);
                    }
                    continue;
                }
                _ => continue,
            };
            *count += 1;
            let message = sent[*count - 1];
            assert_eq!(
                (repr.envelope.context, repr.envelope.bytes()),
                (message.bits, message.bytes)
            );
            self.arrive(message, send);
        }
    }
}

struct World {
    ends: Vec<Shim>,
    oracles: Vec<Oracle>,
    /// `streams[from][to]`: written and not read.
    streams: Vec<Vec<Vec<u8>>>,
    /// `peers[at][other]`.
    peers: Vec<Vec<PeerToken>>,
    /// `sent[from][to]`: messages that were not taken back before they left.
    sent: Vec<Vec<Vec<Message>>>,
    /// Every request that was made and not taken back: whose, its name and token.
    requests: Vec<(usize, u64, Token)>,
    capacities: HashMap<u64, u64>,
    names: u64,
    handler: bool,
}

const MASKS: [u64; 12] = [FULL, FULL, FULL, 0, 1, 2, 3, 4, 5, 6, 7, 1 << 63];

impl World {
    fn new(bounds: Bounds) -> World {
        let mut ends: Vec<Shim> = (0..ENDS).map(|_| Shim::new(bounds)).collect();
        let peers = ends.iter_mut().map(|end| {
            (0..ENDS)
                .map(|_| end.core.accepted().expect("room"))
                .collect()
        });
        World {
            peers: peers.collect(),
            ends,
            oracles: (0..ENDS).map(|_| Oracle::default()).collect(),
            streams: vec![vec![Vec::new(); ENDS]; ENDS],
            sent: vec![vec![Vec::new(); ENDS]; ENDS],
            requests: Vec::new(),
            capacities: HashMap::new(),
            names: 0,
            handler: bounds.handler,
        }
    }

    fn name(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    fn send(&mut self, random: &mut Random) {
        let (from, to) = (random.below(3) as usize, random.below(3) as usize);
        let name = self.name();
        let bits = random.below(8) | random.below(2) << 63;
        let lengths = [0, 1, 64, 65, 900, 3000, 140_000];
        let kinds = if random.one_in(40) { 7 } else { 6 };
        let bytes = random.pick(&lengths[..kinds]);
        let memory = content(name, bytes);
        let peer = self.peers[from][to];
        if let Ok(token) = self.ends[from].send(peer, bits, memory, random.one_in(4), name) {
            self.requests.push((from, name, token));
            self.sent[from][to].push(Message {
                name,
                from,
                bits,
                bytes,
            });
        }
    }

    fn receive(&mut self, at: usize, bits: u64, mask: u64, capacity: u64) -> bool {
        let user = self.name();
        let Ok(token) = self.ends[at].receive(bits, mask, capacity, user) else {
            return false;
        };
        self.capacities.insert(user, capacity);
        self.oracles[at].receive(user, bits, mask);
        self.requests.push((at, user, token));
        true
    }

    fn pump(&mut self, from: usize, to: usize) -> bool {
        let peer = self.peers[from][to];
        self.ends[from].pump(peer, &mut self.streams[from][to])
    }

    /// Feeds some of a stream. The handler leaves, takes or names memory at random.
    fn deliver(&mut self, from: usize, to: usize, bytes: usize, random: &mut Random) -> bool {
        let stream = &mut self.streams[from][to];
        let data: Vec<u8> = stream[..bytes.min(stream.len())].to_vec();
        let (oracle, sent) = (&mut self.oracles[to], &self.sent[from][to]);
        let (names, capacities, handled) = (&mut self.names, &mut self.capacities, self.handler);
        let mut told = 0;
        let mut handler = |shown: shim::Shown| {
            assert!(handled);
            oracle.read(from, &data[told..shown.consumed], sent);
            told = shown.consumed;
            let &(message, _) = oracle.unexpected.last().expect("one has just come");
            assert_eq!((message.bits, message.bytes), (shown.bits, shown.bytes));
            match random.below(3) {
                0 => Verdict::Leave,
                1 => {
                    oracle.unexpected.pop();
                    oracle.fates.insert(message.name, Fate::Taken);
                    Verdict::Take
                }
                _ => {
                    *names += 1;
                    let (user, capacity) = (*names, 2000);
                    oracle.unexpected.pop();
                    oracle.meet(user, message);
                    capacities.insert(user, capacity);
                    Verdict::Into { user, capacity }
                }
            }
        };
        let peer = self.peers[to][from];
        let (consumed, step) = self.ends[to].feed(peer, &data, &mut handler);
        assert!(matches!(step, Step::Done), "{step:?}");
        oracle.read(from, &data[told..consumed], sent);
        self.streams[from][to].drain(..consumed);
        consumed > 0
    }

    fn cancel(&mut self, random: &mut Random) {
        if self.requests.is_empty() {
            return;
        }
        let index = random.below(self.requests.len() as u64) as usize;
        let (at, name, token) = self.requests[index];
        let over = self.ends[at].completed.contains_key(&name);
        let answer = self.ends[at].core.cancel(token);
        assert_eq!(answer == Err(CancelError::Unknown), over);
        if answer == Ok(()) {
            self.ends[at].forget_request(token);
            self.requests.swap_remove(index);
            let oracle = &mut self.oracles[at];
            assert!(
                !oracle.met.contains_key(&name),
                "a receive that has met its message"
            );
            oracle.posted.retain(|&(user, ..)| user != name);
            for sent in &mut self.sent[at] {
                sent.retain(|message| message.name != name);
            }
        }
        self.ends[at].settle();
    }

    fn probe(&mut self, random: &mut Random) {
        let at = random.below(3) as usize;
        let (bits, mask) = (random.below(8), random.pick(&MASKS));
        let oracle = &self.oracles[at];
        let expected = oracle.find(bits, mask).map(|found| {
            let (message, _) = oracle.unexpected[found];
            (message.bits, message.bytes, self.peers[at][message.from])
        });
        let found = self.ends[at].core.probe(bits, mask);
        assert_eq!(
            found.map(|found| (found.bits, found.bytes, found.peer)),
            expected
        );
    }

    /// Everything that can move does.
    fn drain(&mut self, random: &mut Random) {
        loop {
            let mut moved = false;
            for (from, to) in (0..ENDS * ENDS).map(|pair| (pair / ENDS, pair % ENDS)) {
                while self.pump(from, to) {
                    moved = true;
                }
                moved |= self.deliver(from, to, usize::MAX, random);
                self.ends[from].acknowledge_all();
            }
            if !moved {
                return;
            }
        }
    }

    /// Every receive that met a message has it, and every other one waits.
    fn check_receives(&self) {
        for (at, oracle) in self.oracles.iter().enumerate() {
            for (user, message) in &oracle.met {
                let (completion, memory) = &self.ends[at].completed[user];
                let capacity = self.capacities[user];
                let placed = message.bytes.min(capacity);
                let status = completion.status;
                assert_eq!((status.bits, status.bytes), (message.bits, message.bytes));
                assert_eq!(status.peer, Some(self.peers[at][message.from]));
                assert_eq!(status.placed, placed);
                assert_eq!(
                    status.error,
                    if message.bytes > capacity {
                        EMSGSIZE
                    } else {
                        0
                    }
                );
                let expected = content(message.name, message.bytes);
                assert_eq!(memory[..placed as usize], expected[..placed as usize]);
                assert!(memory[placed as usize..].iter().all(|&byte| byte == 0xee));
            }
            for (user, ..) in &oracle.posted {
                assert!(!self.ends[at].completed.contains_key(user));
            }
        }
    }

    /// Every send has ended as its receiver says.
    fn check_sends(&self) {
        for (from, to) in (0..ENDS * ENDS).map(|pair| (pair / ENDS, pair % ENDS)) {
            for message in &self.sent[from][to] {
                let fate = self.oracles[to].fates[&message.name];
                let (completion, _) = &self.ends[from].completed[&message.name];
                let error = if fate == Fate::Withdrawn {
                    ECANCELED
                } else {
                    0
                };
                assert_eq!(completion.status.error, error, "{message:?} {fate:?}");
            }
        }
    }
}

fn run(random: &mut Random, bounds: Bounds) {
    let mut world = World::new(bounds);
    let cut = random.pick(&[1, 10, 100, 5000]);
    let receives = 1 + random.below(6);
    for _ in 0..300 {
        let (from, to) = (random.below(3) as usize, random.below(3) as usize);
        match random.below(22) {
            0..4 => world.send(random),
            4 => world.cancel(random),
            5 => world.probe(random),
            6 | 7 => {
                world.pump(from, to);
            }
            8 if !world.ends[from].unsent.is_empty() => {
                let count = world.ends[from].unsent.len() as u64;
                world.ends[from].acknowledge(random.below(count) as usize);
            }
            action if action < 9 + receives => {
                let capacity = random.pick(&[0, 64, 1000, 5000, 140_000]);
                let bits = random.below(8) | random.below(2) << 63;
                world.receive(to, bits, random.pick(&MASKS), capacity);
            }
            _ => {
                for _ in 0..5 {
                    world.pump(from, to);
                    let bytes = 1 + random.below(cut) as usize;
                    world.deliver(from, to, bytes, random);
                }
            }
        }
    }
    world.drain(random);
    world.check_receives();
    // Whatever is left is received; so everything ends, and every window is open again.
    for at in 0..ENDS {
        while world.ends[at].core.probe(0, 0).is_some() {
            if !world.receive(at, 0, 0, 5000) {
                break;
            }
            world.drain(random);
        }
    }
    world.drain(random);
    world.check_receives();
    if world
        .oracles
        .iter()
        .all(|oracle| oracle.unexpected.is_empty())
    {
        world.check_sends();
    }
}

#[test]
fn messages_are_delivered_as_the_oracle_says() {
    for_seeds(100, |random| run(random, BOUNDS));
}

/// Handlers take requests from those that receives may have, so there are enough for all.
#[test]
fn the_handlers_three_verdicts() {
    let bounds = Bounds {
        handler: true,
        requests: 1000,
        ..BOUNDS
    };
    for_seeds(60, |random| run(random, bounds));
}

/// The smallest window that may be asked for is enough for everything to arrive.
#[test]
fn small_windows_delay_and_do_not_block() {
    let bounds = Bounds {
        unexpected_bytes: 4 * 1024,
        requests: 1000,
        ..BOUNDS
    };
    for_seeds(60, |random| run(random, bounds));
}
