//! A context of the driver with connected peers, as a case uses it.
//!
//! The case plays both sides: it writes to `peers`, whose other ends `ours` are registered under
//! the ranks 0, 1, …; what the driver makes of it comes as [`Event`]s, in the order of the records.
//! Buffers stay mapped until the process ends, which is what makes `put` safe here.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use o2g::{Device, Done, Entry, Put, PutError, RecordKind, RecordView};
use oxmpi_wire::Repr;
use oxmpi_wire::o2g::{ANSWER, ANY_SOURCE, ANY_TAG, DONE, NO_BUFFER};

use crate::packet::CONTEXT;
use crate::runner::{Outcome, Trouble, fail};
use crate::sys::Buffer;

/// How long news may take. Generous: software emulation is slow, and the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing must happen where nothing should.
const SILENCE: Duration = Duration::from_millis(100);

/// Slots of entries, unless a case says otherwise.
pub const N_ENTRIES: u32 = 64;
/// Bytes of the dump area, unless a case says otherwise.
pub const DUMP_BYTES: u64 = 1 << 20;

pub struct Ground {
    pub device: Device,
    pub peers: Vec<TcpStream>,
    pub ours: Vec<TcpStream>,
    /// Packets of which payload is missing, by rank.
    partial: HashMap<u32, Packet>,
    /// Entries without buffer, whose payload follows the record.
    bufferless: HashSet<u64>,
}

/// A packet of which everything has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub rank: u32,
    pub repr: Repr,
    /// Slot and cookie of the entry that it met.
    pub entry: Option<(u32, u64)>,
    /// Payload bytes that it had.
    pub bytes: u64,
    /// Of those, what the driver has put into the entry's buffer.
    pub placed: u64,
    /// Of those, what went to the dump area.
    pub payload: Vec<u8>,
}

/// What the driver tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Packet(Packet),
    Farewell { rank: u32, pause: bool },
    Garbage { rank: u32, length: u64, kind: u32 },
    Closed { rank: u32, errno: i32 },
}

/// A receive; the default accepts tag 0 of source 0 and has no buffer.
#[derive(Clone, Copy)]
pub struct Receive {
    pub slot: u32,
    pub generation: u32,
    /// `None` accepts any.
    pub source: Option<u32>,
    pub tag: Option<i32>,
    pub buffer: Option<Buffer>,
    /// A request to send that it meets is answered by the driver.
    pub answer: bool,
}

impl Receive {
    pub fn new(slot: u32, source: Option<u32>, tag: Option<i32>, buffer: Buffer) -> Receive {
        Receive {
            slot,
            generation: 1,
            source,
            tag,
            buffer: Some(buffer),
            answer: false,
        }
    }

    pub fn cookie(&self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    pub fn accepts(&self, repr: &Repr) -> bool {
        self.source
            .is_none_or(|source| source == repr.envelope.source)
            && self.tag.is_none_or(|tag| tag == repr.envelope.tag)
    }

    pub fn entry(&self, tail: u64) -> Entry {
        let mut flags = 0;
        flags |= if self.source.is_none() { ANY_SOURCE } else { 0 };
        flags |= if self.tag.is_none() { ANY_TAG } else { 0 };
        flags |= if self.buffer.is_none() { NO_BUFFER } else { 0 };
        flags |= if self.answer { ANSWER } else { 0 };
        Entry {
            cookie: self.cookie(),
            context: CONTEXT,
            source: self.source.unwrap_or(0),
            tag: self.tag.unwrap_or(0),
            flags,
            reserved: 0,
            address: self.buffer.map_or(0, |buffer| buffer.address()),
            bytes: self.buffer.map_or(0, |buffer| buffer.bytes() as u64),
            tail,
        }
    }
}

/// A connection over loopback: the peer's end and ours.
pub fn connection() -> Outcome<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let peer = TcpStream::connect(listener.local_addr()?)?;
    let (ours, _) = listener.accept()?;
    peer.set_nodelay(true)?;
    Ok((peer, ours))
}

impl Ground {
    pub fn new(peers: usize) -> Outcome<Ground> {
        Ground::with(peers, N_ENTRIES, DUMP_BYTES)
    }

    pub fn with(peers: usize, n_entries: u32, dump_bytes: u64) -> Outcome<Ground> {
        let connections = (0..peers).map(|_| connection()).collect::<Outcome<_>>()?;
        Ground::over(connections, n_entries, dump_bytes)
    }

    /// Over connections that exist: of a process that inherited its ends.
    pub fn over(
        connections: Vec<(TcpStream, TcpStream)>,
        n_entries: u32,
        dump_bytes: u64,
    ) -> Outcome<Ground> {
        let (peers, ours): (Vec<_>, Vec<_>) = connections.into_iter().unzip();
        let device = open(ours.len() as u32 + 8, n_entries, dump_bytes)?;
        for (rank, socket) in ours.iter().enumerate() {
            device.register_socket(socket.as_fd(), rank as u32, &[])?;
        }
        Ok(Ground {
            device,
            peers,
            ours,
            partial: HashMap::new(),
            bufferless: HashSet::new(),
        })
    }

    /// One more connection, with what has been read of it before.
    pub fn join(&mut self, peer: TcpStream, ours: TcpStream, early: &[u8]) -> Outcome<u32> {
        let rank = self.peers.len() as u32;
        self.device.register_socket(ours.as_fd(), rank, early)?;
        self.peers.push(peer);
        self.ours.push(ours);
        Ok(rank)
    }

    pub fn send(&mut self, rank: u32, bytes: &[u8]) -> Outcome {
        Ok(self.peers[rank as usize].write_all(bytes)?)
    }

    pub fn put(&mut self, receive: &Receive) -> Result<Put, PutError> {
        match receive.buffer {
            Some(_) => self.bufferless.remove(&receive.cookie()),
            None => self.bufferless.insert(receive.cookie()),
        };
        put(&self.device, receive, self.device.tail())
    }

    /// Puts a receive that nothing can have arrived for.
    pub fn post(&mut self, receive: &Receive) -> Outcome {
        match self.put(receive)? {
            Put::Posted => Ok(()),
            Put::Again => fail(format!("entry {:#x} was answered EAGAIN", receive.cookie())),
        }
    }

    /// Waits until the entry is done, by looking at its flag only.
    pub fn wait_done(&self, receive: &Receive) -> Outcome<Done> {
        let start = Instant::now();
        while self.device.state(receive.slot) != DONE {
            if start.elapsed() > PATIENCE {
                let done = self.device.done(receive.slot);
                let counters = self.device.counters()?;
                return fail(format!(
                    "entry {:#x} is not done after {PATIENCE:?}: {done:?}, {counters:?}",
                    receive.cookie()
                ));
            }
            std::thread::yield_now();
        }
        let done = self.device.done(receive.slot);
        if done.cookie != receive.cookie() {
            return fail(format!(
                "slot {} is done with cookie {:#x}, expected {:#x}",
                receive.slot,
                done.cookie,
                receive.cookie()
            ));
        }
        Ok(done)
    }

    /// The next event; sleeps for it.
    pub fn next(&mut self) -> Outcome<Event> {
        let start = Instant::now();
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            self.device.go_on()?;
            self.device.wait(Some(Duration::from_secs(1)))?;
            if start.elapsed() > PATIENCE {
                let counters = self.device.counters()?;
                let partial: Vec<_> = self.partial.values().map(Packet::missing).collect();
                return fail(format!(
                    "nothing came in {PATIENCE:?}: {counters:?}, payload missing {partial:?}"
                ));
            }
        }
    }

    pub fn next_packet(&mut self) -> Outcome<Packet> {
        match self.next()? {
            Event::Packet(packet) => Ok(packet),
            other => fail(format!("a packet was expected: {other:?}")),
        }
    }

    /// The next event, if everything of it is here.
    pub fn try_next(&mut self) -> Outcome<Option<Event>> {
        while let Some(view) = self.device.peek()? {
            let end = view.end();
            let event = absorb(&mut self.partial, &self.bufferless, view)?;
            self.device.advance_to(end)?;
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Packets of which payload is missing.
    pub fn partial(&self) -> impl Iterator<Item = &Packet> {
        self.partial.values()
    }

    /// A socket was forgotten in the middle of a packet, whose rest will not come. Whether it was.
    pub fn forget_partial(&mut self, rank: u32) -> bool {
        self.partial.remove(&rank).is_some()
    }

    /// Nothing comes.
    pub fn silence(&mut self) -> Outcome {
        std::thread::sleep(SILENCE);
        match self.try_next()? {
            None => Ok(()),
            Some(event) => fail(format!("nothing was expected: {event:?}")),
        }
    }
}

/// A device after `init` and `set_dump_area`.
pub fn open(n_socks: u32, n_entries: u32, dump_bytes: u64) -> Outcome<Device> {
    let mut device = Device::open()?;
    device.init(n_socks, n_entries)?;
    device.set_dump_area(dump_bytes)?;
    Ok(device)
}

/// Puts a receive with a tail of the caller's choice.
pub fn put(device: &Device, receive: &Receive, tail: u64) -> Result<Put, PutError> {
    // SAFETY: a `Buffer` is memory of this process that serves nothing else and is never given to
    // anybody else.
    unsafe { device.put_entry(&receive.entry(tail)) }
}

impl Packet {
    fn missing(&self) -> u64 {
        self.bytes - self.payload.len() as u64
    }
}

/// Makes events of records: payload that comes in pieces is collected.
fn absorb(
    partial: &mut HashMap<u32, Packet>,
    bufferless: &HashSet<u64>,
    view: RecordView<'_>,
) -> Outcome<Option<Event>> {
    let rank = view.rank;
    let packet = match view.kind {
        RecordKind::Filler => return Ok(None),
        RecordKind::Farewell => {
            let pause = view.detail == 1;
            return Ok(Some(Event::Farewell { rank, pause }));
        }
        RecordKind::Garbage => {
            let (length, kind) = (view.packet_bytes, view.detail);
            return Ok(Some(Event::Garbage { rank, length, kind }));
        }
        RecordKind::Closed => {
            // What was missing will not come.
            partial.remove(&rank);
            let errno = view.detail as i32;
            return Ok(Some(Event::Closed { rank, errno }));
        }
        RecordKind::Packet => {
            let repr = Repr::parse_prefix(&view.prefix)
                .map_err(|error| Trouble::Fail(format!("{view:?}: {error}")))?;
            let packet = Packet {
                rank,
                repr,
                entry: view.entry,
                bytes: view.packet_bytes,
                placed: view.placed,
                payload: view.payload.to_vec(),
            };
            let is_placed = packet
                .entry
                .is_some_and(|(_, cookie)| !bufferless.contains(&cookie));
            if partial.contains_key(&rank) {
                return fail(format!("{packet:?} came within the payload of another"));
            }
            if is_placed || packet.missing() == 0 {
                return Ok(Some(Event::Packet(packet)));
            }
            packet
        }
        RecordKind::Payload => {
            let Some(mut packet) = partial.remove(&rank) else {
                return fail(format!("payload of no packet: {view:?}"));
            };
            packet.payload.extend_from_slice(view.payload);
            if packet.payload.len() as u64 > packet.bytes {
                return fail(format!("more payload than announced: {packet:?}"));
            }
            if packet.missing() == 0 {
                return Ok(Some(Event::Packet(packet)));
            }
            packet
        }
    };
    partial.insert(rank, packet);
    Ok(None)
}
