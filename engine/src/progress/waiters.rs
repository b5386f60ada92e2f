//! Who waits: threads inside the engine, awake or asleep, and futures; and who is told what
//! happened.

use std::task::Waker;

use super::handler::Handler;
use super::sleepers::{OnBell, Sleepers};
use crate::protocol::RequestId;

/// Work of the layers above that whoever waits, or the driver, steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// There is none.
    None,
    /// All of it only waits for messages that nobody has asked for: it is stepped while there are
    /// such messages.
    Dormant,
    /// It is stepped whenever something has happened.
    Active,
}

pub(crate) struct Waiters {
    /// Threads of the application that wait inside.
    pub inside: u32,
    /// Threads of the application that sleep.
    pub sleepers: Sleepers,
    /// Futures to wake when their request is over.
    pub wakers: Vec<(RequestId, Waker)>,
    /// Something happened outside the waiting loop that may concern who waits, awake or asleep.
    pub news: bool,
    /// What threads that wait do for the layers above, too.
    pub background: Work,
}

impl Waiters {
    pub fn new() -> Waiters {
        Waiters {
            inside: 0,
            sleepers: Sleepers::new(),
            wakers: Vec::new(),
            news: false,
            background: Work::None,
        }
    }

    /// Whether a sleeping thread or a future may have to be told what happens.
    #[inline(always)]
    pub fn has_listeners(&self) -> bool {
        self.sleepers.are_untold() || !self.wakers.is_empty()
    }
}

impl Handler {
    /// Whether the work of the layers above is to be stepped when something has happened.
    #[inline(always)]
    pub fn has_background(&self) -> bool {
        match self.waiters.background {
            Work::None => false,
            Work::Dormant => self.protocol.has_unexpected(),
            Work::Active => true,
        }
    }

    /// Tells sleeping threads and futures whose request is over. `happened`: also threads that look
    /// for themselves, and all of them if there is work of the layers above, which who waits for a
    /// request steps too.
    #[cold]
    pub fn tell_others(&mut self, happened: bool) {
        let protocol = &self.protocol;
        let broken = self.broken.is_some();
        let all = broken || happened && self.has_background();
        let concerns = |watched: Option<RequestId>| match watched {
            Some(id) => all || protocol.is_settled(id),
            None => all || happened,
        };
        if self.waiters.sleepers.take_concerned(concerns) {
            self.waiters.sleepers.tell(true);
            self.rouse_bell();
        }
        let protocol = &self.protocol;
        self.waiters.wakers.retain(|(id, waker)| {
            let over = broken || protocol.is_complete(*id);
            if over {
                waker.wake_by_ref();
            }
            !over
        });
    }

    /// Wakes the thread that sleeps on the doorbell, if one does.
    pub fn rouse_bell(&mut self) {
        let on_bell = &mut self.waiters.sleepers.on_bell;
        if matches!(on_bell, OnBell::Asleep { .. }) {
            *on_bell = OnBell::Roused;
            // Whatever the word says: a look at the rings that found something has called this
            // process awake.
            self.port().bell().announce_awake();
            self.segment().wake(self.port().index());
        }
    }
}
