//! The threads that do requests. A thread that will wait for a client says so, and another takes its
//! place, so that the client's own requests, which may be what it waits for, are done meanwhile.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Threads at most, those that wait among them.
const THREADS_MAX: usize = 256;

type Job = Box<dyn FnOnce() + Send>;

struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    /// Threads that do not wait for a client.
    working: usize,
    threads: usize,
    ending: bool,
}

pub(crate) struct Pool {
    state: Mutex<State>,
    told: Condvar,
    /// Threads that work at once.
    wanted: usize,
    /// Run once in each thread.
    begin: fn(),
}

impl Pool {
    pub(crate) fn start(wanted: usize, begin: fn()) -> Arc<Pool> {
        let state = State {
            jobs: VecDeque::new(),
            idle: 0,
            working: 0,
            threads: 0,
            ending: false,
        };
        let pool = Pool {
            state: Mutex::new(state),
            told: Condvar::new(),
            wanted,
            begin,
        };
        Arc::new(pool)
    }

    /// Has a job done. How many wait is bounded by the requests that connections may have.
    pub(crate) fn push(self: &Arc<Pool>, job: Job) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.jobs.push_back(job);
        if state.idle > 0 {
            self.told.notify_one();
        } else {
            self.grow(&mut state);
        }
    }

    fn grow(self: &Arc<Pool>, state: &mut State) {
        if state.working >= self.wanted || state.threads >= THREADS_MAX {
            return;
        }
        let pool = self.clone();
        let thread = std::thread::Builder::new().name("oxfs worker".into());
        if thread.spawn(move || pool.work()).is_ok() {
            state.threads += 1;
            state.working += 1;
        }
    }

    fn work(&self) {
        (self.begin)();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // After others came back from waiting there may be too many.
            if state.ending || state.working > self.wanted {
                break;
            }
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // A panic must not cost the server a thread.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            } else {
                state.idle += 1;
                state = self
                    .told
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
        state.working -= 1;
        state.threads -= 1;
    }

    /// Does something that waits for a client; another thread works meanwhile.
    pub(crate) fn waiting<T>(self: &Arc<Pool>, wait: impl FnOnce() -> T) -> T {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.working -= 1;
            if state.idle == 0 {
                self.grow(&mut state);
            }
        }
        let waited = wait();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.working += 1;
        waited
    }

    pub(crate) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ending = true;
        self.told.notify_all();
    }
}
