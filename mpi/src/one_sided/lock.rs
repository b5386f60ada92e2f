//! Locks as guards: one rank's memory, until the guard is dropped.
//!
//! A guard may be forgotten, so nothing may be under way when a call of it returns that still uses
//! the caller's memory: every call waits for that, and for nothing else.

use std::ops::Deref;

use super::Window;
use super::element::{Accumulation, Element, Fetching, Integer, NoOp, Replace};
use super::operation::Until;
use super::place::{At, There};
use crate::error::{Result, WindowError};
use crate::thread::{Funneled, Level};
use crate::window::{Assertion, Flavor, LockKind};
use oxmpi_datatypes::data::{Data, DataMut};
use oxmpi_datatypes::op::Sum;
use oxmpi_datatypes::plain::Plain;

/// The lock of a rank's memory, which other ranks may hold at the same time; dropping it unlocks.
/// Accesses that may meet those of other ranks must be atomic: accumulations and their kin.
#[must_use = "dropping it unlocks"]
pub struct Lock<'w, T: Plain, L: Level = Funneled> {
    pub(super) window: &'w Window<'w, T, L>,
    rank: u32,
}

/// The lock of a rank's memory that no other rank has; dropping it unlocks.
#[must_use = "dropping it unlocks"]
pub struct ExclusiveLock<'w, T: Plain, L: Level = Funneled> {
    lock: Lock<'w, T, L>,
}

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// Locks a rank's memory: no other rank has a lock of it until the guard is dropped.
    ///
    /// If a rank has died while it held the lock this is an error, once: what that rank was
    /// changing may be half done. The next call gets the lock.
    pub fn lock(&self, rank: u32) -> Result<ExclusiveLock<'_, T, L>> {
        let lock = self.take("lock", LockKind::Exclusive, rank)?;
        Ok(ExclusiveLock { lock })
    }

    /// Locks a rank's memory together with others who do the same. Errors are those of
    /// [`Window::lock`].
    pub fn lock_shared(&self, rank: u32) -> Result<Lock<'_, T, L>> {
        self.take("lock_shared", LockKind::Shared, rank)
    }

    fn take(&self, call: &'static str, kind: LockKind, rank: u32) -> Result<Lock<'_, T, L>> {
        self.begin_lock(call)?;
        let taken = self.window.lock(kind, Some(rank), Assertion::default());
        taken.map_err(|kind| {
            self.end_lock();
            self.fail(call, kind)
        })?;
        Ok(Lock { window: self, rank })
    }
}

impl<T: Plain, L: Level> Lock<'_, T, L> {
    /// The rank that is locked.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    fn there<'s>(&self, at: impl Into<At<'s, T>>) -> There<'s, T> {
        There::new(self.rank, at)
    }

    /// Writes `data` from element `at` on, or to the elements of a shape
    /// ([`Shape::at`](crate::view::Shape::at)). It is there after [`Lock::flush`] or the unlock.
    pub fn put<'s, D>(&self, data: &D, at: impl Into<At<'s, T>>) -> Result<()>
    where
        D: Data<Element = T> + ?Sized,
    {
        let (data, there) = (data.memory(), self.there(at));
        // SAFETY: it is settled before this returns.
        let begun = unsafe { self.window.begin_put(Until::Later, data, there) };
        self.window.settle("put", self.rank, begun)
    }

    /// Reads the elements from `at` on, or those of a shape.
    pub fn get<'s, D>(&self, into: &mut D, at: impl Into<At<'s, T>>) -> Result<()>
    where
        D: DataMut<Element = T> + ?Sized,
    {
        let (into, there) = (into.memory_mut(), self.there(at));
        // SAFETY: it is settled before this returns.
        let begun = unsafe { self.window.begin_get(Until::Later, into, there) };
        self.window.settle("get", self.rank, begun)
    }

    /// Waits until everything that was begun has taken effect at the rank.
    pub fn flush(&self) -> Result<()> {
        let flushed = self.window.window.flush(Some(self.rank));
        flushed.map_err(|kind| self.window.fail("flush", kind))
    }

    /// Waits until everything has taken effect, and unlocks; unlike the drop it tells errors.
    pub fn unlock(self) -> Result<()> {
        let (window, rank) = (self.window, self.rank);
        std::mem::forget(self);
        release(window, rank)
    }
}

fn release<T: Plain, L: Level>(window: &Window<'_, T, L>, rank: u32) -> Result<()> {
    let released = window.window.unlock(Some(rank));
    window.end_lock();
    released.map_err(|kind| window.fail("unlock", kind))
}

impl<T: Plain, L: Level> Drop for Lock<'_, T, L> {
    fn drop(&mut self) {
        // An error here is one of operations whose outcome the program did not ask for.
        let _ = release(self.window, self.rank);
    }
}

impl<T: Element, L: Level> Lock<'_, T, L> {
    /// Combines `data` into the elements from `at` on, atomically per element.
    pub fn accumulate<'s, D, O>(&self, data: &D, at: impl Into<At<'s, T>>, _op: O) -> Result<()>
    where
        D: Data<Element = T> + ?Sized,
        O: Accumulation<T>,
    {
        let (data, there) = (data.memory(), self.there(at));
        // SAFETY: it is settled before this returns.
        let begun = unsafe {
            self.window
                .begin_accumulate(Until::Later, data, there, O::OP)
        };
        self.window.settle("accumulate", self.rank, begun)
    }

    /// As [`Lock::accumulate`]; `before` is what was there.
    pub fn get_accumulate<'s, D, B, O: Fetching<T>>(
        &self,
        data: &D,
        before: &mut B,
        at: impl Into<At<'s, T>>,
        _op: O,
    ) -> Result<()>
    where
        D: Data<Element = T> + ?Sized,
        B: DataMut<Element = T> + ?Sized,
    {
        let (data, before) = (data.memory(), before.memory_mut());
        let there = self.there(at);
        // SAFETY: it is settled before this returns.
        let begun = unsafe {
            self.window
                .begin_fetch(Until::Later, data, before, there, O::OP)
        };
        self.window.settle("get_accumulate", self.rank, begun)
    }

    /// Combines `value` into element `at`, atomically; the value before.
    pub fn fetch_and_op<O: Fetching<T>>(&self, value: T, at: usize, _op: O) -> Result<T> {
        let there = (self.rank, at);
        self.window.fetch_one("fetch_and_op", value, there, O::OP)
    }

    /// Adds `value` to element `at`, atomically; the value before.
    pub fn fetch_add(&self, value: T, at: usize) -> Result<T>
    where
        Sum: Fetching<T>,
    {
        self.fetch_and_op(value, at, Sum)
    }

    /// Replaces element `at`, atomically; the value before.
    pub fn swap(&self, value: T, at: usize) -> Result<T> {
        self.fetch_and_op(value, at, Replace)
    }

    /// Reads element `at`, atomically.
    pub fn load(&self, at: usize) -> Result<T> {
        self.fetch_and_op(T::ZERO, at, NoOp)
    }

    /// Writes element `at`, atomically.
    pub fn store(&self, value: T, at: usize) -> Result<()> {
        self.accumulate(&[value], at, Replace)
    }
}

impl<T: Integer, L: Level> Lock<'_, T, L> {
    /// Replaces element `at` by `new` if it equals `compare`, atomically; the value before.
    pub fn compare_and_swap(&self, compare: T, new: T, at: usize) -> Result<T> {
        self.window.compare_one(compare, new, self.rank, at)
    }
}

impl<T: Plain, L: Level> ExclusiveLock<'_, T, L> {
    /// The memory itself, of this rank or of one whose memory this process maps
    /// ([`Window::is_mapped`]). It is borrowed from the lock, so nothing else can be done with the
    /// lock meanwhile:
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let window = world.window::<u64>(16).unwrap();
    /// let mut lock = window.lock(0).unwrap();
    /// let memory = lock.as_mut_slice().unwrap();
    /// lock.put(&[1], 0);                    // would change what `memory` has borrowed
    /// memory[0] = 2;
    /// ```
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        let (window, rank) = (self.lock.window, self.lock.rank);
        let flavor = window.window.flavor();
        if flavor == Flavor::Dynamic {
            let error = WindowError::Flavor {
                call: "as_mut_slice",
                needed: Flavor::Allocate.call(),
                found: flavor.call(),
            };
            return Err(window.fail("as_mut_slice", error));
        }
        let part = window.window.shared_query(Some(rank));
        let part = part.map_err(|kind| window.fail("as_mut_slice", kind))?;
        let length = part.bytes as usize / size_of::<T>();
        // Memory of no bytes has no address.
        if length == 0 && rank == window.rank() {
            return Ok(&mut []);
        }
        let base = part.base.cast::<T>();
        if base.is_null() || !base.is_aligned() {
            let (first, other) = (window.rank(), rank);
            let error = WindowError::NotShared { first, other };
            return Err(window.fail("as_mut_slice", error));
        }
        // SAFETY: mapped for as long as the window, aligned, any bytes are values (T: Plain).
        // Nobody else accesses it: see the top of this module's parent. This process does so
        // through this guard alone (a second lock of the rank is refused), which stays borrowed.
        Ok(unsafe { std::slice::from_raw_parts_mut(base, length) })
    }

    /// As [`Lock::unlock`].
    pub fn unlock(self) -> Result<()> {
        self.lock.unlock()
    }
}

impl<'w, T: Plain, L: Level> Deref for ExclusiveLock<'w, T, L> {
    type Target = Lock<'w, T, L>;

    fn deref(&self) -> &Lock<'w, T, L> {
        &self.lock
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for Lock<'_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").field("rank", &self.rank).finish()
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for ExclusiveLock<'_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ExclusiveLock");
        shown.field("rank", &self.lock.rank).finish()
    }
}
