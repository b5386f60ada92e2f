//! Standard input of rank 0, when it cannot simply inherit the launcher's.
//!
//! It cannot when it is on another host, nor when the launcher sits at a terminal: rank 0 is in a
//! process group of its own, and the kernel stops background groups that read from a terminal. Then
//! the head reads ([`Source`]) and the host of rank 0 writes ([`Feed`]); what is between them is
//! bounded by [`STDIN_BYTES`], so that a rank that does not read stops the reading.

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
    /// What the other end can still take.
    window: usize,
    /// Somebody else has the terminal (the job is in the background): wait for SIGCONT.
    paused: bool,
}

impl Source {
    pub(crate) fn new() -> io::Result<Source> {
        Ok(Source {
            file: File::from(io::stdin().as_fd().try_clone_to_owned()?),
            window: STDIN_BYTES,
            paused: false,
        })
    }

    pub(crate) fn poll_entry(&self) -> Option<libc::pollfd> {
        (!self.paused && self.window >= PIECE_BYTES)
            .then(|| sys::poll_entry(self.file.as_fd(), libc::POLLIN))
    }

    /// The launcher has been continued: it may own the terminal again.
    pub(crate) fn handle_continue(&mut self) {
        self.paused = false;
    }

    /// Rank 0 has got so many bytes.
    pub(crate) fn handle_taken(&mut self, bytes: u32) {
        self.window = (self.window + bytes as usize).min(STDIN_BYTES);
    }

    /// Reads the next piece after `poll_entry` was ready. An empty one is the end, None is nothing
    /// now.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; PIECE_BYTES];
        match self.file.read(&mut bytes) {
            Ok(count) => {
                self.window -= count;
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

/// The pipe to rank 0.
pub(crate) struct Feed {
    pipe: PipeWriter,
    queue: Vec<u8>,
    ended: bool,
}

/// What came of writing to rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fed {
    /// So many bytes went in.
    pub(crate) bytes: u32,
    /// Nothing more will.
    pub(crate) over: bool,
}

impl Feed {
    /// And the end that rank 0 reads.
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
