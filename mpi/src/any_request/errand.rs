//! Requests that stand for work in the background: nonblocking and persistent collectives.
//!
//! The task's memory goes back to the communicator when the request is gone, so that programs which
//! begin collectives by the million allocate nothing for them.

use std::sync::Arc;
use std::task::Waker;

use oxmpi_engine::RequestId;

use super::{Pending, Report};
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::process::Task;
use crate::process::background::Lasting;

/// What the program holds of work in the background.
pub struct Errand {
    /// Whose error handler is asked; of an intercommunicator, not the one that the messages travel
    /// on.
    comm: Arc<Comm>,
    task: Arc<Task<dyn Lasting>>,
    is_persistent: bool,
    is_active: bool,
}

impl Errand {
    /// Work that is ready to begin.
    pub(crate) fn new(comm: Arc<Comm>, task: Arc<Task<dyn Lasting>>, is_persistent: bool) -> Self {
        Errand {
            comm,
            task,
            is_persistent,
            is_active: false,
        }
    }

    /// Begins, or begins again after it was concluded.
    pub(crate) fn begin(&mut self) {
        self.task.with(|work| work.begin());
        self.task.begin();
        self.is_active = true;
        self.comm.process.background.start(self.task.clone());
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        // Work that goes on belongs to the list of all tasks.
        if !self.is_active || self.task.is_over() {
            self.task.with(|work| work.clear());
            self.comm.kept.keep_task(self.task.clone());
        }
    }
}

impl Pending for Errand {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        if !self.task.is_over() {
            self.comm.process.progress();
        }
        self.task.is_over()
    }

    fn watch(&self, _requests: &mut Vec<RequestId>) {}

    fn is_noted(&self) -> bool {
        self.is_active && self.task.is_over()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        self.is_active = false;
        let outcome = self.task.with(|work| work.outcome().take());
        outcome
            .expect("it is over and was not concluded before")
            .map(|()| Report::EMPTY)
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        self.task.with(|work| {
            let outcome = work.outcome();
            match outcome.take()? {
                Ok(()) => {
                    *outcome = Some(Ok(()));
                    Some(Ok(Report::EMPTY))
                }
                Err(error) => {
                    *outcome = Some(Err(ErrorKind::RequestFailed));
                    Some(Err(error))
                }
            }
        })
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Err(ErrorKind::CancelCollective)
    }

    fn abandon(&mut self) {
        self.task.end(|work| work.give_up());
    }

    fn set_waker(&mut self, waker: &Waker) -> bool {
        if !self.task.set_waker(waker) {
            return false;
        }
        // Functions of the program are called on its own threads only.
        if self.task.calls_program() || !self.comm.process.engine.hurry() {
            waker.wake_by_ref();
        }
        true
    }

    fn is_persistent(&self) -> bool {
        self.is_persistent
    }

    fn is_active(&self) -> bool {
        self.is_active
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        if !self.is_persistent {
            return Err(ErrorKind::NotPersistent);
        }
        if self.is_active {
            return Err(ErrorKind::AlreadyActive);
        }
        self.begin();
        Ok(())
    }
}
