//! /dev/oxk-pm as a program uses it: its requests, and the rings.

use std::fs::{File, OpenOptions};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::runner::{Outcome, Trouble, fail};
use crate::stream_device;
use crate::sys::{Buffer, ioctl, ioctl_with};

pub const PATH: &str = "/dev/oxk-pm";
pub const SLOTS: u32 = 256;
pub const SLOT_BYTES: usize = 8192;
pub const CONTROL_BYTES: usize = 16384;
pub const AREA_BYTES: usize = CONTROL_BYTES + 2 * SLOTS as usize * SLOT_BYTES;
pub const OPEN: u32 = request(1, 1, size_of::<Open>());
pub const CONNECT: u32 = request(3, 2, size_of::<Connect>());
pub const TURN: u32 = request(0, 3, 0);
pub const WAIT: u32 = request(0, 4, 0);
pub const NEWS: u32 = request(2, 5, size_of::<News>());
pub const COUNTS: u32 = request(2, 6, size_of::<Counts>());

/// Where things are in the memory.
const QUEUED: usize = 0;
const CONSUMED: usize = 4;
const WANTS: usize = 8;
const QUEUE: usize = 64;
const OUT: usize = QUEUE + 4 * SLOTS as usize;
const IN: usize = OUT + 16 * SLOTS as usize;

const fn request(direction: u32, number: u32, bytes: usize) -> u32 {
    direction << 30 | (bytes as u32) << 16 | 0xb7 << 8 | number
}

/// `struct oxkp_open`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Open {
    pub key: i32,
    pub ifindex: i32,
    pub peers: u32,
    pub reap_us: u32,
    pub bytes: u32,
    pub address: [u8; 28],
}

/// `struct oxkp_connect`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Connect {
    pub peer: u64,
    pub bytes: u32,
    pub address: [u8; 28],
}

/// `struct oxkp_news`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct News {
    pub peer: u64,
    pub error: i32,
    pub reserved: u32,
}

/// `struct oxkp_counts`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub messages_sent: u64,
    pub messages_received: u64,
    pub bytes_lent: u64,
    pub bytes_copied: u64,
    pub bytes_placed: u64,
    pub bytes_kept: u64,
    pub frames_sent: u64,
    pub frames_repeated: u64,
    pub frames_received: u64,
    pub frames_refused: u64,
    pub reaps: u64,
    pub reaps_over: u64,
    pub turns: u64,
    pub sleeps: u64,
}

/// A message that has come.
pub struct Message {
    pub peer: u64,
    pub error: i32,
    pub bytes: Vec<u8>,
}

/// An endpoint, and its rings.
pub struct Port {
    pub file: File,
    pub area: Buffer,
    queued: u32,
    consumed: u32,
}

/// The kernel's number of an interface.
pub fn index(name: &std::ffi::CStr) -> i32 {
    // SAFETY: a terminated name.
    unsafe { libc::if_nametoindex(name.as_ptr()) as i32 }
}

/// How a port is opened.
pub fn how(key: i32, ifindex: i32, listen: SocketAddrV4) -> Open {
    let address = stream_device::address(key, 0, listen);
    Open {
        key,
        ifindex,
        peers: 8,
        reap_us: 50,
        bytes: address.bytes,
        address: address.address,
    }
}

pub fn open_device() -> Outcome<File> {
    if std::fs::metadata(PATH).is_err() {
        let why = format!("{PATH} does not exist: oxk_pm.ko is not loaded");
        return Err(Trouble::Skip(why));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_CLOEXEC);
    Ok(options.open(PATH)?)
}

impl Port {
    pub fn open(mut how: Open) -> Outcome<Port> {
        let file = open_device()?;
        if let Err(errno) = ioctl_with(file.as_raw_fd(), OPEN, &mut how) {
            return fail(format!("OXKP_OPEN: errno {errno}"));
        }
        let area = Buffer::of_device(file.as_fd(), AREA_BYTES, libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(Port {
            file,
            area,
            queued: 0,
            consumed: 0,
        })
    }

    pub fn connect(&self, to: SocketAddrV4) -> Result<u64, i32> {
        let address = stream_device::address(0, 0, to);
        let mut argument = Connect {
            peer: 0,
            bytes: address.bytes,
            address: address.address,
        };
        ioctl_with(self.file.as_raw_fd(), CONNECT, &mut argument).map(|_| argument.peer)
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset + 4 <= CONTROL_BYTES);
        // SAFETY: within the memory that is mapped, at a multiple of four.
        unsafe { &*((self.area.address() as usize + offset) as *const AtomicU32) }
    }

    pub fn is_busy(&self, slot: u32) -> bool {
        let at = OUT + 16 * slot as usize + 12;
        self.word(at).load(Ordering::Acquire) != 0
    }

    /// Queues a message in a slot, which must not be busy.
    pub fn queue(&mut self, slot: u32, peer: u64, bytes: &[u8]) {
        let at = CONTROL_BYTES + slot as usize * SLOT_BYTES;
        let into = (self.area.address() as usize + at) as *mut u8;
        // SAFETY: a slot, within the memory that is mapped.
        unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(SLOT_BYTES)) };
        let out = OUT + 16 * slot as usize;
        self.word(out).store(peer as u32, Ordering::Relaxed);
        self.word(out + 4)
            .store((peer >> 32) as u32, Ordering::Relaxed);
        self.word(out + 8)
            .store(bytes.len() as u32, Ordering::Relaxed);
        let place = QUEUE + 4 * (self.queued % SLOTS) as usize;
        self.word(place).store(slot, Ordering::Relaxed);
        self.queued = self.queued.wrapping_add(1);
        self.word(QUEUED).store(self.queued, Ordering::Release);
    }

    pub fn ask(&self, request: u32, argument: u64) -> Result<i64, i32> {
        ioctl(self.file.as_raw_fd(), request, argument)
    }

    pub fn turn(&self) -> Outcome {
        match self.ask(TURN, 0) {
            Ok(_) => Ok(()),
            Err(errno) => fail(format!("OXKP_TURN: errno {errno}")),
        }
    }

    /// The process says that it sleeps until a slot is free.
    pub fn want_slots(&self) {
        self.word(WANTS).store(1, Ordering::SeqCst);
    }

    /// The next message, if it has come; its slot is given back by the next turn.
    pub fn next(&mut self) -> Option<Message> {
        let at = IN + 24 * (self.consumed % SLOTS) as usize;
        if self.word(at + 16).load(Ordering::Acquire) != self.consumed.wrapping_add(1) {
            return None;
        }
        let load = |at: usize| self.word(at).load(Ordering::Relaxed);
        let slot = CONTROL_BYTES + (SLOTS + self.consumed % SLOTS) as usize * SLOT_BYTES;
        let bytes = self.area.part(slot, load(at + 8) as usize).copy();
        let message = Message {
            peer: u64::from(load(at)) | u64::from(load(at + 4)) << 32,
            error: load(at + 12) as i32,
            bytes,
        };
        self.consumed = self.consumed.wrapping_add(1);
        self.word(CONSUMED).store(self.consumed, Ordering::Release);
        Some(message)
    }

    /// The next message, when it has come.
    pub fn wait_next(&mut self) -> Outcome<Message> {
        let begin = Instant::now();
        loop {
            if let Some(message) = self.next() {
                return Ok(message);
            }
            if begin.elapsed() > Duration::from_secs(30) {
                return fail("no message has come in 30 s");
            }
            if let Err(errno) = self.ask(WAIT, 1000) {
                return fail(format!("OXKP_WAIT: errno {errno}"));
            }
        }
    }

    pub fn news(&self) -> Result<News, i32> {
        let mut news = News::default();
        ioctl_with(self.file.as_raw_fd(), NEWS, &mut news).map(|_| news)
    }

    pub fn counts(&self) -> Outcome<Counts> {
        let mut counts = Counts::default();
        match ioctl_with(self.file.as_raw_fd(), COUNTS, &mut counts) {
            Ok(_) => Ok(counts),
            Err(errno) => fail(format!("OXKP_COUNTS: errno {errno}")),
        }
    }

    /// Writes to the words that a process may write.
    pub fn scribble(&self, at: usize, value: u32) {
        self.word((at % CONTROL_BYTES) & !3)
            .store(value, Ordering::Relaxed);
    }

    /// Nobody uses the rings any more.
    pub fn close(self) {
        self.area.unmap();
    }
}
