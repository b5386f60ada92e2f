//! The driver: a thread that runs the handler while every thread of the application computes (the
//! paper's interrupt).
//!
//! It is parked as long as no operation is pending, no work of the layers above is under way and
//! nobody else expects answers of this process, and started by the first call that leaves something
//! behind. While the application comes and goes it only glances every few milliseconds, so that a
//! ping-pong pays nothing for it. When a glance finds that nobody has entered since the last one,
//! it takes over: it runs the handler, steps the work of the layers above whenever something has
//! happened, and sleeps on the doorbell like any receiver, until the application is back or nothing
//! is left to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::shared::{Guard, Shared};
use super::waiters::Work;

/// Time between two glances: short against any computation worth overlapping, long against the
/// glance's 5 µs.
const GLANCE: Duration = Duration::from_millis(2);
/// The same when ranks share CPUs.
const GLANCE_CROWDED: Duration = Duration::from_millis(5);
/// Glances with nothing pending after which the driver parks.
const QUIET_GLANCES_MAX: u32 = 20;
/// The longest sleep of a driver that has taken over: the application may have come and gone
/// unseen.
const NAP: Duration = Duration::from_millis(10);
/// How long a driver that has taken over looks for the next packet before it sleeps: streams have
/// short gaps.
const LINGER: Duration = Duration::from_micros(50);

pub(crate) struct Driver {
    enabled: bool,
    oversubscribed: bool,
    parked: AtomicBool,
    /// As in the state, for a driver that has taken over.
    stopping: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stop: bool,
    /// Take over at the next glance, and make that now: a future waits.
    hurry: bool,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    pub fn new(enabled: bool, oversubscribed: bool) -> Self {
        Self {
            enabled,
            oversubscribed,
            parked: AtomicBool::new(enabled),
            stopping: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Whether there is one at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether it must be started for what is pending now. False when it is switched off.
    #[inline(always)]
    pub fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    /// Unparks the driver, or makes it. The caller is inside the engine, so the driver cannot park
    /// at the same time.
    #[cold]
    pub fn start(shared: &Arc<Shared>) {
        let driver = &shared.driver;
        driver.parked.store(false, Ordering::Relaxed);
        let mut state = driver
            .state
            .lock()
            .expect("the driver's state is never left locked by a panic");
        if state.stop {
            return;
        }
        if state.thread.is_none() {
            let thread_shared = Arc::clone(shared);
            let thread = std::thread::Builder::new().name("oxmpi-driver".into());
            // Without a thread the engine still works: operations then progress only inside calls.
            state.thread = thread.spawn(move || run(&thread_shared)).ok();
        }
        driver.changed.notify_one();
    }

    /// Makes it take over at once; for futures, whose executor sleeps elsewhere. False when it is
    /// switched off.
    pub fn hurry(shared: &Arc<Shared>) -> bool {
        if shared.driver.enabled {
            shared.driver.state.lock().expect("never poisoned").hurry = true;
            Driver::start(shared);
        }
        shared.driver.enabled
    }

    /// Ends the thread.
    pub fn stop(&self) {
        let mut state = self.state.lock().expect("never poisoned");
        state.stop = true;
        self.stopping.store(true, Ordering::Relaxed);
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_one();
        // The engine may end on this very thread, by the last work that held it.
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }

    /// Waits until it is time to glance; says whether there is a hurry. `None`: the end.
    fn until_glance(&self) -> Option<bool> {
        let mut state = self.state.lock().expect("never poisoned");
        let glance = if self.oversubscribed {
            GLANCE_CROWDED
        } else {
            GLANCE
        };
        let deadline = Instant::now() + glance;
        loop {
            if state.stop {
                return None;
            }
            if std::mem::take(&mut state.hurry) {
                return Some(true);
            }
            if self.is_parked() {
                state = self.changed.wait(state).expect("never poisoned");
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(false);
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .expect("never poisoned")
                .0;
        }
    }
}

fn run(shared: &Shared) {
    let mut entries = 0;
    let mut quiet = 0;
    while let Some(hurry) = shared.driver.until_glance() {
        let seen = std::mem::replace(&mut entries, shared.entries());
        if seen != entries && !hurry {
            // The application comes and goes: nothing to do.
            quiet = 0;
            continue;
        }
        let Some(handler) = shared.enter_as_driver() else {
            continue;
        };
        let pending = has_work(&handler);
        quiet = if pending { 0 } else { quiet + 1 };
        if handler.waiters.inside > 0 || quiet > QUIET_GLANCES_MAX {
            // Who waits inside does the work, and starts us again when it leaves something behind.
            shared.driver.parked.store(true, Ordering::Relaxed);
            quiet = 0;
        } else if pending {
            take_over(shared, handler);
        }
    }
}

fn has_work(handler: &Guard<'_>) -> bool {
    let has_background = handler.waiters.background != Work::None;
    handler.protocol.pending() > 0 || handler.needs_company() || has_background
}

/// Runs the handler until the application is back or there is no work.
fn take_over<'s>(shared: &'s Shared, mut handler: Guard<'s>) {
    let mut entries = shared.entries();
    let mut last = Instant::now();
    // The application may have taken in what the work of the layers above waits for.
    let mut happened = true;
    let is_stopping = || shared.driver.stopping.load(Ordering::Relaxed);
    while shared.entries() == entries
        && has_work(&handler)
        && handler.broken.is_none()
        && !is_stopping()
    {
        happened |= handler.has_advanced(None);
        if handler.waiters.inside > 0 {
            // Who waits does the work. If it sleeps it has been told what happened; if not, it
            // looks.
            handler.waiters.news |= happened;
            return;
        }
        if std::mem::take(&mut happened) {
            last = Instant::now();
            if handler.has_background() {
                let Some(awake) = shared.step_as_driver(handler) else {
                    return;
                };
                handler = awake;
                // The work has entered too.
                entries = shared.entries();
            }
            continue;
        }
        let slept = if shared.driver.oversubscribed || last.elapsed() > LINGER {
            last = Instant::now();
            shared.nap(handler, NAP)
        } else {
            drop(handler);
            std::hint::spin_loop();
            shared.enter_as_driver()
        };
        let Some(awake) = slept else { return };
        handler = awake;
    }
}
