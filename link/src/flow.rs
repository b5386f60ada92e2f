//! STOP and GO: a receiver whose buffers run full says STOP at the high mark and GO at the low
//! mark; a stopped sender probes.
//!
//! Both directions of a link are here. STOP travels as a frame of its own and as a flag on
//! everything that leaves meanwhile, and every frame without the flag is a GO: so the answer to a
//! probe ends a stop whose GO was lost.

use core::hash::{Hash, Hasher};

use crate::Config;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    /// The peer wants silence.
    pub stopped: bool,
    /// We want silence.
    pub stopping: bool,
    /// A STOP is to leave.
    pub stop_due: bool,
    /// A GO is to leave.
    pub go_due: bool,
    /// The last STOP was lost if data still comes then.
    stop_again_at: u64,
}

impl Flow {
    pub fn new() -> Flow {
        Flow {
            stopped: false,
            stopping: false,
            stop_due: false,
            go_due: false,
            stop_again_at: 0,
        }
    }

    /// Frames wait in the device.
    #[inline]
    pub fn note_backlog(&mut self, config: &Config, now: u64, backlog: usize, rto_ns: u64) {
        if !self.stopping {
            if backlog >= config.backlog_high {
                self.stopping = true;
                self.say_stop(now, rto_ns);
            }
        } else if backlog <= config.backlog_low {
            self.stopping = false;
            self.stop_due = false;
            self.go_due = true;
        }
    }

    /// Data came. If it comes long after STOP was said, it was not heard.
    #[inline]
    pub fn note_data(&mut self, now: u64, rto_ns: u64) {
        if self.stopping && now >= self.stop_again_at {
            self.say_stop(now, rto_ns);
        }
    }

    fn say_stop(&mut self, now: u64, rto_ns: u64) {
        self.stop_due = true;
        self.go_due = false;
        self.stop_again_at = now + rto_ns;
    }
}

impl Flow {
    /// What decides about the next action, with times relative to `now`.
    pub fn digest<H: Hasher>(&self, now: u64, state: &mut H) {
        (self.stopped, self.stopping, self.stop_due, self.go_due).hash(state);
        self.stop_again_at.saturating_sub(now).hash(state);
    }
}
