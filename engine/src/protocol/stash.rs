//! The dump area: bytes of eager messages for which no receive has been posted yet.
//!
//! Buffers are recycled by size class, so that a steady flow of unexpected messages allocates
//! nothing. How much can be here at once is bounded by the room each peer has (see
//! `Limits::room_bytes`), not by this module.

/// Names a stashed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StashId(u32);

#[derive(Default)]
pub(super) struct Stash {
    /// The message's bytes as far as they have arrived, in order.
    pub bytes: Vec<u8>,
    /// The whole message's length.
    pub total: usize,
}

/// Size classes: 2^6 to 2^(6+15) bytes.
const CLASSES: usize = 16;
/// Spare bytes kept per class, and spare buffers at least and at most: as many short messages, or
/// pieces of a few long ones, as come unawaited in one go.
const SPARE_BYTES_MAX: usize = 16 << 20;
const SPARE_MIN: usize = 8;
const SPARE_MAX: usize = 1024;

pub(super) struct Stashes {
    slab: Vec<Stash>,
    free: Vec<u32>,
    spare: [Vec<Vec<u8>>; CLASSES],
}

fn class(bytes: usize) -> usize {
    (bytes.max(64).next_power_of_two().trailing_zeros() as usize - 6).min(CLASSES - 1)
}

impl Stashes {
    pub fn new() -> Self {
        Self {
            slab: Vec::new(),
            free: Vec::new(),
            spare: Default::default(),
        }
    }

    /// Room for a message of `bytes`, whose first packet carried `first`.
    pub fn insert(&mut self, bytes: usize, first: &[u8]) -> StashId {
        let class = class(bytes);
        let mut buffer = self.spare[class]
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(bytes.max(64 << class)));
        buffer.extend_from_slice(first);
        let stash = Stash {
            bytes: buffer,
            total: bytes,
        };
        if let Some(index) = self.free.pop() {
            self.slab[index as usize] = stash;
            return StashId(index);
        }
        self.slab.push(stash);
        StashId(self.slab.len() as u32 - 1)
    }

    /// Further bytes of the message; false if it has not so many.
    #[must_use]
    pub fn append(&mut self, id: StashId, more: &[u8]) -> bool {
        let stash = &mut self.slab[id.0 as usize];
        let fits = stash.bytes.len() + more.len() <= stash.total;
        if fits {
            stash.bytes.extend_from_slice(more);
        }
        fits
    }

    /// How much of the message is here.
    pub fn arrived(&self, id: StashId) -> u64 {
        self.slab[id.0 as usize].bytes.len() as u64
    }

    /// Takes the message's bytes out.
    pub fn remove(&mut self, id: StashId) -> Vec<u8> {
        self.free.push(id.0);
        std::mem::take(&mut self.slab[id.0 as usize].bytes)
    }

    /// Gives an emptied buffer back.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        let spare = &mut self.spare[class(buffer.capacity())];
        let most = (SPARE_BYTES_MAX / buffer.capacity().max(64)).clamp(SPARE_MIN, SPARE_MAX);
        // A buffer serves the class of its capacity only if it was made for it.
        if spare.len() < most && buffer.capacity().is_power_of_two() {
            buffer.clear();
            spare.push(buffer);
        }
    }
}
