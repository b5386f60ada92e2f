//! One destination of output, and what waits for it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use super::Which;
use super::style::Style;
use crate::sys;

/// Bytes that may wait for a slow reader. The ranks are stopped by their full pipes beyond it.
const QUEUE_BYTES_MAX: usize = 1024 * 1024;
/// Captured bytes kept per stream; what comes after is dropped, for a runaway job must not eat all
/// memory.
const CAPTURE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// What poll's "writable" promises for a pipe: this many bytes go in without waiting.
const WRITE_BYTES: usize = libc::PIPE_BUF;

/// One destination and what waits for it.
pub(super) struct Door {
    pub(super) sink: Sink,
    pub(super) queue: Vec<u8>,
    /// Bytes of the queue that are written already.
    head: usize,
    /// The stream whose unfinished line was written last.
    pub(super) open_line: Option<(u32, Which)>,
}

pub(super) enum Sink {
    /// A plain file takes everything at once; anything else is asked first.
    File {
        file: File,
        paced: bool,
    },
    Memory,
    /// Nobody reads any more.
    Closed,
}

impl Door {
    pub(super) fn new(sink: Sink) -> Door {
        Door {
            sink,
            queue: Vec::new(),
            head: 0,
            open_line: None,
        }
    }

    pub(super) fn waits(&self) -> bool {
        matches!(self.sink, Sink::File { .. }) && self.head < self.queue.len()
    }

    pub(super) fn has_room(&self) -> bool {
        !self.waits() || self.queue.len() - self.head < QUEUE_BYTES_MAX
    }

    pub(super) fn forget(&mut self) {
        self.queue.clear();
        self.head = 0;
    }

    pub(super) fn put(&mut self, rank: u32, which: Which, block: &[u8], style: Style) {
        let full =
            matches!(self.sink, Sink::Memory) && self.queue.len() + block.len() > CAPTURE_BYTES_MAX;
        if full || block.is_empty() || matches!(self.sink, Sink::Closed) {
            return;
        }
        if style.marks_lines() {
            self.put_marked(rank, which, block, style);
        } else {
            self.queue.extend_from_slice(block);
        }
        self.open_line = (block.last() != Some(&b'\n')).then_some((rank, which));
    }

    /// Unmarked output is passed on byte for byte; with marks every line says whose it is, so a line
    /// begun by another stream is ended first.
    fn put_marked(&mut self, rank: u32, which: Which, block: &[u8], style: Style) {
        let mut continues = self.open_line == Some((rank, which));
        if self.open_line.is_some() && !continues {
            self.queue.push(b'\n');
        }
        let mark = style.mark(rank);
        for line in block.split_inclusive(|&byte| byte == b'\n') {
            if !continues {
                self.queue.extend_from_slice(mark.as_bytes());
            }
            self.queue.extend_from_slice(line);
            continues = false;
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Sink::File { file, paced } = &mut self.sink else {
            return Ok(());
        };
        while self.head < self.queue.len() {
            let waiting = &self.queue[self.head..];
            let piece = if *paced {
                let mut entry = [sys::poll_entry(file.as_fd(), libc::POLLOUT)];
                sys::poll(&mut entry, Some(std::time::Duration::ZERO))?;
                if entry[0].revents == 0 {
                    return Ok(());
                }
                &waiting[..waiting.len().min(WRITE_BYTES)]
            } else {
                waiting
            };
            match file.write(piece) {
                Ok(count) => self.head += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.forget();
        Ok(())
    }
}
