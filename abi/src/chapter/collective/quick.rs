//! The short way of blocking collectives: predefined types and operations, memory of the program.
//!
//! Entry points ask here before they look at anything (`quick` in abi/table). An answer is the
//! outcome of the call; without one nothing has happened, and the call is checked and made as every
//! other.

use std::ffi::c_void;

use oxmpi_core::ErrorKind;
use oxmpi_core::buffer::MESSAGE_BYTES_MAX;
use oxmpi_core::collective::Combined;
use oxmpi_core::communicator::Comm;

use crate::constant::MPI_IN_PLACE;
use crate::failure::Failure;
use crate::handle::{Handle, Object, Pinned};
use crate::object::Communicator;
use crate::stage;
use crate::usual::{Elements, basic_of, block_bytes, is_memory, op_of};

/// The outcome of a call; none if it is not one for the short way.
type Outcome = Option<Result<(), Failure>>;

/// The same below this layer.
type Ended = Option<Result<(), ErrorKind>>;

/// Memory that is read, and memory that is written.
type From = (*const u8, usize);
type To = (*mut u8, usize);

/// A member of an array: `int`, `MPI_Count` or `MPI_Aint`.
pub trait Word: Copy + Into<i64> {}
impl<T: Copy + Into<i64>> Word for T {}

#[inline(always)]
fn communicator(comm: Handle) -> Option<Pinned<'static, Communicator>> {
    match stage::is_inside() {
        true => Communicator::table().get(comm),
        false => None,
    }
}

#[inline(always)]
fn ended(ended: Ended) -> Outcome {
    Some(ended?.map_err(Failure::from))
}

#[inline(always)]
fn to(address: *mut c_void, elements: Elements) -> Option<To> {
    let bytes = usize::try_from(block_bytes(elements)?).ok()?;
    is_memory(address).then_some((address.cast(), bytes))
}

#[inline(always)]
fn from(address: *const c_void, elements: Elements) -> Option<From> {
    let (address, bytes) = to(address.cast_mut(), elements)?;
    Some((address.cast_const(), bytes))
}

/// What `from` says, or that the data lies in place.
#[inline(always)]
fn from_or_in_place(address: *const c_void, elements: Elements) -> Option<Option<From>> {
    match address.addr() == MPI_IN_PLACE {
        true => Some(None),
        false => from(address, elements).map(Some),
    }
}

/// So many elements for each member.
#[inline(always)]
fn for_all(comm: &Comm, (count, datatype): Elements) -> Option<Elements> {
    let all = count.checked_mul(i64::from(comm.size()))?;
    Some((all, datatype))
}

/// Blocks as arrays say: each has its count, and its displacement in elements.
///
/// # Safety
/// The arrays must have an entry for each member that is asked for.
#[inline(always)]
unsafe fn listed<C: Word, D: Word>(
    counts: *const C,
    displacements: *const D,
    datatype: Handle,
) -> Option<impl Fn(usize) -> Option<(i64, u64)>> {
    let size = i64::from(basic_of(datatype)?.size());
    let is_there = is_memory(counts.cast()) && is_memory(displacements.cast());
    is_there.then_some(move |member: usize| {
        // SAFETY: the caller's promise.
        let (count, displacement) = unsafe { (*counts.add(member), *displacements.add(member)) };
        let bytes = u64::try_from(count.into().checked_mul(size)?).ok()?;
        let is_message = bytes <= MESSAGE_BYTES_MAX;
        is_message.then_some((displacement.into().checked_mul(size)?, bytes))
    })
}

#[inline(always)]
fn combined(elements: Elements, op: Handle) -> Option<Combined> {
    Some(Combined {
        op: op_of(op)?,
        basic: basic_of(elements.1)?,
        bytes: usize::try_from(block_bytes(elements)?).ok()?,
    })
}

/// MPI_Barrier.
///
/// # Safety
/// None is needed; all short ways are called alike.
#[inline(always)]
pub unsafe fn barrier(comm: Handle) -> Outcome {
    ended(communicator(comm)?.comm.barrier_at_once())
}

/// MPI_Bcast.
///
/// # Safety
/// The program vouches for the memory that its arguments name.
#[inline(always)]
pub unsafe fn bcast(
    buffer: *mut c_void,
    count: i64,
    datatype: Handle,
    root: i32,
    comm: Handle,
) -> Outcome {
    let data = to(buffer, (count, datatype))?;
    // SAFETY: the caller's promise.
    ended(unsafe { communicator(comm)?.comm.bcast_at_once(data, root) })
}

/// MPI_Allreduce.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Outcome {
    let elements = (count, datatype);
    let combined = combined(elements, op)?;
    let (send, receive) = (from_or_in_place(sendbuf, elements)?, to(recvbuf, elements)?);
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .allreduce_at_once(combined, send, receive)
    })
}

/// MPI_Scan.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Outcome {
    let elements = (count, datatype);
    let combined = combined(elements, op)?;
    let (send, receive) = (from_or_in_place(sendbuf, elements)?, to(recvbuf, elements)?);
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .scan_at_once(combined, send, receive)
    })
}

/// MPI_Exscan.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Outcome {
    let elements = (count, datatype);
    let combined = combined(elements, op)?;
    let (send, receive) = (from_or_in_place(sendbuf, elements)?, to(recvbuf, elements)?);
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .exscan_at_once(combined, send, receive)
    })
}

/// MPI_Reduce.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: i32,
    comm: Handle,
) -> Outcome {
    let elements = (count, datatype);
    let combined = combined(elements, op)?;
    let (send, receive) = (from_or_in_place(sendbuf, elements)?, to(recvbuf, elements));
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .reduce_at_once(combined, send, receive, root)
    })
}

/// MPI_Gather.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn gather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Outcome {
    let send = from_or_in_place(sendbuf, (sendcount, sendtype))?;
    let comm = communicator(comm)?;
    let all = for_all(&comm.comm, (recvcount, recvtype)).and_then(|all| to(recvbuf, all));
    // SAFETY: the caller's promise.
    ended(unsafe { comm.comm.gather_at_once(send, all, root) })
}

/// MPI_Scatter.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn scatter(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Outcome {
    let receive = match recvbuf.addr() == MPI_IN_PLACE {
        true => None,
        false => Some(to(recvbuf, (recvcount, recvtype))?),
    };
    let comm = communicator(comm)?;
    let all = for_all(&comm.comm, (sendcount, sendtype)).and_then(|all| from(sendbuf, all));
    // SAFETY: the caller's promise.
    ended(unsafe { comm.comm.scatter_at_once(all, receive, root) })
}

/// MPI_Allgather.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn allgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Outcome {
    let send = from_or_in_place(sendbuf, (sendcount, sendtype))?;
    let comm = communicator(comm)?;
    let all = to(recvbuf, for_all(&comm.comm, (recvcount, recvtype))?)?;
    // SAFETY: the caller's promise.
    ended(unsafe { comm.comm.allgather_at_once(send, all) })
}

/// MPI_Alltoall.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn alltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Outcome {
    let (send, bytes) = from(sendbuf, (sendcount, sendtype))?;
    let (receive, received) = to(recvbuf, (recvcount, recvtype))?;
    if received != bytes {
        return None;
    }
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .alltoall_at_once(send, receive, bytes)
    })
}

/// MPI_Gatherv.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn gatherv<C: Word, D: Word>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: *const C,
    displs: *const D,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Outcome {
    let send = from(sendbuf, (sendcount, sendtype))?;
    // SAFETY: the root has an entry for each member, and no other looks.
    let blocks = unsafe { listed(recvcounts, displs, recvtype) };
    let is_usable = is_memory(recvbuf);
    let block = |member| blocks.as_ref().filter(|_| is_usable)?(member);
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .gatherv_at_once(send, recvbuf.cast(), block, root)
    })
}

/// MPI_Scatterv.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn scatterv<C: Word, D: Word>(
    sendbuf: *const c_void,
    sendcounts: *const C,
    displs: *const D,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Outcome {
    let receive = to(recvbuf, (recvcount, recvtype))?;
    // SAFETY: as in `gatherv`.
    let blocks = unsafe { listed(sendcounts, displs, sendtype) };
    let is_usable = is_memory(sendbuf);
    let block = |member| blocks.as_ref().filter(|_| is_usable)?(member);
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .scatterv_at_once(sendbuf.cast_mut().cast(), block, receive, root)
    })
}

/// MPI_Allgatherv.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn allgatherv<C: Word, D: Word>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: *const C,
    displs: *const D,
    recvtype: Handle,
    comm: Handle,
) -> Outcome {
    let send = from_or_in_place(sendbuf, (sendcount, sendtype))?;
    // SAFETY: the arrays have an entry for each member.
    let block = unsafe { listed(recvcounts, displs, recvtype)? };
    if !is_memory(recvbuf) {
        return None;
    }
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .allgatherv_at_once(send, recvbuf.cast(), block)
    })
}

/// MPI_Alltoallv.
///
/// # Safety
/// As `bcast`.
#[inline(always)]
pub unsafe fn alltoallv<C: Word, D: Word>(
    sendbuf: *const c_void,
    sendcounts: *const C,
    sdispls: *const D,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: *const C,
    rdispls: *const D,
    recvtype: Handle,
    comm: Handle,
) -> Outcome {
    if !is_memory(sendbuf) || !is_memory(recvbuf) {
        return None;
    }
    // SAFETY: the arrays have an entry for each member.
    let (sent, received) = unsafe {
        (
            listed(sendcounts, sdispls, sendtype)?,
            listed(recvcounts, rdispls, recvtype)?,
        )
    };
    let (from, to) = (sendbuf.cast_mut().cast(), recvbuf.cast());
    // SAFETY: the caller's promise.
    ended(unsafe {
        communicator(comm)?
            .comm
            .alltoallv_at_once((from, sent), (to, received))
    })
}
