//! What joining needs and the standard library does not offer as a safe function.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Turns the C convention (-1 and errno) into a Result.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The name of this host, as in `hostname`; error reports give it.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the pointer and the length describe `name`, which outlives the call.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) } != 0;
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    if failed || length == 0 {
        return "localhost".to_owned();
    }
    String::from_utf8_lossy(&name[..length]).into_owned()
}

/// Sets an environment variable of this process.
pub(crate) fn set_variable(name: &str, value: &str) {
    // SAFETY: a thread that reads the environment at the same time sees it before or after: the C
    // library keeps arrays of variables that it has replaced, and the value is a new text.
    unsafe { std::env::set_var(name, value) }
}

/// Makes a copy of descriptor number `fd` that closes on exec, and makes the original close on exec
/// too.
pub(crate) fn adopt_inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number that is no open descriptor fails with EBADF and does nothing else.
    let copy = check(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: `copy` was just made by the kernel for us; nobody else owns it.
    let copy = unsafe { OwnedFd::from_raw_fd(copy) };
    // SAFETY: as above; only the flag of a descriptor this process inherited changes.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    Ok(copy)
}
