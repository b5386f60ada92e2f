//! The home without a module in the kernel: a BPF program on the sockets reads them, in the
//! protocol's own handler, and this process takes what came out of memory that both have.
//!
//! Connections are made and written as ever. An open one gets a *slot* with a ring of bytes, as
//! long as there are any; `program` puts what arrives there, whatever this process does meanwhile,
//! and no call is made to receive it. What the ring has no room for goes on to the socket, so that
//! TCP's window closes before anything is lost; and the long payload of a matched message goes to
//! the socket because this process asks for it (*straight*), to be read from there to its place in
//! one copy. `layout` says how both agree on what comes first.
//!
//! The rest is as in the home `user`: [`Tcp::read`] asks here first where the next bytes of a
//! connection are.

#[allow(unsafe_code)]
mod area;
#[cfg(test)]
#[allow(unsafe_code)]
mod late;
mod layout;
#[cfg(test)]
#[allow(unsafe_code)]
mod order;
#[cfg(test)]
#[allow(unsafe_code)]
mod overlap;
mod program;

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::epoll::Epoll;
use super::socket::Moved;
use super::{DriverError, Link, Tcp};
use crate::bpf::capabilities::{self, CAP_BPF, CAP_NET_ADMIN};
use area::Area;
use layout::Layout;

/// Bytes that are taken out of a ring before anybody has said where they go: heads, and payloads
/// as short as those that are read together with what follows them.
pub(super) const FIRST_BYTES: usize = super::DIRECT_BYTES_MIN;
/// Payload of which as much is missing goes straight.
const STRAIGHT_BYTES_MIN: usize = 64 << 10;
/// Bytes that passed are in the socket at once, or a moment later where it is full: a worker of the
/// kernel brings them, which needs a processor as everybody does. A stream that has ended without
/// them for so long has lost them.
const PASSED_WAIT_MAX: Duration = Duration::from_secs(30);
/// The key under which the bell is watched; others are in `connecting`, `kernel` and `uring`.
const BELL: u64 = 1 << 45;

/// BPF cannot be used so.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// Too few capabilities.
    #[error(
        "BPF programs on sockets need the capabilities CAP_BPF and CAP_NET_ADMIN, of which this process lacks {0}: become root, or grant them (`setcap cap_bpf,cap_net_admin+ep PROGRAM`)"
    )]
    NotPermitted(String),
    /// The kernel has no such thing, or refuses.
    #[error(
        "the kernel does not take BPF programs on sockets from this process: {0}; Linux 6.4 or later is needed, with CONFIG_BPF_STREAM_PARSER, and no sandbox that forbids bpf"
    )]
    Refused(io::Error),
    /// Memory.
    #[error("no memory for what connections bring: {0}; {dump} says how much", dump = super::DUMP)]
    Memory(io::Error),
}

/// A connection's place in the memory, and how far it has been read.
#[derive(Debug)]
pub(super) struct Slot {
    number: u32,
    cookie: u64,
    /// Bytes taken out of the ring, and out of the socket.
    tail: u64,
    received: u64,
    /// The kernel has said something of the socket itself: its end, an error, or bytes.
    pub told: bool,
    straight: bool,
    /// Since when reads say that the stream has ended, although bytes of it are on their way.
    ended: Option<Instant>,
}

impl Slot {
    /// So many bytes were read from the socket.
    #[inline(always)]
    pub fn count_passed(&mut self, bytes: usize) {
        self.received += bytes as u64;
        self.ended = None;
    }
}

/// Where the next bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// In the ring, so many.
    Ring(usize),
    /// In the socket, so many at most.
    Socket(usize),
    /// Nowhere yet.
    Nothing,
    /// Nowhere, and the socket itself may have ended.
    Told,
    /// Some were lost on the way to the ring.
    Broken,
}

/// The program's counterpart.
pub(super) struct BpfSide {
    area: Area,
    /// By slot: whose it is.
    holders: Vec<Option<u32>>,
    used: usize,
    /// Notices that were taken.
    noticed: u64,
    /// Connections to be read again at the next look, and not before.
    late: Vec<u32>,
}

impl BpfSide {
    fn new(size: u32, bytes: u64, epoll: &Epoll) -> Result<BpfSide, DriverError> {
        let area = open(size, bytes)?;
        epoll.watch(area.bell(), BELL).map_err(DriverError::Watch)?;
        Ok(BpfSide {
            holders: vec![None; area.slots() as usize],
            late: Vec::with_capacity(area.slots() as usize),
            area,
            used: 0,
            noticed: 0,
        })
    }

    /// Connections with a slot.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The program reads a new connection from here on, if there is a slot for it and it can.
    pub fn admit(&mut self, peer: u32, socket: RawFd) -> Option<Slot> {
        let number = self.holders.iter().position(Option::is_none)? as u32;
        let cookie = area::cookie(socket).ok()?;
        let next = area::next_sequence(socket).ok()??;
        let state = self.area.state(number);
        let kernels = &state.kernels.0;
        for count in [&kernels.head, &kernels.passed, &kernels.before] {
            count.store(0, Relaxed);
        }
        kernels.next.store(next, Relaxed);
        for word in [&kernels.resumed, &kernels.passing, &kernels.broken] {
            word.store(0, Relaxed);
        }
        let ours = &state.ours.0;
        ours.tail.store(0, Relaxed);
        for word in [&ours.resume, &ours.straight, &ours.quiet] {
            word.store(0, Relaxed);
        }
        // The call that makes the slot known to the program comes after all of this.
        self.area.connect(number, socket, cookie).ok()?;
        self.holders[number as usize] = Some(peer);
        self.used += 1;
        Some(Slot {
            number,
            cookie,
            tail: 0,
            received: 0,
            // Bytes that were there before are handed to the program by a read.
            told: true,
            straight: false,
            ended: None,
        })
    }

    /// The connection is read no more.
    pub fn forget(&mut self, slot: &Slot, socket: RawFd) {
        self.area.disconnect(slot.number, socket, slot.cookie);
        self.holders[slot.number as usize] = None;
        self.used -= 1;
    }

    /// Where the next bytes are.
    #[inline(always)]
    pub fn source(&self, slot: &Slot) -> Source {
        let state = self.area.state(slot.number);
        let kernels = &state.kernels.0;
        // What had passed by now comes before whatever is put into an empty ring later.
        let passed = kernels.passed.load(Acquire);
        let here = kernels.head.load(Acquire) - slot.tail;
        if here > 0 {
            let before = kernels.before.load(Relaxed);
            return match before.saturating_sub(slot.received) {
                0 => Source::Ring(here as usize),
                more => Source::Socket(more as usize),
            };
        }
        self.source_beside_ring(slot, passed)
    }

    /// As [`BpfSide::source`], where the ring is empty.
    #[inline(always)]
    fn source_beside_ring(&self, slot: &Slot, passed: u64) -> Source {
        let state = self.area.state(slot.number);
        let kernels = &state.kernels.0;
        if passed > slot.received {
            return Source::Socket((passed - slot.received) as usize);
        }
        if kernels.broken.load(Relaxed) != 0 {
            return Source::Broken;
        }
        if let Some(request) = self.resumption(slot) {
            state.ours.0.resume.store(request, Relaxed);
        }
        match slot.told {
            true => Source::Told,
            false => Source::Nothing,
        }
    }

    /// The request to use the ring again, if everything passes although the ring is wanted. The
    /// ring must be empty: what passed until the request is obeyed is read before what is in it.
    #[inline(always)]
    fn resumption(&self, slot: &Slot) -> Option<u32> {
        if slot.straight {
            return None;
        }
        let kernels = &self.area.state(slot.number).kernels.0;
        // The kernel goes on meanwhile, so the order counts. While everything passes and no request
        // is open, the ring stays as it is found after that. An open request is repeated as it is:
        // if the kernel has obeyed it since, that asks for nothing.
        let resumed = kernels.resumed.load(Acquire);
        let passing = kernels.passing.load(Acquire) != 0;
        (passing && kernels.head.load(Acquire) == slot.tail).then(|| resumed.wrapping_add(1))
    }

    /// Takes bytes that [`BpfSide::source`] said are in the ring.
    ///
    /// # Safety
    /// `into` must be valid for writing `bytes` bytes.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub unsafe fn take(&self, slot: &mut Slot, into: *mut u8, bytes: usize) {
        let state = self.area.state(slot.number);
        let here = state.kernels.0.head.load(Acquire) - slot.tail;
        assert!(bytes as u64 <= here, "more is taken than there is");
        // SAFETY: the caller's promise; the kernel writes what is in the ring only after `tail`.
        unsafe { self.area.copy(slot.number, slot.tail, into, bytes) };
        slot.tail += bytes as u64;
        state.ours.0.tail.store(slot.tail, Release);
    }

    /// So much of a payload is missing.
    #[inline(always)]
    pub fn aim(&self, slot: &mut Slot, left: usize) {
        let straight = left >= STRAIGHT_BYTES_MIN;
        if slot.straight != straight {
            slot.straight = straight;
            let ours = &self.area.state(slot.number).ours.0;
            ours.straight.store(straight.into(), Relaxed);
        }
    }

    /// Whether notices of a connection are wanted. Who wants them again looks at it afterwards.
    #[inline(always)]
    pub fn set_quiet(&self, slot: &Slot, quiet: bool) {
        let ours = &self.area.state(slot.number).ours.0;
        ours.quiet.store(quiet.into(), Relaxed);
        if !quiet {
            fence(SeqCst);
        }
    }

    /// The next connection that has something new.
    #[inline(always)]
    pub fn next_notice(&mut self) -> Option<u32> {
        loop {
            let notice = self.area.notice(self.noticed);
            let slot = notice.load(Acquire).checked_sub(1)?;
            notice.store(0, Relaxed);
            self.noticed += 1;
            if slot >= self.area.slots() {
                continue;
            }
            // From here on there is another notice for what this look does not find.
            self.area.state(slot).listed.0.swap(0, SeqCst);
            if let Some(peer) = self.holders[slot as usize] {
                return Some(peer);
            }
        }
    }

    /// From here on whatever comes rings the bell. False if something has come.
    fn fall_asleep(&self) -> bool {
        let asleep = &self.area.control().asleep.0;
        asleep.store(1, Relaxed);
        fence(SeqCst);
        let drained = self.area.notice(self.noticed).load(Acquire) == 0;
        if !drained {
            asleep.store(0, Relaxed);
        }
        drained
    }

    /// Nobody sleeps any more.
    pub fn wake(&self) {
        self.area.control().asleep.0.store(0, Relaxed);
        self.area.hear_bell();
    }
}

fn open(size: u32, bytes: u64) -> Result<Area, BpfError> {
    let missing = capabilities::missing(&[CAP_BPF, CAP_NET_ADMIN]);
    if !missing.is_empty() {
        return Err(BpfError::NotPermitted(missing.join(", ")));
    }
    Area::open(Layout::new(size, bytes)).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE) => BpfError::Memory(error),
        _ => BpfError::Refused(error),
    })
}

/// Whether this process could have its connections read so, and why not.
pub fn find_bpf() -> Result<(), BpfError> {
    open(1, 0).map(drop)
}

/// As [`find_bpf`], in a few words.
pub fn describe_bpf() -> String {
    match find_bpf() {
        Ok(()) => "BPF programs on sockets can be used (--progress bpf)".into(),
        Err(error) => error.to_string(),
    }
}

impl Tcp {
    /// Lets BPF programs read the connections; before the first poll.
    pub(super) fn open_bpf(&mut self) -> Result<(), DriverError> {
        let size = self.links.len() as u32;
        let bytes = super::driver::dump_bytes()?;
        self.bpf_side = Some(Box::new(BpfSide::new(size, bytes, &self.epoll)?));
        Ok(())
    }

    /// Where the next bytes of a connection are; `Socket` without a bound if it has no slot.
    #[inline(always)]
    pub(super) fn source(bpf_side: Option<&BpfSide>, connection: &Connection) -> Source {
        match (bpf_side, &connection.slot) {
            (Some(side), Some(slot)) => side.source(slot),
            _ => Source::Socket(usize::MAX),
        }
    }

    /// There is nothing to read in a connection: whether it is because of its end.
    #[cold]
    pub(super) fn hear_told(&mut self, from: u32, source: Source) {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return;
        };
        if source == Source::Broken {
            let what = "a piece of its stream did not follow the one before".to_owned();
            return self.lose(from, what);
        }
        let Some(slot) = connection.slot.as_mut().filter(|slot| slot.told) else {
            return;
        };
        slot.told = false;
        self.counters.reads += 1;
        match connection.socket.glance() {
            Ok(Moved::Bytes(0)) => {
                // What was put into the ring meanwhile comes first.
                match Tcp::source(self.bpf_side.as_deref(), connection) {
                    Source::Nothing => self.lose_end(from),
                    _ => {
                        self.tell(from);
                    }
                }
            }
            Ok(Moved::Bytes(_)) => self.ready.push_back(from),
            Ok(Moved::Blocked) => self.counters.empty_reads += 1,
            Err(error) => self.lose(from, format!("the connection broke: {error}")),
        }
    }

    /// The socket says that it has ended: so it has, unless bytes that passed are on their way.
    #[cold]
    pub(super) fn await_passed(&mut self, from: u32) {
        if let Link::Open(connection) = &mut self.links[from as usize]
            && let Some(slot) = &mut connection.slot
            && let Some(side) = &mut self.bpf_side
            && slot.ended.get_or_insert_with(Instant::now).elapsed() < PASSED_WAIT_MAX
        {
            if !side.late.contains(&from) {
                side.late.push(from);
            }
            // Who brings them may wait for this processor.
            std::thread::yield_now();
        } else {
            self.lose_end(from);
        }
    }

    /// A look has ended: the next one reads again what this one could not.
    #[inline(always)]
    pub(super) fn end_look(&mut self) {
        if let Some(side) = &mut self.bpf_side
            && !side.late.is_empty()
        {
            self.ready.extend(side.late.drain(..));
        }
    }

    /// Payload that goes to no place of its own comes by the ring again.
    #[inline(always)]
    pub(super) fn stop_aiming(bpf_side: Option<&BpfSide>, connection: &mut Connection) {
        if let (Some(side), Some(slot)) = (bpf_side, &mut connection.slot) {
            side.aim(slot, 0);
        }
    }

    /// Reads a connection whose next bytes are not in its socket.
    #[inline(always)]
    pub(super) fn read_shared(&mut self, from: u32, source: Source) {
        let Link::Open(connection) = &mut self.links[from as usize] else {
            return;
        };
        let Source::Ring(_) = source else {
            if source != Source::Nothing {
                self.hear_told(from, source);
            }
            return;
        };
        connection.used = true;
        let kept = std::mem::take(&mut connection.partial_bytes);
        self.scratch[..kept].copy_from_slice(&connection.partial[..kept]);
        self.fill_shared(from, source, kept, FIRST_BYTES);
    }

    /// Puts up to `most` bytes of a connection's ring into the scratch, behind `kept` bytes that
    /// are there. The connection is current then.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) fn fill_shared(&mut self, from: u32, source: Source, kept: usize, most: usize) {
        let (Some(side), Link::Open(connection)) = (&self.bpf_side, &mut self.links[from as usize])
        else {
            return;
        };
        let (Source::Ring(here), Some(slot)) = (source, &mut connection.slot) else {
            return self.hear_told(from, source);
        };
        let bytes = here.min(most);
        let into = &mut self.scratch[kept..kept + bytes];
        // SAFETY: the scratch has so many bytes there.
        unsafe { side.take(slot, into.as_mut_ptr(), bytes) };
        self.counters.copied_bytes += bytes as u64;
        (self.begin, self.end) = (0, kept + bytes);
        self.current = Some(from);
        if bytes < here {
            self.ready.push_back(from);
        }
        self.warm(from);
    }

    /// As [`Tcp::read_into`], where the next bytes are not in the socket.
    ///
    /// # Safety
    /// As [`Tcp::read_into`].
    #[allow(unsafe_code)]
    pub(super) unsafe fn read_into_shared(
        &mut self,
        from: u32,
        source: Source,
        into: *mut u8,
        room: usize,
    ) -> usize {
        self.current = None;
        let (Some(side), Link::Open(connection)) = (&self.bpf_side, &mut self.links[from as usize])
        else {
            return 0;
        };
        if let Some(slot) = &mut connection.slot {
            if let Source::Ring(here) = source {
                let bytes = room.min(connection.left).min(here);
                // SAFETY: the caller's promise.
                unsafe { side.take(slot, into, bytes) };
                connection.left -= bytes;
                side.aim(slot, connection.left);
                self.counters.copied_bytes += bytes as u64;
                (self.begin, self.end) = (0, 0);
                if bytes < here {
                    self.ready.push_back(from);
                }
                self.warm(from);
                return bytes;
            }
            side.aim(slot, connection.left);
        }
        self.hear_told(from, source);
        0
    }

    /// The kernel says something of a connection with a slot.
    pub(super) fn tell(&mut self, from: u32) {
        if let Link::Open(connection) = &mut self.links[from as usize]
            && let Some(slot) = &mut connection.slot
        {
            slot.told = true;
            self.ready.push_back(from);
        }
    }

    /// Puts connections of which there are notices among those to be read.
    #[inline(always)]
    pub(super) fn take_notices(&mut self) {
        if let Some(side) = &mut self.bpf_side {
            while let Some(peer) = side.next_notice() {
                self.ready.push_back(peer);
            }
        }
    }

    /// A connection is looked at directly from now on, or no more.
    #[inline(always)]
    pub(super) fn set_quiet(&self, peer: u32, quiet: bool) {
        if let Some(side) = &self.bpf_side
            && let Link::Open(connection) = &self.links[peer as usize]
            && let Some(slot) = &connection.slot
        {
            side.set_quiet(slot, quiet);
        }
    }

    /// Whether there is nothing to read; whatever comes wakes the sleeper then.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.take_notices();
        let rests = self.ready.is_empty() && self.events.is_empty() && self.current.is_none();
        rests && self.bpf_side.as_ref().is_none_or(|side| side.fall_asleep())
    }
}
