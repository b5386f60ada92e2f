//! The receive ring of a packet socket, mapped (TPACKET_V2): the kernel fills slots in turn and
//! marks each as ours, we give it back.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::set_option;

/// Slots; a quarter of a millisecond of short frames.
pub const SLOTS: usize = 4096;

/// Pieces in which the kernel allocates the ring: a power of two, and many slots.
const BLOCK_BYTES: usize = 256 << 10;

/// What a frame turned out to be.
pub enum Taken {
    /// So many bytes of payload, copied.
    Data(usize),
    /// The other end has received so many frames.
    Credit(u64),
    /// Nothing of ours.
    Foreign,
}

/// The mapped ring.
pub struct Ring {
    base: NonNull<u8>,
    slot_bytes: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone, and threads share it only by moving it.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives the socket a ring for frames of at most `frame_bytes`, before it is bound.
    pub fn map(socket: &OwnedFd, frame_bytes: usize) -> io::Result<Ring> {
        let slot_bytes = (libc::TPACKET2_HDRLEN + frame_bytes + libc::TPACKET_ALIGNMENT)
            .next_power_of_two()
            .max(2048);
        let bytes = slot_bytes * SLOTS;
        set_option(
            socket,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as libc::c_int),
        )?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (bytes / BLOCK_BYTES) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set_option(socket, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice, of the length the ring was
        // given.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("mmap succeeded, so the address is not null");
        Ok(Ring {
            base,
            slot_bytes,
            next: 0,
        })
    }

    /// Shows the next frame, if there is one, and gives its slot back.
    #[inline]
    pub fn take<T>(&mut self, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
        // SAFETY: `next` is below the number of slots, so the slot lies in the mapping; every slot
        // begins with its header, whose status is a u32 that kernel and process hand to each other.
        let (header, status) = unsafe {
            let slot = self.base.as_ptr().add(self.next * self.slot_bytes);
            (
                slot.cast::<libc::tpacket2_hdr>(),
                &*slot.cast::<AtomicU32>(),
            )
        };
        // Pairs with the kernel's store of the status after the frame.
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: while the status says that the slot is ours the kernel does not touch it, and it
        // keeps a frame within its slot.
        let frame = unsafe {
            let start = usize::from((*header).tp_mac);
            let length = (*header).tp_snaplen as usize;
            std::slice::from_raw_parts(header.cast::<u8>().add(start), length)
        };
        let found = look(frame);
        fence(Ordering::Release);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some(found)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.slot_bytes * SLOTS) };
    }
}
