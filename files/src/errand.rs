//! Access that goes on in the background: a future that the library steps, and the request that
//! the program holds of it.
//!
//! The compiler makes the state machine out of an `async` function; there is no runtime. Whoever
//! waits inside the library polls it, and the engine's driver while the program computes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use oxmpi_core::ErrorKind;
use oxmpi_core::any_request::{AnyRequest, Pending, Report};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Task, Work};

type Result<T> = std::result::Result<T, ErrorKind>;
type Access = Pin<Box<dyn Future<Output = Result<Report>> + Send>>;

/// An access under way.
struct Errand {
    access: Option<Access>,
    outcome: Option<Result<Report>>,
    calls_program: bool,
}

impl Work for Errand {
    fn step(&mut self) -> bool {
        let Some(access) = &mut self.access else {
            return true;
        };
        let mut context = Context::from_waker(Waker::noop());
        match access.as_mut().poll(&mut context) {
            Poll::Pending => false,
            Poll::Ready(outcome) => {
                self.access = None;
                self.outcome = Some(outcome);
                true
            }
        }
    }

    /// What was begun is written before the process leaves.
    fn is_departing(&self) -> bool {
        true
    }

    fn calls_program(&self) -> bool {
        self.calls_program
    }
}

/// Begins an access. `calls_program`: a step may call functions of the program.
pub(crate) fn begin(
    comm: &Arc<Comm>,
    calls_program: bool,
    access: impl Future<Output = Result<Report>> + Send + 'static,
) -> AnyRequest {
    let task = Task::new(Errand {
        access: Some(Box::pin(access)),
        outcome: None,
        calls_program,
    });
    comm.process().start(task.clone());
    AnyRequest::other(FileRequest {
        comm: comm.clone(),
        task,
    })
}

/// What the program holds.
struct FileRequest {
    comm: Arc<Comm>,
    task: Arc<Task<Errand>>,
}

impl Pending for FileRequest {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        if !self.task.is_over() {
            self.comm.process().progress();
        }
        self.task.is_over()
    }

    fn watch(&self, _: &mut Vec<oxmpi_core::any_request::RequestId>) {}

    fn is_noted(&self) -> bool {
        self.task.is_over()
    }

    fn conclude(&mut self) -> Result<Report> {
        let outcome = self.task.with(|errand| errand.outcome.take());
        outcome.unwrap_or(Err(ErrorKind::RequestFailed))
    }

    fn peek(&mut self) -> Option<Result<Report>> {
        self.task.with(|errand| match errand.outcome.take()? {
            Ok(report) => {
                errand.outcome = Some(Ok(report));
                Some(Ok(report))
            }
            Err(error) => {
                errand.outcome = Some(Err(ErrorKind::RequestFailed));
                Some(Err(error))
            }
        })
    }

    fn cancel(&mut self) -> Result<()> {
        Err(ErrorKind::NotCancellable {
            what: "an access to a file",
        })
    }
}
