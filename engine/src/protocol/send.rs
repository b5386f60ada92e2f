//! Sending: eager where there is room, offered otherwise; and what leaves next for a peer.

use oxmpi_wire::{CREDIT_UNIT, Content, Eager, Envelope, Kind, Repr};

use super::failure::Failure;
use super::requests::{Request, RequestId, State};
use super::{Protocol, cost};

/// When a send is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When its buffer can be used again.
    Standard,
    /// When it has been matched.
    Synchronous,
}

/// Where a message's bytes are.
#[derive(Debug, Clone, Copy)]
pub struct Source<B> {
    /// The caller's handle.
    pub buffer: B,
    /// Where another process finds them: an address here, or an offset of the shared segment if
    /// `mapped`.
    pub address: u64,
    /// They lie in memory that the receiver can map.
    pub mapped: bool,
    /// The receiver may read them out of this process.
    pub fetchable: bool,
}

/// A packet to transmit: header and a piece of a message.
#[derive(Debug, Clone, Copy)]
pub struct Transmit<B> {
    /// The process it goes to.
    pub to: u32,
    /// Its header.
    pub repr: Repr,
    /// Its payload, if it has one.
    pub payload: Option<Payload<B>>,
    /// Who is to be told that it left.
    pub origin: Origin,
}

/// A piece of a message.
#[derive(Debug, Clone, Copy)]
pub struct Payload<B> {
    /// The message's buffer.
    pub buffer: B,
    /// Where the piece begins.
    pub offset: u64,
    /// Its length.
    pub bytes: usize,
}

impl<B> Transmit<B> {
    /// The request whose last bytes these are, if they are.
    pub fn ends(&self) -> Option<RequestId> {
        let payload = self.payload.as_ref()?;
        let ends = payload.offset + payload.bytes as u64 == self.repr.envelope.bytes();
        match self.origin {
            Origin::Queued(id) | Origin::Stream(id) if ends => Some(id),
            _ => None,
        }
    }
}

/// What a packet belongs to.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A packet of a message that waits in order.
    Queued(RequestId),
    /// An answer.
    Answer,
    /// A packet of a matched message.
    Stream(RequestId),
}

impl<B: Copy> Protocol<B> {
    /// The header of a message that can leave at once in one packet, or `None`. After it has left:
    /// [`Protocol::sent_eager`].
    #[inline(always)]
    pub fn eager_now(&self, to: u32, envelope: &Envelope, mode: Mode) -> Option<Eager> {
        let peer = &self.peers[to as usize];
        let leaves = envelope.bytes() <= peer.whole_bytes_max
            && mode == Mode::Standard
            && peer.has_room(envelope.bytes())
            && peer.messages.is_empty()
            && !peer.dead;
        leaves.then_some(Eager {
            envelope: *envelope,
            sequence: peer.next_out,
            credit: peer.due(),
        })
    }

    /// As [`Protocol::eager_now`], of a message that is too long for one packet, and the payload of
    /// each of its packets but the last. After they have left: [`Protocol::sent_pieces`].
    #[inline(always)]
    pub fn pieces_now(&self, to: u32, envelope: &Envelope, mode: Mode) -> Option<(Eager, usize)> {
        let peer = &self.peers[to as usize];
        let leaves = envelope.bytes() <= peer.limits.eager_bytes_max
            && envelope.bytes() <= peer.limits.copied_bytes_max
            && mode == Mode::Standard
            && peer.has_room(envelope.bytes())
            && !peer.has_work()
            && !peer.gone;
        let header = Eager {
            envelope: *envelope,
            sequence: peer.next_out,
            credit: peer.due(),
        };
        leaves.then(|| (header, peer.limits.fragment(envelope.bytes())))
    }

    /// The message of [`Protocol::pieces_now`] has left in so many packets.
    #[inline(always)]
    pub fn sent_pieces(&mut self, to: u32, header: &Eager, packets: u32) {
        self.sent_eager(to, header);
        let peer = &mut self.peers[to as usize];
        peer.next_out = peer.next_out.wrapping_add(packets - 1);
    }

    /// The message of [`Protocol::eager_now`] has left.
    #[inline(always)]
    pub fn sent_eager(&mut self, to: u32, header: &Eager) {
        let peer = &mut self.peers[to as usize];
        peer.next_out = peer.next_out.wrapping_add(1);
        peer.owed -= u32::from(header.credit);
        peer.room -= cost(header.envelope.bytes());
        self.counters.eager += 1;
    }

    /// A send begins that cannot leave at once: it is a request, and [`Protocol::poll_transmit`]
    /// yields its packets.
    pub fn send(
        &mut self,
        to: u32,
        envelope: Envelope,
        source: Source<B>,
        mode: Mode,
    ) -> Result<RequestId, Failure> {
        let peer = &self.peers[to as usize];
        if peer.dead {
            return Err(Failure::PeerDied { peer: to });
        }
        let gone = peer.gone;
        let short = envelope.bytes() <= peer.limits.eager_bytes_max && mode == Mode::Standard;
        let eager = short && peer.has_room(envelope.bytes());
        self.counters.out_of_room += u64::from(short && !eager);
        let id = self.enqueue(to, envelope, source, eager, mode);
        if gone {
            self.shelve(to, id, eager);
        }
        Ok(id)
    }

    /// A send to a process that has finalised never leaves. What needs no answer is over, for
    /// nobody could tell; anything else can be tested and taken back.
    #[cold]
    fn shelve(&mut self, to: u32, id: RequestId, eager: bool) {
        self.peers[to as usize].messages.clear();
        if eager {
            self.end(id, false);
        }
        self.settle();
    }

    fn enqueue(
        &mut self,
        to: u32,
        envelope: Envelope,
        source: Source<B>,
        eager: bool,
        mode: Mode,
    ) -> RequestId {
        let state = State::Queued { sent: 0, eager };
        let mut request = Request::new(state, envelope, source.buffer, envelope.bytes(), Some(to));
        request.address = source.address;
        request.mapped = source.mapped;
        request.fetchable = source.fetchable;
        request.sync = mode == Mode::Synchronous;
        let id = self.requests.insert(request);
        let peer = &mut self.peers[to as usize];
        if eager {
            peer.room -= cost(envelope.bytes());
        }
        peer.messages.push_back(id);
        self.make_busy(to);
        id
    }

    /// The next packet for `to`; it stays first until [`Protocol::sent`].
    pub fn poll_transmit(&mut self, to: u32) -> Option<Transmit<B>> {
        let peer = &self.peers[to as usize];
        if let Some(&(envelope, kind)) = peer.answers.front() {
            let repr = self.repr(to, envelope, kind);
            return Some(Transmit {
                to,
                repr,
                payload: None,
                origin: Origin::Answer,
            });
        }
        if let Some(&id) = peer.messages.front() {
            return Some(self.next_of_message(to, id));
        }
        if let Some(&id) = peer.streams.front() {
            return Some(self.next_of_stream(to, id));
        }
        None
    }

    fn next_of_message(&mut self, to: u32, id: RequestId) -> Transmit<B> {
        let request = *self.requests.get(id).expect("queued messages are alive");
        let State::Queued { sent, eager } = request.state else {
            unreachable!("a message in the queue is queued, not {:?}", request.state)
        };
        let origin = Origin::Queued(id);
        let envelope = request.envelope;
        if !eager {
            let kind = Kind::RequestToSend {
                send: id.token(),
                address: request.address,
                mapped: request.mapped,
                fetchable: request.fetchable,
                sync: request.sync,
            };
            return Transmit {
                to,
                repr: self.repr(to, envelope, kind),
                payload: None,
                origin,
            };
        }
        let kind = if sent == 0 {
            Kind::Eager
        } else {
            Kind::More { offset: sent }
        };
        let payload = self.piece(to, &request, sent);
        Transmit {
            to,
            repr: self.repr(to, envelope, kind),
            payload: Some(payload),
            origin,
        }
    }

    fn next_of_stream(&mut self, to: u32, id: RequestId) -> Transmit<B> {
        let request = *self.requests.get(id).expect("streaming messages are alive");
        let State::Streaming { receive, sent } = request.state else {
            unreachable!(
                "a message in the streams is streaming, not {:?}",
                request.state
            )
        };
        let repr = self.repr(
            to,
            request.envelope,
            Kind::Data {
                receive,
                offset: sent,
            },
        );
        let payload = self.piece(to, &request, sent);
        Transmit {
            to,
            repr,
            payload: Some(payload),
            origin: Origin::Stream(id),
        }
    }

    fn piece(&self, to: u32, request: &Request<B>, sent: u64) -> Payload<B> {
        let limits = &self.peers[to as usize].limits;
        let bytes =
            (request.envelope.bytes() - sent).min(limits.fragment(request.envelope.bytes()) as u64);
        let buffer = request
            .buffer
            .expect("a send has its buffer until it is over");
        Payload {
            buffer,
            offset: sent,
            bytes: bytes as usize,
        }
    }

    #[inline(always)]
    fn repr(&self, to: u32, envelope: Envelope, kind: Kind) -> Repr {
        let peer = &self.peers[to as usize];
        Repr {
            envelope,
            sequence: if kind.is_ordered() { peer.next_out } else { 0 },
            credit: peer.due(),
            kind,
        }
    }

    /// The packet has left.
    #[inline(always)]
    pub fn sent(&mut self, transmit: &Transmit<B>) {
        self.began(transmit);
        self.depart(transmit, false);
    }

    /// The packet has been taken by a device that reads its memory until it says so:
    /// [`Protocol::released`], for the packet that ends a message.
    #[inline(never)]
    pub fn held(&mut self, transmit: &Transmit<B>) {
        self.began(transmit);
        self.depart(transmit, true);
    }

    /// The head of a packet is out, and room given back with it; payload is still here, until
    /// [`Protocol::ended`]. A message that overtakes it by another rail must not give the same room
    /// again.
    #[inline(always)]
    pub fn began(&mut self, transmit: &Transmit<B>) {
        let peer = &mut self.peers[transmit.to as usize];
        if transmit.repr.kind.is_ordered() {
            peer.next_out = peer.next_out.wrapping_add(1);
        }
        peer.owed -= u32::from(transmit.repr.credit);
    }

    /// The rest of a packet that began to leave has left.
    pub fn ended(&mut self, transmit: &Transmit<B>) {
        self.depart(transmit, false);
    }

    /// The device has let go of a message all of whose packets have left.
    pub fn released(&mut self, id: RequestId) {
        if let Some(request) = self.requests.get(id)
            && matches!(request.state, State::Departing)
        {
            let completion = request.completion();
            self.requests.complete(id, Ok(completion));
        }
    }

    #[inline(always)]
    fn depart(&mut self, transmit: &Transmit<B>, held: bool) {
        let peer = &mut self.peers[transmit.to as usize];
        match transmit.origin {
            Origin::Answer => {
                peer.answers.pop_front();
                if peer.owed >= peer.owed_max {
                    self.pay(transmit.to);
                }
            }
            Origin::Queued(id) => self.advance_message(transmit, id, held),
            Origin::Stream(id) => self.advance_stream(transmit, id, held),
        }
    }

    fn advance_message(&mut self, transmit: &Transmit<B>, id: RequestId, held: bool) {
        let peer = &mut self.peers[transmit.to as usize];
        let request = self.requests.get(id).expect("queued messages are alive");
        let State::Queued { sent, eager } = &mut request.state else {
            unreachable!("see next_of_message")
        };
        if !*eager {
            request.state = State::Offered;
            peer.messages.pop_front();
            self.counters.offered += 1;
            return;
        }
        *sent += transmit.payload.map_or(0, |payload| payload.bytes as u64);
        if *sent == request.envelope.bytes() {
            peer.messages.pop_front();
            self.counters.eager += 1;
            self.finish_departure(id, held);
        }
    }

    fn advance_stream(&mut self, transmit: &Transmit<B>, id: RequestId, held: bool) {
        let peer = &mut self.peers[transmit.to as usize];
        let request = self.requests.get(id).expect("streaming messages are alive");
        let State::Streaming { sent, .. } = &mut request.state else {
            unreachable!("see next_of_stream")
        };
        *sent += transmit.payload.map_or(0, |payload| payload.bytes as u64);
        if *sent == request.envelope.bytes() {
            peer.streams.pop_front();
            self.finish_departure(id, held);
        }
    }

    /// Everything of a message has left; if a device still reads its memory, the request is not
    /// over yet.
    #[inline(always)]
    fn finish_departure(&mut self, id: RequestId, held: bool) {
        let request = self.requests.get(id).expect("departing messages are alive");
        if held {
            request.state = State::Departing;
            return;
        }
        let completion = request.completion();
        self.requests.complete(id, Ok(completion));
    }

    /// Forgets peers that have nothing left to transmit. Call after a round over
    /// [`Protocol::busy`].
    pub fn settle(&mut self) {
        let peers = &mut self.peers;
        self.busy.retain(|&peer| {
            let peer = &mut peers[peer as usize];
            peer.busy = peer.has_work();
            peer.busy
        });
    }

    /// Gives room back to `peer` for a message it sent and we matched.
    #[inline(always)]
    pub(super) fn owe(&mut self, peer: u32, bytes: u64) {
        let state = &mut self.peers[peer as usize];
        // A peer that takes nothing and sends more than it may must not make the count overflow.
        state.owed = state
            .owed
            .saturating_add((cost(bytes) / CREDIT_UNIT) as u32);
        if state.owed >= state.owed_max {
            self.pay(peer);
        }
    }

    #[cold]
    fn pay(&mut self, peer: u32) {
        let state = &mut self.peers[peer as usize];
        // One packet carries all that is owed when it leaves; a second in the queue would be empty.
        if !state.gone && state.answers.is_empty() {
            let nothing = Envelope {
                context: 0,
                source: self.me,
                tag: 0,
                content: Content::new(0, 0),
            };
            state.answers.push_back((nothing, Kind::Credit));
            self.make_busy(peer);
        }
    }

    pub(super) fn answer(&mut self, peer: u32, envelope: Envelope, kind: Kind) {
        if !self.peers[peer as usize].gone {
            self.peers[peer as usize]
                .answers
                .push_back((envelope, kind));
            self.make_busy(peer);
        }
    }
}
