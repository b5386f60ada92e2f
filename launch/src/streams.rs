//! What the ranks of a host write: their pipes, cut into lines, taken as far as the window allows.
//!
//! `LocalRanks` owns one of these. Blocks of lines leave as [`Up::Output`] in the order of each
//! rank's writing. The window is what the head has said it can take: beyond it, output stays in the
//! pipes and the ranks wait.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use crate::frame::Up;
use crate::lines::Lines;
use crate::outlet::Which;
use crate::sys::{self, Epoll};

/// Taken from one pipe at a time, so that a rank that floods does not starve the others.
const READ_BYTES: usize = 64 * 1024;

/// One output stream of one rank.
struct Stream {
    rank: u32,
    which: Which,
    /// None when it has ended.
    pipe: Option<PipeReader>,
    lines: Lines,
}

/// All output streams of a host.
pub(crate) struct Streams {
    /// Two per rank, standard output first.
    list: Vec<Stream>,
    open: usize,
    /// The pipes; one descriptor to wait for, however many ranks there are.
    readable: Epoll,
    /// Streams that hold an unfinished line, by the time it is due; entries may be out of date.
    partial: VecDeque<(Instant, usize)>,
    scratch: Vec<u8>,
    /// Bytes that may still be taken. The last piece may exceed it.
    window: u64,
}

impl Streams {
    /// The streams of `ranks`, and the ranks' ends of them.
    #[allow(clippy::type_complexity)]
    pub(crate) fn new(
        ranks: &[u32],
        window: u64,
    ) -> io::Result<(Streams, Vec<(OwnedFd, OwnedFd)>)> {
        let mut list = Vec::with_capacity(ranks.len() * 2);
        let mut ends = Vec::with_capacity(ranks.len());
        let readable = Epoll::new()?;
        for &rank in ranks {
            let mut pipe = |which| -> io::Result<OwnedFd> {
                let (reader, writer) = io::pipe()?;
                sys::set_nonblocking(reader.as_fd())?;
                readable.add(reader.as_fd(), list.len() as u64)?;
                list.push(Stream {
                    rank,
                    which,
                    pipe: Some(reader),
                    lines: Lines::default(),
                });
                Ok(writer.into())
            };
            let stdout = pipe(Which::Stdout)?;
            let stderr = pipe(Which::Stderr)?;
            ends.push((stdout, stderr));
        }
        let streams = Streams {
            open: list.len(),
            list,
            readable,
            partial: VecDeque::new(),
            scratch: vec![0; READ_BYTES],
            window,
        };
        Ok((streams, ends))
    }

    /// Nobody holds any of them open any more.
    pub(crate) fn all_ended(&self) -> bool {
        self.open == 0
    }

    /// The head can take more.
    pub(crate) fn has_room(&self) -> bool {
        self.window > 0
    }

    /// The head can take so much more.
    pub(crate) fn widen(&mut self, bytes: u64) {
        self.window = self.window.saturating_add(bytes);
    }

    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        if self.window > 0 && self.open > 0 {
            entries.push(sys::poll_entry(self.readable.fd(), libc::POLLIN));
        }
    }

    /// When an unfinished line is to be shown.
    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        // Without room the rest of the line may wait in its pipe.
        let front = self.partial.front().filter(|_| self.window > 0);
        front.map(|front| front.0)
    }

    /// Takes what is there, and shows unfinished lines whose time has come.
    pub(crate) fn handle_ready(&mut self, now: Instant, up: &mut VecDeque<Up>) -> io::Result<()> {
        if self.open > 0 && self.window > 0 {
            let mut keys = Vec::new();
            self.readable.ready(&mut keys)?;
            for key in keys {
                self.pump(key as usize, now, up);
            }
        }
        while let Some(&(due, key)) = self.partial.front() {
            // Entries whose line has ended meanwhile are dropped without waiting for their time.
            let is_current = |streams: &Streams| streams.list[key].lines.deadline() == Some(due);
            if is_current(self) && (due > now || self.window == 0) {
                break;
            }
            self.partial.pop_front();
            if is_current(self) {
                // The rest may have come while other streams were served.
                self.pump(key, now, up);
            }
            if is_current(self) {
                self.show(key, up);
            }
        }
        Ok(())
    }

    /// Everything a rank that has failed has to say comes before what is said about it.
    pub(crate) fn last_words(&mut self, port: u32, now: Instant, up: &mut VecDeque<Up>) {
        for key in [port as usize * 2, port as usize * 2 + 1] {
            while self.pump(key, now, up) {}
            self.show(key, up);
        }
    }

    /// Nobody writes any more: what is in the pipes is all there will be. Ends when the window
    /// allows.
    pub(crate) fn finish(&mut self, now: Instant, up: &mut VecDeque<Up>) {
        for key in 0..self.list.len() {
            while self.pump(key, now, up) {}
            if self.window > 0 {
                self.close(key, up);
            }
        }
    }

    /// Takes one piece. False: there is nothing more at the moment, or ever, or no room for it.
    fn pump(&mut self, key: usize, now: Instant, up: &mut VecDeque<Up>) -> bool {
        let stream = &mut self.list[key];
        let Some(pipe) = stream.pipe.as_mut().filter(|_| self.window > 0) else {
            return false;
        };
        match pipe.read(&mut self.scratch) {
            Ok(0) => {
                self.close(key, up);
                false
            }
            Ok(count) => {
                self.window = self.window.saturating_sub(count as u64);
                let (rank, which) = (stream.rank, stream.which);
                let known = stream.lines.deadline();
                stream
                    .lines
                    .handle_bytes(&self.scratch[..count], now, |block| {
                        up.push_back(output(rank, which, block));
                    });
                let due = stream.lines.deadline();
                if let Some(due) = due.filter(|_| due != known) {
                    self.partial.push_back((due, key));
                }
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(_) => {
                self.close(key, up);
                false
            }
        }
    }

    fn close(&mut self, key: usize, up: &mut VecDeque<Up>) {
        self.show(key, up);
        if self.list[key].pipe.take().is_some() {
            self.open -= 1;
        }
    }

    /// Shows the unfinished line of a stream.
    fn show(&mut self, key: usize, up: &mut VecDeque<Up>) {
        let stream = &mut self.list[key];
        let (rank, which) = (stream.rank, stream.which);
        stream
            .lines
            .flush(|block| up.push_back(output(rank, which, block)));
    }
}

fn output(rank: u32, which: Which, block: &[u8]) -> Up {
    Up::Output {
        rank,
        which,
        bytes: block.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    fn written(up: &mut VecDeque<Up>) -> Vec<String> {
        let text = |frame| match frame {
            Up::Output { bytes, .. } => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        };
        up.drain(..).map(text).collect()
    }

    #[test]
    fn a_line_whose_end_waits_for_room_stays_whole() {
        let (mut streams, ends) = Streams::new(&[0], 4).unwrap();
        let mut stdout = std::fs::File::from(ends.into_iter().next().unwrap().0);
        let (begin, mut up) = (Instant::now(), VecDeque::new());
        stdout.write_all(b"line 1\nli").unwrap();
        streams.handle_ready(begin, &mut up).unwrap();
        assert_eq!(written(&mut up), ["line 1\n"]);
        stdout.write_all(b"ne 2\n$ ").unwrap();
        let late = begin + Duration::from_secs(9);
        streams.handle_ready(late, &mut up).unwrap();
        assert_eq!((written(&mut up), streams.poll_deadline()), (vec![], None));
        streams.widen(100);
        streams.handle_ready(late, &mut up).unwrap();
        assert_eq!(written(&mut up), ["line 2\n"]);
        let prompt = streams.poll_deadline().unwrap();
        streams.handle_ready(prompt, &mut up).unwrap();
        assert_eq!(written(&mut up), ["$ "]);
    }
}
