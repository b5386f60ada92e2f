//! Ranks of other libraries under our launcher.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| oxmpi_pmi::properties::server(input));
