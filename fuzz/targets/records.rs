//! The memory that the driver /dev/o2g maps.
#![no_main]

#[path = "../../o2g/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::records(input));
