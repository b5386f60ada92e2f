//! Calls on requests that are nothing but messages: the engine's names are all that is needed, so
//! these are looked at where they are, without an [`AnyRequest`](super::AnyRequest) for each.

use oxmpi_engine::{Completion, Engine, EngineError, Look, Request, RequestId, Several};

use super::Report;
use crate::error::ErrorKind;
use crate::process::Process;

/// A message among the requests of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its place in the call's list.
    pub place: u32,
    /// Its name in the engine.
    pub id: RequestId,
}

/// A list for the engine, which tells of its entries by their number here.
struct Messages<'l>(&'l [Listed]);

impl Several for Messages<'_> {
    #[inline]
    fn each(&self, mut visit: impl FnMut(usize, RequestId)) {
        for (number, message) in self.0.iter().enumerate() {
            visit(number, message.id);
        }
    }
}

/// Calls on messages of this process.
impl Process {
    /// Waits for a message; it is gone then.
    #[inline]
    pub fn wait_message(&self, id: RequestId) -> Result<Report, ErrorKind> {
        Ok(self.engine.wait(Request::Pending(id))?.into())
    }

    /// The report of a message that is over, and it is gone; `None` if it is not. Background work
    /// makes a step.
    #[inline]
    pub fn test_message(&self, id: RequestId) -> Result<Option<Report>, ErrorKind> {
        let message = Request::Pending(id);
        let mut tested = self.engine.test(message)?;
        if tested.is_none() && self.background.step_if_active() {
            tested = self.engine.test(message)?;
        }
        Ok(tested.map(Report::from))
    }

    /// The report of a message that is over; it stays.
    pub fn peek_message(&self, id: RequestId) -> Result<Report, ErrorKind> {
        Ok(self.engine.peek(id)?.into())
    }

    /// Whether all of the messages are over; they stay.
    pub fn are_over(&self, messages: &[Listed]) -> bool {
        let engine: &Engine = &self.engine;
        engine.are_complete(&Messages(messages))
            || self.background.step_if_active() && engine.are_complete(&Messages(messages))
    }

    /// Waits for each of the messages and tells its number in the list and how it ended; they are
    /// gone then. `ended` must not make calls on requests.
    #[inline]
    pub fn wait_messages(
        &self,
        messages: &[Listed],
        mut ended: impl FnMut(usize, Result<Report, ErrorKind>),
    ) {
        let tell = |number, outcome: Result<Completion, EngineError>| {
            ended(number, outcome.map(Report::from).map_err(ErrorKind::from));
        };
        self.engine.wait_each(&Messages(messages), tell);
    }

    /// Tells the number and the turn of every message that can be handed out now, as
    /// [`look_at`](super::look_at) does.
    pub fn look_at_messages(&self, messages: &[Listed], found: impl FnMut(usize, u64)) -> Look {
        self.background.step_if_active();
        self.engine.look_at(&Messages(messages), found)
    }

    /// Waits until one of the messages may be over; they stay.
    pub fn wait_for_any(&self, messages: &[Listed]) -> Result<(), ErrorKind> {
        Ok(self
            .engine
            .wait_for_several(&Messages(messages), || false, true)?)
    }
}
