//! Calls that all ranks of a communicator make together.
//!
//! A call checks its arguments, describes itself in bytes (`collectives::plan::Call`) and is run: the
//! pure part makes a schedule of it, and `run` walks the schedule with engine requests. `movement`
//! holds the calls that only move data, `reduction` those that combine it, `blocks` the
//! checks of counts and displacements.

mod blocks;
mod movement;
mod reduction;
mod run;

use std::sync::atomic::Ordering;

use crate::collectives::plan::{self, Call};
use crate::collectives::{Placement, Position};
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::thread::Level;

use run::{Buffers, Run};

/// Combines bytes into bytes: `into = input ∘ into`.
type Combine<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

impl<L: Level> Communicator<'_, L> {
    /// Gives the errors of a collective's checks and of its run the name of the call.
    fn named(
        &self,
        name: &'static str,
        body: impl FnOnce() -> Result<(), ErrorKind>,
    ) -> Result<()> {
        body().map_err(|kind| self.fail(name, kind))
    }

    /// Runs one collective, whose arguments have been checked, from beginning to end.
    fn together(
        &self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let _inside = self.enter()?;
        self.by_schedule(call, send, receive, combine)
    }

    /// Runs one that combines nothing.
    fn move_data(&self, call: &Call<'_>, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorKind> {
        let mut combine = |_: &[u8], _: &mut [u8]| unreachable!("no operation, no reduce step");
        self.together(call, send, receive, &mut combine)
    }

    /// Any collective on any communicator: messages between pairs of ranks.
    fn by_schedule(
        &self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let core = &*self.core;
        let position = Position::new(core.rank, core.size);
        let placement = Placement::one_host(core.size, self.shared.engine.usable_cpus());
        let schedule = plan::schedule(call, position, placement);
        let buffers = Buffers::new(send, receive, schedule.scratch_bytes());
        // SAFETY: `send` and `receive` stay borrowed until `wait` returns.
        unsafe { Run::start(self.shared, core, &schedule, buffers) }.wait(combine)
    }

    /// Keeps a second thread out of the collectives of this communicator: their messages would mix.
    fn enter(&self) -> Result<Inside<'_>, ErrorKind> {
        let flag = L::CONCURRENT.then_some(&self.core.in_collective);
        match flag {
            Some(flag) if flag.swap(true, Ordering::Acquire) => {
                Err(ErrorKind::ConcurrentCollective)
            }
            _ => Ok(Inside(flag)),
        }
    }
}

/// A thread is inside a collective for as long as this lives.
struct Inside<'a>(Option<&'a std::sync::atomic::AtomicBool>);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(flag) = self.0 {
            // Pairs with the Acquire of the next thread that enters.
            flag.store(false, Ordering::Release);
        }
    }
}
