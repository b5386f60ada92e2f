//! A file of hosts.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| oxmpi_launch::properties::hostfile(input));
