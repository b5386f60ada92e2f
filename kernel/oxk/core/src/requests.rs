//! The requests of an endpoint: places with a generation, so that a token that has left the
//! endpoint (to a peer, or to a copy that runs without the lock) never names a later request.

use alloc::vec::Vec;

use crate::bits::{NONE, PostedId};
use crate::list::{Links, List};

/// Names a request: its place in the lower half, its generation in the upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// Names a peer, in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerToken(pub u64);

pub(crate) fn token(number: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(number)
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// 0 or an errno.
    pub error: u32,
    /// The message's bits.
    pub bits: u64,
    /// The message's length.
    pub bytes: u64,
    /// How much of it is in the receive's memory.
    pub placed: u64,
    /// Who sent or received it; `None`: a receive that met no message.
    pub peer: Option<PeerToken>,
}

/// A request that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its name until now.
    pub token: Token,
    /// What the caller gave with it.
    pub user: u64,
    /// How it ended.
    pub status: Status,
}

#[derive(Clone, Copy)]
pub(crate) enum State {
    Free,
    /// A receive in the posted queue.
    Waiting {
        posted: PostedId,
        capacity: u64,
    },
    /// A receive that has met an unexpected message; it is copied when all of it is there.
    Claimed(Claimed),
    /// A receive whose message is on its way.
    Receiving(Receiving),
    /// A send.
    Sending(Sending),
    /// Over, and not yet told.
    Over(Status),
}

#[derive(Clone, Copy)]
pub(crate) struct Claimed {
    pub record: u32,
    pub capacity: u64,
    /// The block that is copied next, once copying has begun.
    pub block: u32,
    /// Where its bytes belong.
    pub offset: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Receiving {
    pub peer: u32,
    /// The sender's token, if the message was offered.
    pub offer: Option<u64>,
    pub bits: u64,
    pub bytes: u64,
    pub capacity: u64,
    pub arrived: u64,
    pub placed: u64,
    /// 0, or the errno of the first copy that failed; nothing is copied after it.
    pub error: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Sending {
    pub peer: u32,
    pub name: PeerToken,
    pub bits: u64,
    pub bytes: u64,
    pub sync: bool,
    pub phase: Phase,
    /// Packets with payload whose memory is still in use.
    pub unsent: u32,
    /// The caller wants an offer back.
    pub cancel: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing of it has left.
    Queued,
    /// The peer knows of it and has not answered.
    Offered,
    /// The peer has asked for its bytes.
    Data { receive: u64, offset: u64 },
    /// Everything has been handed out.
    Sent,
    /// It has failed, and ends when its memory is no longer in use.
    Failed { error: u32 },
}

struct Place {
    generation: u32,
    user: u64,
    state: State,
    next_free: u32,
}

pub(crate) struct Requests {
    places: Vec<Place>,
    free: u32,
    /// Every request is in one list at most: one of a peer's, `copies` or `over`.
    pub links: Links,
    /// Receives whose message is all there, to be copied.
    pub copies: List,
    over: List,
}

impl Requests {
    pub(crate) fn new(capacity: u32) -> Requests {
        let places = (0..capacity).map(|number| Place {
            generation: 1,
            user: 0,
            state: State::Free,
            next_free: if number + 1 < capacity {
                number + 1
            } else {
                NONE
            },
        });
        Requests {
            places: places.collect(),
            free: 0,
            links: Links::new(capacity as usize),
            copies: List::EMPTY,
            over: List::EMPTY,
        }
    }

    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * size_of::<Place>() + Links::bytes(capacity)
    }

    pub(crate) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// A vacant place; it is taken by [`Requests::fill`].
    pub(crate) fn vacant(&self) -> Option<u32> {
        (self.free != NONE).then_some(self.free)
    }

    /// Takes the place that [`Requests::vacant`] has just named.
    pub(crate) fn fill(&mut self, number: u32, user: u64, state: State) -> Token {
        debug_assert!(self.free == number);
        let place = &mut self.places[number as usize];
        self.free = place.next_free;
        place.user = user;
        place.state = state;
        self.token(number)
    }

    pub(crate) fn token(&self, number: u32) -> Token {
        Token(token(number, self.places[number as usize].generation))
    }

    /// The place that a token names, if it still does. Tokens may come from a peer.
    pub(crate) fn find(&self, token: u64) -> Option<u32> {
        let place = self.places.get(token as u32 as usize)?;
        let live = place.generation == (token >> 32) as u32 && !matches!(place.state, State::Free);
        live.then_some(token as u32)
    }

    pub(crate) fn state(&self, number: u32) -> &State {
        &self.places[number as usize].state
    }

    pub(crate) fn set(&mut self, number: u32, state: State) {
        self.places[number as usize].state = state;
    }

    pub(crate) fn sending(&mut self, number: u32) -> Option<&mut Sending> {
        match &mut self.places[number as usize].state {
            State::Sending(sending) => Some(sending),
            _ => None,
        }
    }

    pub(crate) fn receiving(&mut self, number: u32) -> Option<&mut Receiving> {
        match &mut self.places[number as usize].state {
            State::Receiving(receiving) => Some(receiving),
            _ => None,
        }
    }

    pub(crate) fn claimed(&mut self, number: u32) -> Option<&mut Claimed> {
        match &mut self.places[number as usize].state {
            State::Claimed(claimed) => Some(claimed),
            _ => None,
        }
    }

    /// The request, which is in no list, is over.
    pub(crate) fn end(&mut self, number: u32, status: Status) {
        self.set(number, State::Over(status));
        self.links.push(&mut self.over, number);
    }

    /// Vacates a place; its token names nothing any more.
    pub(crate) fn release(&mut self, number: u32) {
        let place = &mut self.places[number as usize];
        place.state = State::Free;
        place.generation = place.generation.wrapping_add(1);
        place.next_free = self.free;
        self.free = number;
    }

    pub(crate) fn next_over(&mut self) -> Option<Completion> {
        let number = self.links.pop(&mut self.over)?;
        let (token, user) = (self.token(number), self.places[number as usize].user);
        let State::Over(status) = *self.state(number) else {
            return None;
        };
        self.release(number);
        Some(Completion {
            token,
            user,
            status,
        })
    }
}
