//! The conformance suite: what MPI promises, run as real processes.
//!
//! Each test runs itself again as several ranks under the launcher (`oxmpi_harness`). Nothing in
//! here knows which transport carries the messages, so the suite is the same for every one to come.

mod collectives;
mod communicators;
mod faults;
mod flood;
mod forms;
mod futures;
mod groups;
mod matching;
mod messages;
mod port_buffers;
mod prepared;
mod requests;
mod threads;
mod topologies;
mod views;
mod window_places;
mod windows;

/// A pattern that differs between senders, places and lengths.
fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut data = Vec::with_capacity(length + 8);
    while data.len() < length {
        data.extend_from_slice(&next().to_le_bytes());
    }
    data.truncate(length);
    data
}
