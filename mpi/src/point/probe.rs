//! Looking at a message before receiving it.
//!
//! `probe` only looks, so with several threads another one may receive the message first;
//! `matched_probe` takes it out of the queue, and only the `Message` it returns can receive it.

use oxmpi_engine::Claim;

use super::untyped::Claimed;
use crate::any_request::Report;
use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::status::{Source, Status, Tag};
use crate::thread::{Funneled, Level};
use oxmpi_datatypes::ElementMark;
use oxmpi_datatypes::data::DataMut;
use oxmpi_datatypes::plain::Plain;

impl<L: Level> Communicator<'_, L> {
    /// Waits until a message could be received and tells what is known of it.
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        self.comm
            .probe_message(source.into().somebody(), tag.into())
            .map(|report| self.status(report))
            .map_err(|kind| self.fail("probe", kind))
    }

    /// Tells whether a message could be received now.
    pub fn iprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        self.comm
            .iprobe_message(source.into().somebody(), tag.into())
            .map(|found| found.map(|report| self.status(report)))
            .map_err(|kind| self.fail("iprobe", kind))
    }

    /// Waits until a message could be received and sets it aside for the returned handle.
    pub fn matched_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Message<'_, L>> {
        self.matched_probe_as("matched_probe", source.into(), tag.into())
    }

    /// Sets a message aside if one could be received now.
    pub fn improbe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Message<'_, L>>> {
        let Some(source) = source.into().somebody() else {
            return Ok(Some(Message::from_nobody(self, "improbe")));
        };
        self.comm
            .pattern(source, tag.into(), ElementMark::ANY)
            .and_then(|(_, pattern)| Ok(self.process.engine.claim(pattern)?))
            .map(|claim| claim.map(|claim| Message::new(self, "improbe", claim)))
            .map_err(|kind| self.fail("improbe", kind))
    }

    pub(super) fn matched_probe_as(
        &self,
        call: &'static str,
        source: Source,
        tag: Tag,
    ) -> Result<Message<'_, L>> {
        let Some(source) = source.somebody() else {
            return Ok(Message::from_nobody(self, call));
        };
        self.comm
            .pattern(source, tag, ElementMark::ANY)
            .and_then(|(from, pattern)| Ok(self.process.engine.claim_wait(from, pattern)?))
            .map(|claim| Message::new(self, call, claim))
            .map_err(|kind| self.fail(call, kind))
    }
}

fn status(envelope: &oxmpi_engine::Envelope) -> Status {
    Status {
        source: envelope.source,
        tag: envelope.tag,
        bytes: envelope.bytes(),
        cancelled: false,
    }
}

/// A message that was set aside and waits to be received. Dropping it discards the message.
pub struct Message<'a, L: Level = Funneled> {
    communicator: &'a Communicator<'a, L>,
    call: &'static str,
    /// Taken by the receive, or by the drop that discards the message; none in a message from
    /// nobody.
    claim: Option<Claim>,
    status: Status,
}

impl<'a, L: Level> Message<'a, L> {
    fn new(communicator: &'a Communicator<'a, L>, call: &'static str, claim: Claim) -> Self {
        let status = status(&claim.envelope);
        Message {
            communicator,
            call,
            claim: Some(claim),
            status,
        }
    }

    /// What comes from nobody: no bytes.
    fn from_nobody(communicator: &'a Communicator<'a, L>, call: &'static str) -> Self {
        Message {
            communicator,
            call,
            claim: None,
            status: communicator.status(Report::NOBODY),
        }
    }

    /// What is known of the message.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives it into `buffer`; a message that is longer is an error.
    pub fn recv<D: DataMut + ?Sized>(mut self, buffer: &mut D) -> Result<Status> {
        let (communicator, call) = (self.communicator, self.call);
        let Some(claim) = self.claim.take() else {
            return Ok(self.status);
        };
        // SAFETY: the buffer stays borrowed until the wait below is over.
        let received = unsafe { Buffer::of::<D::Element>(&buffer.memory_mut()) };
        let received = received.map_err(ErrorKind::from).and_then(|buffer| {
            let claimed = Claimed::new(communicator.comm.clone(), claim);
            claimed.irecv(&buffer)?.wait()
        });
        received
            .map(|report| communicator.status(report))
            .map_err(|kind| communicator.fail(call, kind))
    }

    /// Receives it into a vector of its own.
    pub fn recv_vec<T: Plain>(self) -> Result<(Vec<T>, Status)> {
        let (communicator, call) = (self.communicator, self.call);
        let fail = |kind: ErrorKind| -> Error { communicator.fail(call, kind) };
        let status = self.status();
        let Some(count) = status.count::<T>() else {
            let Status {
                source, tag, bytes, ..
            } = status;
            let element = size_of::<T>();
            return Err(fail(ErrorKind::WholeElements {
                source_rank: source,
                tag,
                bytes,
                element,
            }));
        };
        let mut data: Vec<T> = Vec::new();
        if data.try_reserve_exact(count).is_err() {
            return Err(fail(ErrorKind::Memory {
                bytes: status.bytes,
            }));
        }
        // SAFETY: the vector has room for that many bytes and is not touched before `receive`
        // returns.
        let received = unsafe { self.receive(data.as_mut_ptr().cast(), status.bytes, T::MARK) };
        let received = received.map_err(fail)?;
        // SAFETY: the engine filled exactly the message's bytes, and any bytes are values (T:
        // Plain).
        unsafe { data.set_len(count) };
        Ok((data, received))
    }

    /// The message in the engine's terms, for a receive of another kind.
    pub(super) fn into_claim(mut self) -> Option<Claim> {
        self.claim.take()
    }

    /// A message again, after it turned out that the other kind cannot receive it.
    pub(super) fn from_claim(
        communicator: &'a Communicator<'a, L>,
        call: &'static str,
        claim: Claim,
    ) -> Self {
        Message::new(communicator, call, claim)
    }

    /// # Safety
    /// `capacity` bytes at `address` must be writable and unused by others until this returns.
    unsafe fn receive(
        mut self,
        address: *mut u8,
        capacity: u64,
        mark: ElementMark,
    ) -> Result<Status, ErrorKind> {
        let engine = &self.communicator.process.engine;
        let Some(mut claim) = self.claim.take() else {
            return Ok(self.status);
        };
        claim.signature = mark.byte();
        // SAFETY: the caller's word, and the wait below.
        let request = unsafe { engine.irecv_claimed(claim, address, capacity) };
        Ok(engine.wait(request)?.into())
    }
}

impl<L: Level> Drop for Message<'_, L> {
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else {
            return;
        };
        let engine = &self.communicator.process.engine;
        // Receiving into nothing lets the sender go on; that the message does not fit is the point.
        // SAFETY: with a capacity of zero no byte is written.
        let request = unsafe { engine.irecv_claimed(claim, std::ptr::dangling_mut(), 0) };
        let _ = engine.wait(request);
    }
}

impl<L: Level> std::fmt::Debug for Message<'_, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Message")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
