//! Making and freeing windows of a type.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};

use super::Window;
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::thread::Level;
use crate::window::{Flavor, Window as Untyped};
use oxmpi_datatypes::plain::Plain;

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// Makes a window with `length` elements on this rank, zero at first; the other ranks choose
    /// their own lengths. Ranks of one host reach each other's memory without messages. Collective.
    pub fn window<T: Plain>(&self, length: usize) -> Result<Window<'mpi, T, L>> {
        let call = "window";
        let (bytes, unit) = self.extent::<T>(call, length)?;
        let window = Untyped::allocate(&self.comm, bytes, unit, None);
        self.typed(call, window, Vec::new())
    }

    /// Makes a window whose parts lie one after the other in memory that all ranks map; they must
    /// be of one host. Collective.
    pub fn shared_window<T: Plain>(&self, length: usize) -> Result<Window<'mpi, T, L>> {
        let call = "shared_window";
        let (bytes, unit) = self.extent::<T>(call, length)?;
        let window = Untyped::allocate_shared(&self.comm, bytes, unit, None);
        self.typed(call, window, Vec::new())
    }

    /// Makes a window of memory that the program has filled. It comes back from
    /// [`Window::into_memory`]. Other ranks reach it by messages, or the kernel copies for them;
    /// [`Communicator::window`] is faster. Collective.
    pub fn window_of<T: Plain>(&self, mut memory: Vec<T>) -> Result<Window<'mpi, T, L>> {
        let call = "window_of";
        let (bytes, unit) = self.extent::<T>(call, memory.len())?;
        let base = memory.as_mut_ptr().cast();
        // SAFETY: the window owns the memory, and gives it back, or frees it, only after it has
        // been freed itself.
        let window = unsafe { Untyped::create(&self.comm, base, bytes, unit, None) };
        self.typed(call, window, vec![memory])
    }

    /// Bytes and displacement unit.
    pub(super) fn extent<T: Plain>(&self, call: &'static str, length: usize) -> Result<(i64, i64)> {
        const {
            assert!(
                size_of::<T>() > 0,
                "a window needs elements that have bytes"
            )
        };
        let bytes = length.checked_mul(size_of::<T>());
        let bytes = bytes.and_then(|bytes| i64::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| self.fail(call, ErrorKind::Memory { bytes: u64::MAX }))?;
        Ok((bytes, size_of::<T>() as i64))
    }

    pub(super) fn typed<T: Plain>(
        &self,
        call: &'static str,
        window: std::result::Result<Untyped, ErrorKind>,
        memory: Vec<Vec<T>>,
    ) -> Result<Window<'mpi, T, L>> {
        Ok(Window {
            process: self.process,
            window: ManuallyDrop::new(window.map_err(|kind| self.fail(call, kind))?),
            memory: ManuallyDrop::new(Mutex::new(memory)),
            state: Mutex::default(),
            level: PhantomData,
        })
    }
}

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// Ends the window; all ranks wait until none uses it any more. Collective. After an error the
    /// memory is kept until this process finalises, as if the window had been dropped.
    pub fn free(self) -> Result<()> {
        self.end("free").map(drop)
    }

    /// As [`Window::free`]; the memory that [`Communicator::window_of`] was given comes back (an
    /// empty vector from the other kinds; what is still attached to a dynamic one is dropped).
    pub fn into_memory(self) -> Result<Vec<T>> {
        let is_own = self.window.flavor() == Flavor::Create;
        let mut memory = self.end("into_memory")?;
        Ok(memory.pop().filter(|_| is_own).unwrap_or_default())
    }

    fn end(mut self, call: &'static str) -> Result<Vec<Vec<T>>> {
        let freed = self.window.free();
        freed.map_err(|kind| self.fail(call, kind))?;
        // SAFETY: neither is used afterwards: `self` has no drop of its own and is gone.
        unsafe {
            ManuallyDrop::drop(&mut self.window);
            let memory = ManuallyDrop::take(&mut self.memory);
            Ok(memory.into_inner().unwrap_or_else(PoisonError::into_inner))
        }
    }
}
