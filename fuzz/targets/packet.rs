//! A packet's header and body.
#![no_main]

#[path = "../../wire/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::packet(input));
