//! TCP: one connection per pair of processes that talk, made on first use.
//!
//! The handler (the engine, under its lock) *polls* the device: it drains the sockets that have
//! something, and gets packets as their heads arrive, so that matching happens while reading; the
//! payload of a matched message is then read from the socket straight into the user's buffer.
//! Finding the sockets costs the same for one connection and for a thousand: readiness is told by
//! the kernel, once per change (edge-triggered), and only the few connections that spoke last are
//! looked at directly, because a look at one that is about to speak is faster than being told.
//!
//! Call order: [`Listener::bind`] before cards are exchanged, [`Tcp::new`] after it; [`Tcp::poll`]
//! until `None`, reading each packet's payload by [`Tcp::at_hand`] and [`Tcp::read_into`];
//! [`Tcp::send`], and [`Tcp::resume`] where it took a packet only in part. `connecting` makes
//! connections, `connection` holds one, `sealed` encrypts it, `receive` reads, `goodbye` ends them,
//! `oxmpi_wire::stream` the stream's format, `liveness` notices hosts that vanished. With a
//! `driver` the connections are read inside the operating system's kernel, and `kernel` takes what
//! it tells; with `uring` io_uring reads them; with `bpf` programs inside the kernel do.

mod bpf;
mod connecting;
mod connection;
mod driver;
#[allow(unsafe_code)]
mod epoll;
mod goodbye;
mod kernel;
mod liveness;
mod matcher;
mod plain;
mod progress;
mod receive;
mod sealed;
#[allow(unsafe_code)]
mod socket;
mod uring;

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use crate::card::Card;
pub use crate::event::{Event, Sent, Trouble};
pub use crate::introductions::Directory;
use crate::introductions::Introductions;
use crate::key::JobKey;
use bpf::BpfSide;
pub use bpf::{BpfError, describe_bpf, find_bpf};
pub use connecting::{BindError, Listener};
use connecting::{Dial, Strangers};
use connection::Connection;
pub use driver::{
    Cancel, DUMP, Driver, DriverError, ENTRIES, Put, PutError, describe_driver, find_driver,
};
use epoll::{Change, Epoll};
use kernel::KernelSide;
pub use kernel::{Match, Receive};
use liveness::Liveness;
pub use matcher::Matcher;
pub use oxmpi_wire::stream::PAYLOAD_MAX;
pub use progress::{PROGRESS, Progress, ProgressError};
use uring::RingSide;
pub use uring::{RingError, describe_ring, find_ring};

/// What is read at once when nobody knows yet whose it is. The first piece of a long payload is
/// copied out of it, the rest goes straight to where it belongs.
const SCRATCH_BYTES: usize = 64 << 10;
/// What is read at once of a connection whose last payload was long: the next head, and the little
/// of its payload that is copied. A call may read it behind the payload before, so that a stream of
/// long messages has one call for each.
const AHEAD_BYTES: usize = 4 << 10;
/// What payloads are long in this sense: copying most of one would take longer than a call. Of 32
/// KiB a call costs more (5 % of a ping-pong, of 64 KiB 7 % are gained), and streams of packets
/// that are much longer are slower so, 4.6 instead of 5.6 GB/s between namespaces.
const LONG_PAYLOADS: std::ops::RangeInclusive<usize> = 48 << 10..=128 << 10;
/// Payload of which less than this is missing is read together with what follows it, and copied.
const DIRECT_BYTES_MIN: usize = 4 << 10;
/// Connections looked at directly: those that spoke last.
const HOT_MAX: usize = 2;
/// Looks between two questions to the kernel what else has changed.
const LOOKS_PER_QUESTION: u32 = 4;
/// The same where changes tell of little: something else says what has arrived.
const LOOKS_PER_QUESTION_IDLE: u32 = 64;
/// Looks between two looks at the clock, while connections are being made.
const LOOKS_PER_CLOCK: u32 = 256;
/// The same for a sleeper, while connections are being made.
const MEETING_NAP_MAX: Duration = Duration::from_millis(50);
/// A sleeper looks after its connections this often.
const NAP_MAX: Duration = Duration::from_secs(1);

/// Processes to which connections fit any limit of open files.
const FEW: u32 = 256;

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
    /// Receives given to the driver and taken back, by a system call each.
    pub requests: u64,
    /// Packets that have arrived, and bytes of their payload.
    pub packets: u64,
    /// As above.
    pub payload_bytes: u64,
    /// Bytes of those that this process copies to where they belong; and whatever it copies out of
    /// the rings of BPF programs, heads included.
    pub copied_bytes: u64,
}

/// What there is between this process and another.
enum Link {
    /// Nothing yet.
    Idle,
    /// This process dials.
    Dialling(Box<Dial>),
    /// The other process dials too and its dial stays, or it closed ours: at that time we dial
    /// again, and have done so this often.
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
    /// Every connection is encrypted, and no other is made.
    encrypted: bool,
    directory: Directory,
    introductions: Introductions,
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
    scratch: Vec<u8>,
    begin: usize,
    end: usize,
    current: Option<u32>,
    /// Connections with bytes that no call has offered to the kernel yet.
    unsent: Vec<u32>,
    events: VecDeque<Event>,
    /// Connections are being made: look at the clock.
    meetings: usize,
    /// Changes of sockets that are no connections yet; kept for its memory.
    news: Vec<Change>,
    liveness: Liveness,
    /// Open connections.
    open: usize,
    closing: bool,
    progress: Progress,
    /// The driver that reads the connections, if one does.
    kernel_side: Option<Box<KernelSide>>,
    /// The ring by which they are read, if there is one.
    ring_side: Option<Box<RingSide>>,
    /// The BPF programs that read them, if they do.
    bpf_side: Option<Box<BpfSide>>,
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
        epoll.watch(listener.fd(), connecting::LISTENER)?;
        Ok(Tcp {
            me,
            key,
            encrypted: false,
            directory,
            introductions: Introductions::default(),
            epoll,
            listener,
            links: (0..size).map(|_| Link::Idle).collect(),
            strangers: Strangers::default(),
            ready: VecDeque::new(),
            hot: Vec::with_capacity(HOT_MAX),
            turn: 0,
            looks: 0,
            scratch: vec![0; SCRATCH_BYTES],
            begin: 0,
            end: 0,
            current: None,
            unsent: Vec::new(),
            events: VecDeque::new(),
            meetings: 0,
            news: Vec::new(),
            liveness: Liveness::new(),
            open: 0,
            closing: false,
            progress: Progress::User,
            kernel_side: None,
            ring_side: None,
            bpf_side: None,
            asked: Vec::new(),
            entries: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// Processes may be introduced: the directory asks there first.
    pub fn with_introductions(mut self, introductions: Introductions) -> Tcp {
        self.introductions = introductions;
        self
    }

    /// Whether connections are encrypted; before the first poll.
    pub fn with_encryption(mut self, encrypted: bool) -> Tcp {
        self.encrypted = encrypted;
        self
    }

    /// A process becomes known; its number.
    pub(crate) fn introduce(&mut self, card: Card) -> u32 {
        let process = self.links.len() as u32;
        self.introductions.add(process, card);
        self.links.push(Link::Idle);
        process
    }

    /// How connections are found, and who reads them; before the first poll.
    pub fn set_progress(&mut self, progress: Progress) -> Result<(), DriverError> {
        self.progress = progress;
        match progress {
            _ if self.encrypted && progress.is_in_kernel() => Err(DriverError::Encrypted(progress)),
            Progress::Kernel => self.open_driver(),
            Progress::Uring => self.open_ring(),
            Progress::Bpf => self.open_bpf(),
            Progress::User | Progress::Sock => Ok(()),
        }
    }

    /// How connections are found, and who reads them.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Sends a packet: its head (header and body) and `bytes` bytes at `payload`. Dials if there is
    /// no connection yet.
    ///
    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes; with `lasting`, and if the answer is
    /// [`Sent::Partly`], until [`Tcp::resume`] says that it has left or the process is lost.
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
        kernel::begin_writing(&mut self.kernel_side, connection, to);
        // SAFETY: the caller's promise.
        let sent = unsafe { connection.send(head, payload, bytes, lasting) };
        kernel::end_writing(&mut self.kernel_side, connection, to);
        match sent {
            Ok(sent) => {
                if connection.has_unsent() && !self.unsent.contains(&to) {
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

    /// Begins to connect to a process, unless that is under way or it is gone.
    #[cold]
    pub(crate) fn meet(&mut self, peer: u32) {
        if matches!(self.links[peer as usize], Link::Idle) {
            self.dial(peer, 0);
        }
    }

    /// Whether a connection to a process stands, and neither side has said goodbye on it.
    #[inline]
    pub(crate) fn is_open(&self, peer: u32) -> bool {
        let is_alive = |connection: &Connection| !connection.said && connection.heard.is_none();
        matches!(&self.links[peer as usize], Link::Open(connection) if is_alive(connection))
    }

    /// Segments to a process that the network has lost so far.
    pub(crate) fn lost_segments(&self, peer: u32) -> u32 {
        match &self.links[peer as usize] {
            Link::Open(connection) => connection.socket.lost_segments().unwrap_or(0),
            _ => 0,
        }
    }

    /// Goes on with a packet that was taken in part. True when it has left, or never will.
    pub fn resume(&mut self, to: u32) -> bool {
        let Link::Open(connection) = &mut self.links[to as usize] else {
            return true;
        };
        kernel::begin_writing(&mut self.kernel_side, connection, to);
        let resumed = connection.resume();
        kernel::end_writing(&mut self.kernel_side, connection, to);
        match resumed {
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

    /// Lets go what waits, as far as sockets have room.
    #[inline(never)]
    pub fn flush_unsent(&mut self) {
        let mut unsent = std::mem::take(&mut self.unsent);
        unsent.retain(|to| !self.resume(*to));
        // The list that was taken comes back, because its memory is used again by every message.
        unsent.append(&mut self.unsent);
        self.unsent = unsent;
    }

    /// Whether copies wait for the kernel to take them: progress must not stop for long.
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

    /// Makes it safe to sleep until [`Tcp::fd`] is readable. False if there is something to do
    /// first.
    pub fn prepare_sleep(&mut self) -> bool {
        if !self.unsent.is_empty() {
            self.flush_unsent();
        }
        if self.progress == Progress::Kernel {
            // A change that is not taken would wake the sleeper at once.
            self.ask_kernel();
            self.flush_unsent();
            let drained = self
                .kernel_side
                .as_mut()
                .is_none_or(|kernel_side| kernel_side.is_drained());
            return drained && self.events.is_empty();
        }
        if self.ring_side.is_some() {
            // As above, and before what has come is looked for.
            self.ask_kernel();
            self.flush_unsent();
            let side = self.ring_side.as_mut();
            let drained = side.is_none_or(|side| side.is_drained());
            let is_read = self.ready.is_empty() && self.events.is_empty();
            // A buffer that was read in part holds packets that no completion will announce.
            return drained && is_read && self.current.is_none();
        }
        // Hot connections' changes were passed over, so they are looked at once more, and are cold
        // afterwards.
        for &hot in &self.hot {
            self.set_quiet(hot, false);
        }
        self.ready.extend(self.hot.drain(..));
        self.turn = 0;
        if matches!(self.progress, Progress::Sock | Progress::Bpf) {
            // Nobody has taken the changes that the sleeper would be woken by.
            self.ask_kernel();
            self.flush_unsent();
        }
        self.is_quiet()
    }

    /// How long a sleeper may sleep.
    pub fn nap_max(&self) -> Option<Duration> {
        if self.meetings > 0 || self.strangers.waiting {
            return Some(MEETING_NAP_MAX);
        }
        (self.open > 0).then_some(NAP_MAX)
    }

    /// Somebody slept: time has passed.
    pub fn handle_waking(&mut self) {
        self.looks = 0;
        if let Some(side) = &self.bpf_side {
            side.wake();
        }
        self.look_at_clock();
    }

    /// Readable when something has changed.
    pub fn fd(&self) -> RawFd {
        self.epoll.fd()
    }

    /// Looks between two questions to the kernel what sockets have changed, where something else
    /// says what has arrived: only strangers, ends, and sockets that have room again are told there.
    fn looks_per_question(&self) -> u32 {
        let is_busy = self.meetings > 0 || !self.unsent.is_empty() || self.open == 0;
        let told_all = self
            .bpf_side
            .as_ref()
            .is_none_or(|side| side.used() == self.open);
        match told_all && !is_busy {
            true => LOOKS_PER_QUESTION_IDLE,
            false => LOOKS_PER_QUESTION,
        }
    }

    fn look_at_clock(&mut self) {
        let now = Instant::now();
        if self.meetings > 0 || self.strangers.waiting {
            self.expire_meetings(now);
        }
        let links = &self.links;
        let lost = self.liveness.look(now, || {
            links
                .iter()
                .enumerate()
                .filter_map(|(rank, link)| match link {
                    Link::Open(connection) => Some((rank as u32, &connection.socket)),
                    _ => None,
                })
        });
        for (rank, what) in lost {
            self.lose(rank, what);
        }
    }

    /// The job's number among all jobs.
    pub fn job_nonce(&self) -> u32 {
        self.key.job_nonce()
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
