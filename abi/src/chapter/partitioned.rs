//! Partitioned messages (MPI 5.0 §4).

use std::ffi::c_void;

use oxmpi_core::buffer::Buffer;

use super::point::{buffer, dest};
use crate::argument::{FlagOut, Out, check_room};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Info, Type};
use crate::request;

/// The memory of all partitions together.
fn whole(
    address: *const c_void,
    partitions: usize,
    count: i64,
    datatype: &Type,
) -> Result<Buffer, Failure> {
    check_room("partitions", partitions)?;
    let Some(count) = count.checked_mul(partitions as i64) else {
        let text =
            format!("{partitions} partitions of {count} elements are more than can be addressed");
        return Err(Failure::new(MPI_ERR_COUNT, text));
    };
    buffer(address, count, datatype)
}

/// A partition's number; negative ones do not exist.
fn partition(number: i32) -> Result<u64, Failure> {
    u64::try_from(number)
        .map_err(|_| Failure::new(MPI_ERR_ARG, format!("partition {number} does not exist")))
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn psend_init(
    _: &Call,
    buf: *const c_void,
    partitions: usize,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    _: Option<&Info>,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = whole(buf, partitions, count, datatype)?;
    let operation =
        comm.partitioned_send_init(buffer, partitions as u64, dest(comm, rank)?, tag)?;
    request.set(request::of(operation)?);
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn precv_init(
    _: &Call,
    buf: *mut c_void,
    partitions: usize,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    _: Option<&Info>,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = whole(buf, partitions, count, datatype)?;
    let operation =
        comm.partitioned_receive_init(buffer, partitions as u64, dest(comm, rank)?, tag)?;
    request.set(request::of(operation)?);
    Ok(())
}

pub fn pready(_: &Call, number: i32, request: Handle) -> Result<(), Failure> {
    let number = partition(number)?;
    Ok(request::partitions(request)?.ready(number, number)?)
}

pub fn pready_range(_: &Call, low: i32, high: i32, request: Handle) -> Result<(), Failure> {
    Ok(request::partitions(request)?.ready(partition(low)?, partition(high)?)?)
}

pub fn pready_list(_: &Call, _: usize, numbers: &[i32], request: Handle) -> Result<(), Failure> {
    let partitions = request::partitions(request)?;
    for &number in numbers {
        let number = partition(number)?;
        partitions.ready(number, number)?;
    }
    Ok(())
}

pub fn parrived(_: &Call, request: Handle, number: i32, flag: FlagOut) -> Result<(), Failure> {
    if request == MPI_REQUEST_NULL {
        // MPI 5.0 §4.2.2: of a null request everything has arrived.
        flag.set(true);
        return Ok(());
    }
    flag.set(request::partitions(request)?.arrived(partition(number)?)?);
    Ok(())
}
