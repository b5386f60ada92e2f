//! Arrived packets: what each kind means, and where its payload goes.

use oxmpi_matching::Pattern;
use oxmpi_wire::{Code, Content, Eager, Envelope, Kind, More, Repr, reason};

use super::failure::Failure;
use super::offer::Fetch;
use super::peer::Inbound;
use super::requests::{RequestId, State};
use super::{Protocol, Unexpected, cost};

/// What the caller does with an arrived packet's payload.
#[derive(Debug)]
pub enum Effect<B> {
    /// Nothing.
    None,
    /// Copy its first `bytes` bytes to `offset` of the buffer.
    Deliver {
        /// The receive's buffer.
        buffer: B,
        /// Where.
        offset: u64,
        /// How many: less than the payload when the buffer is too short.
        bytes: usize,
    },
    /// Fetch a message, then call [`Protocol::fetched`].
    Fetch(Fetch<B>),
}

/// What became of an eager packet.
#[derive(Debug, Clone, Copy)]
pub enum Arrived<B> {
    /// Copy so many bytes of its payload to the beginning of the buffer.
    Deliver(B, usize),
    /// Its payload has been kept.
    Kept,
    /// It is wrong; [`Protocol::handle`] says in which way.
    Refused,
}

/// What a further packet of an eager message brought.
#[derive(Debug, Clone, Copy)]
pub struct Further<B> {
    /// The receive's buffer.
    pub buffer: B,
    /// How many bytes of the payload fit it.
    pub bytes: usize,
    /// The message is whole.
    pub is_last: bool,
}

impl<B: Copy> Protocol<B> {
    /// An eager packet has arrived: what [`Protocol::handle`] does with it, for the caller that
    /// need not look at other kinds.
    #[inline(always)]
    pub fn handle_eager(&mut self, from: u32, header: &Eager, payload: &[u8]) -> Arrived<B> {
        let peer = &mut self.peers[from as usize];
        let envelope = &header.envelope;
        let arrived = payload.len() as u64;
        if header.sequence != peer.next_in || arrived > envelope.bytes() || peer.dead {
            return Arrived::Refused;
        }
        let Some(matched) = self.queues.arrive(envelope) else {
            return self.stash(from, header, payload);
        };
        peer.take_packet(header.credit);
        let id = matched.posted;
        let turn = self.requests.next_turn();
        let request = self.requests.get(id).expect("posted receives are alive");
        request.turn = turn;
        request.meet(envelope, from, &self.notice);
        let buffer = request
            .buffer
            .expect("a receive has its buffer until it is over");
        let bytes = arrived.min(request.capacity) as usize;
        if arrived == envelope.bytes() {
            self.requests.complete_received(id);
        } else {
            request.state = State::Receiving { arrived };
            peer.inbound = Some(Inbound::Request(id));
        }
        self.owe(from, envelope.bytes());
        Arrived::Deliver(buffer, bytes)
    }

    /// A further packet of an eager message, with so many bytes of payload, has arrived: where they
    /// belong. `None`, and nothing has happened: [`Protocol::handle`] says why.
    #[inline(always)]
    pub fn handle_further(&mut self, from: u32, more: &More, bytes: usize) -> Option<Further<B>> {
        let peer = &mut self.peers[from as usize];
        let Some(Inbound::Request(id)) = peer.inbound else {
            return None;
        };
        if more.head.sequence != peer.next_in || peer.dead {
            return None;
        }
        let request = self.requests.get(id)?;
        let State::Receiving { arrived } = request.state else {
            return None;
        };
        let end = more.offset.saturating_add(bytes as u64);
        if more.offset != arrived || end > request.envelope.bytes() || request.peer != Some(from) {
            return None;
        }
        peer.take_packet(more.head.credit);
        let further = Further {
            buffer: request.buffer?,
            bytes: end.min(request.capacity).saturating_sub(arrived) as usize,
            is_last: end == request.envelope.bytes(),
        };
        request.state = State::Receiving { arrived: end };
        if further.is_last {
            peer.inbound = None;
            self.requests.complete_received(id);
        }
        Some(further)
    }

    /// Whether messages wait that no receive has asked for.
    #[inline(always)]
    pub fn has_unexpected(&self) -> bool {
        self.queues.unexpected_len() != 0
    }

    /// Whether nothing is under way: no request and no message that waits.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.requests.pending() == 0 && self.queues.unexpected_len() == 0 && self.busy.is_empty()
    }

    /// Whether a receive need not be posted: no other receive is, and no message that waits is for
    /// it, so the next message from its sender, if it matches, is its own. Nothing else is under
    /// way either: it would stand still while message after message is taken directly.
    #[inline(always)]
    pub fn may_take_directly(&mut self, pattern: &Pattern) -> bool {
        self.requests.pending() == 0
            && self.busy.is_empty()
            && (self.queues.unexpected_len() == 0 || self.queues.probe(pattern).is_none())
    }

    /// A whole eager message that a receive found by itself while [`Protocol::is_quiet`]: true if
    /// it may take it, and then it is handled.
    #[inline(always)]
    pub fn take_directly(
        &mut self,
        from: u32,
        header: &Eager,
        payload_bytes: usize,
        pattern: &Pattern,
    ) -> bool {
        let peer = &mut self.peers[from as usize];
        let takes = !peer.dead
            && pattern.accepts(&header.envelope)
            && pattern.signature == header.envelope.signature()
            && header.envelope.bytes() == payload_bytes as u64
            && header.sequence == peer.next_in;
        if takes {
            peer.take_packet(header.credit);
            self.owe(from, header.envelope.bytes());
        }
        takes
    }

    #[inline(never)]
    fn stash(&mut self, from: u32, header: &Eager, payload: &[u8]) -> Arrived<B> {
        let envelope = header.envelope;
        let kept = self.peers[from as usize]
            .kept
            .saturating_add(cost(envelope.bytes()));
        if kept > self.peers[from as usize].limits.kept_bytes_max {
            return Arrived::Refused;
        }
        let stash = self.stashes.insert(envelope.bytes() as usize, payload);
        if self
            .queues
            .store(envelope, Unexpected::Stashed { from, stash })
            .is_err()
        {
            let buffer = self.stashes.remove(stash);
            self.stashes.recycle(buffer);
            return Arrived::Refused;
        }
        let peer = &mut self.peers[from as usize];
        peer.kept = kept;
        peer.take_packet(header.credit);
        if (payload.len() as u64) < envelope.bytes() {
            peer.inbound = Some(Inbound::Stash(stash));
        }
        self.counters.stashed += 1;
        self.counters.stashed_bytes += envelope.bytes();
        self.counters.stashed_bytes_high = self
            .counters
            .stashed_bytes_high
            .max(self.counters.stashed_bytes);
        Arrived::Kept
    }

    /// A packet has arrived from process `from`.
    pub fn handle(&mut self, from: u32, repr: &Repr, payload: &[u8]) -> Result<Effect<B>, Failure> {
        if self.peers[from as usize].dead {
            // What is waiting for it has failed already.
            return Ok(Effect::None);
        }
        if repr.kind == Kind::Eager {
            let header = Eager {
                envelope: repr.envelope,
                sequence: repr.sequence,
                credit: repr.credit,
            };
            match self.handle_eager(from, &header, payload) {
                Arrived::Deliver(buffer, bytes) => {
                    return Ok(Effect::Deliver {
                        buffer,
                        offset: 0,
                        bytes,
                    });
                }
                Arrived::Kept => return Ok(Effect::None),
                // The checks below find the reason again.
                Arrived::Refused => {}
            }
        }
        self.take_head(from, repr)?;
        let peer = &self.peers[from as usize];
        let envelope = repr.envelope;
        match repr.kind {
            Kind::Eager if payload.len() as u64 > envelope.bytes() => Err(Failure::Malformed {
                peer: from,
                what: "an eager packet longer than its message",
            }),
            Kind::Eager
                if peer.kept.saturating_add(cost(envelope.bytes()))
                    > peer.limits.kept_bytes_max =>
            {
                Err(Failure::Malformed {
                    peer: from,
                    what: "an eager message for which there is no room",
                })
            }
            Kind::Eager => Err(Failure::UnexpectedFull {
                peer: from,
                messages: self.limits.unexpected_max,
            }),
            Kind::Data { receive, offset } => self.handle_data(from, receive, offset, payload),
            Kind::More { offset } => self.handle_more(from, offset, payload),
            Kind::RequestToSend { .. } => {
                let offer = Unexpected::offered(from, &repr.kind);
                self.handle_offer(envelope, offer.expect("it is an offer"))
            }
            Kind::ClearToSend { send, receive } | Kind::Cleared { receive, send } => {
                self.handle_clear_to_send(from, send, receive)
            }
            Kind::Done { send } => {
                self.finish_send(from, send, false);
                Ok(Effect::None)
            }
            Kind::Credit => Ok(Effect::None),
            Kind::Cancel { send } => {
                self.handle_cancel(from, send);
                Ok(Effect::None)
            }
            Kind::CancelReply { send, cancelled } => {
                if cancelled {
                    self.finish_send(from, send, true);
                }
                Ok(Effect::None)
            }
            Kind::Refused { token, kind, .. } if kind == Code::Cleared as u8 => {
                self.answer_again(from, token);
                Ok(Effect::None)
            }
            _ => {
                self.refuse(from, repr);
                Ok(Effect::None)
            }
        }
    }

    /// A packet of a kind that this process does not know or does not serve: counted, and refused
    /// if its sender waits for an answer (see `oxmpi_wire::code`).
    #[cold]
    fn refuse(&mut self, from: u32, repr: &Repr) {
        self.counters.unserved += 1;
        let Some(token) = repr.kind.asks() else {
            return;
        };
        let reason = match repr.kind {
            Kind::Unknown(_) => reason::UNKNOWN,
            _ => reason::NOT_SERVED,
        };
        let refused = Kind::Refused {
            token,
            kind: repr.kind.byte(),
            reason,
        };
        let envelope = Envelope {
            source: self.me,
            content: Content::new(0, 0),
            ..repr.envelope
        };
        self.answer(from, envelope, refused);
    }

    /// What every packet's head says: its place in the order, if it has one, and credit.
    pub(super) fn take_head(&mut self, from: u32, repr: &Repr) -> Result<(), Failure> {
        let peer = &mut self.peers[from as usize];
        if !repr.kind.is_ordered() {
            peer.take_credit(repr.credit);
        } else if repr.sequence == peer.next_in {
            peer.take_packet(repr.credit);
        } else {
            return Err(Failure::PacketLost {
                peer: from,
                expected: peer.next_in,
                found: repr.sequence,
            });
        }
        Ok(())
    }

    fn handle_more(
        &mut self,
        from: u32,
        offset: u64,
        payload: &[u8],
    ) -> Result<Effect<B>, Failure> {
        match self.peers[from as usize].inbound {
            Some(Inbound::Request(id)) => {
                let effect = self.handle_data(from, id.token(), offset, payload)?;
                if self.requests.is_complete(id) {
                    self.peers[from as usize].inbound = None;
                }
                Ok(effect)
            }
            Some(Inbound::Stash(stash)) => {
                // `inbound` stays until another message begins: whether this was the last fragment
                // is known only to who matches the stash, and nothing asks before.
                if self.stashes.arrived(stash) == offset && self.stashes.append(stash, payload) {
                    return Ok(Effect::None);
                }
                Err(Failure::Malformed {
                    peer: from,
                    what: "a fragment out of place",
                })
            }
            None => Err(Failure::Malformed {
                peer: from,
                what: "a fragment of no message",
            }),
        }
    }

    fn handle_data(
        &mut self,
        from: u32,
        receive: u64,
        offset: u64,
        payload: &[u8],
    ) -> Result<Effect<B>, Failure> {
        let id = RequestId::from_token(receive);
        let Some(request) = self.requests.get(id) else {
            // The receive failed meanwhile (its peer was declared dead, say): nobody wants the
            // bytes.
            return Ok(Effect::None);
        };
        let State::Receiving { arrived } = request.state else {
            return Ok(Effect::None);
        };
        let end = offset.saturating_add(payload.len() as u64);
        if offset != arrived || end > request.envelope.bytes() || request.peer != Some(from) {
            return Err(Failure::Malformed {
                peer: from,
                what: "a fragment out of place",
            });
        }
        let buffer = request
            .buffer
            .expect("a receive has its buffer until it is over");
        let bytes = end.min(request.capacity).saturating_sub(offset) as usize;
        if end == request.envelope.bytes() {
            let outcome = request.received();
            self.requests.complete(id, outcome);
        } else {
            request.state = State::Receiving { arrived: end };
        }
        Ok(Effect::Deliver {
            buffer,
            offset,
            bytes,
        })
    }
}
