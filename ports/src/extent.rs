//! Extents: memory in the segment that a process asks for at run time and every other process can
//! map.
//!
//! They carry port buffers, MPI_Alloc_mem and windows: bytes in an extent reach another process by
//! telling it an offset. An extent is appended to the memfd, gets its memory at once, and gives the
//! memory back when dropped; offsets are not reused, the file is sparse. Whoever looks at another's
//! extent now and then borrows from [`Mappings`]; a [`Mapping`] stays for as long as its owner
//! wants.

use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::layout::PAGE_BYTES;
use crate::segment::{Segment, SegmentError, check_file_size_limit, map};

/// Mappings of other processes' extents kept for reuse. At 64 a look through them still costs less
/// than a system call.
const MAPPINGS_MAX: usize = 64;
/// Others' extents are mapped in multiples of this, so that neighbouring buffers share a mapping.
const WINDOW_BYTES: u64 = 2 << 20;

/// Shared memory owned by this process.
pub struct Extent {
    segment: Arc<Segment>,
    offset: u64,
    /// What can be used: whole pages, which have their memory.
    bytes: u64,
    /// What is mapped: whole windows.
    mapped: u64,
    address: NonNull<u8>,
}

// SAFETY: plain memory, reached only through the raw address; users of the address keep Rust's
// rules.
unsafe impl Send for Extent {}
// SAFETY: as above.
unsafe impl Sync for Extent {}

impl Extent {
    /// Takes at least `bytes` bytes, zeroed.
    pub fn allocate(segment: Arc<Segment>, bytes: u64) -> Result<Self, SegmentError> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE_BYTES);
        let bytes = bytes.unwrap_or(u64::MAX);
        if bytes > i64::MAX as u64 / 2 {
            return Err(SegmentError::Reserve {
                bytes,
                source: std::io::ErrorKind::OutOfMemory.into(),
            });
        }
        check_memory(bytes)?;
        // Windows are aligned in the file so that a window never belongs to two extents.
        let mapped = bytes.next_multiple_of(WINDOW_BYTES);
        let room = mapped + WINDOW_BYTES;
        let end = segment.append(room);
        let offset = end.next_multiple_of(WINDOW_BYTES);
        match Self::obtain(&segment, offset, bytes, mapped) {
            Ok(address) => Ok(Self {
                segment,
                offset,
                bytes,
                mapped,
                address,
            }),
            Err(error) => {
                segment.take_back(end, room);
                Err(error)
            }
        }
    }

    /// Mapped first, because addresses that are missing cost nothing, and memory that was taken in
    /// vain would have to go back.
    fn obtain(
        segment: &Segment,
        offset: u64,
        bytes: u64,
        mapped: u64,
    ) -> Result<NonNull<u8>, SegmentError> {
        check_file_size_limit(offset + mapped)?;
        let address = map(segment.fd(), offset, mapped)?;
        segment.reserve(offset, bytes).inspect_err(|_| {
            // SAFETY: our own mapping of a moment ago, which nobody has used.
            unsafe { libc::munmap(address.as_ptr().cast(), mapped as usize) };
        })?;
        Ok(address)
    }

    /// Where it is mapped in this process.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The offset by which another process finds `address`, if the `bytes` there lie in this
    /// extent.
    pub fn offset_of(&self, address: *const u8, bytes: u64) -> Option<u64> {
        let distance = (address as u64).checked_sub(self.address.as_ptr() as u64)?;
        (distance.checked_add(bytes)? <= self.bytes).then(|| self.offset + distance)
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        // SAFETY: our own mapping; the owner of the extent has promised that nobody uses the
        // address any more. Punching a hole returns the memory and cannot invalidate others'
        // mappings (they read zeros).
        unsafe {
            libc::munmap(self.address.as_ptr().cast(), self.mapped as usize);
            libc::fallocate(
                self.segment.fd().as_raw_fd(),
                libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
                self.offset as libc::off_t,
                self.mapped as libc::off_t,
            );
        }
    }
}

/// Another process's extent, or a part of it, mapped here for as long as this lives. The memory may
/// be given back by its owner before: then it reads as zeros.
pub struct Mapping(Mapped);

// SAFETY: plain memory, reached only through the raw address; users of the address keep Rust's
// rules.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes at `offset` of the segment.
    pub fn new(segment: &Segment, offset: u64, bytes: u64) -> Result<Self, SegmentError> {
        Mapped::around(segment, offset, bytes).map(Mapping)
    }

    /// Where the byte at `offset` of the segment, which must be one of those asked for, lies.
    pub fn at(&self, offset: u64) -> *mut u8 {
        self.0.at(offset).cast_mut()
    }
}

/// Refuses what the machine cannot give. The kernel would try: it hands out pages until none is
/// left and then kills processes, whichever it likes, because memory of a memfd cannot be swapped
/// out or reclaimed.
fn check_memory(bytes: u64) -> Result<(), SegmentError> {
    let available = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available_bytes(&text));
    if available.is_some_and(|available| bytes > available) {
        let source = std::io::ErrorKind::OutOfMemory.into();
        return Err(SegmentError::Reserve { bytes, source });
    }
    Ok(())
}

/// What the kernel believes can be taken without killing anybody.
fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Other processes' extents as far as this process has mapped them.
pub struct Mappings {
    segment: Arc<Segment>,
    mapped: Vec<Mapped>,
}

struct Mapped {
    offset: u64,
    bytes: u64,
    address: NonNull<u8>,
    /// Somebody still looks at bytes of it.
    users: u32,
}

// SAFETY: mappings are plain memory of this process, not bound to a thread.
unsafe impl Send for Mappings {}

impl Mappings {
    /// No mappings yet.
    pub fn new(segment: Arc<Segment>) -> Self {
        Self {
            segment,
            mapped: Vec::new(),
        }
    }

    /// The address of `bytes` bytes at `offset` of the segment, valid until as many calls of
    /// [`Mappings::release`] with the same offset.
    pub fn borrow(&mut self, offset: u64, bytes: u64) -> Result<*const u8, SegmentError> {
        if let Some(at) = self.find(offset, bytes) {
            self.mapped[at].users += 1;
            return Ok(self.mapped[at].at(offset));
        }
        if self.mapped.len() >= MAPPINGS_MAX
            && let Some(unused) = self.mapped.iter().position(|mapped| mapped.users == 0)
        {
            self.mapped.remove(unused);
        }
        self.mapped
            .push(Mapped::around(&self.segment, offset, bytes)?);
        Ok(self.mapped[self.mapped.len() - 1].at(offset))
    }

    /// The bytes at `offset` are no longer looked at.
    pub fn release(&mut self, offset: u64, bytes: u64) {
        if let Some(at) = self.find(offset, bytes) {
            self.mapped[at].users = self.mapped[at].users.saturating_sub(1);
        }
    }

    fn find(&self, offset: u64, bytes: u64) -> Option<usize> {
        self.mapped.iter().position(|mapped| {
            offset >= mapped.offset && offset + bytes <= mapped.offset + mapped.bytes
        })
    }
}

impl Mapped {
    /// The whole windows in which the bytes lie, with one user.
    fn around(segment: &Segment, offset: u64, bytes: u64) -> Result<Self, SegmentError> {
        let start = offset - offset % WINDOW_BYTES;
        let end = (offset + bytes.max(1)).next_multiple_of(WINDOW_BYTES);
        debug_assert!(start.is_multiple_of(PAGE_BYTES));
        let address = map(segment.fd(), start, end - start)?;
        Ok(Mapped {
            offset: start,
            bytes: end - start,
            address,
            users: 1,
        })
    }

    fn at(&self, offset: u64) -> *const u8 {
        // Callers found `offset` inside this mapping.
        let inside = offset.wrapping_sub(self.offset);
        self.address.as_ptr().wrapping_add(inside as usize)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no user is left (or the whole engine goes).
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.bytes as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24681692 kB\nMemFree:  1 kB\nMemAvailable:   100 kB\n";
        assert_eq!(available_bytes(text), Some(102_400));
        assert_eq!(available_bytes("MemTotal: 5 kB\n"), None);
        assert!(check_memory(1 << 60).is_err());
        assert!(check_memory(4096).is_ok());
    }
}
