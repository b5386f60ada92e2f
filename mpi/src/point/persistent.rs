//! Messages that are described once and started many times (MPI 5.0 §3.9).
//!
//! The arguments are checked when the request is made; each start begins an ordinary operation of
//! the same kind.

use std::sync::Arc;

use oxmpi_engine::{Mode, RequestId};

use crate::any_request::{AnyRequest, Pending, Report};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::status::{Source, Tag};

/// Begins the operation once.
type Begin = dyn FnMut() -> Result<AnyRequest, ErrorKind> + Send;

/// A persistent request around operations that are begun by a function.
pub(crate) struct Persistent {
    comm: Arc<Comm>,
    begin: Box<Begin>,
    active: Option<AnyRequest>,
}

impl Persistent {
    pub(crate) fn operation(comm: &Arc<Comm>, begin: Box<Begin>) -> AnyRequest {
        AnyRequest::other(Persistent {
            comm: comm.clone(),
            begin,
            active: None,
        })
    }
}

impl Comm {
    /// A send that is started later.
    pub fn send_init(
        self: &Arc<Self>,
        buffer: Buffer,
        dest: Option<u32>,
        tag: i32,
        mode: Mode,
    ) -> Result<AnyRequest, ErrorKind> {
        if let Some(dest) = dest {
            self.envelope(buffer.content(), dest, tag)?;
        }
        let comm = self.clone();
        let begin = move || comm.isend_buffer(&buffer, dest, tag, mode);
        Ok(Persistent::operation(self, Box::new(begin)))
    }

    /// A receive that is started later.
    pub fn recv_init(
        self: &Arc<Self>,
        buffer: Buffer,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<AnyRequest, ErrorKind> {
        if let Some(source) = source {
            self.pattern(source, tag, buffer.mark())?;
        }
        let comm = self.clone();
        let begin = move || comm.irecv_buffer(&buffer, source, tag);
        Ok(Persistent::operation(self, Box::new(begin)))
    }
}

impl Pending for Persistent {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        self.active.as_mut().is_none_or(AnyRequest::is_ready)
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        if let Some(active) = &self.active {
            active.watch(requests);
        }
    }

    fn message(&self) -> Option<RequestId> {
        self.active.as_ref().and_then(AnyRequest::message)
    }

    fn is_departing(&self) -> bool {
        self.active.as_ref().is_some_and(AnyRequest::is_departing)
    }

    fn is_noted(&self) -> bool {
        self.active.as_ref().is_some_and(AnyRequest::is_noted)
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        match self.active.take() {
            Some(mut active) => active.conclude(),
            None => Ok(Report::EMPTY),
        }
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        self.active.as_mut().map(AnyRequest::peek)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        self.active.as_mut().map_or(Ok(()), AnyRequest::cancel)
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_active(&self) -> bool {
        self.active.is_some()
    }

    fn start(&mut self) -> Result<(), ErrorKind> {
        if self.active.is_some() {
            return Err(ErrorKind::AlreadyActive);
        }
        self.active = Some((self.begin)()?);
        Ok(())
    }
}
