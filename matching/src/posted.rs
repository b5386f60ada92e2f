//! The posted queue: receives that wait for their message.
//!
//! Each is filed in one index under its pattern. A message could be accepted by four patterns, one
//! of each class; the oldest entry among the four is the one MPI's order demands. Counting the
//! receives of each class makes classes that nobody uses free.
//!
//! Receives that are posted while none is filed are not filed as long as all of them have the same
//! pattern: they are a [`Run`] beside the index. All of a run are older than all that are filed
//! later, so a message is compared with the run's pattern first. A program that receives one
//! message at a time, or windows of messages from one sender, never touches the index.

use oxmpi_wire::Envelope;

use crate::index::Index;
use crate::pattern::{CLASSES, Class, Pattern, Seed, Sought, WILD};
use crate::run::Run;
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

/// The number in an id that names a receive beside the index.
const IN_RUN: u32 = u32::MAX;

pub(crate) struct Posted<P> {
    seed: Seed,
    /// Those that were posted while none was filed.
    run: Run<P>,
    slab: Slab<Receive<P>>,
    index: Index,
    /// How many receives of each class with a wildcard wait.
    of_class: [u32; CLASSES],
    /// How many receives with a wildcard wait.
    wild: u32,
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
            run: Run::new(),
            slab: Slab::new(capacity),
            index: Index::new(capacity),
            of_class: [0; CLASSES],
            wild: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slab.len() + self.run.len()
    }

    /// Keeps a receive: beside the index if it can be, else filed.
    #[inline(always)]
    pub(crate) fn push(&mut self, pattern: Pattern, capacity_bytes: u64, value: P) -> PostedId {
        if self.slab.len() == 0 && self.run.takes(&pattern) {
            return PostedId {
                number: IN_RUN,
                stamp: self.run.push(pattern, capacity_bytes, value),
            };
        }
        let class = pattern.class();
        let sought = pattern.sought(self.seed, class);
        self.file(class, sought, capacity_bytes, value)
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
        if let Some((posted, capacity_bytes)) = self.run.take(envelope) {
            return Some(Matched {
                posted,
                truncated: envelope.bytes() > capacity_bytes,
            });
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
        match self.run.front(envelope) {
            Some((value, _)) => Some(value),
            None => {
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
        if id.number == IN_RUN {
            return self.run.cancel(id.stamp);
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
        let run = self.run.iter().map(|(stamp, pattern, value)| {
            let number = IN_RUN;
            (PostedId { number, stamp }, pattern, value)
        });
        run.chain(self.slab.iter().map(|(number, stamp, receive)| {
            let pattern = self.index.filed(number).pattern();
            (PostedId { number, stamp }, pattern, &receive.value)
        }))
    }
}
