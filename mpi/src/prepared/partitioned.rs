//! Partitioned messages for Rust programs: one message, filled and looked at part by part.
//!
//! Between two starts the memory is a slice. While a send goes on it is cut into [`Part`]s, which
//! threads own and fill; a part that is ready has been given away. While a receive goes on, the
//! parts that have arrived can be read. So no part is written by two sides at once, which is what
//! every `SAFETY` comment here says.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::any_request::{AnyRequest, Partitions, UnderWay};
use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::point::Scope;
use crate::status::Status;
use crate::thread::{Funneled, Level};
use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::Memory;

/// What both sides have.
struct Channel<'scope, T, L: Level> {
    communicator: &'scope Communicator<'scope, L>,
    call: &'static str,
    operation: UnderWay,
    partitions: Arc<dyn Partitions>,
    /// The memory, which is borrowed for the scope.
    elements: *mut T,
    length: usize,
    parts: usize,
    status: Option<Status>,
    memory: PhantomData<&'scope mut [T]>,
}

// SAFETY: it holds a `&mut [T]` of elements that are `Send` (T: Plain), taken apart; everything
// else carries the auto traits of its level by `communicator`, and `PhantomData` those of the slice.
unsafe impl<T: Plain, L: Level> Send for Channel<'_, T, L> where L::Handle: Send + Sync {}
// SAFETY: as above; a shared one gives shared elements only.
unsafe impl<T: Plain, L: Level> Sync for Channel<'_, T, L> where L::Handle: Send + Sync {}

/// A partitioned send that can be started; see [`Communicator::prepare_partitioned_send`].
#[must_use = "it is not started yet"]
pub struct PartitionedSend<'scope, T: Plain, L: Level = Funneled> {
    channel: Channel<'scope, T, L>,
    ready: Vec<AtomicBool>,
}

/// A partitioned send that was started: its parts are to be filled. When it is waited for or
/// dropped, parts that were not called ready are sent as they are.
#[must_use = "wait for it to get its memory back"]
pub struct Filling<'scope, T: Plain, L: Level = Funneled>(Option<PartitionedSend<'scope, T, L>>);

/// A part of a message, to be filled by whichever thread owns it.
#[must_use = "it leaves when it is ready"]
pub struct Part<'p, T: Plain, L: Level = Funneled> {
    number: usize,
    elements: &'p mut [T],
    ready: &'p AtomicBool,
    partitions: &'p dyn Partitions,
    communicator: &'p Communicator<'p, L>,
}

/// A partitioned receive that can be started; see [`Communicator::prepare_partitioned_recv`].
#[must_use = "it is not started yet"]
pub struct PartitionedReceive<'scope, T: Plain, L: Level = Funneled> {
    channel: Channel<'scope, T, L>,
}

/// A partitioned receive that was started: parts that have arrived can be read.
#[must_use = "wait for it to get its memory back; the scope's end still waits for the operation"]
pub struct Arriving<'scope, T: Plain, L: Level = Funneled>(PartitionedReceive<'scope, T, L>);

impl<L: Level> Communicator<'_, L> {
    /// Prepares a message of so many equal parts that are filled one by one, also by several
    /// threads (with the level [`Multiple`](crate::thread::Multiple)), and travel when they are
    /// ready. The receiver may cut it into another number of parts.
    ///
    /// ```no_run
    /// let mpi = oxmpi::init_with::<oxmpi::thread::Multiple>()?;
    /// let world = mpi.world();
    /// let mut data = vec![0.0; 4000];
    /// oxmpi::scope(|s| {
    ///     let mut send = world.prepare_partitioned_send(s, &mut data, 4, 1, 0)?;
    ///     for step in 0..10 {
    ///         let mut filling = send.start()?;
    ///         std::thread::scope(|threads| {
    ///             for mut part in filling.parts() {
    ///                 threads.spawn(move || {
    ///                     part.fill(f64::from(step));
    ///                     part.ready().unwrap();
    ///                 });
    ///             }
    ///         });
    ///         send = filling.wait()?;
    ///     }
    ///     Ok(())
    /// })
    /// # ; Ok::<(), oxmpi::Error>(())
    /// ```
    ///
    /// A part that is ready has been given away:
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// # let mut data = vec![0.0; 4000];
    /// oxmpi::scope(|s| {
    ///     let mut filling = world.prepare_partitioned_send(s, &mut data, 4, 1, 0)?.start()?;
    ///     for mut part in filling.parts() {
    ///         part.ready()?;
    ///         part[0] = 1.0;
    ///     }
    ///     filling.wait().map(drop)
    /// });
    /// ```
    pub fn prepare_partitioned_send<'scope, T: Plain>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        parts: usize,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<PartitionedSend<'scope, T, L>> {
        let dest = dest.into();
        let make = |buffer| {
            self.comm
                .partitioned_send_init(buffer, parts as u64, dest, tag)
        };
        let call = "prepare_partitioned_send";
        Ok(PartitionedSend {
            channel: self.channel(scope, call, data, parts, make)?,
            ready: (0..parts).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    /// Prepares the receive of a partitioned message. The parts that have arrived can be read while
    /// others are on their way.
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let mut data = vec![0.0; 4000];
    /// oxmpi::scope(|s| {
    ///     let receive = world.prepare_partitioned_recv(s, &mut data, 8, 0, 0)?;
    ///     let arriving = receive.start()?;
    ///     if let Some(part) = arriving.part(3)? {
    ///         println!("{}", part[0]);
    ///     }
    ///     arriving.wait().map(drop)
    /// })?;
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    pub fn prepare_partitioned_recv<'scope, T: Plain>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut [T],
        parts: usize,
        source: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<PartitionedReceive<'scope, T, L>> {
        let source = source.into();
        let make = |buffer| {
            self.comm
                .partitioned_receive_init(buffer, parts as u64, source, tag)
        };
        let call = "prepare_partitioned_recv";
        let channel = self.channel(scope, call, buffer, parts, make)?;
        Ok(PartitionedReceive { channel })
    }

    fn channel<'scope, T: Plain>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        call: &'static str,
        data: &'scope mut [T],
        parts: usize,
        make: impl FnOnce(Buffer) -> Result<AnyRequest, ErrorKind>,
    ) -> Result<Channel<'scope, T, L>> {
        let fail = |kind| self.fail(call, kind);
        if parts == 0 || !data.len().is_multiple_of(parts) {
            return Err(fail(ErrorKind::Length {
                buffer: "partitioned",
                needed: data.len().next_multiple_of(parts.max(1)),
                got: data.len(),
                rule: "at least one part, and as many elements in each",
            }));
        }
        let memory = Memory::block(data.as_mut_ptr(), data.len());
        // SAFETY: the data is borrowed for 'scope, and the scope does not end while the message is
        // started; meanwhile parts are used only before they leave or after they have come.
        let buffer = unsafe { Buffer::of::<T>(&memory) };
        let buffer = buffer.map_err(|error| fail(error.into()))?;
        let request = make(buffer).map_err(fail)?;
        let partitions = request.partitions();
        let operation = UnderWay::new(request);
        scope.remember_lasting(self.process, &operation);
        Ok(Channel {
            communicator: self,
            call,
            operation,
            partitions: partitions.expect("a partitioned operation has partitions"),
            elements: memory.address.cast(),
            length: data.len(),
            parts,
            status: None,
            memory: PhantomData,
        })
    }
}

impl<T: Plain, L: Level> Channel<'_, T, L> {
    fn start(&self) -> Result<()> {
        let started = self.operation.start();
        started.map_err(|kind| self.communicator.fail(self.call, kind))
    }

    fn wait(&mut self) -> Result<()> {
        match self.operation.wait() {
            Ok(report) => {
                self.status = Some(self.communicator.status(report));
                Ok(())
            }
            Err(kind) => Err(self.communicator.fail(self.call, kind)),
        }
    }

    /// All of it, between two starts.
    fn all(&self) -> &[T] {
        // SAFETY: the memory is borrowed for 'scope; nothing is under way that writes it.
        unsafe { std::slice::from_raw_parts(self.elements, self.length) }
    }

    /// All of it, between two starts.
    fn all_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nothing is under way that uses it.
        unsafe { std::slice::from_raw_parts_mut(self.elements, self.length) }
    }

    fn address_of(&self, part: usize) -> (*mut T, usize) {
        let length = self.length / self.parts;
        (self.elements.wrapping_add(part * length), length)
    }
}

impl<'scope, T: Plain, L: Level> PartitionedSend<'scope, T, L> {
    /// What is sent.
    pub fn data(&self) -> &[T] {
        self.channel.all()
    }

    /// What is sent, to be changed.
    pub fn data_mut(&mut self) -> &mut [T] {
        self.channel.all_mut()
    }

    /// Begins a message, of which no part is ready.
    pub fn start(self) -> Result<Filling<'scope, T, L>> {
        self.channel.start()?;
        let ready = self.ready.iter();
        ready.for_each(|part| part.store(false, Ordering::Relaxed));
        Ok(Filling(Some(self)))
    }

    /// Sends what was not called ready: nobody has it any more.
    fn call_ready(&self) -> Result<()> {
        for (number, ready) in (0..).zip(&self.ready) {
            if !ready.swap(true, Ordering::Relaxed) {
                let sent = self.channel.partitions.ready(number, number);
                sent.map_err(|kind| self.channel.communicator.fail(self.channel.call, kind))?;
            }
        }
        Ok(())
    }
}

const TAKEN: &str = "only waiting takes it";

impl<'scope, T: Plain, L: Level> Filling<'scope, T, L> {
    /// The parts that were not called ready, each to be filled and called ready by its owner.
    pub fn parts(&mut self) -> Vec<Part<'_, T, L>> {
        let send = self.0.as_mut().expect(TAKEN);
        let channel = &send.channel;
        let parts = send.ready.iter().enumerate();
        let open = parts.filter(|(_, ready)| !ready.load(Ordering::Relaxed));
        open.map(|(number, ready)| {
            let (address, length) = channel.address_of(number);
            Part {
                number,
                // SAFETY: the part was not sent, and this is borrowed mutably, so nobody else has
                // a part while this one is there; parts do not overlap.
                elements: unsafe { std::slice::from_raw_parts_mut(address, length) },
                ready,
                partitions: &*channel.partitions,
                communicator: channel.communicator,
            }
        })
        .collect()
    }

    /// Waits until all parts have left; then it can be started again. Parts that were not called
    /// ready leave now.
    pub fn wait(mut self) -> Result<PartitionedSend<'scope, T, L>> {
        let mut send = self.0.take().expect(TAKEN);
        let called = send.call_ready();
        let ended = send.channel.wait();
        called.and(ended).map(|()| send)
    }
}

impl<T: Plain, L: Level> Drop for Filling<'_, T, L> {
    fn drop(&mut self) {
        if let Some(send) = self.0.take() {
            // The scope waits for it, and tells what becomes of it.
            let _ = send.call_ready();
        }
    }
}

impl<T: Plain, L: Level> Part<'_, T, L> {
    /// Which part of the message it is, from 0 on.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Sends it, at once or together with its neighbours.
    pub fn ready(self) -> Result<()> {
        self.ready.store(true, Ordering::Relaxed);
        let number = self.number as u64;
        let sent = self.partitions.ready(number, number);
        sent.map_err(|kind| self.communicator.fail("ready", kind))
    }
}

impl<T: Plain, L: Level> Deref for Part<'_, T, L> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T: Plain, L: Level> DerefMut for Part<'_, T, L> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

impl<'scope, T: Plain, L: Level> PartitionedReceive<'scope, T, L> {
    /// What has come.
    pub fn data(&self) -> &[T] {
        self.channel.all()
    }

    /// Where it comes to.
    pub fn data_mut(&mut self) -> &mut [T] {
        self.channel.all_mut()
    }

    /// How the last one ended; `None` before that.
    pub fn status(&self) -> Option<Status> {
        self.channel.status
    }

    /// Begins to receive a message.
    pub fn start(self) -> Result<Arriving<'scope, T, L>> {
        self.channel.start()?;
        Ok(Arriving(self))
    }
}

impl<'scope, T: Plain, L: Level> Arriving<'scope, T, L> {
    /// A part of the message, if all of it is there; does not wait.
    pub fn part(&self, number: usize) -> Result<Option<&[T]>> {
        let channel = &self.0.channel;
        let fail = |kind| channel.communicator.fail("part", kind);
        let arrived = channel.partitions.arrived(number as u64).map_err(fail)?;
        let (address, length) = channel.address_of(number);
        // SAFETY: `arrived` has refused parts that are not there. What has arrived is not written
        // before the next start, which takes this.
        Ok(arrived.then(|| unsafe { std::slice::from_raw_parts(address, length) }))
    }

    /// Waits until all of it is there; then it can be started again.
    pub fn wait(self) -> Result<PartitionedReceive<'scope, T, L>> {
        let mut receive = self.0;
        receive.channel.wait().map(|()| receive)
    }
}

macro_rules! debug {
    ($($name:ident),*) => {$(
        impl<T: Plain, L: Level> std::fmt::Debug for $name<'_, T, L> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
debug!(PartitionedSend, Filling, Part, PartitionedReceive, Arriving);
