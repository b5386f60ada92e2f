//! Requests, replies, entries and recalls of the remote file system.
#![no_main]

#[path = "../../oxfs/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::oxfs(input));
