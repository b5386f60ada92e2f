//! Memory that the driver writes, of every kind that can be mapped. It stays mapped until the
//! process ends unless a case takes it away, so that a wrong driver harms nobody else.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::random::Random;

/// What a buffer is filled with before anything is received.
const UNTOUCHED: u8 = 0xa5;

/// Mapped memory.
#[derive(Clone, Copy)]
pub struct Buffer {
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// No memory at no address.
    pub const NOWHERE: Buffer = Buffer {
        address: 0,
        bytes: 0,
    };

    /// What a hostile program names: never accessed here.
    pub fn wild(address: u64, bytes: u64) -> Buffer {
        let bytes = bytes as usize;
        Buffer { address, bytes }
    }

    /// Anonymous memory, filled.
    pub fn new(bytes: usize) -> Buffer {
        let buffer = Buffer::untouched_pages(bytes);
        buffer.fill(UNTOUCHED);
        buffer
    }

    /// Anonymous memory that has no pages yet.
    pub fn untouched_pages(bytes: usize) -> Buffer {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        Buffer::map(bytes, access, flags, -1).expect("memory for a buffer")
    }

    /// Memory that can only be read.
    pub fn read_only(bytes: usize) -> io::Result<Buffer> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Buffer::map(bytes, libc::PROT_READ, flags, -1)
    }

    /// Memory of the process that cannot be accessed at all.
    pub fn no_access(bytes: usize) -> io::Result<Buffer> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Buffer::map(bytes, libc::PROT_NONE, flags, -1)
    }

    /// A file's pages, shared with it.
    pub fn of_file(file: &File, bytes: usize) -> io::Result<Buffer> {
        file.set_len(bytes as u64)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let buffer = Buffer::map(bytes, access, libc::MAP_SHARED, file.as_raw_fd())?;
        buffer.fill(UNTOUCHED);
        Ok(buffer)
    }

    /// The driver's own memory, mapped once more.
    pub fn of_device(device: BorrowedFd<'_>, bytes: usize, access: i32) -> io::Result<Buffer> {
        Buffer::of_device_from(device, bytes, access, 0)
    }

    /// The same from an offset on.
    pub fn of_device_from(
        device: BorrowedFd<'_>,
        bytes: usize,
        access: i32,
        from: i64,
    ) -> io::Result<Buffer> {
        let fd = device.as_raw_fd();
        Buffer::map_from(bytes, access, libc::MAP_SHARED, fd, from)
    }

    fn map(bytes: usize, access: i32, flags: i32, fd: i32) -> io::Result<Buffer> {
        Buffer::map_from(bytes, access, flags, fd, 0)
    }

    fn map_from(bytes: usize, access: i32, flags: i32, fd: i32, from: i64) -> io::Result<Buffer> {
        // SAFETY: a new mapping where the kernel likes it.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes.max(1), access, flags, fd, from) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Buffer {
            address: address as u64,
            bytes,
        })
    }

    /// A part of it.
    pub fn part(&self, from: usize, bytes: usize) -> Buffer {
        assert!(from + bytes <= self.bytes, "a part of the buffer");
        Buffer {
            address: self.address + from as u64,
            bytes,
        }
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn fill(&self, value: u8) {
        // SAFETY: our memory, which can be written; the driver does not know it yet.
        unsafe { std::ptr::write_bytes(self.address as *mut u8, value, self.bytes) };
    }

    /// A copy of what is in it; for memory whose entry is over.
    pub fn copy(&self) -> Vec<u8> {
        // SAFETY: mapped for reading, and nobody writes it any more.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }.to_vec()
    }

    /// Nothing was received into it.
    pub fn is_untouched(&self) -> bool {
        self.copy().iter().all(|byte| *byte == UNTOUCHED)
    }

    /// Writes the first byte, as a process does that goes on with its memory.
    pub fn touch(&self) {
        // SAFETY: mapped for writing.
        unsafe { (self.address as *mut u8).write_volatile(0x5a) };
    }

    /// A word of memory that the kernel uses too.
    pub fn read_word(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Writes one.
    pub fn write_word(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(
            offset.is_multiple_of(8) && offset + 8 <= self.bytes,
            "a word of the buffer"
        );
        // SAFETY: in the mapping, aligned; this process accesses it as a whole only.
        unsafe { AtomicU64::from_ptr((self.address as usize + offset) as *mut u64) }
    }

    /// From now on it can only be read.
    pub fn protect(&self) -> io::Result<()> {
        // SAFETY: whole pages of ours, which nobody writes afterwards.
        let done = unsafe {
            libc::mprotect(
                self.address as *mut libc::c_void,
                self.bytes,
                libc::PROT_READ,
            )
        };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its pages are gone, and come again as zeroes.
    pub fn drop_pages(&self) -> io::Result<()> {
        let at = self.address as *mut libc::c_void;
        // SAFETY: anonymous memory of ours, whose contents nobody needs.
        match unsafe { libc::madvise(at, self.bytes, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Other memory at the same address, without pages; whatever was there is gone.
    pub fn map_anew(&self) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = self.address as *mut libc::c_void;
        // SAFETY: at an address that was mapped for this buffer, and for nothing else.
        match unsafe { libc::mmap(at, self.bytes, access, flags, -1, 0) } {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Gives the memory back to the system; nothing may use it afterwards.
    pub fn unmap(self) {
        // SAFETY: nobody in this process reads it again.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.bytes) };
    }

    /// The same pages at another address.
    pub fn moved(self) -> io::Result<Buffer> {
        let room = Buffer::no_access(self.bytes)?;
        // SAFETY: both mappings are ours, and the old one is not used again.
        let address = unsafe {
            libc::mremap(
                self.address as *mut libc::c_void,
                self.bytes,
                self.bytes,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                room.address as *mut libc::c_void,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(room)
    }
}

/// Writes nonsense to random places of a mapping that the kernel uses too.
pub fn scribble(buffer: &Buffer, random: &mut Random, times: usize) {
    for _ in 0..times {
        let place = random.below(buffer.bytes as u64 / 8) as usize * 8;
        let value = match random.below(4) {
            0 => 0,
            1 => u64::MAX,
            2 => random.below(1 << 20),
            _ => random.next(),
        };
        buffer.write_word(place, value);
    }
}
