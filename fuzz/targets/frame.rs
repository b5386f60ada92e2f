//! A frame of the PM protocol.
#![no_main]

#[path = "../../wire/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::frame(input));
