//! The receive ring: memory that the kernel puts packets into and that this process reads in place
//! (TPACKET_V2).
//!
//! Slots are used in turn. A slot's status word says whose it is: the kernel's, or ours once it
//! holds a packet; storing the word gives it back. So a look is one load, a packet costs no call
//! and no copy on this side, and the packet shown stays until the next is asked for. Only this file
//! knows the layout of a slot.
#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::device::sys::Socket;

/// Slots of a ring. A sender never hears that a receiver cannot keep up, and at a million frames a
/// second this is 4 ms of looking elsewhere: a scheduler tick.
const SLOTS: usize = 4096;
/// Memory of a ring, which the kernel cannot swap out; slots for frames beyond 9000 bytes are
/// fewer.
const RING_BYTES_MAX: usize = 64 << 20;
/// The kernel allocates the ring in blocks of contiguous pages, and a slot lies within one. Blocks
/// of 16 pages (order 4) can be had even when memory is fragmented.
const BLOCK_BYTES_MIN: usize = 64 << 10;
/// In front of an IP packet or, here, of a frame: the slot's own header (32 bytes), a link-layer
/// address (20), and the packet's Ethernet header, which ends at a multiple of 16: 32 + 20 + 16,
/// rounded up.
const SLOT_HEADER_BYTES: usize = (libc::TPACKET2_HDRLEN + 16).next_multiple_of(16);
const _: () = assert!(SLOT_HEADER_BYTES == 80);

/// How a ring is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes of a slot: a power of two, so that slots fill blocks without gaps.
    pub slot_bytes: usize,
    /// Slots: a power of two.
    pub slots: usize,
    /// Bytes of a block.
    pub block_bytes: usize,
}

impl Shape {
    /// The shape for packets of up to `mtu` bytes behind their Ethernet header: 2048 bytes a slot
    /// for 1500, 16 384 for 9000.
    pub fn of(mtu: usize) -> Shape {
        let slot_bytes = (SLOT_HEADER_BYTES + mtu).next_power_of_two().max(2048);
        Shape {
            slot_bytes,
            slots: SLOTS.min(RING_BYTES_MAX / slot_bytes).max(1),
            block_bytes: slot_bytes.max(BLOCK_BYTES_MIN),
        }
    }

    pub fn bytes(&self) -> usize {
        self.slot_bytes * self.slots
    }
}

/// The ring. See the file.
pub(super) struct Ring {
    memory: NonNull<u8>,
    shape: Shape,
    /// The slot looked at next.
    next: usize,
    /// The slot in front of it holds the packet shown, and is still ours.
    held: bool,
}

// SAFETY: the memory is shared with the kernel only, whose part of the bargain (the status words)
// does not ask which thread looks.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives the packet socket a ring; before it is bound, so that no packet goes elsewhere.
    pub fn open(socket: &Socket, shape: Shape) -> io::Result<Ring> {
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        // `struct tpacket_req`: bytes of a block, blocks, bytes of a slot, slots.
        let blocks = shape.bytes() / shape.block_bytes;
        let request =
            [shape.block_bytes, blocks, shape.slot_bytes, shape.slots].map(|word| word as u32);
        socket.set_words(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of the socket's ring, as long as the ring that was just made.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                shape.bytes(),
                access,
                libc::MAP_SHARED,
                socket.fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring {
            memory: NonNull::new(memory.cast()).expect("a mapping is nowhere near address 0"),
            shape,
            next: 0,
            held: false,
        })
    }

    pub fn slots(&self) -> usize {
        self.shape.slots
    }

    /// Whether the slot `ahead` of the next one holds a packet; slots fill in turn, so that all
    /// before it do, too.
    #[inline(always)]
    pub fn is_filled(&self, ahead: usize) -> bool {
        ahead < self.shape.slots
            && self.status(self.next + ahead).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Shows the next packet if there is one, and gives back the one shown before in any case.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        self.give_back();
        if !self.is_filled(0) {
            return false;
        }
        self.next = (self.next + 1) & (self.shape.slots - 1);
        self.held = true;
        true
    }

    /// The packet shown, from its Ethernet header on; nothing if none is.
    #[inline(always)]
    pub fn packet(&self) -> &[u8] {
        if !self.held {
            return &[];
        }
        let slot = self.slot(self.next + self.shape.slots - 1);
        // SAFETY: the slot is inside the mapping, aligned to 2048, and ours: the kernel writes to
        // it no more until it is given back, which takes `&mut self`.
        let (header, bytes) = unsafe {
            let header = slot.cast::<libc::tpacket2_hdr>().read();
            let bytes = std::slice::from_raw_parts(slot.as_ptr(), self.shape.slot_bytes);
            (header, bytes)
        };
        let begin = usize::from(header.tp_mac);
        &bytes[begin..begin + header.tp_snaplen as usize]
    }

    #[inline(always)]
    pub fn give_back(&mut self) {
        if self.held {
            self.held = false;
            // What was read of the packet is read before the kernel sees this.
            self.status(self.next + self.shape.slots - 1)
                .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
    }

    #[inline(always)]
    fn slot(&self, number: usize) -> NonNull<u8> {
        let number = number & (self.shape.slots - 1);
        // SAFETY: the masked number is that of a slot, so that the address lies in the mapping.
        unsafe { self.memory.add(number * self.shape.slot_bytes) }
    }

    /// The status word is a slot's first.
    #[inline(always)]
    fn status(&self, number: usize) -> &AtomicU32 {
        // SAFETY: inside the mapping and aligned; the kernel and we touch it as one word only, and
        // the mapping lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.slot(number).as_ptr().cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`; nobody refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.shape.bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fit_their_packets_and_blocks_their_slots() {
        let shape = |mtu| {
            let shape = Shape::of(mtu);
            (shape.slot_bytes, shape.slots, shape.block_bytes)
        };
        assert_eq!(shape(68), (2048, 4096, 65_536));
        assert_eq!(shape(1500), (2048, 4096, 65_536));
        assert_eq!(shape(9000), (16_384, 4096, 65_536));
        assert_eq!(shape(65_535), (131_072, 512, 131_072));
        for mtu in 0..70_000 {
            let shape = Shape::of(mtu);
            assert!(shape.slot_bytes >= mtu + SLOT_HEADER_BYTES);
            assert!(shape.bytes() <= RING_BYTES_MAX && shape.slots.is_power_of_two());
            assert_eq!(shape.bytes() % shape.block_bytes, 0);
            assert_eq!(shape.block_bytes % shape.slot_bytes, 0);
        }
    }
}
