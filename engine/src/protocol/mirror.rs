//! Posted receives that somebody else matches too: a driver has them, reads what arrives and says
//! which message met which receive.
//!
//! The queues here are the *mirror* of the driver's. The driver has some of the posted receives, in
//! the same order, and a message that it matched is taken here for the very receive that it names.
//! What it did not match meets the mirror as ever. Before a message that came another way takes a
//! receive out of the mirror, the driver must give that receive back ([`Protocol::next_for`] says
//! which one it is), or say that it has a message for it: then it is *awarded*, and stands in
//! nobody's way here any more.

use oxmpi_wire::{Envelope, Kind, Repr};

use super::failure::Failure;
use super::peer::Inbound;
use super::receive::Effect;
use super::requests::{RequestId, State};
use super::{Protocol, Unexpected};

/// What the driver did with a packet's payload.
#[derive(Debug, Clone, Copy)]
pub enum Placement<'p> {
    /// So many of its `payload` bytes are in the receive's buffer, which has no room for the
    /// others.
    Placed {
        /// Bytes of the packet.
        payload: u64,
        /// Bytes in the buffer.
        placed: u64,
    },
    /// As ever: the first piece of it.
    AtHand(&'p [u8]),
}

impl<B: Copy> Protocol<B> {
    /// Whether a receive waits for its message.
    pub fn is_posted(&mut self, id: RequestId) -> bool {
        let request = self.requests.get(id);
        request.is_some_and(|request| matches!(request.state, State::Posted(_)))
    }

    /// The posted receive that a message would take.
    pub fn next_for(&self, envelope: &Envelope) -> Option<RequestId> {
        self.queues.peek(envelope).copied()
    }

    /// The only process that a request's message can come from, if it is not over and there is one.
    pub fn peer_of(&mut self, id: RequestId) -> Option<u32> {
        self.requests.get(id)?.peer
    }

    /// The driver has a message for a posted receive, and will say which.
    pub fn award(&mut self, id: RequestId) {
        if let Some(request) = self.requests.get(id)
            && let State::Posted(posted) = request.state
        {
            request.state = State::Awarded;
            self.queues.cancel(posted);
        }
    }

    /// Whether a receive is awarded.
    pub fn is_awarded(&mut self, id: RequestId) -> bool {
        let request = self.requests.get(id);
        request.is_some_and(|request| matches!(request.state, State::Awarded))
    }

    /// The message of an awarded receive will never be complete, because its sender is gone.
    pub fn fail_awarded(&mut self, id: RequestId, peer: u32) {
        if self.is_awarded(id) {
            self.requests.complete(id, Err(Failure::PeerDied { peer }));
        }
    }

    /// A packet of a message that the driver has matched with receive `id`. `answered`: it is an
    /// offer that the driver accepts by itself.
    pub fn handle_matched(
        &mut self,
        from: u32,
        repr: &Repr,
        id: RequestId,
        placement: Placement<'_>,
        answered: bool,
    ) -> Result<Effect<B>, Failure> {
        match (repr.kind, placement) {
            (Kind::Eager | Kind::RequestToSend { .. }, _) => {
                self.take_head(from, repr)?;
                self.award(id);
                if !self.is_awarded(id) {
                    return Err(malformed(from, "a message for a receive that awaits none"));
                }
                match (answered, repr.kind) {
                    (true, Kind::RequestToSend { send, .. }) => {
                        self.await_data(id, repr.envelope, from, send);
                        Ok(Effect::None)
                    }
                    _ => self.begin_matched(from, repr, id, placement),
                }
            }
            (
                Kind::Data { offset, .. } | Kind::More { offset },
                Placement::Placed { payload, placed },
            ) => {
                self.take_head(from, repr)?;
                self.count_placed(from, id, offset, payload, placed)
            }
            (_, Placement::AtHand(piece)) => self.handle(from, repr, piece),
            (_, Placement::Placed { .. }) => Err(malformed(
                from,
                "a placed packet of a kind that has no payload",
            )),
        }
    }

    /// The first packet of a message for an awarded receive.
    fn begin_matched(
        &mut self,
        from: u32,
        repr: &Repr,
        id: RequestId,
        placement: Placement<'_>,
    ) -> Result<Effect<B>, Failure> {
        let envelope = repr.envelope;
        if let Some(offer) = Unexpected::offered(from, &repr.kind) {
            return Ok(match self.accept_offer(id, envelope, &offer) {
                Some(fetch) => Effect::Fetch(fetch),
                None => Effect::None,
            });
        }
        let turn = self.requests.next_turn();
        let request = self.requests.get(id).expect("awarded receives are alive");
        request.turn = turn;
        request.meet(&envelope, from, &self.notice);
        request.state = State::Receiving { arrived: 0 };
        let buffer = request
            .buffer
            .expect("a receive has its buffer until it is over");
        let capacity = request.capacity;
        self.peers[from as usize].inbound = Some(Inbound::Request(id));
        self.owe(from, envelope.bytes());
        match placement {
            Placement::Placed { payload, placed } => {
                self.count_placed(from, id, 0, payload, placed)
            }
            Placement::AtHand(piece) => {
                let arrived = piece.len() as u64;
                self.count(from, id, 0, arrived)?;
                Ok(Effect::Deliver {
                    buffer,
                    offset: 0,
                    bytes: arrived.min(capacity) as usize,
                })
            }
        }
    }

    /// Payload that lies where it belongs.
    fn count_placed(
        &mut self,
        from: u32,
        id: RequestId,
        offset: u64,
        payload: u64,
        placed: u64,
    ) -> Result<Effect<B>, Failure> {
        let capacity = self.requests.get(id).map_or(0, |request| request.capacity);
        let wanted = capacity.saturating_sub(offset).min(payload);
        if placed != wanted {
            return Err(malformed(
                from,
                "a message that the driver could not place: is its buffer still there?",
            ));
        }
        self.count(from, id, offset, payload)?;
        Ok(Effect::None)
    }

    /// So much of a message has arrived in its place.
    fn count(&mut self, from: u32, id: RequestId, offset: u64, bytes: u64) -> Result<(), Failure> {
        let request = self.requests.get(id);
        let state = request.map(|request| (request.state, request.peer, request.envelope.bytes()));
        let Some((State::Receiving { arrived }, Some(peer), total)) = state else {
            return Err(malformed(from, "a packet for a receive that awaits none"));
        };
        let end = arrived.saturating_add(bytes);
        if peer != from || offset != arrived || end > total {
            return Err(malformed(from, "a fragment out of place"));
        }
        let request = self.requests.get(id).expect("just seen");
        if end < total {
            request.state = State::Receiving { arrived: end };
            return Ok(());
        }
        self.requests.complete_received(id);
        let inbound = &mut self.peers[from as usize].inbound;
        if matches!(inbound, Some(Inbound::Request(open)) if *open == id) {
            *inbound = None;
        }
        Ok(())
    }
}

fn malformed(peer: u32, what: &'static str) -> Failure {
    Failure::Malformed { peer, what }
}
