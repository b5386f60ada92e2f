//! Collective communication (MPI 5.0 §6).
//!
//! Each collective has one function that turns its arguments into a description: `movement` and
//! `reduction` hold them, with `memory` for their buffers and roots. The blocking, nonblocking and
//! persistent calls, which `calls!` makes of it, differ only in how the description is run. What
//! the standard ignores on a process, because it is not the root or because data lies in place, is
//! not looked at.

pub(super) mod memory;
mod movement;
pub mod quick;
mod reduction;

use std::ffi::c_void;

use crate::argument::{Datatypes, Integers, Out};
use crate::call::Call;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Info, Op, Type};
use crate::request;

use movement::*;
use reduction::*;

/// The three calls of a collective: the one that waits, the one that does not, and the one that
/// makes a persistent request.
macro_rules! calls {
    ($wait:ident $begin:ident $init:ident = $describe:ident($($name:ident: $type:ty),* $(,)?)) => {
        #[doc = concat!("MPI_", stringify!($wait), ", in lower case as all of them: runs to its end.")]
        #[allow(clippy::too_many_arguments, reason = "they are MPI's")]
        pub fn $wait(call: &Call, $($name: $type,)* comm: &Communicator) -> Result<(), Failure> {
            let collective = $describe(call, $($name,)* comm)?;
            Ok(comm.collective(collective)?)
        }

        #[doc = concat!("MPI_", stringify!($begin), ": begins.")]
        #[allow(clippy::too_many_arguments, reason = "they are MPI's")]
        pub fn $begin(call: &Call, $($name: $type,)* comm: &Communicator, request: Out<Handle>) -> Result<(), Failure> {
            let collective = $describe(call, $($name,)* comm)?;
            request.set(request::of(comm.icollective(collective)?)?);
            Ok(())
        }

        #[doc = concat!("MPI_", stringify!($init), ": makes a persistent request.")]
        #[allow(clippy::too_many_arguments, reason = "they are MPI's")]
        pub fn $init(
            call: &Call,
            $($name: $type,)*
            comm: &Communicator,
            _info: Option<&Info>,
            request: Out<Handle>,
        ) -> Result<(), Failure> {
            let collective = $describe(call, $($name,)* comm)?;
            request.set(request::of(comm.collective_init(collective)?)?);
            Ok(())
        }
    };
}
pub(super) use calls;

calls!(barrier ibarrier barrier_init = barrier_of());
calls!(bcast ibcast bcast_init = bcast_of(buffer: *mut c_void, count: i64, datatype: Handle, root: i32));
calls!(gather igather gather_init = gather_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle, root: i32));
calls!(gatherv igatherv gatherv_init = gatherv_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcounts: Integers, displs: Integers, recvtype: Handle, root: i32));
calls!(scatter iscatter scatter_init = scatter_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle, root: i32));
calls!(scatterv iscatterv scatterv_init = scatterv_of(
    sendbuf: *const c_void, sendcounts: Integers, displs: Integers, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle, root: i32));
calls!(allgather iallgather allgather_init = allgather_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle));
calls!(allgatherv iallgatherv allgatherv_init = allgatherv_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcounts: Integers, displs: Integers, recvtype: Handle));
calls!(alltoall ialltoall alltoall_init = alltoall_of(
    sendbuf: *const c_void, sendcount: i64, sendtype: Handle,
    recvbuf: *mut c_void, recvcount: i64, recvtype: Handle));
calls!(alltoallv ialltoallv alltoallv_init = alltoallv_of(
    sendbuf: *const c_void, sendcounts: Integers, sdispls: Integers, sendtype: Handle,
    recvbuf: *mut c_void, recvcounts: Integers, rdispls: Integers, recvtype: Handle));
calls!(alltoallw ialltoallw alltoallw_init = alltoallw_of(
    sendbuf: *const c_void, sendcounts: Integers, sdispls: Integers, sendtypes: Datatypes,
    recvbuf: *mut c_void, recvcounts: Integers, rdispls: Integers, recvtypes: Datatypes));
calls!(reduce ireduce reduce_init = reduce_of(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: Handle, op: &Op, root: i32));
calls!(allreduce iallreduce allreduce_init = allreduce_of(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: &Type, op: &Op));
calls!(reduce_scatter ireduce_scatter reduce_scatter_init = reduce_scatter_of(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: Integers, datatype: &Type, op: &Op));
calls!(reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init = reduce_scatter_block_of(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: i64, datatype: &Type, op: &Op));
calls!(scan iscan scan_init = scan_of(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: &Type, op: &Op));
calls!(exscan iexscan exscan_init = exscan_of(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: &Type, op: &Op));
