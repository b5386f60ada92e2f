//! Memory for lists that are as long as the program says: the one place that asks for it.
//!
//! A length that is far too long, as an overflow in the program makes it, must not end the program
//! where memory runs out. So arrays are let in (check.rs) only if the lists that a call makes of
//! them can be had.

use crate::constant::MPI_ERR_NO_MEM;
use crate::failure::Failure;

/// What a call keeps for an entry of an array at most: an operation that was taken out of its slot,
/// and its place.
const ENTRY_BYTES: usize = 64;

/// Lists up to this length, 4 MiB, are had without asking first; nearly all arrays are shorter.
const UNASKED_MAX: usize = 1 << 16;

/// An error if there is no memory for what a call makes of an array of this length.
#[inline]
pub fn check_room(argument: &'static str, length: usize) -> Result<(), Failure> {
    match length <= UNASKED_MAX {
        true => Ok(()),
        false => list::<[u8; ENTRY_BYTES]>(argument, length).map(drop),
    }
}

/// An empty list with room for so many entries.
pub fn list<T>(argument: &'static str, length: usize) -> Result<Vec<T>, Failure> {
    let mut list = Vec::new();
    match list.try_reserve_exact(length) {
        Ok(()) => Ok(list),
        Err(_) => Err(no_room(argument, length)),
    }
}

#[cold]
fn no_room(argument: &'static str, length: usize) -> Failure {
    let text = format!(
        "{argument} has {length} entries, and this process gets no memory for a list of so many: is the length right, \
         or is the memory limited (ulimit -v, ulimit -d)?"
    );
    Failure::new(MPI_ERR_NO_MEM, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(check_room("ranks", 0).is_ok() && check_room("ranks", 100_000).is_ok());
        for length in [usize::MAX, usize::MAX / ENTRY_BYTES, 1 << 56] {
            let failure = check_room("ranks", length).unwrap_err();
            assert_eq!(failure.code(), MPI_ERR_NO_MEM);
        }
        assert_eq!(
            list::<i32>("ranks", 1 << 60).unwrap_err().text(),
            "ranks has 1152921504606846976 entries, and this process gets no memory for a list of so many: is the \
             length right, or is the memory limited (ulimit -v, ulimit -d)?"
        );
    }
}
