//! How MPI_Win_lock gets the lock of a rank of this host: by its words, which this process maps.
//!
//! The rules, also those for a holder that dies, are in [`oxmpi_windows::lock`].

use std::sync::atomic::{AtomicU64, Ordering};

use oxmpi_engine::Condition;
use oxmpi_engine::turn_lock::{Entry, Ticket, Turn, TurnLock, Wish};
use oxmpi_windows::lock::{self, Held, Words};

use super::control::Control;
use super::memory::Core;

/// The locks that this process holds by their words, one place for each rank of the window. Only
/// the thread that locks a rank, or unlocks it, is at its place.
pub(super) struct HeldLocks(Box<[AtomicU64]>);

/// Nothing is held; a lock that was disrupted; bits beside the number of a ticket.
const NONE: u64 = 0;
const DISRUPTED: u64 = 1 << 32;
const BY_READ: u64 = 2 << 32;
const BY_WRITE: u64 = 3 << 32;

impl HeldLocks {
    pub(super) fn new(size: u32) -> HeldLocks {
        HeldLocks((0..size).map(|_| AtomicU64::new(NONE)).collect())
    }

    /// Notes how the lock of a rank is held.
    #[inline(always)]
    pub(super) fn put(&self, target: u32, held: Held) {
        let word = match held {
            Held::Disrupted => DISRUPTED,
            Held::Turn(ticket) => {
                let by = match ticket.wish() {
                    Wish::Read => BY_READ,
                    Wish::Write => BY_WRITE,
                };
                by | u64::from(ticket.number())
            }
        };
        self.0[target as usize].store(word, Ordering::Relaxed);
    }

    /// How the lock of a rank is held; it is forgotten here.
    #[inline(always)]
    pub(super) fn take(&self, target: u32) -> Option<Held> {
        let place = &self.0[target as usize];
        let word = place.load(Ordering::Relaxed);
        place.store(NONE, Ordering::Relaxed);
        let ticket = |wish| Some(Held::Turn(Ticket::new(word as u32, wish)));
        match word & !u64::from(u32::MAX) {
            NONE => None,
            BY_READ => ticket(Wish::Read),
            BY_WRITE => ticket(Wish::Write),
            _ => Some(Held::Disrupted),
        }
    }
}

/// The lock of a rank of this host.
pub(super) struct NearWords<'c> {
    pub core: &'c Core,
    pub index: usize,
}

impl Words for NearWords<'_> {
    fn lock(&self) -> &TurnLock {
        self.core.control.lock(self.index)
    }

    fn entry(&self, rank: u32) -> &Entry {
        self.core.control.entry(self.index, rank)
    }

    fn size(&self) -> u32 {
        self.core.comm.size
    }

    fn dead(&self) -> Vec<u32> {
        self.core.dead_ranks()
    }

    fn alone<R>(&self, change: impl FnOnce() -> R) -> R {
        let control = &self.core.control;
        control.alone(self.index, self.core.engine(), change)
    }
}

impl Core {
    /// The lock of a rank of this host.
    #[inline]
    pub(super) fn lock_words(&self, index: usize) -> &TurnLock {
        self.control.lock(index)
    }

    /// The ranks that are known to have died.
    pub(super) fn dead_ranks(&self) -> Vec<u32> {
        let processes = self.parts.iter().map(|part| part.process);
        let dead = self.engine().dead_among(processes);
        dead.into_iter().map(|rank| rank as u32).collect()
    }

    /// Has whoever waits for the lock look at the entries instead of tickets; the ticket of `rank`
    /// is no more.
    pub(super) fn disrupt(&self, index: usize, rank: u32) -> Turn {
        let entry = self.control.entry(index, rank);
        self.lock_words(index).disrupt(entry)
    }

    /// Gives a lock back that is held in the name of `rank`.
    #[inline(always)]
    pub(super) fn release(&self, index: usize, rank: u32, held: Held) -> Turn {
        let (lock, entry) = (self.lock_words(index), self.control.entry(index, rank));
        lock::release(lock, entry, held)
    }
}

/// A thread waits until its turn comes, or tickets mean nothing any more.
pub(super) struct UntilTurn<'c> {
    pub lock: &'c TurnLock,
    pub ticket: Ticket,
}

impl Condition for UntilTurn<'_> {
    #[inline]
    fn is_met(&mut self) -> bool {
        self.lock.has_turn(self.ticket) || self.lock.is_disrupted()
    }

    fn before_sleep(&mut self) {
        self.lock.announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.lock.announce_awake();
    }
}

/// A thread waits until no living rank is in the way; another may be quicker then.
pub(super) struct UntilFree<'c> {
    pub control: &'c Control,
    pub index: usize,
    pub wish: Wish,
    /// The ranks that live.
    pub living: &'c [u32],
}

impl Condition for UntilFree<'_> {
    fn is_met(&mut self) -> bool {
        let entry = |rank: &u32| self.control.entry(self.index, *rank);
        let hinders = |rank| entry(rank).hinders(self.wish);
        !self.living.iter().any(hinders)
    }

    fn before_sleep(&mut self) {
        self.control.lock(self.index).announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.control.lock(self.index).announce_awake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_locks_are_found_again_once() {
        let locks = HeldLocks::new(3);
        let turn = |number, wish| Held::Turn(Ticket::new(number, wish));
        for held in [
            Held::Disrupted,
            turn(0, Wish::Read),
            turn(u32::MAX, Wish::Write),
        ] {
            locks.put(1, held);
            assert_eq!(locks.take(1), Some(held));
            assert_eq!((locks.take(0), locks.take(1)), (None, None));
        }
    }
}
