//! Copies of sections that belong to persistent requests, partitioned ones among them.
//!
//! A section with gaps that no datatype describes is copied when its request is started and copied
//! back when a procedure of this library sees that it is complete. The partitions of a message have
//! times of their own: each is read when it is ready, and written when it has arrived.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Copy;
use crate::c::{self, Handle};
use crate::handle;

/// Where the partitions of a message lie in a copy.
#[derive(Clone, Copy)]
pub struct Partitions {
    /// How many there are.
    count: usize,
    /// Bytes from one to the next.
    stride: i64,
    /// The first byte of one and the byte behind its last.
    within: (i64, i64),
}

impl Partitions {
    /// Partitions of so many items each; none if the datatype cannot be asked, which is an error of
    /// the call itself.
    pub fn new(partitions: c_int, items: i64, datatype: Handle) -> Option<Partitions> {
        let (mut low, mut extent, mut true_low, mut true_extent) = (0i64, 0i64, 0i64, 0i64);
        // SAFETY: the addresses are those of local variables.
        let known = unsafe {
            c::PMPI_Type_get_extent_c(datatype, &mut low, &mut extent) == 0
                && c::PMPI_Type_get_true_extent_c(datatype, &mut true_low, &mut true_extent) == 0
        };
        known.then_some(Partitions {
            count: usize::try_from(partitions).unwrap_or(0),
            stride: items * extent,
            within: (
                true_low,
                (items - 1).max(0) * extent + true_low + true_extent,
            ),
        })
    }

    fn bytes(&self, partition: usize) -> std::ops::Range<usize> {
        let at = |offset: i64| (partition as i64 * self.stride + offset).max(0) as usize;
        at(self.within.0)..at(self.within.1)
    }
}

/// A copy, and whether it goes back into its section.
struct Lasting(Copy, bool);

impl Lasting {
    fn give_back(&mut self, bytes: std::ops::Range<usize>) {
        if self.1 {
            self.0.exchange(false, bytes);
        }
    }
}

/// What a persistent request has.
struct Entry {
    copies: Vec<Lasting>,
    partitions: Option<Partitions>,
    /// The partitions that the program has been told of since the start.
    arrived: Vec<usize>,
    /// Whether the copies are in use: started, and not yet seen to be complete.
    active: bool,
}

static ENTRIES: Mutex<BTreeMap<c_int, Entry>> = Mutex::new(BTreeMap::new());
/// How many requests have copies; most programs never look further.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn lock() -> MutexGuard<'static, BTreeMap<c_int, Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[inline(always)]
fn is_unused() -> bool {
    COUNT.load(Ordering::Acquire) == 0
}

/// Keeps copies until the request is freed.
pub(super) fn keep(request: c_int, copies: Vec<Copy>, partitions: Option<Partitions>) {
    release(request);
    let lasting = |mut copy: Copy| {
        let returns = std::mem::take(&mut copy.returns);
        Lasting(copy, returns)
    };
    let entry = Entry {
        copies: copies.into_iter().map(lasting).collect(),
        partitions,
        arrived: Vec::new(),
        active: false,
    };
    let mut entries = lock();
    entries.insert(request, entry);
    COUNT.store(entries.len(), Ordering::Release);
}

/// Fills the copies of requests that are about to be started.
///
/// # Safety
/// `count` integers can be read at `requests`.
#[inline(always)]
pub unsafe fn start(requests: *const c_int, count: c_int) {
    if is_unused() {
        return;
    }
    let mut entries = lock();
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        if let Some(entry) = entries.get_mut(unsafe { &*requests.add(index) }) {
            entry.active = true;
            entry.arrived.clear();
            for Lasting(copy, _) in &mut entry.copies {
                copy.exchange(true, 0..usize::MAX);
            }
        }
    }
}

/// Copies back what is complete of these requests.
///
/// # Safety
/// `count` integers can be read at `requests`.
#[inline(always)]
pub unsafe fn look(requests: *const c_int, count: c_int) {
    if is_unused() {
        return;
    }
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        look_at(unsafe { *requests.add(index) });
    }
}

#[cold]
fn look_at(request: c_int) {
    if !lock().get(&request).is_some_and(|entry| entry.active) {
        return;
    }
    let mut flag = 0;
    // SAFETY: the request is alive, or else it would have no entry. One that is complete but not
    // waited for stays as it is, and one that was waited for is inactive, which counts as complete.
    unsafe {
        c::PMPI_Request_get_status(handle::request(request), &mut flag, std::ptr::null_mut());
    }
    if flag == 0 {
        return;
    }
    if let Some(entry) = lock().get_mut(&request) {
        entry.active = false;
        let Entry {
            copies,
            partitions,
            arrived,
            ..
        } = entry;
        for copy in copies {
            match partitions {
                None => copy.give_back(0..usize::MAX),
                Some(partitions) => (0..partitions.count)
                    .filter(|partition| !arrived.contains(partition))
                    .for_each(|partition| copy.give_back(partitions.bytes(partition))),
            }
        }
    }
}

/// Fills partitions that are about to be ready.
#[inline(always)]
pub fn ready(request: c_int, low: c_int, high: c_int) {
    if !is_unused() {
        in_partitions(request, low, high, |copy, _, bytes| {
            copy.0.exchange(true, bytes)
        });
    }
}

/// The same for a list of them.
///
/// # Safety
/// `count` integers can be read at `partitions`.
#[inline(always)]
pub unsafe fn ready_list(request: c_int, partitions: *const c_int, count: c_int) {
    if is_unused() {
        return;
    }
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        let partition = unsafe { *partitions.add(index) };
        ready(request, partition, partition);
    }
}

/// Copies back a partition that has arrived, unless that was done before.
#[inline(always)]
pub fn arrived(request: c_int, partition: c_int) {
    if !is_unused() {
        in_partitions(request, partition, partition, |copy, is_first, bytes| {
            if is_first {
                copy.give_back(bytes);
            }
        });
    }
}

/// Calls `each` for these partitions of an active request with a copy, whether the partition is seen
/// for the first time, and the bytes.
#[cold]
fn in_partitions(
    request: c_int,
    low: c_int,
    high: c_int,
    each: impl Fn(&mut Lasting, bool, std::ops::Range<usize>),
) {
    let mut entries = lock();
    let Some(entry) = entries.get_mut(&request).filter(|entry| entry.active) else {
        return;
    };
    let Some(partitions) = entry.partitions else {
        return;
    };
    let last = i64::from(high).min(partitions.count as i64 - 1);
    for partition in i64::from(low).max(0)..=last {
        let partition = partition as usize;
        let is_first = !entry.arrived.contains(&partition);
        for copy in &mut entry.copies {
            each(copy, is_first, partitions.bytes(partition));
        }
        if is_first {
            entry.arrived.push(partition);
        }
    }
}

/// The request was freed.
#[inline(always)]
pub fn release(request: c_int) {
    if !is_unused() {
        end(request);
    }
}

#[cold]
fn end(request: c_int) {
    let mut entries = lock();
    let ended = entries.remove(&request);
    COUNT.store(entries.len(), Ordering::Release);
    // An operation that was freed before it was complete may still use the memory.
    if let Some(entry) = ended.filter(|entry| entry.active) {
        std::mem::forget(entry);
    }
}
