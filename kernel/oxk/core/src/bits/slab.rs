//! Numbered places with a stamp each: the stamp orders entries by age and tells an entry from a
//! later one in the same place. The live entries form a list from the oldest to the youngest.

use alloc::vec::Vec;

use super::index::NONE;

pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    /// The first vacant place; vacant places are chained by `next`.
    vacant: u32,
    oldest: u32,
    youngest: u32,
    live: usize,
    stamps: u64,
}

struct Place<T> {
    value: Option<T>,
    stamp: u64,
    /// The next younger live entry, or the next vacant place.
    next: u32,
    /// The next older live entry.
    previous: u32,
}

impl<T> Slab<T> {
    pub(crate) fn new(capacity: usize) -> Slab<T> {
        let places = (0..capacity).map(|number| Place {
            value: None,
            stamp: 0,
            next: if number + 1 < capacity {
                number as u32 + 1
            } else {
                NONE
            },
            previous: NONE,
        });
        Slab {
            places: places.collect(),
            vacant: if capacity > 0 { 0 } else { NONE },
            oldest: NONE,
            youngest: NONE,
            live: 0,
            stamps: 0,
        }
    }

    /// Bytes that `new` allocates.
    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * size_of::<Place<T>>()
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Keeps a value as the youngest; `None` when every place is taken.
    pub(crate) fn insert(&mut self, value: T) -> Option<(u32, u64)> {
        let number = self.vacant;
        let previous = self.youngest;
        let place = self.places.get_mut(number as usize)?;
        self.stamps += 1;
        self.vacant = place.next;
        place.value = Some(value);
        place.stamp = self.stamps;
        place.next = NONE;
        place.previous = previous;
        match previous {
            NONE => self.oldest = number,
            previous => self.places[previous as usize].next = number,
        }
        self.youngest = number;
        self.live += 1;
        Some((number, self.stamps))
    }

    /// Takes out the entry of a number and a stamp, if it is that one that is there.
    pub(crate) fn remove(&mut self, number: u32, stamp: u64) -> Option<T> {
        let place = self.places.get_mut(number as usize)?;
        if place.stamp != stamp {
            return None;
        }
        let value = place.value.take()?;
        let (next, previous) = (place.next, place.previous);
        place.next = self.vacant;
        self.vacant = number;
        match previous {
            NONE => self.oldest = next,
            previous => self.places[previous as usize].next = next,
        }
        match next {
            NONE => self.youngest = previous,
            next => self.places[next as usize].previous = previous,
        }
        self.live -= 1;
        Some(value)
    }

    /// The entry of a number, with its stamp.
    pub(crate) fn get(&self, number: u32) -> Option<(u64, &T)> {
        let place = self.places.get(number as usize)?;
        Some((place.stamp, place.value.as_ref()?))
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.places.get_mut(number as usize)?.value.as_mut()
    }

    /// All entries, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64, &T)> {
        let mut at = self.oldest;
        core::iter::from_fn(move || {
            let number = at;
            let place = self.places.get(number as usize)?;
            at = place.next;
            Some((number, place.stamp, place.value.as_ref()?))
        })
    }
}
