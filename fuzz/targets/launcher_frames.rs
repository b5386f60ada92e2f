//! What the head and its agents say to each other.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| oxmpi_launch::properties::frames(input));
