//! One element at a time: by an instruction of the processor where it has one.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use oxmpi_datatypes::datatype::Basic;
use oxmpi_datatypes::op::Predefined;
use oxmpi_windows::Element;

use super::{Site, Way, word1, word2, word4, word8};

/// What the processor has for each operation on each type: [`Way::of_word`].
static WORDS: [[Option<Way>; Basic::ALL.len()]; Predefined::ALL.len()] = {
    let mut words = [[None; Basic::ALL.len()]; Predefined::ALL.len()];
    let mut op = 0;
    while op < Predefined::ALL.len() {
        let mut basic = 0;
        while basic < Basic::ALL.len() {
            words[op][basic] = Way::of_word(Predefined::ALL[op], Basic::ALL[basic]);
            basic += 1;
        }
        op += 1;
    }
    words
};

/// Changes the element at `address` by an instruction of the processor; `result` is what was there.
/// False, and nothing has happened, if there is no such instruction.
///
/// # Safety
/// As [`Plan::apply`](super::Plan::apply); `origin` (unless the operation is MPI_NO_OP) and `result` must be valid for
/// an element.
#[inline(always)]
pub(in crate::window) unsafe fn change_word(
    basic: Basic,
    op: Predefined,
    address: *mut u8,
    origin: *const u8,
    result: Option<*mut u8>,
) -> bool {
    let Some(way) = WORDS[op as usize][basic as usize] else {
        return false;
    };
    let bytes = basic.size() as usize;
    if address.addr() & (bytes - 1) != 0 {
        return false;
    }
    // SAFETY: the caller's promise; aligned as was just seen.
    unsafe {
        match bytes {
            8 => word8::one(way, address, origin, result),
            4 => word4::one(way, address, origin, result),
            2 => word2::one(way, address, origin, result),
            _ => word1::one(way, address, origin, result),
        }
    }
    true
}

/// Compares the element at `address` and swaps it by an instruction of the processor; false as in
/// [`change_word`].
///
/// # Safety
/// As [`Plan::apply`](super::Plan::apply); the other three must be valid for an element.
#[inline(always)]
pub(in crate::window) unsafe fn swap_word(
    basic: Basic,
    address: *mut u8,
    compare: *const u8,
    origin: *const u8,
    result: *mut u8,
) -> bool {
    let bytes = basic.size() as usize;
    if !Element::Basic(basic).is_comparable() || address.addr() & (bytes - 1) != 0 {
        return false;
    }
    // SAFETY: the caller's promise; aligned as was just seen.
    unsafe {
        match bytes {
            8 => word8::swap(address, compare, origin, result),
            4 => word4::swap(address, compare, origin, result),
            _ => return false,
        }
    }
    true
}

/// Replaces the element at `address` by `origin` if it equals `compare`; `result` is what was
/// there. All three slices have the element's length.
///
/// # Safety
/// The element must be valid, and be changed by others only through this module while they may meet
/// here.
pub(in crate::window) unsafe fn compare_swap(
    site: Site<'_>,
    address: *mut u8,
    compare: &[u8],
    origin: &[u8],
    result: &mut [u8],
) {
    let bytes = result.len();
    macro_rules! swap {
        ($module:ident, $word:ty, $atomic:ty) => {{
            // SAFETY: valid by the caller's promise, aligned as was just seen, and changed by
            // atomics only.
            let word = unsafe { <$atomic>::from_ptr(address.cast::<$word>()) };
            let before = $module::compare_swap(word, compare, origin);
            result.copy_from_slice(&before.to_ne_bytes());
        }};
    }
    let is_word = matches!(bytes, 1 | 2 | 4 | 8) && address.addr().is_multiple_of(bytes);
    match bytes {
        1 if is_word => swap!(word1, u8, AtomicU8),
        2 if is_word => swap!(word2, u16, AtomicU16),
        4 if is_word => swap!(word4, u32, AtomicU32),
        8 if is_word => swap!(word8, u64, AtomicU64),
        _ => site.alone(|| {
            // SAFETY: valid by the caller's promise; whoever else changes it waits for the lock.
            let memory = unsafe { std::slice::from_raw_parts_mut(address, bytes) };
            result.copy_from_slice(memory);
            if result == compare {
                memory.copy_from_slice(origin);
            }
        }),
    }
}
