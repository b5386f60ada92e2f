//! A message of PMI-1 or PMI-2, and the bytes of a stream cut into messages.
//!
//! Both protocols say the same thing in two ways: a command and named values. [`Message`] is what
//! they say, `wire1` and `wire2` are the ways. [`Inbox`] holds what has arrived of a message that
//! is not complete; it never holds more than [`MESSAGE_BYTES_MAX`] of one message, so a peer that
//! does not stop talking costs a bounded amount of memory.

/// The longest message that is accepted. A value has at most 1024 bytes and a key 64, which makes
/// ordinary messages shorter than 2 KiB; the room is for host maps of irregular jobs and for the
/// arguments of a refused spawn.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// Digits before a PMI-2 message: its length in bytes.
pub(crate) const LENGTH_DIGITS: usize = 6;

/// A command and its named values, in the order they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) command: String,
    fields: Vec<(String, String)>,
}

impl Message {
    pub(crate) fn new(command: impl Into<String>) -> Message {
        Message {
            command: command.into(),
            fields: Vec::new(),
        }
    }

    /// The message with one more value.
    pub(crate) fn with(mut self, name: impl Into<String>, value: impl ToString) -> Message {
        self.fields.push((name.into(), value.to_string()));
        self
    }

    /// The first value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of this name, if it is a number.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.trim().parse().ok()
    }

    /// All values, in the order they were written.
    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }
}

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormatError {
    /// The message does not end where it must.
    #[error("a PMI message is longer than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
    /// The digits before a PMI-2 message are none.
    #[error("a PMI-2 message begins with its length in {LENGTH_DIGITS} digits, not with {0:?}")]
    Length(String),
    /// There is no command.
    #[error("a PMI message names its command (cmd=...) first, this one says {0:?}")]
    NoCommand(String),
    /// PMI is ASCII, and what is beyond must at least be text.
    #[error("a PMI message is not text: {0:?}")]
    NotText(String),
}

/// What has arrived and is not yet taken.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    held: Vec<u8>,
    /// Where the next message begins.
    start: usize,
    /// No newline before this; keeps a line that comes byte by byte from being searched byte by
    /// byte.
    searched: usize,
}

impl Inbox {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.held.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.held.extend_from_slice(bytes);
    }

    /// The next line without its newline, if it is complete.
    pub(crate) fn next_line(&mut self) -> Result<Option<Vec<u8>>, FormatError> {
        let end = self.held[self.searched..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map(|offset| self.searched + offset);
        let Some(end) = end else {
            self.searched = self.held.len();
            return match self.held.len() - self.start > MESSAGE_BYTES_MAX {
                true => Err(FormatError::TooLong),
                false => Ok(None),
            };
        };
        if end - self.start > MESSAGE_BYTES_MAX {
            return Err(FormatError::TooLong);
        }
        let line = self.held[self.start..end].to_vec();
        self.advance(end + 1);
        Ok(Some(line))
    }

    /// The body of the next PMI-2 message, if it is complete.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Vec<u8>>, FormatError> {
        let waiting = &self.held[self.start..];
        let Some((digits, rest)) = waiting.split_at_checked(LENGTH_DIGITS) else {
            return Ok(None);
        };
        let length = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.trim().parse::<usize>().ok())
            .ok_or_else(|| FormatError::Length(excerpt(digits)))?;
        if length > MESSAGE_BYTES_MAX {
            return Err(FormatError::TooLong);
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.advance(self.start + LENGTH_DIGITS + length);
        Ok(Some(body))
    }

    fn advance(&mut self, to: usize) {
        self.start = to;
        self.searched = to;
    }
}

/// The beginning of what was received, for people.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    /// Enough to recognise a command, short enough for one line of an error.
    const EXCERPT_BYTES_MAX: usize = 80;
    String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT_BYTES_MAX)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let mut inbox = Inbox::default();
        let mut lines = Vec::new();
        for byte in b"cmd=a\n\ncmd=b\nrest" {
            inbox.push(&[*byte]);
            while let Some(line) = inbox.next_line().unwrap() {
                lines.push(String::from_utf8(line).unwrap());
            }
        }
        assert_eq!(lines, ["cmd=a", "", "cmd=b"]);
    }

    #[test]
    fn a_line_then_frames() {
        let mut inbox = Inbox::default();
        inbox.push(b"cmd=init\n    14cmd=finalize;\n     5cmd");
        assert_eq!(inbox.next_line().unwrap().unwrap(), b"cmd=init");
        assert_eq!(inbox.next_frame().unwrap().unwrap(), b"cmd=finalize;\n");
        assert_eq!(inbox.next_frame(), Ok(None));
        inbox.push(b"=a");
        assert_eq!(inbox.next_frame().unwrap().unwrap(), b"cmd=a");
    }

    #[test]
    fn endless_messages_are_refused_by_name() {
        let mut inbox = Inbox::default();
        inbox.push(&vec![b'x'; MESSAGE_BYTES_MAX]);
        assert_eq!(inbox.next_line(), Ok(None));
        inbox.push(b"x");
        let error = inbox.next_line().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a PMI message is longer than 65536 bytes"
        );
        let mut inbox = Inbox::default();
        inbox.push(b"999999");
        assert_eq!(inbox.next_frame(), Err(FormatError::TooLong));
        let mut inbox = Inbox::default();
        inbox.push(b"cmd=init");
        assert_eq!(
            inbox.next_frame(),
            Err(FormatError::Length("cmd=in".into()))
        );
    }
}
