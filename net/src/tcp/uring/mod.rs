//! The ring: the kernel receives by itself (io_uring), and this process takes what came out of
//! memory that both have.
//!
//! Each open connection has a *standing* receive: the kernel puts what arrives into buffers of a
//! pool, without a call per message, also while the program computes (then at the thread's next
//! visit to the kernel, a timer's tick at the latest). A buffer becomes the scratch, and `receive`
//! hands out what it holds, as if it had been read. When much of a payload is missing and its place
//! is known, the standing receive is ended and a *long* one is made, straight to that place; behind
//! it the next standing one waits.
//!
//! Only one request reads a connection at a time, so bytes keep their order. A long receive writes
//! the memory of a message until its last completion: whoever ends a connection ([`Tcp::end`])
//! waits for that before anybody is told.
//!
//! Requests belong to the thread that made them. A thread that looks in vain for a while, or is
//! about to sleep, ends those of another and makes them itself: else the other would have to be
//! interrupted for each message.

#[allow(unsafe_code)]
mod ring;

use super::epoll::Epoll;
use super::{DriverError, Event, LOOKS_PER_CLOCK, Link, Tcp};
pub use ring::RingError;
use ring::{Completion, HEADROOM, Ring};

/// Payload of which as much is missing is received straight to its place. Less is copied out of
/// the pool, which costs less than to end a standing receive.
const LONG_BYTES_MIN: usize = 64 << 10;
/// Looks of another thread that bring nothing until it takes the requests over.
const LOOKS_IN_VAIN_MAX: u32 = 64;
/// The key under which the ring's descriptor is watched; others are in `connecting` and `kernel`.
const RING: u64 = 1 << 44;

/// Kinds of requests, in a token's highest bits; the connection's number is below, and its process.
const STANDING: u64 = 1 << 62;
const LONG: u64 = 1 << 63;
const NUMBERS: u32 = 1 << 30;

/// The ring, and what it does for each connection.
pub(super) struct RingSide {
    ring: Ring,
    /// By process.
    readings: Vec<Reading>,
    /// The thread that makes requests, and whether others have made some, too.
    thread: usize,
    is_mixed: bool,
    /// Looks of another thread in a row that brought nothing.
    in_vain: u32,
}

/// How a connection is read.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    /// Counts connections of this process, so that what is told of one that has ended is not taken
    /// for its successor's.
    number: u32,
    standing: Standing,
    long: Long,
}

/// The standing receive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Standing {
    /// There is none.
    #[default]
    Off,
    /// It is the kernel's.
    On,
    /// It is the kernel's, and waits for the end of the long one.
    Behind,
    /// It was asked to end.
    Ending,
}

/// The long receive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Long {
    /// There is none.
    #[default]
    Off,
    /// Wanted: the standing one has to end first.
    Wanted,
    /// The kernel writes to that address.
    On(usize),
    /// So many bytes are in place there, and nobody has been told.
    Landed(usize, usize),
}

/// Tells threads apart, cheaply: an address that each has of its own.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place) as usize)
}

impl RingSide {
    fn new(size: u32, epoll: &Epoll) -> Result<RingSide, DriverError> {
        let ring = Ring::open(size)?;
        epoll.watch(ring.fd(), RING).map_err(DriverError::Watch)?;
        Ok(RingSide {
            ring,
            readings: vec![Reading::default(); size as usize],
            thread: this_thread(),
            is_mixed: false,
            in_vain: 0,
        })
    }

    fn reading(&mut self, peer: u32) -> &mut Reading {
        let peer = peer as usize;
        if peer >= self.readings.len() {
            self.readings.resize(peer + 1, Reading::default());
        }
        &mut self.readings[peer]
    }

    fn token(&mut self, kind: u64, peer: u32) -> u64 {
        kind | u64::from(self.reading(peer).number) << 32 | u64::from(peer)
    }

    /// A connection begins or goes on to be read.
    fn stand(&mut self, peer: u32, socket: i32) {
        let reading = self.reading(peer);
        if reading.standing == Standing::Off && reading.long == Long::Off {
            reading.standing = Standing::On;
            let token = self.token(STANDING, peer);
            self.ring.stand(socket, token);
            self.is_mixed |= self.thread != this_thread();
        }
    }

    /// The standing receive ends, as soon as the kernel has heard of it.
    fn end_standing(&mut self, peer: u32) {
        if self.reading(peer).standing == Standing::On {
            let token = self.token(STANDING, peer);
            self.ring.cancel(token);
            self.reading(peer).standing = Standing::Ending;
        }
    }

    /// The connection is read no more, and the kernel writes nothing of it to the memory of a
    /// message.
    pub fn forget(&mut self, peer: u32) {
        let reading = *self.reading(peer);
        if let Long::On(_) = reading.long {
            let token = self.token(LONG, peer);
            self.ring.cancel(token);
            self.ring.await_end(token);
        }
        if reading.standing != Standing::Off {
            // Also one that waited behind the long one, which may have come to its end by itself.
            let token = self.token(STANDING, peer);
            self.ring.cancel(token);
        }
        // Until the kernel has heard of it, the socket stays open whoever closes it.
        self.ring.submit();
        *self.reading(peer) = Reading {
            number: (reading.number + 1) % NUMBERS,
            ..Reading::default()
        };
    }

    /// Long receives of all connections end.
    fn forget_long(&mut self) {
        for peer in 0..self.readings.len() as u32 {
            if let Long::On(_) = self.readings[peer as usize].long {
                self.forget(peer);
            }
        }
    }

    /// Requests of another thread end; this one makes new ones when they have.
    #[cold]
    fn take_over(&mut self) {
        self.thread = this_thread();
        self.is_mixed = false;
        self.in_vain = 0;
        for peer in 0..self.readings.len() as u32 {
            self.end_standing(peer);
        }
        self.ring.submit();
    }

    #[inline(always)]
    fn is_this_threads(&self) -> bool {
        self.thread == this_thread() && !self.is_mixed
    }

    /// A look that brought nothing.
    #[inline(always)]
    fn look_in_vain(&mut self) {
        if self.is_this_threads() {
            self.in_vain = 0;
            return;
        }
        self.in_vain += 1;
        if self.in_vain > LOOKS_IN_VAIN_MAX {
            self.take_over();
        }
    }

    /// Whether there is nothing to take; requests are this thread's then, and whatever comes makes
    /// the ring's descriptor readable.
    pub fn is_drained(&mut self) -> bool {
        if !self.is_this_threads() {
            self.take_over();
        }
        if self.ring.wants_call() {
            let _ = self.ring.call();
        }
        self.ring.is_drained()
    }
}

impl Tcp {
    /// Lets io_uring read the connections; before the first poll.
    pub(super) fn open_ring(&mut self) -> Result<(), DriverError> {
        let size = self.links.len() as u32;
        self.ring_side = Some(Box::new(RingSide::new(size, &self.epoll)?));
        Ok(())
    }

    /// As [`Tcp::poll`], from what the ring brings.
    #[inline(never)]
    pub(super) fn poll_ring(&mut self) -> Option<Event> {
        let mut looked = false;
        loop {
            if let Some(from) = self.current {
                if let Some(event) = self.next_in_scratch(from) {
                    return Some(event);
                }
                if self.current.is_none() && self.would_receive_long(from) {
                    self.current = Some(from);
                    return Some(Event::Payload { from });
                }
                continue;
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if let Some(from) = self.ready.pop_front() {
                self.begin_reading(from);
                continue;
            }
            if let Some(completion) = self.ring_side.as_mut()?.ring.next() {
                if let Some(event) = self.hear_completion(completion) {
                    return Some(event);
                }
                continue;
            }
            if looked {
                return None;
            }
            looked = true;
            self.look_around_ring();
        }
    }

    /// There is no completion: what there is to do.
    #[inline(always)]
    fn look_around_ring(&mut self) {
        let Some(side) = &mut self.ring_side else {
            return;
        };
        side.look_in_vain();
        if side.ring.wants_call() {
            self.counters.reads += 1;
            if side.ring.call().is_err() {
                self.give_ring_up();
            }
        }
        if !self.unsent.is_empty() {
            self.flush_unsent();
        }
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(self.looks_per_question()) {
            self.ask_kernel();
        }
        if self.looks.is_multiple_of(LOOKS_PER_CLOCK) {
            self.look_at_clock();
        }
    }

    /// A connection is new, or its standing receive has ended: what came with the handshake comes
    /// first.
    fn begin_reading(&mut self, from: u32) {
        let (Some(side), Link::Open(connection)) =
            (&mut self.ring_side, &mut self.links[from as usize])
        else {
            return;
        };
        side.stand(from, connection.socket.fd());
        let early = std::mem::take(&mut connection.early);
        if !early.is_empty() {
            // The scratch is larger than what a handshake is read with.
            self.scratch[..early.len()].copy_from_slice(&early);
            (self.begin, self.end) = (0, early.len());
            self.current = Some(from);
        }
    }

    /// What has come of a request.
    #[inline(always)]
    fn hear_completion(&mut self, completion: Completion) -> Option<Event> {
        let Completion { token, buffer, .. } = completion;
        let from = token as u32;
        let number = (token >> 32) as u32 % NUMBERS;
        let side = self.ring_side.as_mut()?;
        let link = self.links.get_mut(from as usize);
        let Some(Link::Open(connection)) = link.filter(|_| side.reading(from).number == number)
        else {
            if let Some(buffer) = buffer {
                side.ring.give_back(buffer);
            }
            return None;
        };
        if token & LONG != 0 {
            return self.hear_long(from, completion.result);
        }
        let reading = side.reading(from);
        if !completion.more {
            reading.standing = Standing::Off;
        } else if reading.standing == Standing::Behind {
            reading.standing = Standing::On;
        }
        if let (Some(buffer), true) = (buffer, completion.result > 0) {
            // It may have ended with its last bytes: no other end will come for which a long receive
            // could wait.
            if !completion.more && reading.long == Long::Wanted {
                reading.long = Long::Off;
            }
            let kept = std::mem::take(&mut connection.partial_bytes);
            side.ring.lend(buffer, &mut self.scratch);
            self.begin = HEADROOM - kept;
            self.end = HEADROOM + completion.result as usize;
            self.scratch[self.begin..HEADROOM].copy_from_slice(&connection.partial[..kept]);
            connection.used = true;
            self.current = Some(from);
            if !completion.more {
                self.ready.push_back(from);
            }
            return None;
        }
        if let Some(buffer) = buffer {
            side.ring.give_back(buffer);
        }
        self.hear_end_of_standing(from, completion.result)
    }

    /// A standing receive has ended without bringing anything.
    #[cold]
    fn hear_end_of_standing(&mut self, from: u32, result: i32) -> Option<Event> {
        let side = self.ring_side.as_mut()?;
        let left = match &self.links[from as usize] {
            Link::Open(connection) => connection.left,
            _ => 0,
        };
        match -result {
            0 => self.lose_end(from),
            // It was asked to, the thread that made it has ended, or the pool was empty.
            libc::ECANCELED | libc::ENOBUFS | libc::EINTR | libc::EAGAIN => {
                let reading = side.reading(from);
                match reading.long {
                    Long::Wanted if left >= LONG_BYTES_MIN => {
                        self.current = Some(from);
                        (self.begin, self.end) = (0, 0);
                        return Some(Event::Payload { from });
                    }
                    // What has landed comes first.
                    Long::On(_) | Long::Landed(..) => {}
                    Long::Off | Long::Wanted => {
                        reading.long = Long::Off;
                        self.ready.push_back(from);
                    }
                }
            }
            error => {
                let error = std::io::Error::from_raw_os_error(error);
                self.lose(from, format!("the connection broke: {error}"));
            }
        }
        None
    }

    /// A long receive has ended.
    #[cold]
    fn hear_long(&mut self, from: u32, result: i32) -> Option<Event> {
        let reading = self.ring_side.as_mut()?.reading(from);
        let Long::On(address) = reading.long else {
            return None;
        };
        match result {
            0 => {
                reading.long = Long::Off;
                self.lose_end(from);
                return None;
            }
            1.. => reading.long = Long::Landed(address, result as usize),
            _ if matches!(-result, libc::ECANCELED | libc::EINTR | libc::EAGAIN) => {
                // The thread that made it has ended: once more.
                reading.long = Long::Wanted;
            }
            _ => {
                reading.long = Long::Off;
                let error = std::io::Error::from_raw_os_error(-result);
                self.lose(from, format!("the connection broke: {error}"));
                return None;
            }
        }
        self.current = Some(from);
        (self.begin, self.end) = (0, 0);
        Some(Event::Payload { from })
    }

    /// Whether to ask where the payload of a connection goes of which nothing is at hand.
    #[inline(always)]
    fn would_receive_long(&mut self, from: u32) -> bool {
        let (Some(side), Link::Open(connection)) =
            (&mut self.ring_side, &self.links[from as usize])
        else {
            return false;
        };
        connection.left >= LONG_BYTES_MIN
            && !connection.is_copied
            && side.reading(from).long == Long::Off
    }

    /// As [`Tcp::read_into`]: what has landed there, or nothing yet. Until the bytes have landed or
    /// the process is lost, every call is made with the same place.
    ///
    /// # Safety
    /// `into` must be valid for writing `room` bytes until then.
    #[allow(unsafe_code)]
    #[cold]
    pub(super) unsafe fn read_into_by_ring(&mut self, into: *mut u8, room: usize) -> usize {
        let Some(from) = self.current.take() else {
            return 0;
        };
        let (Some(side), Link::Open(connection)) =
            (&mut self.ring_side, &mut self.links[from as usize])
        else {
            return 0;
        };
        let reading = *side.reading(from);
        if let Long::Landed(address, bytes) = reading.long {
            assert_eq!(address, into as usize, "a payload has moved on its way");
            side.reading(from).long = Long::Off;
            connection.left -= bytes;
            match reading.standing {
                Standing::Behind => side.reading(from).standing = Standing::On,
                Standing::Off => self.ready.push_back(from),
                Standing::On | Standing::Ending => {}
            }
            return bytes;
        }
        let bytes = room.min(connection.left);
        match reading.standing {
            Standing::On => {
                side.reading(from).long = Long::Wanted;
                side.end_standing(from);
            }
            Standing::Off if bytes >= LONG_BYTES_MIN => {
                let (long, standing) = (side.token(LONG, from), side.token(STANDING, from));
                let socket = connection.socket.fd();
                // SAFETY: the caller's promise; `forget` waits for its end.
                unsafe {
                    side.ring
                        .receive(socket, long, into, bytes as u32, standing);
                }
                let reading = side.reading(from);
                reading.long = Long::On(into as usize);
                reading.standing = Standing::Behind;
            }
            // More came through the pool meanwhile.
            Standing::Off => {
                side.reading(from).long = Long::Off;
                self.ready.push_back(from);
            }
            Standing::Ending => side.reading(from).long = Long::Wanted,
            Standing::Behind => {}
        }
        side_submit(&mut self.ring_side);
        0
    }

    /// As [`Tcp::read_at_hand`]: the rest comes through the pool.
    #[cold]
    pub(super) fn decline_long(&mut self) {
        let Some(from) = self.current.take() else {
            return;
        };
        if let (Some(side), Link::Open(connection)) =
            (&mut self.ring_side, &mut self.links[from as usize])
        {
            connection.is_copied = true;
            let reading = side.reading(from);
            match reading.long {
                // The kernel has that memory, whatever becomes of the message.
                Long::On(_) => return,
                // Nobody wants what is in place already.
                Long::Landed(_, bytes) => connection.left -= bytes,
                Long::Off | Long::Wanted => {}
            }
            reading.long = Long::Off;
            if reading.standing == Standing::Off {
                self.ready.push_back(from);
            }
        }
    }

    /// Nothing is written to anybody's memory any more by receives under way.
    #[cold]
    pub fn stop_placing(&mut self) {
        if let Some(side) = &mut self.ring_side {
            side.forget_long();
        }
    }

    /// The kernel does not answer the ring: nothing more comes.
    #[cold]
    fn give_ring_up(&mut self) {
        for peer in 0..self.links.len() as u32 {
            if matches!(self.links[peer as usize], Link::Open(_)) {
                self.lose(peer, "io_uring cannot be used any more".into());
            }
        }
    }
}

fn side_submit(side: &mut Option<Box<RingSide>>) {
    if let Some(side) = side {
        side.ring.submit();
    }
}

/// Whether this process could use io_uring so, and why not.
pub fn find_ring() -> Result<(), RingError> {
    Ring::open(1).map(drop)
}

/// As [`find_ring`], in a few words.
pub fn describe_ring() -> String {
    match find_ring() {
        Ok(()) => "io_uring can be used (--progress uring)".into(),
        Err(error) => error.to_string(),
    }
}
