//! Posted receives: each is filed under its mask and the bits that the mask leaves.
//!
//! A message is looked up once for every distinct mask that waits, at most [`MASKS_MAX`] and the
//! full one; receives with yet another mask are in a list that is walked. The oldest of what was
//! found is the one that the order demands.

use super::index::{Index, Key, NONE};
use super::slab::Slab;
use super::{FULL, MASKS_MAX, PostedId, Seed};

pub(crate) struct Posted<P> {
    slab: Slab<Receive<P>>,
    index: Index,
    masks: [Slot; MASKS_MAX],
    /// Receives whose mask has no slot: from the oldest to the youngest, by `beyond` of each.
    list: Slab<u32>,
    full: usize,
}

/// A mask of which receives wait.
#[derive(Clone, Copy)]
struct Slot {
    mask: u64,
    /// How many receives; at 0 the slot is vacant.
    waiting: usize,
}

struct Receive<P> {
    bits: u64,
    mask: u64,
    filed: Filed,
    value: P,
}

#[derive(Clone, Copy)]
enum Filed {
    /// In the index, in the space of the full mask.
    Full,
    /// In the index, in the space of this slot.
    Slot(usize),
    /// In the list, under this name.
    List(u32, u64),
}

/// The space of full masks; the others follow.
const SPACE_FULL: u32 = 0;

fn space(slot: usize) -> u32 {
    slot as u32 + 1
}

impl<P> Posted<P> {
    pub(crate) fn new(capacity: usize, seed: Seed) -> Posted<P> {
        Posted {
            slab: Slab::new(capacity),
            index: Index::new(capacity, seed),
            masks: [Slot {
                mask: 0,
                waiting: 0,
            }; MASKS_MAX],
            list: Slab::new(capacity),
            full: 0,
        }
    }

    pub(crate) const fn bytes(capacity: usize) -> usize {
        Slab::<Receive<P>>::bytes(capacity) + Index::bytes(capacity) + Slab::<u32>::bytes(capacity)
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn push(&mut self, bits: u64, mask: u64, value: P) -> Option<PostedId> {
        let bits = bits & mask;
        // The list gets the number of a place, so the place is found first.
        let receive = Receive {
            bits,
            mask,
            filed: Filed::Full,
            value,
        };
        let (number, stamp) = self.slab.insert(receive)?;
        let filed = match self.slot(mask) {
            _ if mask == FULL => {
                self.full += 1;
                self.index.push(
                    Key {
                        word: bits,
                        space: SPACE_FULL,
                    },
                    number,
                );
                Filed::Full
            }
            Some(slot) => {
                self.masks[slot] = Slot {
                    mask,
                    waiting: self.masks[slot].waiting + 1,
                };
                self.index.push(
                    Key {
                        word: bits,
                        space: space(slot),
                    },
                    number,
                );
                Filed::Slot(slot)
            }
            None => {
                let listed = self.list.insert(number);
                let (name, age) = listed.expect("the list has as many places as the slab");
                Filed::List(name, age)
            }
        };
        self.slab.get_mut(number).expect("just inserted").filed = filed;
        Some(PostedId { number, stamp })
    }

    /// The slot of a mask, or a vacant one for it.
    fn slot(&self, mask: u64) -> Option<usize> {
        let has = |slot: &Slot| slot.waiting > 0 && slot.mask == mask;
        let masks = &self.masks;
        let found = masks.iter().position(has);
        found.or_else(|| masks.iter().position(|slot| slot.waiting == 0))
    }

    /// Takes out the oldest receive that accepts these bits.
    pub(crate) fn take(&mut self, bits: u64) -> Option<P> {
        let id = self.find(bits)?;
        self.remove(id)
    }

    /// The oldest receive that accepts these bits.
    fn find(&self, bits: u64) -> Option<PostedId> {
        let mut oldest = PostedId {
            number: NONE,
            stamp: u64::MAX,
        };
        let mut look = |number: Option<u32>| {
            let found = number.and_then(|number| Some((number, self.slab.get(number)?.0)));
            if let Some((number, stamp)) = found
                && stamp < oldest.stamp
            {
                oldest = PostedId { number, stamp };
            }
        };
        if self.full > 0 {
            look(self.index.front(Key {
                word: bits,
                space: SPACE_FULL,
            }));
        }
        for (at, slot) in self.masks.iter().enumerate() {
            if slot.waiting > 0 {
                let word = bits & slot.mask;
                look(self.index.front(Key {
                    word,
                    space: space(at),
                }));
            }
        }
        let accepts = |number: &u32| {
            let receive = self.slab.get(*number);
            receive.is_some_and(|(_, receive)| bits & receive.mask == receive.bits)
        };
        look(self.list.iter().map(|(_, _, &number)| number).find(accepts));
        (oldest.number != NONE).then_some(oldest)
    }

    /// Takes out the receive that an id names, if it still waits.
    pub(crate) fn remove(&mut self, id: PostedId) -> Option<P> {
        let receive = self.slab.remove(id.number, id.stamp)?;
        match receive.filed {
            Filed::Full => {
                self.full -= 1;
                self.index.remove(id.number);
            }
            Filed::Slot(slot) => {
                self.masks[slot].waiting -= 1;
                self.index.remove(id.number);
            }
            Filed::List(name, age) => {
                self.list.remove(name, age);
            }
        }
        Some(receive.value)
    }
}
