//! Work that goes on while the program does something else: nonblocking collectives, partitioned receives, `idup`.
//!
//! A [`Task`] is a state machine over engine requests. Whoever waits inside the library steps all tasks whenever something has
//! arrived (MPI 5.0 §3.7.4: a blocked call must let other operations progress), and a test of the task itself steps it too.
//! Nobody waits for a lock here: a task that another thread is stepping is that thread's business.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

use oxmpi_engine::{Background as EngineBackground, Engine};

/// A state machine. `step` does all that can be done without waiting and tells whether it is over.
pub(crate) trait Work: Send {
    /// True when there is nothing more to do; it is not called again then.
    fn step(&mut self) -> bool;
}

/// Work under way, shared by the request that stands for it and the list of all tasks.
pub(crate) struct Task<W: ?Sized> {
    over: AtomicBool,
    work: Mutex<W>,
}

impl<W: Work> Task<W> {
    pub(crate) fn new(work: W) -> Arc<Self> {
        Arc::new(Task {
            over: AtomicBool::new(false),
            work: Mutex::new(work),
        })
    }

    /// Looks into work that is over, or begins it again.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut W) -> R) -> R {
        look(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W: Work + ?Sized> Task<W> {
    /// Whether the work is over. Pairs with the Release in `step`.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The work begins again (persistent operations); only while it is over.
    pub(crate) fn begin(&self) {
        self.over.store(false, Ordering::Relaxed);
    }

    /// True if this call ended the work.
    fn step(&self) -> bool {
        let mut work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(_)) => panic!("a thread panicked in background work"),
        };
        if self.is_over() || !work.step() {
            return false;
        }
        self.over.store(true, Ordering::Release);
        true
    }
}

/// The tasks of a process.
pub(crate) struct Background {
    engine: Weak<Engine>,
    tasks: Mutex<Vec<Arc<Task<dyn Work>>>>,
}

impl Background {
    pub(crate) fn new(engine: &Arc<Engine>) -> Arc<Self> {
        Arc::new(Background {
            engine: Arc::downgrade(engine),
            tasks: Mutex::new(Vec::new()),
        })
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Task<dyn Work>>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task in after a first step; nothing to do if that was all.
    pub(crate) fn start(&self, task: Arc<Task<impl Work + 'static>>) {
        task.step();
        if task.is_over() {
            return;
        }
        let mut tasks = self.tasks();
        tasks.push(task);
        let first = tasks.len() == 1;
        drop(tasks);
        if let (true, Some(engine)) = (first, self.engine.upgrade()) {
            engine.set_background_active(true);
        }
    }

    /// Steps the tasks if there are any, for calls that only look.
    pub(crate) fn step_if_active(&self) {
        if !self.tasks().is_empty() {
            EngineBackground::step(self);
        }
    }
}

impl EngineBackground for Background {
    fn step(&self) {
        let tasks: Vec<_> = self.tasks().clone();
        let ended = tasks.iter().filter(|task| task.step()).count();
        if ended == 0 {
            return;
        }
        let mut tasks = self.tasks();
        tasks.retain(|task| !task.is_over());
        let none = tasks.is_empty();
        drop(tasks);
        if let Some(engine) = self.engine.upgrade() {
            if none {
                engine.set_background_active(false);
            }
            // Another thread may sleep until this task is over.
            engine.rouse();
        }
    }
}
