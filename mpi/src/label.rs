//! What communicators and windows have in common beside their purpose: a name, hints, attributes.
//!
//! Which hints there are, and which values each can have, its owner says.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::attribute::Attributes;
use crate::info::Info;

/// MPI_MAX_OBJECT_NAME of the standard ABI: room for a name and the NUL that ends it in C.
pub const NAME_MAX: usize = 128;

/// The hints that an object knows, each with the value it has when nobody has said anything.
pub(crate) type Hints = [(&'static str, &'static str)];

/// See the top of this file.
#[derive(Default)]
pub(crate) struct Label {
    name: Mutex<Box<[u8]>>,
    /// Hints that were given and are known.
    hints: Mutex<Option<Info>>,
    pub(crate) attributes: Attributes,
}

impl Label {
    pub(crate) fn named(name: &str) -> Label {
        Label {
            name: Mutex::new(name.as_bytes().into()),
            ..Label::default()
        }
    }

    /// The name, empty if it was never given one.
    pub(crate) fn name(&self) -> Vec<u8> {
        lock(&self.name).to_vec()
    }

    /// Names it. Longer names are cut (MPI 5.0 §7.8).
    pub(crate) fn set_name(&self, name: &[u8]) {
        let length = name.len().min(NAME_MAX - 1);
        *lock(&self.name) = name[..length].into();
    }

    /// The hints in use, in a new object: every known one with its value.
    pub(crate) fn info(&self, known: &Hints) -> Info {
        let given = lock(&self.hints).clone();
        let given = |key: &str| given.as_ref().and_then(|hints| hints.get_text(key));
        let all = Info::new();
        for (key, default) in known {
            let value = given(key).unwrap_or_else(|| (*default).to_owned());
            all.set(key, value)
                .expect("hints have legal keys and values");
        }
        all
    }

    /// Changes the hints that `info` has with a legal value; the others stay as they are.
    pub(crate) fn set_info(
        &self,
        known: &Hints,
        info: &Info,
        is_legal: impl Fn(&str, &str) -> bool,
    ) {
        let mut hints = lock(&self.hints);
        for (key, _) in known {
            let value = info.get_text(key).filter(|value| is_legal(key, value));
            if let Some(value) = value {
                let hints = hints.get_or_insert_default();
                hints.set(key, value).expect("a legal key and value");
            }
        }
    }
}

/// Nothing panics under these locks, and what they hold is whole at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
