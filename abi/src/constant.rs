//! Every constant of the table under its C name, and the names of handles and error classes for
//! texts. Generated.

use std::fmt;

use crate::caller::is_fortran;
use crate::handle::Handle;

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// The name of an error class, as programs write it.
pub fn class_name(class: i32) -> &'static str {
    let named = CLASS_NAMES.iter().find(|(value, _)| *value == class);
    named.map_or("a class of the program", |(_, name)| name)
}

/// The constant's name if it has one, else the number; in decimal for Fortran, whose handles are
/// integers.
impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match HANDLE_NAMES.iter().find(|(value, _)| *value == self.0) {
            Some((_, name)) => f.write_str(name),
            None if is_fortran() => write!(f, "{}", self.to_int()),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
