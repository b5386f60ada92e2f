//! Info objects: hints and facts as pairs of strings (MPI 5.0 §10).
//!
//! An [`Info`] is a shared object, as its handle in C is: clones see each other's changes, a
//! duplicate does not. Keys keep the order in which they were first set. Keys and values are bytes,
//! as C gives them, without a NUL among them; a `str` does as well. They are kept as they are: only
//! Fortran strips the blanks around them, and [`strip`] is for that. [`Environment`], in its own
//! file, is what MPI_INFO_ENV holds.
#![forbid(unsafe_code)]

mod environment;
mod pairs;
#[cfg(test)]
mod tests;

pub use environment::Environment;
use pairs::Pairs;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// MPI_MAX_INFO_KEY of the standard ABI: room for a key and the NUL that ends it in C.
pub const KEY_MAX: usize = 256;

/// MPI_MAX_INFO_VAL of the standard ABI: room for a value and the NUL that ends it in C.
pub const VALUE_MAX: usize = 1024;

/// Why an info object cannot do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InfoError {
    /// A key of no characters.
    #[error("the key is empty: an info key has 1 to {} characters", KEY_MAX - 1)]
    EmptyKey,
    /// A key longer than MPI_MAX_INFO_KEY allows.
    #[error("the key '{start}…' has {length} characters: at most {} fit", KEY_MAX - 1)]
    KeyTooLong {
        /// How the key begins.
        start: String,
        /// Its length.
        length: usize,
    },
    /// A value longer than MPI_MAX_INFO_VAL allows.
    #[error("the value of '{key}' has {length} characters: at most {} fit", VALUE_MAX - 1)]
    ValueTooLong {
        /// The key.
        key: String,
        /// The value's length.
        length: usize,
    },
    /// A string that C would cut short.
    #[error("the {what} for '{key}' has a NUL in it: C strings end there")]
    Nul {
        /// Key or value.
        what: &'static str,
        /// The key.
        key: String,
    },
    /// A key that was never set, or is gone.
    #[error(
        "the info object has no key '{key}': MPI_Info_get_nkeys and MPI_Info_get_nthkey list what it has"
    )]
    NoKey {
        /// The key.
        key: String,
    },
    /// The number of a key that does not exist.
    #[error("there is no key {index} in an info object of {count} keys: they are numbered from 0")]
    NoSuchIndex {
        /// The number asked for.
        index: i64,
        /// How many keys there are.
        count: usize,
    },
    /// An attempt to change what describes the process and not the program's wishes.
    #[error("'{key}' cannot be changed: this info object is read-only, change a duplicate of it")]
    ReadOnly {
        /// The key.
        key: String,
    },
}

/// An info object. Clones are the same object.
#[derive(Clone)]
pub struct Info {
    object: Arc<Object>,
}

struct Object {
    pairs: Mutex<Pairs>,
    read_only: bool,
}

impl Info {
    /// An object without keys.
    pub fn new() -> Info {
        Info::from_pairs(Pairs::default(), false)
    }

    fn from_pairs(pairs: Pairs, read_only: bool) -> Info {
        Info {
            object: Arc::new(Object {
                pairs: Mutex::new(pairs),
                read_only,
            }),
        }
    }

    /// A new object with the same keys and values in the same order; it can be changed.
    pub fn duplicate(&self) -> Info {
        Info::from_pairs(self.pairs().clone(), false)
    }

    /// Whether both are the same object.
    pub fn is(&self, other: &Info) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }

    /// Gives a key a value, in place of the one it had.
    pub fn set(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), InfoError> {
        let (key, value) = (check_key(key.as_ref())?, value.as_ref());
        if value.len() >= VALUE_MAX {
            return Err(InfoError::ValueTooLong {
                key: text(key),
                length: value.len(),
            });
        }
        if value.contains(&0) {
            return Err(InfoError::Nul {
                what: "value",
                key: text(key),
            });
        }
        self.check_writable(key)?;
        self.pairs().set(key, value);
        Ok(())
    }

    /// The value of a key, if the object has the key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, InfoError> {
        let key = check_key(key.as_ref())?;
        Ok(self.pairs().get(key).map(<[u8]>::to_vec))
    }

    /// The value of a key as text, for callers that know what they look for.
    pub fn get_text(&self, key: &str) -> Option<String> {
        let value = self.get(key).ok()??;
        Some(text(&value))
    }

    /// Takes a key and its value out.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<(), InfoError> {
        let key = check_key(key.as_ref())?;
        self.check_writable(key)?;
        match self.pairs().remove(key) {
            true => Ok(()),
            false => Err(InfoError::NoKey { key: text(key) }),
        }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the object has this key.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.pairs().get(key.as_ref()).is_some()
    }

    /// The key with this number. Numbers change only when keys are added or removed.
    pub fn nth_key(&self, index: i64) -> Result<Vec<u8>, InfoError> {
        let pairs = self.pairs();
        let pair = usize::try_from(index)
            .ok()
            .and_then(|index| pairs.nth(index));
        match pair {
            Some(pair) => Ok(pair.key.to_vec()),
            None => Err(InfoError::NoSuchIndex {
                index,
                count: pairs.len(),
            }),
        }
    }

    /// All keys with their values, in order.
    pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.pairs()
            .iter()
            .map(|pair| (pair.key.to_vec(), pair.value.to_vec()))
            .collect()
    }

    /// Whether the object refuses to be changed, as MPI_INFO_ENV does.
    pub fn is_read_only(&self) -> bool {
        self.object.read_only
    }

    fn check_writable(&self, key: &[u8]) -> Result<(), InfoError> {
        if self.object.read_only {
            return Err(InfoError::ReadOnly { key: text(key) });
        }
        Ok(())
    }

    fn pairs(&self) -> MutexGuard<'_, Pairs> {
        // Nothing panics while the lock is held, and a list is whole at every step anyway.
        self.object
            .pairs
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A Fortran string as a key or value: without the blanks before and after it.
pub fn strip(fortran: &[u8]) -> &[u8] {
    let mut rest = fortran;
    while let [b' ', inner @ ..] | [inner @ .., b' '] = rest {
        rest = inner;
    }
    rest
}

fn check_key(key: &[u8]) -> Result<&[u8], InfoError> {
    if key.is_empty() {
        return Err(InfoError::EmptyKey);
    }
    if key.len() >= KEY_MAX {
        // Enough of it to be found in the program, not so much that it fills the terminal.
        return Err(InfoError::KeyTooLong {
            start: text(&key[..32]),
            length: key.len(),
        });
    }
    if key.contains(&0) {
        return Err(InfoError::Nul {
            what: "key",
            key: text(key),
        });
    }
    Ok(key)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Default for Info {
    fn default() -> Info {
        Info::new()
    }
}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        f.debug_map()
            .entries(entries.iter().map(|(key, value)| (text(key), text(value))))
            .finish()
    }
}
