//! What a window carries besides memory: name, hints, attributes. Error handlers belong to the
//! layer above, which runs them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Window;
use crate::attribute::{AttributeError, Attributes};
use crate::communicator::NAME_MAX;
use crate::info::Info;

/// The hints that windows know (MPI 5.0 §12.2.1), each with the value it has when nobody has said
/// anything. None of them changes what is allowed: they could only make things faster.
pub const HINTS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
];

#[derive(Default)]
pub(super) struct Details {
    name: Mutex<Box<[u8]>>,
    hints: Mutex<Option<Info>>,
    attributes: Attributes,
}

/// Whether the hint's value is one that it can have.
fn is_legal(key: &str, value: &str) -> bool {
    match key {
        "accumulate_ordering" => value
            .split(',')
            .all(|part| matches!(part.trim(), "none" | "rar" | "raw" | "war" | "waw")),
        "accumulate_ops" => matches!(value, "same_op" | "same_op_no_op"),
        "mpi_accumulate_granularity" => value.parse::<u64>().is_ok(),
        _ => matches!(value, "true" | "false"),
    }
}

impl Window {
    /// The name, empty if it was never given one.
    pub fn name(&self) -> Vec<u8> {
        lock(&self.details.name).to_vec()
    }

    /// Names it. Longer names are cut (MPI 5.0 §7.8).
    pub fn set_name(&self, name: &[u8]) {
        let length = name.len().min(NAME_MAX - 1);
        *lock(&self.details.name) = name[..length].into();
    }

    /// The hints in use, in a new object: every known one with its value.
    pub fn info(&self) -> Info {
        let given = lock(&self.details.hints).clone();
        let given = |key: &str| given.as_ref().and_then(|hints| hints.get_text(key));
        let all = Info::new();
        for (key, default) in HINTS {
            let value = given(key).unwrap_or_else(|| default.to_owned());
            all.set(key, value)
                .expect("hints have legal keys and values");
        }
        all
    }

    /// Changes the hints that `info` has and this library knows; the others stay as they are.
    pub fn set_info(&self, info: &Info) {
        let mut hints = lock(&self.details.hints);
        for (key, _) in HINTS {
            let value = info.get_text(key).filter(|value| is_legal(key, value));
            if let Some(value) = value {
                let hints = hints.get_or_insert_default();
                hints.set(key, value).expect("a legal key and value");
            }
        }
    }

    /// The attributes of the program.
    pub fn attributes(&self) -> &Attributes {
        &self.details.attributes
    }

    /// Deletes all attributes, as happens before it is freed; if a callback of the program refuses,
    /// it is not to be freed.
    pub fn delete_attributes(&self) -> Result<(), AttributeError> {
        self.details.attributes.delete_all(self.handle())
    }
}

/// Nothing panics under these locks, and what they hold is whole at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
