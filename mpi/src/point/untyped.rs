//! Messages of any datatype, as the C interface sends them.
//!
//! The typed calls beside this file are faces of the same two steps: the communicator checks rank
//! and tag and writes the envelope, the engine moves the bytes. Here the data may lie anywhere (see
//! `buffer`), and no destination means the null process, with which every exchange is over at once
//! (MPI 5.0 §3.10).

use std::sync::Arc;

use oxmpi_engine::{Claim, Envelope, Mode, Pattern, Request, RequestId, Spread};

use crate::any_request::{AnyRequest, Held, Report, Scattered, Sender, Staged};
use crate::buffer::{self, Buffer};
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::status::{Source, Tag};
use oxmpi_datatypes::ElementMark;

pub use oxmpi_engine::Mode as SendMode;

/// A message that was set aside for one receive (MPI_Mprobe).
#[derive(Debug)]
pub struct Claimed {
    comm: Arc<Comm>,
    claim: Claim,
}

impl Comm {
    /// Sends, and returns when the buffer may be used again.
    #[inline]
    pub fn send_buffer(
        &self,
        buffer: &Buffer,
        dest: Option<u32>,
        tag: i32,
        mode: Mode,
    ) -> Result<(), ErrorKind> {
        let Some(dest) = dest else { return Ok(()) };
        let (process, envelope) = self.envelope(buffer.content(), dest, tag)?;
        let engine = &self.process.engine;
        if let Some(address) = buffer.contiguous() {
            // SAFETY: the buffer's promise, and the call waits.
            unsafe { engine.send(process, envelope, address, mode)? };
        } else if let Some(spread) = buffer.spread() {
            // SAFETY: the buffer's promise, and the call waits; the spread lives until then.
            unsafe { engine.send(process, envelope, buffer.area(&spread), mode)? };
        }
        Ok(())
    }

    /// Sends a message that can leave at once; false, and nothing has happened, if it cannot.
    #[inline(always)]
    pub fn send_now(
        &self,
        buffer: &Buffer,
        dest: Option<u32>,
        tag: i32,
        mode: Mode,
    ) -> Result<bool, ErrorKind> {
        let (Some(dest), Some(address)) = (dest, buffer.contiguous()) else {
            return Ok(false);
        };
        let (process, envelope) = self.envelope(buffer.content(), dest, tag)?;
        let engine = &self.process.engine;
        // SAFETY: the buffer's promise, and the data has been read when the call returns.
        Ok(unsafe { engine.send_now(process, &envelope, address, mode) })
    }

    /// Begins to send.
    #[inline]
    pub fn isend_buffer(
        self: &Arc<Self>,
        buffer: &Buffer,
        dest: Option<u32>,
        tag: i32,
        mode: Mode,
    ) -> Result<AnyRequest, ErrorKind> {
        let Some(dest) = dest else {
            return Ok(AnyRequest::Over(Report::EMPTY));
        };
        let (process, envelope) = self.envelope(buffer.content(), dest, tag)?;
        self.isend_on(process, envelope, buffer, mode)
    }

    /// Begins to send with an envelope that was checked.
    #[inline]
    pub(crate) fn isend_on(
        self: &Arc<Self>,
        process: u32,
        envelope: Envelope,
        buffer: &Buffer,
        mode: Mode,
    ) -> Result<AnyRequest, ErrorKind> {
        let engine = &self.process.engine;
        match buffer.contiguous() {
            // SAFETY: the buffer's promise holds until the operation is over.
            Some(address) => Ok(
                match unsafe { engine.isend(process, envelope, address, mode)? } {
                    Request::Over(completion) => AnyRequest::Over(completion.into()),
                    Request::Pending(id) => AnyRequest::Send(self.clone(), id),
                },
            ),
            None => self.isend_scattered(process, envelope, buffer, mode),
        }
    }

    fn isend_scattered(
        self: &Arc<Self>,
        process: u32,
        envelope: Envelope,
        buffer: &Buffer,
        mode: Mode,
    ) -> Result<AnyRequest, ErrorKind> {
        let spread = self.keep_spread(buffer);
        let (engine, area) = (&self.process.engine, buffer.area(&spread));
        // SAFETY: the buffer's promise holds until the operation is over, and the spread is kept
        // with it.
        let request = unsafe { engine.isend(process, envelope, area, mode) };
        self.scattered(request, spread, true)
    }

    fn keep_spread(&self, buffer: &Buffer) -> Box<Spread> {
        let spread = buffer.spread().expect("the buffer is not one block");
        self.process.spreads.keep(spread)
    }

    /// The operation of a message that was begun, or its end.
    fn scattered(
        self: &Arc<Self>,
        request: Result<Request, oxmpi_engine::EngineError>,
        spread: Box<Spread>,
        sends: bool,
    ) -> Result<AnyRequest, ErrorKind> {
        match request {
            Ok(Request::Pending(request)) => Ok(AnyRequest::Other(Held::Scattered(Scattered {
                comm: self.clone(),
                request,
                sends,
                spread: Some(spread),
            }))),
            over => {
                self.process.spreads.give_back(spread);
                match over? {
                    Request::Over(completion) => Ok(AnyRequest::Over(completion.into())),
                    Request::Pending(_) => unreachable!("the first arm has those"),
                }
            }
        }
    }

    /// Begins to send data of the library's own.
    pub(crate) fn isend_packed(
        self: &Arc<Self>,
        process: u32,
        envelope: Envelope,
        packed: Vec<u8>,
        mode: Mode,
    ) -> Result<AnyRequest, ErrorKind> {
        let engine = &self.process.engine;
        // SAFETY: the packed data is kept with the request until it is over.
        match unsafe { engine.isend(process, envelope, packed.as_ptr(), mode)? } {
            Request::Over(completion) => Ok(AnyRequest::Over(completion.into())),
            Request::Pending(request) => Ok(self.staged(request, packed, None)),
        }
    }

    fn staged(
        self: &Arc<Self>,
        request: oxmpi_engine::RequestId,
        packed: Vec<u8>,
        target: Option<Buffer>,
    ) -> AnyRequest {
        AnyRequest::other(Staged {
            comm: self.clone(),
            request,
            packed,
            target,
            concluded: false,
        })
    }

    /// Receives.
    #[inline]
    pub fn recv_buffer(
        &self,
        buffer: &Buffer,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<Report, ErrorKind> {
        let Some(source) = source else {
            return Ok(Report::NOBODY);
        };
        let (from, pattern) = self.pattern(source, tag, buffer.mark())?;
        let engine = &self.process.engine;
        if let Some(address) = buffer.contiguous() {
            // SAFETY: the buffer's promise, and the call waits.
            let completion = unsafe { engine.recv(from, pattern, address, buffer.bytes())? };
            return Ok(completion.into());
        }
        if let Some(spread) = buffer.spread()
            && engine.receives_scattered()
        {
            let area = buffer.area(&spread);
            // SAFETY: the buffer's promise, and the call waits; the spread lives until then.
            let completion = unsafe { engine.recv(from, pattern, area, buffer.bytes())? };
            return Ok(completion.into());
        }
        let mut packed = buffer::memory(buffer.bytes())?;
        // SAFETY: the packed data lives until the call, which waits, is over.
        let completion =
            unsafe { engine.recv(from, pattern, packed.as_mut_ptr(), buffer.bytes())? };
        buffer.unpack(&packed[..completion.bytes as usize]);
        Ok(completion.into())
    }

    /// Begins to receive into one block; none, and nothing has happened, if the buffer is scattered
    /// or the source the null process.
    #[inline(always)]
    pub fn post_receive(
        &self,
        buffer: &Buffer,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<Option<RequestId>, ErrorKind> {
        let (Some(source), Some(address)) = (source, buffer.contiguous()) else {
            return Ok(None);
        };
        let (from, pattern) = self.pattern(source, tag, buffer.mark())?;
        let engine = &self.process.engine;
        // SAFETY: the buffer's promise holds until the operation is over.
        Ok(Some(unsafe {
            engine.post(from, pattern, address, buffer.bytes())
        }))
    }

    /// Waits for a message that was begun, for callers who do not care what came.
    #[inline(always)]
    pub fn wait_quietly(&self, id: RequestId) -> Result<(), ErrorKind> {
        Ok(self.process.engine.wait_quietly(id)?)
    }

    /// Begins to receive.
    #[inline]
    pub fn irecv_buffer(
        self: &Arc<Self>,
        buffer: &Buffer,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<AnyRequest, ErrorKind> {
        let Some(source) = source else {
            return Ok(AnyRequest::Over(Report::NOBODY));
        };
        let (from, pattern) = self.pattern(source, tag, buffer.mark())?;
        self.irecv_on(from, pattern, buffer)
    }

    /// Begins to receive what a checked pattern accepts.
    #[inline]
    pub(crate) fn irecv_on(
        self: &Arc<Self>,
        from: Option<u32>,
        pattern: Pattern,
        buffer: &Buffer,
    ) -> Result<AnyRequest, ErrorKind> {
        let engine = &self.process.engine;
        if let Some(address) = buffer.contiguous() {
            // SAFETY: the buffer's promise holds until the operation is over.
            return Ok(
                match unsafe { engine.irecv(from, pattern, address, buffer.bytes())? } {
                    Request::Over(completion) => AnyRequest::Over(completion.into()),
                    Request::Pending(id) => AnyRequest::Receive(self.clone(), id),
                },
            );
        }
        if engine.receives_scattered() {
            let spread = self.keep_spread(buffer);
            let area = buffer.area(&spread);
            // SAFETY: the buffer's promise holds until the operation is over, and the spread is
            // kept with it.
            let request = unsafe { engine.irecv(from, pattern, area, buffer.bytes()) };
            return self.scattered(request, spread, false);
        }
        let mut packed = buffer::memory(buffer.bytes())?;
        // SAFETY: the packed data is kept with the request until it is over; moving the vector does
        // not move the data.
        let request = unsafe { engine.irecv(from, pattern, packed.as_mut_ptr(), buffer.bytes())? };
        Ok(match request {
            Request::Over(completion) => {
                buffer.unpack(&packed[..completion.bytes as usize]);
                AnyRequest::Over(completion.into())
            }
            Request::Pending(request) => self.staged(request, packed, Some(buffer.clone())),
        })
    }

    /// Waits until a message could be received and tells what is known of it.
    pub fn probe_message(&self, source: Option<Source>, tag: Tag) -> Result<Report, ErrorKind> {
        let Some(source) = source else {
            return Ok(Report::NOBODY);
        };
        let (from, pattern) = self.pattern(source, tag, ElementMark::ANY)?;
        let envelope = self.process.engine.probe_wait(from, pattern)?;
        Ok(report(&envelope))
    }

    /// Tells whether a message could be received now.
    pub fn iprobe_message(
        &self,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<Option<Report>, ErrorKind> {
        let Some(source) = source else {
            return Ok(Some(Report::NOBODY));
        };
        let (_, pattern) = self.pattern(source, tag, ElementMark::ANY)?;
        self.process.background.step_if_active();
        let envelope = self.process.engine.probe(pattern)?;
        Ok(envelope.as_ref().map(report))
    }

    /// Waits for a message and sets it aside; no message from the null process.
    pub fn claim_message(
        self: &Arc<Self>,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<(Option<Claimed>, Report), ErrorKind> {
        let Some(source) = source else {
            return Ok((None, Report::NOBODY));
        };
        let (from, pattern) = self.pattern(source, tag, ElementMark::ANY)?;
        let claim = self.process.engine.claim_wait(from, pattern)?;
        Ok(self.claimed(claim))
    }

    /// Sets a message aside if one could be received now.
    pub fn try_claim_message(
        self: &Arc<Self>,
        source: Option<Source>,
        tag: Tag,
    ) -> Result<Option<(Option<Claimed>, Report)>, ErrorKind> {
        let Some(source) = source else {
            return Ok(Some((None, Report::NOBODY)));
        };
        let (_, pattern) = self.pattern(source, tag, ElementMark::ANY)?;
        self.process.background.step_if_active();
        let claim = self.process.engine.claim(pattern)?;
        Ok(claim.map(|claim| self.claimed(claim)))
    }

    fn claimed(self: &Arc<Self>, claim: Claim) -> (Option<Claimed>, Report) {
        let report = report(&claim.envelope);
        let comm = self.clone();
        (Some(Claimed { comm, claim }), report)
    }
}

impl Claimed {
    /// The communicator it was sent on.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    pub(super) fn new(comm: Arc<Comm>, claim: Claim) -> Claimed {
        Claimed { comm, claim }
    }

    /// Begins to receive it.
    pub fn irecv(self, buffer: &Buffer) -> Result<AnyRequest, ErrorKind> {
        let Claimed { comm, mut claim } = self;
        claim.signature = buffer.mark().byte();
        let engine = &comm.process.engine;
        if let Some(address) = buffer.contiguous() {
            // SAFETY: the buffer's promise holds until the operation is over.
            return Ok(
                match unsafe { engine.irecv_claimed(claim, address, buffer.bytes()) } {
                    Request::Over(completion) => AnyRequest::Over(completion.into()),
                    Request::Pending(id) => AnyRequest::Receive(comm, id),
                },
            );
        }
        if engine.receives_scattered() {
            let spread = comm.keep_spread(buffer);
            let area = buffer.area(&spread);
            // SAFETY: the buffer's promise holds until the operation is over, and the spread is
            // kept with it.
            let request = unsafe { engine.irecv_claimed(claim, area, buffer.bytes()) };
            return comm.scattered(Ok(request), spread, false);
        }
        let mut packed = buffer::memory(buffer.bytes())?;
        // SAFETY: the packed data is kept with the request until it is over.
        let request = unsafe { engine.irecv_claimed(claim, packed.as_mut_ptr(), buffer.bytes()) };
        Ok(match request {
            Request::Over(completion) => {
                buffer.unpack(&packed[..completion.bytes as usize]);
                AnyRequest::Over(completion.into())
            }
            Request::Pending(request) => comm.staged(request, packed, Some(buffer.clone())),
        })
    }
}

fn report(envelope: &Envelope) -> Report {
    Report {
        sender: Sender::Rank(envelope.source),
        tag: Some(envelope.tag),
        bytes: envelope.bytes(),
        cancelled: false,
    }
}
