//! A socket's bytes and a process's requests, as the driver's core has them.
#![no_main]

#[path = "../../kernel/core/tests/double/mod.rs"]
mod double;
#[path = "../../kernel/core/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::core(input));
