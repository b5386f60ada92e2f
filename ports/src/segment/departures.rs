//! Who has left: processes of this host by their ports, processes of the whole job by the launcher's
//! records.

use super::{Death, PortState, Segment};
use crate::layout::{PAGE_BYTES, PROCESSES_MAX};
use crate::sync::{AtomicU64, Ordering};

impl Segment {
    /// Records a death and wakes every sleeper, so that who waits for the dead learns of it.
    pub fn mark_dead(&self, port: u32, death: Death) {
        self.depart(port, PortState::Dead(death));
    }

    pub(super) fn depart(&self, port: u32, state: PortState) {
        self.set_state(port, state);
        self.count_departure();
    }

    fn count_departure(&self) {
        self.header().departures.fetch_add(1, Ordering::SeqCst);
        self.wake_everybody();
    }

    /// Records how a process of the job died, on whatever host it ran, and wakes every sleeper. The
    /// first record stays. Launchers call this; without memory for the record nobody is told.
    pub fn record_death(&self, process: u32, death: Death) {
        self.record(process, PortState::Dead(death));
    }

    /// Records that a process of the job has finalised and ended, as [`Segment::record_death`] does
    /// for deaths.
    pub fn record_finish(&self, process: u32) {
        self.record(process, PortState::Finished);
    }

    fn record(&self, process: u32, state: PortState) {
        if process >= PROCESSES_MAX {
            return;
        }
        let page = self.layout.death(process) / PAGE_BYTES * PAGE_BYTES;
        // A page that cannot be had would be a SIGBUS for the launcher.
        if self.reserve(page, PAGE_BYTES).is_err() {
            return;
        }
        let word: &AtomicU64 = self.at(self.layout.death(process));
        let first = word.compare_exchange(0, state.to_word(), Ordering::AcqRel, Ordering::Relaxed);
        if first.is_ok() {
            self.count_departure();
        }
    }

    /// How a process of the job died, as far as the launcher has recorded it.
    pub fn death_of(&self, process: u32) -> Option<Death> {
        match self.recorded(process) {
            PortState::Dead(death) => Some(death),
            _ => None,
        }
    }

    /// Whether the launcher has recorded that a process of the job has finalised and ended.
    pub fn has_finished(&self, process: u32) -> bool {
        self.recorded(process) == PortState::Finished
    }

    fn recorded(&self, process: u32) -> PortState {
        if process >= PROCESSES_MAX {
            return PortState::Empty;
        }
        let word: &AtomicU64 = self.at(self.layout.death(process));
        PortState::from_word(word.load(Ordering::Acquire))
    }

    /// The process in `port` is told that another one is lost. If it fails afterwards, that may be
    /// the reason.
    pub fn note_loss(&self, port: u32) {
        self.resident(port).told_of_loss.store(1, Ordering::Release);
    }

    /// Whether the process in `port` was told that another one is lost.
    pub fn knows_of_loss(&self, port: u32) -> bool {
        self.resident(port).told_of_loss.load(Ordering::Acquire) == 1
    }

    /// Processes that finished here or died anywhere, so far: a changed number means that states
    /// are worth reading.
    #[inline(always)]
    pub fn departures(&self) -> u32 {
        self.header().departures.load(Ordering::Relaxed)
    }
}
