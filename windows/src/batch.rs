//! The origin's side: requests to one target that have not left yet, and when they leave.
//!
//! Requests are appended to a batch. It leaves when it is full ([`Batch::append`]), when a thread
//! of the process waits or synchronises, or when long data needs the target's answer soon. A lock
//! request that nothing follows stays ([`Batch::may_leave`]): if the unlock comes next, the target
//! needs not hear of either. A flush is one more request, which the target answers when everything
//! before it is done: one round trip, however much it covers.

use crate::LockKind;
use crate::message::{Kind, Request};

/// A batch of this length leaves.
pub const BATCH_MAX: usize = 8192;
/// After this many batches without an answer the target is asked whether it keeps up: requests that
/// it has not read yet take memory there.
pub const BATCHES_MAX: u32 = 32;
/// After this many operations under way their end is awaited: each takes a request of the engine.
pub const UNDER_WAY_MAX: usize = 1024;

/// See the top of this file.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Something was asked of the target whose end it has not confirmed.
    owed: bool,
    /// The lock request at the beginning of the batch, and nothing else, has been written.
    only_lock: bool,
    /// Batches since the target's last answer.
    batches: u32,
}

impl Batch {
    /// Appends a request. True: the batch is full and must leave.
    #[must_use]
    pub fn append(&mut self, request: &Request<'_>) -> bool {
        self.only_lock = false;
        request.encode(&mut self.bytes);
        self.bytes.len() >= BATCH_MAX
    }

    /// Appends a request for the target's lock; what comes later waits for it over there. True: the
    /// batch is full and must leave.
    #[must_use]
    pub fn lock(&mut self, kind: LockKind) -> bool {
        let first = self.bytes.is_empty();
        let full = self.append(&Request::bare(Kind::Lock(kind), 0));
        self.only_lock = first;
        full
    }

    /// Whether the target has to be told that its lock is given back. False: it never heard of the
    /// lock, and needs not.
    #[must_use]
    pub fn unlock(&mut self) -> bool {
        if self.only_lock {
            self.bytes.clear();
            self.only_lock = false;
            return false;
        }
        true
    }

    /// Notes that the target has to confirm something.
    pub fn owe(&mut self) {
        self.owed = true;
    }

    /// Whether a flush has to ask the target.
    pub fn is_owed(&self) -> bool {
        self.owed
    }

    /// Appends the request for an answer to everything before: a flush or an unlock. The batch must
    /// leave now, by [`Batch::depart`], and [`Batch::ask`] is over then.
    pub fn ask(&mut self, kind: Kind, tag: u32) {
        self.owed = false;
        let _leaves_anyway = self.append(&Request::bare(kind, tag));
    }

    /// The answer is awaited: batches are counted anew.
    pub fn asked(&mut self) {
        self.batches = 0;
    }

    /// Whether so much is under way that the target has to answer before more is asked of it.
    pub fn must_wait(&self, under_way: usize) -> bool {
        self.batches >= BATCHES_MAX || under_way >= UNDER_WAY_MAX
    }

    /// Whether there is something that leaves when a thread waits.
    pub fn may_leave(&self) -> bool {
        !self.bytes.is_empty() && !self.only_lock
    }

    /// The requests, which leave now; none if there are none. [`Batch::take`] or [`Batch::clear`]
    /// must follow.
    pub fn depart(&mut self) -> Option<&[u8]> {
        if self.bytes.is_empty() {
            return None;
        }
        self.only_lock = false;
        self.batches += 1;
        Some(&self.bytes)
    }

    /// They have left.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// They leave by themselves.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_given_back_at_once_is_not_told() {
        let mut batch = Batch::default();
        assert!(!batch.lock(LockKind::Shared));
        assert!(!batch.may_leave());
        assert!(!batch.unlock());
        assert!(batch.depart().is_none());
        // One with a request behind it is.
        let _ = batch.lock(LockKind::Exclusive);
        let _ = batch.append(&Request::bare(Kind::Poke, 0));
        assert!(batch.may_leave() && batch.unlock());
        // So is one behind a request of another epoch.
        let _ = batch.lock(LockKind::Exclusive);
        assert!(batch.may_leave() && batch.unlock());
    }

    #[test]
    fn a_target_is_asked_now_and_then() {
        let mut batch = Batch::default();
        for _ in 0..BATCHES_MAX {
            assert!(!batch.must_wait(0));
            batch.owe();
            let _ = batch.append(&Request::bare(Kind::Poke, 0));
            assert!(batch.depart().is_some());
            batch.clear();
        }
        assert!(batch.must_wait(0) && batch.is_owed());
        batch.ask(Kind::Flush, 1);
        assert_eq!(batch.depart().map(<[u8]>::len), Some(32));
        assert_eq!(batch.take().len(), 32);
        batch.asked();
        assert!(!batch.must_wait(0) && !batch.is_owed() && batch.must_wait(UNDER_WAY_MAX));
    }
}
