//! Buffers and roots of collectives: addresses, counts, displacements and datatypes become
//! `Buffer`s, if the process uses them.

use std::ffi::c_void;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::Root;
use oxmpi_core::communicator::Comm;
use oxmpi_datatypes::datatype::Datatype;

use crate::argument::{Datatypes, Integers, constant};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;

/// An argument that is an array of integers, with its name.
pub type Named = (&'static str, Integers);

/// A buffer argument with the datatype, or datatypes, that come with it.
pub struct Memory<T> {
    buffer: &'static str,
    datatype: &'static str,
    address: *mut c_void,
    of: T,
}

/// How many ranks blocks come from or go to.
pub fn peers(comm: &Comm) -> usize {
    let group = comm.remote_group().unwrap_or(comm.group());
    group.size() as usize
}

impl<T> Memory<T> {
    /// The argument `sendbuf`.
    #[inline]
    pub fn send(address: *const c_void, of: T) -> Memory<T> {
        Memory::new("sendbuf", "sendtype", address.cast_mut(), of)
    }

    /// The argument `recvbuf`.
    #[inline]
    pub fn receive(address: *mut c_void, of: T) -> Memory<T> {
        Memory::new("recvbuf", "recvtype", address, of)
    }

    #[inline]
    pub fn new(
        buffer: &'static str,
        datatype: &'static str,
        address: *mut c_void,
        of: T,
    ) -> Memory<T> {
        Memory {
            buffer,
            datatype,
            address,
            of,
        }
    }

    /// What `describe` makes of it; none if the data lies in place.
    #[inline]
    pub fn unless_in_place<R>(
        &self,
        describe: impl FnOnce(&Self) -> Result<R, Failure>,
    ) -> Result<Option<R>, Failure> {
        if self.address.addr() == MPI_IN_PLACE {
            return Ok(None);
        }
        describe(self).map(Some)
    }

    /// Elements at the address, after a check that it is one.
    #[inline]
    pub fn elements(&self, count: i64, datatype: &Datatype) -> Result<Buffer, Failure> {
        self.elements_at(0, count, datatype)
    }

    #[inline]
    fn elements_at(&self, bytes: i64, count: i64, datatype: &Datatype) -> Result<Buffer, Failure> {
        if let Some(name) = constant(self.address.addr()) {
            return Err(misplaced(self.buffer, name));
        }
        let address = self.address.cast::<u8>().wrapping_offset(bytes as isize);
        // SAFETY: the C program vouches for the memory that its arguments name, until the operation
        // is over.
        Ok(unsafe { Buffer::new(address, count as u64, datatype)? })
    }
}

impl Memory<Handle> {
    /// Blocks of `count` elements for so many ranks, one after the other.
    #[inline]
    pub fn whole(
        &self,
        call: &Call,
        argument: &'static str,
        count: i64,
        ranks: usize,
    ) -> Result<Buffer, Failure> {
        let count = call.count(argument, count)?;
        let datatype = call.element(self.datatype, self.of, count == 0)?;
        let Some(all) = count.checked_mul(ranks as i64) else {
            let text = format!("{argument} is {count}, too many for each of {ranks} ranks");
            return Err(Failure::new(MPI_ERR_COUNT, text));
        };
        self.elements(all, &datatype)
    }

    /// A block for each rank; displacements are in extents of the datatype.
    pub fn blocks(
        &self,
        call: &Call,
        counts: Named,
        displacements: Named,
        ranks: usize,
    ) -> Result<Vec<Buffer>, Failure> {
        let no_counts = counts.1.is_null();
        let needless = !no_counts && (0..ranks).all(|rank| counts.1.get(rank) == 0);
        let datatype = call.element(self.datatype, self.of, needless)?;
        each(
            call,
            counts,
            displacements,
            ranks,
            |_, count, displacement| {
                let bytes = displacement.wrapping_mul(datatype.extent());
                self.elements_at(bytes, count, &datatype)
            },
        )
    }
}

impl Memory<Datatypes> {
    /// A block for each rank, with a datatype of its own; displacements are in bytes.
    pub fn typed_blocks(
        &self,
        call: &Call,
        counts: Named,
        displacements: Named,
        ranks: usize,
    ) -> Result<Vec<Buffer>, Failure> {
        if self.of.is_null() && ranks > 0 {
            let text = format!("{}s is a null pointer", self.datatype);
            return Err(Failure::new(MPI_ERR_ARG, text));
        }
        each(
            call,
            counts,
            displacements,
            ranks,
            |rank, count, displacement| match count {
                0 if self.of.handle(rank) == MPI_DATATYPE_NULL => Ok(Buffer::empty()),
                _ => self.elements_at(displacement, count, &*self.of.get(rank)?),
            },
        )
    }
}

/// A block for each rank, from its count and its displacement.
fn each(
    call: &Call,
    counts: Named,
    displacements: Named,
    ranks: usize,
    block: impl Fn(usize, i64, i64) -> Result<Buffer, Failure>,
) -> Result<Vec<Buffer>, Failure> {
    for (argument, array) in [&counts, &displacements] {
        if array.is_null() && ranks > 0 {
            return Err(Failure::new(
                MPI_ERR_ARG,
                format!("{argument} is a null pointer"),
            ));
        }
    }
    let one = |rank: usize| {
        let count = call.count(counts.0, counts.1.get(rank))?;
        block(rank, count, displacements.1.get(rank))
    };
    (0..ranks).map(one).collect()
}

/// A root, and what this process has to do with it.
pub struct Rooted {
    pub root: Root,
    /// This process is the root.
    pub is_here: bool,
    /// This process has a block of its own to give to the root or to get from it.
    pub has_own: bool,
}

impl Rooted {
    #[inline]
    pub fn new(root: i32, comm: &Comm) -> Result<Rooted, Failure> {
        let named = match root {
            0.. => Root::Rank(root as u32),
            MPI_ROOT => Root::This,
            MPI_PROC_NULL => Root::Nobody,
            _ => return Err(no_such_root(root, comm)),
        };
        let inter = comm.is_inter();
        Ok(Rooted {
            root: named,
            is_here: if inter {
                named == Root::This
            } else {
                named == Root::Rank(comm.rank())
            },
            has_own: !inter || matches!(named, Root::Rank(_)),
        })
    }

    /// The block that a process has for the root or from it; none if it lies in place, which is for
    /// the root alone to say.
    #[inline]
    pub fn own(
        &self,
        call: &Call,
        memory: Memory<Handle>,
        argument: &'static str,
        count: i64,
    ) -> Result<Option<Buffer>, Failure> {
        if !self.has_own {
            return Ok(Some(Buffer::empty()));
        }
        memory.unless_in_place(|memory| memory.whole(call, argument, count, 1))
    }
}

#[cold]
fn no_such_root(root: i32, comm: &Comm) -> Failure {
    let text = format!(
        "root {root} does not exist: ranks go from 0 to {}",
        peers(comm) - 1
    );
    Failure::new(MPI_ERR_ROOT, text)
}

#[cold]
fn misplaced(buffer: &'static str, name: &'static str) -> Failure {
    let text =
        format!("{buffer} is {name}, which cannot stand there; pass the address of the data");
    Failure::new(MPI_ERR_BUFFER, text)
}
