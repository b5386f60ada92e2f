//! Readiness: which sockets have something to say, told once per change, however many there are.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Changes taken in one call.
const CHANGES_MAX: usize = 64;

/// Everything that can change.
const BOTH: i32 = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP;

/// The set of sockets that are watched.
pub(super) struct Epoll {
    fd: OwnedFd,
    events: [libc::epoll_event; CHANGES_MAX],
}

/// One socket's news.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// The key it is watched under.
    pub key: u64,
    /// Something can be read: bytes, the end, or an error.
    pub readable: bool,
    /// Something can be written.
    pub writable: bool,
}

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: integers only; a new descriptor is ours.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Epoll {
            // SAFETY: as above.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            events: [libc::epoll_event { events: 0, u64: 0 }; CHANGES_MAX],
        })
    }

    /// Watches a socket for good: changes are told once (edge-triggered), and closing the socket
    /// ends it.
    pub fn watch(&self, fd: RawFd, key: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, key, BOTH)
    }

    /// The socket's changes come under another key from now on; what is true now is told again.
    pub fn rename(&self, fd: RawFd, key: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, key, BOTH)
    }

    /// As [`Epoll::rename`], for a socket that somebody else reads.
    pub fn rename_for_writing(&self, fd: RawFd, key: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, key, libc::EPOLLOUT)
    }

    fn control(&self, what: i32, fd: RawFd, key: u64, flags: i32) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: (flags | libc::EPOLLET) as u32,
            u64: key,
        };
        // SAFETY: the event is a local.
        match unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// What has changed since the last call, without waiting.
    #[inline]
    pub fn changes(&mut self) -> impl Iterator<Item = Change> {
        // SAFETY: pointer and count describe the array.
        let count = unsafe {
            libc::epoll_wait(
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                CHANGES_MAX as i32,
                0,
            )
        };
        let count = usize::try_from(count).unwrap_or(0);
        self.events[..count].iter().map(|event| {
            let said = event.events as i32;
            let ended = libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLRDHUP;
            Change {
                key: event.u64,
                readable: said & (libc::EPOLLIN | ended) != 0,
                writable: said & (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) != 0,
            }
        })
    }

    /// Becomes readable when there are changes.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}
