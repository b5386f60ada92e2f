//! Memory whose pages never come: faults are held by userfaultfd, and nobody answers them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{Buffer, ioctl_with};

/// `UFFDIO_API`, `UFFDIO_REGISTER`, and the mode that holds faults of missing pages
/// (linux/userfaultfd.h).
const API: u32 = 0xc018_aa3f;
const REGISTER: u32 = 0xc020_aa00;
const MISSING: u64 = 1;

/// Holds faults until it is dropped.
pub struct Faults {
    fd: OwnedFd,
}

impl Faults {
    /// Needs root, because the kernel's own faults are held too.
    pub fn new() -> io::Result<Faults> {
        // SAFETY: integers only.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: new, and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        // Version, features, and what the kernel answers.
        let mut api = [0xaau64, 0, 0];
        ioctl_with(fd.as_raw_fd(), API, &mut api).map_err(io::Error::from_raw_os_error)?;
        Ok(Faults { fd })
    }

    /// Takes the buffer's pages away; the next one who writes it waits.
    pub fn hold(&self, buffer: &Buffer) -> io::Result<()> {
        buffer.drop_pages()?;
        let bytes = (buffer.bytes() as u64).next_multiple_of(4096);
        let mut range = [buffer.address(), bytes, MISSING, 0];
        let answer = ioctl_with(self.fd.as_raw_fd(), REGISTER, &mut range);
        answer.map(|_| ()).map_err(io::Error::from_raw_os_error)
    }
}
