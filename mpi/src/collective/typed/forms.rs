//! The forms in which a described collective runs: at once, in a scope, or again and again.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::super::description::Collective;
use super::call::{Call, Combination, Keep};
use super::check::describe;
use super::sides::{Access, AccessMut, Place, Side};
use crate::any_request::{AnyRequest, UnderWay};
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::point::{Request, Scope};
use crate::status::Status;
use crate::thread::{Funneled, Level};
use oxmpi_datatypes::op::Op;

impl<L: Level> Communicator<'_, L> {
    /// Runs a described collective from beginning to end. The methods that are named after the
    /// collectives do nothing else.
    #[inline]
    pub fn run<S: Side, R: Side, O: Combination>(&self, mut call: Call<S, R, O>) -> Result<()> {
        // SAFETY: the operation is used during the call alone, and both sides are borrowed for
        // longer than that.
        let ran = unsafe {
            let op = call.op.borrow();
            self.described(&mut call, op)
                .and_then(|collective| self.comm.collective(collective))
        };
        ran.map_err(|kind| self.fail(call.name, kind))
    }

    /// Begins a described collective; its memory is borrowed until the scope ends. The request can
    /// be waited for together with messages, or awaited.
    ///
    /// ```no_run
    /// use oxmpi::{collective, op::Sum};
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let mut total = 0.0;
    /// let part = 1.5;
    /// oxmpi::scope(|s| {
    ///     let sum = world.begin(s, collective::allreduce(&part, &mut total, Sum))?;
    ///     // compute something else here
    ///     sum.wait()
    /// })?;
    /// println!("{total}");
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    ///
    /// All ranks must begin their collectives in the same order. One that a rank has begun can only
    /// be completed; when the body of the scope fails it is given up, and the other ranks learn of
    /// that when this one ends.
    ///
    /// Memory in use cannot be touched, and an operation must own what it uses:
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let mut data = [0; 4];
    /// oxmpi::scope(|s| {
    ///     let request = world.begin(s, oxmpi::collective::bcast(&mut data, 0))?;
    ///     data[0] = 1;
    ///     request.wait()
    /// });
    /// ```
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// oxmpi::scope(|s| {
    ///     let mut data = [0; 4];
    ///     world.begin(s, oxmpi::collective::bcast(&mut data, 0))?.wait()
    /// });
    /// ```
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let (a, factor) = (1, std::cell::Cell::new(2));
    /// let mut b = 0;
    /// oxmpi::scope(|s| {
    ///     let op = oxmpi::op::user(true, |x: &i32, y: &i32| x * y * factor.get());
    ///     world.begin(s, oxmpi::collective::allreduce(&a, &mut b, op))?.wait()
    /// });
    /// ```
    pub fn begin<'scope, S: Side + 'scope, R: Side + 'scope, O: Keep>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: Call<S, R, O>,
    ) -> Result<Request<'scope, L>> {
        let name = call.name;
        let (op, mut call) = call.take_op();
        // SAFETY: the sides are borrowed for 'scope, and the scope does not end before the
        // collective; the operation is its own.
        let collective = unsafe { self.described(&mut call, op) };
        let begun = collective.and_then(|collective| self.comm.icollective(collective));
        self.other(scope, name, begun)
    }

    /// Prepares a described collective that is started any number of times, which saves its checks
    /// and its plan each time. Between two starts the program uses the memory through what this
    /// returns:
    ///
    /// ```no_run
    /// use oxmpi::{collective, op::Max};
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let (mut change, mut largest) = (0.0, 0.0);
    /// oxmpi::scope(|s| {
    ///     let call = collective::allreduce(&mut change, &mut largest, Max);
    ///     let mut step = world.prepare(s, call)?;
    ///     loop {
    ///         *step.input_mut() = 0.5;
    ///         let started = step.start()?;
    ///         // compute something else here
    ///         step = started.wait()?;
    ///         if *step.output() < 1.0 {
    ///             return Ok(());
    ///         }
    ///     }
    /// })?;
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    ///
    /// All ranks must prepare their collectives in the same order among all collectives of the
    /// communicator; they may start them in any.
    ///
    /// While it goes on there is nothing to touch the memory with:
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let mut data = [0; 4];
    /// oxmpi::scope(|s| {
    ///     let mut step = world.prepare(s, oxmpi::collective::bcast(&mut data, 0))?;
    ///     let started = step.start()?;
    ///     step.output_mut()[0] = 1;
    ///     started.wait().map(drop)
    /// });
    /// ```
    pub fn prepare<'scope, S: Side + 'scope, R: Side + 'scope, O: Keep>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: Call<S, R, O>,
    ) -> Result<Prepared<'scope, S, R, L>> {
        let name = call.name;
        let (op, mut call) = call.take_op();
        // SAFETY: the sides are borrowed for 'scope, and the scope does not end while it is
        // started; in between, the memory is used only through what this returns, and `start`
        // refuses to begin if another vector, slice or view was put in its place.
        let collective = unsafe { self.described(&mut call, op) };
        let made = collective.and_then(|collective| self.comm.collective_init(collective));
        self.prepared(scope, name, made, (call.send, call.receive))
    }

    /// An operation that was made of these sides, whose memory is borrowed for the scope.
    pub(crate) fn prepared<'scope, S: Side, R: Side>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: &'static str,
        made: Result<AnyRequest, ErrorKind>,
        (mut send, mut receive): (S, R),
    ) -> Result<Prepared<'scope, S, R, L>> {
        let operation = UnderWay::new(made.map_err(|kind| self.fail(call, kind))?);
        scope.remember_lasting(self.process, &operation);
        Ok(Prepared {
            lent: [send.given().place(), receive.given().place()],
            communicator: self,
            call,
            operation,
            status: None,
            send,
            receive,
        })
    }

    /// # Safety
    /// The sides must stay borrowed, and the operation be there, until the collective is over.
    #[inline]
    unsafe fn described<S: Side, R: Side, O>(
        &self,
        call: &mut Call<S, R, O>,
        op: Option<Op>,
    ) -> Result<Collective, ErrorKind> {
        let (send, receive) = (call.send.given(), call.receive.given());
        // SAFETY: the caller's promise. Only a receive side can stand alone, and both have the same
        // elements.
        unsafe { describe::<R::Element>(&self.comm, call.kind, send, receive, op) }
    }
}

/// A collective or a message that can be started; see [`Communicator::prepare`],
/// [`Communicator::prepare_send`] and [`Communicator::prepare_recv`].
#[must_use = "it is not started yet"]
pub struct Prepared<'scope, S, R, L: Level = Funneled> {
    communicator: &'scope Communicator<'scope, L>,
    call: &'static str,
    operation: UnderWay,
    /// Of the last time that it was over.
    status: Option<Status>,
    send: S,
    receive: R,
    /// Where both sides lay when it was prepared, which is where its bytes are moved.
    lent: [Place; 2],
}

impl<'scope, S: Side, R: Side, L: Level> Prepared<'scope, S, R, L> {
    /// Begins it. Its memory cannot be used until it has been waited for. It must be where it was
    /// when the operation was prepared: a vector may be changed in place, and neither grow nor be
    /// replaced.
    pub fn start(mut self) -> Result<Started<'scope, S, R, L>> {
        let lent = [self.send.given().place(), self.receive.given().place()];
        if lent != self.lent {
            return Err(self.communicator.fail(self.call, ErrorKind::MovedMemory));
        }
        match self.operation.start() {
            Ok(()) => Ok(Started(Some(self))),
            Err(kind) => Err(self.communicator.fail(self.call, kind)),
        }
    }

    /// How it ended the last time; `None` before that. Of a receive: from whom, and how much.
    pub fn status(&self) -> Option<Status> {
        self.status
    }
}

impl<S: Access, R, L: Level> Prepared<'_, S, R, L> {
    /// What it reads.
    pub fn input(&self) -> &S::Content {
        self.send.content()
    }

    /// What it reads, to be changed; it must have been given as `&mut`.
    pub fn input_mut(&mut self) -> &mut S::Content
    where
        S: AccessMut,
    {
        self.send.content_mut()
    }
}

impl<S, R: AccessMut, L: Level> Prepared<'_, S, R, L> {
    /// What it has written.
    pub fn output(&self) -> &R::Content {
        self.receive.content()
    }

    /// What it writes (and what a bcast at its root, or a collective in place, reads).
    pub fn output_mut(&mut self) -> &mut R::Content {
        self.receive.content_mut()
    }
}

/// A prepared collective or message under way. It is also a future, of the same that [`Started::wait`] gives.
#[must_use = "wait for it to get its memory back; the scope's end still waits for the operation"]
pub struct Started<'scope, S, R, L: Level = Funneled>(Option<Prepared<'scope, S, R, L>>);

const TAKEN: &str = "the end of this operation was told before";

impl<'scope, S, R, L: Level> Started<'scope, S, R, L> {
    /// Waits until it is over; then it can be started again.
    pub fn wait(mut self) -> Result<Prepared<'scope, S, R, L>> {
        let mut prepared = self.0.take().expect(TAKEN);
        match prepared.operation.wait() {
            Ok(report) => {
                prepared.status = Some(prepared.communicator.status(report));
                Ok(prepared)
            }
            Err(kind) => Err(prepared.communicator.fail(prepared.call, kind)),
        }
    }

    /// It, if it is over; does not wait.
    pub fn test(&mut self) -> Result<Option<Prepared<'scope, S, R, L>>> {
        let mut prepared = self.0.take().expect(TAKEN);
        match prepared.operation.test() {
            Ok(Some(report)) => {
                prepared.status = Some(prepared.communicator.status(report));
                Ok(Some(prepared))
            }
            Ok(None) => {
                self.0 = Some(prepared);
                Ok(None)
            }
            Err(kind) => Err(prepared.communicator.fail(prepared.call, kind)),
        }
    }
}

/// The sides are references, which nothing pins.
impl<S, R, L: Level> Unpin for Started<'_, S, R, L> {}

impl<'scope, S, R, L: Level> Future for Started<'scope, S, R, L> {
    type Output = Result<Prepared<'scope, S, R, L>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            if let Some(outcome) = this.test().transpose() {
                return Poll::Ready(outcome);
            }
            let prepared = this.0.as_ref().expect(TAKEN);
            if prepared.operation.set_waker(context.waker()) {
                return Poll::Pending;
            }
            // It ended between the two looks.
        }
    }
}

impl<S, R, L: Level> std::fmt::Debug for Prepared<'_, S, R, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

impl<S, R, L: Level> std::fmt::Debug for Started<'_, S, R, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Started").field(&self.0).finish()
    }
}
