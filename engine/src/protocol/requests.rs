//! Requests: every operation that did not finish in the call that began it.
//!
//! They live in a slab; an id carries the generation of its place, so that a stale one is noticed.

use oxmpi_matching::PostedId;
use oxmpi_wire::Envelope;

use super::disagreement::{Disagreement, Notice};
use super::failure::Failure;
use super::order::Standstill;

/// Names a request of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    index: u32,
    generation: u32,
}

impl RequestId {
    /// The id as it travels in a packet.
    pub fn token(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The id out of a packet; it may be stale.
    pub fn from_token(token: u64) -> Self {
        Self {
            index: token as u32,
            generation: (token >> 32) as u32,
        }
    }
}

/// How an operation ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Sender's rank in the communicator (for a send: our own).
    pub source: u32,
    /// The message's tag.
    pub tag: i32,
    /// Its length.
    pub bytes: u64,
    /// It was cancelled: no message.
    pub cancelled: bool,
    /// What the sender said of its data (for a send: what was said).
    pub signature: u8,
}

/// How an operation ended.
pub type Outcome = Result<Completion, Failure>;

/// Where a request stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// The place is free; the next free one.
    Free(Option<u32>),
    /// A receive waits for its message.
    Posted(PostedId),
    /// A receive has a message, and the driver that matched them has not said yet which: see
    /// `mirror`.
    Awarded,
    /// A receive has its message and awaits the rest of its bytes.
    Receiving {
        /// Bytes that have arrived.
        arrived: u64,
    },
    /// A send waits in the outbox or is in the middle of its eager packets.
    Queued {
        /// Bytes that have left.
        sent: u64,
        /// It goes eager (room has been taken); else it will be offered.
        eager: bool,
    },
    /// A send has been offered and awaits its match.
    Offered,
    /// As [`State::Offered`], and the receiver has been asked to forget it.
    Cancelling,
    /// A matched send streams its bytes.
    Streaming {
        /// The receiver's token.
        receive: u64,
        /// Bytes that have left.
        sent: u64,
    },
    /// All of a send has been taken by a device that still reads its memory.
    Departing,
    /// Over; the outcome waits to be taken.
    Complete(Outcome),
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<B> {
    pub state: State,
    /// The message's envelope; of a posted receive only after the match. Until then its signature
    /// is what the receiver takes the data for.
    pub envelope: Envelope,
    /// The user's memory.
    pub buffer: Option<B>,
    /// How much the buffer holds (receives) or where the bytes can be fetched (sends).
    pub capacity: u64,
    /// The other process; `None` for a receive from anybody.
    pub peer: Option<u32>,
    /// For sends: where the bytes can be fetched.
    /// Of a receive that met an offer: the sender's token.
    pub address: u64,
    pub mapped: bool,
    pub fetchable: bool,
    pub sync: bool,
    /// It is a receive.
    pub is_receive: bool,
    /// Its place in the order of `order`; 0 before it has one.
    pub turn: u64,
    pub standstill: Option<Standstill>,
    generation: u32,
}

pub(super) struct Requests<B> {
    slab: Vec<Request<B>>,
    free: Option<u32>,
    pending: usize,
    /// Turns that have been given.
    turns: u64,
}

/// Requests for which there is room from the start.
const REQUESTS_AT_START: usize = 1024;

impl<B: Copy> Requests<B> {
    pub fn new() -> Self {
        Self {
            slab: Vec::with_capacity(REQUESTS_AT_START),
            free: None,
            pending: 0,
            turns: 0,
        }
    }

    #[inline(always)]
    pub fn pending(&self) -> usize {
        self.pending
    }

    #[inline(always)]
    pub fn insert(&mut self, request: Request<B>) -> RequestId {
        self.pending += 1;
        if let Some(index) = self.free {
            let place = &mut self.slab[index as usize];
            let State::Free(next) = place.state else {
                unreachable!("the free list holds free places")
            };
            self.free = next;
            let generation = place.generation;
            *place = Request {
                generation,
                ..request
            };
            return RequestId { index, generation };
        }
        let index = self.slab.len() as u32;
        self.slab.push(request);
        RequestId {
            index,
            generation: 0,
        }
    }

    #[inline(always)]
    pub fn get(&mut self, id: RequestId) -> Option<&mut Request<B>> {
        self.slab
            .get_mut(id.index as usize)
            .filter(|request| request.generation == id.generation)
    }

    pub fn peek(&self, id: RequestId) -> Option<&Request<B>> {
        self.slab
            .get(id.index as usize)
            .filter(|request| request.generation == id.generation)
    }

    #[inline(always)]
    pub fn is_complete(&self, id: RequestId) -> bool {
        match self.slab.get(id.index as usize) {
            Some(request) if request.generation == id.generation => {
                matches!(request.state, State::Complete(_))
            }
            _ => true,
        }
    }

    /// The next turn: a receive has been matched, or something else has ended.
    #[inline(always)]
    pub fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    #[inline(always)]
    pub fn complete(&mut self, id: RequestId, outcome: Outcome) {
        let turn = self.turns + 1;
        if let Some(request) = self.get(id)
            && !matches!(request.state, State::Complete(_))
        {
            request.state = State::Complete(outcome);
            if request.turn == 0 {
                request.turn = turn;
                self.turns = turn;
            }
            self.pending -= 1;
        }
    }

    /// A receive has its whole message: it ends well, or truncated.
    #[inline(always)]
    pub fn complete_received(&mut self, id: RequestId) {
        if let Some(request) = self.get(id) {
            request.state = State::Complete(request.received());
            self.pending -= 1;
        }
    }

    #[inline(always)]
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        let free = self.free;
        let request = self.get(id)?;
        let State::Complete(outcome) = request.state else {
            return None;
        };
        request.state = State::Free(free);
        request.buffer = None;
        // After 2^32 reuses of one place an id could repeat; by then its owner is long gone.
        request.generation = request.generation.wrapping_add(1);
        self.free = Some(id.index);
        Some(outcome)
    }

    pub fn outcome(&self, id: RequestId) -> Option<Outcome> {
        match self.peek(id)?.state {
            State::Complete(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// All requests that are not over, with their ids.
    pub fn active(&self) -> impl Iterator<Item = (RequestId, &Request<B>)> {
        self.slab.iter().enumerate().filter_map(|(index, request)| {
            let over = matches!(request.state, State::Free(_) | State::Complete(_));
            (!over).then_some((
                RequestId {
                    index: index as u32,
                    generation: request.generation,
                },
                request,
            ))
        })
    }
}

impl<B> Request<B> {
    /// A request as the slab takes it; the generation is the slab's.
    #[inline(always)]
    pub fn new(
        state: State,
        envelope: Envelope,
        buffer: B,
        capacity: u64,
        peer: Option<u32>,
    ) -> Self {
        Self {
            state,
            envelope,
            buffer: Some(buffer),
            capacity,
            peer,
            address: 0,
            mapped: false,
            fetchable: false,
            sync: false,
            is_receive: false,
            turn: 0,
            standstill: None,
            generation: 0,
        }
    }

    /// A receive meets its message. The two may take the data for different things.
    #[inline(always)]
    pub fn meet(&mut self, envelope: &Envelope, from: u32, notice: &Option<Notice>) {
        let expected = self.envelope.signature();
        self.envelope = *envelope;
        self.peer = Some(from);
        if expected != envelope.signature() {
            Disagreement::tell(expected, envelope, from, notice);
        }
    }

    /// How the request ends when nothing goes wrong.
    #[inline(always)]
    pub fn completion(&self) -> Completion {
        Completion {
            source: self.envelope.source,
            tag: self.envelope.tag,
            bytes: self.envelope.bytes(),
            cancelled: false,
            signature: self.envelope.signature(),
        }
    }

    /// How a receive of its whole message ends: well, or truncated.
    #[inline(always)]
    pub fn received(&self) -> Outcome {
        if self.envelope.bytes() > self.capacity {
            return Err(Failure::Truncated {
                source: self.envelope.source,
                tag: self.envelope.tag,
                bytes: self.envelope.bytes(),
                capacity: self.capacity,
            });
        }
        Ok(self.completion())
    }
}
