//! The lock of this rank's memory in the name of ranks that have no words of it.
//!
//! The service draws tickets for them and looks again with every step; whoever gives the lock back
//! pokes it for as long as one of them waits.

use oxmpi_ports::turn_lock::{Drawn, Ticket, Wish};

use super::{Context, Hands, Kept, Next, Stream, Waits};
use crate::LockKind;
use crate::lock::{self, Held, Try};
use crate::message::Refusal;

impl<K: Kept> Stream<K> {
    pub(super) fn lock<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        kind: LockKind,
    ) -> Next {
        let wish = Wish::from(kind);
        let hands = &mut *context.hands;
        match hands.lock().draw(wish, hands.entry(origin)) {
            Drawn::Inside(ticket, turn) => {
                self.hold(Held::Turn(ticket), wish);
                context.again |= hands.wake(turn);
                return Next::GoesOn;
            }
            Drawn::Waits(ticket) => self.waits = Some(Waits::Turn(ticket, wish)),
            Drawn::Disrupted(turn) => {
                context.again |= hands.wake(turn);
                self.waits = Some(Waits::Disrupted(wish));
            }
        }
        // Whoever gives the lock back pokes this service for as long as it waits.
        hands.lock().announce_sleep();
        self.resume(context, origin)
    }

    pub(super) fn try_lock<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        ticket: Ticket,
        wish: Wish,
    ) -> Next {
        let hands = &mut *context.hands;
        let dead = hands.dead();
        if !dead.contains(&origin)
            && hands.lock().has_turn(ticket)
            && let Ok(turn) = hands.lock().enter(ticket, hands.entry(origin))
        {
            hands.lock().announce_awake();
            self.hold(Held::Turn(ticket), wish);
            context.again |= hands.wake(turn);
            return Next::GoesOn;
        }
        let is_before = |rank: &u32| hands.entry(*rank).is_before(ticket);
        let is_orphan = dead.contains(&origin) || dead.iter().any(is_before);
        if !hands.lock().is_disrupted() && !is_orphan {
            self.waits = Some(Waits::Turn(ticket, wish));
            return Next::Waits;
        }
        let turn = hands.lock().disrupt(hands.entry(origin));
        context.again |= hands.wake(turn);
        self.try_disrupted(context, origin, wish)
    }

    pub(super) fn try_disrupted<H: Hands<K>>(
        &mut self,
        context: &mut Context<'_, H>,
        origin: u32,
        wish: Wish,
    ) -> Next {
        let hands = &mut *context.hands;
        let dead = hands.dead();
        if dead.contains(&origin) {
            // It waits no more; what it has asked for under the lock is not done.
            self.messages.clear();
            self.locked_out = true;
            hands.lock().announce_awake();
            return Next::GoesOn;
        }
        let ranks = (hands.own_rank(), origin);
        match lock::take_disrupted(hands, ranks, wish, &dead, &mut self.told) {
            Try::Waits => {
                self.waits = Some(Waits::Disrupted(wish));
                return Next::Waits;
            }
            Try::Held => self.hold(Held::Disrupted, wish),
            Try::Died(rank) => {
                let process = hands.process_of(rank);
                self.refuse(Refusal::Died { process });
                self.locked_out = true;
            }
        }
        hands.lock().announce_awake();
        Next::GoesOn
    }

    fn hold(&mut self, held: Held, wish: Wish) {
        self.held = Some(held);
        self.exclusive = wish == Wish::Write;
    }

    pub(super) fn unlock<H: Hands<K>>(&mut self, context: &mut Context<'_, H>, origin: u32) {
        self.exclusive = false;
        if let Some(held) = self.held.take() {
            let hands = &mut *context.hands;
            let turn = lock::release(hands.lock(), hands.entry(origin), held);
            context.again |= hands.wake(turn);
        }
    }
}
