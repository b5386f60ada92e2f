//! Messages that are prepared once and started again and again, for Rust programs (MPI 5.0 §3.9 and
//! chapter 4).
//!
//! A prepared message is a prepared collective with one side: the same [`Prepared`] lends its
//! memory out between two starts and nowhere else. `partitioned` has those that are filled, or
//! looked at, part by part. This module stands above `point`, whose operations it starts, and
//! `collective`, whose types it shares.

mod partitioned;

pub use partitioned::{Arriving, Filling, Part, PartitionedReceive, PartitionedSend};

use oxmpi_engine::Mode;

use crate::buffer::Buffer;
use crate::collective::Prepared;
use crate::collective::call::Lent;
use crate::collective::sides::{Given, Nothing, Received, Side};
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::point::Scope;
use crate::status::{Source, Tag};
use crate::thread::Level;
use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::DataMut;

impl<L: Level> Communicator<'_, L> {
    /// Prepares a message to rank `dest` that is sent any number of times, which saves its checks
    /// each time. Given as `&mut`, the data can be changed between two starts, through what this
    /// returns:
    ///
    /// ```no_run
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let (mut here, mut there) = ([0.0; 100], [0.0; 100]);
    /// let peer = 1 - world.rank();
    /// oxmpi::scope(|s| {
    ///     let mut send = world.prepare_send(s, &mut here, peer, 0)?;
    ///     let mut receive = world.prepare_recv(s, &mut there, peer, 0)?;
    ///     for step in 0..10 {
    ///         send.input_mut().fill(f64::from(step));
    ///         let (receiving, sending) = (receive.start()?, send.start()?);
    ///         // compute something else here
    ///         (receive, send) = (receiving.wait()?, sending.wait()?);
    ///         println!("{} of rank {peer}", receive.output()[0]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), oxmpi::Error>(())
    /// ```
    ///
    /// While it goes on there is nothing to touch the memory with:
    ///
    /// ```compile_fail
    /// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
    /// let mut data = [0; 4];
    /// oxmpi::scope(|s| {
    ///     let mut send = world.prepare_send(s, &mut data, 0, 0)?;
    ///     let started = send.start()?;
    ///     send.input_mut()[0] = 1;
    ///     started.wait().map(drop)
    /// });
    /// ```
    pub fn prepare_send<'scope, S: Lent>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        data: S,
        dest: impl Into<Option<u32>>,
        tag: i32,
    ) -> Result<Prepared<'scope, S::Side, Nothing, L>>
    where
        S::Side: 'scope,
    {
        let mut side = data.side();
        // SAFETY: the data is borrowed for 'scope, and the scope does not end while the message is
        // started; in between it is used only through what this returns.
        let buffer = unsafe { whole::<S::Element>(side.given()) };
        let dest = dest.into();
        let made = buffer.and_then(|buffer| self.comm.send_init(buffer, dest, tag, Mode::Standard));
        self.prepared(scope, "prepare_send", made, (side, Nothing::NEW))
    }

    /// Prepares a receive that is started any number of times; see
    /// [`prepare_send`](Communicator::prepare_send). [`Prepared::status`] tells how it ended.
    pub fn prepare_recv<'scope, D: DataMut + ?Sized>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut D,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Prepared<'scope, Nothing, Received<&'scope mut D>, L>> {
        let mut side = Received(buffer);
        // SAFETY: as above.
        let memory = unsafe { whole::<D::Element>(side.given()) };
        let (source, tag) = (source.into().somebody(), tag.into());
        let made = memory.and_then(|memory| self.comm.recv_init(memory, source, tag));
        self.prepared(scope, "prepare_recv", made, (Nothing::NEW, side))
    }
}

/// # Safety
/// The memory must be there, and used by nobody else, while the operation goes on.
unsafe fn whole<T: Plain>(given: Given<'_>) -> Result<Buffer, ErrorKind> {
    match given {
        // SAFETY: the caller's promise.
        Given::Whole(memory) => Ok(unsafe { Buffer::of::<T>(&memory)? }),
        _ => unreachable!("a message has one side, which is whole"),
    }
}
