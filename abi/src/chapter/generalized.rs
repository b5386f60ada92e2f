//! Generalized requests: operations of the program's own that are completed like MPI's (MPI 5.0
//! §13.2).

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use oxmpi_core::ErrorKind;
use oxmpi_core::any_request::{AnyRequest, Pending, Report, Sender};
use oxmpi_core::communicator::Comm;
use oxmpi_engine::RequestId;

use crate::argument::{Callback, Out};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request;
use crate::request_table::Signal;
use crate::stage;
use crate::status::Status;

type Query = unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// The operation behind a generalized request.
struct Generalized {
    query: Option<Query>,
    free: Option<Free>,
    cancel: Option<Cancel>,
    extra_state: *mut c_void,
    signal: Arc<Signal>,
}

// SAFETY: the program's functions and its state are called by the thread that completes the
// request, as MPI says they are.
unsafe impl Send for Generalized {}

impl Generalized {
    /// What the program's function says of the operation.
    fn query(&self) -> Result<Report, ErrorKind> {
        let mut status = Status::new(&Report::EMPTY);
        let code = match self.query {
            // SAFETY: the program gave this function for this state.
            Some(query) => unsafe { query(self.extra_state, &mut status) },
            None => MPI_SUCCESS,
        };
        if code != MPI_SUCCESS {
            return Err(ErrorKind::Callback { code });
        }
        Ok(Report {
            sender: Sender::Stated(status.source),
            tag: Some(status.tag),
            bytes: status.bytes(),
            cancelled: status.is_cancelled(),
        })
    }
}

impl Generalized {
    /// Gives the program's state up, once.
    fn free(&mut self) -> Result<(), ErrorKind> {
        let Some(free) = self.free.take() else {
            return Ok(());
        };
        // SAFETY: the program gave this function for this state; it is called once, here.
        match unsafe { free(self.extra_state) } {
            MPI_SUCCESS => Ok(()),
            code => Err(ErrorKind::Callback { code }),
        }
    }
}

impl Drop for Generalized {
    fn drop(&mut self) {
        // The request was freed, so no call is left that could be told.
        let _ = self.free();
    }
}

impl Pending for Generalized {
    fn comm(&self) -> Option<&Arc<Comm>> {
        None
    }

    fn is_ready(&mut self) -> bool {
        self.signal.is_complete()
    }

    fn watch(&self, _: &mut Vec<RequestId>) {}

    fn is_noted(&self) -> bool {
        self.signal.is_complete()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let report = self.query();
        let freed = self.free();
        let report = report?;
        freed.map(|()| report)
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        Some(self.query())
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        let Some(cancel) = self.cancel else {
            return Ok(());
        };
        let is_complete = c_int::from(self.signal.is_complete());
        // SAFETY: the program gave this function for this state.
        match unsafe { cancel(self.extra_state, is_complete) } {
            MPI_SUCCESS => Ok(()),
            code => Err(ErrorKind::Callback { code }),
        }
    }
}

pub fn grequest_start(
    _: &Call,
    query: Callback,
    free: Callback,
    cancel: Callback,
    extra_state: *mut c_void,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let signal = Arc::new(Signal::default());
    // SAFETY: the header declares the parameters with these types.
    let generalized = unsafe {
        Generalized {
            query: query.function(),
            free: free.function(),
            cancel: cancel.function(),
            extra_state,
            signal: signal.clone(),
        }
    };
    let operation = AnyRequest::other(generalized);
    request.set(request::of_generalized(operation, signal)?);
    Ok(())
}

pub fn grequest_complete(_: &Call, request: Handle) -> Result<(), Failure> {
    request::signal(request)?;
    if let Some(process) = stage::process() {
        process.rouse();
    }
    Ok(())
}
