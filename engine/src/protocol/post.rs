//! A posted receive: what it finds among the messages that came before it, and the probes.

use oxmpi_matching::{Pattern, Post};
use oxmpi_wire::{Content, Envelope, Kind};

use super::failure::Failure;
use super::offer::Fetch;
use super::peer::Inbound;
use super::requests::{Request, RequestId, State};
use super::{Protocol, Unexpected, cost};

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
    /// As [`Effect::Fetch`](super::Effect::Fetch).
    Fetch(Fetch<B>),
}

/// A message taken out of the queue by a matched probe.
#[derive(Debug)]
pub struct Claim {
    /// What was found.
    pub envelope: Envelope,
    /// What its receiver takes the data for, to be set before it is received; 0 says nothing.
    pub signature: u8,
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
            content: Content::new(0, pattern.signature),
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
                let dead = self.dead_for(from, pattern.context);
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
            Envelope {
                content: Content::new(0, claim.signature),
                ..claim.envelope
            },
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
        request.meet(&envelope, from, &self.notice);
        let bytes = arrived.min(request.capacity) as usize;
        if arrived == envelope.bytes() {
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
        self.counters.stashed_bytes -= envelope.bytes();
        self.peers[from as usize].kept -= cost(envelope.bytes());
        self.owe(from, envelope.bytes());
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
            signature: 0,
            unexpected,
            turn: self.requests.next_turn(),
        })
    }
}
