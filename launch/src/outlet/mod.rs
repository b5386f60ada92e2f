//! Where the ranks' output goes: the launcher's standard output and error, files, or memory.
//!
//! Blocks of whole lines are queued and written when the other side takes them, so that a reader
//! that has paused (`| less`) never stops the launcher from seeing signals and deaths. Standard
//! output and error that are one file share a queue: lines of the one never break into lines of the
//! other. Queues are bounded: `has_room` tells the launcher to leave further output in the ranks'
//! pipes.

mod door;
mod files;
mod style;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::sys;
use door::{Door, Sink};
pub use files::FilePatterns;
use files::RankFiles;
pub(crate) use style::Style;

/// Which of a rank's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Which {
    Stdout = 0,
    Stderr = 1,
}

/// Both destinations.
pub(crate) struct Outlet {
    style: Style,
    files: RankFiles,
    doors: Vec<Door>,
    door_of: [usize; 2],
}

impl Outlet {
    /// Writes to this process's standard output and error.
    pub(crate) fn inherit(style: Style, files: &FilePatterns) -> io::Result<Outlet> {
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
            style,
            files: RankFiles::new(files),
            doors,
            door_of: [0, usize::from(!same)],
        })
    }

    /// Keeps everything in memory.
    pub(crate) fn capture(style: Style) -> Outlet {
        Outlet {
            style,
            files: RankFiles::default(),
            doors: vec![Door::new(Sink::Memory), Door::new(Sink::Memory)],
            door_of: [0, 1],
        }
    }

    /// Queues a block of a rank's output.
    pub(crate) fn put(&mut self, rank: u32, which: Which, block: &[u8]) {
        match self.files.put(rank, which, block, self.style) {
            Ok(true) => {}
            Ok(false) => {
                let door = &mut self.doors[self.door_of[which as usize]];
                door.put(rank, which, block, self.style);
            }
            // Said once: the stream comes here from now on.
            Err(why) => {
                self.say(&why);
                self.put(rank, which, block);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(blocks: &[(u32, Which, &str)]) -> String {
        let mut outlet = Outlet::capture(Style::labelled());
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
        let mut outlet = Outlet::capture(Style::default());
        outlet.put(0, Which::Stderr, b"half");
        outlet.say("over");
        outlet.say("really");
        assert_eq!(outlet.captured().1, b"half\noxmpi: over\noxmpi: really\n");
    }
}
