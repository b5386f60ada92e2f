//! A device between two sides on one host, each direction of which is a ring in memory that both
//! have mapped, or a socket that takes a system call at either end.
//!
//! A frame in the ring is written once by its sender and shown to the receiver where it lies. A
//! frame through the socket is gathered by the kernel, and copied out of it once more. The device
//! counts those bytes, its calls are in its counters.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxmpi_net::device::{Address, Batch, Counters, Device};

use crate::floor::FloorError;
use crate::floor::pair::{LINE_BYTES, Memory};

/// Longest frame: two pages.
const FRAME_BYTES: usize = 8 << 10;
const SLOTS: usize = 64;
const SLOT_BYTES: usize = LINE_BYTES + FRAME_BYTES;
/// Bytes that may wait in a socket: as many as in the ring.
static SOCKET_BYTES: libc::c_int = (SLOTS * SLOT_BYTES) as libc::c_int;

/// What both ends of all passages have done.
#[derive(Default)]
pub struct Spent {
    /// Bytes copied by the devices and by the kernel for them.
    pub copied: AtomicU64,
    /// System calls that moved a frame; how often a side that spins looks in vain is chance.
    pub calls: AtomicU64,
}

/// One direction.
#[derive(Clone)]
pub enum Way {
    /// Memory that both have.
    Mapped(Arc<Ring>),
    /// The kernel's: where to write, and where to read.
    Calls(Arc<(UnixDatagram, UnixDatagram)>),
}

impl Way {
    pub fn mapped() -> Result<Way, FloorError> {
        let memory = Memory::shared(SLOTS * SLOT_BYTES)?;
        Ok(Way::Mapped(Arc::new(Ring(memory))))
    }

    pub fn calls() -> io::Result<Way> {
        let (near, far) = UnixDatagram::pair()?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
            // SAFETY: pointer and length describe the constant. What the kernel does not grant it
            // does without.
            unsafe {
                let bytes = &raw const SOCKET_BYTES;
                libc::setsockopt(
                    near.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    bytes.cast(),
                    length,
                );
            }
        }
        Ok(Way::Calls(Arc::new((near, far))))
    }
}

/// Slots, each a line whose word is the frame's length (0: free), and the frame.
pub struct Ring(Memory);

// SAFETY: a slot belongs to the sender while its word is 0 and to the receiver otherwise.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    fn word(&self, position: usize) -> &AtomicU64 {
        self.0.line(position % SLOTS * (SLOT_BYTES / LINE_BYTES))
    }

    fn place(&self, position: usize) -> *mut u8 {
        let offset = position % SLOTS * SLOT_BYTES + LINE_BYTES;
        self.0.at(offset, FRAME_BYTES)
    }
}

/// One end.
pub struct Passage {
    out: Way,
    into: Way,
    /// Where the next frame goes, and where the next one is, in rings.
    put: usize,
    take: usize,
    /// The frame that is shown: in the ring, or copied out of the kernel.
    shown: Option<usize>,
    frame: Vec<u8>,
    frame_bytes: usize,
    spent: Arc<Spent>,
    counters: Counters,
}

impl Passage {
    pub fn new(out: Way, into: Way, spent: Arc<Spent>) -> Passage {
        Passage {
            out,
            into,
            put: 0,
            take: 0,
            shown: None,
            frame: vec![0; FRAME_BYTES],
            frame_bytes: 0,
            spent,
            counters: Counters::default(),
        }
    }
}

impl Device for Passage {
    fn describe(&self) -> String {
        "a passage in memory".to_owned()
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES
    }

    fn batch_max(&self) -> (usize, usize) {
        (8, 8 * FRAME_BYTES)
    }

    fn send(&mut self, _: &Address, batch: &Batch) -> io::Result<usize> {
        for frame in 0..batch.len() {
            let bytes = batch.frame_bytes(frame);
            let pieces = batch.pieces(frame, frame + 1);
            match &self.out {
                Way::Mapped(ring) => {
                    if ring.word(self.put).load(Ordering::Acquire) != 0 {
                        return Ok(frame);
                    }
                    let mut at = ring.place(self.put);
                    assert!(bytes <= FRAME_BYTES, "a frame longer than was agreed");
                    for piece in pieces {
                        // SAFETY: the slot is free and has room for all pieces; who pushed them
                        // promised that they are valid.
                        unsafe {
                            at.copy_from_nonoverlapping(piece.iov_base.cast(), piece.iov_len);
                            at = at.add(piece.iov_len);
                        }
                    }
                    ring.word(self.put).store(bytes as u64, Ordering::Release);
                    self.put += 1;
                }
                Way::Calls(sockets) => {
                    self.counters.sends += 1;
                    // SAFETY: zero is a valid message header of no pieces.
                    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
                    message.msg_iov = pieces.as_ptr().cast_mut();
                    message.msg_iovlen = pieces.len() as _;
                    // SAFETY: the pieces are valid, as above.
                    let sent = unsafe { libc::sendmsg(sockets.0.as_raw_fd(), &message, 0) };
                    if sent < 0 {
                        let error = io::Error::last_os_error();
                        return match error.raw_os_error() {
                            Some(libc::EAGAIN | libc::ENOBUFS) => Ok(frame),
                            _ => Err(error),
                        };
                    }
                    self.spent.calls.fetch_add(1, Ordering::Relaxed);
                }
            }
            self.counters.frames_out += 1;
            self.counters.bytes_out += bytes as u64;
            self.spent.copied.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        Ok(batch.len())
    }

    fn poll(&mut self) -> bool {
        let bytes = match &self.into {
            Way::Mapped(ring) => {
                if let Some(shown) = self.shown.take() {
                    ring.word(shown).store(0, Ordering::Release);
                }
                let bytes = ring.word(self.take).load(Ordering::Acquire) as usize;
                if bytes == 0 {
                    return false;
                }
                self.shown = Some(self.take);
                self.take += 1;
                bytes
            }
            Way::Calls(sockets) => {
                self.counters.receives += 1;
                let Ok(bytes) = sockets.1.recv(&mut self.frame) else {
                    self.counters.receives_empty += 1;
                    return false;
                };
                self.spent.calls.fetch_add(1, Ordering::Relaxed);
                self.spent.copied.fetch_add(bytes as u64, Ordering::Relaxed);
                bytes
            }
        };
        self.frame_bytes = bytes;
        self.counters.frames_in += 1;
        self.counters.bytes_in += bytes as u64;
        true
    }

    fn frame(&self) -> &[u8] {
        match (&self.into, self.shown) {
            // SAFETY: the slot is this side's until `poll` frees it, and has so many bytes.
            (Way::Mapped(ring), Some(shown)) => unsafe {
                std::slice::from_raw_parts(ring.place(shown), self.frame_bytes)
            },
            _ => &self.frame[..self.frame_bytes],
        }
    }

    fn sender(&self) -> Address {
        Address::Ethernet([2; 6])
    }

    fn backlog(&self, high: usize) -> usize {
        match &self.into {
            Way::Mapped(ring) => (0..high.min(SLOTS))
                .take_while(|ahead| ring.word(self.take + ahead).load(Ordering::Relaxed) != 0)
                .count(),
            Way::Calls(_) => 0,
        }
    }

    fn room(&self) -> usize {
        SLOTS
    }

    fn fd(&self) -> RawFd {
        // Both sides spin.
        -1
    }

    fn prepare_sleep(&mut self) -> bool {
        true
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
