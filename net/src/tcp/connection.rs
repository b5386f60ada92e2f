//! One open connection: bytes that wait to leave, and how much of a packet has arrived.
//!
//! Outgoing bytes are, in order: the *backlog* (copied: heads, short messages sent in quick
//! succession, what a full socket did not take of a short message) and the *rest* of one payload
//! that still lies in the user's memory. While either waits, nothing else is taken.
//!
//! On an encrypted connection the backlog holds sealed records, and what is not sealed yet is
//! between it and the rest: *plain* bytes. They and the rest are sealed when the backlog has left,
//! a call's worth at a time. What is sealed stays so: it is offered until it is taken.

use std::io;
use std::time::{Duration, Instant};

use super::bpf::Slot;
use super::sealed::Sealed;
use super::socket::{Moved, Socket};
use super::{AHEAD_BYTES, SCRATCH_BYTES, Sent};
use oxmpi_wire::stream::{self as frame, HEAD_MAX, LENGTH_BYTES, RECORD_BYTES_MAX};

/// Bytes given to the kernel in one call. Measured between two namespaces: calls of 32 to 64 KiB
/// stream twice as fast as calls of a megabyte.
pub(super) const CALL_BYTES: usize = 64 << 10;
/// Messages up to this length wait for each other when they come in quick succession.
const TOGETHER_BYTES: usize = 2 << 10;
/// As much leaves together at most.
const BACKLOG_BYTES: usize = 16 << 10;
/// A message that follows the one before within this time is one of many.
const SUCCESSION: Duration = Duration::from_micros(3);
/// What is left of a payload up to this length is copied, so that its sender can go on.
const COPIED_BYTES: usize = 4 << 10;

pub(super) struct Connection {
    pub socket: Socket,
    backlog: Vec<u8>,
    /// How much of the backlog has left.
    gone: usize,
    rest: Option<(*const u8, usize)>,
    /// If the connection is encrypted.
    pub sealed: Option<Box<Sealed>>,
    /// What is to be sealed behind the backlog; empty on other connections.
    plain: Vec<u8>,
    /// The socket took less than it was offered: wait until it says that there is room.
    pub blocked: bool,
    last: Option<Instant>,
    /// The kernel was told that more follows, and may keep the last bytes.
    corked: bool,
    /// A head that has arrived in part.
    pub partial: [u8; HEAD_MAX],
    pub partial_bytes: usize,
    /// Payload bytes of the packet that is arriving that have not been read.
    pub left: usize,
    /// The last packet's payload was long: the next one's is expected to be.
    pub is_long: bool,
    /// What is missing of the payload does not go to one place: nobody asks for it again.
    pub is_copied: bool,
    /// We have said goodbye: nothing more leaves.
    pub said: bool,
    /// To be said behind the payload that is leaving.
    goodbye: Option<u32>,
    /// The peer has said goodbye; whether only for now.
    pub heard: Option<bool>,
    /// The launcher says that the peer has ended: a goodbye for now is one for good.
    pub ended: bool,
    /// What came together with the end of the handshake.
    pub early: Vec<u8>,
    /// The peer dialled.
    pub accepted: bool,
    /// Something has been sent or received on it.
    pub used: bool,
    /// Its name at the driver that reads it, if one does.
    pub name: Option<u32>,
    /// Its place where a BPF program puts what arrives, if one does.
    pub slot: Option<Slot>,
}

// SAFETY: `rest` is memory of the user that the engine keeps valid; whoever has the connection has
// the engine's lock.
#[allow(unsafe_code)]
unsafe impl Send for Connection {}

impl Connection {
    pub fn new(socket: Socket) -> Connection {
        Connection {
            socket,
            backlog: Vec::new(),
            gone: 0,
            rest: None,
            sealed: None,
            plain: Vec::new(),
            blocked: false,
            last: None,
            corked: false,
            partial: [0; HEAD_MAX],
            partial_bytes: 0,
            left: 0,
            is_long: false,
            is_copied: false,
            said: false,
            goodbye: None,
            heard: None,
            ended: false,
            early: Vec::new(),
            accepted: false,
            used: false,
            name: None,
            slot: None,
        }
    }

    /// What to read at once when nobody knows yet whose it is.
    #[inline(always)]
    pub fn ahead_bytes(&self) -> usize {
        match self.is_long {
            true => AHEAD_BYTES,
            false => SCRATCH_BYTES,
        }
    }

    /// So many bytes were read from the socket itself.
    #[inline(always)]
    pub fn count_passed(&mut self, bytes: usize) {
        if let Some(slot) = &mut self.slot {
            slot.count_passed(bytes);
        }
    }

    /// Whether everything has been given to the kernel.
    pub fn is_flushed(&self) -> bool {
        !self.has_unsent() && self.rest.is_none()
    }

    /// Whether what the kernel has of the stream ends with a packet, so that another writer's may
    /// follow; nothing follows a goodbye.
    pub fn is_between_packets(&self) -> bool {
        self.gone == self.backlog.len() && self.rest.is_none() && !self.said
    }

    /// A packet has left only in part, and the rest of it lies in the user's memory.
    pub fn is_midway(&self) -> bool {
        self.rest.is_some()
    }

    /// Something waits to be let go: copies here, or the last bytes at the kernel.
    pub fn has_unsent(&self) -> bool {
        self.gone < self.backlog.len() || !self.plain.is_empty() || self.corked
    }

    /// Sends a packet: `head` (header and body) and `bytes` bytes at `payload`. `lasting`: that
    /// memory stays until the packet has left.
    ///
    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes, if `lasting` until [`Connection::resume`]
    /// says that it has left or the connection is dropped.
    #[allow(unsafe_code)]
    pub unsafe fn send(
        &mut self,
        head: &[u8],
        payload: *const u8,
        bytes: usize,
        lasting: bool,
    ) -> io::Result<Sent> {
        if self.blocked || self.rest.is_some() || self.said {
            return Ok(Sent::Later);
        }
        let mut framed = [0; HEAD_MAX];
        framed[..LENGTH_BYTES].copy_from_slice(&(bytes as u32).to_le_bytes());
        framed[LENGTH_BYTES..LENGTH_BYTES + head.len()].copy_from_slice(head);
        let framed = &framed[..LENGTH_BYTES + head.len()];
        if bytes <= TOGETHER_BYTES && self.follows_soon() {
            self.append(framed);
            // SAFETY: the caller's promise.
            unsafe { self.copy(payload, bytes) };
            if self.backlog.len() - self.gone + self.plain.len() >= BACKLOG_BYTES {
                self.flush()?;
            }
            self.last = Some(Instant::now());
            return Ok(Sent::Left);
        }
        if self.sealed.is_some() {
            self.append(framed);
            // SAFETY: the caller's promise.
            let sent = unsafe { self.finish(payload, bytes, lasting) };
            self.last = Some(Instant::now());
            return sent;
        }
        let first = bytes.min(CALL_BYTES);
        // Without a word of what follows, every call of a long message would end in a packet that
        // is not full. (Not between messages: the receiver would wait for the end of each until the
        // next one comes; a third of the bandwidth at 64 KiB.)
        self.corked = first < bytes;
        // SAFETY: the caller's promise.
        let moved = unsafe {
            let backlog = &self.backlog[self.gone..];
            self.socket
                .write_three(backlog, framed, payload, first, self.corked)?
        };
        self.last = Some(Instant::now());
        let backlog = self.backlog.len() - self.gone;
        let mut moved = match moved {
            Moved::Bytes(moved) => moved,
            Moved::Blocked => 0,
        };
        self.blocked = moved < backlog + framed.len() + first;
        if self.blocked && moved == 0 {
            return Ok(Sent::Later);
        }
        let from_backlog = moved.min(backlog);
        self.drop_backlog(from_backlog);
        moved -= from_backlog;
        let from_head = moved.min(framed.len());
        self.backlog.extend_from_slice(&framed[from_head..]);
        moved -= from_head;
        // SAFETY: the caller's promise; `moved` bytes of the payload have left.
        unsafe { self.finish(payload.wrapping_add(moved), bytes - moved, lasting) }
    }

    /// The remainder of a payload: written on, copied, or remembered.
    ///
    /// # Safety
    /// As [`Connection::send`].
    #[allow(unsafe_code)]
    unsafe fn finish(
        &mut self,
        payload: *const u8,
        bytes: usize,
        lasting: bool,
    ) -> io::Result<Sent> {
        if bytes == 0 && self.plain.is_empty() {
            return Ok(Sent::Left);
        }
        self.rest = (bytes > 0).then_some((payload, bytes));
        self.write_on()?;
        let Some((payload, bytes)) = self.rest else {
            return Ok(Sent::Left);
        };
        if lasting && bytes > COPIED_BYTES {
            return Ok(Sent::Partly);
        }
        self.rest = None;
        // SAFETY: the caller's promise.
        unsafe { self.copy(payload, bytes) };
        Ok(Sent::Left)
    }

    /// Seals what comes next, about a call's worth. Only when nothing sealed waits.
    #[allow(unsafe_code)]
    fn seal_on(&mut self) {
        let Some(sealed) = &mut self.sealed else {
            return;
        };
        let mut used = 0;
        while self.backlog.len() < CALL_BYTES {
            let plain = &self.plain[used..];
            let from_plain = plain.len().min(RECORD_BYTES_MAX);
            let (payload, left) = self.rest.unwrap_or((std::ptr::null(), 0));
            let from_rest = left.min(RECORD_BYTES_MAX - from_plain);
            let any = sealed.seal(&mut self.backlog, |out| {
                out.extend_from_slice(&plain[..from_plain]);
                if from_rest > 0 {
                    // SAFETY: who began the packet promised that its memory stays until it has
                    // left.
                    out.extend_from_slice(unsafe {
                        std::slice::from_raw_parts(payload, from_rest)
                    });
                }
            });
            if !any {
                break;
            }
            used += from_plain;
            self.rest =
                (from_rest < left).then(|| (payload.wrapping_add(from_rest), left - from_rest));
        }
        self.plain.drain(..used);
        self.say_waiting_farewell();
    }

    /// The goodbye that waited for the end of a payload.
    fn say_waiting_farewell(&mut self) {
        if self.rest.is_none()
            && let Some(word) = self.goodbye.take()
        {
            self.append(&word.to_le_bytes());
        }
    }

    /// Writes on and lets go. True when everything that was begun has left.
    pub fn resume(&mut self) -> io::Result<bool> {
        self.write_on()?;
        if self.corked && !self.blocked {
            self.corked = false;
            self.socket.push()?;
        }
        Ok(self.is_flushed())
    }

    /// Writes on, as far as the kernel takes it.
    #[allow(unsafe_code)]
    fn write_on(&mut self) -> io::Result<()> {
        let waits = |it: &Connection| {
            it.gone < it.backlog.len() || it.rest.is_some() || !it.plain.is_empty()
        };
        while !self.blocked && waits(self) {
            if self.sealed.is_some() && self.gone == self.backlog.len() {
                self.seal_on();
            }
            let backlog = &self.backlog[self.gone..];
            let waiting = backlog.len();
            let (payload, left) = match self.sealed {
                None => self.rest.unwrap_or((std::ptr::null(), 0)),
                Some(_) => (std::ptr::null(), 0),
            };
            let bytes = left.min(CALL_BYTES);
            let more = bytes < left || (self.sealed.is_some() && self.rest.is_some());
            // SAFETY: who began the packet promised that its memory stays until it has left.
            let moved = unsafe {
                self.socket
                    .write_three(backlog, &[], payload, bytes, more)?
            };
            self.corked = more;
            let moved = match moved {
                Moved::Bytes(moved) => moved,
                Moved::Blocked => 0,
            };
            self.blocked = moved < waiting + bytes;
            let from_backlog = moved.min(waiting);
            self.drop_backlog(from_backlog);
            if self.sealed.is_some() {
                continue;
            }
            if let Some((payload, bytes)) = &mut self.rest {
                *payload = payload.wrapping_add(moved - from_backlog);
                *bytes -= moved - from_backlog;
                if *bytes == 0 {
                    self.rest = None;
                    self.say_waiting_farewell();
                }
            }
        }
        Ok(())
    }

    /// Gives the backlog to the kernel, as far as it takes it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.resume().map(|_| ())
    }

    /// Says goodbye behind everything that waits.
    pub fn say_farewell(&mut self, pause: bool) -> io::Result<()> {
        if !std::mem::replace(&mut self.said, true) {
            let word = if pause { frame::PAUSE } else { frame::GOODBYE };
            if self.rest.is_some() {
                self.goodbye = Some(word);
            } else {
                self.append(&word.to_le_bytes());
            }
        }
        self.flush()
    }

    fn drop_backlog(&mut self, bytes: usize) {
        self.gone += bytes;
        if self.gone == self.backlog.len() {
            self.backlog.clear();
            self.gone = 0;
        }
    }

    /// Puts bytes behind everything that waits.
    fn append(&mut self, bytes: &[u8]) {
        match self.sealed {
            None => self.backlog.extend_from_slice(bytes),
            Some(_) => self.plain.extend_from_slice(bytes),
        }
    }

    /// # Safety
    /// `payload` must be valid for reading `bytes` bytes.
    #[allow(unsafe_code)]
    unsafe fn copy(&mut self, payload: *const u8, bytes: usize) {
        if bytes > 0 {
            // SAFETY: the caller's promise.
            let payload = unsafe { std::slice::from_raw_parts(payload, bytes) };
            self.append(payload);
        }
    }

    /// Whether the message before this one was sent a moment ago: then many follow each other, and
    /// leaving together is cheaper.
    fn follows_soon(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() < SUCCESSION)
    }
}
