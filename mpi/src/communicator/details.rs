//! What a communicator carries besides its members and contexts: name, hints, attributes, topology.
//!
//! None of it is touched when messages move. What a duplicate takes over is decided here: the
//! topology, not the hints (MPI 5.0 §7.4.4). Attributes are copied by callbacks of the program,
//! which are called with handles, so whoever gives out handles asks for that. Error handlers belong
//! to the layer above, which runs them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Comm;
use crate::attribute::{AttributeError, Attributes};
use crate::info::Info;
use crate::topology::Topology;

/// MPI_MAX_OBJECT_NAME of the standard ABI: room for a name and the NUL that ends it in C.
pub const NAME_MAX: usize = 128;

/// The hints that communicators know (MPI 5.0 §7.4.4), each with the value it has when nobody has
/// said anything.
const HINTS: [(&str, &str); 5] = [
    ("mpi_assert_no_any_tag", "false"),
    ("mpi_assert_no_any_source", "false"),
    ("mpi_assert_exact_length", "false"),
    ("mpi_assert_allow_overtaking", "false"),
    ("mpi_assert_strict_persistent_collective_ordering", "false"),
];

/// The kinds of memory that messages may lie in (MPI 5.0 §12.4.3).
pub(crate) const MEMORY_KINDS: [&str; 2] = ["mpi", "system"];

/// See the top of this file.
#[derive(Default)]
pub(crate) struct Details {
    name: Mutex<Box<[u8]>>,
    /// Hints that were given and are known.
    hints: Mutex<Option<Info>>,
    attributes: Attributes,
    pub(crate) topology: Option<Topology>,
}

impl Details {
    pub(super) fn named(name: &str) -> Details {
        Details {
            name: Mutex::new(name.as_bytes().into()),
            ..Details::default()
        }
    }
}

impl Comm {
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
        all.set("mpi_memory_alloc_kinds", MEMORY_KINDS.join(","))
            .expect("a legal key and value");
        all
    }

    /// Changes the hints that `info` has and this library knows; the others stay as they are.
    pub fn set_info(&self, info: &Info) {
        let mut hints = lock(&self.details.hints);
        for (key, _) in HINTS {
            let value = info
                .get_text(key)
                .filter(|value| value == "true" || value == "false");
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

    /// Copies the attributes onto a duplicate, as the callbacks of the program say. If one of these
    /// fails, the duplicate is to be given up. Both must have their handles, with which callbacks
    /// are called.
    pub fn copy_attributes(&self, duplicate: &Comm) -> Result<(), AttributeError> {
        let (old, new) = (&self.details.attributes, &duplicate.details.attributes);
        old.copy_to(self.handle(), new, duplicate.handle())
    }

    /// Deletes all attributes, as happens before it is freed; if a callback of the program refuses,
    /// it is not to be freed.
    pub fn delete_attributes(&self) -> Result<(), AttributeError> {
        self.details.attributes.delete_all(self.handle())
    }

    /// The process topology, if it has one.
    pub fn topology(&self) -> Option<&Topology> {
        self.details.topology.as_ref()
    }

    /// Takes over what a duplicate has from its original.
    pub(crate) fn inherit(&mut self, original: &Comm) {
        self.details.topology = original.details.topology.clone();
    }
}

/// Nothing panics under these locks, and what they hold is whole at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
