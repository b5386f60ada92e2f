//! The constants of the C library, from the table.

#![allow(missing_docs, non_snake_case)]

use crate::c::Handle;

/// The table writes handles as calls of this.
const fn Handle(value: usize) -> Handle {
    value
}

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
