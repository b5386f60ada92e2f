//! Choosing among several requests: which of those that are over is handed out first, and waiting
//! until one is.
//!
//! All requests of a list are looked at under one hold of the lock. Between two looks another
//! thread, or the driver, could take in several messages, and the later one would be seen first.

use crate::engine::{Engine, Request};
use crate::error::EngineError;
use crate::progress::{Guard, Handler};
use crate::protocol::{Completion, RequestId, Turn};

/// A list of requests: calls the function with the place and the id of each of them. It may be
/// walked several times, under the engine's lock: it must not call the engine.
pub trait Several {
    /// Walks the list.
    fn each(&self, visit: impl FnMut(usize, RequestId));
}

/// What a look at several requests has found besides those that can be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// A message that is there was not told of, because an earlier one of the same sender is still
    /// on its way to another request of the list.
    pub held_back: bool,
    /// A request of the list has its message, and not all of its bytes: its turn may come before
    /// turns that were told. Else every turn of a later look is larger than all of this one.
    pub moves: bool,
}

impl Several for [Request] {
    fn each(&self, mut visit: impl FnMut(usize, RequestId)) {
        for (at, request) in self.iter().enumerate() {
            if let Request::Pending(id) = request {
                visit(at, *id);
            }
        }
    }
}

impl Several for [RequestId] {
    fn each(&self, mut visit: impl FnMut(usize, RequestId)) {
        self.iter().enumerate().for_each(|(at, id)| visit(at, *id));
    }
}

impl Engine {
    /// Takes what has arrived, and tells of every request that can be handed out: its place in the
    /// list and its turn. Requests are to be handed out by turns, the smallest first. A receive
    /// whose message is behind an earlier one of the same sender, to another receive of the list,
    /// is not told of as long as the earlier one moves.
    pub fn look_at(
        &self,
        requests: &(impl Several + ?Sized),
        mut found: impl FnMut(usize, u64),
    ) -> Look {
        let mut handler = self.shared.enter();
        handler.progress(None);
        let mut is_vain = true;
        let look = self.tell_turns(&mut handler, requests, &mut |at, turn| {
            is_vain = false;
            found(at, turn);
        });
        self.shared.leave(&mut handler);
        drop(handler);
        if is_vain {
            self.shared.vain.happened();
        }
        look
    }

    /// Whether all of the requests are over, after taking what has arrived; they stay.
    pub fn are_complete(&self, requests: &(impl Several + ?Sized)) -> bool {
        let mut handler = self.shared.enter();
        handler.progress(None);
        let mut are = true;
        let protocol = &handler.protocol;
        requests.each(|_, id| are = are && protocol.is_complete(id));
        let are = are || handler.broken.is_some();
        self.shared.leave(&mut handler);
        drop(handler);
        if !are {
            self.shared.vain.happened();
        }
        are
    }

    /// Waits for every request, one after the other, and tells its place and its outcome; they are
    /// gone then. `ended` must not call the engine.
    #[inline]
    pub fn wait_each(
        &self,
        requests: &(impl Several + ?Sized),
        mut ended: impl FnMut(usize, Result<Completion, EngineError>),
    ) {
        let mut handler = self.shared.enter();
        requests.each(|at, id| {
            let waited = match handler.protocol.is_complete(id) {
                true => Ok(()),
                false => self.wait_settled(&mut handler, id),
            };
            ended(at, waited.and_then(|()| self.outcome(&mut handler, id)));
        });
        self.shared.leave(&mut handler);
    }

    #[inline(never)]
    fn wait_settled(&self, handler: &mut Guard<'_>, id: RequestId) -> Result<(), EngineError> {
        // The others of the list are wanted too: all that is there is taken in one go.
        handler.progress(None);
        if handler.protocol.is_complete(id) {
            return Ok(());
        }
        let mut is_settled = |handler: &mut Handler| handler.protocol.is_settled(id);
        self.shared.wait(handler, Some(id), &mut is_settled)
    }

    fn tell_turns(
        &self,
        handler: &mut Handler,
        requests: &(impl Several + ?Sized),
        found: &mut impl FnMut(usize, u64),
    ) -> Look {
        let (mut held_back, mut moves) = (false, false);
        if handler.broken.is_some() {
            requests.each(|at, _| found(at, 0));
            return Look { held_back, moves };
        }
        let protocol = &mut handler.protocol;
        protocol.begin_look();
        requests.each(|_, id| moves |= protocol.note(id));
        if !moves {
            // No receive is between its match and its end, so none can hold another back.
            requests.each(|at, id| {
                if let Some(turn) = protocol.turn_if_over(id) {
                    found(at, turn);
                }
            });
            return Look { held_back, moves };
        }
        let mut now = None;
        requests.each(|at, id| match protocol.turn(id) {
            Turn::Pending => {}
            Turn::Over(turn) => found(at, turn),
            Turn::Behind { turn, earlier } => {
                let now = *now.get_or_insert_with(|| self.started.elapsed());
                if protocol.keeps_coming(earlier, now) {
                    held_back = true;
                } else {
                    found(at, turn);
                }
            }
        });
        Look { held_back, moves }
    }

    /// Waits until one of the requests is over; the one whose turn is first is gone then.
    ///
    /// # Panics
    /// When there are none.
    pub fn wait_any(&self, requests: &[Request]) -> (usize, Result<Completion, EngineError>) {
        assert!(
            !requests.is_empty(),
            "waiting for any of no requests would never end"
        );
        let over = requests.iter().enumerate().find_map(|(at, request)| {
            let Request::Over(completion) = request else {
                return None;
            };
            Some((at, *completion))
        });
        if let Some((at, completion)) = over {
            return (at, Ok(completion));
        }
        let mut handler = self.shared.enter();
        let outcome = loop {
            let waited = self.wait_among(&mut handler, requests, &mut || false, true);
            if let Err(error) = waited {
                break (0, Err(error));
            }
            let mut first = None;
            let look = self.tell_turns(&mut handler, requests, &mut |at, turn| {
                keep_first(&mut first, at, turn);
            });
            match first {
                Some((_, at)) => {
                    let Request::Pending(id) = requests[at] else {
                        unreachable!("those that are over were looked for first")
                    };
                    break (at, self.outcome(&mut handler, id));
                }
                None if look.held_back => handler.let_go(std::thread::yield_now),
                None => {}
            }
        };
        self.shared.leave(&mut handler);
        outcome
    }

    /// Waits until one of the requests is over, or `enough` says so; the requests stay. `enough` is
    /// asked whenever something may have changed, under the engine's lock: it must not call the
    /// engine. What makes it true from another thread must be followed by [`Engine::rouse`].
    /// `only`: nothing else can end the wait; if all requests need processes that have finalised,
    /// the first one fails.
    pub fn wait_for(
        &self,
        requests: &[RequestId],
        enough: impl FnMut() -> bool,
        only: bool,
    ) -> Result<(), EngineError> {
        self.wait_for_several(requests, enough, only)
    }

    /// As [`Engine::wait_for`], for a list of any kind.
    pub fn wait_for_several(
        &self,
        requests: &(impl Several + ?Sized),
        mut enough: impl FnMut() -> bool,
        only: bool,
    ) -> Result<(), EngineError> {
        let mut handler = self.shared.enter();
        let waited = self.wait_among(&mut handler, requests, &mut enough, only);
        self.shared.leave(&mut handler);
        waited
    }

    fn wait_among(
        &self,
        handler: &mut Guard<'_>,
        requests: &(impl Several + ?Sized),
        enough: &mut dyn FnMut() -> bool,
        only: bool,
    ) -> Result<(), EngineError> {
        let mut one = None;
        let mut count = 0;
        requests.each(|_, id| {
            one = Some(id);
            count += 1;
        });
        let watched = one.filter(|_| count == 1);
        let mut stranded = None;
        let mut goal = |handler: &mut Handler| {
            if enough() {
                return true;
            }
            let (mut over, mut moves) = (false, false);
            stranded = None;
            requests.each(|_, id| {
                let protocol = &handler.protocol;
                if over || protocol.is_complete(id) {
                    over = true;
                } else if protocol.is_stranded(id) {
                    stranded.get_or_insert(id);
                } else {
                    moves = true;
                }
            });
            if over || moves || !only {
                stranded = None;
            }
            over || stranded.is_some()
        };
        let waited = self.shared.wait(handler, watched, &mut goal);
        if let Some(id) = stranded {
            handler.fail_stranded(id);
        }
        waited
    }
}

/// Remembers a request if its turn comes before that of the one remembered.
pub fn keep_first(first: &mut Option<(u64, usize)>, at: usize, turn: u64) {
    if first.is_none_or(|(earliest, _)| turn < earliest) {
        *first = Some((turn, at));
    }
}
