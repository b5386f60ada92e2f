//! What a communicator carries besides its members and contexts: name, hints, attributes, topology.
//!
//! None of it is touched when messages move. What a duplicate takes over is decided here: the
//! topology and what Rust programs keep under keys for that, not the hints (MPI 5.0 §7.4.4). C
//! programs' attributes are copied by callbacks of the program,
//! which are called with handles, so whoever gives out handles asks for that. Error handlers belong
//! to the layer above, which runs them.

use super::Comm;
use crate::attribute::{AttributeError, Attributes, Cached};
use crate::info::Info;
use crate::label::Label;
use crate::topology::Topology;

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
    label: Label,
    pub(crate) topology: Option<Topology>,
    /// The attributes of Rust programs.
    cached: Cached,
}

impl Details {
    pub(super) fn named(name: &str) -> Details {
        Details {
            label: Label::named(name),
            ..Details::default()
        }
    }
}

impl Comm {
    /// The name, empty if it was never given one.
    pub fn name(&self) -> Vec<u8> {
        self.details.label.name()
    }

    /// Names it. Longer names are cut (MPI 5.0 §7.8).
    pub fn set_name(&self, name: &[u8]) {
        self.details.label.set_name(name);
    }

    /// The hints in use, in a new object: every known one with its value.
    pub fn info(&self) -> Info {
        let all = self.details.label.info(&HINTS);
        all.set("mpi_memory_alloc_kinds", MEMORY_KINDS.join(","))
            .expect("a legal key and value");
        all
    }

    /// Changes the hints that `info` has and this library knows; the others stay as they are.
    pub fn set_info(&self, info: &Info) {
        let is_legal = |_: &str, value: &str| value == "true" || value == "false";
        self.details.label.set_info(&HINTS, info, is_legal);
    }

    /// The attributes of the program.
    pub fn attributes(&self) -> &Attributes {
        &self.details.label.attributes
    }

    /// What Rust programs keep with it.
    pub(super) fn cached(&self) -> &Cached {
        &self.details.cached
    }

    /// Copies the attributes onto a duplicate, as the callbacks of the program say. If one of these
    /// fails, the duplicate is to be given up. Both must have their handles, with which callbacks
    /// are called.
    pub fn copy_attributes(&self, duplicate: &Comm) -> Result<(), AttributeError> {
        let (old, new) = (
            &self.details.label.attributes,
            &duplicate.details.label.attributes,
        );
        old.copy_to(self.handle(), new, duplicate.handle())
    }

    /// Deletes all attributes, as happens before it is freed; if a callback of the program refuses,
    /// it is not to be freed.
    pub fn delete_attributes(&self) -> Result<(), AttributeError> {
        self.details.label.attributes.delete_all(self.handle())
    }

    /// The process topology, if it has one.
    pub fn topology(&self) -> Option<&Topology> {
        self.details.topology.as_ref()
    }

    /// Takes over what a duplicate has from its original.
    pub(crate) fn inherit(&mut self, original: &Comm) {
        self.details.topology = original.details.topology.clone();
        self.details.cached = original.details.cached.for_duplicate();
    }
}
