//! Descriptions of the collectives that move data.

use std::ffi::c_void;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Parts};

use super::memory::{Memory, Rooted, peers};
use crate::argument::{Datatypes, Integers};
use crate::call::Call;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::Communicator;

type Described = Result<Collective, Failure>;

pub(super) fn barrier_of(_: &Call, _: &Communicator) -> Described {
    Ok(Collective::Barrier)
}

#[inline]
pub(super) fn bcast_of(
    call: &Call,
    buffer: *mut c_void,
    count: i64,
    datatype: Handle,
    root: i32,
    comm: &Communicator,
) -> Described {
    let Rooted {
        root,
        is_here,
        has_own,
    } = Rooted::new(root, comm)?;
    let buffer = match is_here || has_own {
        true => {
            Memory::new("buffer", "datatype", buffer, datatype).whole(call, "count", count, 1)?
        }
        false => Buffer::empty(),
    };
    Ok(Collective::Bcast { buffer, root })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn gather_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: &Communicator,
) -> Described {
    let root = Rooted::new(root, comm)?;
    let receive = match root.is_here {
        true => {
            Memory::receive(recvbuf, recvtype).whole(call, "recvcount", recvcount, peers(comm))?
        }
        false => Buffer::empty(),
    };
    Ok(Collective::Gather {
        send: root.own(
            call,
            Memory::send(sendbuf, sendtype),
            "sendcount",
            sendcount,
        )?,
        receive: Parts::Equal(receive),
        root: root.root,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn gatherv_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    root: i32,
    comm: &Communicator,
) -> Described {
    let root = Rooted::new(root, comm)?;
    let (counts, displs) = (("recvcounts", recvcounts), ("displs", displs));
    let receive = match root.is_here {
        true => Memory::receive(recvbuf, recvtype).blocks(call, counts, displs, peers(comm))?,
        false => Vec::new(),
    };
    Ok(Collective::Gather {
        send: root.own(
            call,
            Memory::send(sendbuf, sendtype),
            "sendcount",
            sendcount,
        )?,
        receive: Parts::Each(receive),
        root: root.root,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn scatter_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: &Communicator,
) -> Described {
    let root = Rooted::new(root, comm)?;
    let send = match root.is_here {
        true => Memory::send(sendbuf, sendtype).whole(call, "sendcount", sendcount, peers(comm))?,
        false => Buffer::empty(),
    };
    Ok(Collective::Scatter {
        send: Parts::Equal(send),
        receive: root.own(
            call,
            Memory::receive(recvbuf, recvtype),
            "recvcount",
            recvcount,
        )?,
        root: root.root,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn scatterv_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcounts: Integers,
    displs: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: &Communicator,
) -> Described {
    let root = Rooted::new(root, comm)?;
    let (counts, displs) = (("sendcounts", sendcounts), ("displs", displs));
    let send = match root.is_here {
        true => Memory::send(sendbuf, sendtype).blocks(call, counts, displs, peers(comm))?,
        false => Vec::new(),
    };
    Ok(Collective::Scatter {
        send: Parts::Each(send),
        receive: root.own(
            call,
            Memory::receive(recvbuf, recvtype),
            "recvcount",
            recvcount,
        )?,
        root: root.root,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn allgather_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: &Communicator,
) -> Described {
    let (send, receive) = (
        Memory::send(sendbuf, sendtype),
        Memory::receive(recvbuf, recvtype),
    );
    Ok(Collective::Allgather {
        send: send.unless_in_place(|send| send.whole(call, "sendcount", sendcount, 1))?,
        receive: Parts::Equal(receive.whole(call, "recvcount", recvcount, peers(comm))?),
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn allgatherv_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: &Communicator,
) -> Described {
    let (send, receive) = (
        Memory::send(sendbuf, sendtype),
        Memory::receive(recvbuf, recvtype),
    );
    let (counts, displs) = (("recvcounts", recvcounts), ("displs", displs));
    Ok(Collective::Allgather {
        send: send.unless_in_place(|send| send.whole(call, "sendcount", sendcount, 1))?,
        receive: Parts::Each(receive.blocks(call, counts, displs, peers(comm))?),
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn alltoall_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: &Communicator,
) -> Described {
    let peers = peers(comm);
    let (send, receive) = (
        Memory::send(sendbuf, sendtype),
        Memory::receive(recvbuf, recvtype),
    );
    let send = send.unless_in_place(|send| send.whole(call, "sendcount", sendcount, peers))?;
    Ok(Collective::Alltoall {
        send: send.map(Parts::Equal),
        receive: Parts::Equal(receive.whole(call, "recvcount", recvcount, peers)?),
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn alltoallv_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: &Communicator,
) -> Described {
    let peers = peers(comm);
    let (send, receive) = (
        Memory::send(sendbuf, sendtype),
        Memory::receive(recvbuf, recvtype),
    );
    let (counts, displs) = (("sendcounts", sendcounts), ("sdispls", sdispls));
    let send = send.unless_in_place(|send| send.blocks(call, counts, displs, peers))?;
    let (counts, displs) = (("recvcounts", recvcounts), ("rdispls", rdispls));
    Ok(Collective::Alltoall {
        send: send.map(Parts::Each),
        receive: Parts::Each(receive.blocks(call, counts, displs, peers)?),
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub(super) fn alltoallw_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: Datatypes,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: Datatypes,
    comm: &Communicator,
) -> Described {
    let peers = peers(comm);
    let (send, receive) = (
        Memory::send(sendbuf, sendtypes),
        Memory::receive(recvbuf, recvtypes),
    );
    let (counts, displs) = (("sendcounts", sendcounts), ("sdispls", sdispls));
    let send = send.unless_in_place(|send| send.typed_blocks(call, counts, displs, peers))?;
    let (counts, displs) = (("recvcounts", recvcounts), ("rdispls", rdispls));
    Ok(Collective::Alltoall {
        send: send.map(Parts::Each),
        receive: Parts::Each(receive.typed_blocks(call, counts, displs, peers)?),
    })
}
