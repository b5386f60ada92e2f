//! Which accesses the program may make now: the epochs of a window (MPI 5.0 §12.5). Pure.
//!
//! The two questions that every operation asks, is this target open and was a fence used, are
//! answered by loads; changes of the state happen under a lock.
//!
//! A fence that promises nothing opens an epoch which the program need not use: as long as no
//! operation was made in it, other kinds of epochs may begin (§12.5.1: a fence call "usually
//! entails a barrier" and both ends and starts epochs).

use std::sync::atomic::{AtomicU8, Ordering};
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

/// A rank is open by an exclusive lock.
const EXCLUSIVE: u8 = 2;

/// The state of a process's epochs on a window.
pub(super) struct Epoch {
    /// What is open towards all ranks.
    all: AtomicU8,
    /// 1 for each rank that MPI_Win_start or MPI_Win_lock has opened, [`EXCLUSIVE`] if no other
    /// process can have an epoch there.
    open: Box<[AtomicU8]>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Ranks of MPI_Win_start.
    started: Option<Vec<u32>>,
    /// Ranks that are locked one by one.
    locks: Vec<Hold>,
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
            open: (0..size).map(|_| AtomicU8::new(0)).collect(),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses an operation on a rank that no epoch has opened.
    #[inline(always)]
    pub(super) fn check_access(&self, target: u32) -> Result<(), WindowError> {
        let all = self.all.load(Ordering::Relaxed);
        if self.open[target as usize].load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        match all {
            FENCED_USED | LOCKED => Ok(()),
            FENCED => {
                self.all.store(FENCED_USED, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(WindowError::NoEpoch { target }),
        }
    }

    /// Whether no other process can access this rank's memory now.
    pub(super) fn is_exclusive(&self, target: u32) -> bool {
        self.open[target as usize].load(Ordering::Relaxed) == EXCLUSIVE
    }

    /// Whether flushes, and operations with a request, are possible for this rank.
    pub(super) fn check_passive(
        &self,
        call: &'static str,
        target: Option<u32>,
    ) -> Result<(), WindowError> {
        if self.all.load(Ordering::Relaxed) == LOCKED {
            return Ok(());
        }
        let state = self.state();
        let held = match target {
            None => !state.locks.is_empty(),
            Some(target) => state.locks.iter().any(|hold| hold.target == target),
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
    fn obstacle(&self, state: &State, with_fence: bool) -> Option<&'static str> {
        match self.all.load(Ordering::Relaxed) {
            LOCKED => return Some("all ranks are locked; call MPI_Win_unlock_all first"),
            FENCED_USED if with_fence => {
                return Some(
                    "operations were made since the last MPI_Win_fence; end it by another",
                );
            }
            _ => {}
        }
        if state.started.is_some() {
            return Some("MPI_Win_start has begun an epoch; call MPI_Win_complete first");
        }
        None
    }

    fn refuse(call: &'static str, obstacle: Option<&'static str>) -> Result<(), WindowError> {
        obstacle.map_or(Ok(()), |state| Err(WindowError::Epoch { call, state }))
    }

    /// A fence may be made now.
    pub(super) fn check_fence(&self) -> Result<(), WindowError> {
        let call = "MPI_Win_fence";
        let state = self.state();
        Self::refuse(call, self.obstacle(&state, false))?;
        if !state.locks.is_empty() {
            let state = "ranks are locked; call MPI_Win_unlock first";
            return Err(WindowError::Epoch { call, state });
        }
        if state.posted {
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
        let mut state = self.state();
        Self::refuse(call, self.obstacle(&state, true))?;
        if !state.locks.is_empty() {
            let state = "ranks are locked; call MPI_Win_unlock first";
            return Err(WindowError::Epoch { call, state });
        }
        self.all.store(CLOSED, Ordering::Relaxed);
        for target in &targets {
            self.open[*target as usize].store(1, Ordering::Relaxed);
        }
        state.started = Some(targets);
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
            self.open[*target as usize].store(0, Ordering::Relaxed);
        }
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

    /// A lock may be asked for; it is noted when it has been got.
    pub(super) fn check_lock(&self, target: u32) -> Result<(), WindowError> {
        let state = self.state();
        Self::refuse("MPI_Win_lock", self.obstacle(&state, true))?;
        if state.locks.iter().any(|hold| hold.target == target) {
            return Err(WindowError::Locked { target });
        }
        Ok(())
    }

    pub(super) fn lock(&self, hold: Hold) {
        self.all.store(CLOSED, Ordering::Relaxed);
        let alone = hold.exclusive && !hold.unchecked;
        let open = if alone { EXCLUSIVE } else { 1 };
        self.open[hold.target as usize].store(open, Ordering::Relaxed);
        self.state().locks.push(hold);
    }

    /// The lock on a rank; it is held no more.
    pub(super) fn unlock(&self, target: u32) -> Result<Hold, WindowError> {
        let mut state = self.state();
        let at = state.locks.iter().position(|hold| hold.target == target);
        let at = at.ok_or(WindowError::NotLocked {
            call: "MPI_Win_unlock",
            target,
        })?;
        self.open[target as usize].store(0, Ordering::Relaxed);
        Ok(state.locks.swap_remove(at))
    }

    pub(super) fn check_lock_all(&self) -> Result<(), WindowError> {
        let call = "MPI_Win_lock_all";
        let state = self.state();
        Self::refuse(call, self.obstacle(&state, true))?;
        if !state.locks.is_empty() {
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
        let state = self.state();
        Self::refuse(call, self.obstacle(&state, false))?;
        let obstacle = match &*state {
            state if !state.locks.is_empty() => "ranks are locked; call MPI_Win_unlock first",
            state if state.posted => "the window is exposed; call MPI_Win_wait first",
            _ => return Ok(()),
        };
        let state = obstacle;
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
