//! What a window carries besides memory: name, hints, attributes. Error handlers belong to the
//! layer above, which runs them.

use super::Window;
use crate::attribute::{AttributeError, Attributes};
use crate::communicator::MEMORY_KINDS;
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
        self.label.name()
    }

    /// Names it. Longer names are cut (MPI 5.0 §7.8).
    pub fn set_name(&self, name: &[u8]) {
        self.label.set_name(name);
    }

    /// The hints in use, in a new object: every known one with its value.
    pub fn info(&self) -> Info {
        let all = self.label.info(&HINTS);
        all.set("mpi_memory_alloc_kinds", MEMORY_KINDS.join(","))
            .expect("a legal key and value");
        all
    }

    /// Changes the hints that `info` has and this library knows; the others stay as they are.
    pub fn set_info(&self, info: &Info) {
        self.label.set_info(&HINTS, info, is_legal);
    }

    /// The attributes of the program.
    pub fn attributes(&self) -> &Attributes {
        &self.label.attributes
    }

    /// Deletes all attributes, as happens before it is freed; if a callback of the program refuses,
    /// it is not to be freed.
    pub fn delete_attributes(&self) -> Result<(), AttributeError> {
        self.label.attributes.delete_all(self.handle())
    }
}
