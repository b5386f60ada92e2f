//! In which order requests that are over are handed out, where a call chooses among several.
//!
//! Programs rely on messages of one sender being handed out in the order in which they were sent,
//! also when they are received into several requests and looked for by MPI_Testany. So every
//! request has a *turn*: of a receive, its place in the order in which receives were matched; of
//! anything else, its place in the order in which requests ended. Both are one count.
//!
//! A long message that was matched first can end after a short one of the same sender that was
//! matched later: the short one is *behind* it. It is held back while the bytes of the long one
//! keep coming. It is handed out nevertheless once they have not for
//! [`STANDSTILL_MAX`]: MPI 5.0 §3.7.4 wants a request that is over to be seen, and their sender may be stopped.

use std::time::Duration;

use oxmpi_wire::Envelope;

use super::Protocol;
use super::requests::{RequestId, State};

/// How long the earlier message may stand still. A sender that computes answers by its driver
/// within some milliseconds; the rest is for machines where many processes share a CPU, and for
/// networks that lose frames several times in a row.
pub const STANDSTILL_MAX: Duration = Duration::from_secs(2);

/// Whether a request can be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is not over.
    Pending,
    /// It is over, and this is its place.
    Over(u64),
    /// It is over, and a receive of the same list that was matched before it is still getting its
    /// bytes from the same sender.
    Behind {
        /// Its place.
        turn: u64,
        /// The receive that was matched before it.
        earlier: RequestId,
    },
}

/// The receive of a list that was matched first among those that are getting their bytes from one
/// process.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    /// The look that found it: what an older one found means nothing any more.
    look: u64,
    turn: u64,
    envelope: Envelope,
    request: RequestId,
}

/// How long a receive has held others back without getting any bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standstill {
    arrived: u64,
    since: Duration,
}

impl<B: Copy> Protocol<B> {
    /// A look at several requests begins. First [`Protocol::note`] is told all of them, then
    /// [`Protocol::turn`] is asked about each.
    pub fn begin_look(&mut self) {
        self.look += 1;
    }

    /// The request is one of those that are looked at. True if it has its message, and not all of
    /// its bytes.
    #[inline]
    pub fn note(&mut self, id: RequestId) -> bool {
        let look = self.look;
        let Some(request) = self.requests.get(id) else {
            return false;
        };
        let from = match request.state {
            State::Receiving { .. } => request.peer,
            State::Awarded => return true,
            _ => return false,
        };
        let Some(from) = from else {
            return true;
        };
        let (turn, envelope) = (request.turn, request.envelope);
        let first = &mut self.peers[from as usize].in_flight;
        if first.is_none_or(|first| first.look != look || first.turn > turn) {
            *first = Some(InFlight {
                look,
                turn,
                envelope,
                request: id,
            });
        }
        true
    }

    /// The turn of a request that is over, where none of the look holds another back.
    #[inline]
    pub fn turn_if_over(&mut self, id: RequestId) -> Option<u64> {
        let Some(request) = self.requests.get(id) else {
            return Some(0);
        };
        matches!(request.state, State::Complete(_)).then_some(request.turn)
    }

    /// Whether a request of the look can be handed out.
    #[inline]
    pub fn turn(&mut self, id: RequestId) -> Turn {
        let look = self.look;
        let Some(request) = self.requests.get(id) else {
            return Turn::Over(0);
        };
        if !matches!(request.state, State::Complete(_)) {
            return Turn::Pending;
        }
        let (turn, context) = (request.turn, request.envelope.context);
        // Sends are not held back: their turn is their end.
        let from = request.peer.filter(|_| request.is_receive);
        let first = from.and_then(|from| self.peers[from as usize].in_flight);
        match first {
            Some(first)
                if first.look == look && first.turn < turn && first.envelope.context == context =>
            {
                Turn::Behind {
                    turn,
                    earlier: first.request,
                }
            }
            _ => Turn::Over(turn),
        }
    }

    /// Whether a receive that others are behind still gets bytes, as far as can be told at `now`.
    pub fn keeps_coming(&mut self, id: RequestId, now: Duration) -> bool {
        let Some(request) = self.requests.get(id) else {
            return false;
        };
        let State::Receiving { arrived } = request.state else {
            return false;
        };
        match request.standstill {
            Some(still) if still.arrived == arrived => now - still.since < STANDSTILL_MAX,
            _ => {
                request.standstill = Some(Standstill {
                    arrived,
                    since: now,
                });
                true
            }
        }
    }
}
