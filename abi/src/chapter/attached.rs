//! Buffers for buffered sends: of the process, of a communicator, of a session (MPI 5.0 §3.6).
//!
//! What the program attaches is a promise of space, which `oxmpi` keeps book of; its address is
//! remembered because detaching gives it back.

use std::ffi::c_void;

use oxmpi_core::Attached;
use oxmpi_core::any_request::{AnyRequest, Report};

use crate::argument::{CountOut, Out};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Session};
use crate::request;
use crate::stage;

fn attach(attached: &Attached, buffer: *mut c_void, size: i64) -> Result<(), Failure> {
    let is_automatic = buffer.addr() == MPI_BUFFER_AUTOMATIC;
    let capacity = (!is_automatic).then_some(size as u64);
    Ok(attached.attach(capacity, (buffer.addr(), size))?)
}

fn detach(attached: &Attached, address: &Out<*mut c_void>, size: &CountOut) -> Result<(), Failure> {
    let Some((buffer, bytes)) = attached.detach()? else {
        return Err(Failure::new(MPI_ERR_BUFFER, "no buffer is attached"));
    };
    address.set(buffer as *mut c_void);
    size.set(if buffer == MPI_BUFFER_AUTOMATIC {
        0
    } else {
        bytes
    });
    Ok(())
}

fn flush(attached: &Attached) -> Result<(), Failure> {
    match attached.pool() {
        Some(pool) => Ok(pool.flush()?),
        None => Ok(()),
    }
}

fn iflush(attached: &Attached, request: &Out<Handle>) -> Result<(), Failure> {
    let operation = attached.pool().map(|pool| pool.iflush());
    let operation = operation.unwrap_or(AnyRequest::Over(Report::EMPTY));
    request.set(request::of(operation)?);
    Ok(())
}

pub fn buffer_attach(_: &Call, buffer: *mut c_void, size: i64) -> Result<(), Failure> {
    attach(&stage::joined()?.attached, buffer, size)
}

pub fn buffer_detach(_: &Call, address: Out<*mut c_void>, size: CountOut) -> Result<(), Failure> {
    detach(&stage::joined()?.attached, &address, &size)
}

pub fn buffer_flush(_: &Call) -> Result<(), Failure> {
    flush(&stage::joined()?.attached)
}

pub fn buffer_iflush(_: &Call, request: Out<Handle>) -> Result<(), Failure> {
    iflush(&stage::joined()?.attached, &request)
}

pub fn comm_attach_buffer(
    _: &Call,
    comm: &Communicator,
    buffer: *mut c_void,
    size: i64,
) -> Result<(), Failure> {
    attach(comm.attached(), buffer, size)
}

pub fn comm_detach_buffer(
    _: &Call,
    comm: &Communicator,
    address: Out<*mut c_void>,
    size: CountOut,
) -> Result<(), Failure> {
    detach(comm.attached(), &address, &size)
}

pub fn comm_flush_buffer(_: &Call, comm: &Communicator) -> Result<(), Failure> {
    flush(comm.attached())
}

pub fn comm_iflush_buffer(
    _: &Call,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    iflush(comm.attached(), &request)
}

pub fn session_attach_buffer(
    _: &Call,
    session: &Session,
    buffer: *mut c_void,
    size: i64,
) -> Result<(), Failure> {
    attach(session.attached(), buffer, size)
}

pub fn session_detach_buffer(
    _: &Call,
    session: &Session,
    address: Out<*mut c_void>,
    size: CountOut,
) -> Result<(), Failure> {
    detach(session.attached(), &address, &size)
}

pub fn session_flush_buffer(_: &Call, session: &Session) -> Result<(), Failure> {
    flush(session.attached())
}

pub fn session_iflush_buffer(
    _: &Call,
    session: &Session,
    request: Out<Handle>,
) -> Result<(), Failure> {
    iflush(session.attached(), &request)
}
