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
use crate::collectives::{Placement, Position, Schedule};
use crate::communicator::{Comm, Communicator};
use crate::error::{ErrorKind, Result};
use crate::plain::{Plain, bytes, bytes_mut};
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

    fn move_data(&self, call: &Call<'_>, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorKind> {
        self.comm.move_data(call, send, receive)
    }
}

impl Comm {
    /// Runs one collective, whose arguments have been checked, from beginning to end.
    pub(crate) fn together(
        &self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let mut inside = self.enter()?;
        if let Some(board) = inside.board()
            && let Some(result) = board.run(&self.process.engine, call, send, receive, combine)
        {
            return result;
        }
        self.by_schedule(call, send, receive, combine)
    }

    /// Runs one that combines nothing.
    pub(crate) fn move_data(
        &self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
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
        let schedule = self.schedule(call);
        let buffers = Buffers::new(send, receive, schedule.scratch_bytes());
        // SAFETY: `send` and `receive` stay borrowed until `wait` returns.
        unsafe { Run::start(self, &schedule, buffers) }.wait(combine)
    }

    /// The schedule of a call on this communicator.
    pub(crate) fn schedule(&self, call: &Call<'_>) -> Schedule {
        let position = Position::new(self.rank, self.size);
        let placement = Placement::one_host(self.size, self.process.engine.usable_cpus());
        plan::schedule(call, position, placement)
    }

    /// Copies the root's values to every rank.
    pub(crate) fn bcast_plain<T: Plain>(&self, data: &mut [T], root: u32) -> Result<(), ErrorKind> {
        let bytes = size_of_val(data);
        self.move_data(&Call::Bcast { bytes, root }, &[], bytes_mut(data))
    }

    /// Brings every rank's values to every rank.
    pub(crate) fn allgather_plain<T: Plain>(
        &self,
        data: &[T],
        all: &mut [T],
    ) -> Result<(), ErrorKind> {
        let call = Call::Allgather {
            bytes: size_of_val(data),
            in_place: false,
        };
        self.move_data(&call, bytes(data), bytes_mut(all))
    }

    /// Keeps a second call out of the collectives of this communicator: their messages would mix.
    #[inline]
    fn enter(&self) -> Result<Inside<'_>, ErrorKind> {
        let flag = &self.in_collective;
        let taken = if self.process.concurrent {
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
        Ok(Inside { comm: self })
    }
}

/// A call is inside a collective for as long as this lives; there is never a second one.
struct Inside<'a> {
    comm: &'a Comm,
}

impl Inside<'_> {
    #[inline]
    fn board(&mut self) -> Option<&mut GroupBoard> {
        // SAFETY: `enter` makes one of these at a time, and nothing else looks into the cell while handles
        // of the communicator exist.
        unsafe { (*self.comm.board.get()).as_mut() }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.comm.in_collective.store(false, Ordering::Release);
    }
}
