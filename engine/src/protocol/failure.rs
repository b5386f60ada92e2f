//! What can go wrong with a request, and the two ways a request ends early: cancelled, or its peer
//! died.

use std::sync::Arc;

use oxmpi_matching::PostedId;
use oxmpi_wire::{Content, Envelope, Kind, WireError};

use super::requests::{Completion, Request, RequestId, State};
use super::{Protocol, Unexpected};

/// Why an operation did not end well. The engine adds names of ranks and hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The message was longer than the receive's buffer; what fits has been delivered.
    Truncated {
        /// The sender.
        source: u32,
        /// The message's tag.
        tag: i32,
        /// The message's length.
        bytes: u64,
        /// The buffer's.
        capacity: u64,
    },
    /// The other process died.
    PeerDied {
        /// Which.
        peer: u32,
    },
    /// Packets are numbered, and one is missing.
    PacketLost {
        /// From whom.
        peer: u32,
        /// The number awaited.
        expected: u32,
        /// The number found.
        found: u32,
    },
    /// A packet that contradicts what came before it.
    Malformed {
        /// From whom.
        peer: u32,
        /// In which way.
        what: &'static str,
    },
    /// A packet whose head cannot be read.
    Unreadable {
        /// From whom.
        peer: u32,
        /// Why not.
        error: WireError,
    },
    /// More unexpected messages than can be kept.
    UnexpectedFull {
        /// Who sent the one too many.
        peer: u32,
        /// How many are kept.
        messages: usize,
    },
}

impl<B: Copy> Protocol<B> {
    /// Asks to end a request early. Receives that have no message yet end at once; an offered send
    /// asks its receiver; others take their course.
    pub fn cancel(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else {
            return;
        };
        let cancelled = Ok(Completion {
            cancelled: true,
            ..request.completion()
        });
        match request.state {
            State::Posted(posted) => {
                self.queues.cancel(posted);
                self.requests.complete(id, cancelled);
            }
            State::Queued {
                sent: 0,
                eager: false,
            } => {
                let peer = request.peer.expect("sends have a peer");
                self.peers[peer as usize]
                    .messages
                    .retain(|&queued| queued != id);
                self.requests.complete(id, cancelled);
            }
            State::Offered => {
                let (peer, envelope) = (request.peer.expect("sends have a peer"), request.envelope);
                if self.peers[peer as usize].gone {
                    // It has finalised without taking the offer.
                    return self.requests.complete(id, cancelled);
                }
                request.state = State::Cancelling;
                self.answer(peer, envelope, Kind::Cancel { send: id.token() });
            }
            _ => {}
        }
    }

    /// A sender asks to take its offer back.
    pub(super) fn handle_cancel(&mut self, from: u32, send: u64) {
        let offered = self
            .queues
            .unexpected()
            .find_map(|(id, _, unexpected)| match *unexpected {
                Unexpected::Offered {
                    from: sender,
                    send: token,
                    ..
                } if sender == from && token == send => Some(id),
                _ => None,
            });
        let withdrawn = offered.and_then(|id| self.queues.withdraw(id));
        let nothing = Envelope {
            context: 0,
            source: self.me,
            tag: 0,
            content: Content::new(0, 0),
        };
        let envelope = withdrawn
            .as_ref()
            .map_or(nothing, |(envelope, _)| *envelope);
        self.answer(
            from,
            envelope,
            Kind::CancelReply {
                send,
                cancelled: withdrawn.is_some(),
            },
        );
    }

    /// A process has died. What waits for it fails, and so does every receive from anybody in a
    /// context that has lost a member by it: its message may have been the dead process's to send.
    /// Messages that have arrived completely can still be received.
    pub fn peer_died(&mut self, peer: u32) {
        if std::mem::replace(&mut self.peers[peer as usize].dead, true) {
            return;
        }
        self.died.push(peer);
        self.give_up(peer, true);
    }

    /// A process has sent what no process sends. It is as good as dead, and nothing that it sends
    /// is taken any more; whatever does not need it goes on.
    pub fn part_with(&mut self, peer: u32, failure: Failure) {
        self.peers[peer as usize].garbage.get_or_insert(failure);
        self.peer_died(peer);
    }

    /// What made this process part with another, if it has.
    pub fn garbage_of(&self, peer: u32) -> Option<Failure> {
        self.peers[peer as usize].garbage
    }

    /// Only these processes send messages in a context: the death of others does not concern
    /// receives from anybody there. A context of which this is not known is concerned by every
    /// death.
    pub fn set_members(&mut self, context: u64, members: Arc<[u32]>) {
        self.members.insert(context, members);
    }

    /// A context is not used any more.
    pub fn forget_members(&mut self, context: u64) {
        self.members.remove(&context);
        self.bound.remove(&context);
    }

    /// What these processes do in a context needs all of them: the death of one ends every receive
    /// there that has no message yet, also those from others, which may have given up for the same
    /// reason.
    pub fn bind_members(&mut self, context: u64, members: Arc<[u32]>) {
        self.bound.insert(context, members);
    }

    /// Whether the death of a process ends all receives in a context.
    fn is_bound(&self, context: u64, peer: u32) -> bool {
        let members = self.bound.get(&context);
        members.is_some_and(|members| members.contains(&peer))
    }

    /// A dead process without which a receive will have no message: the one that it is from, or
    /// one to which its context is bound.
    #[inline(always)]
    pub(super) fn dead_for(&self, from: Option<u32>, context: u64) -> Option<u32> {
        if self.died.is_empty() {
            return None;
        }
        let bound = || {
            self.died
                .iter()
                .copied()
                .find(|&peer| self.is_bound(context, peer))
        };
        from.filter(|&from| self.is_dead(from)).or_else(bound)
    }

    /// Whether the death of a process concerns receives from anybody in a context.
    pub fn is_member(&self, context: u64, peer: u32) -> bool {
        let members = self.members.get(&context);
        members.is_none_or(|members| members.contains(&peer))
    }

    /// Whether the death of a process ends a receive: it is the only one that its message can come
    /// from, a member of the context of a receive from anybody, or one to which the context is bound.
    pub fn is_concerned(&mut self, id: RequestId, peer: u32) -> bool {
        let Some(request) = self.requests.get(id) else {
            return false;
        };
        let (other, context) = (request.peer, request.envelope.context);
        match other {
            Some(other) => other == peer || self.is_bound(context, peer),
            None => self.is_member(context, peer),
        }
    }

    /// A process has finalised. What was under way with it fails. What has not met its partner
    /// stays as it is, although it never will: it can be tested and taken back, and is
    /// [stranded](Protocol::is_stranded) for a thread that waits for it. Messages that need no
    /// answer may still be sent: nobody reads them, and nobody could tell.
    pub fn peer_finished(&mut self, peer: u32) {
        let state = &self.peers[peer as usize];
        if !state.dead && !state.gone {
            self.finished += 1;
            self.give_up(peer, false);
        }
    }

    /// Whether nothing but its being taken back can end a request any more: the process that it
    /// needs has finalised.
    #[inline(always)]
    pub fn is_stranded(&self, id: RequestId) -> bool {
        self.finished > 0
            && self
                .requests
                .peek(id)
                .is_some_and(|request| self.needs_gone(request))
    }

    #[cold]
    fn needs_gone(&self, request: &Request<B>) -> bool {
        let unmet = matches!(
            request.state,
            State::Posted(_) | State::Queued { .. } | State::Offered
        );
        unmet
            && request
                .peer
                .is_some_and(|peer| self.peers[peer as usize].gone)
    }

    /// A request is over, or it is stranded.
    #[inline(always)]
    pub fn is_settled(&self, id: RequestId) -> bool {
        self.is_complete(id) || self.is_stranded(id)
    }

    /// A thread waits for a stranded request: the request fails.
    pub fn fail_stranded(&mut self, id: RequestId) {
        if !self.is_stranded(id) {
            return;
        }
        let Some(request) = self.requests.get(id) else {
            return;
        };
        let failure = Failure::PeerDied {
            peer: request.peer.expect("a stranded request needs a process"),
        };
        match request.state {
            State::Posted(posted) => self.fail_posted(id, posted, failure),
            _ => self.requests.complete(id, Err(failure)),
        }
    }

    fn give_up(&mut self, peer: u32, with_wildcards: bool) {
        let state = &mut self.peers[peer as usize];
        state.gone = true;
        state.answers.clear();
        state.messages.clear();
        state.streams.clear();
        state.inbound = None;
        if !with_wildcards {
            self.conclude_departures(peer);
            self.conclude_cancels(peer);
        }
        let failure = Failure::PeerDied { peer };
        let concerned: Vec<(RequestId, Option<PostedId>)> = self
            .requests
            .active()
            .filter(|(_, request)| with_wildcards || !self.needs_gone(request))
            .filter(|(_, request)| match (request.state, request.peer) {
                // It has a message; whether that can still become complete is for who knows the
                // driver to say.
                (State::Awarded, _) => false,
                (State::Posted(_), Some(other)) if other != peer => {
                    with_wildcards && self.is_bound(request.envelope.context, peer)
                }
                (_, Some(other)) => other == peer,
                (_, None) => with_wildcards && self.is_member(request.envelope.context, peer),
            })
            .map(|(id, request)| match request.state {
                State::Posted(posted) => (id, Some(posted)),
                _ => (id, None),
            })
            .collect();
        for (id, posted) in concerned {
            match posted {
                Some(posted) => self.fail_posted(id, posted, failure),
                None => self.requests.complete(id, Err(failure)),
            }
        }
        self.settle();
    }

    /// A process that has finalised has received all that it asked for, whether or not its last
    /// acknowledgement has come, and whether or not it is known here that the last of it has left;
    /// what was to be sent without an answer counts as sent.
    fn conclude_departures(&mut self, peer: u32) {
        let is_on_its_way = |state| {
            let leaves = matches!(state, State::Departing | State::Streaming { .. });
            leaves || matches!(state, State::Queued { eager: true, .. })
        };
        for id in self.active_with(peer, is_on_its_way) {
            self.end(id, false);
        }
    }

    /// A process that has finalised did not receive what it was asked to give back: it would have
    /// said so.
    fn conclude_cancels(&mut self, peer: u32) {
        for id in self.active_with(peer, |state| matches!(state, State::Cancelling)) {
            self.end(id, true);
        }
    }

    fn active_with(&self, peer: u32, wanted: impl Fn(State) -> bool) -> Vec<RequestId> {
        let active = self.requests.active();
        active
            .filter(|(_, request)| request.peer == Some(peer) && wanted(request.state))
            .map(|(id, _)| id)
            .collect()
    }

    /// A send ends well.
    pub(super) fn end(&mut self, id: RequestId, cancelled: bool) {
        if let Some(request) = self.requests.get(id) {
            let completion = Completion {
                cancelled,
                ..request.completion()
            };
            self.requests.complete(id, Ok(completion));
        }
    }

    pub(super) fn fail_posted(&mut self, id: RequestId, posted: PostedId, failure: Failure) {
        self.queues.cancel(posted);
        self.requests.complete(id, Err(failure));
    }

    /// Whether any process is known to be dead.
    #[inline(always)]
    pub fn has_dead(&self) -> bool {
        !self.died.is_empty()
    }

    /// The dead, in the order in which that became known.
    pub fn died(&self) -> &[u32] {
        &self.died
    }

    /// Whether `peer` is known to be dead.
    pub fn is_dead(&self, peer: u32) -> bool {
        self.peers[peer as usize].dead
    }

    /// Whether any process is known to have finalised.
    #[inline(always)]
    pub fn has_finished(&self) -> bool {
        self.finished > 0
    }

    /// Whether `peer` is known to be dead or to have finalised.
    pub fn is_gone(&self, peer: u32) -> bool {
        self.peers[peer as usize].gone
    }
}
