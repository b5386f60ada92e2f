//! Epochs begin and end (MPI 5.0 §12.5): fences, post and start, locks, flushes.

use oxmpi_core::window::{Assertion, LockKind};

use super::rank_in;
use crate::argument::FlagOut;
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::object::{Group, Window};

/// The assertions of all calls: those that mean nothing to a call are allowed, since they promise
/// only what the program does.
const ASSERTIONS: i32 =
    MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

/// What the program asserts.
#[inline]
fn assertion(assert: i32) -> Result<Assertion, Failure> {
    if assert & !ASSERTIONS != 0 {
        return Err(no_assertion(assert));
    }
    Ok(Assertion {
        no_check: assert & MPI_MODE_NOCHECK != 0,
        no_store: assert & MPI_MODE_NOSTORE != 0,
        no_put: assert & MPI_MODE_NOPUT != 0,
        no_precede: assert & MPI_MODE_NOPRECEDE != 0,
        no_succeed: assert & MPI_MODE_NOSUCCEED != 0,
    })
}

#[cold]
fn no_assertion(assert: i32) -> Failure {
    let text = format!(
        "assert is {assert}, which has bits that mean nothing; add MPI_MODE_NOCHECK, NOSTORE, \
         NOPUT, NOPRECEDE and NOSUCCEED only, or give 0"
    );
    Failure::new(MPI_ERR_ASSERT, text)
}

/// MPI_Win_fence.
pub fn win_fence(_call: &Call, assert: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.fence(assertion(assert)?)?)
}

/// MPI_Win_start.
pub fn win_start(_call: &Call, group: &Group, assert: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.start(group, assertion(assert)?)?)
}

/// MPI_Win_complete.
pub fn win_complete(_call: &Call, win: &Window) -> Result<(), Failure> {
    Ok(win.complete()?)
}

/// MPI_Win_post.
pub fn win_post(_call: &Call, group: &Group, assert: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.post(group, assertion(assert)?)?)
}

/// MPI_Win_wait.
pub fn win_wait(_call: &Call, win: &Window) -> Result<(), Failure> {
    Ok(win.wait()?)
}

/// MPI_Win_test.
pub fn win_test(_call: &Call, win: &Window, flag: FlagOut) -> Result<(), Failure> {
    flag.set(win.test()?);
    Ok(())
}

/// MPI_Win_lock.
pub fn win_lock(
    _call: &Call,
    lock_type: i32,
    rank: i32,
    assert: i32,
    win: &Window,
) -> Result<(), Failure> {
    let kind = match lock_type {
        MPI_LOCK_SHARED => LockKind::Shared,
        MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
        _ => return Err(no_lock_type(lock_type)),
    };
    Ok(win.lock(kind, rank_in("rank", rank, win)?, assertion(assert)?)?)
}

#[cold]
fn no_lock_type(lock_type: i32) -> Failure {
    let text = format!(
        "lock_type is {lock_type}; use MPI_LOCK_SHARED ({MPI_LOCK_SHARED}) or \
         MPI_LOCK_EXCLUSIVE ({MPI_LOCK_EXCLUSIVE})"
    );
    Failure::new(MPI_ERR_LOCKTYPE, text)
}

/// MPI_Win_unlock.
pub fn win_unlock(_call: &Call, rank: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.unlock(rank_in("rank", rank, win)?)?)
}

/// MPI_Win_lock_all.
pub fn win_lock_all(_call: &Call, assert: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.lock_all(assertion(assert)?)?)
}

/// MPI_Win_unlock_all.
pub fn win_unlock_all(_call: &Call, win: &Window) -> Result<(), Failure> {
    Ok(win.unlock_all()?)
}

/// MPI_Win_flush.
pub fn win_flush(_call: &Call, rank: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.flush(rank_in("rank", rank, win)?)?)
}

/// MPI_Win_flush_all.
pub fn win_flush_all(_call: &Call, win: &Window) -> Result<(), Failure> {
    Ok(win.flush_all()?)
}

/// MPI_Win_flush_local.
pub fn win_flush_local(_call: &Call, rank: i32, win: &Window) -> Result<(), Failure> {
    Ok(win.flush_local(rank_in("rank", rank, win)?)?)
}

/// MPI_Win_flush_local_all.
pub fn win_flush_local_all(_call: &Call, win: &Window) -> Result<(), Failure> {
    Ok(win.flush_local_all()?)
}

/// MPI_Win_sync.
pub fn win_sync(_call: &Call, win: &Window) -> Result<(), Failure> {
    Ok(win.sync()?)
}
