//! The engine's lock and the waiting loop around it.
//!
//! Whoever holds the lock may run the handler. A waiting thread keeps the lock while it spins, so
//! that a ping-pong pays for no lock traffic, and lets go as soon as another thread asks for it,
//! when it yields, and when it sleeps.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use oxmpi_ports::Segment;

use super::bed::Bed;
use super::driver::Driver;
use super::handler::Handler;
use super::lock::{Lock, Threads};
use super::sleepers::OnBell;
use super::vain::VainLooks;
use super::wait::{Step, Waiting};
use super::waiters::Work;
use crate::error::EngineError;
use crate::protocol::RequestId;

/// A sleeper whose packets wait for room in a ring looks again after this time: a ring that drains
/// rings no bell.
const FULL_RING_NAP: Duration = Duration::from_micros(500);
/// Looks at the rings between two turns of the waiting loop: a look is a load or two, a turn some
/// twenty.
const LOOKS_PER_STEP: u32 = 16;
/// The same beside sockets, which are looked at once per turn.
const LOOKS_PER_STEP_BESIDE: u32 = 4;
/// How often a waiting thread offers the lock to others before it takes it back.
const OFFERS_MAX: u32 = 1000;

/// Something outside the engine that a thread waits for: a word in shared memory, say.
pub trait Condition {
    /// Whether it has come true.
    fn is_met(&mut self) -> bool;
    /// The process that has to do something next for it to come true, where that is known; asked
    /// after [`Condition::is_met`]. When this process has finalised, the wait fails.
    fn awaited(&self) -> Option<u32> {
        None
    }
    /// The thread is about to sleep: whoever makes the condition true must from now on ring this
    /// process's doorbell.
    fn before_sleep(&mut self) {}
    /// The thread is awake again.
    fn after_sleep(&mut self) {}
}

/// What a waiting thread waits for: a state of the handler, or a [`Condition`].
pub(crate) trait Goal {
    fn is_reached(&mut self, handler: &mut Handler) -> bool;
    /// A cheap look that needs no handler; only for goals outside the engine.
    fn is_near(&mut self) -> bool {
        false
    }
    fn before_sleep(&mut self) {}
    fn after_sleep(&mut self) {}
}

impl<F: FnMut(&mut Handler) -> bool> Goal for F {
    #[inline(always)]
    fn is_reached(&mut self, handler: &mut Handler) -> bool {
        self(handler)
    }
}

/// A condition as a goal. It is also over when one of the processes it depends on is dead, or when
/// the one that it waits for has finalised. Others may have finalised after doing their part.
pub(crate) struct Outside<'c, C: Condition + ?Sized> {
    pub condition: &'c mut C,
    pub members: &'c [u32],
    /// The process without which it never comes true.
    pub lost: Option<u32>,
}

impl<C: Condition + ?Sized> Goal for Outside<'_, C> {
    #[inline(always)]
    fn is_reached(&mut self, handler: &mut Handler) -> bool {
        if self.condition.is_met() {
            return true;
        }
        if handler.protocol.has_dead() {
            self.lost = self
                .members
                .iter()
                .copied()
                .find(|&peer| handler.protocol.is_dead(peer));
        }
        if self.lost.is_none() && handler.protocol.has_finished() {
            // What a process did before its goodbye was seen by `is_met` just now.
            let awaited = self.condition.awaited();
            self.lost = awaited.filter(|&peer| handler.protocol.is_gone(peer));
        }
        self.lost.is_some()
    }

    #[inline(always)]
    fn is_near(&mut self) -> bool {
        self.condition.is_met()
    }

    fn before_sleep(&mut self) {
        self.condition.before_sleep();
    }

    fn after_sleep(&mut self) {
        self.condition.after_sleep();
    }
}

/// Work of the layers above that goes on while threads wait or compute: collectives under way, say.
/// It is called without the engine's lock whenever something has happened, by a thread that waits
/// inside, or by the driver if none does.
pub trait Background: Send + Sync {
    /// Does some of what can be done without waiting; true if it is to be called again, at once but
    /// for a look at what the thread waits for. `has_news`: something has happened since the last
    /// call.
    fn step(&self, has_news: bool) -> bool;
    /// Does all that can be done without waiting, on the driver's thread, which must not call
    /// functions of the program.
    fn step_on_driver(&self);
}

pub(crate) struct Shared {
    lock: Lock<Handler>,
    background: OnceLock<Arc<dyn Background>>,
    /// How often the application has entered: the driver sees by it, without the lock, whether
    /// anybody is about.
    entries: AtomicU64,
    pub segment: Arc<Segment>,
    pub rank: u32,
    /// This process's port in the segment.
    pub port: u32,
    bed: Bed,
    pub driver: Driver,
    /// Looks of the program that found nothing.
    pub vain: VainLooks,
}

pub(crate) type Guard<'s> = super::lock::Guard<'s, Handler>;

impl Shared {
    /// # Safety
    /// With [`Threads::One`], no two calls of the application may overlap.
    pub unsafe fn new(handler: Handler, bed: Bed, driver: Driver, threads: Threads) -> Self {
        let segment = Arc::clone(handler.segment());
        let (rank, port) = (handler.rank, handler.port().index());
        let vain = VainLooks::new(handler.policy.shares_cpus());
        // SAFETY: the caller's promise.
        let lock = unsafe { Lock::new(handler, threads) };
        Self {
            lock,
            background: OnceLock::new(),
            entries: AtomicU64::new(0),
            segment,
            rank,
            port,
            bed,
            driver,
            vain,
        }
    }

    /// The application enters.
    #[inline(always)]
    pub fn enter(&self) -> Guard<'_> {
        let handler = self.lock.enter();
        // Only who is inside writes: no read-modify-write is needed.
        self.entries
            .store(self.entries.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        handler
    }

    /// The application is about to leave; if something is pending the driver must be about.
    #[inline(always)]
    pub fn leave(self: &Arc<Self>, handler: &mut Guard<'_>) {
        if (handler.protocol.pending() > 0 || handler.needs_company()) && self.driver.is_parked() {
            Driver::start(self);
        }
        if handler.has_unsent() && !self.driver.is_enabled() {
            // Nobody will do it until the application calls again.
            handler.release();
        }
        if handler.waiters.sleepers.exist() || !handler.waiters.wakers.is_empty() {
            Self::look_after_sleepers(handler);
        }
    }

    /// Whether other threads of the application may come in while one is inside.
    #[inline(always)]
    pub fn may_be_shared(&self) -> bool {
        self.lock.is_for_many()
    }

    /// Whether somebody waits for who is inside to leave.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.lock.is_wanted()
    }

    /// The driver enters, if nobody is inside.
    pub fn enter_as_driver(&self) -> Option<Guard<'_>> {
        self.lock.try_enter_as_driver()
    }

    /// How often the application has entered.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Lets another thread have the lock for a moment.
    #[cold]
    fn offer(&self, handler: &mut Guard<'_>) {
        handler.let_go(|| {
            for _ in 0..OFFERS_MAX {
                std::thread::yield_now();
                if !self.lock.is_wanted() {
                    break;
                }
            }
        });
    }

    /// Runs the handler until the goal is reached: the reaping half of progress. `watched` is the
    /// request that is likely to reach it.
    #[inline(always)]
    pub fn wait(
        self: &Arc<Self>,
        handler: &mut Guard<'_>,
        watched: Option<RequestId>,
        goal: &mut impl Goal,
    ) -> Result<(), EngineError> {
        handler.progress(watched);
        if goal.is_reached(handler) {
            return Ok(());
        }
        self.keep_waiting(handler, watched, goal)
    }

    #[inline(always)]
    fn keep_waiting(
        self: &Arc<Self>,
        handler: &mut Guard<'_>,
        watched: Option<RequestId>,
        goal: &mut impl Goal,
    ) -> Result<(), EngineError> {
        handler.waiters.inside += 1;
        // Whether more of the work is to be done before this thread may sleep.
        let mut has_more = false;
        if handler.has_background() {
            // What happened before this thread began to wait may be what the work waits for.
            has_more = self.step_background(handler, true);
        }
        let mut waiting = Waiting::default();
        let result = loop {
            if handler.has_advanced(watched) {
                handler.policy.arrived(&mut waiting);
                if handler.has_background() {
                    has_more = self.step_background(handler, true);
                }
            }
            if goal.is_reached(handler) {
                break Ok(());
            }
            if let Some(broken) = &handler.broken {
                break Err(broken.clone());
            }
            if has_more {
                has_more = self.step_background(handler, false);
                continue;
            }
            match handler.policy.next(&mut waiting) {
                // Several threads wait, and one of them is enough to look: the others' CPUs may be
                // wanted by whoever computes.
                Step::Spin if handler.waiters.inside > 1 => handler.let_go(std::thread::yield_now),
                Step::Spin => {
                    let looks = match handler.ways.remote {
                        None => LOOKS_PER_STEP,
                        Some(_) => LOOKS_PER_STEP_BESIDE,
                    };
                    for _ in 0..looks {
                        if handler.port().has_arrival() || goal.is_near() {
                            break;
                        }
                    }
                    if !self.lock.is_wanted() {
                        continue;
                    }
                    self.offer(handler);
                }
                Step::Yield => handler.let_go(std::thread::yield_now),
                Step::Sleep => {
                    let begun = Instant::now();
                    let has_slept = self.sleep(handler, watched, goal);
                    if has_slept && handler.waiters.inside == 1 {
                        let now = Instant::now();
                        handler.policy.slept(now - begun, now);
                    }
                    waiting.reset();
                }
            }
            // Others had the lock meanwhile: what they took may be what the work waits for.
            if handler.has_background() {
                has_more = self.step_background(handler, true);
            }
        };
        handler.waiters.inside -= 1;
        if handler.waiters.background != Work::None && self.driver.is_parked() {
            Driver::start(self);
        }
        result
    }

    /// Work that [`Engine::set_background_work`](crate::Engine::set_background_work) switches on and
    /// off.
    pub fn set_background(&self, work: Arc<dyn Background>) {
        let first = self.background.set(work).is_ok();
        assert!(first, "the layer above sets its work once");
    }

    /// Such work has begun, has fallen asleep, or the last of it has ended. While there is some the
    /// driver is about, and can step it.
    pub fn set_background_work(self: &Arc<Self>, work: Work) {
        let mut handler = self.enter();
        handler.waiters.background = work;
        if work != Work::Active {
            self.lock.unshare();
        }
        if work != Work::None && self.driver.is_enabled() {
            if work == Work::Active {
                handler.share();
            }
            if self.driver.is_parked() {
                Driver::start(self);
            }
        }
    }

    /// The driver steps the work. `None`: the application came in meanwhile.
    pub fn step_as_driver<'s>(&'s self, mut handler: Guard<'s>) -> Option<Guard<'s>> {
        let Some(work) = self.background.get() else {
            return Some(handler);
        };
        handler.share_as_driver();
        if !self.lock.begin_visit(&handler) {
            return Some(handler);
        }
        drop(handler);
        work.step_on_driver();
        self.lock.end_visit();
        let handler = self.enter_as_driver();
        if let Some(handler) = &handler
            && handler.waiters.background != Work::Active
        {
            // What the work needed the lock for is done.
            self.lock.unshare();
        }
        handler
    }

    #[cold]
    fn step_background(&self, handler: &mut Guard<'_>, has_news: bool) -> bool {
        match self.background.get() {
            Some(work) => handler.let_go(|| work.step(has_news)),
            None => false,
        }
    }

    /// Sleeps until the doorbell rings or another thread tells that something happened, unless it
    /// has already: then it returns at once, with false.
    #[cold]
    fn sleep(
        &self,
        handler: &mut Guard<'_>,
        watched: Option<RequestId>,
        goal: &mut impl Goal,
    ) -> bool {
        if handler.waiters.news {
            // Others took something in when this thread last let go, perhaps its own background
            // work: it has to be looked at first.
            return false;
        }
        goal.before_sleep();
        // While the thread on the doorbell is on its way back, the doorbell is not announced: that
        // thread will look.
        let safe =
            handler.waiters.sleepers.on_bell == OnBell::Roused || handler.ways.prepare_sleep();
        if !safe || goal.is_reached(handler) {
            goal.after_sleep();
            if handler.waiters.sleepers.on_bell == OnBell::Nobody {
                handler.port().bell().announce_awake();
            }
            return false;
        }
        let ticket = handler.waiters.sleepers.lie_down(watched);
        if handler.waiters.sleepers.on_bell == OnBell::Nobody {
            self.sleep_on_bell(handler);
        } else {
            let nap = handler.waiters.sleepers.begin_nap();
            let at_most = nap_max(handler);
            handler.let_go(|| nap.sleep(at_most));
            handler.waiters.sleepers.end_nap();
        }
        handler.waiters.sleepers.get_up(ticket);
        goal.after_sleep();
        true
    }

    fn sleep_on_bell(&self, handler: &mut Guard<'_>) {
        let bell = self.segment.doorbell(self.port);
        let at_most = nap_max(handler);
        let timed = nap_for_room(handler).is_some();
        handler.waiters.sleepers.on_bell = OnBell::Asleep { timed };
        handler.let_go(|| self.bed.sleep(bell, &self.segment, at_most));
        handler.waiters.sleepers.on_bell = OnBell::Nobody;
        bell.announce_awake();
        self.bed.drain();
        if let Some(remote) = &mut handler.ways.remote {
            remote.net.handle_waking();
        }
        // What rang may be the business of a thread that looks for itself: a word in shared memory,
        // say.
        if handler
            .waiters
            .sleepers
            .take_concerned(|watched| watched.is_none())
        {
            handler.waiters.sleepers.tell(true);
        }
    }

    /// The driver sleeps: it looks again after a while whatever happens, so nobody has to care for
    /// it. `None`: the application came in meanwhile.
    pub fn nap<'s>(&'s self, mut handler: Guard<'s>, at_most: Duration) -> Option<Guard<'s>> {
        if handler.ways.prepare_sleep() {
            let nap = nap_max(&handler).map_or(at_most, |nap| nap.min(at_most));
            drop(handler);
            let bell = self.segment.doorbell(self.port);
            self.bed.sleep(bell, &self.segment, Some(nap));
            let mut handler = self.enter_as_driver()?;
            if handler.waiters.sleepers.on_bell == OnBell::Nobody {
                self.bed.drain();
            }
            if let Some(remote) = &mut handler.ways.remote {
                remote.net.handle_waking();
            }
            return Some(handler);
        }
        Some(handler)
    }

    /// This thread leaves while others sleep or futures wait: they are told what it did, and
    /// somebody keeps the watch.
    #[cold]
    fn look_after_sleepers(handler: &mut Handler) {
        let news = std::mem::take(&mut handler.waiters.news);
        handler.tell_others(news);
        // Every ring must be cold again, and the doorbell announced.
        while matches!(handler.waiters.sleepers.on_bell, OnBell::Asleep { .. })
            && !handler.ways.prepare_sleep()
        {
            handler.progress(None);
        }
        // Packets of this thread wait for room in a ring, and who sleeps does not know of them.
        if handler.waiters.sleepers.on_bell == (OnBell::Asleep { timed: false })
            && nap_for_room(handler).is_some()
        {
            handler.rouse_bell();
        }
        if handler.waiters.sleepers.on_bell == OnBell::Nobody {
            handler.waiters.sleepers.tell(false);
        }
    }
}

/// How long a thread may sleep when packets wait for room in a ring; sockets tell by themselves
/// when they have room.
fn nap_for_room(handler: &Handler) -> Option<Duration> {
    let in_a_ring = |peer: &u32| handler.places().port(*peer).is_some();
    let waits = handler.protocol.busy().iter().any(in_a_ring);
    waits.then_some(FULL_RING_NAP)
}

/// How long a thread may sleep at most.
fn nap_max(handler: &Handler) -> Option<Duration> {
    let remote = handler.ways.remote.as_ref();
    nap_for_room(handler).or_else(|| remote.and_then(|remote| remote.net.nap_max()))
}
