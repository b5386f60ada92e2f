//! Other launchers, as a rank hears them.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| oxmpi_pmi::properties::client(input));
