//! Requests: operations under way, to be waited for, tested, cancelled or awaited.
//!
//! A request is a handle. The operation itself belongs to the scope, which ends only after it; so
//! dropping or forgetting a request loses the status and nothing else.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use oxmpi_engine::{Completion, EngineError, Mode, Request as EngineRequest};

use super::scope::Scope;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::status::{Source, Status, Tag};
use crate::thread::{Funneled, Level};
use oxmpi_datatypes::plain::Plain;

/// An operation under way. It is also a future, for any executor (one that moves futures between
/// threads needs the level [`Multiple`](crate::thread::Multiple)).
#[must_use = "the status is lost otherwise; the scope's end still waits for the operation"]
pub struct Request<'scope, L: Level = Funneled> {
    communicator: &'scope Communicator<'scope, L>,
    call: &'static str,
    /// Under way or over, as far as this handle knows.
    request: EngineRequest,
    /// The scope's note that the operation is under way.
    pending: &'scope AtomicBool,
    /// It failed, and the error has been handed out.
    failed: bool,
}

impl<L: Level> Communicator<'_, L> {
    /// Begins to send `data` to rank `dest`; `data` can be read but not changed until the scope
    /// ends.
    #[inline]
    pub fn isend<'scope, T: Plain>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        dest: u32,
        tag: i32,
    ) -> Result<Request<'scope, L>> {
        // SAFETY: the data is borrowed for 'scope, and the scope does not end before the request.
        let request = unsafe { self.start_send(data, dest, tag, Mode::Standard) };
        let request = request.map_err(|kind| self.fail("isend", kind))?;
        Ok(self.request(scope, "isend", request))
    }

    /// Begins to send `data` to rank `dest`; the request is over only after the receive has begun.
    pub fn synchronous_isend<'scope, T: Plain>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        dest: u32,
        tag: i32,
    ) -> Result<Request<'scope, L>> {
        // SAFETY: the data is borrowed for 'scope, and the scope does not end before the request.
        let request = unsafe { self.start_send(data, dest, tag, Mode::Synchronous) };
        let request = request.map_err(|kind| self.fail("synchronous_isend", kind))?;
        Ok(self.request(scope, "synchronous_isend", request))
    }

    /// Begins to receive into `buffer`, which cannot be used until the scope ends.
    #[inline]
    pub fn irecv<'scope, T: Plain>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<'scope, L>> {
        // SAFETY: the buffer is borrowed for 'scope, and the scope does not end before the request.
        let request = unsafe { self.start_receive(buffer, source.into(), tag.into()) };
        let request = request.map_err(|kind| self.fail("irecv", kind))?;
        Ok(self.request(scope, "irecv", request))
    }

    #[inline]
    fn request<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: &'static str,
        request: EngineRequest,
    ) -> Request<'scope, L> {
        Request {
            communicator: self,
            call,
            request,
            pending: scope.remember(self.process, request),
            failed: false,
        }
    }
}

impl<L: Level> Request<'_, L> {
    /// Waits until the operation is over.
    #[inline]
    pub fn wait(mut self) -> Result<Status> {
        if let EngineRequest::Over(completion) = self.request {
            return Ok(completion.into());
        }
        if self.failed {
            return Err(self.fail(ErrorKind::RequestFailed));
        }
        let outcome = self.communicator.process.engine.wait(self.request);
        self.over(outcome)
    }

    /// Tells whether the operation is over, without waiting. The status can be asked for again.
    #[inline]
    pub fn test(&mut self) -> Result<Option<Status>> {
        if self.failed {
            return Err(self.fail(ErrorKind::RequestFailed));
        }
        match self.communicator.process.engine.test(self.request) {
            Ok(None) => Ok(None),
            Ok(Some(completion)) => self.over(Ok(completion)).map(Some),
            Err(error) => self.over(Err(error)).map(Some),
        }
    }

    /// Tries to take the operation back; the status then tells whether that was in time. A send
    /// that left this process already cannot be taken back.
    pub fn cancel(&self) {
        if !self.failed {
            self.communicator.process.engine.cancel(self.request);
        }
    }

    /// The engine has let go of the operation: so may the scope.
    #[inline]
    fn over(&mut self, outcome: Result<Completion, EngineError>) -> Result<Status> {
        self.pending.store(false, Ordering::Relaxed);
        match outcome {
            Ok(completion) => {
                self.request = EngineRequest::Over(completion);
                Ok(completion.into())
            }
            Err(error) => {
                self.failed = true;
                Err(self.fail(error))
            }
        }
    }

    /// Whether this handle knows the operation's end.
    fn is_over(&self) -> bool {
        self.failed || matches!(self.request, EngineRequest::Over(_))
    }

    #[cold]
    fn fail(&self, error: impl Into<ErrorKind>) -> Error {
        self.communicator.fail(self.call, error)
    }
}

impl<L: Level> Future for Request<'_, L> {
    type Output = Result<Status>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Status>> {
        let this = self.get_mut();
        loop {
            match this.test() {
                Ok(Some(status)) => return Poll::Ready(Ok(status)),
                Err(error) => return Poll::Ready(Err(error)),
                Ok(None) => {}
            }
            let engine = &this.communicator.process.engine;
            if engine.set_waker(this.request, context.waker()) {
                return Poll::Pending;
            }
            // It ended between the two looks.
        }
    }
}

impl<L: Level> std::fmt::Debug for Request<'_, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("call", &self.call)
            .field("over", &self.is_over())
            .finish_non_exhaustive()
    }
}

/// Waits for all of them; the statuses come in the order of the requests.
pub fn wait_all<'scope, L: Level + 'scope>(
    requests: impl IntoIterator<Item = Request<'scope, L>>,
) -> Result<Vec<Status>> {
    requests.into_iter().map(Request::wait).collect()
}

/// Waits until one of them is over, takes it out of the list (the others keep their order) and
/// tells its place in the list and its status. `None` when the list is empty.
pub fn wait_any<'scope, L: Level>(
    requests: &mut Vec<Request<'scope, L>>,
) -> Option<(usize, Result<Status>)> {
    if let Some(index) = requests.iter().position(Request::is_over) {
        return Some((index, requests.remove(index).wait()));
    }
    let engine = &requests.first()?.communicator.process.engine;
    let waiting: Vec<EngineRequest> = requests.iter().map(|request| request.request).collect();
    let (index, outcome) = engine.wait_any(&waiting);
    Some((index, requests.remove(index).over(outcome)))
}
