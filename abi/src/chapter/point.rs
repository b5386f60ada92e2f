//! Messages between two processes (MPI 5.0 §3.2 to §3.11).
//!
//! Ranks and tags become what `oxmpi` asks for, addresses become buffers; the rest is its business.

use std::ffi::c_void;
use std::sync::Arc;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::communicator::Comm;
use oxmpi_core::{Incoming, Outgoing, SendMode, Source, Tag};
use oxmpi_datatypes::datatype::Datatype;

use crate::argument::{FlagOut, InOut, Out, StatusOut, constant};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{Communicator, Message, Type};
use crate::request;

/// The buffer that a message's first three arguments describe.
#[inline(always)]
pub(super) fn buffer(
    address: *const c_void,
    count: i64,
    datatype: &Datatype,
) -> Result<Buffer, Failure> {
    if let Some(name) = constant(address.addr())
        && count > 0
    {
        return Err(no_memory(name));
    }
    // SAFETY: the C program vouches for the memory that its arguments name, until the operation is
    // over.
    Ok(unsafe { Buffer::new(address.cast_mut().cast(), count as u64, datatype)? })
}

#[cold]
fn no_memory(name: &'static str) -> Failure {
    let text =
        format!("a buffer is {name}, which means nothing here; give the address of the data");
    Failure::new(MPI_ERR_BUFFER, text)
}

/// The receiver; none for MPI_PROC_NULL.
#[inline]
pub(super) fn dest(comm: &Comm, rank: i32) -> Result<Option<u32>, Failure> {
    match rank {
        MPI_PROC_NULL => Ok(None),
        0.. => Ok(Some(rank as u32)),
        _ => Err(no_such_rank("dest", rank, comm)),
    }
}

/// The sender; none for MPI_PROC_NULL.
#[inline]
pub(super) fn source(comm: &Comm, rank: i32) -> Result<Option<Source>, Failure> {
    match rank {
        MPI_PROC_NULL => Ok(None),
        MPI_ANY_SOURCE => Ok(Some(Source::Any)),
        0.. => Ok(Some(Source::Rank(rank as u32))),
        _ => Err(no_such_rank("source", rank, comm)),
    }
}

#[cold]
fn no_such_rank(argument: &str, rank: i32, comm: &Comm) -> Failure {
    let ranks = comm
        .remote_group()
        .map_or(comm.size(), |group| group.size());
    let text = format!(
        "{argument} {rank} does not exist: ranks of the communicator go from 0 to {}",
        ranks - 1
    );
    Failure::new(MPI_ERR_RANK, text)
}

#[inline]
pub(super) fn tag_of_receive(tag: i32) -> Tag {
    match tag {
        MPI_ANY_TAG => Tag::Any,
        _ => Tag::Is(tag),
    }
}

/// A tag is checked even where the null process makes the message needless.
#[inline]
fn checked_tag(tag: i32) -> Result<i32, Failure> {
    if (0..=oxmpi_core::TAG_MAX).contains(&tag) {
        return Ok(tag);
    }
    Err(Failure::from(oxmpi_core::ErrorKind::Tag { tag }))
}

#[inline]
fn send_in(
    mode: SendMode,
    (buf, count, datatype): (*const c_void, i64, &Type),
    rank: i32,
    tag: i32,
    comm: &Communicator,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let dest = dest(comm, rank)?;
    Ok(comm.send_buffer(&buffer, dest, checked_tag(tag)?, mode)?)
}

#[inline]
fn isend_in(
    mode: SendMode,
    (buf, count, datatype): (*const c_void, i64, &Type),
    rank: i32,
    tag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let dest = dest(comm, rank)?;
    if comm.send_now(&buffer, dest, tag, mode)? {
        request.set(request::SENT);
        return Ok(());
    }
    let operation = comm.isend_buffer(&buffer, dest, checked_tag(tag)?, mode)?;
    request.set(request::of_send(comm, operation)?);
    Ok(())
}

fn send_init_in(
    mode: SendMode,
    (buf, count, datatype): (*const c_void, i64, &Type),
    rank: i32,
    tag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let dest = dest(comm, rank)?;
    let operation = comm.send_init(buffer, dest, checked_tag(tag)?, mode)?;
    request.set(request::of(operation)?);
    Ok(())
}

/// Makes the calls of one send mode; a ready send is a standard one (MPI 5.0 §3.4).
macro_rules! mode {
    ($mode:expr, $send:ident, $isend:ident, $send_init:ident) => {
        #[inline]
        pub fn $send(
            _: &Call,
            buf: *const c_void,
            count: i64,
            datatype: &Type,
            dest: i32,
            tag: i32,
            comm: &Communicator,
        ) -> Result<(), Failure> {
            send_in($mode, (buf, count, datatype), dest, tag, comm)
        }

        #[inline]
        #[expect(clippy::too_many_arguments, reason = "they are MPI's")]
        pub fn $isend(
            _: &Call,
            buf: *const c_void,
            count: i64,
            datatype: &Type,
            dest: i32,
            tag: i32,
            comm: &Communicator,
            request: Out<Handle>,
        ) -> Result<(), Failure> {
            isend_in($mode, (buf, count, datatype), dest, tag, comm, request)
        }

        #[expect(clippy::too_many_arguments, reason = "they are MPI's")]
        pub fn $send_init(
            _: &Call,
            buf: *const c_void,
            count: i64,
            datatype: &Type,
            dest: i32,
            tag: i32,
            comm: &Communicator,
            request: Out<Handle>,
        ) -> Result<(), Failure> {
            send_init_in($mode, (buf, count, datatype), dest, tag, comm, request)
        }
    };
}

mode!(SendMode::Standard, send, isend, send_init);
mode!(SendMode::Standard, rsend, irsend, rsend_init);
mode!(SendMode::Synchronous, ssend, issend, ssend_init);

pub fn bsend(
    _: &Call,
    buf: *const c_void,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    Ok(comm.buffered_send(&buffer, dest(comm, rank)?, checked_tag(tag)?)?)
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn ibsend(
    call: &Call,
    buf: *const c_void,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    bsend(call, buf, count, datatype, rank, tag, comm)?;
    request.set(request::SENT);
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn bsend_init(
    _: &Call,
    buf: *const c_void,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let operation = comm.buffered_send_init(buffer, dest(comm, rank)?, checked_tag(tag)?)?;
    request.set(request::of(operation)?);
    Ok(())
}

#[inline]
#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn recv(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    status: StatusOut,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let received = comm.recv_buffer(&buffer, source(comm, rank)?, tag_of_receive(tag));
    status.settle(received)
}

#[inline]
#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn irecv(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let (source, tag) = (source(comm, rank)?, tag_of_receive(tag));
    if let Some(id) = comm.post_receive(&buffer, source, tag)? {
        request.set(request::of_receive(comm, id)?);
        return Ok(());
    }
    let operation = comm.irecv_buffer(&buffer, source, tag)?;
    request.set(request::of(operation)?);
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn recv_init(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let operation = comm.recv_init(buffer, source(comm, rank)?, tag_of_receive(tag))?;
    request.set(request::of(operation)?);
    Ok(())
}

pub fn probe(
    _: &Call,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    status: StatusOut,
) -> Result<(), Failure> {
    status.set(&comm.probe_message(source(comm, rank)?, tag_of_receive(tag))?);
    Ok(())
}

pub fn iprobe(
    _: &Call,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    flag: FlagOut,
    status: StatusOut,
) -> Result<(), Failure> {
    let found = comm.iprobe_message(source(comm, rank)?, tag_of_receive(tag))?;
    if let Some(report) = &found {
        status.set(report);
    }
    flag.set(found.is_some());
    Ok(())
}

pub fn mprobe(
    _: &Call,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    message: Out<Handle>,
    status: StatusOut,
) -> Result<(), Failure> {
    let (claimed, report) = comm.claim_message(source(comm, rank)?, tag_of_receive(tag))?;
    message.set(Message::of(claimed)?);
    status.set(&report);
    Ok(())
}

pub fn improbe(
    _: &Call,
    rank: i32,
    tag: i32,
    comm: &Communicator,
    flag: FlagOut,
    message: Out<Handle>,
    status: StatusOut,
) -> Result<(), Failure> {
    let found = comm.try_claim_message(source(comm, rank)?, tag_of_receive(tag))?;
    flag.set(found.is_some());
    match found {
        Some((claimed, report)) => {
            message.set(Message::of(claimed)?);
            status.set(&report);
        }
        None => message.set(MPI_MESSAGE_NULL),
    }
    Ok(())
}

/// The operation that receives a message that was set aside; the handle is used up.
fn receive_message(
    (buf, count, datatype): (*mut c_void, i64, &Type),
    message: &InOut<Handle>,
) -> Result<oxmpi_core::any_request::AnyRequest, Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let operation = match Message::take(message.get())? {
        Some(claimed) => claimed.irecv(&buffer)?,
        None => oxmpi_core::any_request::AnyRequest::Over(oxmpi_core::any_request::Report::NOBODY),
    };
    message.set(MPI_MESSAGE_NULL);
    Ok(operation)
}

pub fn mrecv(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    message: InOut<Handle>,
    status: StatusOut,
) -> Result<(), Failure> {
    let mut operation = receive_message((buf, count, datatype), &message)?;
    let comm = operation.comm().cloned();
    let received = operation.wait();
    status.settle(received.map_err(|kind| request::failed(kind, comm.as_ref())))
}

pub fn imrecv(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    message: InOut<Handle>,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let operation = receive_message((buf, count, datatype), &message)?;
    request.set(request::of(operation)?);
    Ok(())
}

/// The two halves of an exchange, from its arguments.
#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
fn halves(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &Type,
    rank_to: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &Type,
    rank_from: i32,
    recvtag: i32,
    comm: &Arc<Comm>,
) -> Result<(Outgoing, Incoming), Failure> {
    let outgoing = Outgoing {
        buffer: buffer(sendbuf, sendcount, sendtype)?,
        dest: dest(comm, rank_to)?,
        tag: checked_tag(sendtag)?,
    };
    let incoming = Incoming {
        buffer: buffer(recvbuf, recvcount, recvtype)?,
        source: source(comm, rank_from)?,
        tag: tag_of_receive(recvtag),
    };
    Ok((outgoing, incoming))
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn sendrecv(
    _: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &Type,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &Type,
    source: i32,
    recvtag: i32,
    comm: &Communicator,
    status: StatusOut,
) -> Result<(), Failure> {
    let (outgoing, incoming) = halves(
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
        comm,
    )?;
    status.settle(comm.exchange(&outgoing, &incoming))
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn isendrecv(
    _: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &Type,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &Type,
    source: i32,
    recvtag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let (outgoing, incoming) = halves(
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
        comm,
    )?;
    request.set(request::of(comm.iexchange(&outgoing, &incoming)?)?);
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn sendrecv_replace(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    rank_to: i32,
    sendtag: i32,
    rank_from: i32,
    recvtag: i32,
    comm: &Communicator,
    status: StatusOut,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let to = (dest(comm, rank_to)?, checked_tag(sendtag)?);
    let from = (source(comm, rank_from)?, tag_of_receive(recvtag));
    status.settle(comm.exchange_in_place(&buffer, to, from))
}

#[expect(clippy::too_many_arguments, reason = "they are MPI's")]
pub fn isendrecv_replace(
    _: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: &Type,
    rank_to: i32,
    sendtag: i32,
    rank_from: i32,
    recvtag: i32,
    comm: &Communicator,
    request: Out<Handle>,
) -> Result<(), Failure> {
    let buffer = buffer(buf, count, datatype)?;
    let to = (dest(comm, rank_to)?, checked_tag(sendtag)?);
    let from = (source(comm, rank_from)?, tag_of_receive(recvtag));
    request.set(request::of(comm.iexchange_in_place(&buffer, to, from)?)?);
    Ok(())
}
