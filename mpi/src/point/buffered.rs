//! Buffered sends: the message is copied, and the program's memory is free at once (MPI 5.0 §3.6).
//!
//! The copy takes space of the most specific pool that the program has attached (`attached`): the
//! communicator's, else that of its session, else that of the process.

use std::sync::Arc;

use oxmpi_engine::{Engine, Mode, Request, RequestId};

use super::persistent::Persistent;
use crate::any_request::{AnyRequest, Pending, Report};
use crate::attached::{OVERHEAD_BYTES, Pool};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;

impl Comm {
    /// Sends a copy.
    pub fn buffered_send(
        self: &Arc<Self>,
        buffer: &Buffer,
        dest: Option<u32>,
        tag: i32,
    ) -> Result<(), ErrorKind> {
        let Some(dest) = dest else { return Ok(()) };
        self.envelope(buffer.content(), dest, tag)?;
        let Some(pool) = self.buffering() else {
            return Err(ErrorKind::BufferedSpace {
                needed: buffer.bytes() + OVERHEAD_BYTES,
                free: 0,
                capacity: 0,
            });
        };
        pool.reserve(buffer.bytes())?;
        let begun = self.send_copy(&pool, buffer, dest, tag);
        if !matches!(begun, Ok(true)) {
            pool.give_back(buffer.bytes());
        }
        begun.map(|_| ())
    }

    /// Begins to send a copy, which the pool keeps; false if it has left at once.
    fn send_copy(
        &self,
        pool: &Pool,
        buffer: &Buffer,
        dest: u32,
        tag: i32,
    ) -> Result<bool, ErrorKind> {
        let (process, envelope) = self.envelope(buffer.content(), dest, tag)?;
        let (engine, data) = (&self.process.engine, buffer.pack()?);
        // SAFETY: the pool keeps the data until the request is over; moving the vector does not
        // move the data.
        match unsafe { engine.isend(process, envelope, data.as_ptr(), Mode::Standard)? } {
            Request::Over(_) => Ok(false),
            Request::Pending(request) => {
                pool.keep(engine.clone(), request, data);
                Ok(true)
            }
        }
    }

    /// The pool that buffered sends of this communicator use: its own, else that of its session,
    /// else that of the process.
    fn buffering(&self) -> Option<Arc<Pool>> {
        let own = self.attached().pool();
        own.or_else(|| self.group().origin()?.pool())
            .or_else(|| self.process.attached.pool())
    }

    /// A buffered send that is started later.
    pub fn buffered_send_init(
        self: &Arc<Self>,
        buffer: Buffer,
        dest: Option<u32>,
        tag: i32,
    ) -> Result<AnyRequest, ErrorKind> {
        if let Some(dest) = dest {
            self.envelope(buffer.content(), dest, tag)?;
        }
        let comm = self.clone();
        let begin = move || {
            comm.buffered_send(&buffer, dest, tag)?;
            Ok(AnyRequest::Over(Report::EMPTY))
        };
        Ok(Persistent::operation(self, Box::new(begin)))
    }
}

impl Pool {
    /// An operation that is over when the messages of now have left.
    pub fn iflush(self: &Arc<Self>) -> AnyRequest {
        match self.engine() {
            None => AnyRequest::Over(Report::EMPTY),
            Some(engine) => AnyRequest::other(Flush {
                pool: self.clone(),
                engine,
            }),
        }
    }
}

/// All messages of a pool.
struct Flush {
    pool: Arc<Pool>,
    engine: Arc<Engine>,
}

impl Pending for Flush {
    fn comm(&self) -> Option<&Arc<Comm>> {
        None
    }

    fn engine(&self) -> Option<&Arc<Engine>> {
        Some(&self.engine)
    }

    fn is_ready(&mut self) -> bool {
        self.pool.engine().is_none()
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        self.pool.watch(requests);
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        Ok(Report::EMPTY)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
