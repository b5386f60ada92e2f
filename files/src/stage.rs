//! The stage: memory that all processes of a file map when they run on one host, for the windows of
//! its aggregating ranks.
//!
//! Data of a collective access are copied once between the program's memory and a window there, by
//! the rank whose data they are. An aggregating rank has several windows at a time, so that some
//! fill while one is written. Slots have no locks: who may use one when is told by messages
//! (`staged`).
//!
//! The stage is made at the first access that needs it, by all ranks together, and so all of them
//! know whether there is one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::mapped::Mapped;

/// Windows that each aggregating rank has there, and how many of them it copies or reads ahead of
/// the one that is written or copied. Two ranks may wait for each other only over a distance of the
/// slots, so there must be more of those.
pub(crate) const SLOTS: u64 = 4;
pub(crate) const AHEAD: u64 = 1;

/// The same where ranks share CPUs: who runs shall get much done before it has to wait for others.
pub(crate) const SLOTS_CROWDED: u64 = 8;
pub(crate) const AHEAD_CROWDED: u64 = SLOTS_CROWDED - 2;

const _: () = assert!(SLOTS > AHEAD + 1 && SLOTS_CROWDED > AHEAD_CROWDED + 1);

/// Bytes of a window unless the program wants another number: it stays in the cache until it is
/// written. Of 256 KiB, 1 MiB and 4 MiB this took the least CPU time on tmpfs and ext4.
pub(crate) const WINDOW: u64 = 1 << 20;

/// Bytes of all windows of a file, at most; windows are shorter where that would be too little.
pub(crate) const STAGE_MAX: u64 = 64 << 20;

/// The first page has a number that nobody else has, to recognise the memory by: a process number
/// may mean another process in another container.
const HEAD_BYTES: u64 = 4096;

/// What a process knows of the stage of a file.
#[derive(Default)]
pub(crate) enum Known {
    /// No access has needed it so far.
    #[default]
    Unneeded,
    /// Some rank cannot map it: data go by messages.
    Impossible,
    There(Arc<Stage>),
}

/// See the top of this file.
pub(crate) struct Stage {
    memory: Mapped,
    bytes: u64,
}

impl Stage {
    /// Bytes that so many slots need.
    pub(crate) fn bytes_for(slots: u64, window: u64) -> u64 {
        HEAD_BYTES + slots * window
    }

    /// A new one, and what others need to open it: a process, its descriptor, and a number to
    /// recognise the memory by.
    pub(crate) fn new(bytes: u64) -> Option<(Stage, [u64; 3])> {
        let memory = Mapped::new(bytes as usize)?;
        let mark = random();
        memory.word().store(mark, Ordering::Release);
        let words = [u64::from(std::process::id()), memory.number() as u64, mark];
        Some((Stage { memory, bytes }, words))
    }

    /// The one that another process has made.
    pub(crate) fn open(words: &[u64], bytes: u64) -> Option<Stage> {
        let memory = Mapped::open(words[0] as u32, words[1] as i32, bytes as usize)?;
        let is_it = memory.word().load(Ordering::Acquire) == words[2];
        is_it.then_some(Stage { memory, bytes })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory of a slot, where windows have `window` bytes.
    pub(crate) fn slot(&self, slot: u64, window: u64) -> *mut u8 {
        let from = HEAD_BYTES + slot * window;
        self.memory.part(from as usize, window as usize)
    }
}

/// A number that nobody else has, other than 0.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Each state has keys of its own, which the system has drawn.
    RandomState::new().hash_one(std::process::id()).max(1)
}
