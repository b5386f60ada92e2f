//! What a rank gets back, in the protocol it speaks.
//!
//! PMI-1 and PMI-2 differ in the answer's name, in the word for a reason, in how they say that a
//! key is not there, and in PMI-2's mark of the asking thread, which comes back with the answer.

use crate::message::Message;
use crate::{wire1, wire2};

/// The longest name of a job, its closing zero counted.
pub(super) const WORD_BYTES_MAX: usize = 256;

/// How a rank's messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// PMI-1, and the first line of PMI-2.
    Lines,
    /// PMI-2.
    Frames,
}

/// Where an answer goes: kept while a question waits.
#[derive(Debug)]
pub(super) struct Asked {
    dialect: Dialect,
    answer: String,
    thread: Option<String>,
}

impl Asked {
    pub(super) fn new(
        dialect: Dialect,
        answer: impl Into<String>,
        thread: Option<String>,
    ) -> Asked {
        Asked {
            dialect,
            answer: answer.into(),
            thread,
        }
    }

    /// It is done, or these are the values asked for.
    pub(super) fn yes<const N: usize>(&self, fields: [(&str, String); N]) -> Vec<u8> {
        let message = self.begin(0);
        self.write(
            fields
                .into_iter()
                .fold(message, |message, (name, value)| message.with(name, value)),
        )
    }

    /// It is not done.
    pub(super) fn no(&self, why: &str) -> Vec<u8> {
        let message = self.begin(-1);
        self.write(match self.dialect {
            // A reason is one word, because clients before MPICH 4.1 know no escapes.
            Dialect::Lines => message.with("msg", why.replace(' ', "_")),
            Dialect::Frames => message.with("errmsg", why),
        })
    }

    /// The value of a key, or that there is none.
    pub(super) fn value(&self, key: &str, value: Option<String>) -> Vec<u8> {
        match (self.dialect, value) {
            (Dialect::Lines, Some(value)) => self.yes([("value", value)]),
            (Dialect::Lines, None) => self.no(&format!("there is nothing under {key}")),
            (Dialect::Frames, Some(value)) => {
                self.yes([("found", "TRUE".to_owned()), ("value", value)])
            }
            (Dialect::Frames, None) => self.yes([("found", "FALSE".to_owned())]),
        }
    }

    fn begin(&self, code: i32) -> Message {
        let message = Message::new(&self.answer);
        match &self.thread {
            Some(thread) => message.with("thrid", thread),
            None => message,
        }
        .with("rc", code)
    }

    fn write(&self, message: Message) -> Vec<u8> {
        match self.dialect {
            Dialect::Lines => wire1::emit(&message),
            Dialect::Frames => wire2::emit(&message),
        }
    }
}

/// A name as one word that both protocols carry.
pub(super) fn word(name: &str) -> String {
    let word: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.:@".contains(c) {
                c
            } else {
                '_'
            }
        })
        .take(WORD_BYTES_MAX - 1)
        .collect();
    if word.is_empty() {
        "job".to_owned()
    } else {
        word
    }
}
