//! Standard input of ranks that cannot simply inherit the launcher's.
//!
//! A rank cannot when it is on another host, when all ranks read, nor when the launcher sits at a
//! terminal: a rank is in a process group of its own, and the kernel stops background groups that
//! read from a terminal. Then the head reads ([`Source`]) and the hosts of the readers write
//! ([`Feed`]); what is between them is bounded by [`STDIN_BYTES`], so that a rank that does not
//! read stops the reading.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;

use crate::frame::STDIN_BYTES;
use crate::sys;

/// A terminal line at most, see termios(3).
const PIECE_BYTES: usize = 4096;

/// The launcher's standard input.
pub(crate) struct Source {
    file: File,
    /// What has been read.
    sent: u64,
    /// How much of it each reader has got.
    taken: HashMap<u32, u64>,
    /// Somebody else has the terminal (the job is in the background): wait for SIGCONT.
    paused: bool,
}

impl Source {
    pub(crate) fn new(readers: impl Iterator<Item = u32>) -> io::Result<Source> {
        Ok(Source {
            file: File::from(io::stdin().as_fd().try_clone_to_owned()?),
            sent: 0,
            taken: readers.map(|rank| (rank, 0)).collect(),
            paused: false,
        })
    }

    pub(crate) fn poll_entry(&self) -> Option<libc::pollfd> {
        (!self.paused && self.window() >= PIECE_BYTES)
            .then(|| sys::poll_entry(self.file.as_fd(), libc::POLLIN))
    }

    /// The launcher has been continued: it may own the terminal again.
    pub(crate) fn handle_continue(&mut self) {
        self.paused = false;
    }

    /// A reader has got so many bytes.
    pub(crate) fn handle_taken(&mut self, rank: u32, bytes: u32) {
        if let Some(taken) = self.taken.get_mut(&rank) {
            *taken = (*taken + u64::from(bytes)).min(self.sent);
        }
    }

    /// A rank reads no more. False: no reader is left.
    pub(crate) fn handle_closed(&mut self, rank: u32) -> bool {
        self.taken.remove(&rank);
        !self.taken.is_empty()
    }

    /// What the slowest reader can still take.
    fn window(&self) -> usize {
        let slowest = self.taken.values().min().unwrap_or(&self.sent);
        STDIN_BYTES.saturating_sub((self.sent - slowest) as usize)
    }

    /// Reads the next piece after `poll_entry` was ready. An empty one is the end, None is nothing
    /// now.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; PIECE_BYTES];
        match self.file.read(&mut bytes) {
            Ok(count) => {
                self.sent += count as u64;
                Some(bytes[..count].to_vec())
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) =>
            {
                None
            }
            // SIGTTIN is blocked, so reading in the background is EIO.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                self.paused = true;
                None
            }
            Err(_) => Some(Vec::new()),
        }
    }
}

/// The pipe to a rank.
pub(crate) struct Feed {
    pipe: PipeWriter,
    queue: Vec<u8>,
    ended: bool,
}

/// What came of writing to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fed {
    /// So many bytes went in.
    pub(crate) bytes: u32,
    /// Nothing more will.
    pub(crate) over: bool,
}

impl Feed {
    /// And the end that the rank reads.
    pub(crate) fn new() -> io::Result<(Feed, PipeReader)> {
        let (reader, pipe) = io::pipe()?;
        sys::set_nonblocking(pipe.as_fd())?;
        let feed = Feed {
            pipe,
            queue: Vec::new(),
            ended: false,
        };
        Ok((feed, reader))
    }

    /// Queues input; nothing is the end of it.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.queue.extend_from_slice(bytes);
    }

    pub(crate) fn poll_entry(&self) -> Option<libc::pollfd> {
        (!self.queue.is_empty()).then(|| sys::poll_entry(self.pipe.as_fd(), libc::POLLOUT))
    }

    /// Writes what can be written now.
    pub(crate) fn flush(&mut self) -> Fed {
        let mut fed = Fed {
            bytes: 0,
            over: false,
        };
        while !self.queue.is_empty() {
            match self.pipe.write(&self.queue) {
                Ok(count) => {
                    self.queue.drain(..count);
                    fed.bytes += count as u32;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return fed,
                // Nobody reads.
                Err(_) => {
                    fed.over = true;
                    return fed;
                }
            }
        }
        fed.over = self.ended;
        fed
    }
}
