//! Standard input of rank 0 when the launcher sits at a terminal.
//!
//! Files and pipes are simply inherited. A terminal cannot be: rank 0 is in a process group of its own, and
//! the kernel stops background groups that read from a terminal. So the launcher, which is in the
//! foreground, reads and passes on. One buffer, no growth: no reading while the last piece is unsent.

use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;

use crate::sys;

/// A terminal line at most, see termios(3).
const PIECE_BYTES: usize = 4096;

/// The way from the terminal to rank 0.
pub(crate) struct Relay {
    terminal: File,
    pipe: PipeWriter,
    piece: Vec<u8>,
    /// Somebody else has the terminal (the job is in the background): wait for SIGCONT.
    paused: bool,
}

impl Relay {
    pub(crate) fn new(pipe: PipeWriter) -> io::Result<Relay> {
        sys::set_nonblocking(pipe.as_fd())?;
        Ok(Relay {
            terminal: File::from(io::stdin().as_fd().try_clone_to_owned()?),
            pipe,
            piece: Vec::new(),
            paused: false,
        })
    }

    /// What to wait for: the rank when something is unsent, else the terminal.
    pub(crate) fn poll_entry(&self) -> Option<libc::pollfd> {
        if !self.piece.is_empty() {
            Some(sys::poll_entry(self.pipe.as_fd(), libc::POLLOUT))
        } else if !self.paused {
            Some(sys::poll_entry(self.terminal.as_fd(), libc::POLLIN))
        } else {
            None
        }
    }

    /// The launcher has been continued: it may own the terminal again.
    pub(crate) fn handle_continue(&mut self) {
        self.paused = false;
    }

    /// Does what `poll_entry` waited for. False: there is nothing more to relay, and rank 0 sees the end.
    pub(crate) fn handle_ready(&mut self) -> bool {
        if self.piece.is_empty() {
            let mut bytes = [0; PIECE_BYTES];
            match self.terminal.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.piece.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
                // SIGTTIN is blocked, so reading in the background is EIO.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                    self.paused = true;
                    return true;
                }
                Err(_) => return false,
            }
        }
        match self.pipe.write(&self.piece) {
            Ok(count) => {
                self.piece.drain(..count);
                true
            }
            Err(error) => matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        }
    }
}
