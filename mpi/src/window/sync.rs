//! Synchronisation: fence, post/start/complete/wait, locks, flushes (MPI 5.0 §12.5).

use super::{Assertion, LockKind, Window};
use crate::error::ErrorKind;
use crate::group::Group;

impl Window {
    /// Ends the epoch between two fences and begins another. Collective.
    pub fn fence(&self, assertion: Assertion) -> Result<(), ErrorKind> {
        todo!("{assertion:?}")
    }

    /// Begins accesses to the ranks of a group.
    pub fn start(&self, group: &Group, assertion: Assertion) -> Result<(), ErrorKind> {
        todo!("{group:?} {assertion:?}")
    }

    /// Ends the accesses that [`Window::start`] began.
    pub fn complete(&self) -> Result<(), ErrorKind> {
        todo!()
    }

    /// Exposes this rank's memory to the ranks of a group.
    pub fn post(&self, group: &Group, assertion: Assertion) -> Result<(), ErrorKind> {
        todo!("{group:?} {assertion:?}")
    }

    /// Waits until the ranks of [`Window::post`] have ended their accesses.
    pub fn wait(&self) -> Result<(), ErrorKind> {
        todo!()
    }

    /// As [`Window::wait`], without waiting: false if the exposure goes on.
    pub fn test(&self) -> Result<bool, ErrorKind> {
        todo!()
    }

    /// Locks a rank's memory; no rank: the null process.
    pub fn lock(
        &self,
        kind: LockKind,
        target: Option<u32>,
        assertion: Assertion,
    ) -> Result<(), ErrorKind> {
        todo!("{kind:?} {target:?} {assertion:?}")
    }

    /// Completes all operations on a rank and unlocks it.
    pub fn unlock(&self, target: Option<u32>) -> Result<(), ErrorKind> {
        todo!("{target:?}")
    }

    /// Locks every rank's memory, shared.
    pub fn lock_all(&self, assertion: Assertion) -> Result<(), ErrorKind> {
        todo!("{assertion:?}")
    }

    /// Completes all operations and unlocks every rank.
    pub fn unlock_all(&self) -> Result<(), ErrorKind> {
        todo!()
    }

    /// Completes all operations on a rank, here and there.
    pub fn flush(&self, target: Option<u32>) -> Result<(), ErrorKind> {
        todo!("{target:?}")
    }

    /// Completes all operations, here and there.
    pub fn flush_all(&self) -> Result<(), ErrorKind> {
        todo!()
    }

    /// Completes all operations on a rank as far as the buffers of this rank are concerned.
    pub fn flush_local(&self, target: Option<u32>) -> Result<(), ErrorKind> {
        todo!("{target:?}")
    }

    /// Completes all operations as far as the buffers of this rank are concerned.
    pub fn flush_local_all(&self) -> Result<(), ErrorKind> {
        todo!()
    }

    /// Makes stores of this process and accesses by others visible to each other (MPI_Win_sync).
    pub fn sync(&self) -> Result<(), ErrorKind> {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
}
