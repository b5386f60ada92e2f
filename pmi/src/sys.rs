//! The system calls behind a descriptor that another process opened for this one.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Takes an inherited descriptor over; programs that this process starts no longer inherit it. The
/// caller sees to it that nobody else owns it.
pub(crate) fn adopt_inherited(fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD and F_SETFD with an integer touch no memory, whatever the number is.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, flags | libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, as F_GETFD has just said, and the launcher made it for this
    // client alone; `Client` adopts it once in a process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The name of this host, for messages.
pub(crate) fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said; the last byte stays 0 because one less is offered.
    let result = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    if result != 0 {
        return "this host".to_owned();
    }
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}
