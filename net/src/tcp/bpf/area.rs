//! What the program in the kernel and this process share: the mapped memory that `layout`
//! describes, the maps by which the program finds a connection's slot, and the bell that wakes a
//! sleeper. All unsafe code of this home.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::layout::{Control, Layout, State, at};
use super::program::{self, Maps};
use crate::bpf::{self, Map, Table};

/// `BPF_MAP_TYPE_HASH`, `_ARRAY`, `_SOCKMAP` and `_RINGBUF` of linux/bpf.h.
const HASH: u32 = 1;
const ARRAY: u32 = 2;
const SOCKETS: u32 = 15;
const RING: u32 = 27;
/// `BPF_F_MMAPABLE`.
const MAPPABLE: u32 = 1 << 10;
/// The bell's room: one notice for each time that this process sleeps, and a page is the least.
const BELL_BYTES: usize = 4096;
/// `TCP_REPAIR_OFF_NO_WP` of linux/tcp.h: without asking the peer for its window.
const REPAIR_OFF: i32 = -1;
/// `TCP_RECV_QUEUE` of linux/tcp.h.
const RECEIVE_QUEUE: i32 = 1;
/// Looks at a socket while bytes keep arriving.
const LOOKS_MAX: u32 = 64;

pub(super) struct Area {
    layout: Layout,
    memory: Mapping,
    bell: OwnedFd,
    /// The bell's pages: what has been heard, and what has been rung.
    heard: Mapping,
    rung: Mapping,
    names: Table<u64, u32>,
    sockets: Table<u32, RawFd>,
    /// Attached to `sockets`, and gone with it.
    _program: OwnedFd,
}

impl Area {
    /// Makes the maps, and has the kernel take the program.
    pub fn open(layout: Layout) -> io::Result<Area> {
        let area = bpf::create(&Map {
            kind: ARRAY,
            key_bytes: 4,
            value_bytes: layout.bytes(),
            entries_max: 1,
            flags: MAPPABLE,
        })?;
        let bell = bpf::create(&Map {
            kind: RING,
            entries_max: BELL_BYTES as u32,
            ..Map::default()
        })?;
        let names = Table::new(HASH, layout.slots)?;
        let sockets = Table::new(SOCKETS, layout.slots)?;
        let maps = Maps {
            names: names.fd().as_raw_fd(),
            area: area.as_raw_fd(),
            bell: bell.as_raw_fd(),
        };
        let program = bpf::load(program::SORT, &program::program(layout, maps))?;
        bpf::attach_to_map(&program, sockets.fd(), program::ATTACH_VERDICT)?;
        let both = libc::PROT_READ | libc::PROT_WRITE;
        Ok(Area {
            layout,
            memory: Mapping::new(&area, 0, layout.bytes() as usize, both)?,
            heard: Mapping::new(&bell, 0, BELL_BYTES, both)?,
            rung: Mapping::new(&bell, BELL_BYTES, BELL_BYTES, libc::PROT_READ)?,
            bell,
            names,
            sockets,
            _program: program,
        })
    }

    pub fn slots(&self) -> u32 {
        self.layout.slots
    }

    pub fn ring_bytes(&self) -> usize {
        self.layout.ring_bytes as usize
    }

    pub fn control(&self) -> &Control {
        // SAFETY: the memory begins with it, is mapped as long as `self`, and whoever else writes
        // there does so atomically.
        unsafe { self.memory.at(at::CONTROL as usize).cast().as_ref() }
    }

    #[inline(always)]
    pub fn state(&self, slot: u32) -> &State {
        assert!(slot < self.layout.slots);
        let offset = self.layout.states() as usize + ((slot as usize) << at::STATE_SHIFT);
        // SAFETY: as `control`; the layout has so many of them.
        unsafe { self.memory.at(offset).cast().as_ref() }
    }

    /// A place of the queue.
    pub fn notice(&self, place: u64) -> &AtomicU32 {
        let place = place as usize & (self.layout.slots as usize - 1);
        // SAFETY: as `control`; the queue has as many places as there are slots.
        unsafe {
            let queue = self.memory.at(self.layout.queue() as usize);
            queue.cast::<AtomicU32>().add(place).as_ref()
        }
    }

    /// Copies bytes out of a slot's ring, from a position of its stream.
    ///
    /// # Safety
    /// `into` must be valid for writing `bytes` bytes. The kernel must have put these bytes there,
    /// and not been told that they are taken.
    #[inline(always)]
    pub unsafe fn copy(&self, slot: u32, position: u64, into: *mut u8, bytes: usize) {
        assert!(slot < self.layout.slots && bytes <= self.ring_bytes());
        let begin = position as usize & (self.ring_bytes() - 1);
        let first = bytes.min(self.ring_bytes() - begin);
        let offset = self.layout.rings() as usize + slot as usize * self.ring_bytes();
        let ring = self.memory.at(offset).as_ptr();
        // SAFETY: both parts lie in the slot's ring, which nobody writes there as the caller says;
        // the rest is the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(ring.add(begin), into, first);
            std::ptr::copy_nonoverlapping(ring, into.add(first), bytes - first);
        }
    }

    /// Has the program read a socket, from the byte `next` of its stream.
    pub fn connect(&self, slot: u32, socket: RawFd, cookie: u64) -> io::Result<()> {
        self.names.update(cookie, slot)?;
        let connected = self.sockets.update(slot, socket);
        if connected.is_err() {
            self.disconnect(slot, socket, cookie);
        }
        connected
    }

    /// The program reads a socket no more, and touches nothing of the slot.
    pub fn disconnect(&self, slot: u32, socket: RawFd, cookie: u64) {
        // What is not there need not be taken away.
        let _ = self.names.delete(cookie);
        let _ = self.sockets.delete(slot);
        // A run that found the name before holds the socket's lock, for which this call waits.
        let _ = set(socket, libc::TCP_NODELAY, 1);
    }

    /// Readable when the bell has been rung.
    pub fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }

    /// The bell can be rung again.
    pub fn hear_bell(&self) {
        // SAFETY: each page begins with a position, of which this process writes the one and the
        // kernel the other, both atomically.
        let (heard, rung): (&AtomicU64, &AtomicU64) = unsafe {
            (
                self.heard.at(0).cast().as_ref(),
                self.rung.at(0).cast().as_ref(),
            )
        };
        heard.store(rung.load(Ordering::Acquire), Ordering::Release);
    }
}

/// Mapped memory of a map.
struct Mapping {
    begin: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is memory; who writes there is said where it is used.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(map: &OwnedFd, offset: usize, bytes: usize, protection: i32) -> io::Result<Mapping> {
        let (nowhere, fd) = (std::ptr::null_mut(), map.as_raw_fd());
        let offset = offset as libc::off_t;
        // SAFETY: a mapping that the kernel places where nothing is.
        let begin = unsafe { libc::mmap(nowhere, bytes, protection, libc::MAP_SHARED, fd, offset) };
        match NonNull::new(begin.cast::<u8>()) {
            Some(begin) if begin.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Mapping { begin, bytes })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[inline(always)]
    fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.bytes);
        // SAFETY: within the mapping.
        unsafe { self.begin.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.begin.as_ptr().cast(), self.bytes) };
    }
}

/// The number that a socket has in this kernel.
pub(super) fn cookie(socket: RawFd) -> io::Result<u64> {
    get(socket, libc::SOL_SOCKET, libc::SO_COOKIE)
}

/// The number of the next byte of a connection's stream that has not been read; none if the stream
/// has ended, or bytes arrive too fast to tell.
pub(super) fn next_sequence(socket: RawFd) -> io::Result<Option<u32>> {
    set(socket, libc::TCP_REPAIR, 1)?;
    let found = look_at_sequence(socket);
    set(socket, libc::TCP_REPAIR, REPAIR_OFF)?;
    found
}

fn look_at_sequence(socket: RawFd) -> io::Result<Option<u32>> {
    set(socket, libc::TCP_REPAIR_QUEUE, RECEIVE_QUEUE)?;
    let arrived = || get::<u32>(socket, libc::IPPROTO_TCP, libc::TCP_QUEUE_SEQ);
    for _ in 0..LOOKS_MAX {
        let (before, unread) = (arrived()?, unread(socket)?);
        if before == arrived()? {
            // The end has a number, too, and would be taken for a byte.
            return Ok((!has_ended(socket)).then(|| before.wrapping_sub(unread)));
        }
    }
    Ok(None)
}

fn unread(socket: RawFd) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the answer is written to the local.
    match unsafe { libc::ioctl(socket, libc::FIONREAD, &mut bytes) } {
        0 => Ok(bytes.cast_unsigned()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn has_ended(socket: RawFd) -> bool {
    let mut asked = libc::pollfd {
        fd: socket,
        events: libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: the structure is a local.
    unsafe { libc::poll(&mut asked, 1, 0) != 0 }
}

fn get<T: Default>(socket: RawFd, level: i32, name: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointer and length describe the local, an integer.
    let got =
        unsafe { libc::getsockopt(socket, level, name, (&raw mut value).cast(), &mut length) };
    match got {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(socket: RawFd, name: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    let level = libc::IPPROTO_TCP;
    // SAFETY: pointer and length describe the local.
    match unsafe { libc::setsockopt(socket, level, name, (&raw const value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
