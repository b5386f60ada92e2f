//! A first-in-first-out list per key, found by hash, in constant time.
//!
//! Entries are numbers that a slab hands out; the index keeps a link for each. The links of one key
//! form a ring whose oldest member leads: only leaders have a slot in the hash table. A slot is
//! eight bytes (hash and leader), so probing past foreign keys stays in one cache line and never
//! touches their links. Invariants: at most one slot in [`SLOTS_PER_LEADER`] is taken; no empty
//! slot lies between a leader's home and its slot (removal shifts back instead of leaving
//! tombstones, which would make cost depend on history).

use alloc::vec;
use alloc::vec::Vec;

use crate::pattern::{Key, Sought};

/// An empty slot. Zero, so that a large table is untouched memory until it is used.
const EMPTY: u64 = 0;

/// Slots for each leader. With two, a receive and its message under a key not met before take 71 ns
/// beside 100 000 others instead of 54: more probes, and branches that cannot be predicted.
const SLOTS_PER_LEADER: usize = 4;

/// Fewest slots a table starts with: one cache line.
const SLOTS_MIN: usize = 8;

pub(crate) struct Index {
    /// A power of two of slots: hash in the upper half, leader + 1 in the lower.
    slots: Vec<u64>,
    /// By entry number; what lies under numbers that are not in the index has no meaning.
    links: Vec<Link>,
    /// How many slots are taken.
    leaders: usize,
}

/// An entry's place in the ring of its key: half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Link {
    key: Key,
    /// The next younger one; from the youngest to the leader.
    next: u32,
    /// The next older one; from the leader to the youngest.
    previous: u32,
    hash: u32,
    leads: bool,
}

const _: () = assert!(size_of::<Link>() == 32);

impl Link {
    const BLANK: Link = Link {
        key: Key::BLANK,
        next: 0,
        previous: 0,
        hash: 0,
        leads: false,
    };
}

impl Index {
    /// An index that allocates nothing more until it holds over `capacity` entries.
    pub(crate) fn new(capacity: usize) -> Index {
        let slots = (capacity * SLOTS_PER_LEADER)
            .next_power_of_two()
            .max(SLOTS_MIN);
        Index {
            slots: vec![EMPTY; slots],
            links: Vec::with_capacity(capacity),
            leaders: 0,
        }
    }

    /// The oldest entry under a key.
    #[inline(always)]
    pub(crate) fn front(&self, sought: Sought) -> Option<u32> {
        match self.find(sought) {
            Place::Leader(leader) => Some(leader),
            Place::Hole(_) => None,
        }
    }

    /// Files an entry, which must not be in the index, as the youngest under its key.
    #[inline(always)]
    pub(crate) fn push(&mut self, sought: Sought, entry: u32) {
        match self.find(sought) {
            Place::Hole(hole) => {
                let Sought { key, hash } = sought;
                *self.link_mut(entry) = Link {
                    key,
                    next: entry,
                    previous: entry,
                    hash,
                    leads: true,
                };
                self.slots[hole] = slot(hash, entry);
                self.leaders += 1;
                if self.leaders * SLOTS_PER_LEADER > self.slots.len() {
                    self.grow();
                }
            }
            Place::Leader(leader) => self.follow(leader, entry),
        }
    }

    /// Files an entry behind the youngest of the ring that `leader` leads.
    #[inline(never)]
    fn follow(&mut self, leader: u32, entry: u32) {
        let Link {
            key,
            hash,
            previous,
            ..
        } = self.links[leader as usize];
        *self.link_mut(entry) = Link {
            key,
            next: leader,
            previous,
            hash,
            leads: false,
        };
        self.links[previous as usize].next = entry;
        self.links[leader as usize].previous = entry;
    }

    /// Takes an entry, which must be in the index, out of it.
    #[inline(always)]
    pub(crate) fn remove(&mut self, entry: u32) {
        let link = &self.links[entry as usize];
        if link.next != entry {
            return self.leave(entry);
        }
        let at = self.slot_of(link.hash, entry);
        let behind = (at + 1) & self.mask();
        if self.slots[behind] == EMPTY {
            self.slots[at] = EMPTY;
        } else {
            self.shift_back(at);
        }
        self.leaders -= 1;
    }

    /// Takes an entry out of a ring that has others.
    #[inline(never)]
    fn leave(&mut self, entry: u32) {
        let Link {
            next,
            previous,
            hash,
            leads,
            ..
        } = self.links[entry as usize];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        if leads {
            let at = self.slot_of(hash, entry);
            self.slots[at] = slot(hash, next);
            self.links[next as usize].leads = true;
        }
    }

    /// What an entry is filed under.
    pub(crate) fn filed(&self, entry: u32) -> Sought {
        let Link { key, hash, .. } = self.links[entry as usize];
        Sought { key, hash }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    /// The leader of a key, or the slot it would take.
    #[inline(always)]
    fn find(&self, sought: Sought) -> Place {
        let Sought { key, hash } = sought;
        let mut at = hash as usize & self.mask();
        loop {
            let found = self.slots[at];
            if found == EMPTY {
                return Place::Hole(at);
            }
            if hash_of(found) == hash && self.links[leader_of(found) as usize].key == key {
                return Place::Leader(leader_of(found));
            }
            at = (at + 1) & self.mask();
        }
    }

    /// Where the slot of a leader is.
    #[inline(always)]
    fn slot_of(&self, hash: u32, leader: u32) -> usize {
        let wanted = slot(hash, leader);
        let mut at = hash as usize & self.mask();
        while self.slots[at] != wanted {
            assert!(self.slots[at] != EMPTY, "leader {leader} has no slot");
            at = (at + 1) & self.mask();
        }
        at
    }

    /// Empties a slot and shifts back whatever was pushed past it.
    #[inline(never)]
    fn shift_back(&mut self, mut hole: usize) {
        let mask = self.mask();
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let found = self.slots[at];
            if found == EMPTY {
                break;
            }
            let strayed = at.wrapping_sub(hash_of(found) as usize) & mask;
            if strayed >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = found;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
    }

    /// The link an entry is about to fill. The caller then writes field by field: a link built
    /// elsewhere and copied would make the copy wait for the stores before it.
    #[inline(always)]
    fn link_mut(&mut self, entry: u32) -> &mut Link {
        if entry as usize >= self.links.len() {
            self.extend(entry);
        }
        &mut self.links[entry as usize]
    }

    /// Makes room for a number that was never filed here. Numbers between belong to entries that
    /// came and went while this index was not kept.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, entry: u32) {
        self.links.resize(entry as usize + 1, Link::BLANK);
    }

    /// Doubles the slots; the links are not touched.
    #[cold]
    fn grow(&mut self) {
        let doubled = vec![EMPTY; self.slots.len() * 2];
        let old = core::mem::replace(&mut self.slots, doubled);
        for taken in old.into_iter().filter(|&slot| slot != EMPTY) {
            let mut at = hash_of(taken) as usize & self.mask();
            while self.slots[at] != EMPTY {
                at = (at + 1) & self.mask();
            }
            self.slots[at] = taken;
        }
    }
}

/// What a search by key ends at.
enum Place {
    /// The key's oldest entry.
    Leader(u32),
    /// The key has no entry; a leader of it would take this slot.
    Hole(usize),
}

#[inline]
fn slot(hash: u32, leader: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(leader + 1)
}

#[inline]
fn hash_of(slot: u64) -> u32 {
    (slot >> 32) as u32
}

#[inline]
fn leader_of(slot: u64) -> u32 {
    slot as u32 - 1
}

#[cfg(test)]
mod tests {
    use alloc::collections::{BTreeMap, VecDeque};

    use oxmpi_wire::{Content, Envelope};
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::{Class, Seed};

    /// A key of its own for every number, and a hash that many of them share.
    fn sought(number: u32, hash: u32) -> Sought {
        let envelope = Envelope {
            context: 0,
            source: number,
            tag: 0,
            content: Content::new(0, 0),
        };
        let key = Sought::of(Seed::default(), Class::Exact, &envelope).key;
        Sought { key, hash }
    }

    /// Homes at both ends of a table of any size, and equal in the bits that small ones look at.
    fn collide(number: u32) -> Sought {
        let homes = [0, u32::MAX, u32::MAX - 1, 1, 1 << 31, u32::MAX >> 1];
        sought(number, homes[number as usize % homes.len()])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        /// However badly hashes collide, through growth and shifting back across the table's end.
        #[test]
        fn an_index_is_a_map_of_queues(
            steps in prop::collection::vec((any::<bool>(), 0u32..24, any::<prop::sample::Index>()), 0..400),
            capacity in 0usize..8,
        ) {
            let mut index = Index::new(capacity);
            let mut queues: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
            let mut live: Vec<(u32, u32)> = Vec::new();
            let mut free: Vec<u32> = (0..400).rev().collect();
            for (push, number, chosen) in steps {
                if push || live.is_empty() {
                    let entry = free.pop().expect("as many as steps");
                    index.push(collide(number), entry);
                    queues.entry(number).or_default().push_back(entry);
                    live.push((number, entry));
                } else {
                    let (number, entry) = live.swap_remove(chosen.index(live.len()));
                    index.remove(entry);
                    queues.entry(number).or_default().retain(|&other| other != entry);
                    free.push(entry);
                }
                for number in 0..24 {
                    let wanted = queues.get(&number).and_then(|queue| queue.front().copied());
                    prop_assert_eq!(index.front(collide(number)), wanted);
                }
            }
        }
    }

    /// What `Index::new` promises, with every entry under a key of its own.
    #[test]
    fn capacity_is_enough_for_as_many_keys() {
        for capacity in [1, 7, 64, 1000] {
            let mut index = Index::new(capacity);
            let (slots, links) = (index.slots.len(), index.links.capacity());
            for number in 0..capacity as u32 {
                index.push(sought(number, number.wrapping_mul(0x9e37_79b1)), number);
            }
            assert_eq!((index.slots.len(), index.links.capacity()), (slots, links));
        }
    }
}
