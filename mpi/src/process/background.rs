//! Work that goes on while the program does something else: nonblocking collectives, partitioned
//! receives, `idup`.
//!
//! A [`Task`] is a state machine over engine requests. Whoever waits inside the library steps all
//! tasks whenever something has arrived (MPI 5.0 §3.7.4: a blocked call must let other operations
//! progress), and a test of the task itself steps it too. While every thread of the program
//! computes, the engine's driver steps them; tasks that call functions of the program, such as
//! reductions with an operation of its own, wait for a call of the program then: its functions need
//! not be thread-safe. Nobody waits for a lock here: a task that another thread is stepping is that
//! thread's business. A task that looks for its own end (an operation whose request was freed)
//! comes back here from inside its step: the round that called it goes on to the other tasks
//! anyway, so the inner call returns at once. A round makes one step per task, however the tasks
//! depend on each other. A thread that waits makes it in parts of [`PART`] tasks and looks in
//! between whether what it waits for has come: beside thousands of tasks that stand still, a message
//! takes some microseconds more.
//!
//! Some tasks last and mostly have nothing to do: the services of windows. When all tasks have been
//! like that for a while (*dormant*) the engine has them stepped only while messages lie there that
//! no receive has asked for, and messages of the program cost what they cost without tasks.

use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};
use std::task::Waker;

use oxmpi_engine::{Background as EngineBackground, Engine, Work as State};

use crate::error::ErrorKind;

/// A state machine. `step` does all that can be done without waiting and tells whether it is over.
pub trait Work: Send {
    /// True when there is nothing more to do; it is not called again then.
    fn step(&mut self) -> bool;
    /// Whether it sends a message that the process must not finalise before.
    fn is_departing(&self) -> bool {
        false
    }
    /// Whether a step may call functions of the program, so that only threads of the program may
    /// make it.
    fn calls_program(&self) -> bool {
        false
    }
    /// Whether it has nothing to do before a message comes that no receive has asked for. What
    /// else gives it something to do must call `Background::rouse`.
    fn is_dormant(&self) -> bool {
        false
    }
}

/// Work that a request stands for. It can begin again, and its memory can be used for other work of
/// its kind.
pub(crate) trait Lasting: Work + Any {
    /// From the beginning; only while it is over, or was never begun.
    fn begin(&mut self);
    /// How it ended, until somebody has taken it.
    fn outcome(&mut self) -> &mut Option<Result<(), ErrorKind>>;
    /// Lets go of everything: there is no request any more.
    fn clear(&mut self);
    /// Ends it here and now, whatever the others do.
    fn give_up(&mut self);
}

/// Whose thread steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    Program,
    Driver,
}

/// Work under way, shared by the request that stands for it and the list of all tasks.
pub struct Task<W: ?Sized> {
    over: AtomicBool,
    /// Steps may call functions of the program.
    calls_program: AtomicBool,
    /// It was dormant after the last step.
    dormant: AtomicBool,
    /// A step is due. Whoever cannot make it because another thread is in one leaves this set, and
    /// that thread makes another: what has come meanwhile may be what it has just looked for in
    /// vain.
    due: AtomicBool,
    /// The future that waits for the end.
    waker: Mutex<Option<Waker>>,
    work: Mutex<W>,
}

impl<W: Work> Task<W> {
    /// Work that was not begun: [`Process::start`](crate::process::Process::start) does that.
    pub fn new(work: W) -> Arc<Self> {
        Arc::new(Task {
            over: AtomicBool::new(false),
            calls_program: AtomicBool::new(work.calls_program()),
            dormant: AtomicBool::new(false),
            due: AtomicBool::new(false),
            waker: Mutex::default(),
            work: Mutex::new(work),
        })
    }
}

impl<W: Work + ?Sized> Task<W> {
    /// Looks into work that is over, or begins it again.
    pub fn with<R>(&self, look: impl FnOnce(&mut W) -> R) -> R {
        look(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the work is over. Pairs with the Release in `step`.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The work begins again (persistent operations); only while it is over.
    pub(crate) fn begin(&self) {
        let calls_program = self.with(|work| work.calls_program());
        self.calls_program.store(calls_program, Ordering::Relaxed);
        // Pairs with the acquire in `is_over`.
        self.over.store(false, Ordering::Release);
    }

    /// Whether the process must not finalise before it is over. A task that another thread steps
    /// now is asked again later.
    fn is_departing(&self) -> bool {
        match self.work.try_lock() {
            Ok(work) => !self.is_over() && work.is_departing(),
            Err(_) => !self.is_over(),
        }
    }

    /// Whether it is dormant now. A task that another thread steps counts as awake.
    fn is_dormant(&self) -> bool {
        self.work.try_lock().is_ok_and(|work| work.is_dormant())
    }

    /// Does what can be done now, unless another thread does so.
    fn step(&self, thread: Thread) {
        if self.is_over() || thread == Thread::Driver && self.calls_program.load(Ordering::Relaxed)
        {
            return;
        }
        self.due.store(true, Ordering::SeqCst);
        while self.due.load(Ordering::SeqCst) {
            let mut work = match self.work.try_lock() {
                Ok(work) => work,
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(_)) => panic!("a thread panicked in background work"),
            };
            self.due.store(false, Ordering::SeqCst);
            if !self.is_over() && work.step() {
                self.over.store(true, Ordering::Release);
            }
            self.dormant.store(work.is_dormant(), Ordering::Release);
        }
        if self.is_over() {
            self.wake();
        }
    }

    /// Wakes `waker` at the end. False if that has come.
    pub(crate) fn set_waker(&self, waker: &Waker) -> bool {
        let mut slot = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(waker.clone());
        // Whoever ends it takes the waker afterwards, under the lock held here.
        !self.is_over()
    }

    /// Ends the work now by these last acts, unless it is over.
    pub(crate) fn end(&self, last: impl FnOnce(&mut W)) {
        self.with(|work| {
            if !self.is_over() {
                last(work);
                self.over.store(true, Ordering::Release);
            }
        });
    }

    /// Whether a step may call functions of the program.
    pub(crate) fn calls_program(&self) -> bool {
        self.calls_program.load(Ordering::Relaxed)
    }

    fn wake(&self) {
        let waker = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

type Tasks = Vec<Arc<Task<dyn Work>>>;

/// So many tasks are stepped before a waiting thread looks for what it waits for: some ten
/// microseconds.
const PART: usize = 32;

/// After so many rounds in which all tasks were dormant the engine leaves them alone: services that
/// are asked again and again are not roused each time.
const QUIET_ROUNDS: u32 = 64;

/// The tasks of a process.
pub(crate) struct Background {
    engine: Weak<Engine>,
    /// The engine is told under this lock whether there are any; so nobody may ask for it inside
    /// the engine.
    tasks: Mutex<Tasks>,
    /// How many tasks, from the last one on, are still to be stepped since something happened.
    owed: AtomicUsize,
    /// How many there are, for calls that only look whether there are any. Written under the lock.
    count: AtomicUsize,
    /// Changes whenever tasks have ended.
    ends: AtomicU32,
    /// All tasks are dormant, and the engine knows. Written under the lock of the tasks.
    sleeps: AtomicBool,
    /// Rounds in which all tasks were dormant.
    quiet: AtomicU32,
}

impl Background {
    pub(crate) fn new(engine: &Arc<Engine>) -> Arc<Self> {
        Arc::new(Background {
            engine: Arc::downgrade(engine),
            tasks: Mutex::default(),
            owed: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            ends: AtomicU32::new(0),
            sleeps: AtomicBool::new(false),
            quiet: AtomicU32::new(0),
        })
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task in after a first step; nothing to do if that was all.
    pub(crate) fn start(&self, task: Arc<Task<dyn Work>>) {
        {
            let _round = Round::begin();
            task.step(Thread::Program);
        }
        if task.is_over() {
            return;
        }
        let mut tasks = self.tasks();
        tasks.push(task);
        self.count.store(tasks.len(), Ordering::Release);
        if tasks.len() == 1 || self.sleeps.load(Ordering::Relaxed) {
            self.tell(&tasks, State::Active);
        }
    }

    /// Tells the engine how to treat the tasks; the list is locked meanwhile.
    fn tell(&self, _tasks: &Tasks, state: State) {
        self.sleeps
            .store(state == State::Dormant, Ordering::Release);
        self.quiet.store(0, Ordering::Relaxed);
        if let Some(engine) = self.engine.upgrade() {
            engine.set_background_work(state);
        }
    }

    /// A dormant task has something to do.
    #[inline]
    pub(crate) fn rouse(&self) {
        // Pairs with the fence in `settle`: either this thread sees that the tasks sleep, or that
        // one sees what this thread has given them to do.
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Acquire) {
            self.settle(false);
        }
    }

    /// Has the engine leave tasks alone that have been dormant for a while, or care for them again.
    /// `round`: after a round, which is a reason for the former.
    fn settle(&self, round: bool) {
        let tasks = self.tasks();
        let sleeps = self.sleeps.load(Ordering::Relaxed);
        let all_dormant = || {
            tasks
                .iter()
                .all(|task| task.dormant.load(Ordering::Acquire))
        };
        if sleeps && (!round || !all_dormant()) {
            self.tell(&tasks, State::Active);
        } else if !sleeps && round && !tasks.is_empty() && all_dormant() {
            self.tell(&tasks, State::Dormant);
            // A thread that gave a task something to do since its last step may have found that
            // they do not sleep, and has roused nobody.
            fence(Ordering::SeqCst);
            if !tasks.iter().all(|task| task.is_dormant()) {
                self.tell(&tasks, State::Active);
            }
        }
    }

    /// Waits until the messages have left whose requests were freed.
    pub(crate) fn send_what_is_due(&self, engine: &Engine) {
        loop {
            self.step_if_active();
            let seen = self.ends.load(Ordering::Acquire);
            let departing = self.tasks().iter().any(|task| task.is_departing());
            // A round is made whenever something has happened, and one that ends a task rouses this
            // thread.
            let has_ended = || self.ends.load(Ordering::Acquire) != seen;
            if !departing || engine.wait_for(&[], has_ended, false).is_err() {
                return;
            }
        }
    }

    /// Steps the tasks if there are any, for calls that only look; whether there were any.
    #[inline]
    pub(crate) fn step_if_active(&self) -> bool {
        let is_active = self.count.load(Ordering::Acquire) != 0;
        if is_active {
            self.make_round(Thread::Program, |tasks| &tasks[..]);
        }
        is_active
    }

    /// One step of every task that is chosen.
    fn make_round(&self, thread: Thread, choose: impl FnOnce(&Tasks) -> &[Arc<Task<dyn Work>>]) {
        let Some(_round) = Round::begin() else {
            return;
        };
        // The last round of a process comes when its thread's variables are gone already.
        let mut round = ROUND.try_with(Cell::take).unwrap_or_default();
        round.extend_from_slice(choose(&self.tasks()));
        round.iter().for_each(|task| task.step(thread));
        // One may also have been ended by another thread before it was taken in.
        let ended = round.iter().any(|task| task.is_over());
        let dormant = (round.iter()).all(|task| task.dormant.load(Ordering::Relaxed));
        round.clear();
        let _ = ROUND.try_with(|room| room.set(round));
        if ended {
            self.let_ended_go();
        }
        let is_news = match (dormant, self.sleeps.load(Ordering::Relaxed)) {
            (true, false) => self.quiet.fetch_add(1, Ordering::Relaxed) >= QUIET_ROUNDS,
            (false, false) => {
                self.quiet.store(0, Ordering::Relaxed);
                false
            }
            (dormant, true) => !dormant,
        };
        if is_news {
            self.settle(true);
        }
    }

    fn let_ended_go(&self) {
        let mut tasks = self.tasks();
        let before = tasks.len();
        tasks.retain(|task| !task.is_over());
        if tasks.len() == before {
            return;
        }
        self.count.store(tasks.len(), Ordering::Release);
        self.ends.fetch_add(1, Ordering::Release);
        if tasks.is_empty() {
            self.tell(&tasks, State::None);
        }
        if let Some(engine) = self.engine.upgrade() {
            drop(tasks);
            // Another thread may sleep until one of them is over.
            engine.rouse();
        }
    }
}

thread_local! {
    /// This thread is in a round over the tasks.
    static IS_STEPPING: Cell<bool> = const { Cell::new(false) };
    /// Room for the tasks of a round, so that none is made for each.
    static ROUND: Cell<Tasks> = const { Cell::new(Vec::new()) };
}

/// A round over the tasks by this thread; it ends when this is dropped, also by a panic.
struct Round;

impl Round {
    /// `None` inside a round of the same thread.
    fn begin() -> Option<Round> {
        (!IS_STEPPING.replace(true)).then(|| Round)
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        IS_STEPPING.set(false);
    }
}

impl EngineBackground for Background {
    fn step(&self, has_news: bool) -> bool {
        let mut left = 0;
        self.make_round(Thread::Program, |tasks| {
            // Under the lock of the tasks: parts of several threads do not get in each other's way.
            let owed = match has_news {
                true => tasks.len(),
                false => self.owed.load(Ordering::Relaxed).min(tasks.len()),
            };
            left = owed.saturating_sub(PART);
            self.owed.store(left, Ordering::Relaxed);
            &tasks[left..owed]
        });
        left > 0
    }

    fn step_on_driver(&self) {
        self.make_round(Thread::Driver, |tasks| &tasks[..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at all tasks from inside its own step, as the orphan of a partitioned receive does.
    struct Looks {
        background: Arc<Background>,
        steps: Arc<AtomicU32>,
        left: u32,
    }

    impl Work for Looks {
        fn step(&mut self) -> bool {
            self.steps.fetch_add(1, Ordering::Relaxed);
            self.background.step_if_active();
            self.left = self.left.saturating_sub(1);
            self.left == 0
        }
    }

    fn background() -> Arc<Background> {
        Arc::new(Background {
            engine: Weak::new(),
            tasks: Mutex::default(),
            owed: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            ends: AtomicU32::new(0),
            sleeps: AtomicBool::new(false),
            quiet: AtomicU32::new(0),
        })
    }

    fn start(background: &Arc<Background>, steps: &Arc<AtomicU32>, rounds: u32) {
        background.start(Task::new(Looks {
            background: background.clone(),
            steps: steps.clone(),
            left: rounds,
        }));
    }

    #[test]
    fn a_round_steps_each_task_once() {
        let (background, steps) = (background(), Arc::new(AtomicU32::new(0)));
        for begun in 1..=20 {
            start(&background, &steps, u32::MAX);
            assert_eq!(steps.load(Ordering::Relaxed), begun, "one step to begin");
        }
        for round in 2..=5 {
            background.step_if_active();
            assert_eq!(steps.load(Ordering::Relaxed), 20 * round);
        }
    }

    #[test]
    fn a_waiting_thread_makes_a_round_in_parts() {
        let (background, steps) = (background(), Arc::new(AtomicU32::new(0)));
        let count = 3 * PART as u32 + 5;
        (0..count).for_each(|_| start(&background, &steps, u32::MAX));
        let begun = steps.load(Ordering::Relaxed);
        let mut has_more = background.step(true);
        let mut parts = 1;
        assert_eq!(steps.load(Ordering::Relaxed), begun + PART as u32);
        while has_more {
            has_more = background.step(false);
            parts += 1;
        }
        assert_eq!(parts, 4);
        assert_eq!(steps.load(Ordering::Relaxed), begun + count);
    }

    #[test]
    fn every_task_comes_to_its_end() {
        let (background, steps) = (background(), Arc::new(AtomicU32::new(0)));
        (1..=7).for_each(|rounds| start(&background, &steps, rounds));
        for _ in 2..=7 {
            background.step_if_active();
        }
        assert!(background.tasks().is_empty());
        assert_eq!(steps.load(Ordering::Relaxed), (1..=7).sum::<u32>());
    }
}
