//! Advisory locks: ranges of bytes that belong to an owner (fcntl), and whole files that belong to
//! an open (flock). The two do not see each other, as in Linux. Pure: calls in, decisions out.

use std::collections::{HashMap, HashSet, VecDeque};

/// Locks and waiting requests of one session.
const LOCKS_MAX: usize = 16384;

/// Who has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub session: u64,
    pub owner: u64,
    /// flock.
    pub whole: bool,
}

/// A lock, held or wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    pub owner: Owner,
    pub write: bool,
    pub first: u64,
    pub last: u64,
}

impl Lock {
    fn overlaps(&self, first: u64, last: u64) -> bool {
        self.first <= last && first <= self.last
    }

    fn hinders(&self, other: &Lock) -> bool {
        self.owner.whole == other.owner.whole
            && self.owner != other.owner
            && (self.write || other.write)
            && self.overlaps(other.first, other.last)
    }
}

/// What becomes of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Granted,
    /// This one is in the way.
    Hindered(Lock),
    /// It will be told of under this number.
    Waiting(u64),
    /// It would wait for itself.
    Deadlock,
    TooMany,
    /// Its session is over.
    Ended,
}

/// Requests that waited and do so no longer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub granted: Vec<u64>,
    pub interrupted: Vec<u64>,
}

#[derive(Default)]
struct OfNode {
    held: Vec<Lock>,
    waiting: VecDeque<(u64, Lock)>,
}

#[derive(Default)]
pub(crate) struct Locks {
    nodes: HashMap<u64, OfNode>,
    next: u64,
}

impl Locks {
    fn count(&self, session: u64) -> usize {
        let count = |of: &OfNode| {
            let held = of.held.iter().filter(|lock| lock.owner.session == session);
            let waiting = of.waiting.iter();
            held.count()
                + waiting
                    .filter(|(_, lock)| lock.owner.session == session)
                    .count()
        };
        self.nodes.values().map(count).sum()
    }

    /// Whether the session holds a lock.
    pub(crate) fn holds(&self, session: u64) -> bool {
        let holds = |of: &OfNode| of.held.iter().any(|lock| lock.owner.session == session);
        self.nodes.values().any(holds)
    }

    /// The lock in the way of this one.
    pub(crate) fn test(&self, node: u64, wanted: &Lock) -> Option<Lock> {
        let of = self.nodes.get(&node)?;
        of.held.iter().find(|held| held.hinders(wanted)).copied()
    }

    pub(crate) fn lock(&mut self, node: u64, wanted: Lock, wait: bool) -> Outcome {
        if self.count(wanted.owner.session) >= LOCKS_MAX {
            return Outcome::TooMany;
        }
        if let Some(in_the_way) = self.test(node, &wanted) {
            if !wait {
                return Outcome::Hindered(in_the_way);
            }
            if self.would_wait_for_itself(node, &wanted) {
                return Outcome::Deadlock;
            }
            self.next += 1;
            let of = self.nodes.entry(node).or_default();
            of.waiting.push_back((self.next, wanted));
            return Outcome::Waiting(self.next);
        }
        self.nodes.entry(node).or_default().take(wanted);
        Outcome::Granted
    }

    /// Whether some owner that hinders `wanted` waits, over any number of others, for its owner.
    fn would_wait_for_itself(&self, node: u64, wanted: &Lock) -> bool {
        let mut seen = HashSet::new();
        let mut open: Vec<(u64, Lock)> = vec![(node, *wanted)];
        while let Some((node, lock)) = open.pop() {
            let Some(of) = self.nodes.get(&node) else {
                continue;
            };
            for held in of.held.iter().filter(|held| held.hinders(&lock)) {
                if held.owner == wanted.owner {
                    return true;
                }
                if !seen.insert(held.owner) {
                    continue;
                }
                for (&node, of) in &self.nodes {
                    let theirs = of
                        .waiting
                        .iter()
                        .filter(|(_, lock)| lock.owner == held.owner);
                    open.extend(theirs.map(|(_, lock)| (node, *lock)));
                }
            }
        }
        false
    }

    /// Frees a range, ends the owner's waiting for this node, and lets others have what is free.
    pub(crate) fn unlock(&mut self, node: u64, owner: Owner, first: u64, last: u64) -> Ended {
        let Some(of) = self.nodes.get_mut(&node) else {
            return Ended::default();
        };
        let mut ended = Ended::default();
        of.waiting.retain(|(number, lock)| {
            let ends = lock.owner == owner;
            ended.interrupted.extend(ends.then_some(*number));
            !ends
        });
        of.free(owner, first, last);
        of.grant(&mut ended);
        self.tidy(node);
        ended
    }

    /// Nothing of these owners is left.
    pub(crate) fn release(&mut self, gone: impl Fn(&Owner) -> bool) -> Ended {
        let mut ended = Ended::default();
        for of in self.nodes.values_mut() {
            of.held.retain(|lock| !gone(&lock.owner));
            of.waiting.retain(|(number, lock)| {
                let ends = gone(&lock.owner);
                ended.interrupted.extend(ends.then_some(*number));
                !ends
            });
            of.grant(&mut ended);
        }
        self.nodes
            .retain(|_, of| !of.held.is_empty() || !of.waiting.is_empty());
        ended
    }

    fn tidy(&mut self, node: u64) {
        let empty = |of: &OfNode| of.held.is_empty() && of.waiting.is_empty();
        if self.nodes.get(&node).is_some_and(empty) {
            self.nodes.remove(&node);
        }
    }
}

impl OfNode {
    /// The owner's locks no longer cover the range.
    fn free(&mut self, owner: Owner, first: u64, last: u64) {
        let mut parts = Vec::new();
        self.held.retain(|lock| {
            if lock.owner != owner || !lock.overlaps(first, last) {
                return true;
            }
            if lock.first < first {
                let last = first - 1;
                parts.push(Lock { last, ..*lock });
            }
            if lock.last > last {
                let first = last + 1;
                parts.push(Lock { first, ..*lock });
            }
            false
        });
        self.held.extend(parts);
    }

    /// The owner has the lock; it replaces what the owner had there, and joins its neighbours.
    fn take(&mut self, mut lock: Lock) {
        self.free(lock.owner, lock.first, lock.last);
        self.held.retain(|had| {
            let same = had.owner == lock.owner && had.write == lock.write;
            let before = had.last.checked_add(1) == Some(lock.first);
            let after = lock.last.checked_add(1) == Some(had.first);
            if same && (before || after) {
                lock.first = lock.first.min(had.first);
                lock.last = lock.last.max(had.last);
                return false;
            }
            true
        });
        self.held.push(lock);
    }

    fn grant(&mut self, ended: &mut Ended) {
        let mut still = VecDeque::new();
        while let Some((number, wanted)) = self.waiting.pop_front() {
            // The order of waiting is kept: who came later does not overtake whom it hinders.
            let held = self.held.iter().any(|held| held.hinders(&wanted));
            let earlier = still
                .iter()
                .any(|(_, lock): &(u64, Lock)| lock.hinders(&wanted));
            if held || earlier {
                still.push_back((number, wanted));
            } else {
                self.take(wanted);
                ended.granted.push(number);
            }
        }
        self.waiting = still;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(owner: u64, write: bool, first: u64, last: u64) -> Lock {
        let owner = Owner {
            session: owner,
            owner,
            whole: false,
        };
        Lock {
            owner,
            write,
            first,
            last,
        }
    }

    /// Ranges as sets of bytes, compared with the ranges, by seed.
    #[test]
    fn ranges_are_sets_of_bytes() {
        for seed in 1..200u64 {
            let mut random = seed;
            let mut next = |below: u64| {
                random = random
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (random >> 33) % below
            };
            let mut locks = Locks::default();
            let mut bytes: HashMap<(u64, u64), bool> = HashMap::new();
            for step in 0..60 {
                let (owner, write) = (next(3), next(2) == 0);
                let first = next(20);
                let last = first + next(6);
                if next(3) == 0 {
                    let ended = locks.unlock(1, lock(owner, write, 0, 0).owner, first, last);
                    assert_eq!(ended, Ended::default());
                    bytes.retain(|&(who, byte), _| who != owner || byte < first || byte > last);
                    continue;
                }
                let hindered = bytes.iter().any(|(&(who, byte), &theirs)| {
                    who != owner && (first..=last).contains(&byte) && (theirs || write)
                });
                let outcome = locks.lock(1, lock(owner, write, first, last), false);
                assert_eq!(
                    outcome != Outcome::Granted,
                    hindered,
                    "seed {seed}, step {step}"
                );
                if !hindered {
                    for byte in first..=last {
                        bytes.insert((owner, byte), write);
                    }
                }
            }
            for owner in 0..3 {
                for byte in 0..26 {
                    let held = bytes
                        .iter()
                        .any(|(&(who, at), _)| who != owner && at == byte);
                    let found = locks.test(1, &lock(owner, true, byte, byte)).is_some();
                    assert_eq!(held, found, "seed {seed}, owner {owner}, byte {byte}");
                }
            }
        }
    }

    #[test]
    fn waiting_ends_in_order_and_with_its_session() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, lock(1, true, 0, 9), true), Outcome::Granted);
        let Outcome::Waiting(two) = locks.lock(1, lock(2, true, 0, 9), true) else {
            panic!("the second waits");
        };
        let Outcome::Waiting(three) = locks.lock(1, lock(3, false, 5, 9), true) else {
            panic!("the third waits");
        };
        let ended = locks.release(|owner| owner.session == 1);
        assert_eq!(ended.granted, [two]);
        let ended = locks.unlock(1, lock(2, true, 0, 0).owner, 0, u64::MAX);
        assert_eq!(ended.granted, [three]);
        assert!(locks.holds(3) && !locks.holds(2));
    }

    #[test]
    fn a_circle_of_waiting_is_refused() {
        let mut locks = Locks::default();
        assert_eq!(locks.lock(1, lock(1, true, 0, 0), true), Outcome::Granted);
        assert_eq!(locks.lock(2, lock(2, true, 0, 0), true), Outcome::Granted);
        assert!(matches!(
            locks.lock(2, lock(1, true, 0, 0), true),
            Outcome::Waiting(_)
        ));
        assert_eq!(locks.lock(1, lock(2, true, 0, 0), true), Outcome::Deadlock);
    }
}
