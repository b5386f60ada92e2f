//! The lock of this rank's memory in the name of ranks of other hosts.
//!
//! The service draws tickets for them and looks again with every step; whoever gives the lock back
//! pokes it for as long as one of them waits.

use oxmpi_engine::turn_lock::{Drawn, Ticket, Wish};

use super::super::LockKind;
use super::super::lock::{Held, Try};
use super::super::message::Refusal;
use super::{Hands, Next, Stream, Waits};

impl Stream {
    pub(super) fn lock(&mut self, hands: &mut Hands<'_>, origin: u32, kind: LockKind) -> Next {
        let (control, index) = (&hands.core.control, hands.core.own_index());
        let wish = Wish::from(kind);
        let (lock, entry) = (control.lock(index), control.entry(index, origin));
        match lock.draw(wish, entry) {
            Drawn::Inside(ticket, turn) => {
                self.hold(Held::Turn(ticket), wish);
                hands.again |= hands.core.wake(index, turn);
                return Next::GoesOn;
            }
            Drawn::Waits(ticket) => self.waits = Some(Waits::Turn(ticket, wish)),
            Drawn::Disrupted(turn) => {
                hands.again |= hands.core.wake(index, turn);
                self.waits = Some(Waits::Disrupted(wish));
            }
        }
        // Whoever gives the lock back pokes this service for as long as it waits.
        lock.announce_sleep();
        self.resume(hands, origin)
    }

    pub(super) fn try_lock(
        &mut self,
        hands: &mut Hands<'_>,
        origin: u32,
        ticket: Ticket,
        wish: Wish,
    ) -> Next {
        let core = hands.core;
        let index = core.own_index();
        let (lock, entry) = (core.control.lock(index), core.control.entry(index, origin));
        let dead = core.dead_ranks();
        if !dead.contains(&origin)
            && lock.has_turn(ticket)
            && let Ok(turn) = lock.enter(ticket, entry)
        {
            lock.announce_awake();
            self.hold(Held::Turn(ticket), wish);
            hands.again |= core.wake(index, turn);
            return Next::GoesOn;
        }
        let is_before = |rank: &u32| core.control.entry(index, *rank).is_before(ticket);
        let is_orphan = dead.contains(&origin) || dead.iter().any(is_before);
        if !lock.is_disrupted() && !is_orphan {
            self.waits = Some(Waits::Turn(ticket, wish));
            return Next::Waits;
        }
        let turn = core.disrupt(index, origin);
        hands.again |= core.wake(index, turn);
        self.try_disrupted(hands, origin, wish)
    }

    pub(super) fn try_disrupted(&mut self, hands: &mut Hands<'_>, origin: u32, wish: Wish) -> Next {
        let core = hands.core;
        let (me, index) = (core.comm.rank, core.own_index());
        let dead = core.dead_ranks();
        if dead.contains(&origin) {
            // It waits no more; what it has asked for under the lock is not done.
            self.messages.clear();
            self.locked_out = true;
            core.control.lock(index).announce_awake();
            return Next::GoesOn;
        }
        match core.take_disrupted(me, index, origin, wish, &dead, &mut self.told) {
            Try::Waits => {
                self.waits = Some(Waits::Disrupted(wish));
                return Next::Waits;
            }
            Try::Held => self.hold(Held::Disrupted, wish),
            Try::Died(rank) => {
                let process = core.part(rank).process;
                self.refuse(Refusal::Died { process });
                self.locked_out = true;
            }
        }
        core.control.lock(index).announce_awake();
        Next::GoesOn
    }

    fn hold(&mut self, held: Held, wish: Wish) {
        self.held = Some(held);
        self.exclusive = wish == Wish::Write;
    }

    pub(super) fn unlock(&mut self, hands: &mut Hands<'_>, origin: u32) {
        self.exclusive = false;
        if let Some(held) = self.held.take() {
            let index = hands.core.own_index();
            let turn = hands.core.release(index, origin, held);
            hands.again |= hands.core.wake(index, turn);
        }
    }
}
