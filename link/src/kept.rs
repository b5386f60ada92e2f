//! Frames that came before an earlier one, copied until it comes (selective repeat only).
//!
//! There are never more of them than frames in a window. Memory for all of them is taken when the
//! link is made, but written to only when it is first needed: on most links that is never.

use alloc::vec::Vec;

use crate::{Config, Recovery};

const NONE: u16 = u16::MAX;

/// How a frame's payload begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Edges {
    pub begins_message: bool,
    pub ends_message: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Slot {
    length: u16,
    edges: Edges,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    /// Slot of each frame, by the low bits of its number. Twice the window, since frames being
    /// delivered and frames beyond them are both in it. Empty until the first gap.
    index: Vec<u16>,
    slots: Vec<Slot>,
    /// Slots that are made and vacant.
    free: Vec<u16>,
    /// The payloads, `payload_bytes_max` for each slot that is made.
    payloads: Vec<u8>,
    payload_bytes_max: usize,
    slots_max: usize,
    count: u32,
}

/// Frames that can be kept: all of a window but the expected one.
const fn slots_max(config: &Config) -> usize {
    match config.recovery {
        Recovery::GoBackN => 0,
        Recovery::Selective => config.window_frames_max as usize - 1,
    }
}

/// Places in `index`, for so many slots.
const fn places(slots_max: usize) -> usize {
    match slots_max {
        0 => 0,
        _ => (2 * (slots_max + 1)).next_power_of_two(),
    }
}

impl Kept {
    pub fn new(config: &Config) -> Kept {
        let slots_max = slots_max(config);
        Kept {
            index: Vec::with_capacity(places(slots_max)),
            slots: Vec::with_capacity(slots_max),
            free: Vec::with_capacity(slots_max),
            payloads: Vec::with_capacity(slots_max * config.payload_bytes_max),
            payload_bytes_max: config.payload_bytes_max,
            slots_max,
            count: 0,
        }
    }

    /// Forgets everything.
    pub fn renew(&mut self) {
        self.index.clear();
        self.slots.clear();
        self.free.clear();
        self.payloads.clear();
        self.count = 0;
    }

    /// What [`Kept::new`] allocates.
    pub const fn bytes(config: &Config) -> usize {
        let slot = size_of::<Slot>() + size_of::<u16>() + config.payload_bytes_max;
        let slots = slots_max(config);
        places(slots) * size_of::<u16>() + slots * slot
    }

    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether a frame can be kept at all: never by go-back-N, nor if it is longer than both sides
    /// have agreed.
    #[inline]
    pub fn has_room_for(&self, payload: &[u8]) -> bool {
        self.slots_max > 0 && payload.len() <= self.payload_bytes_max
    }

    fn place(&self, sequence: u32) -> usize {
        sequence as usize & (self.index.len() - 1)
    }

    /// Whether a frame within the window is kept.
    pub fn holds(&self, sequence: u32) -> bool {
        !self.index.is_empty() && self.index[self.place(sequence)] != NONE
    }

    /// Keeps a frame for which there [is room](Kept::has_room_for) and that is not kept yet, less
    /// than a window beyond the expected one.
    pub fn insert(&mut self, sequence: u32, payload: &[u8], edges: Edges) {
        if self.index.is_empty() {
            self.index.resize(places(self.slots_max), NONE);
        }
        let length = payload.len() as u16;
        let slot = self.free.pop().unwrap_or_else(|| {
            assert!(
                self.slots.len() < self.slots_max,
                "more frames kept than a window has"
            );
            self.slots.push(Slot { length, edges });
            let end = self.slots.len() * self.payload_bytes_max;
            self.payloads.resize(end, 0);
            // At most a window of frames: WINDOW_FRAMES_MAX is far below 65535.
            (self.slots.len() - 1) as u16
        });
        let place = self.place(sequence);
        assert_eq!(self.index[place], NONE, "frame {sequence} is kept already");
        self.index[place] = slot;
        let slot = usize::from(slot);
        self.slots[slot] = Slot { length, edges };
        self.payloads[slot * self.payload_bytes_max..][..payload.len()].copy_from_slice(payload);
        self.count += 1;
    }

    /// How a frame's payload begins and ends, if it is kept.
    pub fn edges(&self, sequence: u32) -> Option<Edges> {
        self.holds(sequence)
            .then(|| self.slots[self.slot(sequence)].edges)
    }

    /// Slot of a kept frame.
    pub fn slot(&self, sequence: u32) -> usize {
        let slot = self.index[self.place(sequence)];
        assert_ne!(slot, NONE, "frame {sequence} is not kept");
        usize::from(slot)
    }

    /// Payload in a slot.
    pub fn payload(&self, slot: usize) -> &[u8] {
        let length = usize::from(self.slots[slot].length);
        &self.payloads[slot * self.payload_bytes_max..][..length]
    }

    /// Forgets a frame.
    pub fn release(&mut self, sequence: u32) {
        let place = self.place(sequence);
        let slot = core::mem::replace(&mut self.index[place], NONE);
        assert_ne!(slot, NONE, "frame {sequence} is not kept");
        self.count -= 1;
        self.free.push(slot);
    }
}
