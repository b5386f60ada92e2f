//! PM with TCP beside it: short messages by frames or datagrams, and what is long by a connection.
//!
//! A kernel sends and takes in a stream without the process's help, and cards cut it: so long
//! messages are faster by TCP, and far faster on a machine whose processes wait for a CPU. A short
//! message is faster by PM. A connection is made when a pair's first long message is sent; until it
//! stands, and where it cannot be made, everything goes by PM.
//!
//! PM says who is there: it alone tells that a process has finished, and a goodbye by PM leaves when
//! the connections have ended. A connection that breaks after it was used may have lost packets,
//! and its process is lost.
//!
//! Invariants: all packets of a message take the same way; what is told of a process that PM has
//! ended comes by no way any more.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use oxmpi_wire::{Code, Kind, Packet, Repr};

use crate::card::Card;
use crate::event::{Event, Sent};
use crate::pm::{self, Pm};
use crate::tcp::Tcp;

/// Messages from this length on go by TCP. Measured between two hosts on two machines: at 8 KiB
/// datagrams are level or ahead, at 16 KiB within 6 % of TCP on one and 20 % behind on the other.
const TCP_BYTES_MIN: u64 = 12 << 10;
/// The rail of what comes by TCP; PM's are before it.
const TCP_RAIL: usize = pm::RAILS_MAX;
/// Looks at PM between two at TCP, by which nothing goes at the moment.
const LOOKS_PER_TCP_LOOK: u32 = 16;
/// Looks at TCP after something went by it.
const TCP_LOOKS: u32 = 256;
/// Events of TCP in a row before PM has a turn.
const TCP_TURNS: u32 = 16;
/// How long a connection may take to bring what was under way, when its process has died.
const LAST_BYTES_TIME: Duration = Duration::from_millis(500);

/// Packets between two looks at what TCP has lost. A look takes half a microsecond.
const PACKETS_PER_LOSS_LOOK: u32 = 16;
/// TCP may lose something once in so many bytes. It may take 200 ms to notice the loss of what
/// nothing follows, PM much less; by what TCP saves in so many bytes that is made up for.
const BYTES_PER_LOSS_MIN: u64 = 256 << 20;
/// How long a process is not sent to by TCP after losses: at first, and at most. Each time doubles
/// it.
const AVOIDED_TIME: Duration = Duration::from_secs(1);
const AVOIDED_DOUBLINGS_MAX: u32 = 10;

/// What is known of TCP to another process.
#[derive(Clone, Copy, Default)]
struct Course {
    /// No connection can be made.
    none: bool,
    /// Something has gone over it.
    used: bool,
    /// The eager message and the matched message that are leaving go by TCP.
    eager: bool,
    data: bool,
    /// Packets since the last look at losses, bytes since something was lost, and segments lost
    /// until then.
    packets: u32,
    bytes: u64,
    lost: u32,
    /// The last look found more of them. That a segment was not lost but late is known when the
    /// next look comes.
    suspected: bool,
    /// Too much was lost: PM is used until then, and how often that was so.
    avoided: Option<Instant>,
    avoidances: u32,
}

/// A process that has died, and the end of whose connection is awaited.
struct Dying {
    peer: u32,
    since: Instant,
    what: String,
}

/// Both ways to all processes.
pub struct Both {
    pub(crate) pm: Pm,
    pub(crate) tcp: Tcp,
    /// Stands for the descriptors of both.
    watch: OwnedFd,
    courses: Vec<Course>,
    /// The last event came by TCP.
    by_tcp: bool,
    /// Events of TCP in a row.
    turns: u32,
    looks: u32,
    /// Looks at TCP that are likely to find something.
    tcp_looks: u32,
    dying: Vec<Dying>,
    /// A goodbye by PM that waits for the end of the connections; whether for a pause.
    closing: Option<bool>,
}

impl Both {
    /// Both ways of one process to `size` processes.
    pub fn new(pm: Pm, tcp: Tcp, size: u32) -> io::Result<Both> {
        Ok(Both {
            watch: pm::watch([pm.fd(), tcp.fd()].into_iter())?,
            pm,
            tcp,
            courses: vec![Course::default(); size as usize],
            by_tcp: false,
            turns: 0,
            looks: 0,
            tcp_looks: 0,
            dying: Vec::new(),
            closing: None,
        })
    }

    /// See [`crate::transport::Transport::send`].
    ///
    /// # Safety
    /// As there.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub unsafe fn send(
        &mut self,
        to: u32,
        head: &[u8],
        payload: *const u8,
        bytes: usize,
        lasting: Option<u64>,
    ) -> Sent {
        if (bytes as u64 >= TCP_BYTES_MIN || pm::is_part(head)) && self.goes_by_tcp(to, head) {
            // Answers will come.
            self.tcp_looks = TCP_LOOKS;
            // SAFETY: the caller's promise.
            let sent = unsafe { self.tcp.send(to, head, payload, bytes, lasting.is_some()) };
            if sent != Sent::Later {
                let course = &mut self.courses[to as usize];
                course.used = true;
                course.packets += 1;
                course.bytes += bytes as u64;
            }
            return sent;
        }
        // SAFETY: the caller's promise.
        unsafe { self.pm.send(to, head, payload, bytes, lasting) }
    }

    /// Whether a packet takes TCP: the first of a message decides for all of it, because among
    /// themselves they are in order, and the last one tells that the message's memory is free.
    #[inline(never)]
    fn goes_by_tcp(&mut self, to: u32, head: &[u8]) -> bool {
        let Ok(packet) = Packet::new_checked(head) else {
            return false;
        };
        let bytes = packet.content().bytes();
        match packet.code() {
            Some(Code::Eager) => {
                let by_tcp = self.chooses_tcp(to, bytes);
                self.courses[to as usize].eager = by_tcp;
                by_tcp
            }
            Some(Code::More) => self.courses[to as usize].eager,
            Some(Code::Data) => match Repr::parse(&packet).kind {
                Kind::Data { offset: 0, .. } => {
                    let by_tcp = self.chooses_tcp(to, bytes);
                    self.courses[to as usize].data = by_tcp;
                    by_tcp
                }
                _ => self.courses[to as usize].data,
            },
            _ => false,
        }
    }

    /// Whether a message of so many bytes that begins now goes by TCP.
    fn chooses_tcp(&mut self, to: u32, bytes: u64) -> bool {
        if bytes < TCP_BYTES_MIN || self.courses[to as usize].none {
            return false;
        }
        if !self.tcp.is_open(to) {
            if self.closing.is_none() {
                self.tcp.meet(to);
                self.tcp_looks = TCP_LOOKS;
            }
            return false;
        }
        let course = &mut self.courses[to as usize];
        if course.avoided.is_some() || course.packets >= PACKETS_PER_LOSS_LOOK {
            course.packets = 0;
            return !self.avoids(to);
        }
        true
    }

    /// Whether a network that loses packets speaks against TCP to a process for now.
    #[cold]
    fn avoids(&mut self, to: u32) -> bool {
        let avoided = self.courses[to as usize].avoided;
        if avoided.is_some_and(|until| Instant::now() < until) {
            return true;
        }
        let lost = self.tcp.lost_segments(to);
        let course = &mut self.courses[to as usize];
        if course.avoided.take().is_some() {
            course.lost = lost;
            course.bytes = 0;
            return false;
        }
        let seems_lost = lost > course.lost;
        if !seems_lost || !std::mem::replace(&mut course.suspected, true) {
            course.suspected = seems_lost;
            course.lost = course.lost.min(lost);
            return false;
        }
        course.suspected = false;
        course.lost = lost;
        if std::mem::take(&mut course.bytes) > BYTES_PER_LOSS_MIN {
            course.avoidances = 0;
            return false;
        }
        let time = AVOIDED_TIME * (1 << course.avoidances.min(AVOIDED_DOUBLINGS_MAX));
        course.avoidances += 1;
        course.avoided = Some(Instant::now() + time);
        true
    }

    /// Goes on with a packet that was taken in part; only TCP takes so.
    pub fn resume(&mut self, to: u32) -> bool {
        // That there is room again is found by looks at TCP.
        self.tcp_looks = TCP_LOOKS;
        self.tcp.resume(to)
    }

    /// The next thing that happened, if anything has. `None` ends a look.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        let again = self.by_tcp && self.turns < TCP_TURNS;
        if again && let Some(event) = self.poll_tcp() {
            return Some(event);
        }
        self.by_tcp = false;
        self.turns = 0;
        if let Some(event) = self.poll_pm() {
            return Some(event);
        }
        self.looks = self.looks.wrapping_add(1);
        if (!again && self.is_tcp_likely())
            && let Some(event) = self.poll_tcp()
        {
            return Some(event);
        }
        if self.closing.is_some() || !self.dying.is_empty() {
            self.go_on_ending();
            // What ended has an event.
            return self.poll_pm();
        }
        None
    }

    /// Whether TCP is worth a look, which is a system call: while something goes over it, and now
    /// and then.
    #[inline(always)]
    fn is_tcp_likely(&mut self) -> bool {
        if self.tcp_looks > 0 {
            self.tcp_looks -= 1;
            return true;
        }
        self.looks.is_multiple_of(LOOKS_PER_TCP_LOOK)
    }

    #[inline(always)]
    fn poll_pm(&mut self) -> Option<Event> {
        let event = self.pm.poll();
        if let Some(Event::Lost(peer) | Event::Finished(peer)) = event {
            // No memory of it is read or written any more when the engine is told.
            self.tcp.part_with(peer);
            self.dying.retain(|dying| dying.peer != peer);
        }
        event
    }

    #[inline(always)]
    fn poll_tcp(&mut self) -> Option<Event> {
        loop {
            match self.tcp.poll()? {
                // It says so by PM, too, behind everything.
                Event::Finished(_) => {}
                Event::Lost(peer) => self.lose(peer),
                event => {
                    if let Event::Packet { from, .. } = event {
                        self.courses[from as usize].used = true;
                    }
                    self.by_tcp = true;
                    self.turns += 1;
                    self.tcp_looks = TCP_LOOKS;
                    return Some(event);
                }
            }
        }
    }

    /// The connection to a process is gone, or cannot be made.
    #[cold]
    fn lose(&mut self, peer: u32) {
        let died = self.dying.iter().position(|dying| dying.peer == peer);
        let course = &mut self.courses[peer as usize];
        if let Some(place) = died {
            let dying = self.dying.swap_remove(place);
            self.pm.handle_death(peer, dying.what);
        } else if course.used {
            let what = self.tcp.trouble(peer).map(|trouble| trouble.what.clone());
            let what = what.unwrap_or_else(|| "the connection broke".into());
            self.pm.handle_death(peer, what);
        } else {
            course.none = true;
        }
    }

    /// The launcher says that a process has died. What its connection still brings is taken first.
    #[cold]
    pub fn handle_death(&mut self, peer: u32, what: String) {
        if self.courses[peer as usize].used && self.tcp.is_open(peer) {
            self.tcp.handle_death(peer, what.clone());
            self.tcp_looks = TCP_LOOKS;
            let since = Instant::now();
            self.dying.push(Dying { peer, since, what });
            return;
        }
        self.pm.handle_death(peer, what);
    }

    /// Ends what waited for connections to end.
    #[cold]
    fn go_on_ending(&mut self) {
        if self.closing.is_some() && self.tcp.is_closed() {
            let pause = self.closing.take().unwrap_or_default();
            self.pm.close(pause);
        }
        let late = |dying: &Dying| dying.since.elapsed() > LAST_BYTES_TIME;
        while let Some(place) = self.dying.iter().position(late) {
            let dying = self.dying.swap_remove(place);
            self.pm.handle_death(dying.peer, dying.what);
        }
    }

    /// Says goodbye to everybody. `pause`: this process may come back.
    pub fn close(&mut self, pause: bool) {
        self.tcp.close(pause);
        self.tcp_looks = TCP_LOOKS;
        self.closing = Some(pause);
        self.go_on_ending();
    }

    /// Whether everybody has heard it.
    pub fn is_closed(&self) -> bool {
        self.closing.is_none() && self.pm.is_closed()
    }

    /// Parts with a process because of what its packets say.
    #[cold]
    pub fn expel(&mut self, peer: u32, what: &str) {
        self.tcp.part_with(peer);
        self.dying.retain(|dying| dying.peer != peer);
        self.pm.expel(peer, what);
    }

    /// The launcher says that a process has finalised and ended.
    #[cold]
    pub fn handle_finish(&mut self, peer: u32) {
        self.tcp.handle_finish(peer);
        self.pm.handle_finish(peer);
    }

    /// A process becomes known; its number.
    pub(crate) fn introduce(&mut self, card: Card) -> u32 {
        self.courses.push(Course::default());
        let by_tcp = self.tcp.introduce(card.clone());
        let process = self.pm.introduce(card);
        assert_eq!(process, by_tcp, "both count the same processes");
        process
    }

    /// Which way the last event came.
    #[inline(always)]
    pub fn rail(&self) -> usize {
        match self.by_tcp {
            true => TCP_RAIL,
            false => self.pm.rail(),
        }
    }

    /// Whether it was TCP.
    #[inline(always)]
    pub fn is_by_tcp(&self) -> bool {
        self.by_tcp
    }

    /// Lets go what waits for messages that may follow.
    pub fn flush_unsent(&mut self) {
        self.pm.flush_unsent();
        if self.tcp.has_unsent() {
            self.tcp_looks = TCP_LOOKS;
            self.tcp.flush_unsent();
        }
    }

    /// Makes it safe to sleep. False if there is something to do first.
    pub fn prepare_sleep(&mut self) -> bool {
        let ready = self.tcp.prepare_sleep();
        if !ready {
            self.tcp_looks = TCP_LOOKS;
        }
        ready && self.pm.prepare_sleep()
    }

    /// How long a sleeper may sleep.
    pub fn nap_max(&self) -> Option<Duration> {
        let ending = !self.dying.is_empty() || self.closing.is_some();
        let ending = ending.then_some(LAST_BYTES_TIME / 10);
        let naps = [self.pm.nap_max(), self.tcp.nap_max(), ending];
        naps.into_iter().flatten().min()
    }

    /// Somebody slept: time has passed.
    pub fn handle_waking(&mut self) {
        self.tcp_looks = self.tcp_looks.max(LOOKS_PER_TCP_LOOK);
        self.pm.handle_waking();
        self.tcp.handle_waking();
    }

    /// Readable when something has changed.
    pub fn fd(&self) -> RawFd {
        self.watch.as_raw_fd()
    }
}
