//! Links and memory: what lies between and beside the ranks.
//!
//! A link is one ordered pair of ranks. It delays each packet by chance but keeps their order, as a ring or a
//! connection does; different links overtake each other freely. It holds a bounded number of packets and
//! says "full" beyond that, and now and then without reason. Memory is one arena per rank; a buffer that
//! has been freed is gone, so that a protocol which touches it after completion is caught.

use std::collections::{HashMap, VecDeque};

use oxmpi_wire::PREFIX_BYTES;

use crate::random::Random;

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

/// The link has no room now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkFull;

/// All links and all memory.
#[derive(Debug)]
pub struct Fabric {
    /// The ranks' memory.
    pub arenas: Vec<Arena>,
    /// The faults.
    pub faults: Faults,
    /// The present.
    pub now: Time,
    /// Packets that have been sent, for reports.
    pub packets: u64,
    random: Random,
    links: HashMap<(u32, u32), VecDeque<Packet>>,
    alive: Vec<bool>,
    /// Arrivals to be put on the world's agenda: when, from, to.
    pub(crate) arrivals: Vec<(Time, u32, u32)>,
}

impl Fabric {
    /// Links and memory for `size` ranks.
    pub fn new(size: u32, faults: Faults, random: Random) -> Fabric {
        Fabric {
            arenas: (0..size).map(|_| Arena::default()).collect(),
            faults,
            now: 0,
            packets: 0,
            random,
            links: HashMap::new(),
            alive: vec![true; size as usize],
            arrivals: Vec::new(),
        }
    }

    /// Puts a packet on the link; `payload` is asked for only if it leaves.
    pub fn send(
        &mut self,
        from: u32,
        to: u32,
        prefix: [u8; PREFIX_BYTES],
        payload: impl FnOnce(&Arena) -> Vec<u8>,
    ) -> Result<(), LinkFull> {
        let waiting = self.links.get(&(from, to)).map_or(0, VecDeque::len);
        if waiting >= self.faults.link_packets_max || self.random.chance(self.faults.full_percent) {
            return Err(LinkFull);
        }
        let payload = payload(&self.arenas[from as usize]);
        let link = self.links.entry((from, to)).or_default();
        let earliest = link.back().map_or(0, |before| before.due);
        let due = earliest.max(self.now + 1 + self.random.below(self.faults.delay_max));
        link.push_back(Packet {
            prefix,
            payload,
            due,
        });
        self.packets += 1;
        self.arrivals.push((due, from, to));
        Ok(())
    }

    /// Takes the next packet off a link.
    pub fn take(&mut self, from: u32, to: u32) -> Option<Packet> {
        let link = self.links.get_mut(&(from, to))?;
        let packet = link.pop_front();
        if link.is_empty() {
            self.links.remove(&(from, to));
        }
        packet
    }

    /// Reads another rank's memory, as the receiver of an offered message may. A dead rank's own memory is gone; what lies in
    /// the shared segment survives it.
    pub fn fetch(
        &mut self,
        from: u32,
        to: u32,
        address: u64,
        mapped: bool,
        bytes: usize,
        into: Area,
    ) -> bool {
        if from != to
            && (self.random.chance(self.faults.fetch_refused_percent)
                || !(mapped || self.is_alive(from)))
        {
            return false;
        }
        let bytes = self.arenas[from as usize]
            .read(Area::from_address(address), 0, bytes)
            .to_vec();
        self.arenas[to as usize].write(into, 0, &bytes);
        true
    }

    /// Whether a link to a dead rank has room for one more packet that nobody will take.
    pub(crate) fn swallows(&mut self) -> bool {
        self.random.chance(50)
    }

    /// Whether the rank lives.
    pub fn is_alive(&self, rank: u32) -> bool {
        self.alive[rank as usize]
    }

    /// The rank dies. What it has put on links still arrives; what was under way to it is lost.
    pub(crate) fn kill(&mut self, rank: u32) {
        self.alive[rank as usize] = false;
        self.links.retain(|(_, to), _| *to != rank);
    }

    /// Packets under way.
    pub fn in_flight(&self) -> usize {
        self.links.values().map(VecDeque::len).sum()
    }
}
