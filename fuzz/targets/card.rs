//! What a process tells its job about itself.
#![no_main]

#[path = "../../net/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::card(input));
