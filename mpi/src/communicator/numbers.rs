//! The numbers of communicators: one process, the leader of the new group, chooses, and tells the others.
//!
//! A number holds the leader's process and a counter of its own, so no two leaders can choose the same, and nobody has to
//! agree on anything. A leader counts round and round and passes over numbers that it still uses, so a number comes
//! back only after some ten thousand others: messages of its former communicator are long gone.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Bits of the counter; 16 bits above it hold the process, and 2 bits below the number tell a communicator's contexts apart.
const COUNTER_BITS: u32 = 14;

/// Most processes whose numbers fit; the last one's would contain [`UNKNOWN`].
pub(crate) const PROCESSES_MAX: u32 = (1 << (30 - COUNTER_BITS)) - 1;

/// Most communicators that one process can lead at once, world and self included.
pub const COMMUNICATORS_MAX: u32 = 1 << COUNTER_BITS;

/// Number of the communicator of all ranks.
pub(crate) const WORLD: u32 = 0;
/// Number of the communicator of the process alone.
pub(crate) const THIS: u32 = 1;
/// Stands for a number that is not known yet. Its process is one that cannot be.
pub(super) const UNKNOWN: u32 = (1 << 30) - 1;

/// The numbers that this process gives out.
pub(crate) struct Numbers {
    process: u32,
    state: Mutex<State>,
}

struct State {
    next: u32,
    used: HashSet<u32>,
}

impl Numbers {
    pub(crate) fn new(process: u32) -> Self {
        assert!(process < PROCESSES_MAX, "process {process} has no numbers");
        let used = HashSet::from([WORLD, THIS]);
        Numbers {
            process,
            state: Mutex::new(State { next: 2, used }),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no communicator of the job has; none if this process leads too many.
    pub(crate) fn take(&self) -> Option<u32> {
        let mut state = self.state();
        for _ in 0..COMMUNICATORS_MAX {
            let counter = state.next;
            state.next = (counter + 1) % COMMUNICATORS_MAX;
            if state.used.insert(counter) {
                return Some(self.process << COUNTER_BITS | counter);
            }
        }
        None
    }

    /// A communicator is gone here. Only its leader keeps book.
    pub(crate) fn give_back(&self, number: u32) {
        if number >> COUNTER_BITS == self.process && number > THIS {
            self.state().used.remove(&(number % COMMUNICATORS_MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_never_choose_the_same() {
        let (a, b) = (Numbers::new(0), Numbers::new(7));
        let all: HashSet<_> = (0..100).flat_map(|_| [a.take(), b.take()]).collect();
        assert_eq!(all.len(), 200);
        assert!(!all.contains(&Some(WORLD)) && !all.contains(&Some(THIS)));
    }

    #[test]
    fn the_limit_is_named() {
        let error = crate::ErrorKind::Communicators {
            max: COMMUNICATORS_MAX,
        };
        assert_eq!(
            error.to_string(),
            "no communicator can be added: the process that numbers it (rank 0 of its group) has numbered 16384 that \
             exist, the most there can be with MPI_COMM_WORLD and MPI_COMM_SELF; free those that are no longer needed \
             (MPI_Comm_free)"
        );
    }

    #[test]
    fn running_out_is_noticed_and_what_comes_back_is_used() {
        let numbers = Numbers::new(3);
        let taken: Vec<u32> = std::iter::from_fn(|| numbers.take()).collect();
        assert_eq!(taken.len() as u32, COMMUNICATORS_MAX - 2);
        assert_eq!(numbers.take(), None);
        numbers.give_back(taken[5]);
        // The number of another leader changes nothing.
        numbers.give_back(taken[6] + (1 << COUNTER_BITS));
        assert_eq!((numbers.take(), numbers.take()), (Some(taken[5]), None));
    }
}
