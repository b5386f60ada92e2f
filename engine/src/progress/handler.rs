//! The handler: takes packets from the port, asks the protocol, moves the bytes, sends what is due.
//!
//! It runs under the engine's lock, by whoever has it: a thread that waits (reaping), a thread that posts, or the driver.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use oxmpi_matching::Pattern;
use oxmpi_net::choice::Choice;
use oxmpi_ports::extent::Mappings;
use oxmpi_ports::{Port, PortError, PortState, Segment, SegmentError, fetch};
use oxmpi_wire::{Eager, Envelope, Kind, Repr};

use super::area::Area;
use super::entries::{Entries, is_matched};
use super::extents::Extents;
use super::places::Places;
use super::rates::Rates;
use super::remote::Remote;
use super::sleepers::{OnBell, Sleepers};
use super::wait::WaitPolicy;
use crate::error::{EngineError, Fault};
use crate::protocol::{
    Arrived, Completion, Effect, Failure, Fetch, Posted, Protocol, RequestId, Transmit,
};

/// Copies from this length on are timed: the clock costs a hundredth of them.
const TIMED_BYTES_MIN: usize = 32 << 10;
/// Packets taken in one go before the caller looks whether its own business is done.
pub(super) const BATCH_MAX: usize = 32;

pub(crate) struct Handler {
    pub port: Port,
    pub protocol: Protocol<Area>,
    pub policy: WaitPolicy,
    rates: Rates,
    pub mappings: Mappings,
    /// Memory of this process that others can map.
    pub extents: Arc<Extents>,
    /// Futures to wake when their request is over.
    pub wakers: Vec<(RequestId, Waker)>,
    /// Threads of the application that wait inside.
    pub inside: u32,
    /// Threads of the application that sleep.
    pub sleepers: Sleepers,
    /// Something happened outside the waiting loop that may concern who waits, awake or asleep.
    pub news: bool,
    /// Threads that wait run the work of the layers above too.
    pub has_background: bool,
    /// The engine cannot go on.
    pub broken: Option<EngineError>,
    /// Long messages may be fetched out of the sender's memory.
    pub single_copy: bool,
    pub(super) departures: u32,
    /// Who shares this host.
    pub places: Places,
    /// What reaches the others.
    pub remote: Option<Box<Remote>>,
    /// Receives that a driver has, if there is one.
    pub entries: Option<Box<Entries>>,
    pub rank: u32,
    pub(super) host: String,
}

/// How the processes of this job talk, for people to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The process has nobody to talk to.
    Alone,
    /// Through ports; long messages in a single copy where that is measured to be cheaper.
    PortsAndSingleCopy,
    /// Through ports; the kernel does not permit to read other processes' memory.
    PortsOnly,
    /// Through ports; single copies are switched off.
    SingleCopyOff,
    /// Every other process is on another host.
    Network(Choice),
    /// Through ports on this host, by a network to others.
    PortsAndNetwork(Choice),
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::Network(choice) => return choice.fmt(f),
            Transport::PortsAndNetwork(choice) => {
                return write!(f, "ports on this host, to others {choice}");
            }
            Transport::Alone => "alone, nobody to talk to",
            Transport::PortsAndSingleCopy => "ports, single copy where it is faster",
            Transport::PortsOnly => "ports, no single copy (the kernel refuses it)",
            Transport::SingleCopyOff => "ports, no single copy (switched off)",
        })
    }
}

impl Handler {
    pub fn new(
        port: Port,
        protocol: Protocol<Area>,
        policy: WaitPolicy,
        single_copy: bool,
        places: Places,
        remote: Option<Box<Remote>>,
        host: String,
    ) -> Self {
        let segment = Arc::clone(port.segment());
        let shared = remote
            .as_ref()
            .is_some_and(|remote| remote.net.has_driver());
        Self {
            entries: shared.then(|| Box::new(Entries::new())),
            rank: places.me(),
            places,
            remote,
            port,
            protocol,
            rates: Rates::new(policy.is_crowded()),
            policy,
            mappings: Mappings::new(segment),
            extents: Arc::default(),
            wakers: Vec::new(),
            inside: 0,
            sleepers: Sleepers::new(),
            news: false,
            has_background: false,
            broken: None,
            single_copy,
            departures: 0,
            host,
        }
    }

    pub fn segment(&self) -> &Arc<Segment> {
        self.port.segment()
    }

    /// As [`Handler::advance`], for callers that are not the waiting loop: what they took in may be what a thread that waits, or its background work, awaits.
    #[inline(always)]
    pub fn progress(&mut self, watched: Option<RequestId>) -> bool {
        let happened = self.advance(watched);
        self.news |= happened;
        happened
    }

    /// Whether something has happened since the waiting loop looked last, by its own hand or by others'.
    #[inline(always)]
    pub fn has_advanced(&mut self, watched: Option<RequestId>) -> bool {
        let happened = self.advance(watched);
        let news = std::mem::take(&mut self.news);
        if news && self.has_listeners() {
            self.tell_others(true);
        }
        happened | news
    }

    /// Takes what has arrived and sends what is due. True if anything happened. Stops early when `watched` is over.
    #[inline(always)]
    fn advance(&mut self, watched: Option<RequestId>) -> bool {
        if self.broken.is_some() {
            // Who waited has been told that it failed, and has its memory back.
            return false;
        }
        let mut happened = false;
        for _ in 0..BATCH_MAX {
            if !self.take_packet() {
                break;
            }
            happened = true;
            if watched.is_some_and(|id| self.protocol.is_complete(id)) {
                break;
            }
        }
        if self.remote.is_some() {
            happened |= self.progress_remote(watched);
        }
        if !self.protocol.busy().is_empty() {
            happened |= self.flush();
        }
        if self.port.segment().departures() != self.departures {
            self.notice_departures();
            happened = true;
        }
        if happened && self.has_listeners() {
            self.tell_others(true);
        }
        happened
    }

    /// Handles one arrived packet, if there is one.
    #[inline(always)]
    fn take_packet(&mut self) -> bool {
        let Some(mut arrival) = self.port.poll() else {
            return false;
        };
        if self.entries.is_some() {
            self.make_way_for_arrival();
            let Some(same) = self.port.current() else {
                return false;
            };
            arrival = same;
        }
        let from = self.places.process(arrival.from);
        if let Some(header) = Eager::parse_prefix(arrival.prefix) {
            let payload = arrival.payload(oxmpi_wire::HEADER_BYTES);
            match self.protocol.handle_eager(from, &header, payload) {
                Arrived::Deliver(buffer, bytes) => {
                    buffer.write(0, &payload[..bytes]);
                    self.port.consume();
                    return true;
                }
                Arrived::Kept => {
                    self.port.consume();
                    return true;
                }
                // The general way below finds out why.
                Arrived::Refused => {}
            }
        }
        self.take_other_packet();
        true
    }

    /// Takes the next message from `from` without posting the receive, while nothing else is queued. `None`: it is not there, or
    /// needs the general way.
    #[inline(always)]
    pub fn receive_directly(
        &mut self,
        from: u32,
        port: u32,
        pattern: &Pattern,
        buffer: Area,
        capacity: u64,
    ) -> Option<Completion> {
        let arrival = self.port.poll_from(port)?;
        let header = Eager::parse_prefix(arrival.prefix)?;
        let payload = arrival.payload(oxmpi_wire::HEADER_BYTES);
        let Envelope {
            source, tag, bytes, ..
        } = header.envelope;
        if bytes > capacity
            || !self
                .protocol
                .take_directly(from, &header, payload.len(), pattern)
        {
            return None;
        }
        buffer.write(0, payload);
        self.port.consume();
        Some(Completion {
            source,
            tag,
            bytes,
            cancelled: false,
        })
    }

    /// Handles the packet that the port has just shown, of whatever kind.
    #[inline(never)]
    fn take_other_packet(&mut self) {
        let Some(arrival) = self.port.current() else {
            return;
        };
        let from = self.places.process(arrival.from);
        let repr = match Repr::parse_prefix(arrival.prefix) {
            Ok(repr) => repr,
            Err(error) => {
                self.port.consume();
                self.break_down(from, error.to_string());
                return;
            }
        };
        let payload = arrival.payload(repr.bytes_on_wire());
        if matches!(repr.kind, Kind::RequestToSend { .. }) && self.single_copy {
            self.protocol.set_fetching(self.rates.choose_fetch());
        }
        let effect = self.protocol.handle(from, &repr, payload);
        if let Ok(Effect::Deliver {
            buffer,
            offset,
            bytes,
        }) = &effect
        {
            let started = (*bytes >= TIMED_BYTES_MIN).then(Instant::now);
            buffer.write(*offset, &payload[..*bytes]);
            if let Some(started) = started {
                self.rates.observe_copy(*bytes as u64, started.elapsed());
            }
        }
        self.port.consume();
        match effect {
            Ok(Effect::None | Effect::Deliver { .. }) => {}
            Ok(Effect::Fetch(fetch)) => self.fetch(&fetch),
            Err(failure) => self.fail(from, failure),
        }
    }

    /// Sends a message that can leave at once; false if its ring is full.
    #[inline(always)]
    pub fn send_eager(
        &mut self,
        to: u32,
        header: &Eager,
        buffer: Area,
    ) -> Result<bool, SegmentError> {
        let emit = |out: &mut [u8; oxmpi_wire::PREFIX_BYTES]| {
            header.emit_prefix(out);
        };
        let bytes = header.envelope.bytes as usize;
        let Some(port) = self.places.port(to) else {
            return Ok(self.send_eager_remote(to, header, buffer));
        };
        match self
            .port
            .send(port, oxmpi_wire::HEADER_BYTES, emit, bytes, |out| {
                buffer.read(0, out)
            }) {
            Ok(()) => {
                self.protocol.sent_eager(to, header);
                Ok(true)
            }
            Err(PortError::Full) => Ok(false),
            Err(PortError::Segment(error)) => Err(error),
        }
    }

    /// Sends what waits, as far as the rings have room. True if anything left.
    #[inline(never)]
    pub fn flush(&mut self) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let news_before = std::mem::take(&mut self.news);
        let mut left = false;
        let mut at = 0;
        while let Some(&peer) = self.protocol.busy().get(at) {
            while let Some(transmit) = self.next_transmit(peer) {
                match self.transmit(&transmit) {
                    Ok(true) => left = true,
                    Ok(false) => break,
                    Err(error) => {
                        self.break_for_memory(&error);
                        return true;
                    }
                }
            }
            at += 1;
        }
        self.protocol.settle();
        // A packet that had left in part and is out now is news too.
        left |= self.news;
        self.news = news_before | left;
        left
    }

    /// The next packet for a peer, unless one that has left in part must go first.
    #[inline(always)]
    fn next_transmit(&mut self, peer: u32) -> Option<Transmit<Area>> {
        if self.remote.is_some() && !self.finish_partial(peer) {
            return None;
        }
        self.protocol.poll_transmit(peer)
    }

    /// Sends one packet; false if the ring is full.
    #[inline(always)]
    pub fn transmit(&mut self, transmit: &Transmit<Area>) -> Result<bool, SegmentError> {
        if transmit.to == self.rank {
            self.loop_back(transmit);
            return Ok(true);
        }
        let Some(port) = self.places.port(transmit.to) else {
            return Ok(self.transmit_remote(transmit));
        };
        let header = |out: &mut [u8; oxmpi_wire::PREFIX_BYTES]| {
            transmit.repr.emit_prefix(out);
        };
        let bytes = transmit.payload.map_or(0, |payload| payload.bytes);
        let fill = |out: &mut [u8]| {
            if let Some(payload) = transmit.payload {
                payload.buffer.read(payload.offset, out);
            }
        };
        let used = transmit.repr.bytes_on_wire();
        let sent = self.port.send(port, used, header, bytes, fill);
        match sent {
            Ok(()) => {
                self.protocol.sent(transmit);
                Ok(true)
            }
            Err(PortError::Full) => Ok(false),
            Err(PortError::Segment(error)) => Err(error),
        }
    }

    /// A message of this process to itself goes straight to the protocol.
    fn loop_back(&mut self, transmit: &Transmit<Area>) {
        self.news = true;
        self.protocol.sent(transmit);
        let payload: &[u8] = match transmit.payload {
            // SAFETY: the sending request's promise covers the piece.
            Some(payload) if payload.bytes > 0 => unsafe {
                std::slice::from_raw_parts(payload.buffer.at(payload.offset), payload.bytes)
            },
            _ => &[],
        };
        if self.entries.is_some() && is_matched(&transmit.repr.kind) {
            self.make_way(&transmit.repr.envelope);
        }
        match self.protocol.handle(self.rank, &transmit.repr, payload) {
            Ok(Effect::None) => {}
            Ok(Effect::Deliver {
                buffer,
                offset,
                bytes,
            }) => buffer.write_own(offset, &payload[..bytes]),
            Ok(Effect::Fetch(fetch)) => self.fetch(&fetch),
            Err(failure) => self.fail(self.rank, failure),
        }
    }

    /// What a posted receive found is carried out.
    #[inline(always)]
    pub fn carry_out(&mut self, posted: Posted<Area>, buffer: Area) {
        match posted {
            Posted::Waiting => {}
            Posted::Stashed { stash, bytes } => {
                buffer.write(0, &stash[..bytes]);
                self.protocol.recycle(stash);
            }
            Posted::Fetch(fetch) => self.fetch(&fetch),
        }
        // An answer may be due (clear to send, done, credit).
        if !self.protocol.busy().is_empty() {
            self.flush();
        }
    }

    /// Copies a message out of the sender's memory.
    pub(super) fn fetch(&mut self, wanted: &Fetch<Area>) {
        let done = if wanted.bytes == 0 {
            true
        } else if wanted.mapped {
            match self.mappings.borrow(wanted.address, wanted.bytes) {
                Ok(address) => {
                    // SAFETY: the mapping covers the bytes until released; the sender leaves them alone until we say done.
                    let bytes =
                        unsafe { std::slice::from_raw_parts(address, wanted.bytes as usize) };
                    wanted.buffer.write(0, bytes);
                    self.mappings.release(wanted.address, wanted.bytes);
                    true
                }
                Err(_) => false,
            }
        } else if wanted.from == self.rank {
            // SAFETY: our own sending request's promise covers the bytes.
            let bytes = unsafe {
                std::slice::from_raw_parts(
                    wanted.address as usize as *const u8,
                    wanted.bytes as usize,
                )
            };
            wanted.buffer.write_own(0, bytes);
            true
        } else {
            let pid = self
                .places
                .port(wanted.from)
                .map_or(0, |port| self.segment().pid(port));
            let started = Instant::now();
            // SAFETY: the receiving request's promise covers the buffer.
            let fetched = unsafe {
                fetch::fetch(
                    pid,
                    wanted.address,
                    wanted.buffer.at(0),
                    wanted.bytes as usize,
                )
                .is_ok()
            };
            self.rates.observe_fetch(wanted.bytes, started.elapsed());
            fetched
        };
        self.protocol.fetched(wanted, done);
    }

    #[cold]
    fn notice_departures(&mut self) {
        self.departures = self.segment().departures();
        let (me, ports) = (self.port.index(), self.segment().ports());
        for port in (0..ports).filter(|&port| port != me) {
            let state = self.segment().state(port);
            let peer = self.places.process(port);
            if self.places.port(peer).is_none() {
                // It is reached by the network, and its death is noticed as that of a process of another host.
                continue;
            }
            if !matches!(state, PortState::Finished | PortState::Dead(_)) {
                continue;
            }
            // What it sent before it left still counts.
            while self.take_packet() {}
            match state {
                PortState::Dead(_) => self.peer_died(peer),
                _ => self.peer_finished(peer),
            }
        }
        self.notice_remote_deaths();
    }

    /// Whether a sleeping thread or a future may have to be told what happens.
    #[inline(always)]
    pub fn has_listeners(&self) -> bool {
        self.sleepers.are_untold() || !self.wakers.is_empty()
    }

    /// Tells sleeping threads and futures whose request is over. `happened`: also threads that look for themselves.
    #[cold]
    pub fn tell_others(&mut self, happened: bool) {
        let protocol = &self.protocol;
        let broken = self.broken.is_some();
        let concerns = |watched: Option<RequestId>| match watched {
            Some(id) => broken || protocol.is_complete(id),
            None => broken || happened,
        };
        if self.sleepers.take_concerned(concerns) {
            self.sleepers.tell(true);
            self.rouse_bell();
        }
        let protocol = &self.protocol;
        self.wakers.retain(|(id, waker)| {
            let over = broken || protocol.is_complete(*id);
            if over {
                waker.wake_by_ref();
            }
            !over
        });
    }

    /// Wakes the thread that sleeps on the doorbell, if one does.
    pub fn rouse_bell(&mut self) {
        if matches!(self.sleepers.on_bell, OnBell::Asleep { .. }) {
            self.sleepers.on_bell = OnBell::Roused;
            // Whatever the word says: a look at the rings that found something has called this process awake.
            self.port.bell().announce_awake();
            self.segment().wake(self.port.index());
        }
    }

    /// Makes it safe to sleep: messages and departures will ring the doorbell. False if there is something to do first.
    pub fn prepare_sleep(&mut self) -> bool {
        if !self.port.prepare_sleep() {
            return false;
        }
        let remote = self.remote.as_mut();
        let busy = remote.is_some_and(|remote| !remote.net.prepare_sleep());
        // Ordered after the announcement, as the look at the rings is: who departs counts first and rings afterwards.
        if busy || self.port.segment().departures() != self.departures {
            self.port.bell().announce_awake();
            return false;
        }
        true
    }

    /// How this process talks to the others, found out by asking the kernel.
    pub fn transport(&self) -> Transport {
        let me = self.port.index();
        let attached = |&port: &u32| port != me && self.segment().pid(port) != 0;
        if let Some(remote) = &self.remote {
            return match self.places.is_alone_here() {
                true => Transport::Network(remote.choice),
                false => Transport::PortsAndNetwork(remote.choice),
            };
        }
        match (0..self.segment().ports()).find(attached) {
            _ if self.segment().ports() == 1 => Transport::Alone,
            _ if !self.single_copy => Transport::SingleCopyOff,
            Some(port) if fetch::is_refused(self.segment().pid(port)) => Transport::PortsOnly,
            _ => Transport::PortsAndSingleCopy,
        }
    }

    /// A failure that concerns no single request ends the engine's work.
    #[cold]
    pub(super) fn fail(&mut self, from: u32, failure: Failure) {
        match failure {
            Failure::UnexpectedFull { peer, messages } => {
                let (rank, host) = (self.rank, self.host.clone());
                self.break_with(
                    Fault::UnexpectedFull {
                        rank,
                        host,
                        peer,
                        messages,
                    }
                    .into(),
                );
            }
            Failure::PacketLost {
                expected, found, ..
            } => {
                self.break_down(from, format!("packet {expected} is missing, {found} came"));
            }
            Failure::Malformed { what, .. } => self.break_down(from, what.into()),
            Failure::Truncated { .. } | Failure::PeerDied { .. } => {
                unreachable!("{failure:?} concerns a request, not the engine")
            }
        }
    }

    #[cold]
    pub(super) fn break_down(&mut self, peer: u32, reason: String) {
        let (rank, host) = (self.rank, self.host.clone());
        self.break_with(
            Fault::Protocol {
                rank,
                host,
                peer,
                reason,
            }
            .into(),
        );
    }

    /// The engine cannot go on. Who waits is told and has its memory back, so nobody may write there any more.
    #[cold]
    fn break_with(&mut self, error: EngineError) -> EngineError {
        self.close_driver();
        self.broken.get_or_insert(error).clone()
    }

    #[cold]
    pub fn break_for_memory(&mut self, error: &SegmentError) -> EngineError {
        let error = EngineError::memory(self.rank, &self.host, error);
        self.break_with(error)
    }

    /// The application is about to learn that a process is lost: if it fails now, the launcher looks for the reason elsewhere.
    #[cold]
    pub(super) fn note_loss(&self) {
        self.segment().note_loss(self.port.index());
    }

    /// The engine's words for a request's failure.
    #[cold]
    pub fn explain(&mut self, failure: Failure) -> EngineError {
        let fault = match failure {
            Failure::Truncated {
                source,
                tag,
                bytes,
                capacity,
            } => Fault::Truncated {
                rank: self.rank,
                source_rank: source,
                tag,
                bytes,
                capacity,
            },
            Failure::PeerDied { peer } if self.places.port(peer).is_none() => {
                self.explain_remote(peer)
            }
            Failure::PeerDied { peer } => {
                let port = self.places.port(peer).unwrap_or_default();
                let death = match self.segment().state(port) {
                    PortState::Dead(death) => Some(death),
                    _ => None,
                };
                if death.is_some() {
                    self.note_loss();
                }
                Fault::PeerDied {
                    rank: self.rank,
                    peer,
                    host: self.host.clone(),
                    death,
                }
            }
            other => Fault::Protocol {
                rank: self.rank,
                host: self.host.clone(),
                peer: self.rank,
                reason: format!("{other:?}"),
            },
        };
        fault.into()
    }
}
