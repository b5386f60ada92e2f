//! Large messages without a library: a ring of slots with a copy on each side, the kernel's single
//! copy (process_vm_readv), a copy out of memory both processes map, and plain memcpy inside one
//! process. GB/s.
//!
//! All of them follow a bandwidth benchmark: windows of messages from one unchanged source buffer
//! into one destination, an acknowledgement after each window, time taken by the sender. The figure
//! is the median window.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::pair::{self, Cpus, FloorError, LINE_BYTES, Memory, STOP, Waiting};
use super::{Effort, median};

/// Windows thrown away while caches and the peer settle.
const WINDOWS_WARM: usize = 2;

/// Messages in flight before the sender waits for the receiver's acknowledgement: 64 as usual,
/// fewer when 64 would be more than 16 MiB.
pub fn window(bytes: usize) -> usize {
    ((16 << 20) / bytes).clamp(4, 64)
}

/// Geometry of the two-copy ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Payload of one slot.
    pub slot_bytes: usize,
    /// How many slots.
    pub slots: usize,
}

/// Line of the window's acknowledgement, and of what the sender has offered so far.
const ACKNOWLEDGED: usize = 0;
const OFFERED: usize = 1;
/// Where the slots' flags begin, in lines.
const FLAGS: usize = 2;

/// Copy into slots, flag, copy out of slots. Both cores copy at the same time.
pub fn ring_gbps(cpus: Cpus, bytes: usize, ring: Ring, effort: Effort) -> Result<f64, FloorError> {
    let head = ((FLAGS + ring.slots) * LINE_BYTES).next_multiple_of(4096);
    let memory = Memory::shared(head + ring.slots * ring.slot_bytes)?;
    let (source, sink) = (Memory::private(bytes)?, Memory::private(bytes)?);
    source.touch(1);
    let pieces = bytes.div_ceil(ring.slot_bytes) as u64;
    let piece = |index: u64| {
        let offset = (index % pieces) as usize * ring.slot_bytes;
        (offset, ring.slot_bytes.min(bytes - offset))
    };
    let slot = |index: u64| (index % ring.slots as u64) as usize;
    // A slot's flag counts its uses: 2n means free for the n-th use, 2n + 1 filled.
    let turn = |index: u64| 2 * (index / ring.slots as u64);
    pair::run(
        cpus,
        |waiting| {
            sink.touch(2);
            let mut index = 0;
            loop {
                let flag = memory.line(FLAGS + slot(index));
                let mut seen = 0;
                waiting.until(|| {
                    seen = flag.load(Ordering::Acquire);
                    seen > turn(index)
                })?;
                if seen == STOP {
                    return Ok(());
                }
                let (offset, length) = piece(index);
                copy(
                    memory.at(head + slot(index) * ring.slot_bytes, length),
                    sink.at(offset, length),
                    length,
                );
                flag.store(turn(index) + 2, Ordering::Release);
                index += 1;
                if index % pieces == 0 {
                    memory
                        .line(ACKNOWLEDGED)
                        .store(index / pieces, Ordering::Release);
                }
            }
        },
        |waiting, _| {
            let mut index = 0;
            let found = windows(waiting, &memory, bytes, effort, |_| {
                for _ in 0..pieces {
                    let flag = memory.line(FLAGS + slot(index));
                    waiting.until(|| flag.load(Ordering::Acquire) == turn(index))?;
                    let (offset, length) = piece(index);
                    copy(
                        source.at(offset, length),
                        memory.at(head + slot(index) * ring.slot_bytes, length),
                        length,
                    );
                    flag.store(turn(index) + 1, Ordering::Release);
                    index += 1;
                }
                Ok(())
            });
            pair::stop(memory.line(FLAGS + slot(index)));
            found
        },
    )
}

/// The receiver reads the sender's private memory through the kernel.
pub fn readv_gbps(cpus: Cpus, bytes: usize, effort: Effort) -> Result<f64, FloorError> {
    let memory = Memory::shared(4096)?;
    let (source, sink) = (Memory::private(bytes)?, Memory::private(bytes)?);
    source.touch(1);
    // SAFETY: a system call without arguments.
    let sender = unsafe { libc::getpid() };
    if let Err(error) = read_process(sender, source.at(0, bytes), sink.at(0, bytes), bytes) {
        return Err(FloorError::Readv {
            bytes,
            pid: sender,
            source: error,
        });
    }
    offered(cpus, &memory, bytes, effort, &sink, || {
        read_process(sender, source.at(0, bytes), sink.at(0, bytes), bytes)
            .map_err(|_| FloorError::Silent)
    })
}

/// The receiver copies out of memory that both map: one copy.
pub fn mapped_gbps(cpus: Cpus, bytes: usize, effort: Effort) -> Result<f64, FloorError> {
    let memory = Memory::shared(4096)?;
    let (source, sink) = (Memory::shared(bytes)?, Memory::private(bytes)?);
    source.touch(1);
    offered(cpus, &memory, bytes, effort, &sink, || {
        copy(source.at(0, bytes), sink.at(0, bytes), bytes);
        Ok(())
    })
}

/// One process, one core: memcpy between two of its own buffers.
pub fn memcpy_gbps(cpus: Cpus, bytes: usize, effort: Effort) -> Result<f64, FloorError> {
    let (source, sink) = (Memory::private(bytes)?, Memory::private(bytes)?);
    source.touch(1);
    sink.touch(2);
    pair::run(
        cpus,
        |_| Ok(()),
        |_, _| {
            let mut rates = Vec::new();
            let began = Instant::now();
            while began.elapsed() < effort.repetition() || rates.len() < 2 * WINDOWS_WARM {
                let start = Instant::now();
                for _ in 0..window(bytes) {
                    copy(source.at(0, bytes), sink.at(0, bytes), bytes);
                    std::hint::black_box(&sink);
                }
                rates.push((window(bytes) * bytes) as f64 / start.elapsed().as_nanos() as f64);
            }
            Ok(median(&mut rates[WINDOWS_WARM..]))
        },
    )
}

/// The sender only counts up what it offers; the receiver fetches each message itself.
fn offered(
    cpus: Cpus,
    memory: &Memory,
    bytes: usize,
    effort: Effort,
    sink: &Memory,
    fetch: impl Fn() -> Result<(), FloorError>,
) -> Result<f64, FloorError> {
    let (offered, acknowledged) = (memory.line(OFFERED), memory.line(ACKNOWLEDGED));
    pair::run(
        cpus,
        |waiting| {
            sink.touch(2);
            let mut fetched = 0;
            loop {
                let mut seen = 0;
                waiting.until(|| {
                    seen = offered.load(Ordering::Acquire);
                    seen > fetched
                })?;
                if seen == STOP {
                    return Ok(());
                }
                while fetched < seen {
                    fetch()?;
                    fetched += 1;
                    acknowledged.store(fetched, Ordering::Release);
                }
            }
        },
        |waiting, _| {
            let found = windows(waiting, memory, bytes, effort, |message| {
                offered.store(message, Ordering::Release);
                Ok(())
            });
            pair::stop(offered);
            found
        },
    )
}

fn windows(
    waiting: Waiting,
    memory: &Memory,
    bytes: usize,
    effort: Effort,
    mut send: impl FnMut(u64) -> Result<(), FloorError>,
) -> Result<f64, FloorError> {
    let acknowledged = memory.line(ACKNOWLEDGED);
    let mut rates = Vec::new();
    let mut messages = 0;
    let began = Instant::now();
    while began.elapsed() < effort.repetition() || rates.len() < 2 * WINDOWS_WARM {
        let start = Instant::now();
        for _ in 0..window(bytes) {
            messages += 1;
            send(messages)?;
        }
        waiting.until(|| acknowledged.load(Ordering::Acquire) == messages)?;
        rates.push((window(bytes) * bytes) as f64 / start.elapsed().as_nanos() as f64);
    }
    Ok(median(&mut rates[WINDOWS_WARM..]))
}

#[inline]
fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: `Memory::at` checked both against `bytes`, and no two mappings of a floor overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

fn read_process(pid: i32, from: *mut u8, to: *mut u8, bytes: usize) -> io::Result<()> {
    let local = libc::iovec {
        iov_base: to.cast(),
        iov_len: bytes,
    };
    let remote = libc::iovec {
        iov_base: from.cast(),
        iov_len: bytes,
    };
    // SAFETY: `to` has `bytes` writable bytes; the kernel itself checks the remote side.
    let read = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    if read == bytes as isize {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
