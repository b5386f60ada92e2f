//! Links and memory: what lies between and beside the ranks.
//!
//! A link is one ordered pair of ranks. It delays each packet by chance but keeps their order, as a
//! ring or a connection does; different links overtake each other freely. It holds a bounded number
//! of packets and says "full" beyond that, and now and then without reason. Memory is one arena per
//! rank; a buffer that has been freed is gone, so that a protocol which touches it after completion
//! is caught.

use std::cell::{RefCell, RefMut};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;

use oxmpi_engine::path::{Carrier, Event, Memory, Outgoing, Packet as Arrival, Sent};
use oxmpi_engine::protocol::{Fetch, Payload, Stream, Transmit};
use oxmpi_wire::{Eager, PREFIX_BYTES};

use crate::random::Random;

/// In how many of 100 cases a packet arrives in pieces.
const PIECES_PERCENT: u32 = 20;

/// Simulated time, in no unit.
pub type Time = u64;

/// How links and ranks misbehave.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// Longest delay of a packet.
    pub delay_max: Time,
    /// Packets that a link holds.
    pub link_packets_max: usize,
    /// In how many of 100 cases a link with room says "full".
    pub full_percent: u32,
    /// In how many of 100 cases the memory of another rank cannot be read.
    pub fetch_refused_percent: u32,
    /// Longest time that a rank computes without looking at its packets.
    pub compute_max: Time,
}

/// A buffer of a rank, from `start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Which buffer of the rank.
    pub buffer: u32,
    /// Where the area begins in it.
    pub start: usize,
}

impl Area {
    /// The area as an address that another rank can fetch from.
    pub fn address(self) -> u64 {
        u64::from(self.buffer) << 32 | self.start as u64
    }

    /// The area behind such an address.
    pub fn from_address(address: u64) -> Area {
        Area {
            buffer: (address >> 32) as u32,
            start: address as u32 as usize,
        }
    }
}

/// A rank's memory.
#[derive(Debug, Default)]
pub struct Arena {
    /// By number; those that have been freed leave a gap.
    buffers: Vec<Option<Vec<u8>>>,
    kept: usize,
}

impl Arena {
    /// Keeps a buffer and names it; names are not used again.
    pub fn keep(&mut self, bytes: Vec<u8>) -> Area {
        let buffer = self.buffers.len() as u32;
        self.buffers.push(Some(bytes));
        self.kept += 1;
        Area { buffer, start: 0 }
    }

    /// Takes a buffer back: from now on nobody may touch it.
    pub fn free(&mut self, area: Area) -> Vec<u8> {
        self.kept -= 1;
        self.buffers[area.buffer as usize]
            .take()
            .expect("a program frees each buffer once")
    }

    /// Takes a buffer out for a moment, to compute with it.
    pub fn lend(&mut self, area: Area) -> Vec<u8> {
        self.buffers[area.buffer as usize]
            .take()
            .expect("a program computes with what it keeps")
    }

    /// Puts a lent buffer back.
    pub fn give_back(&mut self, area: Area, bytes: Vec<u8>) {
        self.buffers[area.buffer as usize] = Some(bytes);
    }

    /// Bytes to read.
    pub fn read(&self, area: Area, offset: u64, bytes: usize) -> &[u8] {
        let buffer = self.buffers[area.buffer as usize].as_ref();
        let buffer = buffer.expect("the protocol reads a buffer whose request is over");
        let begin = area.start + offset as usize;
        &buffer[begin..begin + bytes]
    }

    /// Writes bytes.
    pub fn write(&mut self, area: Area, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let buffer = self.buffers[area.buffer as usize].as_mut();
        let buffer = buffer.expect("the protocol writes a buffer whose request is over");
        let begin = area.start + offset as usize;
        buffer[begin..begin + bytes.len()].copy_from_slice(bytes);
    }

    /// Buffers that are kept.
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }
}

/// A packet under way: header as bytes, and payload.
#[derive(Debug)]
pub struct Packet {
    /// The emitted header.
    pub prefix: [u8; PREFIX_BYTES],
    /// What follows it.
    pub payload: Vec<u8>,
    due: Time,
}

/// All links and all memory.
#[derive(Debug)]
pub struct Fabric {
    /// The faults.
    pub faults: Faults,
    /// The present.
    pub now: Time,
    arenas: Vec<RefCell<Arena>>,
    alive: Vec<bool>,
    wires: Wires,
    /// Ranks that another rank of their host has woken.
    roused: Vec<u32>,
    /// Which fetches are refused.
    refusals: RefCell<Random>,
}

/// The links alone.
#[derive(Debug)]
struct Wires {
    random: Random,
    links: HashMap<(u32, u32), VecDeque<Packet>>,
    packets: u64,
    /// Arrivals to be put on the world's agenda: when, from, to.
    arrivals: Vec<(Time, u32, u32)>,
}

impl Fabric {
    /// Links and memory for `size` ranks.
    pub fn new(size: u32, faults: Faults, mut random: Random) -> Fabric {
        Fabric {
            arenas: (0..size).map(|_| RefCell::default()).collect(),
            faults,
            now: 0,
            alive: vec![true; size as usize],
            roused: Vec::new(),
            refusals: RefCell::new(random.fork()),
            wires: Wires {
                random,
                links: HashMap::new(),
                packets: 0,
                arrivals: Vec::new(),
            },
        }
    }

    /// A rank's memory.
    pub fn arena(&self, rank: u32) -> RefMut<'_, Arena> {
        self.arenas[rank as usize].borrow_mut()
    }

    /// Buffers that are kept by all ranks.
    pub fn kept(&self) -> usize {
        self.arenas.iter().map(|arena| arena.borrow().len()).sum()
    }

    /// A rank's end of all links, and all memory as that rank reaches it.
    pub(crate) fn facts(&mut self, rank: u32) -> (JoinFacts<'_>, View<'_>) {
        let Fabric {
            faults,
            now,
            arenas,
            alive,
            wires,
            refusals,
            ..
        } = self;
        let facts = JoinFacts {
            rank,
            now: *now,
            faults: *faults,
            alive,
            arenas,
            wires,
            arrived: None,
            shown: 0,
            stream: None,
            was_full: false,
        };
        let view = View {
            rank,
            faults: *faults,
            alive,
            arenas,
            refusals,
        };
        (facts, view)
    }

    /// Puts bytes on a link that no protocol has made.
    pub fn forge(&mut self, from: u32, to: u32, prefix: [u8; PREFIX_BYTES], payload: Vec<u8>) {
        if self.is_alive(to) {
            let (now, faults) = (self.now, self.faults);
            self.wires.put(now, &faults, (from, to), prefix, payload);
        }
    }

    /// Packets that have been sent, for reports.
    pub fn packets(&self) -> u64 {
        self.wires.packets
    }

    /// Arrivals since the last call: when, from, to.
    pub(crate) fn take_arrivals(&mut self) -> Vec<(Time, u32, u32)> {
        std::mem::take(&mut self.wires.arrivals)
    }

    /// A rank wakes another one of its host.
    pub(crate) fn rouse(&mut self, rank: u32) {
        self.roused.push(rank);
    }

    /// The ranks that were woken since the last call.
    pub(crate) fn take_roused(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.roused)
    }

    /// Whether the rank lives.
    pub fn is_alive(&self, rank: u32) -> bool {
        self.alive[rank as usize]
    }

    /// The rank dies. What it has put on links still arrives; what was under way to it is lost.
    pub(crate) fn kill(&mut self, rank: u32) {
        self.alive[rank as usize] = false;
        self.wires.links.retain(|(_, to), _| *to != rank);
    }

    /// Packets under way.
    pub fn in_flight(&self) -> usize {
        self.wires.links.values().map(VecDeque::len).sum()
    }
}

impl Wires {
    fn is_full(&mut self, faults: &Faults, link: (u32, u32)) -> bool {
        let waiting = self.links.get(&link).map_or(0, VecDeque::len);
        waiting >= faults.link_packets_max || self.random.chance(faults.full_percent)
    }

    fn put(
        &mut self,
        now: Time,
        faults: &Faults,
        (from, to): (u32, u32),
        prefix: [u8; PREFIX_BYTES],
        payload: Vec<u8>,
    ) {
        let link = self.links.entry((from, to)).or_default();
        let earliest = link.back().map_or(0, |before| before.due);
        let due = earliest.max(now + 1 + self.random.below(faults.delay_max));
        link.push_back(Packet {
            prefix,
            payload,
            due,
        });
        self.packets += 1;
        self.arrivals.push((due, from, to));
    }
}

/// A rank's end of all links, as the engine's carrier of packets.
pub(crate) struct JoinFacts<'f> {
    rank: u32,
    now: Time,
    faults: Faults,
    alive: &'f [bool],
    arenas: &'f [RefCell<Arena>],
    wires: &'f mut Wires,
    /// The packet that arrives, and from whom.
    arrived: Option<(u32, Packet)>,
    /// How much of its payload has been shown; packets arrive in pieces now and then.
    shown: usize,
    /// What the rest of its payload belongs to.
    stream: Option<Stream>,
    /// A link was full.
    pub was_full: bool,
}

impl JoinFacts<'_> {
    /// Takes the next packet off the link from `from`: the next event. False if there is none.
    pub fn fetch_from(&mut self, from: u32) -> bool {
        let link = (from, self.rank);
        let Some(queue) = self.wires.links.get_mut(&link) else {
            return false;
        };
        self.arrived = queue.pop_front().map(|packet| (from, packet));
        if queue.is_empty() {
            self.wires.links.remove(&link);
        }
        self.stream = None;
        self.shown = 0;
        if let Some((_, packet)) = &self.arrived {
            let whole = packet.payload.len();
            self.shown = match self.wires.random.chance(PIECES_PERCENT) {
                true => self.wires.random.below(whole as u64 + 1) as usize,
                false => whole,
            };
        }
        self.arrived.is_some()
    }

    /// Puts a packet on its link, unless that is full.
    fn put(
        &mut self,
        to: u32,
        prefix: [u8; PREFIX_BYTES],
        payload: Option<Payload<Area>>,
    ) -> Result<Sent, Infallible> {
        let has_room = match self.alive[to as usize] {
            true => !self.wires.is_full(&self.faults, (self.rank, to)),
            // The ring of a process that has just died swallows what it is given, or is full for
            // ever; nobody knows yet.
            false => self.wires.random.chance(50),
        };
        if !has_room {
            self.was_full = true;
            return Ok(Sent::Later);
        }
        if self.alive[to as usize] {
            let arena = self.arenas[self.rank as usize].borrow();
            let payload = payload.map_or(Vec::new(), |piece| {
                arena.read(piece.buffer, piece.offset, piece.bytes).to_vec()
            });
            let link = (self.rank, to);
            self.wires
                .put(self.now, &self.faults, link, prefix, payload);
        }
        Ok(Sent::Left)
    }
}

impl Outgoing<Area> for JoinFacts<'_> {
    type Error = Infallible;

    fn send_now(&mut self, to: u32, header: &Eager, buffer: Area) -> Result<Sent, Infallible> {
        let mut prefix = [0; PREFIX_BYTES];
        header.emit_prefix(&mut prefix);
        let bytes = header.envelope.bytes() as usize;
        let whole = Payload {
            buffer,
            offset: 0,
            bytes,
        };
        self.put(to, prefix, Some(whole))
    }

    fn send(&mut self, transmit: &Transmit<Area>) -> Result<Sent, Infallible> {
        let mut prefix = [0; PREFIX_BYTES];
        transmit.repr.emit_prefix(&mut prefix);
        self.put(transmit.to, prefix, transmit.payload)
    }
}

impl Carrier<Area> for JoinFacts<'_> {
    const SHARES_MEMORY: bool = true;

    fn arrival(&mut self) -> Option<Arrival<'_>> {
        match self.stream {
            None => self.current(),
            Some(_) => None,
        }
    }

    fn event(&mut self) -> Option<Event> {
        let (from, packet) = self.arrived.as_ref()?;
        let left = packet.payload.len() as u64;
        self.shown = 1 + self.wires.random.below(left) as usize;
        Some(Event::Payload { from: *from })
    }

    fn current(&self) -> Option<Arrival<'_>> {
        self.arrived.as_ref().map(|(from, packet)| Arrival {
            from: *from,
            prefix: &packet.prefix,
            bytes: packet.payload.len(),
            outside: Some(&packet.payload[..self.shown]),
            matched: None,
        })
    }

    fn pass(&mut self, bytes: usize) {
        let Some((_, packet)) = &mut self.arrived else {
            return;
        };
        packet.payload.drain(..bytes);
        if packet.payload.is_empty() {
            self.arrived = None;
        }
    }

    fn expect(&mut self, _from: u32, stream: Stream) {
        self.stream = Some(stream);
    }

    fn expected(&self, _from: u32) -> Option<Stream> {
        self.stream
    }

    fn piece(&mut self) -> &[u8] {
        match &self.arrived {
            Some((_, packet)) => &packet.payload[..self.shown],
            None => &[],
        }
    }

    fn expel(&mut self, peer: u32, _reason: &str) {
        self.arrived = None;
        self.wires.links.remove(&(peer, self.rank));
    }

    fn prepare_sleep(&mut self) -> bool {
        self.arrived.is_none()
    }
}

/// Memory as one rank reaches it.
pub(crate) struct View<'f> {
    rank: u32,
    faults: Faults,
    alive: &'f [bool],
    arenas: &'f [RefCell<Arena>],
    refusals: &'f RefCell<Random>,
}

impl Memory<Area> for View<'_> {
    fn write(&mut self, buffer: Area, offset: u64, bytes: &[u8]) {
        self.arenas[self.rank as usize]
            .borrow_mut()
            .write(buffer, offset, bytes);
    }

    fn show<R>(
        &mut self,
        payload: Option<Payload<Area>>,
        take: impl FnOnce(&mut Self, &[u8]) -> R,
    ) -> R {
        let arena = self.arenas[self.rank as usize].borrow();
        let bytes = payload.map_or(Vec::new(), |piece| {
            arena.read(piece.buffer, piece.offset, piece.bytes).to_vec()
        });
        drop(arena);
        take(self, &bytes)
    }

    /// Reads another rank's memory, as the receiver of an offered message may. A dead rank's own
    /// memory is gone; what lies in the shared segment survives it.
    fn fetch(&mut self, wanted: &Fetch<Area>) -> bool {
        let refused = self.faults.fetch_refused_percent;
        let gone = !(wanted.mapped || self.alive[wanted.from as usize]);
        if wanted.from != self.rank && (self.refusals.borrow_mut().chance(refused) || gone) {
            return false;
        }
        let area = Area::from_address(wanted.address);
        let arena = self.arenas[wanted.from as usize].borrow();
        let bytes = arena.read(area, 0, wanted.bytes as usize).to_vec();
        drop(arena);
        self.write(wanted.buffer, 0, &bytes);
        true
    }
}
