//! Frames on a pair of pipes: a length of four bytes, then the frame as postcard writes it.
//!
//! [`Inbox`] and [`Outbox`] are pure: bytes in, frames out and the other way round. Neither waits.
//! An inbox holds at most the longest frame, provided that its owner stops reading at the first
//! error. An outbox is bounded by windows (`frame`): only output and input are long, and both are
//! sent on credit.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::{FRAME_BYTES_MAX, PROTOCOL};

/// Bytes of the length before each frame.
const LENGTH_BYTES: usize = 4;
/// Taken from a pipe in one go.
const READ_BYTES: usize = 64 * 1024;
/// What login scripts may print before the agent speaks.
const NOISE_BYTES_MAX: usize = 64 * 1024;
/// The agent's first line, version and protocol after it. The NUL keeps it apart from anything a
/// person prints.
const GREETING: &str = "\0oxmpi-agent ";

/// Why what came is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    /// A length that no frame has.
    #[error("a frame of {0} bytes, above the limit of {FRAME_BYTES_MAX}")]
    TooLong(usize),
    /// Bytes that are none of the frames there are.
    #[error("a frame of {0} bytes that cannot be understood")]
    Garbled(usize),
}

/// Bytes that have come and are not yet used.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// What is used of them.
    head: usize,
}

/// What the first bytes of an agent's output are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Nothing that ends the waiting.
    Waiting,
    /// The agent speaks our language; frames follow.
    Ours,
    /// It speaks another one: the version it names.
    Foreign(String),
    /// More text than any login script prints.
    Noise,
}

impl Inbox {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if self.head > READ_BYTES && self.head * 2 > self.bytes.len() {
            self.bytes.drain(..self.head);
            self.head = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads what is there. Ok(false): the end has been reached.
    pub(crate) fn fill(&mut self, mut from: impl Read) -> io::Result<bool> {
        let mut piece = [0; READ_BYTES];
        loop {
            match from.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.put(&piece[..count]);
                    // Whoever floods does not starve the others.
                    if self.bytes.len() - self.head > 4 * READ_BYTES {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next frame, if all of it is there.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let waiting = &self.bytes[self.head..];
        let Some((length, rest)) = waiting.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(FrameError::TooLong(length));
        }
        let Some(frame) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = postcard::from_bytes(frame).map_err(|_| FrameError::Garbled(length))?;
        self.head += LENGTH_BYTES + length;
        if self.head == self.bytes.len() {
            self.bytes.clear();
            self.head = 0;
        }
        Ok(Some(frame))
    }

    /// Looks for the agent's first line behind whatever login scripts have printed.
    pub(crate) fn greeting(&mut self) -> Greeting {
        let waiting = &self.bytes[self.head..];
        let mark = GREETING.as_bytes();
        let Some(begin) = waiting.windows(mark.len()).position(|part| part == mark) else {
            return match waiting.len() {
                0..NOISE_BYTES_MAX => Greeting::Waiting,
                _ => Greeting::Noise,
            };
        };
        let line = &waiting[begin + mark.len()..];
        let Some(end) = line.iter().take(256).position(|byte| *byte == b'\n') else {
            return match line.len() {
                0..256 => Greeting::Waiting,
                _ => Greeting::Noise,
            };
        };
        let text = String::from_utf8_lossy(&line[..end]).into_owned();
        let (protocol, version) = text.split_once(' ').unwrap_or((&text, ""));
        if protocol.parse() != Ok(PROTOCOL) {
            return Greeting::Foreign(version.to_owned());
        }
        self.head += begin + mark.len() + end + 1;
        Greeting::Ours
    }

    /// The first bytes that have not been used, for messages.
    pub(crate) fn first(&self, bytes: usize) -> String {
        let waiting = &self.bytes[self.head..];
        String::from_utf8_lossy(&waiting[..waiting.len().min(bytes)]).into_owned()
    }

    /// What has been printed so far and is no frame, for messages.
    pub(crate) fn noise(&self) -> String {
        String::from_utf8_lossy(&self.bytes[self.head..]).into_owned()
    }
}

/// Frames that wait for the other side.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    head: usize,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.bytes.len()
    }

    /// The agent's first words.
    pub(crate) fn greet(&mut self) {
        let version = env!("CARGO_PKG_VERSION");
        let line = format!("{GREETING}{PROTOCOL} {version}\n");
        self.bytes.extend_from_slice(line.as_bytes());
    }

    pub(crate) fn put(&mut self, frame: &impl Serialize) {
        // Serialising into a vector fails for no type without a length of its own, and there is
        // none here.
        let frame = postcard::to_stdvec(frame).expect("frames are plain data");
        assert!(
            frame.len() <= FRAME_BYTES_MAX,
            "a frame of {} bytes",
            frame.len()
        );
        let length = (frame.len() as u32).to_le_bytes();
        self.bytes.extend_from_slice(&length);
        self.bytes.extend_from_slice(&frame);
    }

    /// Writes what can be written now.
    pub(crate) fn flush(&mut self, mut to: impl Write) -> io::Result<()> {
        while !self.is_empty() {
            match to.write(&self.bytes[self.head..]) {
                Ok(count) => self.head += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        // Moved seldom, so that a slow reader does not make every frame cost a copy of all that
        // wait.
        if self.is_empty() || self.head > READ_BYTES && self.head * 2 > self.bytes.len() {
            self.bytes.drain(..self.head);
            self.head = 0;
            self.bytes.shrink_to(4 * READ_BYTES);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{Down, Up};

    fn bytes(outbox: &mut Outbox) -> Vec<u8> {
        let mut bytes = Vec::new();
        outbox.flush(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn frames_survive_any_cut() {
        let frames = [
            Down::Signal(15),
            Down::Stdin(vec![7; 300]),
            Down::FenceOver(vec![("a".to_owned(), "b".to_owned())]),
            Down::End,
        ];
        let mut outbox = Outbox::default();
        frames.iter().for_each(|frame| outbox.put(frame));
        let bytes = bytes(&mut outbox);
        assert!(outbox.is_empty());
        for size in [1, 3, 64, 4096] {
            let (mut inbox, mut found) = (Inbox::default(), Vec::new());
            for piece in bytes.chunks(size) {
                inbox.put(piece);
                while let Some(frame) = inbox.next::<Down>().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, frames);
        }
    }

    #[test]
    fn golden_bytes() {
        let mut outbox = Outbox::default();
        outbox.put(&Down::Signal(15));
        outbox.put(&Up::Started { rank: 3, pid: 300 });
        assert_eq!(
            bytes(&mut outbox),
            [2, 0, 0, 0, 2, 30, 4, 0, 0, 0, 2, 3, 0xd8, 4],
            "a change here is a new PROTOCOL"
        );
    }

    #[test]
    fn greetings_are_found_behind_login_scripts() {
        let mut outbox = Outbox::default();
        outbox.greet();
        outbox.put(&Down::End);
        let bytes = [b"Welcome to b!\n".to_vec(), bytes(&mut outbox)].concat();
        let mut inbox = Inbox::default();
        for byte in &bytes[..bytes.len() - 1] {
            inbox.put(&[*byte]);
            match inbox.greeting() {
                Greeting::Waiting => {}
                Greeting::Ours => break,
                other => panic!("{other:?}"),
            }
        }
        inbox.put(&bytes[bytes.len() - 5..]);
        assert_eq!(inbox.next(), Ok(Some(Down::End)));

        let mut inbox = Inbox::default();
        inbox.put(b"\0oxmpi-agent 999 7.0\n");
        assert_eq!(inbox.greeting(), Greeting::Foreign("7.0".to_owned()));
        let mut inbox = Inbox::default();
        inbox.put(&vec![b'x'; NOISE_BYTES_MAX]);
        assert_eq!(inbox.greeting(), Greeting::Noise);
    }

    #[test]
    fn a_length_beyond_the_limit_is_an_error_at_once() {
        let mut inbox = Inbox::default();
        inbox.put(&[0xff; 4]);
        assert_eq!(
            inbox.next::<Up>(),
            Err(FrameError::TooLong(u32::MAX as usize))
        );
        let mut inbox = Inbox::default();
        inbox.put(&[1, 0, 0, 0, 0xff]);
        assert_eq!(inbox.next::<Up>(), Err(FrameError::Garbled(1)));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut inbox = Inbox::default();
            inbox.put(&bytes);
            let _ = inbox.greeting();
            while let Ok(Some(_)) = inbox.next::<Up>() {}
            let mut inbox = Inbox::default();
            inbox.put(&bytes);
            while let Ok(Some(_)) = inbox.next::<Down>() {}
        }

        #[test]
        fn arbitrary_frames_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut inbox = Inbox::default();
            inbox.put(&(bytes.len() as u32).to_le_bytes());
            inbox.put(&bytes);
            let _ = inbox.next::<Up>();
        }
    }
}
