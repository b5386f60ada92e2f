//! Frames that a link gets.
#![no_main]

#[path = "../../link/tests/pair/mod.rs"]
mod pair;
#[path = "../../link/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::link(input));
