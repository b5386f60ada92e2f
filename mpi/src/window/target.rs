//! The service of a window: carries out what other ranks ask, whatever this rank's program does.
//!
//! It is a background task: threads that wait inside the library step it, and the engine's driver
//! while all compute. What is done in which order is decided by [`oxmpi_windows::service`]; here
//! are the messages and the memory that it needs.
//!
//! Nothing here waits, and nothing calls the program.

mod memory;

use std::sync::Arc;

use oxmpi_datatypes::op::Predefined;
use oxmpi_engine::turn_lock::{Entry, Turn, TurnLock};
use oxmpi_engine::{Content, Envelope, Mode, Pattern, Request as EngineRequest};
use oxmpi_windows::Element;
use oxmpi_windows::lock::Words;
use oxmpi_windows::message::{Refusal, Request};
use oxmpi_windows::region::Use;
use oxmpi_windows::service::{self, Arrival};

use super::memory::{Core, DATA, Held, REQUESTS};
use super::origin::{ANSWER, Origin};
use crate::any_request::AnyRequest;
use crate::buffer::Buffer;
use crate::process::background::Work;

use memory::Combination;

/// Data of a get up to this length is sent without a request of its own, if the way is free.
const SHORT_MAX: u64 = 2048;

/// The service of one rank's memory.
pub(super) struct Service {
    /// What this rank asks of others; what it holds back leaves with every step.
    origin: Arc<Origin>,
    streams: service::Service<Hands>,
    hands: Hands,
    closed: bool,
}

/// What the streams of requests need of this process.
struct Hands {
    core: Arc<Core>,
    /// This rank's place among those of its host.
    index: usize,
    /// Answers that have not left yet.
    leaving: Vec<AnyRequest>,
}

/// A message that is received into room of the service's own.
struct Arriving {
    room: Vec<u8>,
    request: Receiving,
}

/// Data on its way into the window or out of it.
struct Moving {
    request: AnyRequest,
    /// Keeps attached memory there meanwhile.
    _held: Option<Held>,
}

enum Receiving {
    /// A batch, which was there before it was asked for.
    Claimed(EngineRequest),
    /// The data of an accumulation.
    Posted(AnyRequest),
}

impl Service {
    pub(super) fn new(core: Arc<Core>, origin: Arc<Origin>) -> Service {
        Service {
            origin,
            streams: service::Service::default(),
            hands: Hands {
                index: core.own_index(),
                core,
                leaving: Vec::new(),
            },
            closed: false,
        }
    }

    /// Nobody asks any more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Takes the batches that have come. Whoever has the service stepped has taken in what arrived,
    /// or will: asking the network here, twice for every batch, was a fifth of a small operation.
    fn collect(&mut self) {
        let core = &self.hands.core;
        let pattern = Pattern {
            context: core.comm.context(REQUESTS),
            source: None,
            tag: None,
            signature: 0,
        };
        let engine = core.engine();
        while let Some(claim) = engine.claim_taken(pattern) {
            let (source, bytes) = (claim.envelope.source, claim.envelope.bytes());
            let mut room = vec![0; bytes as usize];
            // SAFETY: the room is kept with the request until it is over; moving the vector does
            // not move the data.
            let request = unsafe { engine.irecv_claimed(claim, room.as_mut_ptr(), bytes) };
            let request = Receiving::Claimed(request);
            self.streams.arrive(source, Arriving { room, request });
        }
    }
}

impl Work for Service {
    fn step(&mut self) -> bool {
        let leaving = &mut self.hands.leaving;
        if self.closed {
            leaving.retain_mut(|answer| !ended(answer));
            return leaving.is_empty();
        }
        self.origin.push(&self.hands.core);
        self.collect();
        self.streams.step(&mut self.hands);
        self.hands.leaving.retain_mut(|answer| !ended(answer));
        false
    }

    fn is_departing(&self) -> bool {
        !self.hands.leaving.is_empty()
    }

    fn is_dormant(&self) -> bool {
        self.streams.is_idle() && self.hands.leaving.is_empty() && !self.origin.holds_back()
    }
}

/// Whether an operation is over; its outcome is then taken. What goes wrong with it is the other
/// side's to notice: it has died.
fn ended(operation: &mut AnyRequest) -> bool {
    let ended = operation.is_settled();
    if ended {
        let _ = operation.conclude();
    }
    ended
}

impl Hands {
    fn envelope(&self, tag: u32, bytes: u64) -> Envelope {
        Envelope {
            context: self.core.comm.context(DATA),
            source: self.core.comm.rank,
            tag: (tag | ANSWER) as i32,
            content: Content::new(bytes, 0),
        }
    }

    /// Sends bytes at once, if that is possible.
    fn answer_now(&self, origin: u32, tag: u32, bytes: &[u8]) -> bool {
        let process = self.core.part(origin).process;
        let envelope = self.envelope(tag, bytes.len() as u64);
        let engine = self.core.engine();
        // SAFETY: the bytes are valid, and have been read when the call returns.
        unsafe { engine.send_now(process, &envelope, bytes.as_ptr(), Mode::Standard) }
    }

    fn receive_into(&self, origin: u32, tag: u32, buffer: &Buffer) -> Option<AnyRequest> {
        let pattern = Pattern {
            context: self.core.comm.context(DATA),
            source: Some(origin),
            tag: Some(tag as i32),
            signature: 0,
        };
        let process = self.core.part(origin).process;
        let comm = &self.core.comm;
        comm.irecv_on(Some(process), pattern, buffer).ok()
    }
}

impl Words for Hands {
    fn lock(&self) -> &TurnLock {
        self.core.control.lock(self.index)
    }

    fn entry(&self, rank: u32) -> &Entry {
        self.core.control.entry(self.index, rank)
    }

    fn size(&self) -> u32 {
        self.core.comm.size
    }

    fn dead(&self) -> Vec<u32> {
        self.core.dead_ranks()
    }

    fn alone<R>(&self, change: impl FnOnce() -> R) -> R {
        let control = &self.core.control;
        control.alone(self.index, self.core.engine(), change)
    }
}

impl service::Kept for Hands {
    type Moving = Moving;
    type Arriving = Arriving;
    type Combination = Combination;
}

impl service::Hands<Hands> for Hands {
    fn is_over(&mut self, moving: &mut Moving) -> bool {
        ended(&mut moving.request)
    }

    fn poll_arrival(&mut self, Arriving { room, request }: &mut Arriving) -> Arrival {
        let is_here = match request {
            Receiving::Claimed(request) => match self.core.engine().test_or_fail(*request) {
                Ok(None) => return Arrival::Waits,
                outcome => outcome.is_ok(),
            },
            Receiving::Posted(request) => {
                if !request.is_settled() {
                    return Arrival::Waits;
                }
                let report = request.conclude();
                report.is_ok_and(|report| report.bytes == room.len() as u64)
            }
        };
        match is_here {
            true => Arrival::Here(std::mem::take(room)),
            false => Arrival::Lost,
        }
    }

    fn wake(&mut self, turn: Turn) -> bool {
        self.core.wake(self.index, turn)
    }

    fn process_of(&self, rank: u32) -> u32 {
        self.core.part(rank).process
    }

    fn own_rank(&self) -> u32 {
        self.core.comm.rank
    }

    fn answer(&mut self, origin: u32, tag: u32, bytes: &[u8]) {
        if self.answer_now(origin, tag, bytes) {
            return;
        }
        let process = self.core.part(origin).process;
        let envelope = self.envelope(tag, bytes.len() as u64);
        let bytes = bytes.to_vec();
        // An origin that cannot be reached has died: nobody waits for the answer.
        let comm = &self.core.comm;
        if let Ok(request) = comm.isend_packed(process, envelope, bytes, Mode::Standard)
            && !matches!(request, AnyRequest::Over(_))
        {
            self.leaving.push(request);
        }
    }

    fn write(&mut self, request: &Request<'_>, data: &[u8]) -> Result<(), Refusal> {
        let (buffer, _held) = self.buffer(request, Use::Change)?;
        buffer.unpack(data);
        Ok(())
    }

    fn receive(&mut self, origin: u32, request: &Request<'_>) -> Result<Option<Moving>, Refusal> {
        let (buffer, held) = self.buffer(request, Use::Change)?;
        let request = self.receive_into(origin, request.tag, &buffer);
        Ok(request.map(|request| Moving {
            request,
            _held: held,
        }))
    }

    fn discard(&mut self, origin: u32, tag: u32) -> Option<Moving> {
        let request = self.receive_into(origin, tag, &Buffer::empty())?;
        let _held = None;
        Some(Moving { request, _held })
    }

    fn send(&mut self, origin: u32, request: &Request<'_>) -> Result<Option<Moving>, Refusal> {
        let (buffer, _held) = self.buffer(request, Use::Read)?;
        if let Some(address) = buffer.contiguous().filter(|_| buffer.bytes() <= SHORT_MAX) {
            // SAFETY: the memory is the window's; others may change it meanwhile, as the program
            // allows.
            let bytes = unsafe { std::slice::from_raw_parts(address, buffer.bytes() as usize) };
            if self.answer_now(origin, request.tag, bytes) {
                return Ok(None);
            }
        }
        let process = self.core.part(origin).process;
        let envelope = self.envelope(request.tag, buffer.bytes());
        let comm = &self.core.comm;
        let sent = comm.isend_on(process, envelope, &buffer, Mode::Standard);
        let under_way = |request: &AnyRequest| !matches!(request, AnyRequest::Over(_));
        let sent = sent.ok().filter(under_way);
        Ok(sent.map(|request| Moving { request, _held }))
    }

    fn gather(&mut self, origin: u32, tag: u32, bytes: u64) -> Option<Arriving> {
        let mut room = vec![0; bytes as usize];
        // SAFETY: the room is kept with the request until it is over.
        let buffer = unsafe { Buffer::raw(room.as_mut_ptr(), bytes) };
        let request = self.receive_into(origin, tag, &buffer)?;
        let request = Receiving::Posted(request);
        Some(Arriving { room, request })
    }

    fn prepare(
        &mut self,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
    ) -> Result<Combination, Refusal> {
        self.combination(request, element, op)
    }

    fn combine(
        &mut self,
        combination: &Combination,
        exclusive: bool,
        data: &[u8],
        wants_old: bool,
    ) -> Option<Vec<u8>> {
        combination.run(self.site(exclusive), data, wants_old)
    }

    fn change_word(
        &mut self,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
        before: &mut [u8; 8],
    ) -> Option<usize> {
        self.change_one(request, element, op, before)
    }

    fn compare_swap(
        &mut self,
        request: &Request<'_>,
        compare: &[u8],
        new: &[u8],
    ) -> Option<Vec<u8>> {
        self.swap_one(request, compare, new)
    }
}
