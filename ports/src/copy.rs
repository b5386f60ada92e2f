//! Copying payload between the user's memory and shared memory.
//!
//! The C library copies longer blocks with `rep movsb`, which some processors (AMD Zen 3 and 4)
//! execute at a tenth of the usual speed when source and destination have nearby offsets within
//! their pages, as messages between page-aligned buffers do all the time. A plain loop over vector
//! registers is as fast in the good case and has no bad one.

/// Up to this many bytes are moved by two registers, which takes less than a call of the C library.
const SHORT_BYTES_MAX: usize = 16;

/// Below this the C library does not use `rep movsb`.
pub(crate) const PLAIN_BYTES_MAX: usize = 1024;

/// Copies `bytes` bytes.
///
/// # Safety
/// `from` must be valid for reading and `to` for writing so many bytes, and they must not overlap.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes <= PLAIN_BYTES_MAX {
        // SAFETY: the caller's promise.
        unsafe { copy_plain(from, to, bytes) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { copy_long(from, to, bytes) };
    }
}

/// [`copy`] of few bytes.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
pub(crate) unsafe fn copy_plain(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; the two halves are as long as the whole at most.
    unsafe {
        match bytes {
            8..=SHORT_BYTES_MAX => copy_halves::<u64>(from, to, bytes),
            4..8 => copy_halves::<u32>(from, to, bytes),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// Copies a first and a last `T`, which may overlap.
///
/// # Safety
/// As [`copy`]; there are at least as many bytes as a `T` has, and at most twice as many.
#[inline(always)]
unsafe fn copy_halves<T: Copy>(from: *const u8, to: *mut u8, bytes: usize) {
    let last = bytes - size_of::<T>();
    // SAFETY: both lie within `bytes`.
    unsafe {
        let first_half = from.cast::<T>().read_unaligned();
        let last_half = from.add(last).cast::<T>().read_unaligned();
        to.cast::<T>().write_unaligned(first_half);
        to.add(last).cast::<T>().write_unaligned(last_half);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn copy_long(from: *const u8, to: *mut u8, bytes: usize) {
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the caller's promise; the processor has AVX.
        unsafe { copy_avx(from, to, bytes) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_long(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

/// Unaligned loads, aligned stores, 128 bytes a turn; both ends are copied unaligned and may
/// overlap the middle.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn copy_avx(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_store_si256, _mm256_storeu_si256};
    debug_assert!(bytes >= 256);
    // SAFETY: all offsets stay below `bytes`: the first 32 bytes, turns of 128 that end before the
    // last 128, and the last 128.
    unsafe {
        let load = |offset: usize| _mm256_loadu_si256(from.add(offset).cast::<__m256i>());
        let head = load(0);
        let tail = [
            load(bytes - 128),
            load(bytes - 96),
            load(bytes - 64),
            load(bytes - 32),
        ];
        let mut offset = 32 - (to as usize & 31);
        while offset + 128 <= bytes {
            let (a, b, c, d) = (
                load(offset),
                load(offset + 32),
                load(offset + 64),
                load(offset + 96),
            );
            let out = to.add(offset).cast::<__m256i>();
            _mm256_store_si256(out, a);
            _mm256_store_si256(out.add(1), b);
            _mm256_store_si256(out.add(2), c);
            _mm256_store_si256(out.add(3), d);
            offset += 128;
        }
        _mm256_storeu_si256(to.cast(), head);
        for (turn, part) in tail.into_iter().enumerate() {
            _mm256_storeu_si256(to.add(bytes - 128 + 32 * turn).cast(), part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment_is_copied_exactly() {
        let from: Vec<u8> = (0..6000u32).map(|n| (n * 31 % 251) as u8).collect();
        for bytes in (0..300).chain(1000..1400).chain([4095, 4096, 4097, 5000]) {
            for (skip_from, skip_to) in [(0, 0), (1, 0), (0, 1), (7, 13), (31, 33)] {
                let mut to = vec![0xee; bytes + 100];
                // SAFETY: both vectors are long enough for the skip and the length.
                unsafe {
                    copy(
                        from.as_ptr().add(skip_from),
                        to.as_mut_ptr().add(skip_to),
                        bytes,
                    )
                };
                assert_eq!(
                    to[skip_to..skip_to + bytes],
                    from[skip_from..skip_from + bytes]
                );
                assert!(
                    to[..skip_to]
                        .iter()
                        .chain(&to[skip_to + bytes..])
                        .all(|&byte| byte == 0xee)
                );
            }
        }
    }
}
