//! How a case says what it found, and what it expected.

use std::io;

/// How a case ends: or why it did not pass.
pub type Outcome<T = ()> = Result<T, String>;

/// What the reason begins with if there was nothing to try.
const SKIPPED: &str = "skip ";

/// This kernel has not what the case is about.
pub fn skip(why: &str) -> Outcome {
    Err(format!("{SKIPPED}{why}"))
}

/// Why a case was skipped, if that is the reason.
pub fn skipped(reason: &str) -> Option<&str> {
    reason.strip_prefix(SKIPPED)
}

/// A call that must be good.
pub fn good<T>(what: &str, result: io::Result<T>) -> Outcome<T> {
    result.map_err(|error| format!("{what}: {error}"))
}

/// A call that must fail, with this errno.
pub fn refused<T>(what: &str, result: io::Result<T>, errno: i32) -> Outcome {
    match result {
        Ok(_) => Err(format!("{what}: it was done, expected errno {errno}")),
        Err(error) if error.raw_os_error() == Some(errno) => Ok(()),
        Err(error) => Err(format!("{what}: {error}, expected errno {errno}")),
    }
}

pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: found {found:?}, expected {expected:?}")),
    }
}

/// Compares long data without printing it.
pub fn same(what: &str, found: &[u8], expected: &[u8]) -> Outcome {
    if found.len() != expected.len() {
        return Err(format!(
            "{what}: {} bytes, expected {}",
            found.len(),
            expected.len()
        ));
    }
    match (0..found.len()).find(|&at| found[at] != expected[at]) {
        None => Ok(()),
        Some(at) => Err(format!(
            "{what}: byte {at} is {}, expected {}",
            found[at], expected[at]
        )),
    }
}

/// Bytes that are the same for the same seed.
pub fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..bytes).map(|_| next()).collect()
}
