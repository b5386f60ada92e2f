//! What arrives: the bytes of a peer's stream, cut anywhere, become messages and answers.
//!
//! [`Endpoint::feed`] goes as far as it can by itself and answers with what only the caller can do.
//! A packet is used whole or not at all: nothing of a head counts before its packet is accepted, so
//! a stream that has stopped goes on with the same bytes. A peer may write anything; what no
//! endpoint writes ends its stream, and costs nobody else anything.

use oxmpi_wire::stream::{self, Next};
use oxmpi_wire::{Kind, Repr, reason};

use crate::endpoint::Endpoint;
use crate::error::{ECANCELED, ECONNRESET, EPROTO};
use crate::peer::{Arrival, Phase, Place, State as PeerState};
use crate::receive::NoRoom;
use crate::requests::{self, PeerToken, State, Token};

/// What is to be done with bytes of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All of them have been used.
    Done,
    /// Copy the next bytes to the memory of a request, call [`Endpoint::placed`], and feed the
    /// rest.
    Place {
        /// The request.
        token: Token,
        /// Where in its memory.
        offset: u64,
        /// How many bytes.
        bytes: usize,
    },
    /// No receive waits for a message: ask the handler, call [`Endpoint::verdict`], and feed the
    /// rest, which begins with the message's bytes unless they are only offered.
    Unexpected {
        /// The message's bits.
        bits: u64,
        /// Its length.
        bytes: u64,
        /// Its bytes wait at the sender.
        offered: bool,
    },
    /// An answer has to leave first: the rest stays in the socket until
    /// [`Endpoint::poll_send`] has said everything.
    Stop,
    /// The peer said goodbye; it is lost.
    Left,
    /// The peer is lost, or wrote what no endpoint writes and is lost by that.
    Broken,
}

/// How far [`Endpoint::feed`] came, and what is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that have been used, without those of a [`Step::Place`].
    pub consumed: usize,
    /// What to do.
    pub step: Step,
}

/// Memory of a request that the next bytes of a stream go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The request.
    pub token: Token,
    /// Where in its memory.
    pub offset: u64,
    /// How many bytes at most.
    pub bytes: usize,
}

/// What becomes of a packet.
enum Taken {
    /// It is used; the phase says what its payload is.
    Yes,
    /// An answer has to leave first.
    Later,
    /// No endpoint writes that.
    Never,
}

impl From<Result<(), NoRoom>> for Taken {
    /// The credits leave room for everything that they pay for.
    fn from(kept: Result<(), NoRoom>) -> Taken {
        match kept {
            Ok(()) => Taken::Yes,
            Err(NoRoom) => Taken::Never,
        }
    }
}

impl Endpoint {
    /// Bytes of a peer's stream, in order.
    pub fn feed(&mut self, peer: PeerToken, data: &[u8]) -> Fed {
        let mut consumed = 0;
        let Some(slot) = self.slot(peer) else {
            let step = Step::Broken;
            return Fed { consumed, step };
        };
        loop {
            let rest = &data[consumed..];
            match self.advance(slot, rest) {
                Ok(0) if rest.is_empty() => {
                    let step = Step::Done;
                    return Fed { consumed, step };
                }
                Ok(used) => consumed += used,
                Err((used, step)) => {
                    consumed += used;
                    return Fed { consumed, step };
                }
            }
        }
    }

    /// Uses some of the bytes, or uses some and says what is next.
    fn advance(&mut self, slot: u32, rest: &[u8]) -> Result<usize, (usize, Step)> {
        let peer = &mut self.peers[slot as usize];
        if peer.state != PeerState::Up {
            return Err((0, Step::Broken));
        }
        match peer.phase {
            Phase::Judge(arrival) => Err((0, unexpected(&arrival))),
            Phase::Broken => Err((0, Step::Broken)),
            _ if rest.is_empty() => Ok(0),
            Phase::Head => self.read_head(slot, rest),
            Phase::Place(place) => self.place(slot, place, rest),
            Phase::Store { record, left } => {
                let used = left.min(rest.len());
                if self.store(record, &rest[..used]).is_err() {
                    return Err((0, self.condemn(slot)));
                }
                let left = left - used;
                self.peers[slot as usize].phase = match left {
                    0 => Phase::Head,
                    _ => Phase::Store { record, left },
                };
                Ok(used)
            }
            Phase::Discard { left } => {
                let used = left.min(rest.len());
                peer.phase = discard(left - used);
                Ok(used)
            }
        }
    }

    /// Completes a head, or keeps what there is of it.
    fn read_head(&mut self, slot: u32, rest: &[u8]) -> Result<usize, (usize, Step)> {
        let peer = &mut self.peers[slot as usize];
        let had = peer.collected;
        let take = rest.len().min(peer.head.len() - had);
        // Beyond `had` nothing is kept until it is clear that the head can be used.
        peer.head[had..had + take].copy_from_slice(&rest[..take]);
        match stream::next(&peer.head[..had + take]) {
            Next::Incomplete => {
                peer.collected += take;
                Ok(take)
            }
            Next::Packet { head, payload } => {
                // A shorter prefix than the longest has zeros behind it.
                peer.head[head..].fill(0);
                match self.read_packet(slot, payload) {
                    Taken::Yes => {
                        self.peers[slot as usize].collected = 0;
                        Ok(head - had)
                    }
                    Taken::Later => Err((0, Step::Stop)),
                    Taken::Never => Err((0, self.condemn(slot))),
                }
            }
            Next::Farewell { .. } => {
                self.lose(slot, ECONNRESET);
                Err((0, Step::Left))
            }
            Next::Garbage { .. } | Next::OtherVersion { .. } => Err((0, self.condemn(slot))),
        }
    }

    /// What no endpoint sends: nothing after it can be understood.
    fn condemn(&mut self, slot: u32) -> Step {
        self.lose(slot, EPROTO);
        Step::Broken
    }

    /// The head is complete.
    fn read_packet(&mut self, slot: u32, payload: usize) -> Taken {
        let peer = &mut self.peers[slot as usize];
        let Some(prefix) = peer.head.last_chunk() else {
            return Taken::Never;
        };
        let Ok(repr) = Repr::parse_prefix(prefix) else {
            return Taken::Never;
        };
        let ordered = repr.kind.is_ordered();
        if ordered && repr.sequence != peer.sequence_in {
            return Taken::Never;
        }
        let taken = self.read_kind(slot, &repr, payload);
        if matches!(taken, Taken::Yes) {
            let peer = &mut self.peers[slot as usize];
            if ordered {
                peer.sequence_in = peer.sequence_in.wrapping_add(1);
            }
            // Who gives more than there is cheats nobody but himself.
            let ours = &mut peer.credit.ours;
            *ours = ours.saturating_add(u32::from(repr.credit));
        }
        taken
    }

    fn read_kind(&mut self, slot: u32, repr: &Repr, payload: usize) -> Taken {
        let (bits, bytes) = (repr.envelope.context, repr.envelope.bytes());
        let bare = payload == 0;
        match repr.kind {
            Kind::Eager if payload as u64 == bytes => {
                let offer = None;
                self.read_message(slot, Arrival { bits, bytes, offer })
            }
            Kind::RequestToSend { send, .. } if bare => {
                let offer = Some(send);
                self.read_message(slot, Arrival { bits, bytes, offer })
            }
            Kind::ClearToSend { send, receive } if bare => self.cleared(slot, send, receive),
            Kind::Done { send } if bare => self.answered(slot, send, 0),
            Kind::CancelReply { send, cancelled } if bare => match cancelled {
                true => self.answered(slot, send, ECANCELED),
                // What came first says so itself.
                false => Taken::Yes,
            },
            Kind::Cancel { send } if bare => {
                self.take_back(slot, send);
                Taken::Yes
            }
            Kind::Data { receive, offset } => self.read_data(slot, receive, offset, payload),
            Kind::Credit if bare => Taken::Yes,
            Kind::Eager
            | Kind::More { .. }
            | Kind::RequestToSend { .. }
            | Kind::ClearToSend { .. }
            | Kind::Done { .. }
            | Kind::CancelReply { .. }
            | Kind::Cancel { .. }
            | Kind::Credit => Taken::Never,
            _ => self.refuse(slot, repr, payload),
        }
    }

    fn read_message(&mut self, slot: u32, arrival: Arrival) -> Taken {
        let peer = &mut self.peers[slot as usize];
        if !peer.credit.charge(arrival.units()) {
            return Taken::Never;
        }
        self.arrive(slot, arrival).into()
    }

    /// The send of ours that a peer answers: only an offer that it was made.
    fn offered(&mut self, slot: u32, send: u64) -> Option<u32> {
        let number = self.requests.find(send)?;
        let sending = self.requests.sending(number)?;
        let is_it = sending.peer == slot && sending.phase == requests::Phase::Offered;
        is_it.then_some(number)
    }

    fn cleared(&mut self, slot: u32, send: u64, receive: u64) -> Taken {
        let Some(number) = self.offered(slot, send) else {
            return Taken::Never;
        };
        let Some(sending) = self.requests.sending(number) else {
            return Taken::Never;
        };
        if sending.bytes == 0 {
            self.end_sending(number, 0);
            return Taken::Yes;
        }
        let offset = 0;
        sending.phase = requests::Phase::Data { receive, offset };
        let list = &mut self.peers[slot as usize].urgent;
        self.requests.links.push(list, number);
        Taken::Yes
    }

    fn answered(&mut self, slot: u32, send: u64, error: u32) -> Taken {
        let Some(number) = self.offered(slot, send) else {
            return Taken::Never;
        };
        let asked = self
            .requests
            .sending(number)
            .is_some_and(|sending| sending.cancel);
        if error == ECANCELED && !asked {
            return Taken::Never;
        }
        self.end_sending(number, error);
        Taken::Yes
    }

    /// Bytes that a receive has asked for: in order, as TCP has them.
    fn read_data(&mut self, slot: u32, receive: u64, offset: u64, payload: usize) -> Taken {
        let Some(number) = self.requests.find(receive) else {
            return Taken::Never;
        };
        let asked = !self.requests.links.is_listed(number);
        let Some(receiving) = self.requests.receiving(number) else {
            return Taken::Never;
        };
        let due = receiving.offer.is_some() && receiving.peer == slot && asked;
        let left = receiving.bytes - receiving.arrived;
        let fits = payload > 0 && payload as u64 <= left && offset == receiving.arrived;
        if !due || !fits {
            return Taken::Never;
        }
        self.peers[slot as usize].phase = Phase::Place(Place {
            request: number,
            left: payload,
            pending: 0,
        });
        Taken::Yes
    }

    /// A kind that endpoints do not serve: see [`oxmpi_wire::code`].
    fn refuse(&mut self, slot: u32, repr: &Repr, payload: usize) -> Taken {
        let peer = &mut self.peers[slot as usize];
        if let Some(token) = repr.kind.asks() {
            if peer.refused.is_some() {
                return Taken::Later;
            }
            let why = match repr.kind {
                Kind::Unknown(_) => reason::UNKNOWN,
                _ => reason::NOT_SERVED,
            };
            peer.refused = Some((token, repr.kind.byte(), why));
        }
        peer.phase = discard(payload);
        Taken::Yes
    }

    /// Has payload copied to its request, or drops what is beyond the memory.
    fn place(&mut self, slot: u32, place: Place, rest: &[u8]) -> Result<usize, (usize, Step)> {
        let Some(&mut receiving) = self.requests.receiving(place.request) else {
            return Err((0, self.condemn(slot)));
        };
        let offset = receiving.arrived;
        let space = receiving.capacity.saturating_sub(offset);
        let bytes = place.left.min(rest.len());
        if place.pending == 0 && (space == 0 || receiving.error != 0) {
            self.count(slot, place, bytes, false);
            return Ok(bytes);
        }
        // Asked again before `placed`, the answer is the same.
        let pending = match place.pending {
            0 => bytes.min(usize::try_from(space).unwrap_or(usize::MAX)),
            pending => pending,
        };
        self.peers[slot as usize].phase = Phase::Place(Place { pending, ..place });
        let step = Step::Place {
            token: self.requests.token(place.request),
            offset,
            bytes: pending,
        };
        Err((0, step))
    }

    /// Where the next bytes of the peer's stream belong, if that is a request's memory: a caller
    /// who reads a stream itself reads them there, feeds them, and copies nothing at the
    /// [`Step::Place`] that this gives.
    pub fn awaited(&self, peer: PeerToken) -> Option<Awaited> {
        let slot = self.slot(peer)?;
        let Phase::Place(place) = self.peers[slot as usize].phase else {
            return None;
        };
        let State::Receiving(receiving) = *self.requests.state(place.request) else {
            return None;
        };
        let space = receiving.capacity.saturating_sub(receiving.arrived);
        let bytes = place.left.min(usize::try_from(space).unwrap_or(usize::MAX));
        let wanted = place.pending == 0 && bytes > 0 && receiving.error == 0;
        wanted.then(|| Awaited {
            token: self.requests.token(place.request),
            offset: receiving.arrived,
            bytes,
        })
    }

    /// The bytes of the last [`Step::Place`] of the peer are in place, or could not be put there:
    /// `error` is an errno.
    pub fn placed(&mut self, peer: PeerToken, error: u32) {
        let Some(slot) = self.slot(peer) else {
            return;
        };
        let Phase::Place(place) = self.peers[slot as usize].phase else {
            return;
        };
        if place.pending == 0 {
            return;
        }
        if error != 0
            && let Some(receiving) = self.requests.receiving(place.request)
            && receiving.error == 0
        {
            receiving.error = error;
        }
        self.count(slot, place, place.pending, error == 0);
        if self.peers[slot as usize].state != PeerState::Lost {
            return;
        }
        // The peer was lost meanwhile, and its request has waited for this.
        self.peers[slot as usize].phase = Phase::Broken;
        if let State::Receiving(receiving) = *self.requests.state(place.request) {
            self.end_receiving(place.request, receiving, receiving.error);
        }
    }

    /// So many more bytes of a message have come.
    fn count(&mut self, slot: u32, place: Place, bytes: usize, placed: bool) {
        let left = place.left - bytes;
        let number = place.request;
        self.peers[slot as usize].phase = match left {
            0 => Phase::Head,
            _ => Phase::Place(Place {
                request: number,
                left,
                pending: 0,
            }),
        };
        if let Some(receiving) = self.requests.receiving(number) {
            receiving.arrived += bytes as u64;
            receiving.placed += if placed { bytes as u64 } else { 0 };
            let receiving = *receiving;
            if receiving.arrived == receiving.bytes {
                self.end_receiving(number, receiving, 0);
            }
        }
    }
}

fn unexpected(arrival: &Arrival) -> Step {
    Step::Unexpected {
        bits: arrival.bits,
        bytes: arrival.bytes,
        offered: arrival.offer.is_some(),
    }
}

fn discard(left: usize) -> Phase {
    match left {
        0 => Phase::Head,
        _ => Phase::Discard { left },
    }
}
