//! Who sleeps inside the engine, and who must be told when something happens.
//!
//! Only one thread of a process sleeps on the doorbell; the others sleep on a word of their own.
//! The doorbell's word cannot serve several: it says only awake or asleep, so a thread that
//! announces its sleep would take back the awakening of one that has not yet got as far as the
//! futex. A thread that the doorbell has woken passes the watch on when it leaves. All of this is
//! changed under the engine's lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::protocol::RequestId;

/// The thread on the doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBell {
    /// There is none.
    Nobody,
    /// It sleeps, or is about to: the doorbell must stay announced.
    Asleep {
        /// It looks again after a while by itself.
        timed: bool,
    },
    /// It has been woken by this process and has not come back yet: nobody may announce a sleep
    /// until it has.
    Roused,
}

#[derive(Debug)]
pub(crate) struct Sleepers {
    pub on_bell: OnBell,
    /// Sleepers that nobody has told anything yet: their tickets, and the request each waits for.
    /// `None`: it looks for itself.
    untold: Vec<(u64, Option<RequestId>)>,
    next_ticket: u64,
    /// Threads that sleep, wherever.
    asleep: u32,
    /// Threads that sleep on `told`.
    waiting: u32,
    /// Changes whenever they are to look again.
    told: Arc<AtomicU32>,
}

impl Sleepers {
    pub fn new() -> Self {
        Self {
            on_bell: OnBell::Nobody,
            untold: Vec::new(),
            next_ticket: 0,
            asleep: 0,
            waiting: 0,
            told: Arc::default(),
        }
    }

    /// Whether somebody sleeps.
    #[inline(always)]
    pub fn exist(&self) -> bool {
        self.asleep > 0
    }

    /// Whether somebody sleeps whom nobody has told anything.
    #[inline(always)]
    pub fn are_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// A thread lies down; the ticket is for [`Sleepers::get_up`].
    pub fn lie_down(&mut self, watched: Option<RequestId>) -> u64 {
        self.asleep += 1;
        self.next_ticket += 1;
        self.untold.push((self.next_ticket, watched));
        self.next_ticket
    }

    /// It is awake again.
    pub fn get_up(&mut self, ticket: u64) {
        self.asleep -= 1;
        self.untold.retain(|(other, _)| *other != ticket);
    }

    /// Forgets those whom something concerns, for they are told now; true if there are any.
    pub fn take_concerned(&mut self, concerns: impl Fn(Option<RequestId>) -> bool) -> bool {
        let before = self.untold.len();
        self.untold.retain(|(_, watched)| !concerns(*watched));
        self.untold.len() < before
    }

    /// A thread is about to sleep away from the doorbell; the nap is to be slept without the lock.
    pub fn begin_nap(&mut self) -> Nap {
        self.waiting += 1;
        Nap {
            seen: self.told.load(Ordering::Relaxed),
            told: Arc::clone(&self.told),
        }
    }

    /// It is back.
    pub fn end_nap(&mut self) {
        self.waiting -= 1;
    }

    /// Lets those away from the doorbell look again: all, or one that takes the watch over.
    pub fn tell(&self, everybody: bool) {
        if self.waiting == 0 {
            return;
        }
        self.told.fetch_add(1, Ordering::Relaxed);
        let count = if everybody { i32::MAX } else { 1 };
        // SAFETY: the word outlives the call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.told.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                count,
            );
        }
    }
}

/// A sleep away from the doorbell: it ends when somebody was told since it began.
pub(crate) struct Nap {
    told: Arc<AtomicU32>,
    seen: u32,
}

impl Nap {
    pub fn sleep(&self, at_most: Option<Duration>) {
        let timeout = at_most.map(|time| libc::timespec {
            tv_sec: time.as_secs() as _,
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        });
        // SAFETY: the word outlives the call; the timeout pointer is null or points to a local that
        // does, too.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.told.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                self.seen,
                timeout
                    .as_ref()
                    .map_or(std::ptr::null(), |time| time as *const libc::timespec),
            );
        }
    }
}
