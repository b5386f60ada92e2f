//! The written form of PMI-1: one line, `cmd=put kvsname=kvs_0 key=a value=b`.
//!
//! Words are parted by spaces; a backslash takes the next character as it is, so that a value may
//! hold a space. Values stay as they were written, backslashes included: what one rank puts goes
//! back to another rank's parser, and undoing the escape in between would change it. [`unescape`]
//! is for values that are shown to people.
//!
//! Longer commands (spawn) are several lines from `mcmd=` to `endcmd`; nobody here needs what is in
//! them.

use crate::message::{FormatError, Message, excerpt};

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole message.
    Message(Message),
    /// The first line of a command that goes on to a line `endcmd`; its name.
    Opens(String),
}

/// The last line of a command of several lines.
pub(crate) const CLOSING: &[u8] = b"endcmd";

pub(crate) fn parse(line: &[u8]) -> Result<Line, FormatError> {
    let text = std::str::from_utf8(line).map_err(|_| FormatError::NotText(excerpt(line)))?;
    if let Some(command) = text.strip_prefix("mcmd=") {
        return Ok(Line::Opens(command.trim().to_owned()));
    }
    let mut words = Words(text).map(|word| word.split_once('=').unwrap_or((word, "")));
    let message = match words.next() {
        Some(("cmd", command)) => Message::new(command),
        _ => return Err(FormatError::NoCommand(excerpt(line))),
    };
    Ok(Line::Message(
        words.fold(message, |message, (name, value)| message.with(name, value)),
    ))
}

pub(crate) fn emit(message: &Message) -> Vec<u8> {
    let mut line = format!("cmd={}", message.command);
    for (name, value) in message.fields() {
        line.push(' ');
        line.push_str(name);
        line.push('=');
        line.push_str(value);
    }
    line.push('\n');
    line.into_bytes()
}

/// A text as one word: what would end the word, or the line, is escaped or replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' ' | '\\' => word.extend(['\\', character]),
            '\n' | '\0' => word.push_str("\\ "),
            _ => word.push(character),
        }
    }
    word
}

/// The text that was made a word.
pub(crate) fn unescape(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    let mut characters = word.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => characters.next().unwrap_or('\\'),
            _ => character,
        });
    }
    text
}

/// The words of a line.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start_matches(' ');
        let mut escaped = false;
        let end = text
            .find(|character| {
                let ends = character == ' ' && !escaped;
                escaped = character == '\\' && !escaped;
                ends
            })
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(line: &[u8]) -> Message {
        match parse(line).unwrap() {
            Line::Message(message) => message,
            Line::Opens(command) => panic!("{command} opens"),
        }
    }

    #[test]
    fn golden_lines() {
        let line = b"cmd=put kvsname=kvs_0 key=P0-businesscard value=fabric$a=b#";
        let put = message(line);
        assert_eq!(put.command, "put");
        assert_eq!(put.get("value"), Some("fabric$a=b#"));
        assert_eq!(emit(&put), [line, &b"\n"[..]].concat());
        assert_eq!(message(b"cmd=barrier_in").fields(), []);
        assert_eq!(
            message(b"cmd=init  pmi_version=1 pmi_subversion=1 ").number("pmi_version"),
            Some(1)
        );
        assert_eq!(
            parse(b"mcmd=spawn").unwrap(),
            Line::Opens("spawn".to_owned())
        );
    }

    #[test]
    fn not_messages() {
        for line in [&b""[..], b" ", b"put cmd=put", b"command=put"] {
            assert!(
                matches!(parse(line), Err(FormatError::NoCommand(_))),
                "{line:?}"
            );
        }
        assert!(matches!(
            parse(b"cmd=put key=\xff"),
            Err(FormatError::NotText(_))
        ));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_text_comes_back(text in "[ -~]{1,60}") {
            let line = emit(&Message::new("abort").with("message", escape(&text)));
            let message = message(line.strip_suffix(b"\n").unwrap());
            prop_assert_eq!(unescape(message.get("message").unwrap()), text);
        }
    }
}
