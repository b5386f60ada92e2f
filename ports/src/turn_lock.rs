//! A fair lock in shared memory: readers together, a writer alone, everybody in the order of
//! arrival.
//!
//! Whoever wants the lock draws a ticket. A reader has its turn when all earlier tickets have
//! entered or are over and none of them is a writer that is not over; a writer when all earlier
//! ones are over. Two counters say so: `readers` is the first ticket that may not enter as a reader
//! yet, `writers` the number of tickets that are over. Nobody can overtake, so nobody starves.
//!
//! Every member of the group has an *entry* that shows its ticket for as long as it waits or holds
//! the lock: a member that waits sees by them on whom it waits, and whom a death concerns. A member
//! has at most one ticket of a lock at a time. Waiting itself is the caller's business: spin on
//! [`TurnLock::has_turn`], then [`TurnLock::announce_sleep`] and look once more; whoever makes a
//! turn come true looks for sleepers afterwards ([`Turn`]). Both sides use sequentially consistent
//! operations, so at least one sees the other.
//!
//! A member that dies with a ticket would keep all behind it waiting. The first member that notices
//! *disrupts* the lock, for good: tickets mean nothing from then on, and the entries alone say who
//! is inside ([`TurnLock::take_disrupted`]). The order of arrival is lost, the exclusion is not: a
//! member shows in its entry that it holds the lock before it looks whether the lock is disrupted,
//! and entries are read after the lock has been disrupted.

use crate::sync::{AtomicU32, AtomicU64, Ordering, keep_total_order};

/// The lock's words, one line of memory that is zero at first.
#[repr(C, align(64))]
pub struct TurnLock {
    /// The next ticket.
    next: AtomicU32,
    /// The first ticket that may not enter as a reader yet.
    readers: AtomicU32,
    /// Tickets that are over.
    writers: AtomicU32,
    /// Members that sleep until their turn comes.
    sleepers: AtomicU32,
    /// 1: tickets mean nothing any more.
    disrupted: AtomicU32,
}

/// What a member shows of its ticket; zero at first.
#[repr(transparent)]
pub struct Entry(AtomicU64);

/// It is about to draw a ticket, which may be any.
const DRAWS: u64 = 1 << 32;
/// It waits with the ticket in the low half.
const HAS: u64 = 2 << 32;
/// It is inside with others, by the ticket in the low half if the lock was not disrupted then.
const READS: u64 = 3 << 32;
/// It is inside alone.
const WRITES: u64 = 4 << 32;
/// Which of these it is.
const STATE: u64 = !(u32::MAX as u64);

/// How the lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// With other readers.
    Read,
    /// Alone.
    Write,
}

/// A ticket of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    number: u32,
    wish: Wish,
}

/// Tickets whose turn may have come now, two at most; their owners may sleep if there are sleepers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Turn {
    numbers: [u32; 2],
    /// Somebody sleeps.
    pub has_sleepers: bool,
    /// The lock is disrupted: whoever waits may go on.
    is_for_all: bool,
}

impl TurnLock {
    /// A free lock (for loom tests; mapped memory is zero, which is the same).
    #[cfg(loom)]
    pub fn free() -> Self {
        let zero = || AtomicU32::new(0);
        Self {
            next: zero(),
            readers: zero(),
            writers: zero(),
            sleepers: zero(),
            disrupted: zero(),
        }
    }

    /// Draws a ticket for the member with this entry.
    pub fn draw(&self, wish: Wish, entry: &Entry) -> Ticket {
        // A member that dies between the two stores shows that it may have drawn.
        entry.0.store(DRAWS, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        entry.0.store(HAS | u64::from(number), Ordering::Release);
        Ticket { number, wish }
    }

    /// Whether the ticket's turn has come.
    #[inline(always)]
    pub fn has_turn(&self, ticket: Ticket) -> bool {
        let serves = match ticket.wish {
            Wish::Read => &self.readers,
            Wish::Write => &self.writers,
        };
        // Pairs with the stores of `enter` and `release`: what was done under the lock is seen.
        serves.load(Ordering::SeqCst) == ticket.number
    }

    /// Takes the lock after the turn has come; who is next may enter too if it reads. None: the
    /// lock is disrupted, and the ticket is no more.
    pub fn enter(&self, ticket: Ticket, entry: &Entry) -> Option<Turn> {
        entry.hold(ticket.wish, ticket.number);
        if self.is_disrupted() {
            entry.0.store(0, Ordering::SeqCst);
            return None;
        }
        let next = ticket.number.wrapping_add(1);
        if ticket.wish == Wish::Read {
            self.readers.swap(next, Ordering::SeqCst);
            keep_total_order();
        }
        Some(self.turn([next, next]))
    }

    /// Gives the lock back.
    pub fn release(&self, ticket: Ticket, entry: &Entry) -> Turn {
        let next = ticket.number.wrapping_add(1);
        if ticket.wish == Wish::Write {
            self.readers.store(next, Ordering::SeqCst);
        }
        // A count, not a store: the next reader may have come and gone since the line above.
        let over = self.writers.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        keep_total_order();
        // Last: a member that dies before is one that held the lock.
        entry.0.store(0, Ordering::Release);
        match ticket.wish {
            Wish::Read => self.turn([over, over]),
            Wish::Write => self.turn([next, over]),
        }
    }

    fn turn(&self, numbers: [u32; 2]) -> Turn {
        let has_sleepers = self.sleepers.load(Ordering::SeqCst) != 0;
        Turn {
            numbers,
            has_sleepers,
            // Without sleepers nobody asks.
            is_for_all: has_sleepers && self.is_disrupted(),
        }
    }

    /// Whether tickets mean nothing any more. Whoever waits for a turn asks this too.
    #[inline(always)]
    pub fn is_disrupted(&self) -> bool {
        self.disrupted.load(Ordering::SeqCst) != 0
    }

    /// Ends the use of tickets, because a member that has one died; the caller's own is no more.
    /// Whoever waits has to be woken.
    pub fn disrupt(&self, entry: &Entry) -> Turn {
        self.disrupted.store(1, Ordering::SeqCst);
        keep_total_order();
        entry.0.store(0, Ordering::SeqCst);
        self.turn([0, 0])
    }

    /// Takes a disrupted lock unless one of `others`, the entries of all other members that live,
    /// is in the way. Callers take turns by means of their own.
    pub fn take_disrupted<'e>(
        &self,
        wish: Wish,
        entry: &Entry,
        mut others: impl Iterator<Item = &'e Entry>,
    ) -> bool {
        debug_assert!(self.is_disrupted(), "tickets still count");
        keep_total_order();
        let is_free = others.all(|other| !other.hinders(wish));
        if is_free {
            entry.hold(wish, 0);
        }
        is_free
    }

    /// Gives back what [`TurnLock::take_disrupted`] has taken.
    pub fn release_disrupted(&self, entry: &Entry) -> Turn {
        entry.0.store(0, Ordering::SeqCst);
        keep_total_order();
        self.turn([0, 0])
    }

    /// A member is about to sleep until its turn comes; it looks once more afterwards.
    pub fn announce_sleep(&self) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        keep_total_order();
    }

    /// It does not sleep any more.
    pub fn announce_awake(&self) {
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Entry {
    /// An entry without a ticket (for loom tests).
    #[cfg(loom)]
    pub fn none() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether this member has a ticket whose turn may have come.
    pub fn has(&self, turn: Turn) -> bool {
        let shown = self.0.load(Ordering::Acquire);
        let has = |number: &u32| shown == HAS | u64::from(*number);
        turn.is_for_all || turn.numbers.iter().any(has)
    }

    /// Shows that the member is inside.
    fn hold(&self, wish: Wish, number: u32) {
        let state = match wish {
            Wish::Read => READS,
            Wish::Write => WRITES,
        };
        self.0.store(state | u64::from(number), Ordering::SeqCst);
        keep_total_order();
    }

    /// Whether this member is inside.
    pub fn is_held(&self) -> bool {
        self.hinders(Wish::Write)
    }

    /// Whether this member is inside and keeps others out that have this wish.
    pub fn hinders(&self, wish: Wish) -> bool {
        match self.0.load(Ordering::SeqCst) & STATE {
            READS => wish == Wish::Write,
            WRITES => true,
            _ => false,
        }
    }

    /// Whether this member stands before a ticket: it holds the lock or gets it first, or has died
    /// while it drew.
    pub fn is_before(&self, ticket: Ticket) -> bool {
        let shown = self.0.load(Ordering::Acquire);
        match shown & STATE {
            0 => false,
            HAS | READS | WRITES => (ticket.number.wrapping_sub(shown as u32) as i32) > 0,
            _ => true,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn lock() -> (TurnLock, [Entry; 4]) {
        // SAFETY: words that are zero.
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn nobody_overtakes() {
        let (lock, entries) = lock();
        let first = lock.draw(Wish::Read, &entries[0]);
        assert!(lock.has_turn(first));
        let _ = lock.enter(first, &entries[0]);
        let second = lock.draw(Wish::Read, &entries[1]);
        assert!(lock.has_turn(second), "readers enter together");
        let _ = lock.enter(second, &entries[1]);
        let writer = lock.draw(Wish::Write, &entries[2]);
        let late = lock.draw(Wish::Read, &entries[3]);
        assert!(!lock.has_turn(writer) && !lock.has_turn(late));
        let turn = lock.release(second, &entries[1]);
        assert!(!entries[2].has(turn), "one reader is still inside");
        assert!(entries[0].is_before(late) && entries[2].is_before(late));
        assert!(!entries[1].is_before(late) && !entries[3].is_before(late));
        let turn = lock.release(first, &entries[0]);
        assert!(entries[2].has(turn) && lock.has_turn(writer) && !lock.has_turn(late));
        let _ = lock.enter(writer, &entries[2]);
        lock.announce_sleep();
        let turn = lock.release(writer, &entries[2]);
        assert!(turn.has_sleepers && entries[3].has(turn) && lock.has_turn(late));
        lock.announce_awake();
        let _ = lock.enter(late, &entries[3]);
        let turn = lock.release(late, &entries[3]);
        assert!(!turn.has_sleepers);
        assert!(entries.iter().all(|entry| !entry.has(turn)));
    }

    #[test]
    fn a_disrupted_lock_still_excludes() {
        let (lock, entries) = lock();
        let reader = lock.draw(Wish::Read, &entries[0]);
        let _ = lock.enter(reader, &entries[0]);
        // It dies while it waits, and the two behind it wait for nothing.
        let _dead = lock.draw(Wish::Write, &entries[1]);
        let notices = lock.draw(Wish::Read, &entries[2]);
        let waits = lock.draw(Wish::Write, &entries[3]);
        assert!(entries[1].is_before(notices) && !entries[1].is_held());
        lock.announce_sleep();
        let turn = lock.disrupt(&entries[2]);
        assert!(turn.has_sleepers && entries[3].has(turn) && lock.is_disrupted());
        assert_eq!(lock.enter(waits, &entries[3]), None);
        assert!(!entries[3].is_held(), "its ticket is no more");
        let except = |own: usize| {
            let others = entries.iter().enumerate();
            let others = others.filter(move |(at, _)| *at != own && *at != 1);
            others.map(|(_, entry)| entry)
        };
        assert!(!lock.take_disrupted(Wish::Write, &entries[3], except(3)));
        assert!(lock.take_disrupted(Wish::Read, &entries[2], except(2)));
        let _ = lock.release(reader, &entries[0]);
        assert!(!lock.take_disrupted(Wish::Write, &entries[3], except(3)));
        let _ = lock.release_disrupted(&entries[2]);
        assert!(lock.take_disrupted(Wish::Write, &entries[3], except(3)));
        assert!(!lock.take_disrupted(Wish::Read, &entries[0], except(0)));
        assert!(entries[3].is_held() && !entries[0].is_held());
    }

    #[test]
    fn numbers_may_wrap() {
        let (lock, entries) = lock();
        let start = u32::MAX - 2;
        for words in [&lock.next, &lock.readers, &lock.writers] {
            words.store(start, Ordering::Relaxed);
        }
        for round in 0..8 {
            let wish = [Wish::Write, Wish::Read][round % 2];
            let ticket = lock.draw(wish, &entries[0]);
            assert!(lock.has_turn(ticket));
            let _ = lock.enter(ticket, &entries[0]);
            let behind = lock.draw(Wish::Write, &entries[1]);
            assert!(entries[0].is_before(behind) && !entries[1].is_before(ticket));
            assert!(!lock.has_turn(behind));
            let _ = lock.release(ticket, &entries[0]);
            assert!(lock.has_turn(behind));
            let _ = lock.enter(behind, &entries[1]);
            let _ = lock.release(behind, &entries[1]);
        }
    }
}
