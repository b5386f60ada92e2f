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
//! member shows in its entry that it holds the lock, or is about to draw, before it looks whether
//! the lock is disrupted, and entries are read after the lock has been disrupted.
//!
//! Who finds the lock free has it with one locked instruction, the draw, and gives it back with
//! another ([`TurnLock::draw`], [`TurnLock::release`]).

use crate::sync::{AtomicU32, AtomicU64, Ordering, keep_total_order, order_all};

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

/// It is about to draw a ticket, which may be any, and to be inside with others if its turn has
/// come.
const DRAWS_TO_READ: u64 = 1 << 32;
/// The same, to be inside alone.
const DRAWS_TO_WRITE: u64 = 2 << 32;
/// It waits with the ticket in the low half.
const HAS: u64 = 3 << 32;
/// It is inside with others, by the ticket in the low half if the lock was not disrupted then.
const READS: u64 = 4 << 32;
/// It is inside alone.
const WRITES: u64 = 5 << 32;
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

impl Ticket {
    /// The ticket with these facts, for who has kept them.
    pub fn new(number: u32, wish: Wish) -> Ticket {
        Ticket { number, wish }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How the lock is wanted.
    pub fn wish(self) -> Wish {
        self.wish
    }
}

/// What came of drawing a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// The lock was free, and the member has it.
    Inside(Ticket, Turn),
    /// The ticket's turn has not come yet.
    Waits(Ticket),
    /// The lock is disrupted, and there is no ticket. Who saw this member's entry meanwhile may go
    /// on.
    Disrupted(Turn),
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

impl Turn {
    /// Nobody's turn has come.
    const NONE: Turn = Turn {
        numbers: [0; 2],
        has_sleepers: false,
        is_for_all: false,
    };
}

impl TurnLock {
    /// A free lock, for tests and the simulator; mapped memory is zero, which is the same.
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

    /// Draws a ticket for the member with this entry, and takes the lock if its turn has come.
    #[inline(always)]
    pub fn draw(&self, wish: Wish, entry: &Entry) -> Drawn {
        // From here on the member is in the way of others for as long as it may find the lock free:
        // between this store and the look at `disrupted` stands the draw. One that dies meanwhile
        // shows that it may have drawn.
        let draws = match wish {
            Wish::Read => DRAWS_TO_READ,
            Wish::Write => DRAWS_TO_WRITE,
        };
        entry.0.store(draws, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        order_all();
        let ticket = Ticket { number, wish };
        if self.is_disrupted() {
            return Drawn::Disrupted(self.withdraw(entry));
        }
        if !self.has_turn(ticket) {
            entry.0.store(HAS | u64::from(number), Ordering::Release);
            return Drawn::Waits(ticket);
        }
        entry.show(wish, number, Ordering::Release);
        Drawn::Inside(ticket, self.admit(ticket))
    }

    /// A member that is inside lets the next one in if both read.
    #[inline(always)]
    fn admit(&self, ticket: Ticket) -> Turn {
        let next = ticket.number.wrapping_add(1);
        if ticket.wish == Wish::Write {
            return Turn::NONE;
        }
        self.readers.swap(next, Ordering::SeqCst);
        keep_total_order();
        self.turn([next, next])
    }

    /// A member without a ticket is in nobody's way any more.
    #[cold]
    fn withdraw(&self, entry: &Entry) -> Turn {
        entry.0.swap(0, Ordering::SeqCst);
        keep_total_order();
        self.turn([0, 0])
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

    /// Takes the lock after the turn has come; who is next may enter too if it reads. An error: the
    /// lock is disrupted, and the ticket is no more; who saw this member's entry may go on.
    pub fn enter(&self, ticket: Ticket, entry: &Entry) -> Result<Turn, Turn> {
        entry.hold(ticket.wish, ticket.number);
        match self.is_disrupted() {
            true => Err(self.withdraw(entry)),
            false => Ok(self.admit(ticket)),
        }
    }

    /// Gives the lock back.
    #[inline(always)]
    pub fn release(&self, ticket: Ticket, entry: &Entry) -> Turn {
        let next = ticket.number.wrapping_add(1);
        if ticket.wish == Wish::Write {
            // What orders it before the look for sleepers is the count below.
            self.readers.store(next, Ordering::Release);
        }
        // A count, not a store: the next reader may have come and gone since the line above.
        let over = self.writers.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        order_all();
        // Last: a member that dies before is one that held the lock.
        entry.0.store(0, Ordering::Release);
        match ticket.wish {
            Wish::Read => self.turn([over, over]),
            Wish::Write => self.turn([next, over]),
        }
    }

    #[inline(always)]
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
    /// An entry without a ticket.
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
    #[inline(always)]
    fn show(&self, wish: Wish, number: u32, order: Ordering) {
        let state = match wish {
            Wish::Read => READS,
            Wish::Write => WRITES,
        };
        self.0.store(state | u64::from(number), order);
    }

    /// Shows that the member is inside before it looks at anything else.
    fn hold(&self, wish: Wish, number: u32) {
        self.show(wish, number, Ordering::SeqCst);
        keep_total_order();
    }

    /// Whether this member is inside.
    pub fn is_held(&self) -> bool {
        matches!(self.0.load(Ordering::SeqCst) & STATE, READS | WRITES)
    }

    /// Whether this member is inside, or may be in a moment, and keeps others out that have this
    /// wish.
    pub fn hinders(&self, wish: Wish) -> bool {
        match self.0.load(Ordering::SeqCst) & STATE {
            READS | DRAWS_TO_READ => wish == Wish::Write,
            WRITES | DRAWS_TO_WRITE => true,
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

    /// Draws a ticket and takes the lock, which must be possible at once.
    fn take(lock: &TurnLock, wish: Wish, entry: &Entry) -> Ticket {
        match lock.draw(wish, entry) {
            Drawn::Inside(ticket, _) => ticket,
            other => panic!("the lock is not free: {other:?}"),
        }
    }

    /// Draws a ticket whose turn must not have come.
    fn queue(lock: &TurnLock, wish: Wish, entry: &Entry) -> Ticket {
        match lock.draw(wish, entry) {
            Drawn::Waits(ticket) => ticket,
            other => panic!("somebody was before: {other:?}"),
        }
    }

    #[test]
    fn nobody_overtakes() {
        let (lock, entries) = lock();
        let first = take(&lock, Wish::Read, &entries[0]);
        let second = take(&lock, Wish::Read, &entries[1]);
        let writer = queue(&lock, Wish::Write, &entries[2]);
        let late = queue(&lock, Wish::Read, &entries[3]);
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
        let reader = take(&lock, Wish::Read, &entries[0]);
        // It dies while it waits, and the two behind it wait for nothing.
        let _dead = queue(&lock, Wish::Write, &entries[1]);
        let notices = queue(&lock, Wish::Read, &entries[2]);
        let waits = queue(&lock, Wish::Write, &entries[3]);
        assert!(entries[1].is_before(notices) && !entries[1].is_held());
        lock.announce_sleep();
        let turn = lock.disrupt(&entries[2]);
        assert!(turn.has_sleepers && entries[3].has(turn) && lock.is_disrupted());
        let turn = lock.enter(waits, &entries[3]).unwrap_err();
        assert!(turn.has_sleepers, "who saw it enter must look again");
        assert!(!entries[3].is_held(), "its ticket is no more");
        let Drawn::Disrupted(turn) = lock.draw(Wish::Write, &entries[3]) else {
            panic!("nobody gets a ticket any more");
        };
        assert!(turn.has_sleepers && !entries[3].hinders(Wish::Write));
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
    fn who_draws_is_in_the_way_but_holds_nothing() {
        let (_, entries) = lock();
        entries[0].0.store(DRAWS_TO_READ, Ordering::Relaxed);
        entries[1].0.store(DRAWS_TO_WRITE, Ordering::Relaxed);
        assert!(entries[0].hinders(Wish::Write) && !entries[0].hinders(Wish::Read));
        assert!(entries[1].hinders(Wish::Write) && entries[1].hinders(Wish::Read));
        assert!(!entries[0].is_held() && !entries[1].is_held());
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
            let ticket = take(&lock, wish, &entries[0]);
            let behind = queue(&lock, Wish::Write, &entries[1]);
            assert!(entries[0].is_before(behind) && !entries[1].is_before(ticket));
            assert!(!lock.has_turn(behind));
            let _ = lock.release(ticket, &entries[0]);
            assert!(lock.has_turn(behind));
            let _ = lock.enter(behind, &entries[1]);
            let _ = lock.release(behind, &entries[1]);
        }
    }
}
