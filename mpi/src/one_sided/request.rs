//! Operations with a request, in passive epochs: to be waited for, tested or awaited.
//!
//! A transfer is a handle. The operation belongs to the epoch's scope, which ends only after it; so
//! dropping or forgetting a transfer is harmless.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Window;
use crate::any_request::UnderWay;
use crate::error::Result;
use crate::thread::{Funneled, Level};
use oxmpi_datatypes::plain::Plain;

/// An operation of a passive epoch that can be waited for by itself. It is also a future, for any
/// executor (one that moves futures between threads needs the level
/// [`Multiple`](crate::thread::Multiple)). A put or an accumulation is over when its memory can be
/// used again, not when it has taken effect: that is what flushes are for.
#[must_use = "the epoch's end still waits for the operation"]
pub struct Transfer<'scope, T: Plain, L: Level = Funneled> {
    window: &'scope Window<'scope, T, L>,
    call: &'static str,
    operation: UnderWay,
    memory: PhantomData<&'scope mut [T]>,
}

impl<'scope, T: Plain, L: Level> Transfer<'scope, T, L> {
    pub(super) fn new(
        window: &'scope Window<'scope, T, L>,
        call: &'static str,
        operation: UnderWay,
    ) -> Self {
        Transfer {
            window,
            call,
            operation,
            memory: PhantomData,
        }
    }

    /// Waits until the operation is over.
    pub fn wait(self) -> Result<()> {
        let outcome = self.operation.wait();
        outcome
            .map(drop)
            .map_err(|kind| self.window.fail(self.call, kind))
    }

    /// Tells whether the operation is over, without waiting.
    pub fn test(&mut self) -> Result<bool> {
        self.window.process.background.step_if_active();
        let outcome = self.operation.test();
        outcome
            .map(|ended| ended.is_some())
            .map_err(|kind| self.window.fail(self.call, kind))
    }
}

impl<T: Plain, L: Level> Future for Transfer<'_, T, L> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        loop {
            match this.test() {
                Ok(true) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error)),
                Ok(false) => {}
            }
            if this.operation.set_waker(context.waker()) {
                return Poll::Pending;
            }
            // It ended between the two looks.
        }
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for Transfer<'_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transfer")
            .field("call", &self.call)
            .field("over", &self.operation.is_idle())
            .finish_non_exhaustive()
    }
}
