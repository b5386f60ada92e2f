//! Messages whose data does not lie in one block: packed copies are sent, and what is received is unpacked at the end.

use std::sync::Arc;

use oxmpi_engine::{Request, RequestId};

use super::{Pending, Report};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;

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
