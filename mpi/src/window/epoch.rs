//! Which accesses the program may make now: the epochs of a window (MPI 5.0 §12.5). Pure.
//!
//! What operations, locks and flushes ask is answered by loads: what is open towards all ranks, and
//! how each single rank is open. Only the group of MPI_Win_start is kept under a lock. Several
//! threads may lock different ranks at a time; what two threads do to the same rank is ordered by
//! the program, because an epoch belongs to the process.
//!
//! A fence that promises nothing opens an epoch which the program need not use: as long as no
//! operation was made in it, other kinds of epochs may begin (§12.5.1: a fence call "usually
//! entails a barrier" and both ends and starts epochs).

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::WindowError;

/// What is open towards all ranks.
const CLOSED: u8 = 0;
/// A fence has opened it and no operation was made yet.
const FENCED: u8 = 1;
/// Operations were made since the fence.
const FENCED_USED: u8 = 2;
/// MPI_Win_lock_all.
const LOCKED: u8 = 3;
/// MPI_Win_start has opened some ranks, and no other kind of epoch may begin.
const STARTED: u8 = 4;

/// How a single rank is open: not at all, by MPI_Win_start, or by MPI_Win_lock, with [`ALONE`] and
/// [`UNCHECKED`].
const SHUT: u8 = 0;
const BY_START: u8 = 1;
const BY_LOCK: u8 = 2;
/// Bits beside [`BY_LOCK`]: the lock is exclusive; nobody was asked for it.
const ALONE: u8 = 4;
const UNCHECKED: u8 = 8;

/// The state of a process's epochs on a window.
pub(super) struct Epoch {
    /// What is open towards all ranks.
    all: AtomicU8,
    /// How each rank is open.
    open: Box<[AtomicU8]>,
    /// A rank was locked once: only then can one be locked now.
    locks_used: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Ranks of MPI_Win_start.
    started: Option<Vec<u32>>,
    /// MPI_Win_lock_all without a check.
    unchecked_all: bool,
    /// MPI_Win_post.
    posted: bool,
}

/// A lock that this process holds on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub target: u32,
    /// The program said that nobody else can hold a conflicting lock (MPI_MODE_NOCHECK).
    pub unchecked: bool,
    /// No other process holds the lock.
    pub exclusive: bool,
}

impl Epoch {
    pub(super) fn new(size: u32) -> Epoch {
        Epoch {
            all: AtomicU8::new(CLOSED),
            open: (0..size).map(|_| AtomicU8::new(SHUT)).collect(),
            locks_used: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    fn all(&self) -> u8 {
        self.all.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn open(&self, target: u32) -> u8 {
        self.open[target as usize].load(Ordering::Relaxed)
    }

    /// Whether operations on this rank are allowed without further ado: [`Epoch::check_access`]
    /// decides about the others.
    #[inline(always)]
    pub(super) fn is_open(&self, target: u32) -> bool {
        matches!(self.all(), FENCED_USED | LOCKED) || self.open(target) != SHUT
    }

    /// Refuses an operation on a rank that no epoch has opened.
    #[inline(always)]
    pub(super) fn check_access(&self, target: u32) -> Result<(), WindowError> {
        if self.is_open(target) {
            return Ok(());
        }
        match self.all() {
            FENCED => {
                self.all.store(FENCED_USED, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(WindowError::NoEpoch { target }),
        }
    }

    /// Whether no other process can access this rank's memory now.
    pub(super) fn is_exclusive(&self, target: u32) -> bool {
        self.open(target) == BY_LOCK | ALONE
    }

    /// Whether this rank is locked, alone or with all.
    #[inline(always)]
    pub(super) fn is_locked(&self, target: u32) -> bool {
        self.all() == LOCKED || self.open(target) & BY_LOCK != 0
    }

    /// Whether a rank is locked by itself.
    fn has_locks(&self) -> bool {
        let is_locked = |open: &AtomicU8| open.load(Ordering::Relaxed) & BY_LOCK != 0;
        self.locks_used.load(Ordering::Relaxed) && self.open.iter().any(is_locked)
    }

    /// Whether flushes, and operations with a request, are possible for this rank.
    pub(super) fn check_passive(
        &self,
        call: &'static str,
        target: Option<u32>,
    ) -> Result<(), WindowError> {
        let held = match target {
            None => self.all() == LOCKED || self.has_locks(),
            Some(target) => self.is_locked(target),
        };
        match (held, target) {
            (true, _) => Ok(()),
            (false, Some(target)) => Err(WindowError::NotLocked { call, target }),
            (false, None) => Err(WindowError::Epoch {
                call,
                state: "no rank of the window is locked; call MPI_Win_lock or MPI_Win_lock_all",
            }),
        }
    }

    /// What keeps another kind of epoch from beginning.
    #[inline(always)]
    fn obstacle(&self, with_fence: bool) -> Option<&'static str> {
        match self.all() {
            LOCKED => Some("all ranks are locked; call MPI_Win_unlock_all first"),
            FENCED_USED if with_fence => {
                Some("operations were made since the last MPI_Win_fence; end it by another")
            }
            STARTED => Some("MPI_Win_start has begun an epoch; call MPI_Win_complete first"),
            _ => None,
        }
    }

    #[inline(always)]
    fn refuse(call: &'static str, obstacle: Option<&'static str>) -> Result<(), WindowError> {
        obstacle.map_or(Ok(()), |state| Err(WindowError::Epoch { call, state }))
    }

    /// A fence may be made now.
    pub(super) fn check_fence(&self) -> Result<(), WindowError> {
        let call = "MPI_Win_fence";
        Self::refuse(call, self.obstacle(false))?;
        if self.has_locks() {
            let state = "ranks are locked; call MPI_Win_unlock first";
            return Err(WindowError::Epoch { call, state });
        }
        if self.state().posted {
            let state = "MPI_Win_post has exposed the window; call MPI_Win_wait first";
            return Err(WindowError::Epoch { call, state });
        }
        Ok(())
    }

    /// A fence is over: it opens the window to all unless the program has said that no access
    /// follows.
    pub(super) fn fence(&self, opens: bool) {
        let all = if opens { FENCED } else { CLOSED };
        self.all.store(all, Ordering::Relaxed);
    }

    pub(super) fn start(&self, targets: Vec<u32>) -> Result<(), WindowError> {
        let call = "MPI_Win_start";
        Self::refuse(call, self.obstacle(true))?;
        if self.has_locks() {
            let state = "ranks are locked; call MPI_Win_unlock first";
            return Err(WindowError::Epoch { call, state });
        }
        self.all.store(STARTED, Ordering::Relaxed);
        for target in &targets {
            self.open[*target as usize].store(BY_START, Ordering::Relaxed);
        }
        self.state().started = Some(targets);
        Ok(())
    }

    /// The ranks of the epoch that MPI_Win_start began; it is over.
    pub(super) fn complete(&self) -> Result<Vec<u32>, WindowError> {
        let targets = self.state().started.take();
        let targets = targets.ok_or(WindowError::Epoch {
            call: "MPI_Win_complete",
            state: "no epoch was begun by MPI_Win_start",
        })?;
        for target in &targets {
            self.open[*target as usize].store(SHUT, Ordering::Relaxed);
        }
        self.all.store(CLOSED, Ordering::Relaxed);
        Ok(targets)
    }

    pub(super) fn post(&self) -> Result<(), WindowError> {
        let call = "MPI_Win_post";
        let mut state = self.state();
        if self.all.load(Ordering::Relaxed) == FENCED_USED {
            let state = "operations were made since the last MPI_Win_fence; end it by another";
            return Err(WindowError::Epoch { call, state });
        }
        if state.posted {
            let state = "the window is exposed already; call MPI_Win_wait first";
            return Err(WindowError::Epoch { call, state });
        }
        state.posted = true;
        Ok(())
    }

    /// Whether MPI_Win_post has exposed the window.
    pub(super) fn check_posted(&self, call: &'static str) -> Result<(), WindowError> {
        if self.state().posted {
            return Ok(());
        }
        let state = "the window was not exposed by MPI_Win_post";
        Err(WindowError::Epoch { call, state })
    }

    pub(super) fn unpost(&self) {
        self.state().posted = false;
    }

    /// Whether a lock may be asked for; [`Epoch::check_lock`] says why not.
    #[inline(always)]
    pub(super) fn may_lock(&self, target: u32) -> bool {
        matches!(self.all(), CLOSED | FENCED) && self.open(target) & BY_LOCK == 0
    }

    /// Whether a rank is locked by itself, by a lock that others were asked for.
    #[inline(always)]
    pub(super) fn has_checked_lock(&self, target: u32) -> bool {
        self.open(target) & (BY_LOCK | UNCHECKED) == BY_LOCK
    }

    /// A lock may be asked for; it is noted when it has been got.
    #[inline(always)]
    pub(super) fn check_lock(&self, target: u32) -> Result<(), WindowError> {
        Self::refuse("MPI_Win_lock", self.obstacle(true))?;
        if self.open(target) & BY_LOCK != 0 {
            return Err(WindowError::Locked { target });
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn lock(&self, hold: Hold) {
        self.all.store(CLOSED, Ordering::Relaxed);
        self.locks_used.store(true, Ordering::Relaxed);
        let alone = if hold.exclusive { ALONE } else { 0 };
        let unchecked = if hold.unchecked { UNCHECKED } else { 0 };
        let open = BY_LOCK | alone | unchecked;
        self.open[hold.target as usize].store(open, Ordering::Relaxed);
    }

    /// The lock on a rank; it is held no more.
    #[inline(always)]
    pub(super) fn unlock(&self, target: u32) -> Result<Hold, WindowError> {
        let open = self.open(target);
        if open & BY_LOCK == 0 {
            return Err(WindowError::NotLocked {
                call: "MPI_Win_unlock",
                target,
            });
        }
        self.open[target as usize].store(SHUT, Ordering::Relaxed);
        Ok(Hold {
            target,
            unchecked: open & UNCHECKED != 0,
            exclusive: open & ALONE != 0,
        })
    }

    pub(super) fn check_lock_all(&self) -> Result<(), WindowError> {
        let call = "MPI_Win_lock_all";
        Self::refuse(call, self.obstacle(true))?;
        if self.has_locks() {
            let state = "ranks are locked one by one; call MPI_Win_unlock first";
            return Err(WindowError::Epoch { call, state });
        }
        Ok(())
    }

    pub(super) fn lock_all(&self, unchecked: bool) {
        self.state().unchecked_all = unchecked;
        self.all.store(LOCKED, Ordering::Relaxed);
    }

    /// Whether all ranks were locked without a check; they are no more.
    pub(super) fn unlock_all(&self) -> Result<bool, WindowError> {
        if self.all.load(Ordering::Relaxed) != LOCKED {
            return Err(WindowError::Epoch {
                call: "MPI_Win_unlock_all",
                state: "the ranks were not locked by MPI_Win_lock_all",
            });
        }
        self.all.store(CLOSED, Ordering::Relaxed);
        Ok(self.state().unchecked_all)
    }

    /// The window may be freed.
    pub(super) fn check_free(&self) -> Result<(), WindowError> {
        let call = "MPI_Win_free";
        Self::refuse(call, self.obstacle(false))?;
        let state = match self.state().posted {
            _ if self.has_locks() => "ranks are locked; call MPI_Win_unlock first",
            true => "the window is exposed; call MPI_Win_wait first",
            false => return Ok(()),
        };
        Err(WindowError::Epoch { call, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(target: u32) -> Hold {
        Hold {
            target,
            unchecked: false,
            exclusive: target == 1,
        }
    }

    #[test]
    fn nothing_is_open_at_first() {
        let epoch = Epoch::new(2);
        let closed = Err(WindowError::NoEpoch { target: 1 });
        assert_eq!(epoch.check_access(1), closed);
        epoch.fence(false);
        assert_eq!(epoch.check_access(1), closed);
        epoch.fence(true);
        assert_eq!(epoch.check_access(1), Ok(()));
    }

    #[test]
    fn a_fence_that_was_not_used_ends_by_itself() {
        let epoch = Epoch::new(2);
        epoch.fence(true);
        epoch.check_lock(0).unwrap();
        epoch.lock(hold(0));
        assert_eq!(epoch.check_access(0), Ok(()));
        assert!(epoch.check_access(1).is_err());
        assert!(epoch.check_fence().is_err());
        assert!(!epoch.is_exclusive(0));
        epoch.lock(hold(1));
        assert!(epoch.is_exclusive(1));
        assert_eq!(epoch.unlock(1), Ok(hold(1)));
        assert!(!epoch.is_exclusive(1));
        assert_eq!(epoch.unlock(0), Ok(hold(0)));
        assert!(epoch.unlock(0).is_err());
        epoch.fence(true);
        epoch.check_access(1).unwrap();
        assert!(epoch.check_lock(0).is_err());
        assert!(epoch.check_lock_all().is_err());
        assert!(epoch.start(vec![0]).is_err());
        assert!(epoch.post().is_err());
        epoch.check_fence().unwrap();
    }

    #[test]
    fn locks_and_starts_exclude_each_other() {
        let epoch = Epoch::new(3);
        epoch.lock_all(false);
        assert!(epoch.check_lock(1).is_err());
        assert!(epoch.check_free().is_err());
        assert_eq!(epoch.check_access(2), Ok(()));
        assert_eq!(epoch.unlock_all(), Ok(false));
        assert!(epoch.unlock_all().is_err());
        epoch.start(vec![1]).unwrap();
        assert!(epoch.check_lock_all().is_err());
        assert_eq!(epoch.check_access(1), Ok(()));
        assert!(epoch.check_access(0).is_err());
        assert_eq!(epoch.complete(), Ok(vec![1]));
        assert!(epoch.complete().is_err());
        epoch.post().unwrap();
        assert!(epoch.check_fence().is_err());
        epoch.check_lock(1).unwrap();
        epoch.unpost();
        epoch.check_free().unwrap();
    }
}
