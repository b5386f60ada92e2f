//! Where a thread of this process sleeps until something arrives.
//!
//! A process whose peers share its host sleeps on its doorbell's word. One that also waits for
//! sockets cannot: it waits for two descriptors, the device's and a pipe into which whoever finds
//! the doorbell announced writes a byte.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use oxmpi_ports::Segment;
use oxmpi_ports::doorbell::{self, Doorbell};

/// How long a thread sleeps at most when a peer could not ring its pipe.
const MUTE_NAP: Duration = Duration::from_millis(1);

pub(crate) enum Bed {
    /// The doorbell's word.
    Bell,
    /// The device's descriptor and the pipe.
    Descriptors {
        device: RawFd,
        pipe: PipeReader,
        /// Others open it by its number.
        _write_end: PipeWriter,
    },
}

impl Bed {
    /// For a process that has a device beside its port.
    pub fn beside(device: RawFd, segment: &Segment, port: u32) -> std::io::Result<Bed> {
        let (pipe, write_end) = std::io::pipe()?;
        for end in [pipe.as_raw_fd(), write_end.as_raw_fd()] {
            // SAFETY: integers only; both descriptors are ours.
            unsafe { libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK) };
        }
        segment.sleep_at_pipe(port, write_end.as_fd());
        Ok(Bed::Descriptors {
            device,
            pipe,
            _write_end: write_end,
        })
    }

    /// Sleeps until something arrives, or for that long. Spurious returns are fine.
    pub fn sleep(&self, bell: &Doorbell, segment: &Segment, at_most: Option<Duration>) {
        let Bed::Descriptors { device, pipe, .. } = self else {
            return doorbell::sleep(bell, at_most);
        };
        let at_most = match at_most {
            _ if segment.is_mute() => Some(at_most.map_or(MUTE_NAP, |time| time.min(MUTE_NAP))),
            other => other,
        };
        let timeout = at_most.map(|time| libc::timespec {
            tv_sec: time.as_secs() as _,
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        });
        let mut entries = [*device, pipe.as_raw_fd()].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        let timeout = timeout
            .as_ref()
            .map_or(std::ptr::null(), |time| time as *const libc::timespec);
        // SAFETY: pointers and counts describe locals; the descriptors live as long as `self` and
        // the device.
        unsafe { libc::ppoll(entries.as_mut_ptr(), 2, timeout, std::ptr::null()) };
    }

    /// Takes the bytes that have rung. To be called under the engine's lock, and only by whom they
    /// were for: a byte that another sleeper took would leave that one asleep.
    pub fn drain(&self) {
        if let Bed::Descriptors { pipe, .. } = self {
            let mut bytes = [0u8; 64];
            // SAFETY: pointer and length describe the local; the pipe does not block.
            unsafe { libc::read(pipe.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
        }
    }
}
