//! Posted receives and unexpected messages, matched by 64 bits and a mask.
//!
//! A receive with bits `b` and mask `m` accepts a message with bits `x` when `x & m == b & m`. The
//! oldest receive gets a message, and a receive gets the oldest message: age is a sequence number.
//! Full masks are found by one hash, up to [`MASKS_MAX`] others by one hash each, more by walking a
//! list. All memory is taken by [`BitsQueues::new`].

mod index;
mod posted;
mod slab;
mod unexpected;

use core::fmt;

pub(crate) use index::{Index, Key, NONE};
use posted::Posted;
use unexpected::Unexpected;

/// Distinct masks, beside the full one, that are found by hash. A protocol has few kinds of
/// receives (oxfs has three), and each costs every message one search.
pub const MASKS_MAX: usize = 8;

/// The mask of a receive that accepts one value of the bits.
pub const FULL: u64 = u64::MAX;

/// What the hash is mixed with. Who does not know it cannot choose bits that share a place in the
/// tables, which would make every search as long as the queue. Random for each endpoint, and told
/// to nobody.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed([u64; 2]);

impl Seed {
    /// Of 128 random bits.
    pub const fn new(random: [u64; 2]) -> Seed {
        Seed(random)
    }

    /// Two products of 64 by 64 bits, folded, as in the crate `matching`.
    pub(crate) fn mix(self, word: u64, space: u32) -> u64 {
        let [first, second] = self.0;
        let label = u64::from(space) << 32 | 0x9e37_79b9;
        fold(fold(word ^ first, label ^ second), 0x9e37_79b9_7f4a_7c15)
    }
}

impl fmt::Debug for Seed {
    /// Logs are read by others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Names a posted receive while it waits; afterwards it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostedId {
    number: u32,
    stamp: u64,
}

/// Names an unexpected message until it is taken; afterwards it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnexpectedId {
    number: u32,
    stamp: u64,
}

/// There are as many receives, or messages, as the queues were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Both queues. `P` is what the endpoint remembers of a receive, `U` of a message.
///
/// A receive is first offered to the messages ([`BitsQueues::claim`]), then posted; a message is
/// first offered to the receives ([`BitsQueues::arrive`]), then stored. The caller's lock is held
/// over both halves.
pub struct BitsQueues<P, U> {
    posted: Posted<P>,
    unexpected: Unexpected<U>,
}

impl<P, U> BitsQueues<P, U> {
    /// Empty queues for so many receives and messages; the only call that allocates.
    pub fn new(posted: usize, unexpected: usize, seed: Seed) -> Self {
        BitsQueues {
            posted: Posted::new(posted, seed),
            unexpected: Unexpected::new(unexpected, seed),
        }
    }

    /// Bytes that [`BitsQueues::new`] allocates.
    pub const fn bytes(posted: usize, unexpected: usize) -> usize {
        Posted::<P>::bytes(posted) + Unexpected::<U>::bytes(unexpected)
    }

    /// A receive that found no message waits for one.
    pub fn post(&mut self, bits: u64, mask: u64, receive: P) -> Result<PostedId, Full> {
        self.posted.push(bits, mask, receive).ok_or(Full)
    }

    /// A message: takes the oldest receive that accepts it.
    pub fn arrive(&mut self, bits: u64) -> Option<P> {
        self.posted.take(bits)
    }

    /// Keeps a message that found no receive.
    pub fn store(&mut self, bits: u64, message: U) -> Result<UnexpectedId, Full> {
        self.unexpected.push(bits, message).ok_or(Full)
    }

    /// The oldest message that a receive would take, and its bits. Exclusive, because a mask may
    /// get an index.
    pub fn probe(&mut self, bits: u64, mask: u64) -> Option<(u64, &U)> {
        let id = self.unexpected.find(bits, mask)?;
        self.unexpected.get(id)
    }

    /// Takes that message out.
    pub fn claim(&mut self, bits: u64, mask: u64) -> Option<(u64, U)> {
        let id = self.unexpected.find(bits, mask)?;
        self.unexpected.remove(id)
    }

    /// Takes out a receive that is cancelled; `None` if it was matched.
    pub fn cancel(&mut self, id: PostedId) -> Option<P> {
        self.posted.remove(id)
    }

    /// Takes out a message that its sender takes back; `None` if it was taken.
    pub fn withdraw(&mut self, id: UnexpectedId) -> Option<(u64, U)> {
        self.unexpected.remove(id)
    }

    /// How many receives wait.
    pub fn posted_len(&self) -> usize {
        self.posted.len()
    }

    /// How many messages wait.
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }
}
