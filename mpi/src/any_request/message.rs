//! Messages whose data does not lie in one block, and messages of the library's own memory.
//!
//! The engine walks a scattered message's layout while it moves; the operation keeps the layout
//! where it is until then. Where the kernel's driver places messages, which it can in one block
//! only, a receive takes memory of the library's own and is unpacked at its end.

use std::sync::Arc;

use oxmpi_engine::{Request, RequestId, Spread};

use super::{Pending, Report};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;

/// A message from or into scattered memory.
pub struct Scattered {
    pub(crate) comm: Arc<Comm>,
    pub(crate) request: RequestId,
    /// It is sent, not received.
    pub(crate) sends: bool,
    /// What the engine reads until the request is over.
    pub(crate) spread: Option<Box<Spread>>,
}

impl Drop for Scattered {
    fn drop(&mut self) {
        // The engine may still use it: it is lost rather than used for another message.
        std::mem::forget(self.spread.take());
    }
}

impl Pending for Scattered {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        let engine = &self.comm.process.engine;
        engine.is_complete(Request::Pending(self.request))
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        requests.push(self.request);
    }

    fn message(&self) -> Option<RequestId> {
        Some(self.request)
    }

    fn is_departing(&self) -> bool {
        self.sends
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let process = &self.comm.process;
        let ended = process.engine.wait(Request::Pending(self.request));
        if let Some(spread) = self.spread.take() {
            process.spreads.give_back(spread);
        }
        Ok(Report::from(ended?))
    }

    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        let peeked = self.comm.process.engine.peek(self.request);
        Some(peeked.map(Report::from).map_err(ErrorKind::from))
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        let engine = &self.comm.process.engine;
        engine.cancel(Request::Pending(self.request));
        Ok(())
    }
}

/// A message from or into memory of its own.
pub(crate) struct Staged {
    pub(crate) comm: Arc<Comm>,
    pub(crate) request: RequestId,
    /// The packed data, which the engine reads or writes.
    pub(crate) packed: Vec<u8>,
    /// Where a received message belongs.
    pub(crate) target: Option<Buffer>,
    /// The engine has let go of the packed data.
    pub(crate) concluded: bool,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.concluded {
            // The engine may still use the memory: it is lost rather than used by somebody else.
            std::mem::forget(std::mem::take(&mut self.packed));
        }
    }
}

impl Staged {
    /// After the engine's end: what was received goes where it belongs.
    fn deliver(&self, report: &Report) {
        if let Some(target) = &self.target
            && !report.cancelled
        {
            target.unpack(&self.packed[..report.bytes as usize]);
        }
    }
}

impl Pending for Staged {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        let engine = &self.comm.process.engine;
        engine.is_complete(Request::Pending(self.request))
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        requests.push(self.request);
    }

    fn message(&self) -> Option<RequestId> {
        Some(self.request)
    }

    fn is_departing(&self) -> bool {
        self.target.is_none()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let engine = &self.comm.process.engine;
        let ended = engine.wait(Request::Pending(self.request));
        self.concluded = true;
        let report = Report::from(ended?);
        self.deliver(&report);
        Ok(report)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        let engine = &self.comm.process.engine;
        engine.cancel(Request::Pending(self.request));
        Ok(())
    }
}
