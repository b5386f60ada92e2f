//! How the lock of a rank is had, and what happens when a holder dies.
//!
//! As long as all live, the ranks take turns by tickets ([`oxmpi_ports::turn_lock`]). The first
//! rank that waits behind a dead one disrupts the lock; from then on whoever wants it looks at the
//! entries of the living under the target's small lock, which survives its holder's death.
//!
//! The rule for programs: a rank that asks for a lock whose holder has died is told so by an error
//! that names the dead rank, once for each dead holder, since what the holder was changing may be
//! half done. After that the lock can be had as before, though no more in the order of arrival. A
//! rank that died while it waited hinders nobody, and nobody is told.

use oxmpi_ports::turn_lock::{Entry, Ticket, Turn, TurnLock, Wish};

use crate::LockKind;

/// The words of one rank's lock, and who can still use them.
pub trait Words {
    /// The lock.
    fn lock(&self) -> &TurnLock;
    /// What a rank of the window shows in it.
    fn entry(&self, rank: u32) -> &Entry;
    /// The ranks of the window.
    fn size(&self) -> u32;
    /// The ranks that are known to have died.
    fn dead(&self) -> Vec<u32>;
    /// Runs `change` while no other process does so for this lock.
    fn alone<R>(&self, change: impl FnOnce() -> R) -> R;
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// By its turn.
    Turn(Ticket),
    /// By its entry alone, since the lock was disrupted.
    Disrupted,
}

/// What came of a try to take a disrupted lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Try {
    /// It is held.
    Held,
    /// A living rank is in the way.
    Waits,
    /// This rank has died as the holder.
    Died(u32),
}

/// Dead holders that a rank has been told of: target and rank.
pub type Told = Vec<(u32, u32)>;

impl From<LockKind> for Wish {
    fn from(kind: LockKind) -> Wish {
        match kind {
            LockKind::Shared => Wish::Read,
            LockKind::Exclusive => Wish::Write,
        }
    }
}

/// A rank that has died as a holder of the lock of `target`, if it was not told yet; now it is.
pub fn dead_holder(words: &impl Words, target: u32, dead: &[u32], told: &mut Told) -> Option<u32> {
    let is_news = |dead: &u32| words.entry(*dead).is_held() && !told.contains(&(target, *dead));
    let holder = dead.iter().copied().find(is_news)?;
    told.push((target, holder));
    Some(holder)
}

/// Tries to take the disrupted lock of `target` in the name of `rank`.
pub fn take_disrupted(
    words: &impl Words,
    (target, rank): (u32, u32),
    wish: Wish,
    dead: &[u32],
    told: &mut Told,
) -> Try {
    if let Some(holder) = dead_holder(words, target, dead, told) {
        return Try::Died(holder);
    }
    let entry = |rank: u32| words.entry(rank);
    let living = (0..words.size()).filter(|other| *other != rank && !dead.contains(other));
    let taken = words.alone(|| {
        let others = living.map(entry);
        words.lock().take_disrupted(wish, entry(rank), others)
    });
    if taken { Try::Held } else { Try::Waits }
}

/// Gives a lock back that is held in the name of the rank with this entry.
#[inline(always)]
pub fn release(lock: &TurnLock, entry: &Entry, held: Held) -> Turn {
    match held {
        Held::Turn(ticket) => lock.release(ticket, entry),
        Held::Disrupted => lock.release_disrupted(entry),
    }
}
