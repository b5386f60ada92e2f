//! Random receives and messages beside a model: two plain lists, as the library keeps them.
//!
//! The model is exact although the driver works concurrently. A message that met an entry must have
//! met the first in the list of posted ones that accepts it: what is before that in the list was
//! posted before. And no posted entry may accept a message that comes as unmatched: `put_entry`
//! would have said EAGAIN.

use std::collections::VecDeque;
use std::io::Write;
use std::net::Shutdown;
use std::thread;

use o2g::{Cancel, Put};
use oxmpi_wire::o2g::DONE;

use super::case;
use crate::ground::{Event, Ground, N_ENTRIES, PATIENCE, Packet, Receive};
use crate::packet::{eager, number_of, numbered, request};
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::Buffer;

pub const CASES: &[Case] = &[
    case("model-one-thread", one_thread),
    case("model-senders-beside", senders_beside),
];

const RANKS: u32 = 3;
const TAGS: u64 = 3;
const BYTES_MAX: u64 = 3000;
/// Of each rank.
const MESSAGES: u64 = 300;

struct Model {
    ground: Ground,
    buffers: Vec<Buffer>,
    free_slots: Vec<u32>,
    generation: u32,
    posted: Vec<Receive>,
    /// Messages that were taken unmatched.
    unexpected: VecDeque<Packet>,
    /// The number that comes next, by rank.
    expected: Vec<u64>,
    received: u64,
}

impl Model {
    fn new() -> Outcome<Model> {
        Ok(Model {
            ground: Ground::new(RANKS as usize)?,
            buffers: (0..N_ENTRIES)
                .map(|_| Buffer::new(BYTES_MAX as usize))
                .collect(),
            free_slots: (0..N_ENTRIES).collect(),
            generation: 0,
            posted: Vec::new(),
            unexpected: VecDeque::new(),
            expected: vec![0; RANKS as usize],
            received: 0,
        })
    }

    /// What the library does for MPI_Irecv.
    fn receive(&mut self, random: &mut Random) -> Outcome {
        let Some(slot) = self.free_slots.pop() else {
            return self.cancel_all();
        };
        self.generation += 1;
        let source = (!random.one_in(3)).then(|| random.below(RANKS.into()) as u32);
        let tag = (!random.one_in(3)).then(|| random.below(TAGS) as i32);
        let receive = Receive {
            generation: self.generation,
            ..Receive::new(slot, source, tag, self.buffers[slot as usize])
        };
        loop {
            let found = self
                .unexpected
                .iter()
                .position(|m| receive.accepts(&m.repr));
            if let Some(found) = found {
                self.unexpected.remove(found);
                self.received += 1;
                self.free_slots.push(slot);
                return Ok(());
            }
            // With its first record a message is the process's own, although payload is to come.
            if self.ground.partial().any(|m| receive.accepts(&m.repr)) {
                self.take_some()?;
                continue;
            }
            match self.ground.put(&receive)? {
                Put::Posted => {
                    self.posted.push(receive);
                    return Ok(());
                }
                Put::Again => self.take_some()?,
            }
        }
    }

    /// There is a record, or payload is on its way.
    fn take_some(&mut self) -> Outcome {
        let event = self.ground.next()?;
        self.absorb(event)?;
        self.take_all()
    }

    fn take_all(&mut self) -> Outcome {
        while let Some(event) = self.ground.try_next()? {
            self.absorb(event)?;
        }
        self.ground.device.go_on()?;
        Ok(())
    }

    fn absorb(&mut self, event: Event) -> Outcome {
        let Event::Packet(packet) = event else {
            return fail(format!("only messages were sent: {event:?}"));
        };
        let first = self.posted.iter().position(|r| r.accepts(&packet.repr));
        let expected = first.map(|at| (self.posted[at].slot, self.posted[at].cookie()));
        if packet.entry != expected {
            return fail(format!(
                "the message {:?} met {:?}, but the first posted that accepts it is {expected:?}",
                packet.repr, packet.entry
            ));
        }
        let next = &mut self.expected[packet.rank as usize];
        let number = std::mem::replace(next, *next + 1);
        let Some(at) = first else {
            equal("number", number_of(&packet.payload), Some(number))?;
            self.unexpected.push_back(packet);
            return Ok(());
        };
        let receive = self.posted.remove(at);
        let done = self.ground.wait_done(&receive)?;
        let buffer = self.buffers[receive.slot as usize];
        let found = buffer.part(0, done.bytes as usize).copy();
        equal("number", number_of(&found), Some(number))?;
        self.free_slots.push(receive.slot);
        self.received += 1;
        Ok(())
    }

    fn cancel_all(&mut self) -> Outcome {
        for receive in self.posted.clone() {
            match self.ground.device.cancel_entry(receive.cookie())? {
                Cancel::Cancelled => {
                    self.posted.retain(|r| r.slot != receive.slot);
                    self.free_slots.push(receive.slot);
                }
                // Its record is on the way, or here.
                Cancel::Again => {}
                Cancel::Unknown if self.ground.device.state(receive.slot) == DONE => {}
                Cancel::Unknown => {
                    return fail(format!("posted and not known: {:#x}", receive.cookie()));
                }
            }
        }
        self.take_all()
    }
}

fn message(random: &mut Random, rank: u32, number: u64) -> Vec<u8> {
    let bytes = 8 + random.below(BYTES_MAX - 8) as usize;
    eager(rank, random.below(TAGS) as i32, &numbered(number, bytes))
}

/// Sends and receives alternate, so a failure repeats itself with its seed.
fn one_thread(random: &mut Random) -> Outcome {
    let mut model = Model::new()?;
    let mut sent = vec![0; RANKS as usize];
    for _ in 0..2500 {
        match random.below(5) {
            0 | 1 => {
                let rank = random.below(RANKS.into()) as u32;
                let bytes = message(random, rank, sent[rank as usize]);
                model.ground.send(rank, &bytes)?;
                sent[rank as usize] += 1;
            }
            2 | 3 => model.receive(random)?,
            _ => model.take_all()?,
        }
        // What nobody takes is bounded by the area.
        if model.unexpected.len() > 100 {
            while !model.unexpected.is_empty() {
                model.receive(random)?;
            }
        }
    }
    finish(&mut model, sent.iter().sum(), random)
}

/// Receives go on until everything that was sent has been received.
fn finish(model: &mut Model, total: u64, random: &mut Random) -> Outcome {
    let start = std::time::Instant::now();
    while model.received < total {
        model.receive(random)?;
        model.take_all()?;
        if start.elapsed() > 2 * PATIENCE {
            return fail(format!(
                "{} of {total} received; {} unexpected, {} posted",
                model.received,
                model.unexpected.len(),
                model.posted.len()
            ));
        }
    }
    model.cancel_all()?;
    equal("still posted", model.posted.len(), 0)?;
    let pinned = model.ground.device.counters()?.pages_pinned;
    equal("pages pinned when all is over", pinned, 0)
}

/// Three senders write as fast as they can.
fn senders_beside(random: &mut Random) -> Outcome {
    let mut model = Model::new()?;
    thread::scope(|scope| {
        let mut senders = Vec::new();
        for rank in 0..RANKS {
            let mut peer = model.ground.peers[rank as usize].try_clone()?;
            let mut random = Random::new(random.next());
            senders.push(scope.spawn(move || {
                for number in 0..MESSAGES {
                    peer.write_all(&message(&mut random, rank, number))?;
                    if random.one_in(20) {
                        thread::yield_now();
                    }
                }
                Ok::<(), std::io::Error>(())
            }));
        }
        let finished = finish(&mut model, u64::from(RANKS) * MESSAGES, random);
        if finished.is_err() {
            for peer in &model.ground.peers {
                peer.shutdown(Shutdown::Both)?;
            }
        }
        for sender in senders {
            let sent = sender.join().expect("a sender does not panic");
            if finished.is_ok() {
                sent?;
            }
        }
        finished
    })?;
    // A request to send is matched by the same rule.
    model.ground.send(0, &request(0, 0, 100, 1))?;
    equal("entry", model.ground.next_packet()?.entry, None)
}
