//! Accesses that go on while the program computes.
//!
//! An access owns its memory until it is over, so it may be dropped or forgotten without danger:
//! dropping waits, and forgetting keeps the memory for ever.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use oxmpi_core::any_request::{AnyRequest, Report};
use oxmpi_core::thread::Level;
use oxmpi_core::{Communicator, Plain, Result};

use super::{Kind, TypedFile, at, memory};
use crate::file::{File, Start};
use crate::representation::Memory;

/// An access under way. It is a future for any executor; what comes out is the memory and the
/// number of elements that were accessed.
#[must_use = "dropping it waits for its end and loses the data"]
pub struct Access<'file, T: Plain, L: Level> {
    communicator: &'file Communicator<'file, L>,
    call: &'static str,
    request: AnyRequest,
    data: Vec<T>,
    is_over: bool,
    level: PhantomData<L::Handle>,
}

impl<T: Plain, L: Level> Access<'_, T, L> {
    /// Waits for its end.
    pub fn wait(mut self) -> Result<(Vec<T>, usize)> {
        let outcome = self.request.wait();
        self.finish(outcome)
    }

    /// Whether it is over.
    pub fn test(&mut self) -> bool {
        self.is_over || self.request.is_ready()
    }

    fn finish(&mut self, outcome: Kind<Report>) -> Result<(Vec<T>, usize)> {
        self.is_over = true;
        self.request = AnyRequest::Over(Report::EMPTY);
        let data = std::mem::take(&mut self.data);
        match outcome {
            Ok(report) => Ok((data, report.bytes as usize / size_of::<T>())),
            Err(kind) => Err(self.communicator.fail(self.call, kind)),
        }
    }
}

// The memory is in a vector, which does not move with the access.
impl<T: Plain, L: Level> Unpin for Access<'_, T, L> {}

impl<T: Plain, L: Level> Future for Access<'_, T, L> {
    type Output = Result<(Vec<T>, usize)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if !this.request.is_ready() {
            // Files tell their end to whoever looks: the executor looks again.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let outcome = this.request.conclude();
        Poll::Ready(this.finish(outcome))
    }
}

impl<T: Plain, L: Level> Drop for Access<'_, T, L> {
    fn drop(&mut self) {
        if !self.is_over {
            // The memory goes with this object.
            let _ = self.request.wait();
        }
    }
}

/// How the layer below begins an access.
type Begin = fn(&File, Start, Memory) -> Kind<AnyRequest>;

impl<T: Plain, L: Level> TypedFile<'_, T, L> {
    fn begin(
        &self,
        call: &'static str,
        begin: Begin,
        start: Start,
        data: Vec<T>,
    ) -> Result<Access<'_, T, L>> {
        // SAFETY: the access owns the vector and gives it back only after its end; its data do not
        // move with it, and a forgotten access keeps them.
        let request = unsafe { memory(data.as_ptr(), data.len()) }
            .and_then(|memory| begin(&self.file, start, memory));
        Ok(Access {
            communicator: self.communicator,
            call,
            request: self.told(call, request)?,
            data,
            is_over: false,
            level: PhantomData,
        })
    }

    /// Begins to read from an offset on, as many elements as the memory has.
    pub fn begin_read_at(&self, offset: u64, memory: Vec<T>) -> Result<Access<'_, T, L>> {
        self.begin("begin_read_at", File::iread, at(offset), memory)
    }

    /// Begins to write from an offset on.
    pub fn begin_write_at(&self, offset: u64, data: Vec<T>) -> Result<Access<'_, T, L>> {
        self.begin("begin_write_at", File::iwrite, at(offset), data)
    }

    /// As [`TypedFile::begin_read_at`], together with all processes. Collective.
    pub fn begin_read_at_all(&self, offset: u64, memory: Vec<T>) -> Result<Access<'_, T, L>> {
        self.begin("begin_read_at_all", File::iread_all, at(offset), memory)
    }

    /// As [`TypedFile::begin_write_at`], together with all processes. Collective.
    pub fn begin_write_at_all(&self, offset: u64, data: Vec<T>) -> Result<Access<'_, T, L>> {
        self.begin("begin_write_at_all", File::iwrite_all, at(offset), data)
    }

    /// Begins to write at the pointer that all processes share.
    pub fn begin_write_shared(&self, data: Vec<T>) -> Result<Access<'_, T, L>> {
        self.begin("begin_write_shared", File::iwrite, Start::Shared, data)
    }

    /// Begins to read at the pointer that all processes share.
    pub fn begin_read_shared(&self, memory: Vec<T>) -> Result<Access<'_, T, L>> {
        self.begin("begin_read_shared", File::iread, Start::Shared, memory)
    }
}
