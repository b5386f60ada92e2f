//! Copying into memory that another core has read last: rings and boards.
//!
//! A plain store to a line that lies in another core's cache fetches the line first, only to
//! overwrite it. The processor's own instruction for copies (`rep movsb`) knows that whole lines
//! will be written and, on many processors, does not fetch them: 64 KiB through a ring took 2.6 µs
//! instead of 9.6 on one (AMD, family 26). On others (AMD Zen 3 and 4) the same instruction takes
//! ten times as long for some addresses. So nothing is assumed: each process tries both, times
//! them, and goes on with the faster one; now and then it looks again.
//!
//! Copies out of such memory have the same choice, and another answer: [`drain`]. Lengths are judged
//! apart, because what starting costs does not depend on them. What is learned belongs to the
//! process, and threads share it: they may lose each other's observations, never more.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::copy::{PLAIN_BYTES_MAX, copy, copy_plain};

/// Copies `bytes` bytes into memory that others read.
///
/// # Safety
/// `from` must be valid for reading and `to` for writing so many bytes, and they must not overlap.
#[inline(always)]
pub unsafe fn fill(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes <= PLAIN_BYTES_MAX {
        // SAFETY: the caller's promise.
        unsafe { copy_plain(from, to, bytes) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { copy_long(&FILLING, from, to, bytes) };
    }
}

/// Copies `bytes` bytes that another core has written into memory of one's own.
///
/// # Safety
/// As [`fill`].
#[inline(always)]
pub unsafe fn drain(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes <= PLAIN_BYTES_MAX {
        // SAFETY: the caller's promise.
        unsafe { copy_plain(from, to, bytes) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { copy_long(&DRAINING, from, to, bytes) };
    }
}

/// As [`fill`], for memory of equal length.
#[inline(always)]
pub fn fill_slice(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "as much is copied as there is room");
    // SAFETY: both are as long, and nobody else has what is borrowed for writing.
    unsafe { fill(from.as_ptr(), to.as_mut_ptr(), from.len()) };
}

/// Copies out of memory that others wrote, or any other: short blocks without a call.
#[inline(always)]
pub fn copy_slice(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "as much is copied as there is room");
    match from.len() <= PLAIN_BYTES_MAX {
        // SAFETY: both are as long, and nobody else has what is borrowed for writing.
        true => unsafe { copy_plain(from.as_ptr(), to.as_mut_ptr(), from.len()) },
        false => to.copy_from_slice(from),
    }
}

/// Whether so many bytes are copied by the processor's own instruction, or both ways are still
/// tried: then bytes that are put together one by one are better put together elsewhere and copied.
pub fn prefers_string(bytes: usize) -> bool {
    let length = &FILLING[class(bytes)];
    bytes > PLAIN_BYTES_MAX
        && has_string()
        && (length.is_trying() || length.preferred() == Method::String)
}

/// What has been learned of [`fill`]: of each class the least length, and the nanoseconds that a
/// KiB took by a loop over vector registers and by the processor's own instruction; none if it was
/// not tried.
pub fn learned() -> impl Iterator<Item = (usize, [Option<f64>; 2])> {
    told(&FILLING)
}

/// As [`learned`], of [`drain`].
pub fn learned_of_draining() -> impl Iterator<Item = (usize, [Option<f64>; 2])> {
    told(&DRAINING)
}

fn told(lengths: &[Length; CLASSES]) -> impl Iterator<Item = (usize, [Option<f64>; 2])> {
    lengths.iter().enumerate().map(|(class, length)| {
        let least = PLAIN_BYTES_MAX << (2 * class);
        let cost = |method: Method| {
            let cost = length.costs[method as usize].load(Ordering::Relaxed);
            (cost != 0).then(|| f64::from(cost) / f64::from(COST_UNIT))
        };
        (least, [cost(Method::Vector), cost(Method::String)])
    })
}

/// # Safety
/// As [`fill`].
#[inline(never)]
unsafe fn copy_long(lengths: &[Length; CLASSES], from: *const u8, to: *mut u8, bytes: usize) {
    if !has_string() {
        // SAFETY: the caller's promise.
        return unsafe { copy(from, to, bytes) };
    }
    let length = &lengths[class(bytes)];
    let (method, is_timed) = length.next();
    if !is_timed {
        // SAFETY: the caller's promise.
        return unsafe { method.copy(from, to, bytes) };
    }
    let started = std::time::Instant::now();
    // SAFETY: the caller's promise.
    unsafe { method.copy(from, to, bytes) };
    length.observe(method, bytes, started.elapsed().as_nanos() as u64);
}

/// How bytes are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// By a loop over vector registers.
    Vector = 0,
    /// By the processor's own instruction.
    String = 1,
}

impl Method {
    fn other(self) -> Method {
        match self {
            Method::Vector => Method::String,
            Method::String => Method::Vector,
        }
    }

    /// # Safety
    /// As [`fill`].
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8, bytes: usize) {
        match self {
            // SAFETY: the caller's promise.
            Method::Vector => unsafe { copy(from, to, bytes) },
            // SAFETY: the caller's promise.
            Method::String => unsafe { copy_string(from, to, bytes) },
        }
    }
}

/// Copies by the processor's own instruction.
///
/// # Safety
/// As [`fill`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn copy_string(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: reads and writes what the caller promises, and changes the three registers that it
    // says; the direction flag is clear, as the calling convention demands.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
unsafe fn copy_string(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy(from, to, bytes) };
}

/// Whether the processor's own instruction is made for long copies.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn has_string() -> bool {
    std::arch::is_x86_feature_detected!("ermsb")
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
#[inline(always)]
fn has_string() -> bool {
    false
}

/// Classes of lengths: over 1, 4 and 16 KiB.
const CLASSES: usize = 3;

static FILLING: [Length; CLASSES] = [const { Length::new() }; CLASSES];
static DRAINING: [Length; CLASSES] = [const { Length::new() }; CLASSES];

#[inline(always)]
fn class(bytes: usize) -> usize {
    match bytes {
        0..=0x1000 => 0,
        0x1001..=0x4000 => 1,
        _ => 2,
    }
}

/// Copies that try the methods by turns: several laps of a ring, because in the first one each
/// page is missing.
const TRIALS: u32 = 128;
/// Trials after which the methods change places, so that neither has always the same pieces.
const TRIALS_A_LAP: u32 = 31;
/// After that, one copy in so many is timed...
const TIMED_EVERY: u32 = 31;
/// ...and one in so many is by the other method. Primes: pieces of a ring come round by powers of
/// two, and one of them stands for no other.
const RETRY_EVERY: u32 = 1021;
/// A cost is in this fraction of a nanosecond per KiB.
const COST_UNIT: u32 = 64;

/// What is known of copies of a class of lengths.
struct Length {
    /// Copies so far.
    turn: AtomicU32,
    /// Of each method; 0 says that it was not tried.
    costs: [AtomicU32; 2],
}

impl Length {
    const fn new() -> Length {
        Length {
            turn: AtomicU32::new(0),
            costs: [const { AtomicU32::new(0) }; 2],
        }
    }

    /// The method of the next copy, and whether it is timed.
    #[inline(always)]
    fn next(&self) -> (Method, bool) {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed);
        if turn < TRIALS {
            let methods = [Method::Vector, Method::String];
            return (methods[(turn + turn / TRIALS_A_LAP) as usize % 2], true);
        }
        match self.preferred() {
            preferred if turn.is_multiple_of(RETRY_EVERY) => (preferred.other(), true),
            preferred => (preferred, turn.is_multiple_of(TIMED_EVERY)),
        }
    }

    /// Whether both methods are still tried.
    #[inline(always)]
    fn is_trying(&self) -> bool {
        self.turn.load(Ordering::Relaxed) < TRIALS
    }

    #[inline(always)]
    fn preferred(&self) -> Method {
        let cost = |method: Method| self.costs[method as usize].load(Ordering::Relaxed);
        match cost(Method::String) < cost(Method::Vector) {
            true => Method::String,
            false => Method::Vector,
        }
    }

    #[cold]
    fn observe(&self, method: Method, bytes: usize, nanoseconds: u64) {
        let new = nanoseconds * u64::from(COST_UNIT) * 1024 / bytes as u64;
        let cost = &self.costs[method as usize];
        let old = u64::from(cost.load(Ordering::Relaxed));
        let updated = match old {
            0 => new,
            // A preempted copy says nothing about the method: it counts as twice the usual at most.
            _ => (7 * old + new.min(2 * old)) / 8,
        };
        cost.store(
            updated.clamp(1, u64::from(u32::MAX)) as u32,
            Ordering::Relaxed,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_methods_are_tried_and_the_faster_one_stays() {
        for (vector, string, faster) in [(500, 100, Method::String), (100, 500, Method::Vector)] {
            let length = Length::new();
            let mut counts = [0; 2];
            for turn in 0..10 * RETRY_EVERY {
                let (method, is_timed) = length.next();
                // The first lap is slow, whatever the method.
                let slow = if turn < 32 { 3000 } else { 0 };
                if is_timed {
                    length.observe(method, 16 << 10, slow + [vector, string][method as usize]);
                }
                counts[method as usize] += 1;
            }
            assert_eq!(length.preferred(), faster);
            assert!(counts[faster.other() as usize] <= TRIALS / 2 + 32 + 10);
        }
    }

    /// Gathered data goes by a copy as long as that is so: a program that sends no other learns, too.
    #[test]
    fn both_methods_are_tried_before_one_is_preferred() {
        let length = Length::new();
        for _ in 0..TRIALS {
            assert!(length.is_trying());
            length.next();
        }
        assert!(!length.is_trying());
    }

    #[test]
    fn a_method_that_becomes_slow_is_given_up() {
        let length = Length::new();
        let run = |costs: [u64; 2], turns| {
            for _ in 0..turns {
                let (method, is_timed) = length.next();
                if is_timed {
                    length.observe(method, 16 << 10, costs[method as usize]);
                }
            }
        };
        run([1000, 500], 2 * TRIALS);
        assert_eq!(length.preferred(), Method::String);
        run([1000, 9000], 20 * TIMED_EVERY);
        assert_eq!(length.preferred(), Method::Vector);
    }

    #[test]
    fn every_length_is_filled_and_drained_exactly() {
        let from: Vec<u8> = (0..70_000u32).map(|n| (n * 31 % 251) as u8).collect();
        for copy in [fill, drain] {
            every_length_is_copied(&from, copy);
        }
        let known = learned().chain(learned_of_draining());
        let mut costs = known.flat_map(|(_, costs)| costs).flatten();
        assert!(costs.all(|cost| cost > 0.0));
    }

    fn every_length_is_copied(from: &[u8], copy: unsafe fn(*const u8, *mut u8, usize)) {
        for bytes in [0, 1, 1024, 1025, 4096, 4097, 16_384, 65_536] {
            for skip in [0, 1, 63] {
                // Often enough for both methods.
                for _ in 0..4 {
                    let mut to = vec![0xee; bytes + 128];
                    // SAFETY: both vectors are long enough for the skip and the length.
                    unsafe { copy(from.as_ptr().add(skip), to.as_mut_ptr().add(skip), bytes) };
                    assert_eq!(to[skip..skip + bytes], from[skip..skip + bytes]);
                    let rest = to[..skip].iter().chain(&to[skip + bytes..]);
                    assert!(rest.copied().all(|byte| byte == 0xee));
                }
            }
        }
    }
}
