//! What the receiving half has to say: acknowledgements owed, and LOSE for frames that are missing.
//!
//! An acknowledgement waits for data that carries it, for `ack_delay_ns` at most; it leaves at once
//! when the sender asks for it, when [`ACK_FRAMES_MAX`] frames have come, when a frame came twice
//! (the first acknowledgement was lost) and when a gap opens or closes.

use core::hash::{Hash, Hasher};

use crate::config::{ACK_FRAMES_MAX, REORDER_FRAMES};
use crate::{Config, Recovery};

/// Acknowledgements and LOSE that have not been said yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Debt {
    /// Frames that came since the last word of ours.
    pub owed: u32,
    /// They are to be acknowledged now.
    pub ack_due: bool,
    /// LOSE is to be said now.
    pub lose_due: bool,
    /// The expected frame is missing: later ones came.
    gap: bool,
    /// Frames that came too early since the gap opened.
    gap_frames: u32,
    /// Number of the last of them.
    gap_latest: u32,
    /// LOSE was lost, or its answer, if frames still come too early then.
    lose_again_at: u64,
}

impl Debt {
    pub fn new() -> Debt {
        Debt {
            owed: 0,
            ack_due: false,
            lose_due: false,
            gap: false,
            gap_frames: 0,
            gap_latest: 0,
            lose_again_at: 0,
        }
    }

    /// The expected frame came; `kept` later ones still wait for another.
    #[inline]
    pub fn in_order(&mut self, config: &Config, asking: bool, kept: u32) {
        self.owed += 1;
        let half = (config.window_frames_max / 2).clamp(1, ACK_FRAMES_MAX);
        if asking || self.owed >= half || self.gap || config.ack_delay_ns == 0 {
            self.ack_due = true;
        }
        if self.gap {
            self.gap = kept > 0;
            self.gap_frames = 0;
            self.lose_due = false;
        }
    }

    /// A frame came that was there already: what we said of it was lost, and also what we said of a
    /// gap behind it.
    pub fn duplicate(&mut self, recovery: Recovery) {
        if self.gap && recovery == Recovery::GoBackN {
            self.lose_due = true;
        } else {
            self.ack_due = true;
        }
    }

    /// A frame came before the expected one.
    pub fn too_early(
        &mut self,
        config: &Config,
        now: u64,
        sequence: u32,
        asking: bool,
        rto_ns: u64,
    ) {
        let opened = !core::mem::replace(&mut self.gap, true);
        self.gap_frames += 1;
        let again = now >= self.lose_again_at;
        match config.recovery {
            Recovery::GoBackN => {
                // Numbers that start over show that the sender went back and that the expected
                // frame was lost once more.
                let over = (sequence.wrapping_sub(self.gap_latest) as i32) <= 0;
                if opened || over || again {
                    self.say_lose(now, rto_ns);
                }
            }
            Recovery::Selective => {
                self.owed += 1;
                if self.gap_frames == REORDER_FRAMES || again && self.gap_frames > REORDER_FRAMES {
                    self.say_lose(now, rto_ns);
                }
                let early = self.gap_frames <= REORDER_FRAMES;
                let many = self.owed >= (config.window_frames_max / 2).clamp(1, ACK_FRAMES_MAX);
                self.ack_due |= early || asking || many;
            }
        }
        self.gap_latest = sequence;
    }

    fn say_lose(&mut self, now: u64, rto_ns: u64) {
        self.lose_due = true;
        self.lose_again_at = now + rto_ns;
    }

    /// Everything that is owed was said, by a frame that carries the acknowledgement and, if there
    /// is one, the bitmap.
    #[inline]
    pub fn settle(&mut self) {
        self.owed = 0;
        self.ack_due = false;
    }
}

impl Debt {
    /// What decides about the next action, with times relative to `now`.
    pub fn digest<H: Hasher>(&self, now: u64, state: &mut H) {
        (self.owed, self.ack_due, self.lose_due, self.gap).hash(state);
        (self.gap_frames, self.gap_latest).hash(state);
        self.lose_again_at.saturating_sub(now).hash(state);
    }
}
