//! The decisions of oxk.ko.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bits;

pub use bits::{BitsQueues, FULL, Full, MASKS_MAX, PostedId, Seed, UnexpectedId};
