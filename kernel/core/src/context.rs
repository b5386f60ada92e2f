//! The core of a context: its sockets, entries, queues and area, and the requests of the process.
//! What arrives is `reader.rs`.

use alloc::vec::Vec;

use oxmpi_matching::{Capacity, Pattern, Post, Queues, Seed};
use oxmpi_wire::o2g::{
    ANSWER, ANY_SOURCE, ANY_TAG, Counters, DONE, Done, ENTRIES_MAX, Entry, FREE, NO_BUFFER,
    SOCKETS_MAX, WAITING,
};

use crate::area::Area;
use crate::entries::{Entries, State};
use crate::error::{AreaError, CancelError, FreeError, NewError, OpenError, PutError};
use crate::socket::{Phase, Socket};

/// errno of an entry whose socket ended before its message did.
pub(crate) const ECONNRESET: u32 = 104;

/// All that is decided for one open file of the device. The call order is in the crate's
/// documentation.
pub struct Core {
    pub(crate) area: Option<Area>,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) entries: Entries,
    /// A posted entry is its slot; of an unexpected message the position of its record is
    /// remembered until the process has taken that.
    pub(crate) queues: Queues<u32, u64>,
    pub(crate) unexpected_max: usize,
    n_socks: u32,
    /// How many sockets wait for room.
    pub(crate) stopped: u32,
    pub(crate) counters: Counters,
}

impl Core {
    /// A core for so many sockets and entries, whose peers are trusted: in tests.
    pub fn new(n_socks: u32, n_entries: u32) -> Result<Core, NewError> {
        Core::with_seed(n_socks, n_entries, Seed::default())
    }

    /// A core for so many sockets and entries, with a secret of its own; the only call that
    /// allocates.
    pub fn with_seed(n_socks: u32, n_entries: u32, seed: Seed) -> Result<Core, NewError> {
        if !(1..=SOCKETS_MAX).contains(&n_socks) {
            return Err(NewError::Sockets { n_socks });
        }
        if !(1..=ENTRIES_MAX).contains(&n_entries) {
            return Err(NewError::Entries { n_entries });
        }
        let unexpected_max = n_entries as usize;
        let capacity = Capacity {
            posted: n_entries as usize,
            unexpected: unexpected_max,
            unexpected_max,
        };
        Ok(Core {
            area: None,
            sockets: Vec::with_capacity(n_socks as usize),
            entries: Entries::new(n_entries),
            queues: Queues::with_seed(capacity, seed),
            unexpected_max,
            n_socks,
            stopped: 0,
            counters: Counters::default(),
        })
    }

    /// Bytes that [`Core::with_seed`] allocates at most.
    pub fn bytes(n_socks: u32, n_entries: u32) -> u64 {
        // The queues: five indexes with 4 slots of 8 bytes, rounded up to a power of two, and a
        // link of 32 bytes for each entry, and two slabs of less than 80.
        const QUEUES_PER_ENTRY: u64 = 5 * (2 * 4 * 8 + 32) + 2 * 80;
        const FIXED: u64 = 4096;
        let per_entry = QUEUES_PER_ENTRY + Entries::BYTES_PER_ENTRY as u64;
        FIXED + u64::from(n_socks) * size_of::<Socket>() as u64 + u64::from(n_entries) * per_entry
    }

    /// Gives the core the mapped memory. Once.
    pub fn set_area(&mut self, area: Area) -> Result<(), AreaError> {
        if self.area.is_some() {
            return Err(AreaError::Twice);
        }
        if area.slots() != self.entries.len() {
            return Err(AreaError::Slots {
                flags: area.slots(),
                entries: self.entries.len(),
            });
        }
        if area.desks() != self.n_socks {
            return Err(AreaError::Desks {
                desks: area.desks(),
                sockets: self.n_socks,
            });
        }
        self.area = Some(area);
        Ok(())
    }

    /// How many sockets the core was made for: as many desks the area has.
    pub fn n_socks(&self) -> u32 {
        self.n_socks
    }

    /// How many entries the core was made for: as many flags the area has.
    pub fn n_entries(&self) -> u32 {
        self.entries.len()
    }

    /// A socket of this rank, whose process tells at this desk whether it is within a packet; its
    /// index names it from now on.
    pub fn open_socket(&mut self, rank: u32, desk: u32) -> Result<u32, OpenError> {
        if self.area.is_none() {
            return Err(OpenError::NoArea);
        }
        if desk >= self.n_socks {
            let n_socks = self.n_socks;
            return Err(OpenError::Desk { desk, n_socks });
        }
        if self.find_socket(rank).is_some() {
            return Err(OpenError::Exists { rank });
        }
        let index = match self.sockets.iter().position(|socket| !socket.open) {
            Some(index) => index,
            None if self.sockets.len() < self.sockets.capacity() => {
                self.sockets.push(Socket::CLOSED);
                self.sockets.len() - 1
            }
            None => {
                let n_socks = self.sockets.len() as u32;
                return Err(OpenError::Full { n_socks });
            }
        };
        self.sockets[index] = Socket::new(rank, desk);
        self.counters.sockets += 1;
        Ok(index as u32)
    }

    /// The index of a rank's socket.
    pub fn find_socket(&self, rank: u32) -> Option<u32> {
        let is_it = |socket: &Socket| socket.open && socket.rank == rank;
        self.sockets.iter().position(is_it).map(|at| at as u32)
    }

    /// The socket is no longer read. Entries whose message was arriving there are over with
    /// ECONNRESET.
    pub fn close_socket(&mut self, index: u32) {
        let Some(socket) = self.sockets.get(index as usize).filter(|s| s.open) else {
            return;
        };
        let reserved = matches!(socket.phase, Phase::Place(_));
        if reserved && let Some(area) = &mut self.area {
            area.unreserve();
        }
        self.abandon(index, ECONNRESET);
        self.go_on(index);
        self.sockets[index as usize] = Socket::CLOSED;
        self.counters.sockets -= 1;
    }

    /// A receive. It is posted unless a message that it accepts lies in the dump area, before which
    /// `entry.tail` says what the process has seen.
    pub fn put(&mut self, entry: &Entry, pinned: bool) -> Result<(), PutError> {
        self.check(entry)?;
        let slot = self.entries.vacant(entry.cookie)?;
        self.take_to(entry.tail);
        let pattern = Pattern {
            context: entry.context,
            source: (entry.flags & ANY_SOURCE == 0).then_some(entry.source),
            tag: (entry.flags & ANY_TAG == 0).then_some(entry.tag),
            signature: 0,
        };
        if self.queues.probe(&pattern).is_some() {
            self.counters.agains += 1;
            return Err(PutError::Again);
        }
        let Post::Queued(posted) = self.queues.post(pattern, entry.bytes, slot) else {
            unreachable!("the same pattern was asked for a line above")
        };
        self.entries.put(entry, pinned, posted);
        let waiting = Done {
            state: WAITING,
            cookie: entry.cookie,
            ..Done::default()
        };
        self.area_mut().flag(slot, waiting);
        Ok(())
    }

    fn check(&self, entry: &Entry) -> Result<(), PutError> {
        let Some(area) = &self.area else {
            return Err(PutError::NoArea);
        };
        let flags = entry.flags;
        if flags & !(ANY_SOURCE | ANY_TAG | NO_BUFFER | ANSWER) != 0 || entry.reserved != 0 {
            return Err(PutError::Flags { flags });
        }
        let (address, bytes) = (entry.address, entry.bytes);
        if flags & NO_BUFFER == 0 && address.checked_add(bytes).is_none() {
            return Err(PutError::Memory { address, bytes });
        }
        let (tail, head) = (entry.tail, area.head());
        if tail > head {
            return Err(PutError::Tail { tail, head });
        }
        Ok(())
    }

    /// Takes a receive back that has met no message.
    pub fn cancel(&mut self, cookie: u64) -> Result<(), CancelError> {
        let Some(slot) = self.entries.find(cookie) else {
            return Err(CancelError::Unknown { cookie });
        };
        let State::Waiting(posted) = self.entries.get(slot).state else {
            self.counters.agains += 1;
            return Err(CancelError::Again);
        };
        let taken = self.queues.cancel(posted);
        assert_eq!(taken, Some(slot), "an entry that waits is posted");
        self.entries.end(slot, State::Free);
        self.area_mut().flag_end(slot, FREE, 0);
        Ok(())
    }

    /// The process has taken everything before `tail`. Whether sockets that stopped may go on.
    pub fn free_to(&mut self, tail: u64) -> Result<bool, FreeError> {
        let Some(area) = &self.area else {
            return Err(FreeError::NoArea);
        };
        let head = area.head();
        if tail > head {
            return Err(FreeError::Tail { tail, head });
        }
        self.take_to(tail);
        self.take_mapped();
        let airy = self.area_mut().is_airy();
        Ok(self.stopped > 0 && airy && self.has_unexpected_room())
    }

    /// Whether there are records that the process has not taken.
    pub fn is_readable(&mut self) -> bool {
        let Some(area) = &mut self.area else {
            return false;
        };
        area.take_mapped();
        area.tail() != area.head()
    }

    /// Whether the socket waits for room.
    pub fn is_stopped(&self, index: u32) -> bool {
        self.sockets
            .get(index as usize)
            .is_some_and(|socket| socket.stopped)
    }

    /// A slot whose entry is over and whose memory can be let go; then the slot is vacant.
    pub fn next_released(&mut self) -> Option<u32> {
        self.entries.next_released()
    }

    /// What has been counted. Pages, wake-ups and what concerns all contexts are the shim's.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Forgets unexpected messages that the process has taken: they are its own affair.
    pub(crate) fn take_to(&mut self, tail: u64) {
        self.area_mut().take_to(tail);
        self.forget_taken();
    }

    /// The same by the tail that is mapped.
    pub(crate) fn take_mapped(&mut self) {
        self.area_mut().take_mapped();
        self.forget_taken();
    }

    fn forget_taken(&mut self) {
        let tail = self.area_mut().tail();
        // Messages are remembered in the order of their records, so the oldest tells.
        loop {
            let oldest = self.queues.unexpected().next();
            match oldest.map(|(id, _, &position)| (id, position)) {
                Some((id, position)) if position < tail => self.queues.withdraw(id),
                _ => break,
            };
        }
    }

    pub(crate) fn has_unexpected_room(&self) -> bool {
        self.queues.unexpected_len() < self.unexpected_max
    }

    /// Entries that wait for more from this socket get no more.
    pub(crate) fn abandon(&mut self, index: u32, error: u32) {
        let mut from = 0;
        while self.sockets[index as usize].arriving > 0 {
            let Some(slot) = self.entries.any_of_socket(from, index) else {
                unreachable!("the socket counts the entries that it brings")
            };
            self.finish(index, slot, error);
            from = slot + 1;
        }
        let socket = &mut self.sockets[index as usize];
        socket.continues = None;
        // They are over; nobody awaits their data.
        socket.answers = None;
    }

    /// An entry that arrived from this socket is over.
    pub(crate) fn finish(&mut self, index: u32, slot: u32, error: u32) {
        self.entries.end(slot, State::Over);
        self.sockets[index as usize].arriving -= 1;
        self.area_mut().flag_end(slot, DONE, error);
    }

    /// The socket no longer waits for room.
    pub(crate) fn go_on(&mut self, index: u32) {
        let socket = &mut self.sockets[index as usize];
        if socket.stopped {
            socket.stopped = false;
            self.stopped -= 1;
        }
        if self.stopped == 0
            && let Some(area) = &mut self.area
        {
            area.tell_stopped(false);
        }
    }

    /// Entries and sockets exist only once there is an area.
    pub(crate) fn area_mut(&mut self) -> &mut Area {
        self.area.as_mut().expect("nothing happens before set_area")
    }
}
