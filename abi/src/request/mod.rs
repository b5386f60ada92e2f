//! Requests: the handles by which programs know operations under way.
//!
//! A call that works on a request takes its operation out of the table (`request_table`) and puts
//! it back or gives the place up; a second call on the same request meanwhile, which MPI forbids
//! (§11.6.2), finds it occupied. Two things can be reached even then, because threads may use them
//! while another one waits: the partitions of a partitioned message, and the end of a generalized
//! request. Messages, which most requests are, stay in the table and are completed there: [`wait`],
//! [`test()`], and [`Messages`] for lists of them.
//!
//! A send that was over when its call returned needs no place: its handle is [`SENT`].

mod list;
mod messages;

use std::sync::Arc;

use oxmpi_core::ErrorKind;
use oxmpi_core::any_request::{AnyRequest, Partitions, Report};
use oxmpi_core::communicator::Comm;
use oxmpi_engine::RequestId;

use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Communicator, File, Window};
use crate::request_table::{Beside, Missing, REQUESTS_MAX, Signal, Table, table};
use crate::stage;
use crate::subject::Subject;

pub use crate::request_table::SENT;
pub use list::{All, take_all};
pub use messages::{EndedAt, Messages, complete_next};

#[cold]
fn no_request(handle: Handle) -> Failure {
    let text = format!(
        "the request {handle} is not one: it was completed or freed, or never was a request"
    );
    Failure::new(MPI_ERR_REQUEST, text)
}

#[cold]
fn missing(handle: Handle, why: Missing) -> Failure {
    if why == Missing::Unknown {
        return no_request(handle);
    }
    let text = format!("another thread is completing the request {handle} now; only one may");
    Failure::new(MPI_ERR_REQUEST, text)
}

/// Gives a receive into one block a handle.
#[inline]
pub fn of_receive(comm: &Communicator, id: RequestId) -> Result<Handle, Failure> {
    table().insert_message(comm, id, false).ok_or_else(full)
}

/// Gives an operation a handle.
#[inline]
pub fn of(operation: AnyRequest) -> Result<Handle, Failure> {
    let beside = match &operation {
        AnyRequest::Other(other) => other
            .partitions()
            .map_or(Beside::Nothing, Beside::Partitions),
        _ => Beside::Nothing,
    };
    insert(operation, beside)
}

/// Gives a send on this communicator a handle.
#[inline]
pub fn of_send(comm: &Communicator, operation: AnyRequest) -> Result<Handle, Failure> {
    match operation {
        AnyRequest::Over(_) => Ok(SENT),
        AnyRequest::Send(_, id) => table().insert_message(comm, id, true).ok_or_else(full),
        _ => of(operation),
    }
}

/// Gives a generalized request a handle; `signal` is set by MPI_Grequest_complete.
pub fn of_generalized(operation: AnyRequest, signal: Arc<Signal>) -> Result<Handle, Failure> {
    insert(operation, Beside::Signal(signal))
}

#[inline]
fn insert(operation: AnyRequest, beside: Beside) -> Result<Handle, Failure> {
    table().insert(operation, beside).ok_or_else(full)
}

#[cold]
fn full() -> Failure {
    let text = format!("{REQUESTS_MAX} requests exist already; complete some first");
    Failure::new(MPI_ERR_OTHER, text)
}

/// How a call on a request has ended: the outcome, and what the program's handle is from now on.
pub type Ended = (Result<Report, Failure>, Handle);

/// Waits for a request and completes it.
#[inline]
pub fn wait(handle: Handle) -> Result<Ended, Failure> {
    if handle == SENT || handle == MPI_REQUEST_NULL {
        return Ok((Ok(Report::EMPTY), MPI_REQUEST_NULL));
    }
    let message = table().occupy(handle);
    if let (Some(id), Some(process)) = (message, stage::current()) {
        let waited = process.wait_message(id);
        return Ok((release(handle, waited), MPI_REQUEST_NULL));
    }
    let Some(mut taken) = take(handle)?.filter(Taken::is_active) else {
        return Ok((Ok(Report::EMPTY), handle));
    };
    Ok(taken.wait())
}

/// Completes a request if it is over; `None` if it is not.
#[inline]
pub fn test(handle: Handle) -> Result<Option<Ended>, Failure> {
    if handle == SENT || handle == MPI_REQUEST_NULL {
        return Ok(Some((Ok(Report::EMPTY), MPI_REQUEST_NULL)));
    }
    let message = table().message(handle);
    if let (Some(id), Some(process)) = (message, stage::current()) {
        let tested = match process.test_message(id) {
            Ok(None) => return Ok(None),
            Ok(Some(report)) => Ok(report),
            Err(kind) => Err(kind),
        };
        return Ok(Some((release(handle, tested), MPI_REQUEST_NULL)));
    }
    let Some(mut taken) = take(handle)?.filter(Taken::is_active) else {
        return Ok(Some((Ok(Report::EMPTY), handle)));
    };
    if !taken.operation().is_ready() {
        stage::progress();
        if !taken.operation().is_ready() {
            return Ok(None);
        }
    }
    Ok(Some(taken.conclude()))
}

/// The message is over: its request is gone.
#[inline]
fn release(handle: Handle, outcome: Result<Report, ErrorKind>) -> Result<Report, Failure> {
    let outcome = outcome.map_err(|kind| failed_message(handle, kind));
    let unused = table().release(handle);
    drop(unused);
    outcome
}

/// The failure of a message whose place still exists.
#[cold]
fn failed_message(handle: Handle, kind: ErrorKind) -> Failure {
    let comm = table().comm(handle);
    failed(kind, comm.as_ref())
}

/// An operation that a call works on. It goes back to its place when this is dropped, unless it was
/// concluded and is over for good.
#[derive(Debug)]
pub struct Taken {
    handle: Handle,
    /// Always there until the drop.
    operation: Option<AnyRequest>,
    is_gone: bool,
}

/// Takes out the operation behind a handle; none for MPI_REQUEST_NULL.
#[inline]
pub fn take(handle: Handle) -> Result<Option<Taken>, Failure> {
    take_by(handle, |handle| table().take(handle))
}

#[inline]
fn take_by(
    handle: Handle,
    take: impl FnOnce(Handle) -> Result<AnyRequest, Missing>,
) -> Result<Option<Taken>, Failure> {
    if handle == MPI_REQUEST_NULL {
        return Ok(None);
    }
    let operation = match handle {
        SENT => AnyRequest::Over(Report::EMPTY),
        _ => take(handle).map_err(|why| missing(handle, why))?,
    };
    Ok(Some(Taken {
        handle,
        operation: Some(operation),
        is_gone: false,
    }))
}

impl Taken {
    /// The operation.
    #[inline]
    pub fn operation(&mut self) -> &mut AnyRequest {
        self.operation.as_mut().expect("it is there until the drop")
    }

    /// Whether it has been begun and not concluded.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.operation.as_ref().is_some_and(AnyRequest::is_active)
    }

    /// Concludes an operation that is ready: the outcome, and what the program's handle is from now
    /// on.
    #[inline]
    pub fn conclude(&mut self) -> Ended {
        self.end(AnyRequest::conclude)
    }

    /// Waits for the operation and concludes it.
    #[inline]
    pub fn wait(&mut self) -> Ended {
        self.end(AnyRequest::wait)
    }

    #[inline]
    fn end(&mut self, end: impl FnOnce(&mut AnyRequest) -> Result<Report, ErrorKind>) -> Ended {
        let operation = self.operation();
        let outcome = end(operation);
        let is_persistent = operation.is_persistent();
        let outcome = outcome.map_err(|kind| failed(kind, operation.comm()));
        if is_persistent {
            return (outcome, self.handle);
        }
        self.is_gone = true;
        (outcome, MPI_REQUEST_NULL)
    }

    /// Lets the operation go on by itself and gives its place up.
    fn free(mut self) {
        self.is_gone = true;
        if let Some(operation) = self.operation.take() {
            operation.detach();
        }
    }

    /// Puts the operation back, or gives its place up; it needs no place from now on. What is left
    /// may be much: it is to be dropped when the table is free again.
    fn settle(&mut self, table: &mut Table) -> Option<Arc<Comm>> {
        let handle = std::mem::replace(&mut self.handle, SENT);
        if handle == SENT {
            return None;
        }
        match self.operation.take() {
            Some(operation) if !self.is_gone => {
                self.operation = table.put_back(handle, operation);
                None
            }
            operation => {
                self.operation = operation;
                table.release(handle)
            }
        }
    }
}

impl Drop for Taken {
    #[inline]
    fn drop(&mut self) {
        if self.handle != SENT {
            let unused = self.settle(&mut table());
            drop(unused);
        }
    }
}

/// Gives a request up (MPI_Request_free). A generalized one that is not complete stays in its place,
/// where MPI_Grequest_complete still has to find it.
pub fn free(handle: Handle) -> Result<(), Failure> {
    let beside = table().beside(handle);
    match beside {
        Some(Beside::Signal(signal)) if !signal.free() => Ok(()),
        _ => give_up(handle),
    }
}

/// Takes the operation out for good.
fn give_up(handle: Handle) -> Result<(), Failure> {
    let Some(taken) = take(handle)? else {
        let text = "MPI_REQUEST_NULL cannot be freed";
        return Err(Failure::new(MPI_ERR_REQUEST, text));
    };
    taken.free();
    Ok(())
}

/// A failure of an operation: the error handler of its communicator, or of the window whose hidden
/// one that is, is responsible.
#[cold]
pub fn failed(kind: ErrorKind, comm: Option<&Arc<Comm>>) -> Failure {
    let failure = Failure::from(kind);
    let handle = match comm.map(|comm| comm.handle()) {
        Some(handle) if handle != 0 => Handle(handle as usize),
        _ => return failure,
    };
    // The own communicator of a window or of a file has the handle of that.
    if Window::table().get(handle).is_some() {
        failure.on(Subject::Win(handle))
    } else if File::table().get(handle).is_some() {
        failure.on(Subject::File(handle))
    } else {
        failure.on(Subject::Comm(handle))
    }
}

/// The partitions of a partitioned request.
pub fn partitions(handle: Handle) -> Result<Arc<dyn Partitions>, Failure> {
    match table().beside(handle) {
        Some(Beside::Partitions(partitions)) => Ok(partitions),
        None => Err(no_request(handle)),
        _ => {
            let text =
                format!("the request {handle} was not made by MPI_Psend_init or MPI_Precv_init");
            Err(Failure::new(MPI_ERR_REQUEST, text))
        }
    }
}

/// Notes the end of a generalized request.
pub fn signal(handle: Handle) -> Result<(), Failure> {
    let beside = table().beside(handle);
    match beside {
        Some(Beside::Signal(signal)) => {
            if signal.complete() {
                give_up(handle)?;
            }
            Ok(())
        }
        None => Err(no_request(handle)),
        _ => {
            let text = format!("the request {handle} was not made by MPI_Grequest_start");
            Err(Failure::new(MPI_ERR_REQUEST, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over() -> AnyRequest {
        AnyRequest::Over(Report::NOBODY)
    }

    #[test]
    fn a_completed_request_is_told_from_its_successor() {
        let first = of(over()).unwrap();
        let (outcome, next) = take(first).unwrap().unwrap().wait();
        assert_eq!((outcome.unwrap(), next), (Report::NOBODY, MPI_REQUEST_NULL));
        let second = of(over()).unwrap();
        assert_ne!(first, second);
        assert_eq!(take(first).unwrap_err().code(), MPI_ERR_REQUEST);
        assert!(second.0 >= 4096 && second.0 <= i32::MAX as usize);
        take(second).unwrap().unwrap().free();
        assert!(
            take(second).is_err() && take(Handle(12345)).is_err() && take(MPI_COMM_WORLD).is_err()
        );
    }

    #[test]
    fn what_is_not_concluded_goes_back() {
        let handle = of(over()).unwrap();
        let taken = take(handle).unwrap().unwrap();
        assert_eq!(take(handle).unwrap_err().code(), MPI_ERR_REQUEST);
        drop(taken);
        take(handle).unwrap().unwrap().free();
    }

    #[test]
    fn sends_that_are_over_share_a_handle() {
        for _ in 0..2 {
            assert_eq!(take(SENT).unwrap().unwrap().wait().1, MPI_REQUEST_NULL);
        }
        assert!(take(MPI_REQUEST_NULL).unwrap().is_none());
        assert!(partitions(SENT).is_err() && signal(SENT).is_err());
    }
}
