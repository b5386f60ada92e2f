//! Epochs as scopes: closures in which operations are begun, and at whose end they are complete.
//!
//! As in `point::scope`, memory lent to an operation stays borrowed until the scope has ended, and
//! the scope does not end before the operations have, also by a panic.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::Window;
use super::element::{Accumulation, Element, Fetching, Integer, NoOp};
use super::operation::Until;
use super::place::{At, There};
use super::request::Transfer;
use crate::any_request::AnyRequest;
use crate::any_request::UnderWay;
use crate::error::{ErrorKind, Result, WindowError};
use crate::group::Group;
use crate::thread::{Funneled, Level};
use crate::window::{Assertion, LockKind};
use oxmpi_datatypes::data::{Data, DataMut};
use oxmpi_datatypes::plain::Plain;

/// Accesses to the memory of other ranks; what is begun is complete when the scope ends.
///
/// ```no_run
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let window = world.window::<f64>(2)?;
/// let (edge, next) = ([1.0], (world.rank() + 1) % world.size());
/// window.fence(|epoch| epoch.put(&edge, next, 0))?;
/// # Ok::<(), oxmpi::Error>(())
/// ```
///
/// Memory that an operation still uses cannot be touched, freed or moved:
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let window = world.window::<f64>(2).unwrap();
/// window.fence(|epoch| {
///     let edge = [1.0];                 // would be gone before the scope has ended
///     epoch.put(&edge, 0, 0)
/// });
/// ```
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let window = world.window::<f64>(2).unwrap();
/// let mut edge = [1.0];
/// window.fence(|epoch| {
///     epoch.get(&mut edge, 0, 0)?;
///     println!("{}", edge[0]);          // has not arrived yet
///     Ok(())
/// });
/// ```
///
/// Nor can the epoch itself be used after its end:
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let window = world.window::<f64>(2).unwrap();
/// let mut kept = None;
/// window.fence(|epoch| {
///     kept = Some(epoch);
///     Ok(())
/// });
/// ```
pub struct Epoch<'scope, 'env: 'scope, T: Plain, L: Level = Funneled> {
    window: &'scope Window<'scope, T, L>,
    /// Operations with a request that the program has not taken the outcome of.
    begun: Mutex<Vec<UnderWay>>,
    /// Both lifetimes must be exactly the ones of the call (invariant), as in std's scope.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// An [`Epoch`] of locks: it can be flushed, has operations with a request of their own, and
/// atomics that return what was there.
pub struct Passive<'scope, 'env: 'scope, T: Plain, L: Level = Funneled> {
    epoch: Epoch<'scope, 'env, T, L>,
}

/// Operations with a request that are remembered before those that are over are forgotten.
const BEGUN_MAX: usize = 64;

/// Runs also when the body panics.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// An epoch between two fences: every rank of the window may access every other. All ranks call
    /// it, and all of its operations are complete everywhere when it returns. Collective.
    pub fn fence<'env, R, F>(&self, body: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Epoch<'scope, 'env, T, L>) -> Result<R>,
    {
        let call = "fence";
        self.begin_fence(call)?;
        let mut assertion = Assertion {
            no_precede: true,
            ..Assertion::default()
        };
        // If a fence fails, others may be inside the epoch all the same: it counts as open for
        // good.
        let opened = self.window.fence(assertion);
        opened.map_err(|kind| self.fail(call, kind))?;
        let epoch = Epoch::new(self);
        let at_end = AtEnd(|| {
            let _ = self.window.complete_all();
        });
        let result = body(&epoch);
        std::mem::forget(at_end);
        assertion = Assertion {
            no_succeed: true,
            ..Assertion::default()
        };
        let closed = self.window.fence(assertion);
        // An operation that could not be done does not keep the others from ending the epoch; a
        // rank that has died does.
        self.state().fenced = self.window.is_parted();
        self.outcome(call, result, closed)
    }

    fn begin_fence(&self, call: &'static str) -> Result<()> {
        let mut state = self.state();
        self.refuse(call, Self::own_obstacle(&state))?;
        state.fenced = true;
        Ok(())
    }

    /// The body's error comes first.
    fn outcome<R>(
        &self,
        call: &'static str,
        result: Result<R>,
        ended: Result<(), ErrorKind>,
    ) -> Result<R> {
        let value = result?;
        ended.map_err(|kind| self.fail(call, kind))?;
        Ok(value)
    }

    /// An epoch of accesses to `ranks`, each of which calls [`Window::expose`] with this rank
    /// (MPI_Win_start and MPI_Win_complete).
    pub fn access<'env, R, F>(&self, ranks: &[u32], body: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Epoch<'scope, 'env, T, L>) -> Result<R>,
    {
        let call = "access";
        let group = self.group(call, ranks)?;
        let fenced = self.state().fenced;
        self.refuse(call, fenced.then_some("this process is between two fences"))?;
        let started = self.window.start(&group, Assertion::default());
        started.map_err(|kind| self.fail(call, kind))?;
        let epoch = Epoch::new(self);
        let at_end = AtEnd(|| {
            let _ = self.window.complete();
        });
        let result = body(&epoch);
        std::mem::forget(at_end);
        self.outcome(call, result, self.window.complete())
    }

    /// Exposes this rank's memory to `ranks`, which call [`Window::access`], while `body` runs, and
    /// until they have ended their accesses (MPI_Win_post and MPI_Win_wait).
    pub fn expose<R>(&self, ranks: &[u32], body: impl FnOnce() -> Result<R>) -> Result<R> {
        let call = "expose";
        let group = self.group(call, ranks)?;
        {
            let mut state = self.state();
            self.refuse(call, Self::own_obstacle(&state))?;
            state.exposed = true;
        }
        // Whoever has locked this rank exclusively may look at its memory directly: this waits.
        if let Err(kind) = self.window.hold_own(LockKind::Shared) {
            self.state().exposed = false;
            return Err(self.fail(call, kind));
        }
        if let Err(kind) = self.window.post(&group, Assertion::default()) {
            self.end_exposure();
            return Err(self.fail(call, kind));
        }
        // A panic, or the death of one of the ranks, leaves the memory exposed, and the lock held:
        // the others may still access it.
        let result = body();
        let ended = self.window.wait();
        if ended.is_ok() {
            self.end_exposure();
        }
        self.outcome(call, result, ended)
    }

    fn end_exposure(&self) {
        self.window.release_own();
        self.state().exposed = false;
    }

    fn group(&self, call: &'static str, ranks: &[u32]) -> Result<Group> {
        let size = self.size();
        if let Some(&rank) = ranks.iter().find(|rank| **rank >= size) {
            return Err(self.fail(call, WindowError::Rank { rank, size }));
        }
        let processes = self.window.group().processes();
        let picked = ranks.iter().map(|rank| processes[*rank as usize]);
        Ok(Group::new(picked.collect()))
    }

    /// An epoch in which every rank's memory is locked, shared.
    pub fn lock_all<'env, R, F>(&self, body: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Passive<'scope, 'env, T, L>) -> Result<R>,
    {
        let lock = || self.window.lock_all(Assertion::default());
        self.passive("lock_all", lock, || self.window.unlock_all(), body)
    }

    /// An epoch in which one rank's memory is locked. Where the operations need not be under way at
    /// the same time, [`Window::lock`] and [`Window::lock_shared`] are simpler.
    pub fn locked<'env, R, F>(&self, kind: LockKind, rank: u32, body: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Passive<'scope, 'env, T, L>) -> Result<R>,
    {
        let lock = || self.window.lock(kind, Some(rank), Assertion::default());
        self.passive("locked", lock, || self.window.unlock(Some(rank)), body)
    }

    fn passive<'env, R, F>(
        &self,
        call: &'static str,
        lock: impl FnOnce() -> Result<(), ErrorKind>,
        unlock: impl Fn() -> Result<(), ErrorKind>,
        body: F,
    ) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Passive<'scope, 'env, T, L>) -> Result<R>,
    {
        self.begin_lock(call)?;
        lock().map_err(|kind| {
            self.end_lock();
            self.fail(call, kind)
        })?;
        let passive = Passive {
            epoch: Epoch::new(self),
        };
        let end = || {
            let settled = passive.epoch.settle();
            let unlocked = unlock();
            self.end_lock();
            settled.and(unlocked)
        };
        let at_end = AtEnd(|| {
            let _ = end();
        });
        let result = body(&passive);
        std::mem::forget(at_end);
        self.outcome(call, result, end())
    }
}

impl<'scope, T: Plain, L: Level> Epoch<'scope, '_, T, L> {
    fn new(window: &'scope Window<'scope, T, L>) -> Self {
        Epoch {
            window,
            begun: Mutex::default(),
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// Waits for the operations with a request; the first error is told.
    fn settle(&self) -> Result<(), ErrorKind> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = Ok(());
        for operation in begun.drain(..) {
            outcome = outcome.and(operation.wait().map(drop));
        }
        outcome
    }

    fn begun(&self, call: &'static str, done: Result<AnyRequest, ErrorKind>) -> Result<()> {
        done.map(drop).map_err(|kind| self.window.fail(call, kind))
    }

    /// Writes `data` to a rank's memory, from element `at` on, or to the elements of a shape
    /// ([`Shape::at`](crate::view::Shape::at)).
    pub fn put<'s, D>(
        &'scope self,
        data: &'scope D,
        rank: u32,
        at: impl Into<At<'s, T>>,
    ) -> Result<()>
    where
        D: Data<Element = T> + ?Sized,
    {
        let there = There::new(rank, at);
        // SAFETY: borrowed until the scope ends, which is after the operation.
        let begun = unsafe { self.window.begin_put(Until::Later, data.memory(), there) };
        self.begun("put", begun)
    }

    /// Reads from a rank's memory, from element `at` on, or the elements of a shape.
    pub fn get<'s, D>(
        &'scope self,
        into: &'scope mut D,
        rank: u32,
        at: impl Into<At<'s, T>>,
    ) -> Result<()>
    where
        D: DataMut<Element = T> + ?Sized,
    {
        let (into, there) = (into.memory_mut(), There::new(rank, at));
        // SAFETY: borrowed until the scope ends, which is after the operation.
        let begun = unsafe { self.window.begin_get(Until::Later, into, there) };
        self.begun("get", begun)
    }
}

impl<'scope, T: Element, L: Level> Epoch<'scope, '_, T, L> {
    /// Combines `data` into a rank's memory, from element `at` on, atomically per element.
    pub fn accumulate<'s, D, O: Accumulation<T>>(
        &'scope self,
        data: &'scope D,
        rank: u32,
        at: impl Into<At<'s, T>>,
        _op: O,
    ) -> Result<()>
    where
        D: Data<Element = T> + ?Sized,
    {
        let (data, there) = (data.memory(), There::new(rank, at));
        let window = self.window;
        // SAFETY: borrowed until the scope ends, which is after the operation.
        let begun = unsafe { window.begin_accumulate(Until::Later, data, there, O::OP) };
        self.begun("accumulate", begun)
    }

    /// As [`Epoch::accumulate`]; `before` is what was there, once the scope has ended.
    pub fn get_accumulate<'s, D, B, O: Fetching<T>>(
        &'scope self,
        data: &'scope D,
        before: &'scope mut B,
        rank: u32,
        at: impl Into<At<'s, T>>,
        _op: O,
    ) -> Result<()>
    where
        D: Data<Element = T> + ?Sized,
        B: DataMut<Element = T> + ?Sized,
    {
        let (data, before) = (data.memory(), before.memory_mut());
        let (window, there) = (self.window, There::new(rank, at));
        // SAFETY: both are borrowed until the scope ends, which is after the operation.
        let begun = unsafe { window.begin_fetch(Until::Later, data, before, there, O::OP) };
        self.begun("get_accumulate", begun)
    }
}

impl<'scope, 'env, T: Plain, L: Level> Deref for Passive<'scope, 'env, T, L> {
    type Target = Epoch<'scope, 'env, T, L>;

    fn deref(&self) -> &Epoch<'scope, 'env, T, L> {
        &self.epoch
    }
}

impl<'scope, T: Plain, L: Level> Passive<'scope, '_, T, L> {
    fn transfer(
        &'scope self,
        call: &'static str,
        begun: Result<AnyRequest, ErrorKind>,
    ) -> Result<Transfer<'scope, T, L>> {
        let window = self.epoch.window;
        let operation = UnderWay::new(begun.map_err(|kind| window.fail(call, kind))?);
        if !operation.is_idle() {
            let begun = &self.epoch.begun;
            let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
            if begun.len() >= BEGUN_MAX {
                begun.retain(|operation| !operation.is_idle());
            }
            begun.push(operation.clone());
        }
        Ok(Transfer::new(window, call, operation))
    }

    /// As [`Epoch::put`], with a request.
    pub fn rput<'s, D>(
        &'scope self,
        data: &'scope D,
        rank: u32,
        at: impl Into<At<'s, T>>,
    ) -> Result<Transfer<'scope, T, L>>
    where
        D: Data<Element = T> + ?Sized,
    {
        let there = There::new(rank, at);
        // SAFETY: borrowed until the scope ends, which is after the operation.
        let begun = unsafe { self.window.begin_put(Until::Request, data.memory(), there) };
        self.transfer("rput", begun)
    }

    /// As [`Epoch::get`], with a request.
    pub fn rget<'s, D>(
        &'scope self,
        into: &'scope mut D,
        rank: u32,
        at: impl Into<At<'s, T>>,
    ) -> Result<Transfer<'scope, T, L>>
    where
        D: DataMut<Element = T> + ?Sized,
    {
        let (into, there) = (into.memory_mut(), There::new(rank, at));
        // SAFETY: borrowed until the scope ends, which is after the operation.
        let begun = unsafe { self.window.begin_get(Until::Request, into, there) };
        self.transfer("rget", begun)
    }

    /// Waits until everything that was begun at a rank has taken effect there.
    pub fn flush(&self, rank: u32) -> Result<()> {
        let flushed = self.window.window.flush(Some(rank));
        flushed.map_err(|kind| self.window.fail("flush", kind))
    }

    /// Waits until everything that was begun has taken effect.
    pub fn flush_all(&self) -> Result<()> {
        let flushed = self.window.window.flush_all();
        flushed.map_err(|kind| self.window.fail("flush_all", kind))
    }
}

impl<'scope, T: Element, L: Level> Passive<'scope, '_, T, L> {
    /// As [`Epoch::accumulate`], with a request.
    pub fn raccumulate<'s, D, O: Accumulation<T>>(
        &'scope self,
        data: &'scope D,
        rank: u32,
        at: impl Into<At<'s, T>>,
        _op: O,
    ) -> Result<Transfer<'scope, T, L>>
    where
        D: Data<Element = T> + ?Sized,
    {
        let (data, there) = (data.memory(), There::new(rank, at));
        let window = self.window;
        // SAFETY: borrowed until the scope ends, which is after the operation.
        let begun = unsafe { window.begin_accumulate(Until::Request, data, there, O::OP) };
        self.transfer("raccumulate", begun)
    }

    /// As [`Epoch::get_accumulate`], with a request.
    pub fn rget_accumulate<'s, D, B, O: Fetching<T>>(
        &'scope self,
        data: &'scope D,
        before: &'scope mut B,
        rank: u32,
        at: impl Into<At<'s, T>>,
        _op: O,
    ) -> Result<Transfer<'scope, T, L>>
    where
        D: Data<Element = T> + ?Sized,
        B: DataMut<Element = T> + ?Sized,
    {
        let (data, before) = (data.memory(), before.memory_mut());
        let (window, there) = (self.window, There::new(rank, at));
        // SAFETY: both are borrowed until the scope ends, which is after the operation.
        let begun = unsafe { window.begin_fetch(Until::Request, data, before, there, O::OP) };
        self.transfer("rget_accumulate", begun)
    }

    /// Combines `value` into element `at` of a rank, atomically; the value before.
    pub fn fetch_and_op<O: Fetching<T>>(
        &self,
        value: T,
        rank: u32,
        at: usize,
        _op: O,
    ) -> Result<T> {
        let there = (rank, at);
        self.window.fetch_one("fetch_and_op", value, there, O::OP)
    }

    /// Reads element `at` of a rank, atomically.
    pub fn load(&self, rank: u32, at: usize) -> Result<T> {
        self.fetch_and_op(T::ZERO, rank, at, NoOp)
    }
}

impl<T: Integer, L: Level> Passive<'_, '_, T, L> {
    /// Replaces element `at` of a rank by `new` if it equals `compare`, atomically; the value
    /// before.
    pub fn compare_and_swap(&self, compare: T, new: T, rank: u32, at: usize) -> Result<T> {
        self.window.compare_one(compare, new, rank, at)
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for Epoch<'_, '_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Epoch").finish_non_exhaustive()
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for Passive<'_, '_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passive").finish_non_exhaustive()
    }
}
