//! What a communicator keeps from one collective for the next: schedules, working memory and tasks.
//!
//! Programs repeat their collectives, so a schedule that was built is kept for the next call of the
//! same collective, length and root, or with the same list of blocks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::Request;

use crate::process::Task;
use crate::process::background::Lasting;
use oxmpi_schedules::plan::{Call, KeptCall};
use oxmpi_schedules::{SCRATCH_ALIGN, Schedule, Transfer};

/// Schedules per communicator: the collectives of one iteration of most programs.
const SCHEDULES_MAX: usize = 8;

/// Working memory of collectives that can be under way at once without allocating.
const WORKSPACES_MAX: usize = 4;

/// Tasks of nonblocking collectives that can be under way at once without allocating; 500 bytes
/// each.
const TASKS_MAX: usize = 64;

/// Scratch memory that is kept, in bytes; a longer one is given back to the system.
const SCRATCH_BYTES_MAX: usize = 8 << 20;

/// Scratch memory comes in cache lines.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Line(#[expect(dead_code, reason = "seen only as bytes")] [u8; LINE_BYTES]);

pub(crate) const LINE_BYTES: usize = 64;
const _: () = assert!(SCRATCH_ALIGN == align_of::<Line>());

/// A transfer in flight.
pub(crate) struct Started {
    pub(crate) request: Request,
    pub(crate) index: u32,
    pub(crate) transfer: Transfer,
}

/// The memory that walking a schedule needs.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(crate) scratch: Vec<Line>,
    /// Transfers of the round.
    pub(crate) in_flight: Vec<Started>,
}

/// A communicator's.
#[derive(Default)]
pub(crate) struct Kept {
    schedules: Mutex<Schedules>,
    workspaces: Mutex<Vec<Workspace>>,
    /// Tasks that hold nothing, and are over.
    tasks: Mutex<Vec<Arc<Task<dyn Lasting>>>>,
}

#[derive(Default)]
struct Schedules {
    known: Vec<(KeptCall, Arc<Schedule>)>,
    /// Which one the next new schedule replaces.
    oldest: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    /// The schedule of a call, out of those that are kept or built now.
    pub(crate) fn schedule(
        &self,
        call: &Call<'_>,
        build: impl FnOnce() -> Schedule,
    ) -> Arc<Schedule> {
        let mut schedules = lock(&self.schedules);
        if let Some((_, schedule)) = schedules.known.iter().find(|(known, _)| known == call) {
            return schedule.clone();
        }
        let schedule = Arc::new(build());
        let entry = (call.keep(), schedule.clone());
        if schedules.known.len() < SCHEDULES_MAX {
            schedules.known.push(entry);
        } else {
            let oldest = schedules.oldest;
            schedules.known[oldest] = entry;
            schedules.oldest = (oldest + 1) % SCHEDULES_MAX;
        }
        schedule
    }

    /// A task that was used before.
    pub(crate) fn task(&self) -> Option<Arc<Task<dyn Lasting>>> {
        lock(&self.tasks).pop()
    }

    /// The request of a task is gone, and it holds nothing.
    pub(crate) fn keep_task(&self, task: Arc<Task<dyn Lasting>>) {
        let mut tasks = lock(&self.tasks);
        if tasks.len() < TASKS_MAX && task.is_over() {
            tasks.push(task);
        }
    }

    /// Working memory with so many bytes of scratch, whose contents are arbitrary.
    pub(crate) fn workspace(&self, scratch_bytes: usize) -> Workspace {
        let mut workspace = lock(&self.workspaces).pop().unwrap_or_default();
        let lines = scratch_bytes.div_ceil(LINE_BYTES);
        if workspace.scratch.len() < lines {
            workspace.scratch = vec![Line([0; LINE_BYTES]); lines];
        }
        workspace
    }

    /// A collective has ended.
    pub(crate) fn give_back(&self, workspace: Workspace) {
        let mut workspaces = lock(&self.workspaces);
        let fits = workspace.scratch.len() * LINE_BYTES <= SCRATCH_BYTES_MAX;
        if fits && workspaces.len() < WORKSPACES_MAX {
            workspaces.push(workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_schedules::{Placement, Position, plan};

    #[test]
    fn a_schedule_is_built_once_and_the_oldest_goes_first() {
        let kept = Kept::default();
        let built = std::cell::Cell::new(0);
        let look = |bytes| {
            let call = Call::Bcast { bytes, root: 1 };
            kept.schedule(&call, || {
                built.set(built.get() + 1);
                plan::schedule(&call, Position::new(0, 4), Placement::one_host(4, 2))
            })
        };
        for bytes in 0..SCHEDULES_MAX {
            assert!(Arc::ptr_eq(&look(bytes), &look(bytes)));
        }
        assert_eq!(built.get(), SCHEDULES_MAX);
        look(1000);
        look(1);
        assert_eq!(
            built.get(),
            SCHEDULES_MAX + 1,
            "only the oldest was replaced"
        );
        look(0);
        assert_eq!(built.get(), SCHEDULES_MAX + 2);
    }

    #[test]
    fn scratch_is_used_again_unless_it_is_long() {
        let kept = Kept::default();
        let first = kept.workspace(1000);
        let address = first.scratch.as_ptr();
        kept.give_back(first);
        let again = kept.workspace(500);
        assert_eq!(again.scratch.as_ptr(), address);
        kept.give_back(kept.workspace(SCRATCH_BYTES_MAX + 1));
        assert!(lock(&kept.workspaces).is_empty());
    }
}
