//! Both queues together: the calls the engine makes.
//!
//! A receive goes to [`Queues::post`], which looks among the unexpected messages first. A message
//! goes to [`Queues::arrive`], and if nobody waits for it, with what the engine keeps of it, to
//! [`Queues::store`]. The engine holds its lock over an `arrive` and the `store` that follows: a
//! receive posted between the two would miss the message.

use oxmpi_wire::Envelope;

use crate::pattern::{Pattern, Seed};
use crate::posted::{Matched, Posted, PostedId};
use crate::unexpected::{Full, Unexpected, UnexpectedId};

/// How large the queues are made at the start, and may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Posted receives up to which nothing is allocated; beyond it the tables double.
    pub posted: usize,
    /// Unexpected messages up to which nothing is allocated; beyond it the tables double.
    pub unexpected: usize,
    /// Unexpected messages beyond which [`Queues::store`] refuses.
    pub unexpected_max: usize,
}

impl Default for Capacity {
    /// Room for 1 024 of each, which take about 300 KiB when they are all used, and a bound
    /// of 2^20 unexpected messages: 1 024 peers with 1 024 each.
    fn default() -> Capacity {
        Capacity {
            posted: 1024,
            unexpected: 1024,
            unexpected_max: 1 << 20,
        }
    }
}

/// What became of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Post<U> {
    /// A message was waiting for it; nothing is queued.
    Matched {
        /// The message.
        envelope: Envelope,
        /// What was given to [`Queues::store`].
        unexpected: U,
        /// The message is longer than the receive's buffer.
        truncated: bool,
    },
    /// It waits for its message.
    Queued(PostedId),
}

/// What has passed through the queues, for `oxmpi info` and traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Most receives that ever waited at once.
    pub posted_high: usize,
    /// Most messages that ever waited at once.
    pub unexpected_high: usize,
    /// Messages that found a posted receive.
    pub expected: u64,
    /// Messages that had to wait, and were taken by a receive or a claim.
    pub unexpected: u64,
    /// Messages that the bound refused.
    pub refused: u64,
}

/// The posted and the unexpected queue of a process.
///
/// `P` is what the engine remembers of a posted receive, `U` of an unexpected message.
pub struct Queues<P: Copy, U> {
    seed: Seed,
    posted: Posted<P>,
    unexpected: Unexpected<U>,
    counters: Counters,
}

impl<P: Copy, U> Queues<P, U> {
    /// Empty queues with room for what `capacity` says, for peers that are trusted.
    pub fn new(capacity: Capacity) -> Self {
        Queues::with_seed(capacity, Seed::default())
    }

    /// The same for peers that choose contexts and tags to do harm.
    pub fn with_seed(capacity: Capacity, seed: Seed) -> Self {
        let (unexpected, max) = (capacity.unexpected, capacity.unexpected_max);
        Queues {
            seed,
            posted: Posted::new(capacity.posted, seed),
            unexpected: Unexpected::new(unexpected, max, seed),
            counters: Counters::default(),
        }
    }

    /// A receive: takes the oldest message it accepts, or waits for one.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, capacity_bytes: u64, receive: P) -> Post<U> {
        if self.unexpected.len() > 0
            && let Some(number) = self.find(&pattern)
        {
            self.counters.unexpected += 1;
            let (envelope, unexpected) = self.unexpected.remove(number);
            return Post::Matched {
                envelope,
                unexpected,
                truncated: envelope.bytes() > capacity_bytes,
            };
        }
        let id = self.posted.push(pattern, capacity_bytes, receive);
        self.counters.posted_high = self.counters.posted_high.max(self.posted.len());
        Post::Queued(id)
    }

    /// A message: takes the oldest receive that accepts it. On `None` the caller stores it.
    #[inline(always)]
    pub fn arrive(&mut self, envelope: &Envelope) -> Option<Matched<P>> {
        let matched = self.posted.take(envelope)?;
        self.counters.expected += 1;
        Some(matched)
    }

    /// The receive that [`Queues::arrive`] would take for this message: for who must agree with
    /// another holder of the same receives before it is taken.
    pub fn peek(&self, envelope: &Envelope) -> Option<&P> {
        self.posted.peek(envelope)
    }

    /// Keeps a message for which [`Queues::arrive`] has just found no receive.
    #[inline]
    pub fn store(&mut self, envelope: Envelope, message: U) -> Result<UnexpectedId, Full<U>> {
        let stored = self.unexpected.push(envelope, message);
        if stored.is_err() {
            self.counters.refused += 1;
        }
        self.counters.unexpected_high = self.counters.unexpected_high.max(self.unexpected.len());
        stored
    }

    /// What is remembered of an unexpected message, say to add a fragment; `None` once it is taken.
    #[inline]
    pub fn unexpected_mut(&mut self, id: UnexpectedId) -> Option<&mut U> {
        self.unexpected.by_id(id)
    }

    /// The oldest message a receive with this pattern would take. Exclusive, because a wildcard
    /// may make the queue build an index.
    #[inline]
    pub fn probe(&mut self, pattern: &Pattern) -> Option<(&Envelope, &U)> {
        let number = self.find(pattern)?;
        Some(self.unexpected.get(number))
    }

    /// Matched probe: takes that message out, so that no other receive can get it.
    #[inline]
    pub fn claim(&mut self, pattern: &Pattern) -> Option<(Envelope, U)> {
        let number = self.find(pattern)?;
        self.counters.unexpected += 1;
        Some(self.unexpected.remove(number))
    }

    #[inline]
    fn find(&mut self, pattern: &Pattern) -> Option<u32> {
        let class = pattern.class();
        self.unexpected
            .find(pattern, class, pattern.sought(self.seed, class))
    }

    /// Takes out a message its sender has cancelled; `None` if it is taken already.
    pub fn withdraw(&mut self, id: UnexpectedId) -> Option<(Envelope, U)> {
        self.unexpected.withdraw(id)
    }

    /// Takes out a receive that is cancelled; `None` if it is matched already.
    pub fn cancel(&mut self, id: PostedId) -> Option<P> {
        self.posted.cancel(id)
    }

    /// How many receives wait.
    #[inline]
    pub fn posted_len(&self) -> usize {
        self.posted.len()
    }

    /// How many messages wait.
    #[inline]
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    /// Every receive that waits, in no particular order: for reports, and to end those that name
    /// a peer which has died. Takes time in proportion.
    pub fn posted(&self) -> impl Iterator<Item = (PostedId, Pattern, &P)> {
        self.posted.iter()
    }

    /// Every message that waits, the oldest first. Takes time in proportion.
    pub fn unexpected(&self) -> impl Iterator<Item = (UnexpectedId, &Envelope, &U)> {
        self.unexpected.iter()
    }

    /// What has passed so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
