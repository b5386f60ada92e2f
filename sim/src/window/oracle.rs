//! The values that the standard allows a program to see (MPI 5.0 §12.7), judged from outside: by
//! what was written and read when, never by what the library thinks.
//!
//! A put happens at some moment between its call and the synchronisation that completes it, byte by
//! byte; puts that meet leave of each byte what one of them wrote. So a byte that is read may be of
//! any put that was not overwritten, as a whole and before the read began, by another one that
//! began when it was over. Fetches and swaps of a word happen one after the other, those of one
//! origin in the order of their calls. Memory under an exclusive lock shows no other rank's writes.

use std::collections::HashMap;

use super::script::{PUT, SUMS, WORD};

/// A put, one for all its words.
struct Write {
    target: u32,
    first: usize,
    words: usize,
    began: u64,
    /// When it was completed.
    ended: Option<u64>,
    /// Its lock could not be had: it must never be seen.
    void: bool,
}

/// What was read under a lock, and what became of it, for one part.
#[derive(Default)]
struct Counter {
    begun: i64,
    done: i64,
}

/// A fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fetched {
    found: i64,
    add: i64,
    /// The origin, and when it called.
    from: (u32, u64),
}

/// See the top of this file.
pub(super) struct Oracle {
    now: u64,
    writes: Vec<Write>,
    counters: Vec<Counter>,
    /// By part: the fetches that are over, and what those add whose end is open.
    fetched: Vec<Vec<Fetched>>,
    open_fetches: Vec<i64>,
    /// By part and word of sums: what was added, and what may have been.
    sums: Vec<Vec<(i64, i64)>>,
    /// By part: what swaps that worked found and left.
    swapped: Vec<Vec<(i64, i64)>>,
}

impl Oracle {
    pub(super) fn new(size: u32) -> Oracle {
        let parts = size as usize;
        Oracle {
            now: 0,
            writes: Vec::new(),
            counters: (0..parts).map(|_| Counter::default()).collect(),
            fetched: vec![Vec::new(); parts],
            open_fetches: vec![0; parts],
            sums: vec![vec![(0, 0); SUMS.len()]; parts],
            swapped: vec![Vec::new(); parts],
        }
    }

    /// A moment later than all before.
    pub(super) fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// A put begins: its number, which says what it writes.
    pub(super) fn begin_write(&mut self, target: u32, first: usize, words: usize) -> usize {
        let began = self.tick();
        self.writes.push(Write {
            target,
            first,
            words,
            began,
            ended: None,
            void: false,
        });
        self.writes.len() - 1
    }

    /// Byte `at` of a part as a put writes it.
    fn byte(number: usize, at: usize) -> u8 {
        let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at as u64;
        (mixed ^ mixed >> 29 ^ mixed >> 47) as u8
    }

    /// What a put writes.
    pub(super) fn content(&self, number: usize) -> Vec<u8> {
        let write = &self.writes[number];
        let begin = write.first * WORD;
        let bytes = begin..begin + write.words * WORD;
        bytes.map(|at| Oracle::byte(number, at)).collect()
    }

    pub(super) fn end_write(&mut self, number: usize) {
        let now = self.tick();
        self.writes[number].ended = Some(now);
    }

    pub(super) fn void_write(&mut self, number: usize) {
        self.writes[number].void = true;
    }

    /// Judges what was read of the region of puts between `began` and now.
    pub(super) fn judge_read(
        &mut self,
        target: u32,
        first: usize,
        read: &[u8],
        began: u64,
    ) -> Result<(), String> {
        for (at, byte) in read
            .iter()
            .enumerate()
            .map(|(at, byte)| (first * WORD + at, byte))
        {
            let covers = |write: &&(usize, &Write)| {
                let begin = write.1.first * WORD;
                write.1.target == target && (begin..begin + write.1.words * WORD).contains(&at)
            };
            let writes = self.writes.iter().enumerate();
            let writes: Vec<(usize, &Write)> = writes.filter(|(_, write)| !write.void).collect();
            let covering: Vec<&(usize, &Write)> = writes.iter().filter(covers).collect();
            // The latest begin of those that were over before the read began.
            let over = covering
                .iter()
                .filter(|(_, write)| write.ended.is_some_and(|end| end < began));
            let latest = over.map(|(_, write)| write.began).max();
            let lives = |write: &Write| {
                latest.is_none_or(|latest| write.ended.is_none_or(|ended| ended > latest))
            };
            let initial = latest.is_none() && *byte == 0;
            let written = covering
                .iter()
                .any(|(number, write)| lives(write) && Oracle::byte(*number, at) == *byte);
            if !initial && !written {
                let allowed: Vec<usize> = covering
                    .iter()
                    .filter(|(_, write)| lives(write))
                    .map(|(number, _)| *number)
                    .collect();
                let found = covering
                    .iter()
                    .find(|(number, _)| Oracle::byte(*number, at) == *byte);
                let found = found.map(|(number, _)| *number);
                return Err(format!(
                    "byte {at} of rank {target} is {byte}, which put {found:?} wrote; allowed are {allowed:?}"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn begin_count(&mut self, target: u32) {
        self.counters[target as usize].begun += 1;
    }

    pub(super) fn end_count(&mut self, target: u32) {
        self.counters[target as usize].done += 1;
    }

    pub(super) fn begin_fetch(&mut self, target: u32, add: i64) {
        self.open_fetches[target as usize] += add;
    }

    /// A fetch that this rank began at that moment has found this.
    pub(super) fn end_fetch(&mut self, from: (u32, u64), target: u32, add: i64, found: i64) {
        self.open_fetches[target as usize] -= add;
        self.fetched[target as usize].push(Fetched { found, add, from });
    }

    /// An accumulation that was done, or may have been.
    pub(super) fn add(&mut self, target: u32, words: std::ops::Range<usize>, add: i64, done: bool) {
        for word in words {
            let (least, most) = &mut self.sums[target as usize][word - SUMS.start];
            match done {
                true => *least += add,
                false => *most += add,
            }
        }
    }

    pub(super) fn swapped(&mut self, target: u32, found: i64, left: i64) {
        self.swapped[target as usize].push((found, left));
    }

    /// Judges a part when everything is over. `lost`: ranks have died, and what they began may
    /// have happened or not.
    pub(super) fn judge_part(
        &mut self,
        target: u32,
        part: &[u8],
        lost: bool,
    ) -> Result<(), String> {
        let word = |at: usize| {
            let bytes = part[at * WORD..(at + 1) * WORD].try_into();
            i64::from_le_bytes(bytes.expect("eight bytes"))
        };
        let now = self.tick();
        let puts = part[PUT.start * WORD..PUT.end * WORD].to_vec();
        self.judge_read(target, PUT.start, &puts, now)?;
        let at = target as usize;
        let counter = &self.counters[at];
        let count = word(super::script::COUNTER);
        if !(counter.done..=counter.begun).contains(&count) {
            return Err(format!(
                "rank {target} counts {count} under exclusive locks; {} are done, {} were begun",
                counter.done, counter.begun
            ));
        }
        if word(super::script::PAIR) != word(super::script::PAIR + 1) && !lost {
            return Err(format!("the pair of rank {target} is torn"));
        }
        let fetched = word(super::script::FETCHED);
        let found = &mut self.fetched[at];
        found.sort_unstable();
        let done: i64 = found.iter().map(|fetch| fetch.add).sum();
        if !(done..=done + self.open_fetches[at]).contains(&fetched) {
            return Err(format!(
                "the fetches of rank {target} add up to {fetched}, not {done} and more"
            ));
        }
        for two in found.windows(2) {
            let next = two[0].found + two[0].add;
            if two[1].found < next || two[1].found > next && !lost {
                return Err(format!(
                    "fetches of rank {target} do not follow each other: {two:?}"
                ));
            }
        }
        let mut last = HashMap::new();
        for Fetched { from, .. } in found {
            if last.insert(from.0, from.1) > Some(from.1) {
                return Err(format!(
                    "fetches of rank {} from rank {target} overtook each other",
                    from.0
                ));
            }
        }
        for (index, (least, more)) in self.sums[at].iter().enumerate() {
            let sum = word(SUMS.start + index);
            if !(*least..=least + more).contains(&sum) {
                return Err(format!(
                    "sum {index} of rank {target} is {sum}, not {least} (+ {more})"
                ));
            }
        }
        let mut successors = HashMap::new();
        for (found, left) in &self.swapped[at] {
            if let Some(other) = successors.insert(*found, *left) {
                return Err(format!(
                    "two swaps of rank {target} found {found} and left {other} and {left}"
                ));
            }
        }
        let mut last = 0;
        while let Some(next) = successors.get(&last) {
            last = *next;
        }
        match last == word(super::script::SWAPPED) || lost {
            true => Ok(()),
            false => Err(format!("the swaps of rank {target} end with {last}")),
        }
    }

    /// Judges a pair that was read under a shared lock.
    pub(super) fn judge_pair(&self, target: u32, pair: &[u8]) -> Result<(), String> {
        match pair[..WORD] == pair[WORD..] {
            true => Ok(()),
            false => Err(format!("the pair of rank {target} is torn: {pair:?}")),
        }
    }
}
