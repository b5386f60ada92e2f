//! An operation that a handle of the typed face and the scope it was begun in share.
//!
//! The handle asks how the operation is, or waits for it; the scope waits for what no handle has
//! waited for. Whoever comes first takes the outcome.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use oxmpi_engine::RequestId;

use super::{AnyRequest, Report};
use crate::error::ErrorKind;

/// An operation under way; none when its outcome has been taken.
#[derive(Clone)]
pub(crate) struct UnderWay(Arc<Mutex<Option<AnyRequest>>>);

impl UnderWay {
    pub(crate) fn new(request: AnyRequest) -> UnderWay {
        UnderWay(Arc::new(Mutex::new(Some(request))))
    }

    fn request(&self) -> MutexGuard<'_, Option<AnyRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is nothing to wait for: it is over, or not started.
    pub(crate) fn is_idle(&self) -> bool {
        match &*self.request() {
            None | Some(AnyRequest::Over(_)) => true,
            Some(request) => !request.is_active(),
        }
    }

    /// Starts a persistent one.
    pub(crate) fn start(&self) -> Result<(), ErrorKind> {
        match &mut *self.request() {
            Some(request) => request.start(),
            None => Err(ErrorKind::RequestFailed),
        }
    }

    /// Waits until it is over; an outcome is told once.
    pub(crate) fn wait(&self) -> Result<Report, ErrorKind> {
        let mut slot = self.request();
        let Some(request) = active(&mut slot) else {
            return Ok(Report::EMPTY);
        };
        let outcome = request.wait();
        settle(&mut slot);
        outcome
    }

    /// The outcome if it is over, without waiting.
    pub(crate) fn test(&self) -> Result<Option<Report>, ErrorKind> {
        let mut slot = self.request();
        let Some(request) = active(&mut slot) else {
            return Ok(Some(Report::EMPTY));
        };
        if !request.is_ready() {
            let engine = request.engine().cloned();
            drop(slot);
            if let Some(engine) = engine {
                engine.looked_in_vain();
            }
            return Ok(None);
        }
        let outcome = request.conclude();
        settle(&mut slot);
        outcome.map(Some)
    }

    pub(crate) fn cancel(&self) -> Result<(), ErrorKind> {
        match active(&mut self.request()) {
            Some(request) => request.cancel(),
            None => Ok(()),
        }
    }

    /// Ends it early and forgets it: nobody asks any more.
    pub(crate) fn abandon(&self) {
        let mut slot = self.request();
        if let Some(request) = active(&mut slot) {
            request.abandon();
        }
        *slot = None;
    }

    /// Wakes `waker` when it may be over. False if it may be now.
    pub(crate) fn set_waker(&self, waker: &Waker) -> bool {
        active(&mut self.request()).is_some_and(|request| request.set_waker(waker))
    }

    /// Adds the messages whose end may end it; none are added if background work ends it.
    pub(crate) fn watch(&self, requests: &mut Vec<RequestId>) {
        if let Some(request) = active(&mut self.request()) {
            request.watch(requests);
        }
    }

    /// Whether its end was noted, for who holds the engine's lock.
    pub(crate) fn is_noted(&self) -> bool {
        match self.0.try_lock() {
            Ok(slot) => slot.as_ref().is_none_or(AnyRequest::is_noted),
            // Another thread looks at it, and will be told.
            Err(_) => false,
        }
    }
}

fn active(slot: &mut Option<AnyRequest>) -> Option<&mut AnyRequest> {
    slot.as_mut().filter(|request| request.is_active())
}

/// After the outcome was taken: only what can be started again stays.
fn settle(slot: &mut Option<AnyRequest>) {
    if !slot.as_ref().is_some_and(AnyRequest::is_persistent) {
        *slot = None;
    }
}
