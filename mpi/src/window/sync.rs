//! Synchronisation: fence, post/start/complete/wait, locks, flushes (MPI 5.0 §12.5).
//!
//! Whatever a synchronisation completes is completed by `origin`'s flush for targets reached by
//! message; towards memory that is mapped here an operation is over when its call returns, and only
//! the order of memory accesses is left to see to.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use oxmpi_engine::full_fence;
use oxmpi_engine::turn_lock::{Drawn, Ticket, Turn, Wish};
use oxmpi_schedules::plan::Call;
use oxmpi_windows::lock::{self, Held, Try};

use super::epoch::Hold;
use super::lock::{NearWords, UntilFree, UntilTurn};
use super::memory::Near;
use super::origin::Origin;
use super::word::{self, Word, Words};
use super::{Assertion, LockKind, Window};
use crate::error::{ErrorKind, WindowError};
use crate::group::Group;

impl Window {
    /// Ends the epoch between two fences and begins another. Collective.
    ///
    /// An operation that could not be done is an error of its origin's fence, which is a fence all
    /// the same. The death of a rank is an error on all others; it ends the epoch, and no other
    /// fence on this window succeeds.
    pub fn fence(&self, assertion: Assertion) -> Result<(), ErrorKind> {
        self.epoch.check_fence()?;
        let flushed = self.origin.flush_all(&self.core);
        // A fence that neither ends nor begins an epoch keeps nobody waiting.
        let met = match assertion.no_precede && assertion.no_succeed {
            true => Ok(()),
            false => self.meet(),
        };
        full_fence();
        self.epoch.fence(met.is_ok() && !assertion.no_succeed);
        flushed.and(met)
    }

    /// Whether a meeting of all ranks has failed: they may be in different epochs.
    pub(crate) fn is_parted(&self) -> bool {
        self.is_parted.load(Ordering::Relaxed)
    }

    /// Waits for all ranks. When one has died, those that wait for it leave, and so do those that
    /// wait for these.
    pub(super) fn meet(&self) -> Result<(), ErrorKind> {
        let comm = &self.core.comm;
        // Those that have left are waited for no more: nobody must get past a later meeting.
        if self.is_parted()
            && let Some(lost) = comm.lost_member()
        {
            return Err(lost);
        }
        comm.move_data(&Call::Barrier, &[], &mut [])
            .inspect_err(|_| self.is_parted.store(true, Ordering::Relaxed))
    }

    /// The ranks of a group.
    fn ranks(&self, group: &Group) -> Result<Vec<u32>, WindowError> {
        let processes = group.processes().iter().enumerate();
        let ranks = processes.map(|(rank, &process)| {
            let missing = WindowError::Group {
                rank: rank as u32,
                process,
            };
            self.group().rank_of(process).ok_or(missing)
        });
        ranks.collect()
    }

    /// Begins accesses to the ranks of a group.
    pub fn start(&self, group: &Group, assertion: Assertion) -> Result<(), ErrorKind> {
        let targets = self.ranks(group)?;
        self.epoch.start(targets.clone())?;
        let partners = self.turns.access(&targets);
        if assertion.no_check {
            return Ok(());
        }
        let exposed = Words::await_from(&self.core, partners, Word::Exposed)
            .inspect_err(|_| drop(self.epoch.complete()))?;
        exposed.wait(&self.core).inspect_err(|_| {
            let _ = self.epoch.complete();
            // The targets that live expose their memory for accesses that never begin.
            let _ = word::tell(&self.core, exposed.partners(), Word::Completed);
        })
    }

    /// Ends the accesses that [`Window::start`] began.
    pub fn complete(&self) -> Result<(), ErrorKind> {
        let targets = self.epoch.complete()?;
        let flushed = self.origin.flush_all(&self.core);
        full_fence();
        let partners = self.turns.accessed(&targets);
        let told = word::tell(&self.core, &partners, Word::Completed);
        flushed.and(told)
    }

    /// Exposes this rank's memory to the ranks of a group. That one of them has died is an error of
    /// [`Window::wait`]: the others access the memory all the same.
    pub fn post(&self, group: &Group, assertion: Assertion) -> Result<(), ErrorKind> {
        let origins = self.ranks(group)?;
        self.epoch.post()?;
        let partners = self.turns.expose(&origins);
        let awaited = Words::await_from(&self.core, partners, Word::Completed);
        let awaited = awaited.inspect_err(|_| self.epoch.unpost())?;
        full_fence();
        if !assertion.no_check {
            let _ = word::tell(&self.core, awaited.partners(), Word::Exposed);
        }
        *self.awaited() = awaited;
        Ok(())
    }

    /// Waits until the ranks of [`Window::post`] have ended their accesses. If one of them has
    /// died, the others may still be at it.
    pub fn wait(&self) -> Result<(), ErrorKind> {
        self.epoch.check_posted("MPI_Win_wait")?;
        let awaited = std::mem::take(&mut *self.awaited());
        let ended = awaited.wait(&self.core);
        full_fence();
        self.epoch.unpost();
        ended
    }

    /// As [`Window::wait`], without waiting: false if the exposure goes on.
    pub fn test(&self) -> Result<bool, ErrorKind> {
        self.epoch.check_posted("MPI_Win_test")?;
        // The service takes in what the origins wait for; a loop of tests must not keep it waiting
        // for the driver's turn.
        self.core.comm.process.background.step_if_active();
        if !self.awaited().are_ready(&self.core) {
            return Ok(false);
        }
        self.wait().map(|()| true)
    }

    fn awaited(&self) -> MutexGuard<'_, Words> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a rank's memory; no rank: the null process.
    pub fn lock(
        &self,
        kind: LockKind,
        target: Option<u32>,
        assertion: Assertion,
    ) -> Result<(), ErrorKind> {
        let Some(target) = target else { return Ok(()) };
        if !assertion.no_check {
            match self.lock_at_once(kind, target as i32) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(later) => return self.lock_later(later),
            }
        }
        self.check_rank(target)?;
        self.epoch.check_lock(target)?;
        if !assertion.no_check {
            self.take_lock(kind, target)?;
        }
        self.epoch.lock(Hold {
            target,
            unchecked: assertion.no_check,
            exclusive: kind == LockKind::Exclusive,
        });
        Ok(())
    }

    /// Completes all operations on a rank and unlocks it.
    pub fn unlock(&self, target: Option<u32>) -> Result<(), ErrorKind> {
        let Some(target) = target else { return Ok(()) };
        if self.unlock_at_once(target as i32) {
            return Ok(());
        }
        self.check_rank(target)?;
        let hold = self.epoch.unlock(target)?;
        match self.core.part(target).near {
            Some(near) => {
                let flushed = self.flush_target(target);
                if !hold.unchecked {
                    self.give_back(target, near);
                }
                flushed
            }
            None if hold.unchecked => self.flush_target(target),
            None => self.origin.unlock(&self.core, target),
        }
    }

    /// Locks every rank's memory, shared.
    pub fn lock_all(&self, assertion: Assertion) -> Result<(), ErrorKind> {
        self.epoch.check_lock_all()?;
        if !assertion.no_check {
            for target in 0..self.size() {
                self.take_lock(LockKind::Shared, target).inspect_err(|_| {
                    let _ = self.origin.unlock_all(&self.core, self.far(target));
                    self.give_all_back();
                })?;
            }
        }
        self.epoch.lock_all(assertion.no_check);
        Ok(())
    }

    /// Completes all operations, whatever the epoch; for scopes that end early.
    pub(crate) fn complete_all(&self) -> Result<(), ErrorKind> {
        self.origin.flush_all(&self.core)
    }

    /// Takes this rank's own lock beside any epoch; it must not be locked by an epoch.
    pub(crate) fn hold_own(&self, kind: LockKind) -> Result<(), ErrorKind> {
        self.epoch.check_lock(self.rank())?;
        self.take_lock(kind, self.rank())
    }

    /// Gives back what [`Window::hold_own`] has taken.
    pub(crate) fn release_own(&self) {
        let near = self.core.own().near.expect("a rank shares its own host");
        self.give_back(self.rank(), near);
    }

    /// Completes all operations and unlocks every rank.
    pub fn unlock_all(&self) -> Result<(), ErrorKind> {
        let unchecked = self.epoch.unlock_all()?;
        let flushed = self.origin.flush_all(&self.core);
        full_fence();
        if unchecked {
            return flushed;
        }
        let unlocked = self.origin.unlock_all(&self.core, self.far(self.size()));
        self.give_all_back();
        flushed.and(unlocked)
    }

    /// The ranks of other hosts below `end`.
    fn far(&self, end: u32) -> impl Iterator<Item = u32> + Clone {
        (0..end).filter(|target| self.core.part(*target).near.is_none())
    }

    /// Takes a lock: by its words if the rank is of this host, else the request goes with the next
    /// batch, and what follows waits for it over there.
    fn take_lock(&self, kind: LockKind, target: u32) -> Result<(), ErrorKind> {
        let Some(near) = self.core.part(target).near else {
            return self.origin.lock(&self.core, target, kind);
        };
        let (wish, control) = (Wish::from(kind), &self.core.control);
        let entry = control.entry(near.index, self.rank());
        let drawn = control.lock(near.index).draw(wish, entry);
        let held = self.take_later(target, near, wish, drawn)?;
        self.held.put(target, held);
        Ok(())
    }

    /// Takes a lock after a ticket was drawn, whatever came of that.
    pub(super) fn take_later(
        &self,
        target: u32,
        near: Near,
        wish: Wish,
        drawn: Drawn,
    ) -> Result<Held, ErrorKind> {
        let entered = match drawn {
            Drawn::Inside(ticket, turn) => Ok((ticket, turn)),
            Drawn::Waits(ticket) => {
                self.await_turn(target, near, ticket)?;
                let control = &self.core.control;
                let entry = control.entry(near.index, self.rank());
                let entered = control.lock(near.index).enter(ticket, entry);
                entered.map(|turn| (ticket, turn))
            }
            Drawn::Disrupted(turn) => Err(turn),
        };
        let (Ok((_, turn)) | Err(turn)) = entered;
        self.wake(target, near, turn);
        match entered {
            Ok((ticket, _)) => Ok(Held::Turn(ticket)),
            Err(_) => self.take_disrupted(target, near, wish),
        }
    }

    /// Waits until the turn of a ticket has come, or the lock is disrupted. The turn never comes if
    /// a rank before it has died, or the target, in whose service ranks of other hosts stand: then
    /// the lock is disrupted here.
    #[cold]
    fn await_turn(&self, target: u32, near: Near, ticket: Ticket) -> Result<(), ErrorKind> {
        let (core, control) = (&self.core, &self.core.control);
        let before = (0..self.size()).filter(|rank| {
            let stands = control.entry(near.index, *rank).is_before(ticket);
            stands || *rank == target && target != self.rank()
        });
        let before: Vec<u32> = before.map(|rank| core.part(rank).process).collect();
        let lock = control.lock(near.index);
        let mut turn = UntilTurn { lock, ticket };
        let Err(error) = core.engine().wait_until(&mut turn, &before) else {
            return Ok(());
        };
        let turn = core.disrupt(near.index, self.rank());
        self.wake(target, near, turn);
        match core.dead_ranks().is_empty() {
            true => Err(error.into()),
            false => Ok(()),
        }
    }

    /// Takes a disrupted lock.
    #[cold]
    fn take_disrupted(&self, target: u32, near: Near, wish: Wish) -> Result<Held, ErrorKind> {
        let (core, me) = (&self.core, self.rank());
        let mut known = None;
        loop {
            let dead = core.dead_ranks();
            let lost = |rank: u32| Err(core.engine().loss_of(core.part(rank).process).into());
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let index = near.index;
            let words = NearWords { core, index };
            if target != me && dead.contains(&target) {
                // The death of a holder is told first: that of the target may follow from it.
                let holder = lock::dead_holder(&words, target, &dead, &mut told);
                return lost(holder.unwrap_or(target));
            }
            match lock::take_disrupted(&words, (target, me), wish, &dead, &mut told) {
                Try::Held => return Ok(Held::Disrupted),
                Try::Died(rank) => return lost(rank),
                Try::Waits => drop(told),
            }
            let others = (0..self.size()).filter(|rank| *rank != me && !dead.contains(rank));
            let living: Vec<u32> = others.collect();
            let processes: Vec<u32> = living.iter().map(|rank| core.part(*rank).process).collect();
            let mut free = UntilFree {
                control: &core.control,
                index: near.index,
                wish,
                living: &living,
            };
            // A death is a reason to look again, once.
            if let Err(error) = core.engine().wait_until(&mut free, &processes)
                && known.replace(dead.len()) == Some(dead.len())
            {
                return Err(error.into());
            }
        }
    }

    /// Gives the lock of a rank of this host back, if it is held.
    #[inline(always)]
    pub(super) fn give_back(&self, target: u32, near: Near) {
        if let Some(held) = self.held.take(target) {
            let turn = self.core.release(near.index, self.rank(), held);
            self.wake(target, near, turn);
        }
    }

    fn give_all_back(&self) {
        for target in 0..self.size() {
            if let Some(near) = self.core.part(target).near {
                self.give_back(target, near);
            }
        }
    }

    /// Wakes whoever may have its turn.
    #[inline(always)]
    pub(super) fn wake(&self, target: u32, near: Near, turn: Turn) {
        if turn.has_sleepers {
            self.wake_sleepers(target, near, turn);
        }
    }

    #[cold]
    fn wake_sleepers(&self, target: u32, near: Near, turn: Turn) {
        if !self.core.wake(near.index, turn) {
            return;
        }
        // A rank of another host waits, through the service of the target.
        if target == self.rank() {
            self.core.comm.process.background.step_if_active();
        } else {
            // A target that cannot be told is dead, and so are the hopes of who waits there.
            let _ = Origin::poke(&self.core, target);
        }
    }

    /// Completes all operations on a rank, here and there.
    #[inline]
    pub fn flush(&self, target: Option<u32>) -> Result<(), ErrorKind> {
        let Some(target) = target else { return Ok(()) };
        match self.flush_at_once(target as i32) {
            true => Ok(()),
            false => self.flush_checked(target),
        }
    }

    fn flush_checked(&self, target: u32) -> Result<(), ErrorKind> {
        self.check_rank(target)?;
        self.epoch.check_passive("MPI_Win_flush", Some(target))?;
        self.flush_target(target)
    }

    fn flush_target(&self, target: u32) -> Result<(), ErrorKind> {
        if self.core.part(target).direct {
            full_fence();
            self.origin.push(&self.core);
            return Ok(());
        }
        self.origin.flush(&self.core, target)
    }

    /// Completes all operations, here and there.
    pub fn flush_all(&self) -> Result<(), ErrorKind> {
        self.epoch.check_passive("MPI_Win_flush_all", None)?;
        full_fence();
        self.origin.flush_all(&self.core)
    }

    /// Completes all operations on a rank as far as the buffers of this rank are concerned.
    pub fn flush_local(&self, target: Option<u32>) -> Result<(), ErrorKind> {
        let Some(target) = target else { return Ok(()) };
        self.check_rank(target)?;
        self.epoch
            .check_passive("MPI_Win_flush_local", Some(target))?;
        self.origin.flush_local(&self.core, target)
    }

    /// Completes all operations as far as the buffers of this rank are concerned.
    pub fn flush_local_all(&self) -> Result<(), ErrorKind> {
        self.epoch.check_passive("MPI_Win_flush_local_all", None)?;
        self.origin.flush_local_all(&self.core)
    }

    /// Makes stores of this process and accesses by others visible to each other (MPI_Win_sync).
    pub fn sync(&self) -> Result<(), ErrorKind> {
        self.origin.push(&self.core);
        full_fence();
        Ok(())
    }
}
