//! Memory that the other processes of the host see: messages out of it are copied once, or not at
//! all.
//!
//! An ordinary message is copied out of the sender's memory and into the receiver's. A message sent
//! from a `PortBuffer` is copied once, straight into the receiver's buffer; and a receiver that is
//! content to read it where it lies (`recv_in_place`) saves that copy too. The sender's call ends
//! when the receiver is done with it, so neither side sees the memory change under its hands.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::Message;
use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::init::Mpi;
use crate::status::{Source, Status, Tag};
use crate::thread::{Funneled, Level, Multiple};
use oxmpi_datatypes::data::{Data, DataMut, Memory};
use oxmpi_datatypes::plain::Plain;

/// A slice of `T` in memory that the other processes of the host can read. It may cross threads as
/// far as the level `L` allows calls there, because giving the memory back is one.
pub struct PortBuffer<'mpi, T: Plain, L: Level = Funneled> {
    memory: oxmpi_engine::PortBuffer,
    length: usize,
    owner: PhantomData<(&'mpi (), T, L::Handle)>,
}

impl<L: Level> Mpi<L> {
    /// Takes memory for `length` elements from which sends are copied once or not at all. Its
    /// contents are arbitrary.
    pub fn port_buffer<T: Plain>(&self, length: usize) -> Result<PortBuffer<'_, T, L>> {
        let world = self.world();
        let bytes = length.saturating_mul(size_of::<T>()) as u64;
        let fail = |kind: ErrorKind| world.fail("port_buffer", kind);
        // The segment is a mapping; more than half the address space cannot be asked for.
        if bytes > isize::MAX as u64 {
            return Err(fail(ErrorKind::Memory { bytes }));
        }
        let memory = world
            .process
            .engine
            .allocate(bytes.max(1))
            .map_err(|error| fail(error.into()))?;
        assert!(memory.bytes() >= bytes && memory.address().cast::<T>().is_aligned());
        Ok(PortBuffer {
            memory,
            length,
            owner: PhantomData,
        })
    }
}

impl<T: Plain, L: Level> Deref for PortBuffer<'_, T, L> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory is ours until the drop, long enough and aligned (checked when it was
        // taken), any bytes are values (T: Plain), and other processes only read it, during our
        // sends.
        unsafe { std::slice::from_raw_parts(self.memory.address().cast(), self.length) }
    }
}

impl<T: Plain, L: Level> DerefMut for PortBuffer<'_, T, L> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the exclusive borrow keeps sends away meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.memory.address().cast(), self.length) }
    }
}

// SAFETY: as above: the memory stays where it is for as long as the buffer exists.
unsafe impl<T: Plain, L: Level> Data for PortBuffer<'_, T, L> {
    type Element = T;

    fn memory(&self) -> Memory {
        Memory::block(self.as_ptr(), self.len())
    }
}

// SAFETY: as above.
unsafe impl<T: Plain, L: Level> DataMut for PortBuffer<'_, T, L> {
    fn memory_mut(&mut self) -> Memory {
        Memory::block(self.as_mut_ptr(), self.len())
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for PortBuffer<'_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortBuffer")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// A received message, read where it lies if the sender sent it from a [`PortBuffer`]. The sender
/// goes on when this is dropped.
pub struct InPlace<'comm, T: Plain, L: Level = Funneled> {
    bytes: Bytes<T>,
    status: Status,
    owner: PhantomData<(&'comm (), L::Handle)>,
}

enum Bytes<T> {
    /// In the sender's memory.
    There(oxmpi_engine::InPlace),
    /// In ours, because the sender's cannot be seen or does not suit `T`.
    Here(Vec<T>),
}

impl<L: Level> Communicator<'_, L> {
    /// Receives a message without copying it where that is possible; see [`InPlace`].
    pub fn recv_in_place<T: Plain>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<InPlace<'_, T, L>> {
        const CALL: &str = "recv_in_place";
        let message = self.matched_probe_as(CALL, source.into(), tag.into())?;
        let status = message.status();
        let owner = PhantomData;
        if status.count::<T>().is_none() {
            // Lets the vector's receive report what is wrong with the length.
            return message.recv_vec::<T>().map(|(data, status)| InPlace {
                bytes: Bytes::Here(data),
                status,
                owner,
            });
        }
        let Some(claim) = message.into_claim() else {
            return Ok(InPlace {
                bytes: Bytes::Here(Vec::new()),
                status,
                owner,
            });
        };
        let placed = self.process.engine.in_place(claim);
        let bytes = match placed.map_err(|error| self.fail(CALL, error))? {
            Err(claim) => Bytes::Here(Message::from_claim(self, CALL, claim).recv_vec()?.0),
            Ok(there) if there.bytes().as_ptr().cast::<T>().is_aligned() => Bytes::There(there),
            Ok(there) => Bytes::Here(copied(there.bytes())),
        };
        Ok(InPlace {
            bytes,
            status,
            owner,
        })
    }
}

/// The elements at an address that does not suit them.
fn copied<T: Plain>(bytes: &[u8]) -> Vec<T> {
    let chunks = bytes.chunks_exact(size_of::<T>().max(1));
    // SAFETY: each chunk has the size of a T, and any bytes are one (T: Plain).
    chunks
        .map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() })
        .collect()
}

impl<T: Plain, L: Level> InPlace<'_, T, L> {
    /// What is known of the message.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether the bytes still lie where the sender wrote them.
    pub fn is_zero_copy(&self) -> bool {
        matches!(self.bytes, Bytes::There(_))
    }
}

impl<T: Plain, L: Level> Deref for InPlace<'_, T, L> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.bytes {
            Bytes::Here(data) => data,
            Bytes::There(there) => {
                let bytes = there.bytes();
                let length = bytes.len() / size_of::<T>().max(1);
                // SAFETY: aligned and a whole number of T (both checked on receipt); any bytes are
                // values.
                unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), length) }
            }
        }
    }
}

// SAFETY: at this level the engine takes its lock in every call, so any thread may give the message
// back; the bytes are only read, and stay mapped until then.
unsafe impl<T: Plain> Send for InPlace<'_, T, Multiple> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for InPlace<'_, T, Multiple> {}

// SAFETY: the bytes stay where they are until the message is given back.
unsafe impl<T: Plain, L: Level> Data for InPlace<'_, T, L> {
    type Element = T;

    fn memory(&self) -> Memory {
        Memory::block(self.as_ptr(), self.len())
    }
}

impl<T: Plain, L: Level> std::fmt::Debug for InPlace<'_, T, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InPlace")
            .field("status", &self.status)
            .field("zero_copy", &self.is_zero_copy())
            .finish_non_exhaustive()
    }
}
