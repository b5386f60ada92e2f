//! The unexpected queue: messages that wait for their receive.
//!
//! A receive or probe of any class must find the oldest message it accepts without looking at
//! others, so each class has its own index over the messages. Most programs use no wildcards, or
//! use them while the queue is short; therefore only the exact index is kept at all times. A
//! wildcard walks a short queue, and a long one makes it build the index of its class, which is
//! then kept until the queue has run empty and the class has not been asked for in a while. A
//! message is thus filed at most once per class: constant cost over the message's life, and no
//! class costs programs that do not use it.

use core::fmt;

use oxmpi_wire::Envelope;

use crate::index::Index;
use crate::pattern::{CLASSES, Class, Pattern, Seed, Sought, WILD};
use crate::slab::{NONE, Slab};

/// Longest queue a wildcard walks instead of building its index. Storing a message and receiving it
/// behind seven others takes 47 ns by walking and 50 by an index; behind fifteen, walking takes 62.
const WALK_MAX: usize = 8;

/// How many messages a class's index outlives its last use by, once the queue is empty.
const IDLE_MAX: u64 = 4096;

/// Names an unexpected message while it waits; afterwards it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnexpectedId {
    number: u32,
    stamp: u64,
}

/// The bound on unexpected messages is reached; the message is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<U> {
    /// The message that was not stored.
    pub envelope: Envelope,
    /// What was to be remembered of it.
    pub unexpected: U,
    /// The bound: [`Capacity::unexpected_max`](crate::Capacity::unexpected_max).
    pub max: usize,
}

impl<U> fmt::Display for Full<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unexpected message ({}) refused: {} messages without a receive wait already, which is \
             the bound; post receives earlier, or raise the bound",
            self.envelope, self.max
        )
    }
}

impl<U: fmt::Debug> core::error::Error for Full<U> {}

pub(crate) struct Unexpected<U> {
    seed: Seed,
    slab: Slab<Message<U>>,
    /// By class. What is not kept is empty.
    indexes: [Index; CLASSES],
    kept: [bool; CLASSES],
    /// Any class but the exact one is kept.
    wild_kept: bool,
    /// How many messages there had been when a class was asked for last.
    used: [u64; CLASSES],
    /// Ends of the list of all messages by age.
    oldest: u32,
    newest: u32,
    max: usize,
}

struct Message<U> {
    envelope: Envelope,
    older: u32,
    newer: u32,
    value: U,
}

impl<U> Unexpected<U> {
    pub(crate) fn new(capacity: usize, max: usize, seed: Seed) -> Unexpected<U> {
        let capacity = capacity.min(max);
        Unexpected {
            seed,
            slab: Slab::new(capacity),
            indexes: core::array::from_fn(|_| Index::new(capacity)),
            kept: [true, false, false, false],
            wild_kept: false,
            used: [0; CLASSES],
            oldest: NONE,
            newest: NONE,
            max,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, envelope: Envelope, value: U) -> Result<UnexpectedId, Full<U>> {
        if self.slab.len() >= self.max {
            return Err(Full {
                envelope,
                unexpected: value,
                max: self.max,
            });
        }
        if self.wild_kept && self.slab.len() == 0 {
            self.drop_idle();
        }
        let (number, stamp) = self.slab.insert(Message {
            envelope,
            older: self.newest,
            newer: NONE,
            value,
        });
        match self.newest {
            NONE => self.oldest = number,
            newest => self.slab.get_mut(newest).newer = number,
        }
        self.newest = number;
        let sought = Sought::of(self.seed, Class::Exact, &envelope);
        self.indexes[Class::Exact as usize].push(sought, number);
        if self.wild_kept {
            self.file_wild(number, &envelope);
        }
        Ok(UnexpectedId { number, stamp })
    }

    /// The oldest message that a pattern accepts; the class and the key are the pattern's own.
    #[inline]
    pub(crate) fn find(&mut self, pattern: &Pattern, class: Class, sought: Sought) -> Option<u32> {
        if self.slab.len() == 0 {
            return None;
        }
        if class == Class::Exact {
            return self.indexes[Class::Exact as usize].front(sought);
        }
        self.find_wild(pattern, class, sought)
    }

    #[inline(never)]
    fn find_wild(&mut self, pattern: &Pattern, class: Class, sought: Sought) -> Option<u32> {
        if !self.kept[class as usize] {
            if self.slab.len() <= WALK_MAX {
                return self.walk(pattern);
            }
            self.keep(class);
        }
        self.used[class as usize] = self.slab.inserted();
        self.indexes[class as usize].front(sought)
    }

    /// Takes out a message that [`Unexpected::find`] gave.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> (Envelope, U) {
        self.indexes[Class::Exact as usize].remove(number);
        if self.wild_kept {
            self.unfile_wild(number);
        }
        let message = self.slab.remove(number);
        match message.older {
            NONE => self.oldest = message.newer,
            older => self.slab.get_mut(older).newer = message.newer,
        }
        match message.newer {
            NONE => self.newest = message.older,
            newer => self.slab.get_mut(newer).older = message.older,
        }
        (message.envelope, message.value)
    }

    /// A message that [`Unexpected::find`] gave.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> (&Envelope, &U) {
        let message = self.slab.get(number);
        (&message.envelope, &message.value)
    }

    /// The message an id names, if it still waits.
    #[inline]
    pub(crate) fn by_id(&mut self, id: UnexpectedId) -> Option<&mut U> {
        self.slab
            .is_live(id.number, id.stamp)
            .then(|| &mut self.slab.get_mut(id.number).value)
    }

    /// Takes out the message an id names, if it still waits.
    pub(crate) fn withdraw(&mut self, id: UnexpectedId) -> Option<(Envelope, U)> {
        self.slab
            .is_live(id.number, id.stamp)
            .then(|| self.remove(id.number))
    }

    /// All messages, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (UnexpectedId, &Envelope, &U)> {
        self.numbers().map(|number| {
            let (envelope, value) = self.get(number);
            let stamp = self.slab.stamp(number);
            (UnexpectedId { number, stamp }, envelope, value)
        })
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        let some = |number: u32| (number != NONE).then_some(number);
        core::iter::successors(some(self.oldest), move |&number| {
            some(self.slab.get(number).newer)
        })
    }

    fn walk(&self, pattern: &Pattern) -> Option<u32> {
        self.numbers()
            .find(|&number| pattern.accepts(&self.slab.get(number).envelope))
    }

    /// Starts to keep the index of a class, with all messages that wait already.
    #[cold]
    fn keep(&mut self, class: Class) {
        let mut number = self.oldest;
        while number != NONE {
            let message = self.slab.get(number);
            let sought = Sought::of(self.seed, class, &message.envelope);
            self.indexes[class as usize].push(sought, number);
            number = message.newer;
        }
        self.kept[class as usize] = true;
        self.wild_kept = true;
    }

    #[inline(never)]
    fn unfile_wild(&mut self, number: u32) {
        for class in WILD {
            if self.kept[class as usize] {
                self.indexes[class as usize].remove(number);
            }
        }
    }

    #[inline(never)]
    fn file_wild(&mut self, number: u32, envelope: &Envelope) {
        for class in WILD {
            if self.kept[class as usize] {
                let sought = Sought::of(self.seed, class, envelope);
                self.indexes[class as usize].push(sought, number);
            }
        }
    }

    /// Stops keeping the indexes, all empty now, that have not been asked for in a while.
    #[inline(never)]
    fn drop_idle(&mut self) {
        for class in WILD {
            let idle = self.slab.inserted() - self.used[class as usize];
            self.kept[class as usize] &= idle <= IDLE_MAX;
        }
        self.wild_kept = WILD.iter().any(|&class| self.kept[class as usize]);
    }
}
