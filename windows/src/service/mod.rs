//! The target's side: does what other ranks ask, in order, without waiting for anything.
//!
//! Each origin has a *stream* of requests that are done in order; one that has to wait (for a lock,
//! for data of an accumulation) keeps those behind it waiting, and no other origin's. Data of puts
//! and gets moves while later requests are done: a flush waits for it.
//!
//! Batches come in by [`Service::arrive`]; [`Service::step`] does all that can be done now. Memory
//! and messages are the caller's ([`Hands`]).

mod lock;

use std::collections::{BTreeMap, VecDeque};

use oxmpi_datatypes::op::Predefined;
use oxmpi_ports::turn_lock::{Ticket, Turn, Wish};

use crate::Element;
use crate::lock::{Held, Told, Words};
use crate::message::{self, Kind, Refusal, Request};

/// A message that is being received as a whole.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is still coming.
    Waits,
    /// It is here.
    Here(Vec<u8>),
    /// It never comes: its sender has died, or has sent something else.
    Lost,
}

/// What a service keeps for its process from one step to the next.
pub trait Kept {
    /// Data on its way into the window or out of it.
    type Moving;
    /// A message that is received as a whole.
    type Arriving;
    /// An accumulation whose arguments were checked.
    type Combination;
}

/// What a service needs of its process: its memory, its messages, the words of its lock.
pub trait Hands<K: Kept>: Words {
    /// Whether a transfer is over, well or not; it is not asked again then.
    fn is_over(&mut self, moving: &mut K::Moving) -> bool;
    /// What has become of a message; it is not asked again when it is here or lost.
    fn poll_arrival(&mut self, arriving: &mut K::Arriving) -> Arrival;
    /// Wakes whoever may have the lock now. True: that may be an origin of this service.
    fn wake(&mut self, turn: Turn) -> bool;
    /// The process behind a rank.
    fn process_of(&self, rank: u32) -> u32;
    /// The rank whose memory it is.
    fn own_rank(&self) -> u32;

    /// Sends bytes that are copied in the call.
    fn answer(&mut self, origin: u32, tag: u32, bytes: &[u8]);
    /// Writes data that came with its request.
    fn write(&mut self, request: &Request<'_>, data: &[u8]) -> Result<(), Refusal>;
    /// Begins to receive the data of a put into the window; none if it is over already.
    fn receive(&mut self, origin: u32, request: &Request<'_>)
    -> Result<Option<K::Moving>, Refusal>;
    /// Begins to receive data that nobody wants.
    fn discard(&mut self, origin: u32, tag: u32) -> Option<K::Moving>;
    /// Begins to send the data of a get out of the window; none if it has left already.
    fn send(&mut self, origin: u32, request: &Request<'_>) -> Result<Option<K::Moving>, Refusal>;
    /// Begins to receive the data of an accumulation; none if its sender has died.
    fn gather(&mut self, origin: u32, tag: u32, bytes: u64) -> Option<K::Arriving>;
    /// Checks the arguments of an accumulation.
    fn prepare(
        &mut self,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
    ) -> Result<K::Combination, Refusal>;
    /// Combines data into the window. `exclusive`: nobody else is at the memory. What was there
    /// before, if it is wanted.
    fn combine(
        &mut self,
        combination: &K::Combination,
        exclusive: bool,
        data: &[u8],
        wants_old: bool,
    ) -> Option<Vec<u8>>;
    /// Changes one word by an instruction of the processor, and puts what was there into `before`;
    /// none, and nothing has happened, if the request asks for more than that.
    fn change_word(
        &mut self,
        request: &Request<'_>,
        element: Element,
        op: Predefined,
        before: &mut [u8; 8],
    ) -> Option<usize> {
        let _ = (request, element, op, before);
        None
    }
    /// Swaps one element if it equals `compare`; what was there, or none if that is not possible.
    fn compare_swap(
        &mut self,
        request: &Request<'_>,
        compare: &[u8],
        new: &[u8],
    ) -> Option<Vec<u8>>;
}

/// See the top of this file.
pub struct Service<K: Kept> {
    /// By origin's rank.
    streams: BTreeMap<u32, Stream<K>>,
}

/// What one origin asks.
struct Stream<K: Kept> {
    messages: VecDeque<Message<K>>,
    waits: Option<Waits<K>>,
    /// Data on its way into the window or out of it.
    moving: Vec<K::Moving>,
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
enum Message<K: Kept> {
    /// It is still coming.
    Arrives(K::Arriving),
    /// It is here, and has been done up to there.
    Here(Vec<u8>, usize),
}

/// What the stream's next request waits for.
enum Waits<K: Kept> {
    /// The turn of a ticket.
    Turn(Ticket, Wish),
    /// A lock that is disrupted.
    Disrupted(Wish),
    /// The data of an accumulation.
    Data {
        arrives: K::Arriving,
        bytes: u64,
        combination: K::Combination,
        /// Tag of the answer, if one is wanted.
        answer: Option<u32>,
    },
}

/// Whether the stream can go on.
enum Next {
    GoesOn,
    Waits,
}

/// What a stream needs of the service.
struct Context<'s, H> {
    hands: &'s mut H,
    /// A lock has become free for another origin.
    again: bool,
}

impl<K: Kept> Default for Service<K> {
    fn default() -> Self {
        Service {
            streams: BTreeMap::new(),
        }
    }
}

impl<K: Kept> Service<K> {
    /// A batch comes from an origin.
    pub fn arrive(&mut self, origin: u32, batch: K::Arriving) {
        let stream = self.streams.entry(origin).or_default();
        stream.messages.push_back(Message::Arrives(batch));
    }

    /// Does all that can be done now.
    pub fn step<H: Hands<K>>(&mut self, hands: &mut H) {
        let mut context = Context { hands, again: true };
        while std::mem::take(&mut context.again) {
            for (origin, stream) in &mut self.streams {
                stream.go_on(&mut context, *origin);
            }
        }
    }

    /// Whether nothing is left to do before the next batch comes, whatever else happens.
    pub fn is_idle(&self) -> bool {
        let is_idle = |stream: &Stream<K>| {
            stream.messages.is_empty() && stream.waits.is_none() && stream.moving.is_empty()
        };
        self.streams.values().all(is_idle)
    }
}

impl<K: Kept> Default for Stream<K> {
    fn default() -> Self {
        Stream {
            messages: VecDeque::new(),
            waits: None,
            moving: Vec::new(),
            held: None,
            exclusive: false,
            told: Told::new(),
            refusal: None,
            locked_out: false,
        }
    }
}

impl<K: Kept> Stream<K> {
    /// Does what can be done now.
    fn go_on<H: Hands<K>>(&mut self, context: &mut Context<'_, H>, origin: u32) {
        if matches!(self.resume(context, origin), Next::Waits) {
            return;
        }
        while let Some(mut message) = self.messages.pop_front() {
            let next = self.work_off(context, origin, &mut message);
            if matches!(next, Next::Waits) {
                self.messages.push_front(message);
                return;
            }
        }
        // A get's data may have left since; nobody else asks.
        self.drain(context.hands);
    }

    /// Goes on with what the stream waits for.
    fn resume<H: Hands<K>>(&mut self, context: &mut Context<'_, H>, origin: u32) -> Next {
        match self.waits.take() {
            None => Next::GoesOn,
            Some(Waits::Turn(ticket, wish)) => self.try_lock(context, origin, ticket, wish),
            Some(Waits::Disrupted(wish)) => self.try_disrupted(context, origin, wish),
            Some(Waits::Data {
                mut arrives,
                bytes,
                combination,
                answer,
            }) => {
                match context.hands.poll_arrival(&mut arrives) {
                    Arrival::Waits => {
                        self.waits = Some(Waits::Data {
                            arrives,
                            bytes,
                            combination,
                            answer,
                        });
                        return Next::Waits;
                    }
                    Arrival::Here(data) if data.len() as u64 == bytes => {
                        self.combine(context, origin, &combination, &data, answer);
                    }
                    Arrival::Here(_) | Arrival::Lost => self.refuse(Refusal::Garbled),
                }
                Next::GoesOn
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// Does the requests of a batch.
    fn work_off<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        message: &mut Message<K>,
    ) -> Next {
        if let Message::Arrives(arriving) = message {
            match context.hands.poll_arrival(arriving) {
                Arrival::Waits => return Next::Waits,
                Arrival::Here(bytes) => *message = Message::Here(bytes, 0),
                // The origin has died in the middle of it.
                Arrival::Lost => return Next::GoesOn,
            }
        }
        let Message::Here(bytes, done) = message else {
            return Next::GoesOn;
        };
        while *done < bytes.len() {
            let Some((request, length)) = message::decode(&bytes[*done..]) else {
                self.refuse(Refusal::Garbled);
                return Next::GoesOn;
            };
            let is_end = matches!(request.kind, Kind::Flush | Kind::Unlock);
            if is_end && !self.drain(context.hands) {
                return Next::Waits;
            }
            *done += length;
            if matches!(self.serve(context, origin, &request), Next::Waits) {
                return Next::Waits;
            }
        }
        Next::GoesOn
    }

    /// Whether no data moves any more.
    fn drain<H: Hands<K>>(&mut self, hands: &mut H) -> bool {
        self.moving.retain_mut(|moving| !hands.is_over(moving));
        self.moving.is_empty()
    }

    fn serve<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        request: &Request<'_>,
    ) -> Next {
        let hands = &mut *context.hands;
        match request.kind {
            Kind::Lock(kind) => return self.lock(context, origin, kind),
            Kind::Unlock => {
                self.unlock(context, origin);
                self.confirm(context.hands, origin, request.tag);
                self.locked_out = false;
                self.refusal = None;
            }
            Kind::Flush => self.confirm(hands, origin, request.tag),
            Kind::Poke => {}
            _ if self.locked_out => self.shun(hands, origin, request),
            Kind::Put => self.put(hands, origin, request),
            Kind::Get => self.get(hands, origin, request),
            Kind::CompareSwap => self.compare_swap(hands, origin, request),
            Kind::Accumulate(element, op) => {
                return self.accumulate(context, origin, request, (element, op), None);
            }
            Kind::Fetch(element, op) => {
                let answer = Some(request.tag);
                return self.accumulate(context, origin, request, (element, op), answer);
            }
        }
        Next::GoesOn
    }

    /// Tells the origin that everything is done, or what is not.
    fn confirm<H: Hands<K>>(&mut self, hands: &mut H, origin: u32, tag: u32) {
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
    fn shun<H: Hands<K>>(&mut self, hands: &mut H, origin: u32, request: &Request<'_>) {
        let gives = !matches!(request.kind, Kind::Get | Kind::Fetch(_, Predefined::NoOp));
        if gives && request.data.is_none() && request.bytes > 0 {
            self.moving.extend(hands.discard(origin, request.tag));
        }
        let takes = matches!(
            request.kind,
            Kind::Get | Kind::Fetch(..) | Kind::CompareSwap
        );
        if takes {
            hands.answer(origin, request.tag, &[]);
        }
    }

    fn put<H: Hands<K>>(&mut self, hands: &mut H, origin: u32, request: &Request<'_>) {
        let done = match request.data {
            Some(data) => hands.write(request, data),
            None => {
                let receiving = hands.receive(origin, request);
                receiving.map(|moving| self.moving.extend(moving))
            }
        };
        if let Err(refusal) = done {
            self.refuse(refusal);
            self.shun(hands, origin, request);
        }
    }

    fn get<H: Hands<K>>(&mut self, hands: &mut H, origin: u32, request: &Request<'_>) {
        match hands.send(origin, request) {
            Ok(moving) => self.moving.extend(moving),
            // The answer without bytes tells.
            Err(_) => self.shun(hands, origin, request),
        }
    }

    fn accumulate<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        request: &Request<'_>,
        (element, op): (Element, Predefined),
        answer: Option<u32>,
    ) -> Next {
        let hands = &mut *context.hands;
        let mut before = [0; size_of::<u64>()];
        if let Some(bytes) = hands.change_word(request, element, op, &mut before) {
            if let Some(tag) = answer {
                hands.answer(origin, tag, &before[..bytes]);
            }
            return Next::GoesOn;
        }
        let combination = match hands.prepare(request, element, op) {
            Ok(combination) => combination,
            Err(refusal) => {
                // An answer without bytes tells by itself where the fault is.
                if answer.is_none() || refusal == Refusal::Garbled {
                    self.refuse(refusal);
                }
                self.shun(hands, origin, request);
                return Next::GoesOn;
            }
        };
        let data = match (op, request.data) {
            (Predefined::NoOp, _) => Some(&[][..]),
            (_, data) => data,
        };
        if let Some(data) = data {
            self.combine(context, origin, &combination, data, answer);
            return Next::GoesOn;
        }
        let Some(arrives) = hands.gather(origin, request.tag, request.bytes) else {
            return Next::GoesOn;
        };
        self.waits = Some(Waits::Data {
            arrives,
            bytes: request.bytes,
            combination,
            answer,
        });
        self.resume(context, origin)
    }

    fn combine<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        combination: &K::Combination,
        data: &[u8],
        answer: Option<u32>,
    ) {
        let hands = &mut *context.hands;
        let old = hands.combine(combination, self.exclusive, data, answer.is_some());
        if let (Some(tag), Some(old)) = (answer, old) {
            hands.answer(origin, tag, &old);
        }
    }

    fn compare_swap<H: Hands<K>>(&mut self, hands: &mut H, origin: u32, request: &Request<'_>) {
        let bytes = request.bytes as usize;
        let values = request.data.filter(|data| data.len() == 2 * bytes);
        let swapped = values.and_then(|values| {
            let (compare, new) = values.split_at(bytes);
            hands.compare_swap(request, compare, new)
        });
        match swapped {
            Some(before) => hands.answer(origin, request.tag, &before),
            None => self.shun(hands, origin, request),
        }
    }
}
