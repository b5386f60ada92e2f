//! Neighbourhood collectives (MPI 5.0 §8.6 to §8.9): as the collectives on all ranks, with those
//! that the topology names.

use std::ffi::c_void;

use oxmpi_core::collective::{Collective, Neighbours, Parts};

use super::collective::calls;
use super::collective::memory::Memory;
use crate::argument::{Datatypes, Integers, Out};
use crate::call::Call;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Info};
use crate::request;

type Described = Result<Collective, Failure>;

calls!(neighbor_allgather ineighbor_allgather neighbor_allgather_init = allgather_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle));
calls!(neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init = allgatherv_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcounts: Integers, displs: Integers, recvtype: Handle));
calls!(neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init = alltoall_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle));
calls!(neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init = alltoallv_of(
    sendbuf: *const c_void, sendcounts: Integers, sdispls: Integers, sendtype: Handle,
    recvbuf: *mut c_void, recvcounts: Integers, rdispls: Integers, recvtype: Handle));
calls!(neighbor_alltoallw ineighbor_alltoallw neighbor_alltoallw_init = alltoallw_of(
    sendbuf: *const c_void, sendcounts: Integers, sdispls: Integers, sendtypes: Datatypes,
    recvbuf: *mut c_void, recvcounts: Integers, rdispls: Integers, recvtypes: Datatypes));

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
fn allgather_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: &Communicator,
) -> Described {
    let neighbours = Neighbours::of(comm)?;
    let sources = neighbours.sources.len();
    let receive = Memory::receive(recvbuf, recvtype);
    Ok(Collective::NeighbourAllgather {
        send: Memory::send(sendbuf, sendtype).whole(call, "sendcount", sendcount, 1)?,
        receive: Parts::Equal(receive.whole(call, "recvcount", recvcount, sources)?),
        neighbours,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
fn allgatherv_of(
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
    let neighbours = Neighbours::of(comm)?;
    let (counts, displs) = (("recvcounts", recvcounts), ("displs", displs));
    let receive = Memory::receive(recvbuf, recvtype);
    let receive = receive.blocks(call, counts, displs, neighbours.sources.len())?;
    Ok(Collective::NeighbourAllgather {
        send: Memory::send(sendbuf, sendtype).whole(call, "sendcount", sendcount, 1)?,
        receive: Parts::Each(receive),
        neighbours,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
fn alltoall_of(
    call: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: &Communicator,
) -> Described {
    let neighbours = Neighbours::of(comm)?;
    let (sources, destinations) = (neighbours.sources.len(), neighbours.destinations.len());
    let (send, receive) = (
        Memory::send(sendbuf, sendtype),
        Memory::receive(recvbuf, recvtype),
    );
    Ok(Collective::NeighbourAlltoall {
        send: Parts::Equal(send.whole(call, "sendcount", sendcount, destinations)?),
        receive: Parts::Equal(receive.whole(call, "recvcount", recvcount, sources)?),
        neighbours,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
fn alltoallv_of(
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
    let neighbours = Neighbours::of(comm)?;
    let (sources, destinations) = (neighbours.sources.len(), neighbours.destinations.len());
    let (send, receive) = (
        Memory::send(sendbuf, sendtype),
        Memory::receive(recvbuf, recvtype),
    );
    let (counts, displs) = (("sendcounts", sendcounts), ("sdispls", sdispls));
    let send = send.blocks(call, counts, displs, destinations)?;
    let (counts, displs) = (("recvcounts", recvcounts), ("rdispls", rdispls));
    Ok(Collective::NeighbourAlltoall {
        send: Parts::Each(send),
        receive: Parts::Each(receive.blocks(call, counts, displs, sources)?),
        neighbours,
    })
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
fn alltoallw_of(
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
    let neighbours = Neighbours::of(comm)?;
    let (sources, destinations) = (neighbours.sources.len(), neighbours.destinations.len());
    let (send, receive) = (
        Memory::send(sendbuf, sendtypes),
        Memory::receive(recvbuf, recvtypes),
    );
    let (counts, displs) = (("sendcounts", sendcounts), ("sdispls", sdispls));
    let send = send.typed_blocks(call, counts, displs, destinations)?;
    let (counts, displs) = (("recvcounts", recvcounts), ("rdispls", rdispls));
    Ok(Collective::NeighbourAlltoall {
        send: Parts::Each(send),
        receive: Parts::Each(receive.typed_blocks(call, counts, displs, sources)?),
        neighbours,
    })
}
