//! Small messages without a library: a flag in a cache line, a slot with a copy on each side, and
//! the same slot with both processes on one core, where the only way forward is to yield.
//!
//! A round trip is timed in batches; the figure is the median batch, halved: one way. Nanoseconds.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::pair::{self, Cpus, FloorError, LINE_BYTES, Memory, STOP};
use super::{Effort, median};

/// Round trips between two looks at the clock when every hop is a context switch.
const BATCH_YIELDING: u64 = 100;

/// The same when both spin: batches of about 100 µs, long against the clock (20 ns), short against
/// a scheduler tick or a move of the virtual CPU, so that a disturbance spoils few of them. The
/// ranks' ping-pong uses the same.
pub fn batch_spinning(bytes: usize) -> u64 {
    (100_000 / (200 + bytes as u64 / 8)).max(4)
}

/// Batches thrown away while caches, frequency and the peer settle.
const BATCHES_WARM: usize = 3;

/// One way between two cache lines: the peer answers a flag with a flag.
pub fn flag_ns(cpus: Cpus, effort: Effort) -> Result<f64, FloorError> {
    let memory = Memory::shared(4096)?;
    let (there, back) = (memory.line(0), memory.line(1));
    pair::run(
        cpus,
        |waiting| {
            let mut expected = 1;
            loop {
                let mut seen = 0;
                waiting.until(|| {
                    seen = there.load(Ordering::Acquire);
                    seen >= expected
                })?;
                if seen == STOP {
                    return Ok(());
                }
                back.store(seen, Ordering::Release);
                expected = seen + 1;
            }
        },
        |waiting, _| {
            let mut next = 0;
            let found = batches(cpus, 8, effort, || {
                next += 1;
                there.store(next, Ordering::Release);
                waiting.until(|| back.load(Ordering::Acquire) == next)
            });
            pair::stop(there);
            found
        },
    )
}

/// One way of `bytes` bytes: copied from a private buffer into a slot, flagged, copied out to a
/// private buffer.
pub fn slot_ns(cpus: Cpus, bytes: usize, effort: Effort) -> Result<f64, FloorError> {
    // The stamp and a small payload share a line, as in any sensible ring; a longer one begins at
    // the next.
    let head = if bytes <= 56 { 8 } else { 64 };
    let stride = (head + bytes).next_multiple_of(LINE_BYTES);
    let memory = Memory::shared((2 * stride).next_multiple_of(4096))?;
    let (source, sink) = (
        Memory::private(bytes.max(4096))?,
        Memory::private(bytes.max(4096))?,
    );
    let (there, back) = (memory.line(0), memory.line(stride / LINE_BYTES));
    let (there_data, back_data) = (memory.at(head, bytes), memory.at(stride + head, bytes));
    source.touch(1);
    let (source, sink) = (source.at(0, bytes), sink.at(0, bytes));
    let copy = |from: *mut u8, to: *mut u8| {
        // SAFETY: both have `bytes` bytes, in different mappings; the stamps order the two
        // processes.
        unsafe { copy_short(from, to, bytes) }
    };
    pair::run(
        cpus,
        |waiting| {
            let mut expected = 1;
            loop {
                let mut seen = 0;
                waiting.until(|| {
                    seen = there.load(Ordering::Acquire);
                    seen >= expected
                })?;
                if seen == STOP {
                    return Ok(());
                }
                copy(there_data, sink);
                copy(source, back_data);
                back.store(seen, Ordering::Release);
                expected = seen + 1;
            }
        },
        |waiting, _| {
            let mut next = 0;
            let found = batches(cpus, bytes, effort, || {
                next += 1;
                copy(source, there_data);
                there.store(next, Ordering::Release);
                waiting.until(|| back.load(Ordering::Acquire) == next)?;
                copy(back_data, sink);
                Ok(())
            });
            pair::stop(there);
            found
        },
    )
}

/// One way with both processes on one CPU: a yield hand-off.
pub fn yield_ns(cpus: Cpus, effort: Effort) -> Result<f64, FloorError> {
    flag_ns(cpus.one_core(), effort)
}

/// A word is moved as a word: a call of memcpy for 8 bytes would be a cost of the benchmark, not of
/// the machine.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes`, and they do not overlap.
#[inline]
unsafe fn copy_short(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; an unaligned access of 8 bytes stays inside 8 bytes.
    unsafe {
        if bytes == 8 {
            to.cast::<u64>()
                .write_unaligned(from.cast::<u64>().read_unaligned());
        } else {
            std::ptr::copy_nonoverlapping(from, to, bytes);
        }
    }
}

fn batches(
    cpus: Cpus,
    bytes: usize,
    effort: Effort,
    mut round_trip: impl FnMut() -> Result<(), FloorError>,
) -> Result<f64, FloorError> {
    let batch = if cpus.shared() {
        BATCH_YIELDING
    } else {
        batch_spinning(bytes)
    };
    let mut one_way = Vec::new();
    let began = Instant::now();
    while began.elapsed() < effort.repetition() || one_way.len() < 2 * BATCHES_WARM {
        let start = Instant::now();
        for _ in 0..batch {
            round_trip()?;
        }
        one_way.push(start.elapsed().as_nanos() as f64 / (2 * batch) as f64);
    }
    Ok(median(&mut one_way[BATCHES_WARM..]))
}
