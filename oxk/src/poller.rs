//! Waiting for sockets: epoll and an eventfd that wakes the waiter. The only system calls of this
//! crate that the standard library does not make.

#![allow(unsafe_code, reason = "epoll and eventfd are not in std")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The name under which the eventfd is known.
const WAKE: u64 = u64::MAX;
/// Events of one call.
const EVENTS: usize = 64;

pub(crate) struct Poller {
    epoll: OwnedFd,
    wake: File,
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        // SAFETY: a call without pointers; its descriptor is new and owned by nobody else.
        let epoll =
            unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: as above.
        let wake = unsafe { File::from_raw_fd(checked(libc::eventfd(0, flags))?) };
        let poller = Poller { epoll, wake };
        poller.control(
            libc::EPOLL_CTL_ADD,
            poller.wake.as_raw_fd(),
            libc::EPOLLIN,
            WAKE,
        )?;
        Ok(poller)
    }

    /// Tells of the socket once per change, under this name, until it is closed.
    pub(crate) fn add(&self, socket: RawFd, name: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.control(libc::EPOLL_CTL_ADD, socket, events, name)
    }

    fn control(&self, what: i32, fd: RawFd, events: i32, name: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: name,
        };
        // SAFETY: `event` lives across the call, and both descriptors are open.
        checked(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) })?;
        Ok(())
    }

    /// Ends the current or the next [`Poller::wait`].
    pub(crate) fn wake(&self) {
        // It fails only when the counter is full, and then the waiter wakes, too.
        let _ = (&self.wake).write(&1u64.to_ne_bytes());
    }

    /// Sleeps until sockets change or somebody wakes it; their names.
    pub(crate) fn wait(&self, names: &mut Vec<u64>) -> io::Result<()> {
        names.clear();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        // SAFETY: the kernel writes at most as many events as the array has.
        let found = checked(unsafe {
            let fd = self.epoll.as_raw_fd();
            libc::epoll_wait(fd, events.as_mut_ptr(), EVENTS as i32, -1)
        });
        let found = match found {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            found => found? as usize,
        };
        for event in &events[..found] {
            match event.u64 {
                WAKE => {
                    let _ = (&self.wake).read(&mut [0; 8]);
                }
                name => names.push(name),
            }
        }
        Ok(())
    }
}
