//! The memory that an XDP socket shares with the kernel: packets in chunks, and four rings that
//! hand chunks to and fro.
//!
//! The *fill* ring gives the kernel chunks to receive into, the *receive* ring shows packets that
//! have come, the *transmit* ring gives the kernel packets to send, the *completion* ring gives
//! their chunks back. A chunk has one owner at a time, and only the rings change it. In a ring one
//! side writes entries and then the producer's index (release), the other reads that index
//! (acquire) and then the entries; the consumer's index goes the other way likewise.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::device::sys::{Socket, check};

/// Memory of a socket's packets, or of a ring.
struct Mapping {
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to its owner alone, apart from the kernel, which does not ask which
// thread looks.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Memory of our own if there is no descriptor.
    fn new(bytes: usize, fd: Option<RawFd>, offset: u64) -> io::Result<Mapping> {
        let flags = match fd {
            Some(_) => libc::MAP_SHARED | libc::MAP_POPULATE,
            None => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        };
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd.unwrap_or(-1),
                offset as libc::off_t,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping {
            memory: NonNull::new(memory.cast()).expect("a mapping is nowhere near address 0"),
            bytes,
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; nobody refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

/// The chunks. A chunk is named by where it begins.
pub(super) struct Chunks {
    mapping: Mapping,
    chunk_bytes: usize,
}

impl Chunks {
    /// Makes the memory and tells the socket of it.
    pub fn register(socket: &Socket, chunk_bytes: usize, chunks: usize) -> io::Result<Chunks> {
        let bytes = chunk_bytes * chunks;
        let mapping = Mapping::new(bytes, None, 0)?;
        // A child that is forked has nothing to look for here, and its existence must not make the
        // kernel move our pages away from the card's. SAFETY: address and length describe the
        // mapping.
        unsafe { libc::madvise(mapping.memory.as_ptr().cast(), bytes, libc::MADV_DONTFORK) };
        let register = libc::xdp_umem_reg {
            addr: mapping.memory.as_ptr().addr() as u64,
            len: bytes as u64,
            chunk_size: chunk_bytes as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        // SAFETY: pointer and length describe the local, which describes the mapping; that stays
        // until `self` is dropped, and the kernel keeps its pages until the socket is closed.
        check(unsafe {
            libc::setsockopt(
                socket.fd(),
                libc::SOL_XDP,
                libc::XDP_UMEM_REG,
                (&raw const register).cast(),
                size_of_val(&register) as libc::socklen_t,
            )
        })?;
        Ok(Chunks {
            mapping,
            chunk_bytes,
        })
    }

    /// The chunk that an address lies in.
    pub fn chunk_of(&self, address: u64) -> u64 {
        address - address % self.chunk_bytes as u64
    }

    /// A packet that the kernel has shown and that has not been given back; nothing if it lies
    /// elsewhere, which the kernel does not do.
    #[inline]
    pub fn packet(&self, address: u64, bytes: usize) -> &[u8] {
        let begin = address as usize;
        match begin.checked_add(bytes) {
            // SAFETY: inside the mapping, and its chunk is ours: the kernel writes to it no more
            // until it is in the fill ring again, which takes `&mut Rings`.
            Some(end) if end <= self.mapping.bytes => unsafe {
                std::slice::from_raw_parts(self.mapping.memory.add(begin).as_ptr(), bytes)
            },
            _ => &[],
        }
    }

    /// A chunk of ours, to be written to.
    #[inline]
    pub fn chunk(&mut self, chunk: u64) -> &mut [u8] {
        let begin = chunk as usize;
        assert!(begin + self.chunk_bytes <= self.mapping.bytes);
        // SAFETY: inside the mapping, and nobody else's: the caller has it from the completion ring
        // or never gave it away.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.mapping.memory.add(begin).as_ptr(),
                self.chunk_bytes,
            )
        }
    }
}

/// Where the parts of a ring lie in its mapping: `struct xdp_ring_offset`.
#[derive(Clone, Copy)]
struct Offsets {
    producer: usize,
    consumer: usize,
    entries: usize,
    flags: usize,
}

/// A ring of entries of type `T`, one end of which is the kernel's.
pub(super) struct Ring<T> {
    mapping: Mapping,
    offsets: Offsets,
    size: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn map(socket: &Socket, page: u64, offsets: Offsets, size: u32) -> io::Result<Ring<T>> {
        let bytes = offsets.entries + size as usize * size_of::<T>();
        Ok(Ring {
            mapping: Mapping::new(bytes, Some(socket.fd()), page)?,
            offsets,
            size,
            entries: PhantomData,
        })
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the kernel said that a word of the ring lies here, aligned; both sides touch it
        // as one word only, and the mapping lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.mapping.memory.add(offset).as_ptr().cast()) }
    }

    #[inline(always)]
    fn entry(&self, index: u32) -> NonNull<T> {
        let place = (index & (self.size - 1)) as usize;
        // SAFETY: the mapping has `size` entries from here on, and `place` is less.
        unsafe {
            self.mapping
                .memory
                .add(self.offsets.entries)
                .cast::<T>()
                .add(place)
        }
    }

    /// Entries that the producer has put in and the consumer has not taken.
    #[inline(always)]
    pub fn filled(&self) -> u32 {
        let producer = self.word(self.offsets.producer).load(Ordering::Acquire);
        let consumer = self.word(self.offsets.consumer).load(Ordering::Acquire);
        producer.wrapping_sub(consumer).min(self.size)
    }

    /// Entries that it has at most.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Takes the next entry; for rings that the kernel fills.
    #[inline(always)]
    pub fn take(&mut self) -> Option<T> {
        if self.filled() == 0 {
            return None;
        }
        let index = self.word(self.offsets.consumer).load(Ordering::Relaxed);
        // SAFETY: filled and not taken, so the kernel does not write to it; every bit pattern is an
        // entry.
        let entry = unsafe { self.entry(index).read() };
        self.word(self.offsets.consumer)
            .store(index.wrapping_add(1), Ordering::Release);
        Some(entry)
    }

    /// Puts an entry in; for rings that the kernel empties.
    #[inline(always)]
    pub fn put(&mut self, entry: T) {
        assert!(
            self.filled() < self.size,
            "a ring has a place for each chunk that may go into it"
        );
        let index = self.word(self.offsets.producer).load(Ordering::Relaxed);
        // SAFETY: taken by the kernel or never filled, so the kernel does not read it.
        unsafe { self.entry(index).write(entry) };
        self.word(self.offsets.producer)
            .store(index.wrapping_add(1), Ordering::Release);
    }

    /// Whether the kernel waits for a call before it looks here.
    #[inline(always)]
    pub fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Acquire) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The four of them.
pub(super) struct Rings {
    pub fill: Ring<u64>,
    pub receive: Ring<libc::xdp_desc>,
    pub transmit: Ring<libc::xdp_desc>,
    pub completion: Ring<u64>,
}

impl Rings {
    /// Gives the socket rings for these numbers of chunks, which are powers of two: chunks to
    /// receive into, and chunks to send from.
    ///
    /// The fill ring has twice the places. The kernel shows a received packet before it says that
    /// it has taken the packet's chunk from the fill ring, so a chunk can come back while its old
    /// place still looks taken.
    pub fn map(socket: &Socket, receive: u32, transmit: u32) -> io::Result<Rings> {
        for (option, size) in [
            (libc::XDP_UMEM_FILL_RING, 2 * receive),
            (libc::XDP_RX_RING, receive),
            (libc::XDP_UMEM_COMPLETION_RING, transmit),
            (libc::XDP_TX_RING, transmit),
        ] {
            socket.set_words(libc::SOL_XDP, option, &[size])?;
        }
        // `struct xdp_mmap_offsets`: for receive, transmit, fill and completion four 64-bit numbers
        // each.
        let words: [u32; 32] = socket.get_words(libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let number = |place: usize| {
            let [low, high] = [words[2 * place], words[2 * place + 1]].map(u32::to_ne_bytes);
            let bytes = [low, high].concat();
            u64::from_ne_bytes(bytes[..].try_into().expect("two words are 8 bytes")) as usize
        };
        let offsets = |ring: usize| Offsets {
            producer: number(4 * ring),
            consumer: number(4 * ring + 1),
            entries: number(4 * ring + 2),
            flags: number(4 * ring + 3),
        };
        let page = |page: libc::off_t| page as u64;
        let (fill, completion) = (
            libc::XDP_UMEM_PGOFF_FILL_RING,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING,
        );
        Ok(Rings {
            receive: Ring::map(socket, page(libc::XDP_PGOFF_RX_RING), offsets(0), receive)?,
            transmit: Ring::map(socket, page(libc::XDP_PGOFF_TX_RING), offsets(1), transmit)?,
            fill: Ring::map(socket, fill, offsets(2), 2 * receive)?,
            completion: Ring::map(socket, completion, offsets(3), transmit)?,
        })
    }
}
