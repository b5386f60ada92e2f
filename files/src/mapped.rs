//! Memory that processes of one host share: made by one without a name in any file system, opened
//! by the others through /proc.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Mapped memory, zero at first.
pub(crate) struct Mapped {
    address: NonNull<u8>,
    bytes: usize,
    /// Kept open until all others have opened it.
    descriptor: OwnedFd,
}

// SAFETY: an address of memory that is mapped until the drop; whoever uses it says how.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// New memory; `None` if the system has none.
    pub(crate) fn new(bytes: usize) -> Option<Mapped> {
        // Going beyond the limit would end the process by a signal.
        if bytes as u64 > longest_file() {
            return None;
        }
        // SAFETY: the name is a text that ends with zero.
        let got = unsafe { libc::memfd_create(c"oxmpi-file".as_ptr(), libc::MFD_CLOEXEC) };
        if got < 0 {
            return None;
        }
        // SAFETY: the descriptor is new and nothing else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(got) };
        // SAFETY: the descriptor is open.
        if unsafe { libc::ftruncate(got, bytes as i64) } != 0 {
            return None;
        }
        Mapped::map(descriptor, bytes)
    }

    /// What another process has made; `None` if it cannot be had, or has another length.
    pub(crate) fn open(process: u32, descriptor: i32, bytes: usize) -> Option<Mapped> {
        let path = CString::new(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        // SAFETY: the name is a text that ends with zero.
        let got = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        if got < 0 {
            return None;
        }
        // SAFETY: the descriptor is new and nothing else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(got) };
        // SAFETY: all-zero is a valid value of the structure, which the call fills.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and the structure is there.
        if unsafe { libc::fstat(got, &mut status) } != 0 || status.st_size != bytes as i64 {
            return None;
        }
        Mapped::map(descriptor, bytes)
    }

    fn map(descriptor: OwnedFd, bytes: usize) -> Option<Mapped> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of an open descriptor, which has that many bytes.
        let got = unsafe {
            let raw = descriptor.as_raw_fd();
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                raw,
                0,
            )
        };
        if got == libc::MAP_FAILED {
            return None;
        }
        Some(Mapped {
            address: NonNull::new(got.cast())?,
            bytes,
            descriptor,
        })
    }

    /// What other processes need to open it.
    pub(crate) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Where a part of it lies.
    pub(crate) fn part(&self, from: usize, bytes: usize) -> *mut u8 {
        let is_inside = from.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        assert!(is_inside, "a part lies inside");
        self.address.as_ptr().wrapping_add(from)
    }

    /// The word at its beginning.
    pub(crate) fn word(&self) -> &AtomicU64 {
        assert!(self.bytes >= size_of::<u64>(), "there is a word");
        // SAFETY: the mapping lasts until the drop and begins at a page, and all processes use its
        // first word as an atomic.
        unsafe { self.address.cast().as_ref() }
    }
}

/// How long a file this process may make.
fn longest_file() -> u64 {
    // SAFETY: all-zero is a valid value of the structure, which the call fills.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is there.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}
