//! Blocking send and receive.
//!
//! Each call lends the caller's memory to the engine for its own duration, and ends only when the
//! engine has let go of it; that is what every `SAFETY` comment here says.

use oxmpi_engine::{Completion, Content, Mode, Request};

use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::process::Process;
use crate::status::{Source, Status, Tag};
use crate::thread::Level;
use oxmpi_datatypes::plain::Plain;

impl From<Completion> for Status {
    #[inline]
    fn from(completion: Completion) -> Self {
        let Completion {
            source,
            tag,
            bytes,
            cancelled,
            ..
        } = completion;
        Status {
            source,
            tag,
            bytes,
            cancelled,
        }
    }
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// Sends `data` to rank `dest`. Returns when `data` may be used again, which for a long message
    /// is when the receiver has it.
    #[inline]
    pub fn send<T: Plain>(&self, data: &[T], dest: u32, tag: i32) -> Result<()> {
        self.send_and_wait(data, dest, tag, Mode::Standard)
            .map_err(|kind| self.fail("send", kind))
    }

    /// Sends `data` to rank `dest` and returns only after the receive that takes it has begun.
    pub fn synchronous_send<T: Plain>(&self, data: &[T], dest: u32, tag: i32) -> Result<()> {
        self.send_and_wait(data, dest, tag, Mode::Synchronous)
            .map_err(|kind| self.fail("synchronous_send", kind))
    }

    /// Receives a message into `buffer`, which may be longer than the message. A message that is
    /// longer than the buffer is an error.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let mut numbers = [0.0; 100];
    /// let status = world.recv(&mut numbers, oxmpi::ANY_SOURCE, 7)?;
    /// println!("{:?} numbers from rank {}", status.count::<f64>(), status.source);
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    #[inline]
    pub fn recv<T: Plain>(
        &self,
        buffer: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.receive(buffer, source.into(), tag.into())
            .map_err(|kind| self.fail("recv", kind))
    }

    /// Receives a message of any length into a vector of its own.
    pub fn recv_vec<T: Plain>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        self.matched_probe_as("recv_vec", source.into(), tag.into())?
            .recv_vec()
    }

    /// Sends and receives at once, so that two ranks (or a ring of them) that do the same cannot
    /// block each other.
    pub fn send_recv<T: Plain, U: Plain>(
        &self,
        data: &[T],
        dest: u32,
        send_tag: i32,
        buffer: &mut [U],
        source: impl Into<Source>,
        receive_tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.send_and_receive(
            data,
            dest,
            send_tag,
            buffer,
            source.into(),
            receive_tag.into(),
        )
        .map_err(|kind| self.fail("send_recv", kind))
    }

    fn send_and_receive<T: Plain, U: Plain>(
        &self,
        data: &[T],
        dest: u32,
        send_tag: i32,
        buffer: &mut [U],
        source: Source,
        receive_tag: Tag,
    ) -> Result<Status, ErrorKind> {
        // SAFETY: `receive` is waited for on every way out of this function, by `finish` or by its
        // drop.
        let receive = unsafe { self.start_receive(buffer, source, receive_tag)? };
        let receive = Pending::new(self.process, receive);
        self.send_and_wait(data, dest, send_tag, Mode::Standard)?;
        receive.finish().map(Status::from)
    }

    #[inline(always)]
    fn send_and_wait<T: Plain>(
        &self,
        data: &[T],
        dest: u32,
        tag: i32,
        mode: Mode,
    ) -> Result<(), ErrorKind> {
        let (process, envelope) = self.comm.envelope(content(data), dest, tag)?;
        let address = data.as_ptr().cast();
        // SAFETY: the data stays borrowed during the call; the length is the slice's.
        unsafe { self.process.engine.send(process, envelope, address, mode)? };
        Ok(())
    }

    #[inline(always)]
    fn receive<T: Plain>(
        &self,
        buffer: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<Status, ErrorKind> {
        let (from, pattern) = self.comm.pattern(source, tag, T::MARK)?;
        let (address, capacity) = (buffer.as_mut_ptr().cast(), size_of_val(buffer) as u64);
        // SAFETY: the buffer stays borrowed during the call; the capacity is the slice's length.
        let completion = unsafe { self.process.engine.recv(from, pattern, address, capacity)? };
        Ok(completion.into())
    }

    /// Checks the arguments and gives the message to the engine.
    ///
    /// # Safety
    /// `data` must stay as it is until the request is over.
    #[inline(always)]
    pub(super) unsafe fn start_send<T: Plain>(
        &self,
        data: &[T],
        dest: u32,
        tag: i32,
        mode: Mode,
    ) -> Result<Request, ErrorKind> {
        let (process, envelope) = self.comm.envelope(content(data), dest, tag)?;
        let address = data.as_ptr().cast();
        // SAFETY: the caller keeps the data in place; the length is the slice's.
        Ok(unsafe {
            self.process
                .engine
                .isend(process, envelope, address, mode)?
        })
    }

    /// Checks the arguments and posts the receive.
    ///
    /// # Safety
    /// `buffer` must stay in place and untouched until the request is over.
    #[inline(always)]
    pub(super) unsafe fn start_receive<T: Plain>(
        &self,
        buffer: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<Request, ErrorKind> {
        let (from, pattern) = self.comm.pattern(source, tag, T::MARK)?;
        let capacity = size_of_val(buffer) as u64;
        let address = buffer.as_mut_ptr().cast();
        // SAFETY: the caller keeps the buffer in place; the capacity is the slice's length.
        Ok(unsafe {
            self.process
                .engine
                .irecv(from, pattern, address, capacity)?
        })
    }
}

/// Length and kind of the data, as they stand on a message.
#[inline(always)]
fn content<T: Plain>(data: &[T]) -> Content {
    Content::new(size_of_val(data) as u64, T::MARK.byte())
}

/// A request of the library's own that must not be left behind: dropping it takes the operation
/// back, or lets it finish where that is too late.
pub(crate) struct Pending<'a> {
    process: &'a Process,
    request: Request,
}

impl<'a> Pending<'a> {
    pub(crate) fn new(process: &'a Process, request: Request) -> Self {
        Pending { process, request }
    }

    /// Waits for the end.
    pub(crate) fn finish(self) -> Result<Completion, ErrorKind> {
        let this = std::mem::ManuallyDrop::new(self);
        Ok(this.process.engine.wait(this.request)?)
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.process.engine.cancel(self.request);
        // The reason for giving up is reported by whoever dropped this; a second one would hide it.
        let _ = self.process.engine.wait(self.request);
    }
}
