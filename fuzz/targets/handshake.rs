//! What a new connection says.
#![no_main]

#[path = "../../net/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::handshake(input));
