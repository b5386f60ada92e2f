//! Bytes of one stream of one rank, cut into whole lines.
//!
//! No I/O and no clock: bytes and `now` come in, blocks that end with a newline go out. What is
//! left of an unfinished line is held until its newline comes, until [`PARTIAL_MAX`] has passed (a
//! prompt must be seen) or until it is longer than [`LINE_BYTES_MAX`].

use std::time::{Duration, Instant};

/// The longest line that is kept in one piece. Two streams of 4096 ranks hold 512 MiB at worst.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;

/// How long the beginning of a line waits for its end: too short to annoy at a prompt, long enough
/// for programs that write a line in several calls.
pub(crate) const PARTIAL_MAX: Duration = Duration::from_millis(100);

/// The unfinished line of a stream.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
    since: Option<Instant>,
}

impl Lines {
    /// Takes bytes in and gives finished lines to `emit`, several at once where possible.
    pub(crate) fn handle_bytes(&mut self, bytes: &[u8], now: Instant, mut emit: impl FnMut(&[u8])) {
        let cut = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |last| last + 1);
        let (whole, rest) = bytes.split_at(cut);
        if !whole.is_empty() {
            if self.held.is_empty() {
                emit(whole);
            } else {
                self.held.extend_from_slice(whole);
                emit(&self.held);
            }
            self.forget();
        }
        if !rest.is_empty() {
            self.held.extend_from_slice(rest);
            self.since.get_or_insert(now);
        }
        if self.held.len() > LINE_BYTES_MAX {
            self.flush(emit);
        }
    }

    /// When the held bytes must be shown at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + PARTIAL_MAX)
    }

    /// Gives out what is held: its time is over, or the stream is.
    pub(crate) fn flush(&mut self, mut emit: impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            emit(&self.held);
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.since = None;
        self.held.clear();
        // A stream that once had a long line does not keep the memory for ever.
        self.held.shrink_to(1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(lines: &mut Lines, now: Instant, bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        lines.handle_bytes(bytes, now, |block| {
            out.push(String::from_utf8_lossy(block).into_owned());
        });
        out
    }

    #[test]
    fn lines_come_out_whole() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        assert_eq!(feed(&mut lines, now, b"a\nb\nc"), ["a\nb\n"]);
        assert_eq!(lines.deadline(), Some(now + PARTIAL_MAX));
        let later = now + Duration::from_millis(50);
        assert!(feed(&mut lines, later, b"d").is_empty());
        assert_eq!(
            lines.deadline(),
            Some(now + PARTIAL_MAX),
            "counts from the line's first byte"
        );
        assert_eq!(feed(&mut lines, later, b"\n\nx"), ["cd\n\n"]);
        assert_eq!(lines.deadline(), Some(later + PARTIAL_MAX));
        assert_eq!(feed(&mut lines, later, b"\n"), ["x\n"]);
        assert_eq!(lines.deadline(), None);
    }

    #[test]
    fn an_endless_line_does_not_pile_up() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        let mut seen = 0;
        for _ in 0..1000 {
            lines.handle_bytes(&[0xff; 4096], now, |block| seen += block.len());
            assert!(lines.held.len() <= LINE_BYTES_MAX);
        }
        lines.flush(|block| seen += block.len());
        assert_eq!(seen, 4096 * 1000);
        assert!(lines.held.capacity() <= 1024);
    }
}
