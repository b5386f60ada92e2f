//! All that is unsafe: system calls, and the memory that the kernel writes.
//!
//! Nothing here decides anything. A request returns the errno as it is; `device` gives it a
//! meaning. [`Area`] is the mapped memory.

mod area;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

pub use area::{Area, RecordView};
pub(crate) use area::{desks_bytes, flags_bytes};

/// What a request carries: a number, or a structure that the driver reads and may write.
pub(crate) enum Argument<'a, T> {
    Number(u64),
    Structure(&'a mut T),
}

/// Structures of `oxmpi_wire::o2g`, whose size is part of the request's number.
///
/// # Safety
/// Every bit pattern is a value: the driver may write any.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers only, in each of them.
unsafe impl Plain for oxmpi_wire::o2g::Init {}
// SAFETY: as above.
unsafe impl Plain for oxmpi_wire::o2g::Register {}
// SAFETY: as above.
unsafe impl Plain for oxmpi_wire::o2g::DumpArea {}
// SAFETY: as above.
unsafe impl Plain for oxmpi_wire::o2g::Entry {}
// SAFETY: as above.
unsafe impl Plain for oxmpi_wire::o2g::Counters {}
// SAFETY: as above.
unsafe impl Plain for u64 {}

/// Opens the driver; a program that is executed does not inherit it.
pub(crate) fn open(path: &str) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    Ok(options.custom_flags(libc::O_CLOEXEC).open(path)?.into())
}

/// One request, repeated if a signal came between. `Err` is the errno.
pub(crate) fn request<T: Plain>(
    device: &impl AsFd,
    request: u32,
    mut argument: Argument<'_, T>,
) -> Result<(), i32> {
    let argument = match &mut argument {
        Argument::Number(number) => *number,
        Argument::Structure(structure) => std::ptr::from_mut::<T>(structure) as u64,
    };
    loop {
        // SAFETY: the driver reads and writes no more than the structure, whose size is part of the
        // number; that an entry's own memory is written later is the affair of who calls put_entry.
        let answer =
            unsafe { libc::ioctl(device.as_fd().as_raw_fd(), request as libc::Ioctl, argument) };
        if answer >= 0 {
            return Ok(());
        }
        match errno() {
            libc::EINTR => {}
            errno => return Err(errno),
        }
    }
}

/// Sleeps until there is a record or the time (-1: any) is over. Whether there is one.
pub(crate) fn poll(device: &impl AsFd, time_ms: i32) -> io::Result<bool> {
    let mut what = libc::pollfd {
        fd: device.as_fd().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, which is a local.
    match unsafe { libc::poll(&mut what, 1, time_ms) } {
        _ if what.revents & (libc::POLLERR | libc::POLLNVAL) != 0 => Err(io::Error::other(
            "there is no dump area yet, or another process opened the driver",
        )),
        count if count >= 0 => Ok(what.revents & libc::POLLIN != 0),
        _ => Err(io::Error::last_os_error()),
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
