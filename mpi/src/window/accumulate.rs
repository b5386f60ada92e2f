//! Combining elements of a window so that every accumulation is atomic against every other,
//! whichever way it comes (MPI 5.0 §12.7.1).
//!
//! An element of 1, 2, 4 or 8 bytes at an address that is a multiple of its size is changed by the
//! processor's own atomics. Every other one (pairs, 16 bytes, unaligned) is changed under the
//! target's small lock. Which of the two holds follows from type and address alone, so all
//! processes come to the same answer.
//!
//! Long accumulations are not dispatched element by element: a block is read, combined by one
//! vectorised loop and written back by an atomic for each element, which fails, and is repeated
//! alone, if the element has changed since. Short elements that fill a word of 8 bytes are changed
//! by one atomic for the word. Where nobody else can be at the memory, because the origin holds its
//! lock exclusively, the loop combines in place.
//!
//! Several elements that fit a cache line are changed, and read, as one: the standard promises each
//! element alone, but programs accumulate a small structure as MPI_BYTE with MPI_REPLACE and expect
//! others to read all of it or nothing (lists of MPICH's tests do).

mod one;

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use oxmpi_datatypes::datatype::{Basic, Class, Cursor, Layout};
use oxmpi_datatypes::op::{Combiner, Op, Predefined};
use oxmpi_datatypes::plain::bytes_mut;
use oxmpi_engine::Engine;
use oxmpi_windows::Element;

use super::control::Control;
use crate::error::{ErrorKind, WindowError};

pub(super) use one::{change_word, compare_swap, swap_word};

/// An operation on elements of one kind.
#[derive(Clone)]
pub(super) struct Plan {
    pub element: Element,
    pub op: Predefined,
    /// Bytes of an element, packed.
    pub bytes: usize,
    /// None for what the processor has.
    combiner: Option<Combiner>,
    way: Way,
}

/// How a word is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Add,
    And,
    Or,
    Xor,
    Replace,
    Keep,
    /// By comparing and swapping what the combiner makes of it.
    Combine,
    /// The element is no word.
    Lock,
}

impl Plan {
    pub(super) fn new(element: Element, op: Predefined) -> Result<Plan, ErrorKind> {
        if let Element::Basic(basic) = element
            && let Some(way) = Way::of_word(op, basic)
        {
            return Ok(Plan {
                element,
                op,
                bytes: basic.size() as usize,
                combiner: None,
                way,
            });
        }
        let mixed = || WindowError::Mixed {
            datatype: format!("{element:?}"),
        };
        let datatype = element.datatype().ok_or_else(mixed)?;
        let combiner = Op::Predefined(op).accumulate_for(&datatype)?;
        let bytes = combiner.element_bytes();
        let is_word = match element {
            Element::Basic(basic) => basic.pair().is_none() && matches!(bytes, 1 | 2 | 4 | 8),
            Element::Pair(..) => false,
        };
        Ok(Plan {
            element,
            op,
            bytes,
            combiner: Some(combiner),
            way: if is_word { Way::Combine } else { Way::Lock },
        })
    }

    /// Sets `inout` to `origin ∘ inout`, packed elements.
    fn combine(&self, origin: &[u8], inout: &mut [u8]) {
        match &self.combiner {
            Some(combiner) => combiner.combine(origin, inout),
            None => self.combine_words(origin, inout),
        }
    }

    /// The same for what the processor does by itself, where it cannot: at addresses that are not
    /// aligned.
    #[cold]
    fn combine_words(&self, origin: &[u8], inout: &mut [u8]) {
        let datatype = self.element.datatype();
        let combiner = datatype.map(|datatype| Op::Predefined(self.op).accumulate_for(&datatype));
        if let Some(Ok(combiner)) = combiner {
            combiner.combine(origin, inout);
        }
    }
}

impl Plan {
    /// MPI_NO_OP reads only.
    pub(super) fn needs_no_origin(&self) -> bool {
        self.op == Predefined::NoOp
    }
}

impl Way {
    /// What the processor has for elements of a type; none if it has nothing, or the operation
    /// does not take the type.
    const fn of_word(op: Predefined, basic: Basic) -> Option<Way> {
        let is_word = basic.pair().is_none() && matches!(basic.size(), 1 | 2 | 4 | 8);
        if !is_word || !op.is_one_sided() && !op.takes(basic) {
            return None;
        }
        let whole = matches!(basic.class(), Class::Integer | Class::MultiLanguage);
        match op {
            Predefined::Sum if whole => Some(Way::Add),
            Predefined::BitAnd => Some(Way::And),
            Predefined::BitOr => Some(Way::Or),
            Predefined::BitXor => Some(Way::Xor),
            Predefined::Replace => Some(Way::Replace),
            Predefined::NoOp => Some(Way::Keep),
            _ => None,
        }
    }
}

/// Whose memory is changed: the small lock that goes with it.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub control: &'a Control,
    pub index: usize,
    pub engine: &'a Engine,
    /// Nobody else accesses the memory now: the origin holds its lock exclusively, and has one
    /// thread.
    pub exclusive: bool,
}

/// From here on a run is combined in place where the site is exclusive; below, atomics are as fast.
const IN_PLACE_MIN: usize = 256;

/// From here on short elements are changed as words of 8 bytes; below, the parts before and behind
/// the words are most of the run.
const WIDE_MIN: usize = 32;

/// Several elements of up to so many bytes together are changed as one.
const WHOLE_MAX: u64 = 64;

/// Elements that are combined by one call of the combiner.
const BLOCK: usize = 64;

impl Site<'_> {
    fn alone<R>(&self, change: impl FnOnce() -> R) -> R {
        self.control.alone(self.index, self.engine, change)
    }
}

/// The functions for words of one length.
macro_rules! word {
    ($module:ident, $word:ty, $atomic:ty) => {
        mod $module {
            use super::*;

            const BYTES: usize = size_of::<$word>();

            fn input(bytes: &[u8]) -> $word {
                <$word>::from_ne_bytes(bytes.try_into().expect("an element has its length"))
            }

            /// Combines one element; the value before.
            fn change(plan: &Plan, word: &$atomic, origin: &[u8]) -> $word {
                let combined = |before: $word| {
                    let mut value = before.to_ne_bytes();
                    plan.combine(origin, &mut value);
                    Some(<$word>::from_ne_bytes(value))
                };
                word.fetch_update(Ordering::AcqRel, Ordering::Acquire, combined)
                    .expect("a new value is always made")
            }

            /// Changes elements that follow each other.
            ///
            /// # Safety
            /// `address` must be valid for `count` elements and aligned to their size.
            pub(super) unsafe fn run(
                plan: &Plan,
                address: *mut u8,
                count: usize,
                origin: &[u8],
                mut result: Option<&mut [u8]>,
            ) {
                // SAFETY: inside, and aligned, by the caller's promise; everybody who changes them
                // meanwhile uses atomics.
                let words = unsafe {
                    std::slice::from_raw_parts(address.cast::<$word>().cast::<$atomic>(), count)
                };
                const ORDER: Ordering = Ordering::AcqRel;
                match plan.way {
                    Way::Add => each(words, origin, result, |word, by| word.fetch_add(by, ORDER)),
                    Way::And => each(words, origin, result, |word, by| word.fetch_and(by, ORDER)),
                    Way::Or => each(words, origin, result, |word, by| word.fetch_or(by, ORDER)),
                    Way::Xor => each(words, origin, result, |word, by| word.fetch_xor(by, ORDER)),
                    Way::Replace => each(words, origin, result, |word, by| word.swap(by, ORDER)),
                    Way::Keep => {
                        for (at, word) in words.iter().enumerate() {
                            put(&mut result, at, word.load(Ordering::Acquire));
                        }
                    }
                    Way::Combine | Way::Lock => {
                        for (at, words) in words.chunks(BLOCK).enumerate() {
                            let from = at * BLOCK * BYTES;
                            let input = &origin[from..from + words.len() * BYTES];
                            let before = block(plan, words, input);
                            for (place, before) in before[..words.len()].iter().enumerate() {
                                put(&mut result, at * BLOCK + place, *before);
                            }
                        }
                    }
                }
            }

            fn put(result: &mut Option<&mut [u8]>, at: usize, before: $word) {
                if let Some(result) = result {
                    result[at * BYTES..][..BYTES].copy_from_slice(&before.to_ne_bytes());
                }
            }

            /// Changes each word by an instruction of the processor.
            #[inline(always)]
            pub(super) fn each(
                words: &[$atomic],
                origin: &[u8],
                result: Option<&mut [u8]>,
                change: impl Fn(&$atomic, $word) -> $word,
            ) {
                let both = words.iter().zip(origin.chunks_exact(BYTES));
                match result {
                    None => both.for_each(|(word, by)| {
                        change(word, input(by));
                    }),
                    Some(result) => {
                        for ((word, by), result) in both.zip(result.chunks_exact_mut(BYTES)) {
                            result.copy_from_slice(&change(word, input(by)).to_ne_bytes());
                        }
                    }
                }
            }

            /// Combines a block; the values before.
            fn block(plan: &Plan, words: &[$atomic], origin: &[u8]) -> [$word; BLOCK] {
                let mut before = [0; BLOCK];
                for (before, word) in before.iter_mut().zip(words) {
                    *before = word.load(Ordering::Acquire);
                }
                let mut after = before;
                plan.combine(origin, bytes_mut(&mut after[..words.len()]));
                for (at, word) in words.iter().enumerate() {
                    let (old, new) = (before[at], after[at]);
                    let swapped =
                        word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed);
                    if swapped.is_err() {
                        before[at] = change(plan, word, &origin[at * BYTES..(at + 1) * BYTES]);
                    }
                }
                before
            }

            /// Changes one element by an instruction of the processor.
            ///
            /// # Safety
            /// `address` must be valid for an element and aligned to its size, `origin` and
            /// `result` valid for one; the first is not read for [`Way::Keep`].
            #[inline(always)]
            pub(super) unsafe fn one(
                way: Way,
                address: *mut u8,
                origin: *const u8,
                result: Option<*mut u8>,
            ) {
                const ORDER: Ordering = Ordering::AcqRel;
                // SAFETY: the caller's promise; everybody who changes it meanwhile uses atomics.
                unsafe {
                    let word = <$atomic>::from_ptr(address.cast());
                    let by = || origin.cast::<$word>().read_unaligned();
                    let before = match way {
                        Way::Add => word.fetch_add(by(), ORDER),
                        Way::And => word.fetch_and(by(), ORDER),
                        Way::Or => word.fetch_or(by(), ORDER),
                        Way::Xor => word.fetch_xor(by(), ORDER),
                        Way::Replace => word.swap(by(), ORDER),
                        Way::Keep | Way::Combine | Way::Lock => word.load(Ordering::Acquire),
                    };
                    if let Some(result) = result {
                        result.cast::<$word>().write_unaligned(before);
                    }
                }
            }

            /// Compares and swaps one element.
            ///
            /// # Safety
            /// As [`one`].
            #[inline(always)]
            #[allow(dead_code, reason = "short elements take the long way")]
            pub(super) unsafe fn swap(
                address: *mut u8,
                compare: *const u8,
                origin: *const u8,
                result: *mut u8,
            ) {
                // SAFETY: the caller's promise; everybody who changes it meanwhile uses atomics.
                unsafe {
                    let word = <$atomic>::from_ptr(address.cast());
                    let compare = compare.cast::<$word>().read_unaligned();
                    let origin = origin.cast::<$word>().read_unaligned();
                    let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
                    let swapped = word.compare_exchange(compare, origin, order, failed);
                    let (Ok(before) | Err(before)) = swapped;
                    result.cast::<$word>().write_unaligned(before);
                }
            }

            /// Compares and swaps; the value before.
            pub(super) fn compare_swap(word: &$atomic, compare: &[u8], origin: &[u8]) -> $word {
                let (Ok(before) | Err(before)) = word.compare_exchange(
                    input(compare),
                    input(origin),
                    Ordering::AcqRel,
                    Ordering::Acquire,
                );
                before
            }
        }
    };
}

word!(word1, u8, AtomicU8);
word!(word2, u16, AtomicU16);
word!(word4, u32, AtomicU32);
word!(word8, u64, AtomicU64);

impl Plan {
    /// Combines `origin` (packed elements; none for MPI_NO_OP) into the memory at `address` that
    /// `layout` names; `result` is what was there, packed.
    ///
    /// # Safety
    /// Every byte that the layout names must be valid, and be changed by others only through this
    /// module while they may meet here.
    pub(super) unsafe fn apply(
        &self,
        site: Site<'_>,
        address: *mut u8,
        layout: &Layout,
        origin: &[u8],
        result: Option<&mut [u8]>,
    ) {
        if self.way == Way::Lock {
            // SAFETY: the caller's promise.
            return site.alone(|| unsafe { self.by_hand(address, layout, origin, result) });
        }
        let bytes = layout.bytes();
        if !site.exclusive && bytes > self.bytes as u64 && bytes <= WHOLE_MAX {
            // Single elements do not take the lock, so these are atomic one by one, too.
            // SAFETY: the caller's promise.
            return site.alone(|| unsafe { self.runs(None, address, layout, origin, result) });
        }
        // SAFETY: the caller's promise.
        unsafe { self.runs(Some(site), address, layout, origin, result) }
    }

    /// Combines the runs of a layout; without a site the caller has seen to it that nobody else
    /// accumulates by hand.
    ///
    /// # Safety
    /// As [`Plan::apply`].
    unsafe fn runs(
        &self,
        site: Option<Site<'_>>,
        address: *mut u8,
        layout: &Layout,
        origin: &[u8],
        mut result: Option<&mut [u8]>,
    ) {
        let mut done = 0;
        for run in Cursor::new(layout).runs() {
            let piece = done..done + run.bytes;
            done += run.bytes;
            let place = address.wrapping_offset(run.offset as isize);
            let input = origin.get(piece.clone()).unwrap_or(&[]);
            let output = result.as_deref_mut().map(|result| &mut result[piece]);
            // SAFETY: the run is part of the layout: the caller's promise.
            unsafe { self.run(site, place, run.bytes, input, output) };
        }
    }

    /// Combines whole elements that follow each other.
    ///
    /// # Safety
    /// As [`Plan::apply`].
    unsafe fn run(
        &self,
        site: Option<Site<'_>>,
        address: *mut u8,
        bytes: usize,
        origin: &[u8],
        result: Option<&mut [u8]>,
    ) {
        debug_assert_eq!(bytes % self.bytes, 0, "a basic type is one piece");
        if site.is_some_and(|site| site.exclusive) && bytes >= IN_PLACE_MIN {
            // SAFETY: the caller's promise; nobody else is there.
            return unsafe { self.block_by_hand(address, bytes, origin, result) };
        }
        if !address.addr().is_multiple_of(self.bytes) {
            // SAFETY: the caller's promise.
            let change = || unsafe { self.block_by_hand(address, bytes, origin, result) };
            return match site {
                Some(site) => site.alone(change),
                None => change(),
            };
        }
        // SAFETY: valid by the caller's promise; aligned as was just seen.
        unsafe { self.words(address, bytes, origin, result) }
    }

    /// Combines elements that are words, short ones as many at a time as a word of 8 bytes has.
    ///
    /// # Safety
    /// As [`Plan::apply`]; `address` is a multiple of the element's size.
    unsafe fn words(
        &self,
        address: *mut u8,
        bytes: usize,
        origin: &[u8],
        mut result: Option<&mut [u8]>,
    ) {
        let is_whole = address.addr().is_multiple_of(8) && bytes.is_multiple_of(8);
        if self.bytes == 8 || bytes < WIDE_MIN && !is_whole {
            // SAFETY: the caller's promise.
            return unsafe { self.single(address, bytes, origin, result) };
        }
        let head = address.align_offset(8);
        let tail = (bytes - head) / 8 * 8 + head;
        for (part, is_wide) in [(0..head, false), (head..tail, true), (tail..bytes, false)] {
            let place = address.wrapping_add(part.start);
            let input = origin.get(part.clone()).unwrap_or(&[]);
            let output = result
                .as_deref_mut()
                .map(|result| &mut result[part.clone()]);
            // SAFETY: a part of what the caller vouches for; the middle begins at a multiple of 8
            // and has whole words.
            unsafe {
                match is_wide {
                    true => self.wide(place, part.len(), input, output),
                    false => self.single(place, part.len(), input, output),
                }
            }
        }
    }

    /// Combines elements one by one.
    ///
    /// # Safety
    /// As [`Plan::words`].
    unsafe fn single(
        &self,
        address: *mut u8,
        bytes: usize,
        origin: &[u8],
        result: Option<&mut [u8]>,
    ) {
        let count = bytes / self.bytes;
        // SAFETY: the caller's promise.
        unsafe {
            match self.bytes {
                1 => word1::run(self, address, count, origin, result),
                2 => word2::run(self, address, count, origin, result),
                4 => word4::run(self, address, count, origin, result),
                _ => word8::run(self, address, count, origin, result),
            }
        }
    }

    /// Combines short elements that fill words of 8 bytes.
    ///
    /// # Safety
    /// As [`Plan::words`]; `address` and `bytes` are multiples of 8.
    unsafe fn wide(
        &self,
        address: *mut u8,
        bytes: usize,
        origin: &[u8],
        result: Option<&mut [u8]>,
    ) {
        if self.way != Way::Add {
            // All other ways treat the bits or elements of a word apart from each other.
            // SAFETY: the caller's promise.
            return unsafe { word8::run(self, address, bytes / 8, origin, result) };
        }
        // SAFETY: inside, and aligned, by the caller's promise; others use atomics, too.
        let words = unsafe { std::slice::from_raw_parts(address.cast::<AtomicU64>(), bytes / 8) };
        // The highest bit of each element is added without its carry, which would leave the element.
        let high = match self.bytes {
            1 => 0x8080_8080_8080_8080,
            2 => 0x8000_8000_8000_8000,
            _ => 0x8000_0000_8000_0000_u64,
        };
        word8::each(words, origin, result, |word, by| {
            let sum = |is: u64| Some(((is & !high) + (by & !high)) ^ ((is ^ by) & high));
            word.fetch_update(Ordering::AcqRel, Ordering::Acquire, sum)
                .expect("a new value is always made")
        });
    }

    /// Combines a block while nobody else does.
    ///
    /// # Safety
    /// As [`Plan::apply`].
    unsafe fn block_by_hand(
        &self,
        address: *mut u8,
        bytes: usize,
        origin: &[u8],
        result: Option<&mut [u8]>,
    ) {
        // SAFETY: valid by the caller's promise; whoever else changes it waits for the lock.
        let memory = unsafe { std::slice::from_raw_parts_mut(address, bytes) };
        if let Some(result) = result {
            result.copy_from_slice(memory);
        }
        if self.op != Predefined::NoOp {
            self.combine(origin, memory);
        }
    }

    /// Combines while nobody else does. Elements may be cut by gaps, so all of it is packed first.
    ///
    /// # Safety
    /// As [`Plan::apply`].
    unsafe fn by_hand(
        &self,
        address: *mut u8,
        layout: &Layout,
        origin: &[u8],
        result: Option<&mut [u8]>,
    ) {
        let mut packed = Vec::with_capacity(layout.bytes() as usize);
        for run in Cursor::new(layout).runs() {
            let place = address.wrapping_offset(run.offset as isize);
            // SAFETY: the run is part of the layout: the caller's promise.
            packed.extend_from_slice(unsafe { std::slice::from_raw_parts(place, run.bytes) });
        }
        if let Some(result) = result {
            result.copy_from_slice(&packed);
        }
        if self.op == Predefined::NoOp {
            return;
        }
        self.combine(origin, &mut packed);
        let mut done = 0;
        for run in Cursor::new(layout).runs() {
            let place = address.wrapping_offset(run.offset as isize);
            let piece = &packed[done..done + run.bytes];
            // SAFETY: as above; the packed data is our own.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), place, run.bytes) };
            done += run.bytes;
        }
    }
}

#[cfg(test)]
mod tests;
