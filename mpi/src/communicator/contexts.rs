//! The communicator numbers of this process: which are free, and who is choosing.
//!
//! A new communicator needs a number that is free on all its members. Each member offers the set of
//! its free numbers, the sets are intersected, and everybody takes the lowest common one (MPICH's
//! scheme). With several threads two agreements may run at once in one process; then only one may
//! offer the real set and the other offers nothing and tries again. Priority goes to the parent with the lowest
//! number, which is the same on all processes, so one of the agreements always succeeds.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most communicators a process can have at once, world and self included.
pub const COMMUNICATORS_MAX: u32 = 2048;

const WORDS: usize = COMMUNICATORS_MAX as usize / 64;

/// A set of numbers, a bit each; the last word tells whether it is a real offer.
pub(crate) type Offer = [u64; WORDS + 1];

/// The numbers of this process.
pub(crate) struct Contexts {
    state: Mutex<State>,
}

struct State {
    free: [u64; WORDS],
    /// The parent whose agreement has offered the real set and is under way.
    choosing: Option<u32>,
    /// Parents with an agreement under way, `choosing` among them.
    waiting: Vec<u32>,
}

/// What the intersection of all offers says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// Everybody takes this number.
    Take(u32),
    /// Some member was busy with another agreement: try again.
    Again,
    /// All offers were real and have nothing in common.
    Exhausted,
}

impl Contexts {
    pub(crate) fn new() -> Self {
        let mut free = [u64::MAX; WORDS];
        // World and self.
        free[0] = !0b11;
        Contexts {
            state: Mutex::new(State {
                free,
                choosing: None,
                waiting: Vec::new(),
            }),
        }
    }

    /// A panic elsewhere leaves the table whole: every change is a single assignment.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces an agreement among the members of `parent`.
    pub(crate) fn enter(&self, parent: u32) {
        self.state().waiting.push(parent);
    }

    /// What this process offers in the next round of the agreement of `parent`.
    pub(crate) fn offer(&self, parent: u32) -> Offer {
        let mut state = self.state();
        let first = state.waiting.iter().all(|&other| parent <= other);
        let mut offer = [0; WORDS + 1];
        if first && state.choosing.is_none() {
            state.choosing = Some(parent);
            offer[..WORDS].copy_from_slice(&state.free);
            offer[WORDS] = u64::MAX;
        }
        offer
    }

    /// Ends a round with the intersection of all offers. `member` tells whether this process will
    /// be in the new communicator and so uses the number up.
    pub(crate) fn settle(&self, parent: u32, common: &Offer, member: bool) -> Agreement {
        let mut state = self.state();
        if state.choosing == Some(parent) {
            state.choosing = None;
        }
        let lowest = common[..WORDS].iter().position(|&word| word != 0);
        let agreement = match lowest {
            _ if common[WORDS] == 0 => Agreement::Again,
            None => Agreement::Exhausted,
            Some(word) => Agreement::Take(word as u32 * 64 + common[word].trailing_zeros()),
        };
        if let (Agreement::Take(id), true) = (&agreement, member) {
            state.free[*id as usize / 64] &= !(1 << (id % 64));
        }
        agreement
    }

    /// The agreement of `parent` is over, well or not.
    pub(crate) fn leave(&self, parent: u32) {
        let mut state = self.state();
        if state.choosing == Some(parent) {
            state.choosing = None;
        }
        if let Some(at) = state.waiting.iter().position(|&other| other == parent) {
            state.waiting.swap_remove(at);
        }
    }

    /// A communicator's last handle was dropped.
    pub(crate) fn give_back(&self, id: u32) {
        let mut state = self.state();
        let (word, bit) = (id as usize / 64, 1 << (id % 64));
        assert_eq!(
            state.free[word] & bit,
            0,
            "communicator {id} was given back twice"
        );
        state.free[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(offers: &[Offer]) -> Offer {
        let and = |a: Offer, b: &Offer| std::array::from_fn(|i| a[i] & b[i]);
        offers.iter().fold([u64::MAX; WORDS + 1], and)
    }

    #[test]
    fn lowest_number_free_everywhere() {
        let (a, b) = (Contexts::new(), Contexts::new());
        a.enter(0);
        b.enter(0);
        let both = common(&[a.offer(0), b.offer(0)]);
        assert_eq!(a.settle(0, &both, true), Agreement::Take(2));
        assert_eq!(b.settle(0, &both, false), Agreement::Take(2));
        // Only `a` used 2 up, so the next one that suits both is 3; then 2 comes back.
        let both = common(&[a.offer(0), b.offer(0)]);
        assert_eq!(a.settle(0, &both, true), Agreement::Take(3));
        assert_eq!(b.settle(0, &both, true), Agreement::Take(3));
        a.give_back(2);
        let both = common(&[a.offer(0), b.offer(0)]);
        assert_eq!(a.settle(0, &both, true), Agreement::Take(2));
    }

    #[test]
    fn two_agreements_at_once_do_not_take_the_same() {
        let (a, b) = (Contexts::new(), Contexts::new());
        // Process a begins with parent 5, process b with parent 4: neither can succeed at first.
        a.enter(5);
        b.enter(4);
        let (a5, b4) = (a.offer(5), b.offer(4));
        a.enter(4);
        b.enter(5);
        let (a4, b5) = (a.offer(4), b.offer(5));
        let (four, five) = (common(&[a4, b4]), common(&[a5, b5]));
        for process in [&a, &b] {
            assert_eq!(process.settle(4, &four, true), Agreement::Again);
            assert_eq!(process.settle(5, &five, true), Agreement::Again);
        }
        // Now the lower parent goes first on both, and the other after it has left.
        assert_eq!(common(&[a.offer(5), b.offer(5)])[WORDS], 0);
        let four = common(&[a.offer(4), b.offer(4)]);
        for process in [&a, &b] {
            assert_eq!(process.settle(4, &four, true), Agreement::Take(2));
            process.leave(4);
        }
        let five = common(&[a.offer(5), b.offer(5)]);
        for process in [&a, &b] {
            assert_eq!(process.settle(5, &five, true), Agreement::Take(3));
            process.leave(5);
        }
    }

    #[test]
    fn running_out_is_noticed() {
        let contexts = Contexts::new();
        for id in 2..COMMUNICATORS_MAX {
            let offer = contexts.offer(0);
            assert_eq!(contexts.settle(0, &offer, true), Agreement::Take(id));
        }
        let offer = contexts.offer(0);
        assert_eq!(contexts.settle(0, &offer, true), Agreement::Exhausted);
    }
}
