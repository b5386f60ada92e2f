//! Messages that no receive waited for: each is filed under its bits, and under what every mask of
//! the last few leaves of them.
//!
//! An index for a mask is built when a receive or a probe first comes with it and there are
//! messages; that takes as long as walking them once. With more than [`MASKS_MAX`] masks in turn
//! the one that was not asked for longest gives way only after it has paid for itself, so masks
//! that change all the time cost a walk each and no more.

use alloc::vec::Vec;

use super::index::{Index, Key};
use super::slab::Slab;
use super::{FULL, MASKS_MAX, Seed, UnexpectedId};

pub(crate) struct Unexpected<U> {
    slab: Slab<(u64, U)>,
    full: Index,
    masks: Vec<Masked>,
    /// Counts searches with masks.
    searches: u64,
}

struct Masked {
    /// `None`: the index is empty and belongs to no mask.
    mask: Option<u64>,
    index: Index,
    /// When it was last asked for.
    searched: u64,
}

impl<U> Unexpected<U> {
    pub(crate) fn new(capacity: usize, seed: Seed) -> Unexpected<U> {
        let blank = || Masked {
            mask: None,
            index: Index::new(capacity, seed),
            searched: 0,
        };
        Unexpected {
            slab: Slab::new(capacity),
            full: Index::new(capacity, seed),
            masks: (0..MASKS_MAX).map(|_| blank()).collect(),
            searches: 0,
        }
    }

    pub(crate) const fn bytes(capacity: usize) -> usize {
        Slab::<(u64, U)>::bytes(capacity)
            + (MASKS_MAX + 1) * Index::bytes(capacity)
            + MASKS_MAX * size_of::<Masked>()
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn push(&mut self, bits: u64, value: U) -> Option<UnexpectedId> {
        let (number, stamp) = self.slab.insert((bits, value))?;
        self.full.push(whole(bits), number);
        for masked in &mut self.masks {
            if let Some(mask) = masked.mask {
                masked.index.push(whole(bits & mask), number);
            }
        }
        Some(UnexpectedId { number, stamp })
    }

    /// The oldest message that a receive with these bits and this mask accepts.
    pub(crate) fn find(&mut self, bits: u64, mask: u64) -> Option<UnexpectedId> {
        if self.slab.len() == 0 {
            return None;
        }
        let number = match mask {
            FULL => self.full.front(whole(bits)),
            _ => match self.index_of(mask) {
                Some(at) => self.masks[at].index.front(whole(bits & mask)),
                None => self.walk(bits, mask),
            },
        }?;
        let (stamp, _) = self.slab.get(number)?;
        Some(UnexpectedId { number, stamp })
    }

    fn walk(&self, bits: u64, mask: u64) -> Option<u32> {
        let accepts = |&(_, _, message): &(u32, u64, &(u64, U))| message.0 & mask == bits & mask;
        self.slab.iter().find(accepts).map(|(number, ..)| number)
    }

    /// The index of a mask, built if need be; `None`: walk.
    fn index_of(&mut self, mask: u64) -> Option<usize> {
        self.searches += 1;
        let found = self
            .masks
            .iter()
            .position(|masked| masked.mask == Some(mask));
        let at = match found {
            Some(at) => at,
            None => {
                let stalest = (0..MASKS_MAX).min_by_key(|&at| self.masks[at].searched)?;
                let masked = &self.masks[stalest];
                // All of the others were asked for since, and as often again: it is not in use.
                let idle = self.searches - masked.searched > 2 * MASKS_MAX as u64;
                if masked.mask.is_some() && !idle {
                    return None;
                }
                self.build(stalest, mask);
                stalest
            }
        };
        self.masks[at].searched = self.searches;
        Some(at)
    }

    fn build(&mut self, at: usize, mask: u64) {
        let masked = &mut self.masks[at];
        if masked.mask.is_some() {
            masked.index.clear();
        }
        masked.mask = Some(mask);
        for (number, _, &(bits, _)) in self.slab.iter() {
            masked.index.push(whole(bits & mask), number);
        }
    }

    pub(crate) fn get(&self, id: UnexpectedId) -> Option<(u64, &U)> {
        let (stamp, (bits, value)) = self.slab.get(id.number)?;
        (stamp == id.stamp).then_some((*bits, value))
    }

    /// Takes out the message that an id names, if it is still there.
    pub(crate) fn remove(&mut self, id: UnexpectedId) -> Option<(u64, U)> {
        let message = self.slab.remove(id.number, id.stamp)?;
        self.full.remove(id.number);
        for masked in &mut self.masks {
            masked.index.remove(id.number);
        }
        Some(message)
    }
}

/// Each mask has an index of its own here, so keys need no space.
fn whole(word: u64) -> Key {
    Key { word, space: 0 }
}
