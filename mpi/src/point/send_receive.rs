//! Blocking send and receive.
//!
//! Each call lends the caller's memory to the engine for its own duration, and ends only when the
//! engine has let go of it; that is what every `SAFETY` comment here says.

use std::mem::MaybeUninit;

use oxmpi_engine::{Completion, Content, Mode, Request};

use crate::any_request::Report;
use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::process::Process;
use crate::status::{Source, Status, Tag};
use crate::thread::Level;
use oxmpi_datatypes::ElementMark;
use oxmpi_datatypes::data::{Data, DataMut, Memory};
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
    /// Sends `data` to rank `dest`: a number, a slice, a view. Returns when `data` may be used
    /// again, which for a long message is when the receiver has it. To send to nobody, `None`
    /// ([`PROC_NULL`](crate::PROC_NULL)), does nothing.
    #[inline]
    pub fn send<D: Data + ?Sized>(
        &self,
        data: &D,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<()> {
        self.send_and_wait(data, dest.into(), tag, Mode::Standard)
            .map_err(|kind| self.fail("send", kind))
    }

    /// Sends `data` to rank `dest` and returns only after the receive that takes it has begun.
    pub fn synchronous_send<D: Data + ?Sized>(
        &self,
        data: &D,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<()> {
        self.send_and_wait(data, dest.into(), tag, Mode::Synchronous)
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
    pub fn recv<D: DataMut + ?Sized>(
        &self,
        buffer: &mut D,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.receive(buffer, source.into(), tag.into())
            .map_err(|kind| self.fail("recv", kind))
    }

    /// Receives a message of one value.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let (temperature, status) = world.recv_one::<f64>(oxmpi::ANY_SOURCE, 7)?;
    /// println!("{temperature} at rank {}", status.source);
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn recv_one<T: Plain>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(T, Status)> {
        let fail = |kind| self.fail("recv_one", kind);
        let mut value = MaybeUninit::<T>::uninit();
        let buffer = value.as_mut_ptr().cast::<u8>();
        let (source, tag) = (source.into(), tag.into());
        // SAFETY: the value is there until the call returns.
        let status = unsafe { self.receive_at(buffer, size_of::<T>(), T::MARK, source, tag) };
        let status = status.map_err(fail)?;
        if status.bytes != size_of::<T>() as u64 {
            let (source, tag, bytes) = (status.source, status.tag, status.bytes);
            let needed = size_of::<T>();
            return Err(fail(ErrorKind::OneValue {
                source_rank: source,
                tag,
                bytes,
                needed,
            }));
        }
        // SAFETY: all of its bytes have come, and any are a value (T: Plain).
        Ok((unsafe { value.assume_init() }, status))
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
    pub fn send_recv<D: Data + ?Sized, E: DataMut + ?Sized>(
        &self,
        data: &D,
        dest: impl Into<Option<u32>>,
        send_tag: i32,
        buffer: &mut E,
        source: impl Into<Source>,
        receive_tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.send_and_receive(
            data,
            dest.into(),
            send_tag,
            buffer,
            source.into(),
            receive_tag.into(),
        )
        .map_err(|kind| self.fail("send_recv", kind))
    }

    fn send_and_receive<D: Data + ?Sized, E: DataMut + ?Sized>(
        &self,
        data: &D,
        dest: Option<u32>,
        send_tag: i32,
        buffer: &mut E,
        source: Source,
        receive_tag: Tag,
    ) -> Result<Status, ErrorKind> {
        let Some(source) = source.somebody() else {
            self.send_and_wait(data, dest, send_tag, Mode::Standard)?;
            return Ok(self.status(Report::NOBODY));
        };
        let memory = buffer.memory_mut();
        if memory.layout.is_some() {
            // SAFETY: the buffer is borrowed until the receive, which is waited for or taken back,
            // is over.
            let buffer = unsafe { Buffer::of::<E::Element>(&memory)? };
            return self.exchange_views(data, dest, send_tag, &buffer, source, receive_tag);
        }
        // SAFETY: `receive` is waited for on every way out of this function, by `finish` or by its
        // drop.
        let receive = unsafe { self.start_receive(buffer, source, receive_tag)? };
        let receive = Pending::new(self.process, receive);
        self.send_and_wait(data, dest, send_tag, Mode::Standard)?;
        receive.finish().map(Status::from)
    }

    /// The same into memory that is not one block.
    fn exchange_views<D: Data + ?Sized>(
        &self,
        data: &D,
        dest: Option<u32>,
        send_tag: i32,
        buffer: &Buffer,
        source: Source,
        receive_tag: Tag,
    ) -> Result<Status, ErrorKind> {
        let mut receive = self.comm.irecv_buffer(buffer, Some(source), receive_tag)?;
        if let Err(error) = self.send_and_wait(data, dest, send_tag, Mode::Standard) {
            receive.abandon();
            return Err(error);
        }
        Ok(self.status(receive.wait()?))
    }

    #[inline(always)]
    fn send_and_wait<D: Data + ?Sized>(
        &self,
        data: &D,
        dest: Option<u32>,
        tag: i32,
        mode: Mode,
    ) -> Result<(), ErrorKind> {
        let Some(dest) = dest else { return Ok(()) };
        let memory = data.memory();
        if memory.layout.is_some() {
            // SAFETY: the data stays borrowed during the call.
            let buffer = unsafe { Buffer::of::<D::Element>(&memory)? };
            return self.comm.send_buffer(&buffer, Some(dest), tag, mode);
        }
        let (process, envelope) = self.comm.envelope(content::<D>(&memory), dest, tag)?;
        let address = memory.address.cast_const();
        // SAFETY: the data stays borrowed during the call; the length is the data's.
        unsafe { self.process.engine.send(process, envelope, address, mode)? };
        Ok(())
    }

    #[inline(always)]
    fn receive<D: DataMut + ?Sized>(
        &self,
        buffer: &mut D,
        source: Source,
        tag: Tag,
    ) -> Result<Status, ErrorKind> {
        let (memory, mark) = (buffer.memory_mut(), <D::Element as Plain>::MARK);
        if memory.layout.is_some() {
            // SAFETY: the buffer stays borrowed during the call.
            let buffer = unsafe { Buffer::of::<D::Element>(&memory)? };
            let report = self.comm.recv_buffer(&buffer, source.somebody(), tag)?;
            return Ok(self.status(report));
        }
        let bytes = memory.elements * size_of::<D::Element>();
        // SAFETY: the buffer stays borrowed during the call; the capacity is its length.
        unsafe { self.receive_at(memory.address, bytes, mark, source, tag) }
    }

    /// Receives into so many bytes.
    ///
    /// # Safety
    /// They must be writable and unused by others until this returns.
    #[inline(always)]
    unsafe fn receive_at(
        &self,
        address: *mut u8,
        bytes: usize,
        mark: ElementMark,
        source: Source,
        tag: Tag,
    ) -> Result<Status, ErrorKind> {
        let Some(source) = source.somebody() else {
            return Ok(self.status(Report::NOBODY));
        };
        let (from, pattern) = self.comm.pattern(source, tag, mark)?;
        let engine = &self.process.engine;
        // SAFETY: the caller's promise.
        let completion = unsafe { engine.recv(from, pattern, address, bytes as u64)? };
        Ok(completion.into())
    }

    /// Checks the arguments and gives the message to the engine.
    ///
    /// # Safety
    /// `data` must be one block, and stay as it is until the request is over.
    #[inline(always)]
    pub(super) unsafe fn start_send<D: Data + ?Sized>(
        &self,
        data: &D,
        dest: u32,
        tag: i32,
        mode: Mode,
    ) -> Result<Request, ErrorKind> {
        let memory = data.memory();
        let (process, envelope) = self.comm.envelope(content::<D>(&memory), dest, tag)?;
        let address = memory.address.cast_const();
        // SAFETY: the caller keeps the data in place; the length is the data's.
        Ok(unsafe {
            self.process
                .engine
                .isend(process, envelope, address, mode)?
        })
    }

    /// Checks the arguments and posts the receive.
    ///
    /// # Safety
    /// `buffer` must be one block, and stay in place and untouched until the request is over.
    #[inline(always)]
    pub(super) unsafe fn start_receive<D: DataMut + ?Sized>(
        &self,
        buffer: &mut D,
        source: Source,
        tag: Tag,
    ) -> Result<Request, ErrorKind> {
        let (memory, mark) = (buffer.memory_mut(), <D::Element as Plain>::MARK);
        let (from, pattern) = self.comm.pattern(source, tag, mark)?;
        let capacity = (memory.elements * size_of::<D::Element>()) as u64;
        // SAFETY: the caller keeps the buffer in place; the capacity is its length.
        Ok(unsafe {
            self.process
                .engine
                .irecv(from, pattern, memory.address, capacity)?
        })
    }
}

/// Length and kind of the data, as they stand on a message.
#[inline(always)]
fn content<D: Data + ?Sized>(memory: &Memory) -> Content {
    let bytes = memory.elements * size_of::<D::Element>();
    Content::new(bytes as u64, <D::Element as Plain>::MARK.byte())
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
