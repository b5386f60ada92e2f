//! TCP: one connection per pair of processes that talk, made on first use.
//!
//! The handler (the engine, under its lock) *polls* the device: it drains the sockets that have something, and gets packets as their heads arrive,
//! so that matching happens while reading; the payload of a matched message is then read from the socket straight into the user's buffer.
//! Finding the sockets costs the same for one connection and for a thousand: readiness is told by the kernel, once per change
//! (edge-triggered), and only the few connections that spoke last are looked at directly, because a look at one that is about to speak is
//! faster than being told.
//!
//! Call order: [`Listener::bind`] before cards are exchanged, [`Tcp::new`] after it; [`Tcp::poll`] until `None`, reading each packet's payload by
//! [`Tcp::at_hand`] and [`Tcp::read_into`]; [`Tcp::send`], and [`Tcp::resume`] where it took a packet only in part. `meeting` makes connections, `connection` holds
//! one, `frame` is the stream's format, `vigil` notices hosts that vanished.

mod connection;
#[allow(unsafe_code)]
mod epoll;
mod frame;
mod meeting;
mod plain;
#[allow(unsafe_code)]
mod socket;
mod vigil;

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use oxmpi_wire::PREFIX_BYTES;

use crate::card::Card;
use crate::key::JobKey;
pub use connection::Sent;
use connection::{CALL_BYTES, Connection};
use epoll::{Change, Epoll};
use frame::{LENGTH_BYTES, Next};
pub use frame::PAYLOAD_MAX;
use meeting::{Dial, Strangers};
pub use meeting::{BindError, Listener};
pub use plain::Progress;
use socket::Moved;
use vigil::Vigil;

/// What is read at once when nobody knows yet whose it is.
const SCRATCH_BYTES: usize = 64 << 10;
/// Payload of which less than this is missing is read together with what follows it, and copied.
const DIRECT_BYTES_MIN: usize = 4 << 10;
/// Connections looked at directly: those that spoke last.
const HOT_MAX: usize = 2;
/// Looks between two questions to the kernel what else has changed.
const LOOKS_PER_QUESTION: u32 = 4;
/// Looks between two looks at the clock, while connections are being made.
const LOOKS_PER_CLOCK: u32 = 256;
/// A sleeper looks after its connections this often.
const NAP_MAX: Duration = Duration::from_secs(1);

/// Processes to which connections fit any limit of open files.
const FEW: u32 = 256;

/// Tells a process's card; asked when it is first talked to.
pub type Directory = Box<dyn FnMut(u32) -> Result<Card, String> + Send>;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A packet begins; its payload follows by [`Tcp::at_hand`] and [`Tcp::read_into`].
    Packet {
        /// The process it comes from.
        from: u32,
        /// Header and body, and whatever was there behind them before.
        prefix: [u8; PREFIX_BYTES],
        /// Payload bytes.
        payload: usize,
    },
    /// More payload of a packet that began earlier can be read.
    Payload {
        /// The process it comes from.
        from: u32,
    },
    /// A process has said goodbye.
    Finished(u32),
    /// A process cannot be reached any more, or never could; [`Tcp::trouble`] says why.
    Lost(u32),
}

/// Why a process cannot be reached.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// Its host, as far as it is known.
    pub host: String,
    /// What happened, with addresses.
    pub what: String,
}

/// What `oxmpi info` and reports show.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Connections dialled and accepted.
    pub connections: u64,
    /// Connections of strangers and other jobs that were turned away.
    pub refused: u64,
    /// System calls that read, and those of them that found nothing.
    pub reads: u64,
    /// As above.
    pub empty_reads: u64,
    /// Questions to the kernel what has changed.
    pub questions: u64,
}

/// What there is between this process and another.
enum Link {
    /// Nothing yet.
    Idle,
    /// This process dials.
    Dialling(Box<Dial>),
    /// The other process dials too and its dial stays, or it closed ours: at that time we dial again, and have done so this often.
    Awaiting(Instant, u32),
    /// Connected.
    Open(Box<Connection>),
    /// It has finalised.
    Finished,
    /// It cannot be reached.
    Lost(Box<Trouble>),
}

/// The device of one process.
pub struct Tcp {
    me: u32,
    key: JobKey,
    directory: Directory,
    epoll: Epoll,
    listener: Listener,
    links: Vec<Link>,
    strangers: Strangers,
    /// Connections that may have something to read.
    ready: VecDeque<u32>,
    /// Connections that spoke last: looked at directly.
    hot: Vec<u32>,
    /// The next hot connection of this look; past the end: the kernel's turn.
    turn: usize,
    looks: u32,
    /// What was read last and not yet taken, and whose it is.
    scratch: Box<[u8]>,
    begin: usize,
    end: usize,
    current: Option<u32>,
    /// Connections with bytes that no call has offered to the kernel yet.
    unsent: Vec<u32>,
    events: VecDeque<Event>,
    /// Connections are being made: look at the clock.
    meetings: usize,
    vigil: Vigil,
    /// Open connections.
    open: usize,
    closing: bool,
    progress: Progress,
    /// For the plain loop: what is asked about each connection.
    asked: Vec<u32>,
    entries: Vec<libc::pollfd>,
    counters: Counters,
}

impl Tcp {
    /// The device of process `me` of `size`.
    pub fn new(
        me: u32,
        size: u32,
        key: JobKey,
        listener: Listener,
        directory: Directory,
    ) -> io::Result<Tcp> {
        if size > FEW {
            socket::raise_open_files(size);
        }
        let epoll = Epoll::new()?;
        epoll.watch(listener.fd(), meeting::LISTENER)?;
        Ok(Tcp {
            me,
            key,
            directory,
            epoll,
            listener,
            links: (0..size).map(|_| Link::Idle).collect(),
            strangers: Strangers::default(),
            ready: VecDeque::new(),
            hot: Vec::with_capacity(HOT_MAX),
            turn: 0,
            looks: 0,
            scratch: vec![0; SCRATCH_BYTES].into_boxed_slice(),
            begin: 0,
            end: 0,
            current: None,
            unsent: Vec::new(),
            events: VecDeque::new(),
            meetings: 0,
            vigil: Vigil::new(),
            open: 0,
            closing: false,
            progress: Progress::User,
            asked: Vec::new(),
            entries: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// How connections are found; before the first poll.
    pub fn set_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// The next thing that happened, if anything has. `None` ends a look.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        loop {
            if let Some(from) = self.current {
                if let Some(event) = self.next_in_scratch(from) {
                    return Some(event);
                }
                continue;
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let Some(from) = self.next_to_read() else {
                self.turn = 0;
                return None;
            };
            if let Some(event) = self.read(from) {
                return Some(event);
            }
        }
    }

    /// What the scratch holds next of connection `from`; when it holds nothing more, the connection is no longer current.
    #[inline(always)]
    fn next_in_scratch(&mut self, from: u32) -> Option<Event> {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            self.current = None;
            return None;
        };
        let bytes = &self.scratch[self.begin..self.end];
        if bytes.is_empty() {
            self.current = None;
            return None;
        }
        if connection.left > 0 {
            return Some(Event::Payload { from });
        }
        match frame::next(bytes) {
            Next::Packet { head, payload } => {
                let mut prefix = [0; PREFIX_BYTES];
                prefix[..head - LENGTH_BYTES].copy_from_slice(&bytes[LENGTH_BYTES..head]);
                connection.left = payload;
                self.begin += head;
                return Some(Event::Packet {
                    from,
                    prefix,
                    payload,
                });
            }
            Next::Incomplete => {
                connection.partial[..bytes.len()].copy_from_slice(bytes);
                connection.partial_bytes = bytes.len();
                self.current = None;
            }
            Next::Farewell { pause } => {
                self.current = None;
                self.hear_farewell(from, pause);
            }
            Next::Garbage { length, kind } => {
                let kind = kind.map_or(String::new(), |kind| format!(" and kind {kind}"));
                self.current = None;
                self.lose(
                    from,
                    format!("sent what no OxMPI process sends (length {length}{kind}): does every host have the same version?"),
                );
            }
        }
        None
    }

    /// A connection that is worth a read.
    #[inline(always)]
    fn next_to_read(&mut self) -> Option<u32> {
        loop {
            if let Some(from) = self.ready.pop_front() {
                return Some(from);
            }
            if let Some(&from) = self.hot.get(self.turn) {
                self.turn += 1;
                return Some(from);
            }
            if self.turn > self.hot.len() {
                return None;
            }
            self.turn = self.hot.len() + 1;
            self.looks = self.looks.wrapping_add(1);
            if !self.unsent.is_empty() {
                self.flush_unsent();
            }
            if self.progress == Progress::Sock {
                self.ask_all();
                if !self.looks.is_multiple_of(LOOKS_PER_CLOCK) && self.meetings == 0 {
                    continue;
                }
            }
            if !self.looks.is_multiple_of(LOOKS_PER_QUESTION) && !self.hot.is_empty() {
                return None;
            }
            self.ask_kernel();
            if self.looks.is_multiple_of(LOOKS_PER_CLOCK) {
                self.look_at_clock();
            }
            if !self.events.is_empty() {
                return None;
            }
        }
    }

    /// Asks the kernel what has changed.
    #[inline(never)]
    fn ask_kernel(&mut self) {
        self.counters.questions += 1;
        let (ready, hot, links) = (&mut self.ready, &self.hot, &mut self.links);
        let mut meetings: [Option<Change>; 64] = [None; 64];
        let mut count = 0;
        for change in self.epoll.changes() {
            let Some(Link::Open(connection)) = usize::try_from(change.key)
                .ok()
                .and_then(|rank| links.get_mut(rank))
            else {
                meetings[count] = Some(change);
                count += 1;
                continue;
            };
            let from = change.key as u32;
            if change.writable && connection.blocked {
                connection.blocked = false;
                if !connection.is_flushed() {
                    self.unsent.push(from);
                }
            }
            if change.readable && !hot.contains(&from) {
                ready.push_back(from);
            }
        }
        for change in meetings.into_iter().flatten() {
            self.handle_meeting(change);
        }
    }

    /// Reads from a connection. An event, if it is in the middle of a long payload.
    #[inline(always)]
    fn read(&mut self, from: u32) -> Option<Event> {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return None;
        };
        self.begin = 0;
        self.end = 0;
        if !connection.early.is_empty() {
            // What came together with the end of the handshake; short, because nobody sends much before being sure.
            let early = std::mem::take(&mut connection.early);
            let kept = early.len().min(SCRATCH_BYTES);
            self.scratch[..kept].copy_from_slice(&early[..kept]);
            connection.early = early[kept..].to_vec();
            self.end = kept;
            self.current = Some(from);
            self.ready.push_back(from);
            return None;
        }
        if connection.left >= DIRECT_BYTES_MIN {
            self.current = Some(from);
            return Some(Event::Payload { from });
        }
        let kept = std::mem::take(&mut connection.partial_bytes);
        self.scratch[..kept].copy_from_slice(&connection.partial[..kept]);
        self.counters.reads += 1;
        match connection.socket.read(&mut self.scratch[kept..]) {
            Ok(Moved::Bytes(0)) => self.lose_end(from),
            Ok(Moved::Bytes(bytes)) => {
                connection.used = true;
                self.end = kept + bytes;
                self.current = Some(from);
                if self.end == SCRATCH_BYTES {
                    self.ready.push_back(from);
                }
                self.warm(from);
            }
            Ok(Moved::Blocked) => {
                connection.partial_bytes = kept;
                self.counters.empty_reads += 1;
            }
            Err(error) => self.lose(from, format!("the connection broke: {error}")),
        }
        None
    }

    /// The connection spoke: look at it directly from now on, instead of the one that has been silent longest.
    #[inline(always)]
    fn warm(&mut self, from: u32) {
        if self.hot.first() != Some(&from) && self.progress == Progress::User {
            self.rewarm(from);
        }
    }

    #[inline(never)]
    fn rewarm(&mut self, from: u32) {
        self.hot.retain(|&hot| hot != from);
        self.hot.insert(0, from);
        if self.hot.len() > HOT_MAX
            && let Some(cold) = self.hot.pop()
        {
            // Changes of hot connections are passed over: what came since the last look must be found now.
            self.ready.push_back(cold);
        }
    }

    /// Payload of the current packet that has been read already. [`Tcp::pass`] takes it.
    #[inline(always)]
    pub fn at_hand(&self) -> &[u8] {
        let left = match self.current.map(|from| &self.links[from as usize]) {
            Some(Link::Open(connection)) => connection.left,
            _ => 0,
        };
        &self.scratch[self.begin..self.end.min(self.begin + left)]
    }

    /// So many bytes at hand have been used.
    #[inline(always)]
    pub fn pass(&mut self, bytes: usize) {
        if let Some(from) = self.current
            && let Link::Open(connection) = &mut self.links[from as usize]
        {
            connection.left -= bytes;
            self.begin += bytes;
        }
    }

    /// Reads payload of the current packet into `room` bytes at `into`; says how much came. Only when nothing is at hand.
    ///
    /// # Safety
    /// `into` must be valid for writing `room` bytes.
    #[allow(unsafe_code)]
    pub unsafe fn read_into(&mut self, into: *mut u8, room: usize) -> usize {
        let Some(from) = self.current else { return 0 };
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return 0;
        };
        let wanted = room.min(connection.left).min(CALL_BYTES);
        // What follows the payload is read in the same call only when the payload ends in it.
        let then = if wanted == connection.left {
            SCRATCH_BYTES / 4
        } else {
            0
        };
        self.counters.reads += 1;
        // SAFETY: the caller's promise; the scratch is ours.
        let moved = unsafe {
            connection
                .socket
                .read_two(into, wanted, &mut self.scratch[..then])
        };
        self.begin = 0;
        self.end = 0;
        match moved {
            Ok(Moved::Bytes(0)) => {
                self.current = None;
                self.lose_end(from);
                0
            }
            Ok(Moved::Bytes(bytes)) => {
                let landed = bytes.min(wanted);
                connection.left -= landed;
                self.end = bytes - landed;
                if bytes == wanted + then {
                    self.ready.push_back(from);
                }
                if self.end == 0 {
                    self.current = None;
                }
                self.warm(from);
                landed
            }
            Ok(Moved::Blocked) => {
                self.counters.empty_reads += 1;
                self.current = None;
                0
            }
            Err(error) => {
                self.current = None;
                self.lose(from, format!("the connection broke: {error}"));
                0
            }
        }
    }

    /// As [`Tcp::read_into`] for payload that nobody awaits in a buffer: it is at hand afterwards, if any came.
    pub fn read_at_hand(&mut self) -> &[u8] {
        let left = match self.current.map(|from| &self.links[from as usize]) {
            Some(Link::Open(connection)) => connection.left.min(SCRATCH_BYTES / 2),
            _ => 0,
        };
        let from = self.current;
        let mut aside = vec![0; left];
        // SAFETY: the vector has so many bytes.
        #[allow(unsafe_code)]
        let bytes = unsafe { self.read_into(aside.as_mut_ptr(), left) };
        // Put before what came behind it, as if it had been read there.
        let behind = self.end;
        self.scratch.copy_within(..behind, bytes);
        self.scratch[..bytes].copy_from_slice(&aside[..bytes]);
        self.end = bytes + behind;
        if bytes > 0
            && let Some(Link::Open(connection)) = from.map(|from| &mut self.links[from as usize])
        {
            connection.left += bytes;
            self.current = from;
        }
        self.at_hand()
    }

    /// Sends a packet: its head (header and body) and `bytes` bytes at `payload`. Dials if there is no connection yet.
    ///
    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes; with `lasting`, and if the answer is [`Sent::Partly`], until [`Tcp::resume`] says that it has left or
    /// the process is lost.
    #[allow(unsafe_code)]
    #[inline]
    pub unsafe fn send(
        &mut self,
        to: u32,
        head: &[u8],
        payload: *const u8,
        bytes: usize,
        lasting: bool,
    ) -> Sent {
        let connection = match &mut self.links[to as usize] {
            Link::Open(connection) => connection,
            Link::Idle => {
                self.dial(to, 0);
                return Sent::Later;
            }
            // Nobody reads it, and nobody could tell.
            Link::Finished | Link::Lost(_) => return Sent::Left,
            Link::Dialling(_) | Link::Awaiting(..) => return Sent::Later,
        };
        connection.used = true;
        // SAFETY: the caller's promise.
        match unsafe { connection.send(head, payload, bytes, lasting) } {
            Ok(sent) => {
                if connection.has_backlog() && !connection.blocked && !self.unsent.contains(&to) {
                    self.unsent.push(to);
                }
                sent
            }
            Err(error) => {
                self.lose(to, format!("the connection broke: {error}"));
                Sent::Left
            }
        }
    }

    /// Goes on with a packet that was taken in part. True when it has left, or never will.
    pub fn resume(&mut self, to: u32) -> bool {
        let Link::Open(connection) = &mut self.links[to as usize] else {
            return true;
        };
        match connection.resume() {
            Ok(left) => {
                if left {
                    self.part(to);
                }
                left
            }
            Err(error) => {
                self.lose(to, format!("the connection broke: {error}"));
                true
            }
        }
    }

    #[inline(never)]
    fn flush_unsent(&mut self) {
        for to in std::mem::take(&mut self.unsent) {
            self.resume(to);
        }
    }

    /// Whether copies wait that nobody has offered to the kernel: progress must not stop for long.
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Whether everything sent has been given to the kernel.
    pub fn is_flushed(&self) -> bool {
        self.links.iter().all(|link| match link {
            Link::Open(connection) => connection.is_flushed(),
            _ => true,
        })
    }

    /// Makes it safe to sleep until [`Tcp::fd`] is readable. False if there is something to do first.
    pub fn prepare_sleep(&mut self) -> bool {
        if !self.unsent.is_empty() {
            self.flush_unsent();
        }
        // Hot connections' changes were passed over, so they are looked at once more, and are cold afterwards.
        self.ready.extend(self.hot.drain(..));
        self.turn = 0;
        if self.progress == Progress::Sock {
            // Nobody has taken the changes that the sleeper would be woken by.
            self.ask_kernel();
        }
        self.ready.is_empty() && self.events.is_empty() && self.current.is_none()
    }

    /// How long a sleeper may sleep.
    pub fn nap_max(&self) -> Option<Duration> {
        let soon = Duration::from_millis(50);
        match (self.meetings > 0 || self.strangers.waiting, self.open > 0) {
            (true, _) => Some(soon),
            (false, true) => Some(NAP_MAX),
            (false, false) => None,
        }
    }

    /// Somebody slept: time has passed.
    pub fn handle_waking(&mut self) {
        self.looks = 0;
        self.look_at_clock();
    }

    /// Readable when something has changed.
    pub fn fd(&self) -> RawFd {
        self.epoll.fd()
    }

    fn look_at_clock(&mut self) {
        let now = Instant::now();
        if self.meetings > 0 || self.strangers.waiting {
            self.expire_meetings(now);
        }
        let links = &self.links;
        let lost = self.vigil.look(now, || {
            links.iter().enumerate().filter_map(|(rank, link)| match link {
                Link::Open(connection) => Some((rank as u32, &connection.socket)),
                _ => None,
            })
        });
        for (rank, what) in lost {
            self.lose(rank, what);
        }
    }

    /// Says goodbye on every connection and dials no more. `pause`: connections may be made again later.
    pub fn close(&mut self, pause: bool) {
        self.closing = !pause;
        for rank in 0..self.links.len() as u32 {
            match &mut self.links[rank as usize] {
                Link::Open(connection) => {
                    if connection.say_farewell(pause).is_err() {
                        self.end(rank, Link::Finished);
                    }
                }
                Link::Dialling(_) | Link::Awaiting(..) => self.end(rank, Link::Idle),
                _ => {}
            }
        }
    }

    /// Whether no connection is left.
    pub fn is_closed(&self) -> bool {
        self.open == 0
    }

    fn hear_farewell(&mut self, from: u32, pause: bool) {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return;
        };
        connection.heard = Some(pause);
        if !pause {
            self.events.push_back(Event::Finished(from));
            if connection.is_midway() {
                // It finalised and awaits nothing; the memory that our packet lies in is about to be given back.
                return self.end(from, Link::Finished);
            }
        }
        // The answer leaves behind everything that waits.
        let _ = connection.say_farewell(pause);
        self.part(from);
    }

    /// Closes a connection on which both sides have said goodbye and nothing waits.
    fn part(&mut self, peer: u32) {
        if let Link::Open(connection) = &self.links[peer as usize]
            && let Some(pause) = connection.heard
            && connection.is_flushed()
        {
            self.end(peer, if pause { Link::Idle } else { Link::Finished });
        }
    }

    fn lose_end(&mut self, from: u32) {
        let heard = matches!(&self.links[from as usize], Link::Open(connection) if connection.heard.is_some());
        if heard {
            self.end(from, Link::Finished);
        } else {
            self.lose(from, "the connection ended without a goodbye: the process is gone".into());
        }
    }

    /// The process cannot be reached any more.
    #[cold]
    fn lose(&mut self, peer: u32, what: String) {
        let host = (self.directory)(peer).map_or_else(|_| "unknown".into(), |card| card.host);
        if self.closing {
            // Who says goodbye does not mind that the other is gone already.
            self.end(peer, Link::Finished);
        } else {
            self.end(peer, Link::Lost(Box::new(Trouble { host, what })));
        }
        self.events.push_back(Event::Lost(peer));
    }

    /// Replaces whatever there is between this process and another.
    fn end(&mut self, peer: u32, with: Link) {
        let former = std::mem::replace(&mut self.links[peer as usize], with);
        match former {
            Link::Open(_) => self.open -= 1,
            Link::Dialling(_) | Link::Awaiting(..) => self.meetings -= 1,
            _ => {}
        }
        match &self.links[peer as usize] {
            Link::Open(_) => {
                self.open += 1;
                self.counters.connections += 1;
                self.ready.push_back(peer);
            }
            Link::Dialling(_) | Link::Awaiting(..) => self.meetings += 1,
            _ => {
                self.hot.retain(|&hot| hot != peer);
                self.unsent.retain(|&unsent| unsent != peer);
            }
        }
        if self.current == Some(peer) {
            self.current = None;
        }
    }

    /// Why a process cannot be reached, if it cannot.
    pub fn trouble(&self, peer: u32) -> Option<&Trouble> {
        match &self.links[peer as usize] {
            Link::Lost(trouble) => Some(trouble),
            _ => None,
        }
    }

    /// The host of a process, as its card says.
    pub fn host_of(&mut self, peer: u32) -> Option<String> {
        (self.directory)(peer).ok().map(|card| card.host)
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
