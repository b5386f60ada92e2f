//! Messages that arrived before their receive, and answers that are due for offers. Each record is
//! paid for by its sender's credits until it is free again, so a peer cannot make more of them than
//! its window has room for.

use alloc::vec::Vec;

use crate::bits::{Index, Key, NONE, Seed, UnexpectedId};
use crate::list::Links;
use crate::pool::Chain;
use crate::requests::PeerToken;

#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// The peer's place, whose window the record is paid from.
    pub slot: u32,
    pub peer: PeerToken,
    pub bits: u64,
    pub bytes: u64,
    /// Credit units that it holds.
    pub units: u32,
    pub what: What,
}

#[derive(Clone, Copy)]
pub(crate) enum What {
    Free,
    /// An eager message, of which `chain` has come.
    Eager {
        chain: Chain,
        /// Its place in the unexpected queue, until a receive has claimed it.
        queued: Option<UnexpectedId>,
        /// The receive that has claimed it.
        claimed: Option<u32>,
    },
    /// An offer that nobody has matched.
    Offer {
        send: u64,
        queued: UnexpectedId,
    },
    /// An answer to be sent.
    Reply {
        send: u64,
        answer: Answer,
    },
}

/// What becomes of an offer for which no bytes are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The handler took the message.
    Taken,
    /// The sender took it back.
    Cancelled,
}

pub(crate) struct Records {
    places: Vec<(Record, u32)>,
    free: u32,
    /// Offers by their sender's place and token: cancels are found without a walk.
    offers: Index,
    /// Answers are in their peer's list.
    pub links: Links,
}

impl Records {
    pub(crate) fn new(capacity: usize, seed: Seed) -> Records {
        let blank = Record {
            slot: 0,
            peer: PeerToken(0),
            bits: 0,
            bytes: 0,
            units: 0,
            what: What::Free,
        };
        let next = |number: usize| {
            if number + 1 < capacity {
                number as u32 + 1
            } else {
                NONE
            }
        };
        Records {
            places: (0..capacity).map(|number| (blank, next(number))).collect(),
            free: if capacity > 0 { 0 } else { NONE },
            offers: Index::new(capacity, seed),
            links: Links::new(capacity),
        }
    }

    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * size_of::<(Record, u32)>() + Index::bytes(capacity) + Links::bytes(capacity)
    }

    pub(crate) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// A vacant place; it is taken by [`Records::fill`].
    pub(crate) fn vacant(&self) -> Option<u32> {
        (self.free != NONE).then_some(self.free)
    }

    /// Takes the place that [`Records::vacant`] has just named.
    pub(crate) fn fill(&mut self, number: u32, record: Record) {
        debug_assert!(self.free == number);
        self.free = self.places[number as usize].1;
        self.set(number, record);
    }

    pub(crate) fn get(&self, number: u32) -> &Record {
        &self.places[number as usize].0
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Record {
        &mut self.places[number as usize].0
    }

    /// Replaces a record; offers are filed under their token.
    pub(crate) fn set(&mut self, number: u32, record: Record) {
        self.offers.remove(number);
        if let What::Offer { send, .. } = record.what {
            self.offers.push(offer_key(record.slot, send), number);
        }
        *self.get_mut(number) = record;
    }

    /// The oldest offer of a peer with this token.
    pub(crate) fn offer(&self, slot: u32, send: u64) -> Option<u32> {
        self.offers.front(offer_key(slot, send))
    }

    pub(crate) fn release(&mut self, number: u32) {
        self.offers.remove(number);
        let free = self.free;
        let place = &mut self.places[number as usize];
        place.0.what = What::Free;
        place.1 = free;
        self.free = number;
    }
}

fn offer_key(slot: u32, send: u64) -> Key {
    Key {
        word: send,
        space: slot,
    }
}
