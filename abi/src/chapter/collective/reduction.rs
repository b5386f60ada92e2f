//! Descriptions of the collectives that combine data.

use std::ffi::c_void;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Reduction, Shares};
use oxmpi_datatypes::datatype::{Basic, Datatype};

use super::memory::{Memory, Rooted};
use crate::argument::Integers;
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Op, Type};

type Described = Result<Collective, Failure>;

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn reduce_of(
    call: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: &Op,
    root: i32,
    comm: &Communicator,
) -> Described {
    let root = Rooted::new(root, comm)?;
    let send = Memory::new("sendbuf", "datatype", sendbuf.cast_mut(), datatype);
    let receive = Memory::new("recvbuf", "datatype", recvbuf, datatype);
    let reduction = match root.is_here || root.has_own {
        true => reduction(&*call.element("datatype", datatype, count == 0)?, op),
        // A bystander's datatype is not looked at, so any will do.
        false => Reduction {
            op: op.with_datatype(MPI_DATATYPE_NULL),
            datatype: Datatype::named(Basic::Byte),
        },
    };
    Ok(Collective::Reduce {
        send: root.own(call, send, "count", count)?,
        receive: match root.is_here {
            true => receive.whole(call, "count", count, 1)?,
            false => Buffer::empty(),
        },
        reduction,
        root: root.root,
    })
}

#[inline]
pub(super) fn allreduce_of(
    _: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Type,
    op: &Op,
    _: &Communicator,
) -> Described {
    Ok(Collective::Allreduce {
        send: input(sendbuf, count, datatype)?,
        receive: Memory::receive(recvbuf, ()).elements(count, datatype)?,
        reduction: reduction(datatype, op),
    })
}

pub(super) fn scan_of(
    _: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Type,
    op: &Op,
    _: &Communicator,
) -> Described {
    Ok(Collective::Scan {
        send: input(sendbuf, count, datatype)?,
        receive: Memory::receive(recvbuf, ()).elements(count, datatype)?,
        reduction: reduction(datatype, op),
    })
}

pub(super) fn exscan_of(
    _: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &Type,
    op: &Op,
    _: &Communicator,
) -> Described {
    Ok(Collective::Exscan {
        send: input(sendbuf, count, datatype)?,
        receive: Memory::receive(recvbuf, ()).elements(count, datatype)?,
        reduction: reduction(datatype, op),
    })
}

pub(super) fn reduce_scatter_of(
    call: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    datatype: &Type,
    op: &Op,
    comm: &Communicator,
) -> Described {
    if recvcounts.is_null() {
        return Err(Failure::new(MPI_ERR_ARG, "recvcounts is a null pointer"));
    }
    let count = |rank| call.count("recvcounts", recvcounts.get(rank));
    let counts: Vec<i64> = (0..comm.size() as usize)
        .map(count)
        .collect::<Result<_, _>>()?;
    let all = counts
        .iter()
        .try_fold(0i64, |sum, count| sum.checked_add(*count));
    let all =
        all.ok_or_else(|| Failure::new(MPI_ERR_COUNT, "the sum of recvcounts is too large"))?;
    let own = counts[comm.rank() as usize];
    let shares = Shares::Each(counts.iter().map(|count| *count as u64).collect());
    dealt(sendbuf, recvbuf, own, all, shares, datatype, op)
}

pub(super) fn reduce_scatter_block_of(
    _: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: &Type,
    op: &Op,
    comm: &Communicator,
) -> Described {
    let Some(all) = recvcount.checked_mul(i64::from(comm.size())) else {
        let text = format!(
            "recvcount is {recvcount}, too many for each of {} ranks",
            comm.size()
        );
        return Err(Failure::new(MPI_ERR_COUNT, text));
    };
    let shares = Shares::Equal(recvcount as u64);
    dealt(sendbuf, recvbuf, recvcount, all, shares, datatype, op)
}

/// A reduction whose result is dealt out. In place the receive buffer holds the whole vector.
fn dealt(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    own: i64,
    all: i64,
    shares: Shares,
    datatype: &Type,
    op: &Op,
) -> Described {
    let send = input(sendbuf, all, datatype)?;
    let room = if send.is_none() { all } else { own };
    Ok(Collective::ReduceScatter {
        send,
        receive: Memory::receive(recvbuf, ()).elements(room, datatype)?,
        shares,
        reduction: reduction(datatype, op),
    })
}

/// This process's vector; none if it lies in place.
#[inline]
fn input(sendbuf: *const c_void, count: i64, datatype: &Type) -> Result<Option<Buffer>, Failure> {
    Memory::send(sendbuf, ()).unless_in_place(|send| send.elements(count, datatype))
}

#[inline]
fn reduction(datatype: &Type, op: &Op) -> Reduction {
    Reduction {
        op: op.with_datatype(datatype.handle()),
        datatype: datatype.datatype.clone(),
    }
}
