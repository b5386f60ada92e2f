//! Calls that all ranks of a communicator make together.
//!
//! A call checks its arguments, describes itself in bytes (`oxmpi_schedules::plan::Call`) and is
//! run: small ones on a `board` that the group shares if it lives on one host, all others by a
//! schedule that the pure part makes and `run` walks with engine requests. Calls are described by a
//! [`Collective`], which `job` makes ready and `request` runs in the background where the call does
//! not wait. The typed calls of Rust programs are in `typed`, with `blocks` for their counts and
//! displacements.

mod across;
mod agreement;
mod alone;
mod at_once;
mod blocks;
mod board;
mod description;
mod job;
mod request;
mod run;
mod side;
mod typed;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::communicator::{Comm, GroupBoard};
use crate::error::{ErrorKind, Result};
use oxmpi_datatypes::plain::{Plain, bytes, bytes_mut};
use oxmpi_schedules::plan::{self, Call};
use oxmpi_schedules::{Placement, Position, Schedule};

use agreement::{Agreement, trail_after};
pub use at_once::Combined;
use board::Rest;
pub use description::{Collective, Neighbours, Parts, Reduction, Root, Shares};
use job::Job;
use run::{Places, Run};
pub use typed::{Prepared, Started, call, sides};

/// The numbers of collectives that run once.
const NUMBER_MASK: u32 = NONBLOCKING as u32 - 1;

/// Set in the numbers of nonblocking collectives. They are counted apart: the standard wants all
/// members to begin all collectives in one order, but programs exist that begin a nonblocking one
/// before a blocking one on some ranks and after it on others, and other libraries let them.
const NONBLOCKING: i32 = 1 << 29;

/// Set in the numbers of persistent collectives.
const PERSISTENT: i32 = 1 << 30;

/// The number of the messages by which the members of a host get their board, once in a
/// communicator: no collective has it, because persistent ones are nonblocking, too.
const BOARD_NUMBER: i32 = PERSISTENT | NUMBER_MASK as i32;

/// Combines bytes into bytes: `into = input ∘ into`.
type Combine<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

impl Comm {
    /// Runs a described collective from beginning to end.
    pub fn collective(&self, collective: Collective) -> Result<(), ErrorKind> {
        if self.is_alone() && matches!(collective, Collective::Barrier) {
            return Ok(());
        }
        let mut job = Job::empty();
        job.prepare(self, collective)?;
        job.load();
        let mut combine = |input: &[u8], into: &mut [u8]| job.combine(input, into);
        let whole = self.whole();
        // SAFETY: the buffers' makers promise that their memory is there for as long as the
        // operation goes on, and copies live as long as the job. Where a board sees whole sides,
        // the job has kept them apart.
        unsafe {
            match job.schedule() {
                None => {
                    let agreed = (job.call(), job.operation());
                    whole.together_at(&agreed.0, agreed.1, job.places(), &mut combine)?;
                }
                Some(schedule) => {
                    let _inside = whole.enter()?;
                    whole.walk(schedule, 0, job.places(), &mut combine)?;
                }
            }
        }
        job.store();
        Ok(())
    }

    /// Whether this process is the only member.
    #[inline]
    fn is_alone(&self) -> bool {
        self.size == 1 && !self.is_inter()
    }

    /// The communicator on which the messages of collectives travel: of an intercommunicator, that
    /// of both groups.
    fn whole(&self) -> &Comm {
        match self.inter() {
            None => self,
            Some(inter) => &inter.union,
        }
    }

    /// Runs one collective, whose arguments have been checked, from beginning to end.
    pub(crate) fn together(
        &self,
        call: &Call<'_>,
        operation: u8,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let places = Places::new(send, receive);
        // SAFETY: `send` and `receive` stay borrowed until this returns.
        unsafe { self.together_at(call, operation, places, combine) }
    }

    /// Runs one collective on memory that is named by its address. The operation has the number of
    /// an [`Agreement`].
    ///
    /// # Safety
    /// The places must be valid until this returns, and nobody else may use them. If the call suits
    /// a board they must not overlap.
    #[inline(always)]
    unsafe fn together_at(
        &self,
        call: &Call<'_>,
        operation: u8,
        places: Places,
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        if self.is_alone() && alone::run(call, places) {
            return Ok(());
        }
        let mut inside = self.enter()?;
        let before = self.trail.load(Ordering::Relaxed);
        let agreed = self.agreement(call, operation);
        // SAFETY: the caller's promise.
        let ended = unsafe { self.together_as(agreed, &mut inside, call, places, combine) };
        // Whoever has been told of a disagreement on roots need not be told again.
        match &ended {
            Err(ErrorKind::DifferentRoot { .. }) => self.trail.store(before, Ordering::Relaxed),
            Err(ErrorKind::EarlierRoot { .. }) => self.trail.store(0, Ordering::Relaxed),
            _ => {}
        }
        ended
    }

    /// Runs one collective of which this member says `agreed`.
    ///
    /// # Safety
    /// As [`Comm::together_at`].
    #[inline(always)]
    unsafe fn together_as(
        &self,
        agreed: Agreement,
        inside: &mut Inside<'_>,
        call: &Call<'_>,
        places: Places,
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        if let Some(hosts) = self.hosts() {
            // SAFETY: the caller's promise.
            return unsafe { self.together_across(hosts, inside, call, agreed, places, combine) };
        }
        if let Some(board) = inside.board()
            && board.suits(&self.process.engine, call)?
        {
            // All members count, whether they will have messages or not.
            let number = call.is_uneven().then(|| self.next_number());
            // SAFETY: the caller's promise.
            let (send, receive) = unsafe { places.as_slices() };
            let rest = board.run(&self.process.engine, agreed, call, send, receive, combine)?;
            let schedule = match rest {
                Rest::Nothing => return Ok(()),
                Rest::All => self.schedule(call),
                Rest::With(members) => Arc::new(plan::root_with(call, &members)),
            };
            let number = number.expect("only an uneven call leaves something to messages");
            let marks = (number, agreed.signature());
            // SAFETY: the caller's promise; the slices are not used any more.
            return unsafe { self.walk_as(marks, &schedule, places, combine) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.walk(&self.schedule(call), agreed.signature(), places, combine) }
    }

    /// What this member says of a call that all make; a root is taken down for the calls to come.
    #[inline(always)]
    fn agreement(&self, call: &Call<'_>, operation: u8) -> Agreement {
        let trail = self.trail.load(Ordering::Relaxed);
        if let Some(root) = call.root() {
            // Nobody else is inside a collective of this communicator.
            self.trail
                .store(trail_after(trail, root), Ordering::Relaxed);
        }
        Agreement {
            collective: call.collective(),
            operation,
            trail: trail as u8,
        }
    }

    /// Runs one that combines nothing.
    pub(crate) fn move_data(
        &self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        let mut combine = |_: &[u8], _: &mut [u8]| unreachable!("no operation, no reduce step");
        self.together(call, 0, send, receive, &mut combine)
    }

    /// Any collective on any communicator: messages between pairs of ranks.
    ///
    /// # Safety
    /// As [`Run::start`]; until this returns.
    unsafe fn walk(
        &self,
        schedule: &Schedule,
        signature: u8,
        places: Places,
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let marks = (self.next_number(), signature);
        // SAFETY: the caller's promise.
        unsafe { self.walk_as(marks, schedule, places, combine) }
    }

    /// As [`Comm::walk`], with a number and a signature that the caller has chosen.
    ///
    /// # Safety
    /// As [`Run::start`]; until this returns.
    #[inline(never)]
    unsafe fn walk_as(
        &self,
        marks: (i32, u8),
        schedule: &Schedule,
        places: Places,
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        // SAFETY: the caller's promise; the run ends here.
        unsafe { Run::start(self, schedule, places, marks) }.wait(combine)
    }

    /// Numbers the messages of a collective. All members count their collectives alike, so the
    /// number names the same one everywhere.
    fn next_number(&self) -> i32 {
        let number = self.collectives.fetch_add(1, Ordering::Relaxed);
        (number & NUMBER_MASK) as i32
    }

    /// The same for a nonblocking collective.
    fn next_nonblocking_number(&self) -> i32 {
        let number = self.nonblocking_collectives.fetch_add(1, Ordering::Relaxed);
        (number & NUMBER_MASK) as i32 | NONBLOCKING
    }

    /// The same for a persistent collective, whose number must stay its own while ordinary ones go
    /// round.
    fn next_lasting_number(&self) -> i32 {
        self.next_nonblocking_number() | PERSISTENT
    }

    /// The schedule of a call on this communicator.
    #[inline(never)]
    pub(crate) fn schedule(&self, call: &Call<'_>) -> Arc<Schedule> {
        self.kept.schedule(call, || {
            let placement = match self.hosts() {
                None => Placement::one_host(self.size, self.process.engine.usable_cpus()),
                Some(hosts) => Placement::several_hosts(hosts),
            };
            plan::schedule(call, self.position(), placement)
        })
    }

    fn position(&self) -> Position {
        Position::new(self.rank, self.size)
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
    #[inline(always)]
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
    #[inline(always)]
    fn board(&mut self) -> Option<&mut GroupBoard> {
        // SAFETY: `enter` makes one of these at a time, and nothing else looks into the cell while
        // handles of the communicator exist.
        unsafe { (*self.comm.board.get()).as_mut() }
    }
}

impl Inside<'_> {
    /// Puts a board there, for the collectives to come.
    fn set_board(&mut self, board: GroupBoard) {
        // SAFETY: as in `board`.
        unsafe { *self.comm.board.get() = Some(board) };
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.comm.in_collective.store(false, Ordering::Release);
    }
}
