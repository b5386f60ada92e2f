//! Calls that all ranks of a communicator make together.
//!
//! A call checks its arguments, describes itself in bytes (`collectives::plan::Call`) and is run: small
//! ones on a `board` that the group shares, all others by a schedule that the pure part makes and
//! `run` walks with engine requests. `movement`
//! holds the calls that only move data, `reduction` those that combine it, `blocks` the
//! checks of counts and displacements.

mod blocks;
mod board;
mod movement;
mod reduction;
mod run;

use std::sync::atomic::Ordering;

use crate::collectives::plan::{self, Call};
use crate::collectives::{Placement, Position};
use crate::communicator::{Communicator, Core};
use crate::error::{ErrorKind, Result};
use crate::thread::Level;

pub(crate) use board::GroupBoard;
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
        let mut inside = self.enter()?;
        if let Some(board) = inside.board()
            && let Some(result) = board.run(&self.shared.engine, call, send, receive, combine)
        {
            return result;
        }
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

    /// Keeps a second call out of the collectives of this communicator: their messages would mix.
    #[inline]
    fn enter(&self) -> Result<Inside<'_>, ErrorKind> {
        let flag = &self.core.in_collective;
        let taken = if L::CONCURRENT {
            // Pairs with the Release in `Inside::drop`.
            flag.swap(true, Ordering::Acquire)
        } else {
            // One thread: only an operation that calls a collective can come here twice.
            let taken = flag.load(Ordering::Relaxed);
            flag.store(true, Ordering::Relaxed);
            taken
        };
        if taken {
            return Err(ErrorKind::ConcurrentCollective);
        }
        Ok(Inside { core: &self.core })
    }
}

/// A call is inside a collective for as long as this lives; there is never a second one.
struct Inside<'a> {
    core: &'a Core,
}

impl Inside<'_> {
    #[inline]
    fn board(&mut self) -> Option<&mut GroupBoard> {
        // SAFETY: `enter` makes one of these at a time, and nothing else looks into the cell while handles
        // of the communicator exist.
        unsafe { (*self.core.board.get()).as_mut() }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.core.in_collective.store(false, Ordering::Release);
    }
}
