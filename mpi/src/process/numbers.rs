//! The numbers of communicators: one process, the leader of the new group, chooses, and tells the
//! others.
//!
//! | bits of a context | meaning                                                               |
//! |------------------:|-----------------------------------------------------------------------|
//! |             32-63 | the leader: the job's nonce plus the leader's process number, modulo 2^32 |
//! |              2-31 | the leader's own count                                                |
//! |               0-1 | what the context is for (`communicator::Context`)                      |
//!
//! A number is a context without its lowest two bits. No two leaders of a job can choose the same
//! number, so nobody has to agree on anything. Jobs that meet have nonces that were drawn at
//! random: leaders of two jobs of a thousand processes coincide once in two million meetings. A
//! leader counts round and round and passes over numbers that it still uses, so a number comes back
//! only after a billion others: messages of its former communicator are long gone.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Bits of a leader's count.
const COUNTER_BITS: u32 = 30;

/// Most communicators that one process can lead at once, world and self included. Memory ends
/// sooner.
pub const COMMUNICATORS_MAX: u32 = (1 << COUNTER_BITS) - 1;

/// The count of the communicator of all ranks, whose leader is process 0.
const WORLD: u32 = 0;
/// The count of the communicator of a process alone. It needs no other process, so all have the
/// same number for it, under which processes that have no communicator in common can meet.
const THIS: u32 = 1;
/// Stands for a number that is not known yet: its count is one that nobody gives out.
pub(crate) const UNKNOWN: u64 = u64::MAX >> 2;

/// The numbers that this process gives out, and those that need not be given out.
pub(crate) struct Numbers {
    /// The job's nonce.
    job: u32,
    /// This process as a leader.
    leader: u32,
    counters: u32,
    state: Mutex<State>,
}

struct State {
    next: u32,
    used: HashSet<u32>,
}

impl Numbers {
    /// The numbers of process `process` of the job with this nonce.
    pub(crate) fn new(job: u32, process: u32) -> Self {
        Numbers::with_counters(job, process, COMMUNICATORS_MAX)
    }

    fn with_counters(job: u32, process: u32, counters: u32) -> Self {
        let used = HashSet::from([WORLD, THIS]);
        Numbers {
            job,
            leader: job.wrapping_add(process),
            counters,
            state: Mutex::new(State { next: 2, used }),
        }
    }

    /// Number of the communicator of all ranks.
    pub(crate) fn world(&self) -> u64 {
        number(self.job, WORLD)
    }

    /// Number of the communicator of this process alone.
    pub(crate) fn this(&self) -> u64 {
        number(self.job, THIS)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no communicator of the job has; none if this process leads too many.
    pub(crate) fn take(&self) -> Option<u64> {
        let mut state = self.state();
        for _ in 0..self.counters {
            let counter = state.next;
            state.next = (counter + 1) % self.counters;
            if state.used.insert(counter) {
                return Some(number(self.leader, counter));
            }
        }
        None
    }

    /// A communicator is gone here. Only its leader keeps book.
    pub(crate) fn give_back(&self, number: u64) {
        let counter = number as u32 & COMMUNICATORS_MAX;
        if number >> COUNTER_BITS == u64::from(self.leader) && counter > THIS {
            self.state().used.remove(&counter);
        }
    }
}

fn number(leader: u32, counter: u32) -> u64 {
    u64::from(leader) << COUNTER_BITS | u64::from(counter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_never_choose_the_same() {
        for job in [0, 77, u32::MAX - 3] {
            let (a, b) = (Numbers::new(job, 0), Numbers::new(job, 7));
            let all: HashSet<_> = (0..100).flat_map(|_| [a.take(), b.take()]).collect();
            assert_eq!(all.len(), 200);
            assert!(!all.contains(&Some(a.world())) && !all.contains(&Some(b.this())));
            assert_eq!((a.world(), a.this()), (b.world(), b.this()));
            let most = all.iter().max().expect("there are some");
            assert!(most.expect("nobody ran out") < UNKNOWN);
        }
    }

    #[test]
    fn jobs_that_meet_have_nothing_in_common() {
        let (one, other) = (Numbers::new(1000, 3), Numbers::new(5000, 3));
        let all: HashSet<_> = (0..100).flat_map(|_| [one.take(), other.take()]).collect();
        assert_eq!(all.len(), 200);
        assert_ne!(one.world(), other.world());
        // What another job's process of the same number gave out is none of ours.
        let first = other.take().expect("there are many");
        one.give_back(first);
        assert_ne!(other.take(), Some(first));
    }

    #[test]
    fn running_out_is_noticed_and_what_comes_back_is_used() {
        let numbers = Numbers::with_counters(9, 3, 1000);
        let taken: Vec<u64> = std::iter::from_fn(|| numbers.take()).collect();
        assert_eq!(taken.len(), 998);
        assert_eq!(numbers.take(), None);
        numbers.give_back(taken[5]);
        // The number of another leader changes nothing.
        numbers.give_back(taken[6] + (1 << COUNTER_BITS));
        assert_eq!((numbers.take(), numbers.take()), (Some(taken[5]), None));
    }
}
