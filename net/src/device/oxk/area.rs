//! The memory that /dev/oxk-pm shares with this process: control words, and a ring of messages each
//! way (`kernel/include/oxk_pm.h`).
//!
//! A message that leaves lies in a slot of the first ring, from when it is written until the kernel
//! clears the slot's `busy`; the queue names slots in the order in which their messages leave. What
//! has come lies in the slots of the second ring in turn, and a slot's `stamp` is the number of its
//! message, the first being 1. Only this file knows offsets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Slots of each ring.
pub(super) const SLOTS: u32 = 256;
/// Longest message.
pub(super) const SLOT_BYTES: usize = 8192;
const CONTROL_BYTES: usize = 16384;
/// All of it.
pub(super) const AREA_BYTES: usize = CONTROL_BYTES + 2 * SLOTS as usize * SLOT_BYTES;

/// `struct oxkp_control`.
const QUEUED: usize = 0;
const CONSUMED: usize = 4;
const NEWS: usize = 12;
const QUEUE: usize = 64;
/// `struct oxkp_out`: peer, bytes, busy.
const OUT: usize = QUEUE + 4 * SLOTS as usize;
const OUT_BYTES: usize = 16;
/// `struct oxkp_in`: peer, bytes, error, stamp.
const IN: usize = OUT + OUT_BYTES * SLOTS as usize;
const IN_BYTES: usize = 24;
const _: () = assert!(IN + IN_BYTES * SLOTS as usize <= CONTROL_BYTES);

/// The mapped memory.
struct Mapping(NonNull<u8>);

// SAFETY: words that both sides change are atomic, and a slot belongs to one side at a time.
unsafe impl Send for Mapping {}
// SAFETY: see above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `Area::map`; nobody refers to it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), AREA_BYTES) };
    }
}

/// The memory; clones are the same memory.
#[derive(Clone)]
pub(super) struct Area(Arc<Mapping>);

/// A message that has come, or what came in place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Who sent it, as the kernel calls it.
    pub peer: u64,
    /// Its length.
    pub bytes: usize,
    /// It is whole.
    pub whole: bool,
}

impl Area {
    /// Maps a device's memory; without one, memory of our own, for tests.
    pub fn map(device: Option<RawFd>) -> io::Result<Area> {
        let flags = match device {
            Some(_) => libc::MAP_SHARED,
            None => libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        };
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                AREA_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                device.unwrap_or(-1),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A child that is forked has nothing to look for in its parent's rings.
        // SAFETY: the mapping that was just made.
        unsafe { libc::madvise(memory, AREA_BYTES, libc::MADV_DONTFORK) };
        let memory = NonNull::new(memory.cast()).expect("a mapping is nowhere near address 0");
        Ok(Area(Arc::new(Mapping(memory))))
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4));
        assert!(offset + 4 <= CONTROL_BYTES);
        // SAFETY: within the mapping, which lives as long as `self`, at a multiple of four.
        unsafe { &*self.0.0.as_ptr().add(offset).cast::<AtomicU32>() }
    }

    fn load(&self, offset: usize) -> u32 {
        self.word(offset).load(Ordering::Relaxed)
    }

    fn store(&self, offset: usize, value: u32) {
        self.word(offset).store(value, Ordering::Relaxed);
    }

    /// Where a slot begins; those of messages that have come are behind the others.
    fn slot(&self, slot: u32) -> *mut u8 {
        assert!(slot < 2 * SLOTS);
        // SAFETY: within the mapping.
        unsafe {
            let slots = self.0.0.as_ptr().add(CONTROL_BYTES);
            slots.add(slot as usize * SLOT_BYTES)
        }
    }

    /// Whether the kernel still reads a message that was given to it.
    pub fn is_busy(&self, slot: u32) -> bool {
        let busy = self.word(OUT + OUT_BYTES * slot as usize + 12);
        // What is written next comes after the kernel's last look.
        busy.load(Ordering::Acquire) != 0
    }

    /// Writes a message for a peer into a slot that is nobody's, and puts it into the queue at
    /// `number`. The kernel takes it at a turn after [`Area::publish`].
    ///
    /// # Safety
    /// The pieces must be valid for reading.
    pub unsafe fn put(&self, slot: u32, number: u32, peer: u64, pieces: &[libc::iovec]) {
        assert!(slot < SLOTS);
        let begin = self.slot(slot);
        let mut bytes = 0;
        for piece in pieces {
            assert!(bytes + piece.iov_len <= SLOT_BYTES, "a slot holds a frame");
            // SAFETY: the caller's promise; the slot has room, and is no part of what a caller can
            // name.
            unsafe {
                let from = piece.iov_base.cast_const().cast::<u8>();
                begin
                    .add(bytes)
                    .copy_from_nonoverlapping(from, piece.iov_len);
            }
            bytes += piece.iov_len;
        }
        let out = OUT + OUT_BYTES * slot as usize;
        self.store(out, peer as u32);
        self.store(out + 4, (peer >> 32) as u32);
        self.store(out + 8, bytes as u32);
        self.store(QUEUE + 4 * (number % SLOTS) as usize, slot);
    }

    /// So many messages have been queued since the beginning.
    pub fn publish(&self, queued: u32) {
        // Pairs with the kernel's acquire in a turn.
        self.word(QUEUED).store(queued, Ordering::Release);
    }

    /// The message with this number, the first being 0, if it has come.
    #[inline]
    pub fn arrival(&self, number: u32) -> Option<Arrival> {
        let place = IN + IN_BYTES * (number % SLOTS) as usize;
        // Pairs with the kernel's release when the message is whole.
        if self.word(place + 16).load(Ordering::Acquire) != number.wrapping_add(1) {
            return None;
        }
        let bytes = self.load(place + 8) as usize;
        Some(Arrival {
            peer: u64::from(self.load(place)) | u64::from(self.load(place + 4)) << 32,
            bytes: bytes.min(SLOT_BYTES),
            whole: self.load(place + 12) == 0,
        })
    }

    /// The first bytes of a message that has come and is not [consumed](Area::consume).
    #[inline]
    pub fn message(&self, number: u32, bytes: usize) -> &[u8] {
        let begin = self.slot(SLOTS + number % SLOTS);
        // SAFETY: within the slot; the kernel does not write it before it was consumed and a turn
        // was asked for, which takes `&mut` of what holds this.
        unsafe { std::slice::from_raw_parts(begin, bytes.min(SLOT_BYTES)) }
    }

    /// So many messages may be overwritten.
    pub fn consume(&self, consumed: u32) {
        // What was read of them was read before.
        self.word(CONSUMED).store(consumed, Ordering::Release);
    }

    /// How many peers have been lost since the beginning.
    #[inline]
    pub fn news(&self) -> u32 {
        self.word(NEWS).load(Ordering::Acquire)
    }
}

/// The kernel's side, as tests play it.
#[cfg(test)]
impl Area {
    pub fn queued(&self) -> u32 {
        self.load(QUEUED)
    }

    pub fn consumed(&self) -> u32 {
        self.load(CONSUMED)
    }

    /// Slot, peer and bytes of a message in the queue; the slot is busy from now on.
    pub fn take(&self, number: u32) -> (u32, u64, Vec<u8>) {
        let slot = self.load(QUEUE + 4 * (number % SLOTS) as usize);
        let out = OUT + OUT_BYTES * slot as usize;
        self.store(out + 12, 1);
        let peer = u64::from(self.load(out)) | u64::from(self.load(out + 4)) << 32;
        let bytes = self.load(out + 8) as usize;
        // SAFETY: a message that was put there.
        let message = unsafe { std::slice::from_raw_parts(self.slot(slot), bytes) };
        (slot, peer, message.to_vec())
    }

    pub fn release(&self, slot: u32) {
        self.store(OUT + OUT_BYTES * slot as usize + 12, 0);
    }

    pub fn deliver(&self, number: u32, peer: u64, error: i32, message: &[u8]) {
        let begin = self.slot(SLOTS + number % SLOTS);
        // SAFETY: messages are no longer than a slot.
        unsafe { begin.copy_from_nonoverlapping(message.as_ptr(), message.len()) };
        let place = IN + IN_BYTES * (number % SLOTS) as usize;
        self.store(place, peer as u32);
        self.store(place + 4, (peer >> 32) as u32);
        self.store(place + 8, message.len() as u32);
        self.store(place + 12, error as u32);
        let stamp = self.word(place + 16);
        stamp.store(number.wrapping_add(1), Ordering::Release);
    }

    pub fn tell(&self, news: u32) {
        self.word(NEWS).store(news, Ordering::Release);
    }
}
