//! Dynamic windows: memory that is added to a window, and taken back, at any time.
//!
//! The window owns what is attached, as it owns the vector of `window_of`. Its elements are named by
//! their addresses, which only the rank that has attached them can tell the others
//! ([`Attached::at`]); an address that is not attached is an error. Memory leaves the window only
//! while nobody uses it: no transfer, and no slice of [`ExclusiveLock::attached_mut`], for which
//! this rank's own lock would have to be held.

use std::sync::{MutexGuard, PoisonError};

use super::{ExclusiveLock, Window};
use crate::communicator::Communicator;
use crate::error::{Result, WindowError};
use crate::thread::Level;
use crate::window::Window as Untyped;
use oxmpi_datatypes::data::{Data, DataMut, Memory};
use oxmpi_datatypes::plain::Plain;

/// Memory that a rank has attached to a dynamic window. It can be sent to the other ranks, which
/// access the memory with what [`Attached::at`] tells.
///
/// ```no_run
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// use oxmpi::window::Attached;
///
/// let window = world.dynamic_window::<f64>()?;
/// let mut place = match world.rank() {
///     0 => window.attach(vec![0.0; 1000])?,
///     _ => Attached::default(),
/// };
/// world.bcast(&mut place, 0)?;
/// let lock = window.lock_shared(0)?;
/// lock.put(&[1.0], place.at(world.rank() as usize))?;
/// lock.unlock()?;
/// world.barrier()?;
/// if world.rank() == 0 {
///     let memory = window.detach(place)?;
///     println!("{}", memory[0]);
/// }
/// window.free()
/// # ; Ok::<(), oxmpi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Attached {
    address: u64,
    length: u64,
    element_bytes: u64,
}

// SAFETY: three words without a gap, of which every value is one; an address that means nothing is
// an error of the access.
unsafe impl Plain for Attached {}

// SAFETY: a borrowed value stays where it is.
unsafe impl Data for Attached {
    type Element = Attached;

    fn memory(&self) -> Memory {
        Memory::block(self, 1)
    }
}

// SAFETY: as above.
unsafe impl DataMut for Attached {
    fn memory_mut(&mut self) -> Memory {
        Memory::block(self, 1)
    }
}

impl Attached {
    /// The index by which the window knows an element.
    pub fn at(&self, index: usize) -> usize {
        let offset = (index as u64).saturating_mul(self.element_bytes);
        usize::try_from(self.address.saturating_add(offset)).unwrap_or(usize::MAX)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// Makes a window without memory: each rank attaches some when it likes ([`Window::attach`]).
    /// Other ranks reach it by messages, which this process serves also while it computes.
    /// Collective.
    pub fn dynamic_window<T: Plain>(&self) -> Result<Window<'mpi, T, L>> {
        let call = "dynamic_window";
        self.extent::<T>(call, 0)?;
        self.typed(call, Untyped::create_dynamic(&self.comm, None), Vec::new())
    }
}

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// Adds memory to a window of [`Communicator::dynamic_window`]; only this rank is needed.
    pub fn attach(&self, memory: Vec<T>) -> Result<Attached> {
        let mut all = self.memory();
        let place = place_of(&memory);
        let (base, bytes) = (memory.as_ptr(), size_of_val(&memory[..]) as u64);
        // SAFETY: the window owns the memory until it has been detached, or the window freed.
        let attached = unsafe { self.window.attach(base.cast_mut().cast(), bytes) };
        attached.map_err(|kind| self.fail("attach", kind))?;
        all.push(memory);
        Ok(place)
    }

    /// Takes memory back that this rank has attached. It is an error, and the memory stays, while
    /// data of other ranks is on its way into it, or this process holds its own lock alone.
    pub fn detach(&self, place: Attached) -> Result<Vec<T>> {
        let call = "detach";
        // Held to the end: another thread that locks this rank meanwhile finds the memory either
        // there or gone.
        let mut all = self.memory();
        let alone = self.window.is_locked_alone(self.rank());
        self.refuse(
            call,
            alone.then_some("this process holds its own lock alone and may have a slice of it"),
        )?;
        let fail = |kind| self.fail(call, kind);
        let found = find(&all, place).map_err(|error| fail(error.into()))?;
        let detached = self.window.detach(all[found].as_ptr().cast());
        detached.map_err(fail)?;
        Ok(all.swap_remove(found))
    }

    fn memory(&self) -> MutexGuard<'_, Vec<Vec<T>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Plain, L: Level> ExclusiveLock<'_, T, L> {
    /// Memory that this rank has attached, while it has its own lock alone. Nothing else can be
    /// done with the lock meanwhile, nor can the memory be detached:
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let window = world.dynamic_window::<u64>().unwrap();
    /// let place = window.attach(vec![0; 4]).unwrap();
    /// let mut lock = window.lock(world.rank()).unwrap();
    /// let memory = lock.attached_mut(place).unwrap();
    /// lock.unlock();                        // others could change what `memory` has borrowed
    /// memory[0] = 2;
    /// ```
    pub fn attached_mut(&mut self, place: Attached) -> Result<&mut [T]> {
        let (window, rank) = (self.window, self.rank());
        let fail = |kind: WindowError| window.fail("attached_mut", kind);
        if rank != window.rank() {
            let (first, other) = (window.rank(), rank);
            return Err(fail(WindowError::NotShared { first, other }));
        }
        let mut all = window.memory();
        let found = find(&all, place).map_err(fail)?;
        let (base, length) = (all[found].as_mut_ptr(), all[found].len());
        // SAFETY: it is one of the window's vectors, which is not detached while this rank's lock
        // is held alone, and the lock stays borrowed. Nobody else accesses it: see the top of this
        // module's parent. The vector itself may move in its list, its elements do not.
        Ok(unsafe { std::slice::from_raw_parts_mut(base, length) })
    }
}

/// What a vector is known by.
fn place_of<T>(memory: &[T]) -> Attached {
    Attached {
        address: memory.as_ptr().addr() as u64,
        length: memory.len() as u64,
        element_bytes: size_of::<T>() as u64,
    }
}

fn find<T>(all: &[Vec<T>], place: Attached) -> std::result::Result<usize, WindowError> {
    let found = all.iter().position(|memory| place_of(memory) == place);
    found.ok_or(WindowError::Detach {
        address: place.address,
    })
}
