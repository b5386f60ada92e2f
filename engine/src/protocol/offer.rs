//! Offered messages: what both sides do between a request to send and the end of the message.

use oxmpi_wire::{Envelope, Kind};

use super::failure::Failure;
use super::receive::Effect;
use super::requests::{Request, RequestId, State};
use super::{Protocol, Unexpected};

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

impl<B: Copy> Protocol<B> {
    pub(super) fn handle_offer(
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
                && envelope.bytes() >= self.limits.fetch_bytes_min;
        let request = self.await_data(id, envelope, from, send);
        // Nothing to move: a zero-length synchronous message is over with its match.
        if may_fetch || envelope.bytes() == 0 {
            let buffer = request
                .buffer
                .expect("a receive has its buffer until it is over");
            let bytes = envelope.bytes().min(request.capacity);
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
        request.meet(&envelope, from, &self.notice);
        request.address = send;
        request.state = State::Receiving { arrived: 0 };
        request
    }

    /// A sender does not know the answer that the kernel gave it for this process: it gets the one
    /// that every sender knows.
    #[cold]
    pub(super) fn answer_again(&mut self, from: u32, receive: u64) {
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

    pub(super) fn handle_clear_to_send(
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

    pub(super) fn finish_send(&mut self, from: u32, send: u64, cancelled: bool) {
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
}
