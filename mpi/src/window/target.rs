//! The service of a window: carries out what other ranks ask, whatever this rank's program does.
//!
//! It is a background task: threads that wait inside the library step it, and the engine's driver
//! while all compute. Each origin has a *stream* of requests that are done in order; one that has
//! to wait (for a lock, for data of an accumulation) keeps those behind it waiting, and no other
//! origin's. Data of puts and gets moves while later requests are done: a flush waits for it.
//!
//! Nothing here waits, and nothing calls the program.

mod lock;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::Predefined;
use oxmpi_engine::turn_lock::{Ticket, Wish};
use oxmpi_engine::{Content, Envelope, Mode, Pattern, Request as EngineRequest};

use super::accumulate::{self, Element, Plan, Site};
use super::layout;
use super::lock::{Held, Told};
use super::memory::{Core, DATA, REQUESTS};
use super::message::{self, Kind, Refusal, Request};
use super::origin::{ANSWER, Origin};
use crate::any_request::AnyRequest;
use crate::buffer::Buffer;
use crate::process::background::Work;

/// Data of a get up to this length is sent without a request of its own, if the way is free.
const SHORT_MAX: u64 = 2048;

/// The service of one rank's memory.
pub(super) struct Service {
    core: Arc<Core>,
    /// What this rank asks of others; what it holds back leaves with every step.
    origin: Arc<Origin>,
    /// By origin's rank.
    streams: BTreeMap<u32, Stream>,
    /// Answers that have not left yet.
    leaving: Vec<AnyRequest>,
    closed: bool,
}

/// What one origin asks.
#[derive(Default)]
struct Stream {
    messages: VecDeque<Message>,
    waits: Option<Waits>,
    /// Data on its way into the window or out of it.
    moving: Vec<AnyRequest>,
    /// The lock that the origin holds.
    held: Option<Held>,
    /// It holds the lock alone.
    exclusive: bool,
    /// The deaths of holders that the origin was told.
    told: Told,
    /// What went wrong since the last answer.
    refusal: Option<Refusal>,
    /// The lock could not be had: nothing is done before the unlock.
    locked_out: bool,
}

/// A batch.
struct Message {
    bytes: Vec<u8>,
    /// How far it has been done.
    done: usize,
    /// It is still coming.
    arrives: Option<EngineRequest>,
}

/// What the stream's next request waits for.
enum Waits {
    /// The turn of a ticket.
    Turn(Ticket, Wish),
    /// A lock that is disrupted.
    Disrupted(Wish),
    /// The data of an accumulation.
    Data {
        arrives: AnyRequest,
        data: Vec<u8>,
        combines: Combines,
    },
}

/// An accumulation whose arguments were checked.
struct Combines {
    plan: Plan,
    address: *mut u8,
    datatype: Datatype,
    /// Tag of the answer, if one is wanted.
    answer: Option<u32>,
}

// SAFETY: the address lies in the window, whose owner promises that any thread may use it.
unsafe impl Send for Combines {}

/// Whether the stream can go on.
enum Next {
    GoesOn,
    Waits,
}

impl Service {
    pub(super) fn new(core: Arc<Core>, origin: Arc<Origin>) -> Service {
        Service {
            core,
            origin,
            streams: BTreeMap::new(),
            leaving: Vec::new(),
            closed: false,
        }
    }

    /// Nobody asks any more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Takes the batches that have come.
    fn collect(&mut self) {
        let pattern = Pattern {
            context: self.core.comm.context(REQUESTS),
            source: None,
            tag: None,
            signature: 0,
        };
        let engine = self.core.engine();
        while let Ok(Some(claim)) = engine.claim(pattern) {
            let (source, bytes) = (claim.envelope.source, claim.envelope.bytes());
            let mut room = vec![0; bytes as usize];
            // SAFETY: the room is kept with the request until it is over; moving the vector does
            // not move the data.
            let arrives = unsafe { engine.irecv_claimed(claim, room.as_mut_ptr(), bytes) };
            let stream = self.streams.entry(source).or_default();
            stream.messages.push_back(Message {
                bytes: room,
                done: 0,
                arrives: Some(arrives),
            });
        }
    }
}

impl Work for Service {
    fn step(&mut self) -> bool {
        if self.closed {
            self.leaving.retain_mut(|answer| !ended(answer));
            return self.leaving.is_empty();
        }
        self.origin.push(&self.core);
        self.collect();
        let mut hands = Hands {
            core: &self.core,
            leaving: &mut self.leaving,
            again: true,
        };
        while std::mem::take(&mut hands.again) {
            for (origin, stream) in &mut self.streams {
                stream.go_on(&mut hands, *origin);
            }
        }
        self.leaving.retain_mut(|answer| !ended(answer));
        false
    }

    fn is_departing(&self) -> bool {
        !self.leaving.is_empty()
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

/// What a stream needs of the service.
struct Hands<'s> {
    core: &'s Arc<Core>,
    leaving: &'s mut Vec<AnyRequest>,
    /// A lock has become free for another origin.
    again: bool,
}

impl Hands<'_> {
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

    /// Sends bytes of the service's own.
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

    fn receive(&self, origin: u32, tag: u32, buffer: &Buffer) -> Option<AnyRequest> {
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

    fn site(&self, exclusive: bool) -> Site<'_> {
        Site {
            control: &self.core.control,
            index: self.core.own_index(),
            engine: self.core.engine(),
            exclusive,
        }
    }

    /// The memory that a request accesses: the address that the datatype counts from, and the
    /// datatype, of which one element is meant.
    fn place(&self, request: &Request<'_>) -> Result<(*mut u8, Datatype), Refusal> {
        let bytes = i64::try_from(request.bytes).map_err(|_| Refusal::Garbled)?;
        let datatype = if request.layout.is_empty() {
            let block = Datatype::contiguous(bytes, &Datatype::named(Basic::Byte));
            let block = block.map_err(|_| Refusal::Garbled)?;
            block.commit();
            block
        } else {
            layout::decode(request.layout).ok_or(Refusal::Garbled)?
        };
        if datatype.size() != request.bytes {
            return Err(Refusal::Garbled);
        }
        let from = request.displacement;
        let span = from
            .checked_add(datatype.true_lb())
            .zip(from.checked_add(datatype.true_ub()));
        let outside = Refusal::Memory {
            displacement: from,
            bytes: request.bytes,
        };
        let (begin, end) = span.ok_or(outside)?;
        let first = self.core.own_address(begin, end).ok_or(outside)?;
        Ok((
            first.wrapping_offset(-datatype.true_lb() as isize),
            datatype,
        ))
    }

    /// The memory of a request that accesses one block.
    fn block(&self, request: &Request<'_>) -> Result<*mut u8, Refusal> {
        let Request {
            displacement,
            bytes,
            ..
        } = *request;
        let end = i64::try_from(bytes).ok();
        let end = end.and_then(|bytes| displacement.checked_add(bytes));
        end.and_then(|end| self.core.own_address(displacement, end))
            .ok_or(Refusal::Memory {
                displacement,
                bytes,
            })
    }

    fn buffer(&self, request: &Request<'_>) -> Result<Buffer, Refusal> {
        if request.layout.is_empty() {
            let address = self.block(request)?;
            // SAFETY: as below.
            return Ok(unsafe { Buffer::raw(address, request.bytes) });
        }
        let (address, datatype) = self.place(request)?;
        // SAFETY: the memory is the window's, as was checked; it stays until the window is freed.
        unsafe { Buffer::new(address, 1, &datatype) }.map_err(|_| Refusal::Garbled)
    }
}

impl Stream {
    /// Does what can be done now.
    fn go_on(&mut self, hands: &mut Hands<'_>, origin: u32) {
        if matches!(self.resume(hands, origin), Next::Waits) {
            return;
        }
        while let Some(mut message) = self.messages.pop_front() {
            let next = self.work_off(hands, origin, &mut message);
            if matches!(next, Next::Waits) {
                self.messages.push_front(message);
                return;
            }
        }
        // A get's data may have left since; nobody else asks.
        self.moving.retain_mut(|operation| !ended(operation));
    }

    /// Goes on with what the stream waits for.
    fn resume(&mut self, hands: &mut Hands<'_>, origin: u32) -> Next {
        match self.waits.take() {
            None => Next::GoesOn,
            Some(Waits::Turn(ticket, wish)) => self.try_lock(hands, origin, ticket, wish),
            Some(Waits::Disrupted(wish)) => self.try_disrupted(hands, origin, wish),
            Some(Waits::Data {
                mut arrives,
                data,
                combines,
            }) => {
                if !arrives.is_settled() {
                    self.waits = Some(Waits::Data {
                        arrives,
                        data,
                        combines,
                    });
                    return Next::Waits;
                }
                match arrives.conclude() {
                    Ok(report) if report.bytes == data.len() as u64 => {
                        combines.run(hands, origin, self.exclusive, &data);
                    }
                    _ => self.refuse(Refusal::Garbled),
                }
                Next::GoesOn
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// Does the requests of a batch.
    fn work_off(&mut self, hands: &mut Hands<'_>, origin: u32, message: &mut Message) -> Next {
        if let Some(arrives) = message.arrives {
            match hands.core.engine().test_or_fail(arrives) {
                Ok(None) => return Next::Waits,
                Ok(Some(_)) => message.arrives = None,
                // The origin has died in the middle of it.
                Err(_) => return Next::GoesOn,
            }
        }
        while message.done < message.bytes.len() {
            let Some((request, length)) = message::decode(&message.bytes[message.done..]) else {
                self.refuse(Refusal::Garbled);
                return Next::GoesOn;
            };
            if matches!(request.kind, Kind::Flush | Kind::Unlock) && !self.is_drained() {
                return Next::Waits;
            }
            message.done += length;
            if matches!(self.serve(hands, origin, &request), Next::Waits) {
                return Next::Waits;
            }
        }
        Next::GoesOn
    }

    fn is_drained(&mut self) -> bool {
        self.moving.retain_mut(|operation| !ended(operation));
        self.moving.is_empty()
    }

    fn serve(&mut self, hands: &mut Hands<'_>, origin: u32, request: &Request<'_>) -> Next {
        match request.kind {
            Kind::Lock(kind) => return self.lock(hands, origin, kind),
            Kind::Unlock => {
                self.unlock(hands, origin);
                self.confirm(hands, origin, request.tag);
                self.locked_out = false;
                self.refusal = None;
            }
            Kind::Flush => self.confirm(hands, origin, request.tag),
            Kind::Poke => {}
            _ if self.locked_out => self.shun(hands, origin, request),
            Kind::Put => self.put(hands, origin, request),
            Kind::Get => self.get(hands, origin, request),
            Kind::CompareSwap => self.compare_swap(hands, origin, request),
            Kind::Accumulate(..) | Kind::Fetch(..) => {
                return self.accumulate(hands, origin, request);
            }
        }
        Next::GoesOn
    }

    /// Tells the origin that everything is done, or what is not.
    fn confirm(&mut self, hands: &mut Hands<'_>, origin: u32, tag: u32) {
        let refusal = match self.locked_out {
            true => self.refusal,
            false => self.refusal.take(),
        };
        match refusal {
            Some(refusal) => hands.answer(origin, tag, &refusal.encode()),
            None => hands.answer(origin, tag, &[]),
        }
    }

    /// Does not do a request: its data is received and dropped, its answer has no bytes.
    fn shun(&mut self, hands: &mut Hands<'_>, origin: u32, request: &Request<'_>) {
        let gives = !matches!(request.kind, Kind::Get | Kind::Fetch(_, Predefined::NoOp));
        if gives && request.data.is_none() && request.bytes > 0 {
            let nothing = Buffer::empty();
            self.moving
                .extend(hands.receive(origin, request.tag, &nothing));
        }
        let takes = matches!(
            request.kind,
            Kind::Get | Kind::Fetch(..) | Kind::CompareSwap
        );
        if takes {
            hands.answer(origin, request.tag, &[]);
        }
    }

    fn put(&mut self, hands: &mut Hands<'_>, origin: u32, request: &Request<'_>) {
        match (hands.buffer(request), request.data) {
            (Ok(buffer), Some(data)) => buffer.unpack(data),
            (Ok(buffer), None) => {
                self.moving
                    .extend(hands.receive(origin, request.tag, &buffer));
            }
            (Err(refusal), _) => {
                self.refuse(refusal);
                self.shun(hands, origin, request);
            }
        }
    }

    fn get(&mut self, hands: &mut Hands<'_>, origin: u32, request: &Request<'_>) {
        let buffer = match hands.buffer(request) {
            Ok(buffer) => buffer,
            // The answer without bytes tells.
            Err(_) => return self.shun(hands, origin, request),
        };
        if let Some(address) = buffer.contiguous().filter(|_| buffer.bytes() <= SHORT_MAX) {
            // SAFETY: the memory is the window's; others may change it meanwhile, as the program
            // allows.
            let bytes = unsafe { std::slice::from_raw_parts(address, buffer.bytes() as usize) };
            if hands.answer_now(origin, request.tag, bytes) {
                return;
            }
        }
        let process = hands.core.part(origin).process;
        let envelope = hands.envelope(request.tag, buffer.bytes());
        let comm = &hands.core.comm;
        let sent = comm.isend_on(process, envelope, &buffer, Mode::Standard);
        if let Ok(request) = sent
            && !matches!(request, AnyRequest::Over(_))
        {
            self.moving.push(request);
        }
    }

    fn accumulate(&mut self, hands: &mut Hands<'_>, origin: u32, request: &Request<'_>) -> Next {
        let (element, op, answer) = match request.kind {
            Kind::Fetch(element, op) => (element, op, Some(request.tag)),
            Kind::Accumulate(element, op) => (element, op, None),
            _ => unreachable!("only those come here"),
        };
        if self.change_word(hands, origin, request, element, op, answer) {
            return Next::GoesOn;
        }
        let plan = Plan::new(element, op).map_err(|_| Refusal::Garbled);
        let place = hands.place(request);
        let (plan, address, datatype) = match (plan, place) {
            (Ok(plan), Ok((address, datatype)))
                if request.bytes.is_multiple_of(plan.bytes as u64) =>
            {
                (plan, address, datatype)
            }
            (_, Err(refusal)) => {
                self.refuse_unless_answered(refusal, answer);
                self.shun(hands, origin, request);
                return Next::GoesOn;
            }
            _ => {
                self.refuse(Refusal::Garbled);
                self.shun(hands, origin, request);
                return Next::GoesOn;
            }
        };
        let combines = Combines {
            plan,
            address,
            datatype,
            answer,
        };
        if combines.plan.needs_no_origin() {
            combines.run(hands, origin, self.exclusive, &[]);
            return Next::GoesOn;
        }
        if let Some(data) = request.data {
            combines.run(hands, origin, self.exclusive, data);
            return Next::GoesOn;
        }
        let mut data = vec![0; request.bytes as usize];
        // SAFETY: the data is kept with the request until it is over.
        let buffer = unsafe { Buffer::raw(data.as_mut_ptr(), request.bytes) };
        let Some(arrives) = hands.receive(origin, request.tag, &buffer) else {
            return Next::GoesOn;
        };
        self.waits = Some(Waits::Data {
            arrives,
            data,
            combines,
        });
        self.resume(hands, origin)
    }

    /// Changes one word by an instruction of the processor; false, and nothing has happened, if the
    /// request asks for more than that.
    fn change_word(
        &mut self,
        hands: &mut Hands<'_>,
        origin: u32,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
        answer: Option<u32>,
    ) -> bool {
        let Element::Basic(basic) = element else {
            return false;
        };
        let bytes = basic.size() as usize;
        let data = match op {
            Predefined::NoOp => &[],
            _ => request.data.unwrap_or_default(),
        };
        let has_data = op == Predefined::NoOp || data.len() == bytes;
        if !has_data || !request.layout.is_empty() || request.bytes != bytes as u64 {
            return false;
        }
        let Ok(place) = hands.block(request) else {
            return false;
        };
        let mut before = [0; size_of::<u64>()];
        let result = answer.map(|_| before.as_mut_ptr());
        // SAFETY: the element lies in the window, as was checked; data and room are long enough for
        // a word, and nothing else is changed by one instruction.
        let changed = bytes <= before.len()
            && unsafe { accumulate::change_word(basic, op, place, data.as_ptr(), result) };
        if changed && let Some(tag) = answer {
            hands.answer(origin, tag, &before[..bytes]);
        }
        changed
    }

    fn refuse_unless_answered(&mut self, refusal: Refusal, answer: Option<u32>) {
        if answer.is_none() {
            self.refuse(refusal);
        }
    }

    fn compare_swap(&mut self, hands: &mut Hands<'_>, origin: u32, request: &Request<'_>) {
        let bytes = request.bytes as usize;
        let data = request.data.filter(|data| data.len() == 2 * bytes);
        let (Some(data), Ok((address, datatype))) = (data, hands.place(request)) else {
            return self.shun(hands, origin, request);
        };
        let mut result = vec![0; bytes];
        let (compare, new) = data.split_at(bytes);
        let address = address.wrapping_offset(datatype.true_lb() as isize);
        if bytes > 0 {
            // SAFETY: the element lies in the window, as was checked.
            unsafe {
                accumulate::compare_swap(hands.site(false), address, compare, new, &mut result);
            }
        }
        hands.answer(origin, request.tag, &result);
    }
}

impl Combines {
    fn run(&self, hands: &mut Hands<'_>, origin: u32, exclusive: bool, data: &[u8]) {
        let Ok(layout) = self.datatype.layout(1) else {
            return;
        };
        let mut result = self.answer.map(|_| vec![0; layout.bytes() as usize]);
        // SAFETY: the memory is the window's, as was checked; elements of a window are changed
        // through `accumulate` alone while accumulations may meet.
        unsafe {
            let site = hands.site(exclusive);
            self.plan
                .apply(site, self.address, &layout, data, result.as_deref_mut());
        }
        if let (Some(tag), Some(result)) = (self.answer, result) {
            hands.answer(origin, tag, &result);
        }
    }
}
