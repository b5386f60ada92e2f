//! Where the ranks' output goes: the launcher's standard output and error, or memory.
//!
//! Blocks of whole lines are queued and written when the other side takes them, so that a reader
//! who has paused (`| less`) never stops the launcher from seeing signals and deaths. Standard
//! output and error that are one file share a queue: lines of the one never break into lines of the
//! other. Queues are bounded: `has_room` tells the launcher to leave further output in the ranks'
//! pipes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::sys;

/// Bytes that may wait for a slow reader. The ranks are stopped by their full pipes beyond it.
const QUEUE_BYTES_MAX: usize = 1024 * 1024;
/// Captured bytes kept per stream; what comes after is dropped, for a runaway job must not eat all
/// memory.
const CAPTURE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// What poll's "writable" promises for a pipe: this many bytes go in without waiting.
const WRITE_BYTES: usize = libc::PIPE_BUF;

/// Which of a rank's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Which {
    Stdout = 0,
    Stderr = 1,
}

/// Both destinations.
pub(crate) struct Outlet {
    label: bool,
    doors: Vec<Door>,
    door_of: [usize; 2],
}

/// One destination and what waits for it.
struct Door {
    sink: Sink,
    queue: Vec<u8>,
    /// Bytes of the queue that are written already.
    head: usize,
    /// The stream whose unfinished line was written last.
    open_line: Option<(u32, Which)>,
}

enum Sink {
    /// A plain file takes everything at once; anything else is asked first.
    File {
        file: File,
        paced: bool,
    },
    Memory,
    /// Nobody reads any more.
    Closed,
}

impl Outlet {
    /// Writes to this process's standard output and error.
    pub(crate) fn inherit(label: bool) -> io::Result<Outlet> {
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let (one, other) = (stdout.metadata()?, stderr.metadata()?);
        let same = (one.dev(), one.ino()) == (other.dev(), other.ino());
        let mut doors = vec![Door::new(Sink::File {
            paced: !one.is_file(),
            file: stdout,
        })];
        if !same {
            doors.push(Door::new(Sink::File {
                paced: !other.is_file(),
                file: stderr,
            }));
        }
        Ok(Outlet {
            label,
            doors,
            door_of: [0, usize::from(!same)],
        })
    }

    /// Keeps everything in memory.
    pub(crate) fn capture(label: bool) -> Outlet {
        Outlet {
            label,
            doors: vec![Door::new(Sink::Memory), Door::new(Sink::Memory)],
            door_of: [0, 1],
        }
    }

    /// Queues a block of a rank's output.
    pub(crate) fn put(&mut self, rank: u32, which: Which, block: &[u8]) {
        let label = self.label;
        self.doors[self.door_of[which as usize]].put(rank, which, block, label);
    }

    /// Queues a message of the launcher, on a line of its own.
    pub(crate) fn say(&mut self, text: &str) {
        let door = &mut self.doors[self.door_of[Which::Stderr as usize]];
        if door.open_line.take().is_some() {
            door.queue.push(b'\n');
        }
        door.queue.extend_from_slice(b"oxmpi: ");
        door.queue.extend_from_slice(text.as_bytes());
        door.queue.push(b'\n');
    }

    /// Whether more output should be taken from the ranks.
    pub(crate) fn has_room(&self) -> bool {
        self.doors.iter().all(|door| door.has_room())
    }

    /// Whether everything has been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.doors.iter().all(|door| !door.waits())
    }

    /// The descriptors whose readers are waited for.
    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        for door in &self.doors {
            if let (true, Sink::File { file, .. }) = (door.waits(), &door.sink) {
                entries.push(sys::poll_entry(file.as_fd(), libc::POLLOUT));
            }
        }
    }

    /// Writes what can be written now. An error is one of standard output; a standard error of its
    /// own that nobody reads is silently given up.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let stdout = self.door_of[Which::Stdout as usize];
        let mut result = Ok(());
        for (index, door) in self.doors.iter_mut().enumerate() {
            if let Err(error) = door.flush() {
                door.sink = Sink::Closed;
                door.forget();
                if index == stdout {
                    result = Err(error);
                }
            }
        }
        result
    }

    /// Drops what waits for readers who do not read.
    pub(crate) fn give_up(&mut self) {
        for door in &mut self.doors {
            if door.waits() {
                door.sink = Sink::Closed;
                door.forget();
            }
        }
    }

    /// The captured bytes.
    pub(crate) fn captured(self) -> (Vec<u8>, Vec<u8>) {
        let mut kept = self.doors.into_iter().map(|door| match door.sink {
            Sink::Memory => door.queue,
            _ => Vec::new(),
        });
        (
            kept.next().unwrap_or_default(),
            kept.next().unwrap_or_default(),
        )
    }
}

impl Door {
    fn new(sink: Sink) -> Door {
        Door {
            sink,
            queue: Vec::new(),
            head: 0,
            open_line: None,
        }
    }

    fn waits(&self) -> bool {
        matches!(self.sink, Sink::File { .. }) && self.head < self.queue.len()
    }

    fn has_room(&self) -> bool {
        !self.waits() || self.queue.len() - self.head < QUEUE_BYTES_MAX
    }

    fn forget(&mut self) {
        self.queue.clear();
        self.head = 0;
    }

    fn put(&mut self, rank: u32, which: Which, block: &[u8], label: bool) {
        let full =
            matches!(self.sink, Sink::Memory) && self.queue.len() + block.len() > CAPTURE_BYTES_MAX;
        if full || block.is_empty() || matches!(self.sink, Sink::Closed) {
            return;
        }
        if label {
            self.put_labelled(rank, which, block);
        } else {
            self.queue.extend_from_slice(block);
        }
        self.open_line = (block.last() != Some(&b'\n')).then_some((rank, which));
    }

    /// Unlabelled output is passed on byte for byte; with labels every line says whose it is, so a
    /// line begun by somebody else is ended first.
    fn put_labelled(&mut self, rank: u32, which: Which, block: &[u8]) {
        let mut continues = self.open_line == Some((rank, which));
        if self.open_line.is_some() && !continues {
            self.queue.push(b'\n');
        }
        for line in block.split_inclusive(|&byte| byte == b'\n') {
            if !continues {
                self.queue
                    .extend_from_slice(format!("[{rank}] ").as_bytes());
            }
            self.queue.extend_from_slice(line);
            continues = false;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(blocks: &[(u32, Which, &str)]) -> String {
        let mut outlet = Outlet::capture(true);
        outlet.doors.truncate(1);
        outlet.door_of = [0, 0];
        for (rank, which, block) in blocks {
            outlet.put(*rank, *which, block.as_bytes());
        }
        String::from_utf8(outlet.captured().0).unwrap()
    }

    #[test]
    fn labels_stand_before_every_line() {
        use Which::{Stderr, Stdout};
        assert_eq!(labelled(&[(3, Stdout, "a\n\nb\n")]), "[3] a\n[3] \n[3] b\n");
        assert_eq!(
            labelled(&[(0, Stdout, "name? "), (0, Stdout, "x\n")]),
            "[0] name? x\n"
        );
        assert_eq!(
            labelled(&[
                (0, Stdout, "name? "),
                (1, Stderr, "x\n"),
                (0, Stdout, "y\n")
            ]),
            "[0] name? \n[1] x\n[0] y\n"
        );
    }

    #[test]
    fn messages_begin_on_a_line_of_their_own() {
        let mut outlet = Outlet::capture(false);
        outlet.put(0, Which::Stderr, b"half");
        outlet.say("over");
        outlet.say("really");
        assert_eq!(outlet.captured().1, b"half\noxmpi: over\noxmpi: really\n");
    }
}
