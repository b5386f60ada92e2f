//! A first-in-first-out list per key, found by hash, in memory that is taken once.
//!
//! Entries are numbers below the capacity that the caller hands out. The entries of one key form a
//! ring whose oldest member leads; only leaders hang in the chain of a bucket. So many messages
//! under one key, which a peer may choose, do not lengthen the search for another key, and keys
//! that share a bucket cannot be chosen without the seed.

use alloc::vec;
use alloc::vec::Vec;

use super::Seed;

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// What entries are filed under: a word, and the space that it is a key of (which mask, which
/// peer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub word: u64,
    pub space: u32,
}

/// An entry's place: half a cache line, which is why the key's fields are apart.
#[derive(Clone, Copy)]
struct Link {
    word: u64,
    space: u32,
    /// The next younger one under the key; from the youngest to the leader.
    next: u32,
    /// The next older one; from the leader to the youngest.
    previous: u32,
    /// Leaders only: neighbours in the bucket's chain, or `NONE`.
    above: u32,
    below: u32,
    state: Filed,
}

const _: () = assert!(size_of::<Link>() == 32);

impl Link {
    fn key(&self) -> Key {
        Key {
            word: self.word,
            space: self.space,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filed {
    /// Not in the index.
    Out,
    /// The oldest under its key.
    Leads,
    /// Younger than the leader.
    Follows,
}

pub(crate) struct Index {
    seed: Seed,
    /// The first leader of each bucket; a power of two, at least as many as entries.
    buckets: Vec<u32>,
    links: Vec<Link>,
}

impl Index {
    pub(crate) fn new(capacity: usize, seed: Seed) -> Index {
        let out = Link {
            word: 0,
            space: 0,
            next: NONE,
            previous: NONE,
            above: NONE,
            below: NONE,
            state: Filed::Out,
        };
        Index {
            seed,
            buckets: vec![NONE; capacity.next_power_of_two()],
            links: vec![out; capacity],
        }
    }

    /// Bytes that `new` allocates.
    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity.next_power_of_two() * size_of::<u32>() + capacity * size_of::<Link>()
    }

    fn bucket(&self, key: Key) -> usize {
        self.seed.mix(key.word, key.space) as usize & (self.buckets.len() - 1)
    }

    fn link(&self, entry: u32) -> &Link {
        &self.links[entry as usize]
    }

    fn link_mut(&mut self, entry: u32) -> &mut Link {
        &mut self.links[entry as usize]
    }

    /// The oldest entry under a key.
    pub(crate) fn front(&self, key: Key) -> Option<u32> {
        let mut at = self.buckets[self.bucket(key)];
        while at != NONE && self.link(at).key() != key {
            at = self.link(at).below;
        }
        (at != NONE).then_some(at)
    }

    /// Files an entry as the youngest under its key. An entry is filed at most once.
    pub(crate) fn push(&mut self, key: Key, entry: u32) {
        debug_assert!(self.link(entry).state == Filed::Out);
        if let Some(leader) = self.front(key) {
            let youngest = self.link(leader).previous;
            *self.link_mut(entry) = Link {
                word: key.word,
                space: key.space,
                next: leader,
                previous: youngest,
                above: NONE,
                below: NONE,
                state: Filed::Follows,
            };
            self.link_mut(youngest).next = entry;
            self.link_mut(leader).previous = entry;
            return;
        }
        let bucket = self.bucket(key);
        let below = self.buckets[bucket];
        *self.link_mut(entry) = Link {
            word: key.word,
            space: key.space,
            next: entry,
            previous: entry,
            above: NONE,
            below,
            state: Filed::Leads,
        };
        if below != NONE {
            self.link_mut(below).above = entry;
        }
        self.buckets[bucket] = entry;
    }

    /// Takes an entry out; one that is not in the index stays out.
    pub(crate) fn remove(&mut self, entry: u32) {
        let link = *self.link(entry);
        self.link_mut(entry).state = Filed::Out;
        match link.state {
            Filed::Out => return,
            Filed::Follows => {}
            Filed::Leads if link.next == entry => {
                self.replace(&link, link.below);
                if link.below != NONE {
                    self.link_mut(link.below).above = link.above;
                }
                return;
            }
            Filed::Leads => {
                // The next younger one takes the leader's place in the chain.
                let heir = link.next;
                self.replace(&link, heir);
                if link.below != NONE {
                    self.link_mut(link.below).above = heir;
                }
                let heir = self.link_mut(heir);
                heir.above = link.above;
                heir.below = link.below;
                heir.state = Filed::Leads;
            }
        }
        self.link_mut(link.previous).next = link.next;
        self.link_mut(link.next).previous = link.previous;
    }

    /// What is above a leader in its chain points to `to` from now on.
    fn replace(&mut self, leader: &Link, to: u32) {
        match leader.above {
            NONE => {
                let bucket = self.bucket(leader.key());
                self.buckets[bucket] = to;
            }
            above => self.link_mut(above).below = to,
        }
    }

    /// Forgets all entries. Takes time in proportion to the capacity.
    pub(crate) fn clear(&mut self) {
        self.buckets.fill(NONE);
        for link in &mut self.links {
            link.state = Filed::Out;
        }
    }
}
