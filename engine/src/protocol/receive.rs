//! Receiving: what an arrived packet means, and what a posted receive finds.

use oxmpi_matching::{Pattern, Post};
use oxmpi_wire::{Code, Eager, Envelope, Kind, Repr, reason};

use super::failure::Failure;
use super::peer::Inbound;
use super::requests::{Request, RequestId, State};
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

/// A message that this process can copy out of the sender's memory.
#[derive(Debug, Clone, Copy)]
pub struct Fetch<B> {
    /// The receive.
    pub request: RequestId,
    /// Its buffer.
    pub buffer: B,
    /// How many bytes to copy.
    pub bytes: u64,
    /// Out of which process.
    pub from: u32,
    /// From where there: an address, or an offset of the shared segment if `mapped`.
    pub address: u64,
    /// The address is an offset of the shared segment.
    pub mapped: bool,
    /// The sender's token.
    pub(super) send: u64,
}

/// What a posted receive found.
#[derive(Debug)]
pub enum Posted<B> {
    /// Nothing yet, or a message whose bytes are still to come.
    Waiting,
    /// The bytes of a message (or as many as have arrived): copy them to the buffer's beginning,
    /// then [`Protocol::recycle`] the vector.
    Stashed {
        /// The bytes.
        stash: Vec<u8>,
        /// How many fit the buffer.
        bytes: usize,
    },
    /// As [`Effect::Fetch`].
    Fetch(Fetch<B>),
}

/// A message taken out of the queue by a matched probe.
#[derive(Debug)]
pub struct Claim {
    /// What was found.
    pub envelope: Envelope,
    unexpected: Unexpected,
    /// When it was matched: by the probe.
    turn: u64,
}

impl Claim {
    /// The process it comes from.
    pub fn from(&self) -> u32 {
        match self.unexpected {
            Unexpected::Stashed { from, .. } | Unexpected::Offered { from, .. } => from,
        }
    }

    /// Where its bytes lie in the shared segment, if they do.
    pub fn mapped(&self) -> Option<u64> {
        match self.unexpected {
            Unexpected::Offered {
                address,
                mapped: true,
                ..
            } => Some(address),
            _ => None,
        }
    }
}

impl<B: Copy> Protocol<B> {
    /// An eager packet has arrived: what [`Protocol::handle`] does with it, for the caller that
    /// need not look at other kinds.
    #[inline(always)]
    pub fn handle_eager(&mut self, from: u32, header: &Eager, payload: &[u8]) -> Arrived<B> {
        let peer = &mut self.peers[from as usize];
        let envelope = &header.envelope;
        let arrived = payload.len() as u64;
        if header.sequence != peer.next_in || arrived > envelope.bytes || peer.dead {
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
        request.envelope = *envelope;
        request.peer = Some(from);
        let buffer = request
            .buffer
            .expect("a receive has its buffer until it is over");
        let bytes = arrived.min(request.capacity) as usize;
        if arrived == envelope.bytes {
            self.requests.complete_received(id);
        } else {
            request.state = State::Receiving { arrived };
            peer.inbound = Some(Inbound::Request(id));
        }
        self.owe(from, envelope.bytes);
        Arrived::Deliver(buffer, bytes)
    }

    /// Whether a receive need not be posted: nothing is queued, so the next message from its
    /// sender, if it matches, is its own. Nothing else is under way either: it would stand still
    /// while message after message is taken directly.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.requests.pending() == 0 && self.queues.unexpected_len() == 0 && self.busy.is_empty()
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
            && header.envelope.bytes == payload_bytes as u64
            && header.sequence == peer.next_in;
        if takes {
            peer.take_packet(header.credit);
            self.owe(from, header.envelope.bytes);
        }
        takes
    }

    #[inline(never)]
    fn stash(&mut self, from: u32, header: &Eager, payload: &[u8]) -> Arrived<B> {
        let envelope = header.envelope;
        let kept = self.peers[from as usize]
            .kept
            .saturating_add(cost(envelope.bytes));
        if kept > self.peers[from as usize].limits.kept_bytes_max {
            return Arrived::Refused;
        }
        let stash = self.stashes.insert(envelope.bytes as usize, payload);
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
        if (payload.len() as u64) < envelope.bytes {
            peer.inbound = Some(Inbound::Stash(stash));
        }
        self.counters.stashed += 1;
        self.counters.stashed_bytes += envelope.bytes;
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
            Kind::Eager if payload.len() as u64 > envelope.bytes => Err(Failure::Malformed {
                peer: from,
                what: "an eager packet longer than its message",
            }),
            Kind::Eager
                if peer.kept.saturating_add(cost(envelope.bytes)) > peer.limits.kept_bytes_max =>
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
            bytes: 0,
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
        if offset != arrived || end > request.envelope.bytes || request.peer != Some(from) {
            return Err(Failure::Malformed {
                peer: from,
                what: "a fragment out of place",
            });
        }
        let buffer = request
            .buffer
            .expect("a receive has its buffer until it is over");
        let bytes = end.min(request.capacity).saturating_sub(offset) as usize;
        if end == request.envelope.bytes {
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

    fn handle_offer(
        &mut self,
        envelope: Envelope,
        offer: Unexpected,
    ) -> Result<Effect<B>, Failure> {
        let Some(matched) = self.queues.arrive(&envelope) else {
            return match self.queues.store(envelope, offer) {
                Ok(_) => Ok(Effect::None),
                Err(_) => Err(Failure::UnexpectedFull {
                    peer: envelope.source,
                    messages: self.limits.unexpected_max,
                }),
            };
        };
        Ok(match self.accept_offer(matched.posted, envelope, &offer) {
            Some(fetch) => Effect::Fetch(fetch),
            None => Effect::None,
        })
    }

    /// A receive has found an offered message: it is fetched, or the sender is told to stream it.
    pub(super) fn accept_offer(
        &mut self,
        id: RequestId,
        envelope: Envelope,
        offer: &Unexpected,
    ) -> Option<Fetch<B>> {
        let Unexpected::Offered {
            from,
            send,
            address,
            mapped,
            fetchable,
        } = *offer
        else {
            unreachable!("only offers are accepted")
        };
        let peer = &self.peers[from as usize];
        let gone = peer.gone;
        let may_fetch = mapped
            || from == self.me && fetchable
            || !gone
                && fetchable
                && self.fetching
                && !peer.no_fetch
                && envelope.bytes >= self.limits.fetch_bytes_min;
        let request = self.await_data(id, envelope, from, send);
        // Nothing to move: a zero-length synchronous message is over with its match.
        if may_fetch || envelope.bytes == 0 {
            let buffer = request
                .buffer
                .expect("a receive has its buffer until it is over");
            let bytes = envelope.bytes.min(request.capacity);
            return Some(Fetch {
                request: id,
                buffer,
                bytes,
                from,
                address,
                mapped,
                send,
            });
        }
        if gone {
            // The offer outlived its sender: nobody is left to send the bytes.
            self.requests
                .complete(id, Err(Failure::PeerDied { peer: from }));
            return None;
        }
        self.answer(
            from,
            envelope,
            Kind::ClearToSend {
                send,
                receive: id.token(),
            },
        );
        None
    }

    /// A receive has found an offered message, whose bytes will come.
    pub(super) fn await_data(
        &mut self,
        id: RequestId,
        envelope: Envelope,
        from: u32,
        send: u64,
    ) -> &mut Request<B> {
        let turn = self.requests.next_turn();
        let request = self.requests.get(id).expect("matched receives are alive");
        if request.turn == 0 {
            request.turn = turn;
        }
        request.envelope = envelope;
        request.peer = Some(from);
        request.address = send;
        request.state = State::Receiving { arrived: 0 };
        request
    }

    /// A sender does not know the answer that the kernel gave it for this process: it gets the one
    /// that every sender knows.
    #[cold]
    fn answer_again(&mut self, from: u32, receive: u64) {
        let id = RequestId::from_token(receive);
        if let Some(request) = self.requests.get(id)
            && matches!(request.state, State::Receiving { arrived: 0 })
            && request.peer == Some(from)
        {
            let (envelope, send) = (request.envelope, request.address);
            self.answer(from, envelope, Kind::ClearToSend { send, receive });
        }
    }

    /// The caller has fetched a message, or was refused: then the sender streams it, and later ones
    /// from the same process.
    pub fn fetched(&mut self, fetch: &Fetch<B>, done: bool) {
        let Some(request) = self.requests.get(fetch.request) else {
            return;
        };
        let envelope = request.envelope;
        if done {
            let outcome = request.received();
            self.counters.fetched += 1;
            self.requests.complete(fetch.request, outcome);
            self.answer(fetch.from, envelope, Kind::Done { send: fetch.send });
        } else if self.peers[fetch.from as usize].gone {
            self.requests
                .complete(fetch.request, Err(Failure::PeerDied { peer: fetch.from }));
        } else {
            self.peers[fetch.from as usize].no_fetch = true;
            let kind = Kind::ClearToSend {
                send: fetch.send,
                receive: fetch.request.token(),
            };
            self.answer(fetch.from, envelope, kind);
        }
    }

    fn handle_clear_to_send(
        &mut self,
        from: u32,
        send: u64,
        receive: u64,
    ) -> Result<Effect<B>, Failure> {
        let id = RequestId::from_token(send);
        if let Some(request) = self.requests.get(id)
            && matches!(request.state, State::Offered | State::Cancelling)
            && request.peer == Some(from)
        {
            request.state = State::Streaming { receive, sent: 0 };
            self.peers[from as usize].streams.push_back(id);
            self.make_busy(from);
            return Ok(Effect::None);
        }
        Err(Failure::Malformed {
            peer: from,
            what: "a clear-to-send for no offer",
        })
    }

    fn finish_send(&mut self, from: u32, send: u64, cancelled: bool) {
        let id = RequestId::from_token(send);
        if let Some(request) = self.requests.get(id)
            && matches!(request.state, State::Offered | State::Cancelling)
            && request.peer == Some(from)
        {
            let completion = super::Completion {
                cancelled,
                ..request.completion()
            };
            self.requests.complete(id, Ok(completion));
        }
    }

    /// A receive is posted. `from`: the only process it can come from, if there is one.
    #[inline(always)]
    pub fn post(
        &mut self,
        from: Option<u32>,
        pattern: Pattern,
        buffer: B,
        capacity: u64,
    ) -> (RequestId, Posted<B>) {
        let nothing = Envelope {
            context: pattern.context,
            source: 0,
            tag: 0,
            bytes: 0,
        };
        let mut request = Request::new(
            State::Receiving { arrived: 0 },
            nothing,
            buffer,
            capacity,
            from,
        );
        request.is_receive = true;
        let id = self.requests.insert(request);
        match self.queues.post(pattern, capacity, id) {
            Post::Queued(posted) => {
                // From a process that has finalised nothing comes, but the receive can be tested
                // and taken back.
                let dead = from.filter(|&from| self.peers[from as usize].dead);
                if let Some(request) = self.requests.get(id) {
                    request.state = State::Posted(posted);
                }
                if let Some(peer) = dead {
                    self.fail_posted(id, posted, Failure::PeerDied { peer });
                }
                (id, Posted::Waiting)
            }
            Post::Matched {
                envelope,
                unexpected,
                ..
            } => (id, self.accept(id, envelope, unexpected)),
        }
    }

    /// A claimed message is received.
    pub fn receive_claim(
        &mut self,
        claim: Claim,
        buffer: B,
        capacity: u64,
    ) -> (RequestId, Posted<B>) {
        let mut request = Request::new(
            State::Receiving { arrived: 0 },
            claim.envelope,
            buffer,
            capacity,
            Some(claim.from()),
        );
        request.is_receive = true;
        request.turn = claim.turn;
        let id = self.requests.insert(request);
        (id, self.accept(id, claim.envelope, claim.unexpected))
    }

    /// A claimed message was used where it lies and is over.
    pub fn finish_claim(&mut self, claim: Claim) {
        if let Unexpected::Offered { from, send, .. } = claim.unexpected {
            self.counters.fetched += 1;
            self.answer(from, claim.envelope, Kind::Done { send });
        }
    }

    fn accept(&mut self, id: RequestId, envelope: Envelope, unexpected: Unexpected) -> Posted<B> {
        let Unexpected::Stashed { from, stash } = unexpected else {
            return match self.accept_offer(id, envelope, &unexpected) {
                Some(fetch) => Posted::Fetch(fetch),
                None => Posted::Waiting,
            };
        };
        let arrived = self.stashes.arrived(stash);
        let turn = self.requests.next_turn();
        let request = self.requests.get(id).expect("just inserted");
        if request.turn == 0 {
            request.turn = turn;
        }
        request.envelope = envelope;
        request.peer = Some(from);
        let bytes = arrived.min(request.capacity) as usize;
        if arrived == envelope.bytes {
            let outcome = request.received();
            self.requests.complete(id, outcome);
            if matches!(self.peers[from as usize].inbound, Some(Inbound::Stash(open)) if open == stash)
            {
                self.peers[from as usize].inbound = None;
            }
        } else if self.peers[from as usize].gone {
            self.requests
                .complete(id, Err(Failure::PeerDied { peer: from }));
        } else {
            request.state = State::Receiving { arrived };
            self.peers[from as usize].inbound = Some(Inbound::Request(id));
        }
        self.counters.stashed_bytes -= envelope.bytes;
        self.peers[from as usize].kept -= cost(envelope.bytes);
        self.owe(from, envelope.bytes);
        Posted::Stashed {
            stash: self.stashes.remove(stash),
            bytes,
        }
    }

    /// The stash's bytes have been copied.
    pub fn recycle(&mut self, stash: Vec<u8>) {
        self.stashes.recycle(stash);
    }

    /// The oldest unexpected message that the pattern accepts.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Envelope> {
        self.queues.probe(pattern).map(|(envelope, _)| *envelope)
    }

    /// As [`Protocol::probe`], and nobody else gets the message.
    pub fn claim(&mut self, pattern: &Pattern) -> Option<Claim> {
        let (envelope, unexpected) = self.queues.claim(pattern)?;
        Some(Claim {
            envelope,
            unexpected,
            turn: self.requests.next_turn(),
        })
    }
}
