//! The values that ranks put, and which of them the other servers have not heard of.

use std::collections::HashMap;

use crate::pieces;

/// The longest key, its closing zero counted, as PMI-1 tells clients and PMI-2 promises them.
pub(super) const KEY_BYTES_MAX: usize = 64;

/// The longest value, its closing zero counted. Clients of MPICH have buffers of this length.
pub(super) const VALUE_BYTES_MAX: usize = 1024;

/// What all values of a job may take on a server: 4096 ranks with 16 KiB each.
pub(super) const STORE_BYTES_MAX: usize = 4096 * 16 * 1024;

/// Why a value is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PutError {
    /// The key has no or too many bytes.
    #[error("a key has 1 to {} bytes", KEY_BYTES_MAX - 1)]
    Key,
    /// The value has too many bytes.
    #[error("a value has at most {} bytes", VALUE_BYTES_MAX - 1)]
    Value,
    /// The store is full.
    #[error("the values of a job have at most {STORE_BYTES_MAX} bytes")]
    Full,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    values: HashMap<String, String>,
    bytes: usize,
    /// Put since the last fence, in order.
    new: Vec<(String, String)>,
}

impl Store {
    /// Takes a value of a local rank; a later one replaces it.
    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<(), PutError> {
        if key.is_empty() || key.len() >= KEY_BYTES_MAX {
            return Err(PutError::Key);
        }
        if value.len() >= VALUE_BYTES_MAX {
            return Err(PutError::Value);
        }
        // Counted even if it replaces another: a rank that repeats itself between two fences fills
        // the list of news.
        if self.bytes + key.len() + value.len() > STORE_BYTES_MAX {
            return Err(PutError::Full);
        }
        self.bytes += key.len() + value.len();
        self.preset(key, value);
        self.new.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Takes what the launcher says.
    pub(super) fn preset(&mut self, key: &str, value: &str) {
        self.values.insert(key.to_owned(), value.to_owned());
    }

    /// Takes what the launcher says, in pieces that fit. What is too long even for that is left
    /// out: a host map without any pattern of more than 8000 ranks, which readers then have to do
    /// without.
    pub(super) fn preset_pieces(&mut self, key: &str, value: &str) {
        let pieces = pieces::cut(value, VALUE_BYTES_MAX - 1).unwrap_or_default();
        for (index, piece) in pieces.iter().enumerate() {
            self.preset(&pieces::key(key, index), piece);
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.values.get(key).cloned()
    }

    /// What was put since the last call.
    pub(super) fn take_new(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_said() {
        let mut store = Store::default();
        let text = |result: Result<(), PutError>| result.unwrap_err().to_string();
        assert_eq!(text(store.put("", "a")), "a key has 1 to 63 bytes");
        assert_eq!(
            text(store.put(&"k".repeat(64), "a")),
            "a key has 1 to 63 bytes"
        );
        assert_eq!(
            text(store.put("k", &"a".repeat(1024))),
            "a value has at most 1023 bytes"
        );
        let value = "a".repeat(1023);
        let full = (0..).map_while(|_| store.put("k", &value).err()).next();
        assert_eq!(full, None, "the first put is taken");
        let error = (0..100_000)
            .find_map(|_| store.put("k", &value).err())
            .unwrap();
        assert_eq!(
            error.to_string(),
            "the values of a job have at most 67108864 bytes"
        );
    }

    #[test]
    fn news_are_told_once() {
        let mut store = Store::default();
        store.preset("map", "m");
        store.put("a", "1").unwrap();
        store.put("a", "2").unwrap();
        let pair = |value: &str| ("a".to_owned(), value.to_owned());
        assert_eq!(store.take_new(), [pair("1"), pair("2")]);
        assert_eq!(store.take_new(), []);
        assert_eq!(store.get("a").as_deref(), Some("2"));
    }
}
