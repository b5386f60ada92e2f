//! The posted queue: receives that wait for their message.
//!
//! Each is filed in one index under its pattern. A message could be accepted by four patterns, one
//! of each class; the oldest entry among the four is the one MPI's order demands. Counting the
//! receives of each class makes classes that nobody uses free.
//!
//! A receive that is posted while no other waits is not filed: it is kept beside the index and is
//! older than all that are filed later, so a message is compared with it first. A program that
//! receives one message at a time never touches the index.

use oxmpi_wire::Envelope;

use crate::index::Index;
use crate::pattern::{CLASSES, Class, Pattern, Seed, Sought, WILD};
use crate::slab::Slab;

/// Names a posted receive while it waits; afterwards it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PostedId {
    number: u32,
    stamp: u64,
}

/// The receive that an arriving message met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched<P> {
    /// What was given to [`Queues::post`](crate::Queues::post).
    pub posted: P,
    /// The message is longer than the receive's buffer.
    pub truncated: bool,
}

/// The number in an id that names the receive beside the index.
const FIRST: u32 = u32::MAX;

pub(crate) struct Posted<P> {
    seed: Seed,
    /// The receive that was posted while no other waited, if it still waits.
    first: Option<First<P>>,
    /// How many receives have been kept there, to tell them apart.
    firsts: u64,
    slab: Slab<Receive<P>>,
    index: Index,
    /// How many receives of each class with a wildcard wait.
    of_class: [u32; CLASSES],
    /// How many receives with a wildcard wait.
    wild: u32,
}

struct First<P> {
    pattern: Pattern,
    capacity_bytes: u64,
    value: P,
}

struct Receive<P> {
    class: Class,
    capacity_bytes: u64,
    value: P,
}

impl<P: Copy> Posted<P> {
    pub(crate) fn new(capacity: usize, seed: Seed) -> Posted<P> {
        Posted {
            seed,
            first: None,
            firsts: 0,
            slab: Slab::new(capacity),
            index: Index::new(capacity),
            of_class: [0; CLASSES],
            wild: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slab.len() + usize::from(self.first.is_some())
    }

    /// Keeps a receive: beside the index if it is alone, else filed.
    #[inline(always)]
    pub(crate) fn push(&mut self, pattern: Pattern, capacity_bytes: u64, value: P) -> PostedId {
        if self.len() > 0 {
            let class = pattern.class();
            return self.file(
                class,
                pattern.sought(self.seed, class),
                capacity_bytes,
                value,
            );
        }
        self.first = Some(First {
            pattern,
            capacity_bytes,
            value,
        });
        self.firsts += 1;
        PostedId {
            number: FIRST,
            stamp: self.firsts,
        }
    }

    /// Files a receive under its pattern, which is of this class.
    #[inline]
    fn file(&mut self, class: Class, pattern: Sought, capacity_bytes: u64, value: P) -> PostedId {
        let (number, stamp) = self.slab.insert(Receive {
            class,
            capacity_bytes,
            value,
        });
        self.index.push(pattern, number);
        if class != Class::Exact {
            self.of_class[class as usize] += 1;
            self.wild += 1;
        }
        PostedId { number, stamp }
    }

    /// Takes out the oldest receive that accepts the message.
    #[inline(always)]
    pub(crate) fn take(&mut self, envelope: &Envelope) -> Option<Matched<P>> {
        if let Some(first) = &self.first
            && first.pattern.accepts(envelope)
        {
            let matched = Matched {
                posted: first.value,
                truncated: envelope.bytes() > first.capacity_bytes,
            };
            self.first = None;
            return Some(matched);
        }
        self.take_filed(envelope)
    }

    #[inline]
    fn take_filed(&mut self, envelope: &Envelope) -> Option<Matched<P>> {
        let oldest = self.oldest_filed(envelope)?;
        let (posted, capacity_bytes) = self.remove(oldest);
        Some(Matched {
            posted,
            truncated: envelope.bytes() > capacity_bytes,
        })
    }

    /// The oldest filed receive that accepts the message.
    #[inline(always)]
    fn oldest_filed(&self, envelope: &Envelope) -> Option<u32> {
        if self.slab.len() == 0 {
            return None;
        }
        let oldest = self
            .index
            .front(Sought::of(self.seed, Class::Exact, envelope));
        match self.wild {
            0 => oldest,
            _ => self.older_wild(oldest, envelope),
        }
    }

    /// What [`Posted::take`] would take out.
    pub(crate) fn peek(&self, envelope: &Envelope) -> Option<&P> {
        match &self.first {
            Some(first) if first.pattern.accepts(envelope) => Some(&first.value),
            _ => {
                let oldest = self.oldest_filed(envelope)?;
                Some(&self.slab.get(oldest).value)
            }
        }
    }

    /// The oldest of the given receive and those with a wildcard that accept the message.
    #[inline(never)]
    fn older_wild(&self, mut oldest: Option<u32>, envelope: &Envelope) -> Option<u32> {
        let mut stamp = oldest.map_or(u64::MAX, |number| self.slab.stamp(number));
        for class in WILD {
            if self.of_class[class as usize] == 0 {
                continue;
            }
            if let Some(number) = self.index.front(Sought::of(self.seed, class, envelope))
                && self.slab.stamp(number) < stamp
            {
                stamp = self.slab.stamp(number);
                oldest = Some(number);
            }
        }
        oldest
    }

    /// Takes out the receive an id names, if it still waits.
    pub(crate) fn cancel(&mut self, id: PostedId) -> Option<P> {
        if id.number == FIRST {
            let is_it = id.stamp == self.firsts;
            return self.first.take_if(|_| is_it).map(|first| first.value);
        }
        self.slab
            .is_live(id.number, id.stamp)
            .then(|| self.remove(id.number).0)
    }

    /// Takes a receive out. Its fields are read in place: moving it as a whole would wait for the
    /// stores that wrote it.
    #[inline(always)]
    fn remove(&mut self, number: u32) -> (P, u64) {
        self.index.remove(number);
        let receive = self.slab.get(number);
        let (value, capacity_bytes, class) = (receive.value, receive.capacity_bytes, receive.class);
        self.slab.discard(number);
        if class != Class::Exact {
            self.of_class[class as usize] -= 1;
            self.wild -= 1;
        }
        (value, capacity_bytes)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PostedId, Pattern, &P)> {
        let id = PostedId {
            number: FIRST,
            stamp: self.firsts,
        };
        let first = self.first.iter();
        let first = first.map(move |first| (id, first.pattern, &first.value));
        first.chain(self.slab.iter().map(|(number, stamp, receive)| {
            let pattern = self.index.filed(number).pattern();
            (PostedId { number, stamp }, pattern, &receive.value)
        }))
    }
}
