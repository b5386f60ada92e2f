//! Entries with stable numbers, reused last-in-first-out so that the warm ones come first.
//!
//! Every insertion gets the next stamp. Stamps serve twice: they order entries by age across all
//! patterns, and they tell a live id from a stale one (with 64 bits they never come round, whereas
//! a 32-bit generation of the most-used slot would within minutes).

use alloc::vec::Vec;

/// Most entries of one queue: numbers are 32 bits, and two values have other meanings ([`NONE`]; an
/// index stores the number plus one).
pub(crate) const ENTRIES_MAX: usize = u32::MAX as usize - 1;

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// Stamp of a free entry; the first insertion gets 1.
const FREE: u64 = 0;

pub(crate) struct Slab<T> {
    entries: Vec<Entry<T>>,
    /// Head of the list of free entries.
    free: u32,
    len: u32,
    /// Stamp of the last insertion.
    stamp: u64,
}

struct Entry<T> {
    stamp: u64,
    /// The next free entry, while this one is free.
    next_free: u32,
    value: Option<T>,
}

impl<T> Slab<T> {
    /// A slab that allocates nothing more until it holds over `capacity` entries.
    pub(crate) fn new(capacity: usize) -> Slab<T> {
        Slab {
            entries: Vec::with_capacity(capacity),
            free: NONE,
            len: 0,
            stamp: FREE,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// How many insertions there have been.
    #[inline]
    pub(crate) fn inserted(&self) -> u64 {
        self.stamp
    }

    /// Puts a value in and returns its number and stamp.
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> (u32, u64) {
        if self.free == NONE {
            self.append();
        }
        self.stamp += 1;
        self.len += 1;
        let number = self.free;
        let entry = &mut self.entries[number as usize];
        self.free = entry.next_free;
        entry.stamp = self.stamp;
        entry.value = Some(value);
        (number, self.stamp)
    }

    /// Appends a free entry. It takes no value: a cold path that does makes the warm one build the
    /// value in memory first and wait for it.
    #[cold]
    #[inline(never)]
    fn append(&mut self) {
        let number = self.entries.len();
        assert!(
            number < ENTRIES_MAX,
            "a queue holds {ENTRIES_MAX} entries at most"
        );
        self.entries.push(Entry {
            stamp: FREE,
            next_free: NONE,
            value: None,
        });
        self.free = number as u32;
    }

    /// Takes a live entry out.
    #[inline(always)]
    pub(crate) fn remove(&mut self, number: u32) -> T {
        self.release(number).take().expect(LIVE)
    }

    /// Drops a live entry.
    #[inline(always)]
    pub(crate) fn discard(&mut self, number: u32) {
        *self.release(number) = None;
    }

    #[inline(always)]
    fn release(&mut self, number: u32) -> &mut Option<T> {
        let entry = &mut self.entries[number as usize];
        entry.stamp = FREE;
        entry.next_free = self.free;
        self.free = number;
        self.len -= 1;
        &mut entry.value
    }

    /// Whether the entry that once got this number and stamp is still here.
    #[inline]
    pub(crate) fn is_live(&self, number: u32, stamp: u64) -> bool {
        self.entries
            .get(number as usize)
            .is_some_and(|entry| entry.stamp == stamp)
    }

    /// A live entry's stamp.
    #[inline]
    pub(crate) fn stamp(&self, number: u32) -> u64 {
        self.entries[number as usize].stamp
    }

    /// A live entry.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &T {
        self.entries[number as usize].value.as_ref().expect(LIVE)
    }

    /// A live entry.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        self.entries[number as usize].value.as_mut().expect(LIVE)
    }

    /// All live entries with number and stamp, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64, &T)> {
        self.entries
            .iter()
            .zip(0..)
            .filter_map(|(entry, number)| Some((number, entry.stamp, entry.value.as_ref()?)))
    }
}

/// Callers hold numbers only of entries they have inserted and not removed, or ask
/// [`Slab::is_live`].
const LIVE: &str = "the entry is live";
