//! Requests: operations under way, to be waited for, tested, cancelled or awaited.
//!
//! A request is a handle. The operation itself belongs to the scope, which ends only after it; so
//! dropping or forgetting a request loses the status and nothing else. Messages of one block are
//! the engine's own requests; collectives and views are behind [`UnderWay`].

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use oxmpi_engine::{Completion, EngineError, Mode, Request as EngineRequest, RequestId};

use super::scope::Scope;
use crate::any_request::{AnyRequest, Report, Sender, UnderWay};
use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::status::{Source, Status, Tag};
use crate::thread::{Funneled, Level};
use oxmpi_datatypes::data::{Data, DataMut};

/// An operation under way: a message, or a collective. It is also a future, for any executor (one
/// that moves futures between threads needs the level [`Multiple`](crate::thread::Multiple)).
#[must_use = "the status is lost otherwise; the scope's end still waits for the operation"]
pub struct Request<'scope, L: Level = Funneled> {
    communicator: &'scope Communicator<'scope, L>,
    call: &'static str,
    operation: Operation<'scope>,
    /// It failed, and the error has been handed out.
    failed: bool,
}

enum Operation<'scope> {
    /// A message of one block.
    Message {
        /// Under way or over, as far as this handle knows.
        request: EngineRequest,
        /// The scope's note that the operation is under way.
        pending: &'scope AtomicBool,
    },
    /// Anything else, and its status when this handle knows it.
    Other(UnderWay, Option<Status>),
}

impl<L: Level> Communicator<'_, L> {
    /// Begins to send `data` to rank `dest`; `data` can be read but not changed until the scope
    /// ends.
    #[inline]
    pub fn isend<'scope, D: Data + ?Sized>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope D,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<Request<'scope, L>> {
        self.begin_send("isend", scope, data, dest.into(), tag, Mode::Standard)
    }

    /// Begins to send `data` to rank `dest`; the request is over only after the receive has begun.
    pub fn synchronous_isend<'scope, D: Data + ?Sized>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope D,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<Request<'scope, L>> {
        let call = "synchronous_isend";
        self.begin_send(call, scope, data, dest.into(), tag, Mode::Synchronous)
    }

    /// Begins to receive into `buffer`, which cannot be used until the scope ends.
    #[inline]
    pub fn irecv<'scope, D: DataMut + ?Sized>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut D,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<'scope, L>> {
        let call = "irecv";
        let Some(source) = source.into().somebody() else {
            return Ok(self.over(call));
        };
        let memory = buffer.memory_mut();
        if memory.layout.is_none() {
            // SAFETY: the buffer is borrowed for 'scope, and the scope does not end before the
            // request.
            let request = unsafe { self.start_receive(buffer, source, tag.into()) };
            let request = request.map_err(|kind| self.fail(call, kind))?;
            return Ok(self.message(scope, call, request));
        }
        // SAFETY: as above.
        let buffer = unsafe { Buffer::of::<D::Element>(&memory) };
        let begun = buffer
            .map_err(ErrorKind::from)
            .and_then(|buffer| self.comm.irecv_buffer(&buffer, Some(source), tag.into()));
        self.other(scope, call, begun)
    }

    #[inline(always)]
    fn begin_send<'scope, D: Data + ?Sized>(
        &'scope self,
        call: &'static str,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope D,
        dest: Option<u32>,
        tag: i32,
        mode: Mode,
    ) -> Result<Request<'scope, L>> {
        let Some(dest) = dest else {
            return Ok(self.over(call));
        };
        let memory = data.memory();
        if memory.layout.is_none() {
            // SAFETY: the data is borrowed for 'scope, and the scope does not end before the
            // request.
            let request = unsafe { self.start_send(data, dest, tag, mode) };
            let request = request.map_err(|kind| self.fail(call, kind))?;
            return Ok(self.message(scope, call, request));
        }
        // SAFETY: as above.
        let buffer = unsafe { Buffer::of::<D::Element>(&memory) };
        let begun = buffer
            .map_err(ErrorKind::from)
            .and_then(|buffer| self.comm.isend_buffer(&buffer, Some(dest), tag, mode));
        self.other(scope, call, begun)
    }

    #[inline]
    fn message<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: &'static str,
        request: EngineRequest,
    ) -> Request<'scope, L> {
        let pending = scope.remember(self.process, request);
        self.handle(call, Operation::Message { request, pending })
    }

    /// The handle of an operation of another kind.
    pub(crate) fn other<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: &'static str,
        begun: Result<AnyRequest, ErrorKind>,
    ) -> Result<Request<'scope, L>> {
        let operation = UnderWay::new(begun.map_err(|kind| self.fail(call, kind))?);
        if !operation.is_idle() {
            scope.remember_other(self.process, &operation);
        }
        Ok(self.handle(call, Operation::Other(operation, None)))
    }

    /// An operation with nobody, which is over at once.
    fn over<'scope>(&'scope self, call: &'static str) -> Request<'scope, L> {
        let operation = UnderWay::new(AnyRequest::Over(Report::NOBODY));
        self.handle(call, Operation::Other(operation, None))
    }

    #[inline]
    fn handle<'scope>(
        &'scope self,
        call: &'static str,
        operation: Operation<'scope>,
    ) -> Request<'scope, L> {
        Request {
            communicator: self,
            call,
            operation,
            failed: false,
        }
    }

    /// What a report tells.
    pub(crate) fn status(&self, report: Report) -> Status {
        Status {
            source: match report.sender {
                Sender::Rank(rank) => rank,
                _ => self.comm.rank,
            },
            tag: report.tag.unwrap_or_default(),
            bytes: report.bytes,
            cancelled: report.cancelled,
        }
    }
}

impl<L: Level> Request<'_, L> {
    /// Waits until the operation is over.
    #[inline]
    pub fn wait(mut self) -> Result<Status> {
        if let Operation::Message {
            request: EngineRequest::Over(completion),
            ..
        } = self.operation
        {
            return Ok(completion.into());
        }
        if self.failed {
            return Err(self.fail(ErrorKind::RequestFailed));
        }
        match &self.operation {
            Operation::Message { request, .. } => {
                let outcome = self.communicator.process.engine.wait(*request);
                self.end(outcome)
            }
            Operation::Other(_, Some(status)) => Ok(*status),
            Operation::Other(operation, None) => {
                let outcome = operation.wait();
                self.end_other(outcome)
            }
        }
    }

    /// Tells whether the operation is over, without waiting. The status can be asked for again.
    #[inline]
    pub fn test(&mut self) -> Result<Option<Status>> {
        if self.failed {
            return Err(self.fail(ErrorKind::RequestFailed));
        }
        match &self.operation {
            Operation::Message { request, .. } => {
                match self.communicator.process.engine.test(*request) {
                    Ok(None) => Ok(None),
                    Ok(Some(completion)) => self.end(Ok(completion)).map(Some),
                    Err(error) => self.end(Err(error)).map(Some),
                }
            }
            Operation::Other(_, Some(status)) => Ok(Some(*status)),
            Operation::Other(operation, None) => match operation.test() {
                Ok(None) => Ok(None),
                Ok(Some(report)) => self.end_other(Ok(report)).map(Some),
                Err(error) => self.end_other(Err(error)).map(Some),
            },
        }
    }

    /// Tries to take the operation back; the status then tells whether that was in time. A send
    /// that left this process already cannot be taken back, nor can a collective.
    pub fn cancel(&self) {
        match &self.operation {
            _ if self.failed => {}
            Operation::Message { request, .. } => self.communicator.process.engine.cancel(*request),
            // What cannot be taken back goes on.
            Operation::Other(operation, _) => drop(operation.cancel()),
        }
    }

    /// The engine has let go of the operation: so may the scope.
    #[inline]
    fn end(&mut self, outcome: Result<Completion, EngineError>) -> Result<Status> {
        if let Operation::Message { request, pending } = &mut self.operation {
            pending.store(false, Ordering::Relaxed);
            if let Ok(completion) = outcome {
                *request = EngineRequest::Over(completion);
            }
        }
        match outcome {
            Ok(completion) => Ok(completion.into()),
            Err(error) => {
                self.failed = true;
                Err(self.fail(error))
            }
        }
    }

    fn end_other(&mut self, outcome: Result<Report, ErrorKind>) -> Result<Status> {
        let outcome = outcome.map(|report| self.communicator.status(report));
        match (&mut self.operation, outcome) {
            (_, Err(error)) => {
                self.failed = true;
                Err(self.fail(error))
            }
            (Operation::Other(_, known), Ok(status)) => {
                *known = Some(status);
                Ok(status)
            }
            (Operation::Message { .. }, Ok(status)) => Ok(status),
        }
    }

    /// Whether this handle knows the operation's end.
    fn is_over(&self) -> bool {
        self.failed
            || match &self.operation {
                Operation::Message { request, .. } => matches!(request, EngineRequest::Over(_)),
                Operation::Other(_, status) => status.is_some(),
            }
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
            let is_set = match &this.operation {
                Operation::Message { request, .. } => {
                    let engine = &this.communicator.process.engine;
                    engine.set_waker(*request, context.waker())
                }
                Operation::Other(operation, _) => operation.set_waker(context.waker()),
            };
            if is_set {
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
    let message = |request: &Request<'scope, L>| match request.operation {
        Operation::Message { request, .. } => Some(request),
        Operation::Other(..) => None,
    };
    let messages: Option<Vec<EngineRequest>> = requests.iter().map(message).collect();
    if let Some(messages) = messages {
        let (index, outcome) = engine.wait_any(&messages);
        return Some((index, requests.remove(index).end(outcome)));
    }
    loop {
        for index in 0..requests.len() {
            if let Some(outcome) = requests[index].test().transpose() {
                drop(requests.remove(index));
                return Some((index, outcome));
            }
        }
        if let Err(error) = wait_for_one(requests) {
            let request = requests.remove(0);
            return Some((0, Err(request.fail(error))));
        }
    }
}

/// Waits until one of several operations may be over.
fn wait_for_one<L: Level>(requests: &[Request<'_, L>]) -> Result<(), EngineError> {
    let engine = &requests[0].communicator.process.engine;
    let mut watched: Vec<RequestId> = Vec::new();
    // Whether nothing but messages can end one of them.
    let mut only = true;
    for request in requests {
        let before = watched.len();
        match &request.operation {
            Operation::Message {
                request: EngineRequest::Pending(id),
                ..
            } => watched.push(*id),
            Operation::Message { .. } => {}
            Operation::Other(operation, _) => operation.watch(&mut watched),
        }
        only &= watched.len() > before;
    }
    let is_noted = |request: &Request<'_, L>| match &request.operation {
        Operation::Message { .. } => false,
        Operation::Other(operation, _) => operation.is_noted(),
    };
    engine.wait_for(&watched, || requests.iter().any(is_noted), only)
}
