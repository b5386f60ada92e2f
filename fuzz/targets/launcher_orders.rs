//! The frame that starts ranks.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| oxmpi_launch::properties::job_spec(input));
