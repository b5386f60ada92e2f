//! Operations of a window that are over when the target has answered.

use std::sync::Arc;

use oxmpi_engine::RequestId;
use oxmpi_windows::message::Refusal;

use super::memory::Core;
use crate::any_request::{AnyRequest, Pending, Report};
use crate::communicator::Comm;
use crate::error::ErrorKind;

/// An answer that is received into a buffer of the program. A target that could not do its part
/// answers with fewer bytes.
pub(super) struct Answered {
    answer: AnyRequest,
    core: Arc<Core>,
    target: u32,
    displacement: i64,
    bytes: u64,
}

impl Answered {
    pub(super) fn new(
        answer: AnyRequest,
        core: Arc<Core>,
        target: u32,
        displacement: i64,
        bytes: u64,
    ) -> Answered {
        Answered {
            answer,
            core,
            target,
            displacement,
            bytes,
        }
    }
}

impl Pending for Answered {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.core.comm)
    }

    fn is_ready(&mut self) -> bool {
        self.answer.is_ready()
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        self.answer.watch(requests);
    }

    fn is_noted(&self) -> bool {
        self.answer.is_noted()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let report = self.answer.conclude()?;
        if report.bytes < self.bytes {
            let refusal = Refusal::Memory {
                displacement: self.displacement,
                bytes: self.bytes,
            };
            return Err(self.core.refused(self.target, refusal));
        }
        Ok(Report::EMPTY)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        let what = "a one-sided operation";
        Err(ErrorKind::NotCancellable { what })
    }
}
