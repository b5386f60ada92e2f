//! Every constant of the table under its C name, and the names of handles and error classes for texts. Generated.

use crate::handle::Handle;

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// The name of an error class, as programs write it.
pub fn class_name(class: i32) -> &'static str {
    let named = CLASS_NAMES.iter().find(|(value, _)| *value == class);
    named.map_or("a class of the program", |(_, name)| name)
}
