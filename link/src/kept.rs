//! Frames that came before an earlier one, copied until it comes (selective repeat only).
//!
//! Buffers are made when they are first needed, given back when their frame was delivered and used
//! again; there are never more of them than frames in a window.

use alloc::vec;
use alloc::vec::Vec;

const NONE: u16 = u16::MAX;

/// How a frame's payload begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Edges {
    pub begins_message: bool,
    pub ends_message: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    payload: Vec<u8>,
    edges: Edges,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    /// Slot of each frame, by the low bits of its number. Twice the window, since frames being
    /// delivered and frames beyond them are both in it. Empty until the first gap.
    index: Vec<u16>,
    slots: Vec<Slot>,
    free: Vec<u16>,
    count: u32,
}

impl Kept {
    pub fn new() -> Kept {
        Kept {
            index: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            count: 0,
        }
    }

    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    fn place(&self, sequence: u32) -> usize {
        sequence as usize & (self.index.len() - 1)
    }

    /// Whether a frame within the window is kept.
    pub fn holds(&self, sequence: u32) -> bool {
        !self.index.is_empty() && self.index[self.place(sequence)] != NONE
    }

    /// Keeps a frame that is not kept yet, less than a window beyond the expected one.
    pub fn insert(&mut self, window: u32, sequence: u32, payload: &[u8], edges: Edges) {
        if self.index.is_empty() {
            self.index = vec![NONE; (2 * window as usize).next_power_of_two()];
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                payload: Vec::new(),
                edges,
            });
            // At most a window of frames: WINDOW_FRAMES_MAX is far below 65535.
            (self.slots.len() - 1) as u16
        });
        let place = self.place(sequence);
        assert_eq!(self.index[place], NONE, "frame {sequence} is kept already");
        self.index[place] = slot;
        let slot = &mut self.slots[usize::from(slot)];
        slot.payload.extend_from_slice(payload);
        slot.edges = edges;
        self.count += 1;
        assert!(self.count < window, "more frames kept than a window has");
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
        &self.slots[slot].payload
    }

    /// Forgets a frame.
    pub fn release(&mut self, sequence: u32) {
        let place = self.place(sequence);
        let slot = core::mem::replace(&mut self.index[place], NONE);
        assert_ne!(slot, NONE, "frame {sequence} is not kept");
        self.count -= 1;
        self.slots[usize::from(slot)].payload.clear();
        self.free.push(slot);
    }
}
