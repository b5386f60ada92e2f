//! An endpoint: its bounds, its peers, and the requests that callers make. What arrives is in
//! `reader.rs` and `receive.rs`, what leaves in `send.rs`.

use alloc::vec::Vec;

use oxmpi_wire::stream::PAYLOAD_MAX;
use oxmpi_wire::{CREDIT_UNIT, MESSAGE_BYTES_MAX};

use crate::bits::{BitsQueues, Seed};
use crate::bounds::{Bounds, PEERS_MAX, REQUESTS_MAX, UNEXPECTED_BYTES_MAX, WINDOW_BYTES_MIN};
use crate::error::{
    CancelError, ECANCELED, EMSGSIZE, ESHUTDOWN, OpenError, PeerError, RequestError,
};
use crate::peer::{self, Peer, RECORD_UNITS};
use crate::pool::Pool;
use crate::records::{Records, What};
use crate::requests::{
    Completion, PeerToken, Phase, Receiving, Requests, Sending, State, Status, Token, token,
};

/// The decisions of one endpoint. The order of calls is in the crate's documentation.
pub struct Endpoint {
    pub(crate) bounds: Bounds,
    /// Credit units of each peer.
    pub(crate) window: u32,
    pub(crate) peers: Vec<Peer>,
    pub(crate) requests: Requests,
    pub(crate) records: Records,
    pub(crate) pool: Pool,
    /// A posted receive is its request, an unexpected message its record.
    pub(crate) queues: BitsQueues<u32, u32>,
    closed: bool,
}

/// An unexpected message that a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its bits.
    pub bits: u64,
    /// Its length.
    pub bytes: u64,
    /// Its sender.
    pub peer: PeerToken,
}

/// Credit units of one peer's window.
const fn window(bounds: &Bounds) -> u32 {
    (bounds.unexpected_bytes / bounds.peers as u64 / CREDIT_UNIT) as u32
}

impl Endpoint {
    /// Whether an endpoint may have these bounds.
    pub fn check(bounds: &Bounds) -> Result<(), OpenError> {
        let Bounds {
            requests,
            peers,
            unexpected_bytes: bytes,
            eager_bytes,
            ..
        } = *bounds;
        if !(1..=REQUESTS_MAX).contains(&requests) {
            return Err(OpenError::Requests { requests });
        }
        if !(1..=PEERS_MAX).contains(&peers) {
            return Err(OpenError::Peers { peers });
        }
        if bytes / u64::from(peers) < WINDOW_BYTES_MIN || bytes > UNEXPECTED_BYTES_MAX {
            return Err(OpenError::Unexpected { bytes, peers });
        }
        if eager_bytes as usize > PAYLOAD_MAX {
            return Err(OpenError::Eager { bytes: eager_bytes });
        }
        Ok(())
    }

    /// An endpoint with these bounds; the only call that allocates. The seed is 128 random bits.
    pub fn open(bounds: Bounds, seed: Seed) -> Result<Endpoint, OpenError> {
        Endpoint::check(&bounds)?;
        let Bounds {
            requests, peers, ..
        } = bounds;
        let window = window(&bounds);
        let units = window as usize * peers as usize;
        let records = units / RECORD_UNITS as usize;
        Ok(Endpoint {
            bounds,
            window,
            peers: (0..peers).map(|_| Peer::VACANT).collect(),
            requests: Requests::new(requests),
            records: Records::new(records, seed),
            pool: Pool::new(units),
            queues: BitsQueues::new(requests as usize, records, seed),
            closed: false,
        })
    }

    /// Bytes that [`Endpoint::open`] allocates, for bounds that it accepts.
    pub const fn bytes(bounds: &Bounds) -> u64 {
        if bounds.peers == 0 {
            return 0;
        }
        let (peers, requests) = (bounds.peers as usize, bounds.requests as usize);
        let units = window(bounds) as usize * peers;
        let records = units / RECORD_UNITS as usize;
        let tables = Requests::bytes(requests) + Records::bytes(records) + Pool::bytes(units);
        let queues = BitsQueues::<u32, u32>::bytes(requests, records);
        (peers * size_of::<Peer>() + tables + queues) as u64
    }

    /// A peer that is being connected to: sends may be queued, and leave after
    /// [`Endpoint::connected`].
    pub fn connect(&mut self) -> Result<PeerToken, PeerError> {
        self.admit(peer::State::Connecting)
    }

    /// A peer that has connected, and has proved who it is.
    pub fn accepted(&mut self) -> Result<PeerToken, PeerError> {
        self.admit(peer::State::Up)
    }

    fn admit(&mut self, state: peer::State) -> Result<PeerToken, PeerError> {
        if self.closed {
            return Err(PeerError::Closed);
        }
        let vacant = |peer: &Peer| peer.state == peer::State::Free;
        let slot = self.peers.iter().position(vacant).ok_or(PeerError::Full)?;
        self.peers[slot].renew(state, self.window);
        Ok(self.peer_token(slot as u32))
    }

    /// The connection that was asked for is there.
    pub fn connected(&mut self, peer: PeerToken) -> Result<(), PeerError> {
        let slot = self.slot(peer).ok_or(PeerError::Unknown)?;
        match self.peers[slot as usize].state {
            peer::State::Connecting => self.peers[slot as usize].state = peer::State::Up,
            peer::State::Up => {}
            _ => return Err(PeerError::Busy),
        }
        Ok(())
    }

    /// The place of a peer.
    pub(crate) fn slot(&self, peer: PeerToken) -> Option<u32> {
        let place = self.peers.get(peer.0 as u32 as usize)?;
        let is_it = place.generation == (peer.0 >> 32) as u32 && place.state != peer::State::Free;
        is_it.then_some(peer.0 as u32)
    }

    pub(crate) fn peer_token(&self, slot: u32) -> PeerToken {
        PeerToken(token(slot, self.peers[slot as usize].generation))
    }

    /// Whether the peer is connected or being connected to.
    pub fn is_there(&self, peer: PeerToken) -> bool {
        self.slot(peer).is_some_and(|slot| {
            let state = self.peers[slot as usize].state;
            matches!(state, peer::State::Connecting | peer::State::Up)
        })
    }

    /// The peer that a request is concerned with: the receiver of a send, the sender of the message
    /// that a receive has met.
    pub fn peer_of(&self, request: Token) -> Option<PeerToken> {
        let number = self.requests.find(request.0)?;
        match *self.requests.state(number) {
            State::Sending(sending) => Some(sending.name),
            State::Receiving(receiving) => Some(self.peer_token(receiving.peer)),
            State::Claimed(claimed) => Some(self.records.get(claimed.record).peer),
            State::Waiting { .. } | State::Over(_) | State::Free => None,
        }
    }

    /// The peer is gone: what concerned it fails with `error`, and nothing else. Memory that is
    /// being read or written just now stays with its request until [`Endpoint::sent`] or
    /// [`Endpoint::placed`].
    pub fn lost(&mut self, peer: PeerToken, error: u32) {
        if let Some(slot) = self.slot(peer) {
            self.lose(slot, error);
        }
    }

    pub(crate) fn lose(&mut self, slot: u32, error: u32) {
        let peer = &mut self.peers[slot as usize];
        if peer.state == peer::State::Lost {
            return;
        }
        peer.state = peer::State::Lost;
        peer.refused = None;
        let placing = match peer.phase {
            peer::Phase::Place(place) if place.pending > 0 => Some(place.request),
            _ => None,
        };
        if let peer::Phase::Judge(arrival) = peer.phase {
            peer.credit.release(arrival.units());
        }
        if placing.is_none() {
            peer.phase = peer::Phase::Broken;
        }
        while self.requests.links.pop(&mut peer.urgent).is_some() {}
        while self.requests.links.pop(&mut peer.queued).is_some() {}
        while self.records.links.pop(&mut peer.replies).is_some() {}
        for number in 0..self.requests.len() {
            self.fail(number, slot, placing, error);
        }
        // Every record holds units.
        if self.peers[slot as usize].credit.held > 0 {
            for number in 0..self.records.len() {
                self.drop_record_of(number, slot);
            }
        }
    }

    /// Ends a request if it concerns the peer of this place.
    fn fail(&mut self, number: u32, slot: u32, placing: Option<u32>, error: u32) {
        match *self.requests.state(number) {
            State::Receiving(receiving) if receiving.peer == slot => {
                if placing == Some(number) {
                    // The copy runs without the lock; `placed` ends the request.
                    self.requests
                        .set(number, State::Receiving(Receiving { error, ..receiving }));
                } else {
                    self.end_receiving(number, receiving, error);
                }
            }
            State::Claimed(claimed) => {
                let record = *self.records.get(claimed.record);
                let whole =
                    matches!(record.what, What::Eager { chain, .. } if chain.bytes == record.bytes);
                if record.slot != slot || whole {
                    return;
                }
                let status = Status {
                    error,
                    bits: record.bits,
                    bytes: record.bytes,
                    placed: 0,
                    peer: Some(record.peer),
                };
                self.free_record(claimed.record);
                self.requests.end(number, status);
            }
            State::Sending(sending) if sending.peer == slot => {
                if matches!(sending.phase, Phase::Failed { .. }) {
                    // Of an earlier peer in this place.
                    return;
                }
                let phase = Phase::Failed { error };
                self.requests
                    .set(number, State::Sending(Sending { phase, ..sending }));
                if sending.unsent == 0 {
                    self.end_sending(number, error);
                }
            }
            _ => {}
        }
    }

    /// A lost peer's place is vacant again.
    pub fn forget(&mut self, peer: PeerToken) -> Result<(), PeerError> {
        let slot = self.slot(peer).ok_or(PeerError::Unknown)?;
        let place = &mut self.peers[slot as usize];
        if place.state != peer::State::Lost || !matches!(place.phase, peer::Phase::Broken) {
            return Err(PeerError::Busy);
        }
        place.state = peer::State::Free;
        place.generation = place.generation.wrapping_add(1);
        Ok(())
    }

    /// Sends a message. Synchronous: it is over only when it has been matched.
    pub fn send(
        &mut self,
        peer: PeerToken,
        bits: u64,
        bytes: u64,
        sync: bool,
        user: u64,
    ) -> Result<Token, RequestError> {
        if self.closed {
            return Err(RequestError::Closed);
        }
        if bytes > MESSAGE_BYTES_MAX {
            return Err(RequestError::Long { bytes });
        }
        let slot = self.slot(peer).filter(|_| self.is_there(peer));
        let slot = slot.ok_or(RequestError::Peer)?;
        let number = self.requests.vacant().ok_or(RequestError::Full)?;
        let sending = Sending {
            peer: slot,
            name: peer,
            bits,
            bytes,
            sync,
            phase: Phase::Queued,
            unsent: 0,
            cancel: false,
        };
        let made = self.requests.fill(number, user, State::Sending(sending));
        let list = &mut self.peers[slot as usize].queued;
        self.requests.links.push(list, number);
        Ok(made)
    }

    /// Receives the oldest message whose bits agree with `bits` wherever `mask` is 1, from whatever
    /// peer, into memory of `capacity` bytes.
    pub fn receive(
        &mut self,
        bits: u64,
        mask: u64,
        capacity: u64,
        user: u64,
    ) -> Result<Token, RequestError> {
        if self.closed {
            return Err(RequestError::Closed);
        }
        let number = self.requests.vacant().ok_or(RequestError::Full)?;
        if let Some((_, record)) = self.queues.claim(bits, mask) {
            let made = self.requests.fill(number, user, State::Free);
            self.meet_record(number, record, capacity);
            return Ok(made);
        }
        let posted = self.queues.post(bits, mask, number);
        let posted = posted.map_err(|_| RequestError::Full)?;
        Ok(self
            .requests
            .fill(number, user, State::Waiting { posted, capacity }))
    }

    /// Takes a request back. `Ok`: its memory is free and nothing more is told of it.
    pub fn cancel(&mut self, request: Token) -> Result<(), CancelError> {
        let number = self.requests.find(request.0).ok_or(CancelError::Unknown)?;
        match *self.requests.state(number) {
            State::Waiting { posted, .. } => {
                self.queues.cancel(posted);
                self.requests.release(number);
                Ok(())
            }
            State::Sending(sending) if sending.phase == Phase::Queued => {
                let list = &mut self.peers[sending.peer as usize].queued;
                self.requests.links.remove(list, number);
                self.requests.release(number);
                Ok(())
            }
            State::Sending(sending) => {
                if sending.phase == Phase::Offered && !sending.cancel {
                    let list = &mut self.peers[sending.peer as usize].urgent;
                    self.requests.links.push(list, number);
                    let cancel = true;
                    self.requests
                        .set(number, State::Sending(Sending { cancel, ..sending }));
                }
                Err(CancelError::Again)
            }
            State::Claimed(_) | State::Receiving(_) => Err(CancelError::Again),
            State::Over(_) | State::Free => Err(CancelError::Unknown),
        }
    }

    /// The message that a receive with these bits and this mask would get at once.
    pub fn probe(&mut self, bits: u64, mask: u64) -> Option<Found> {
        let (bits, &record) = self.queues.probe(bits, mask)?;
        let record = self.records.get(record);
        Some(Found {
            bits,
            bytes: record.bytes,
            peer: record.peer,
        })
    }

    /// The endpoint ends: all peers are lost and all receives are over.
    pub fn close(&mut self) {
        self.closed = true;
        for slot in 0..self.peers.len() {
            if self.peers[slot].state != peer::State::Free {
                self.lose(slot as u32, ESHUTDOWN);
            }
        }
        for number in 0..self.requests.len() {
            if let State::Waiting { posted, .. } = *self.requests.state(number) {
                self.queues.cancel(posted);
                let status = Status {
                    error: ECANCELED,
                    bits: 0,
                    bytes: 0,
                    placed: 0,
                    peer: None,
                };
                self.requests.end(number, status);
            }
        }
    }

    /// The next request that is over. Its token names nothing from now on.
    pub fn next_completed(&mut self) -> Option<Completion> {
        self.requests.next_over()
    }

    pub(crate) fn end_receiving(&mut self, number: u32, receiving: Receiving, error: u32) {
        // An offer may be over before its answer has left.
        let list = &mut self.peers[receiving.peer as usize].urgent;
        self.requests.links.remove(list, number);
        let truncated = receiving.bytes > receiving.capacity;
        let error = match (error, receiving.error) {
            (0, 0) if truncated => EMSGSIZE,
            (0, failed) => failed,
            (error, _) => error,
        };
        let status = Status {
            error,
            bits: receiving.bits,
            bytes: receiving.bytes,
            placed: receiving.placed,
            peer: Some(self.peer_token(receiving.peer)),
        };
        self.requests.end(number, status);
    }

    pub(crate) fn end_sending(&mut self, number: u32, error: u32) {
        let Some(&mut sending) = self.requests.sending(number) else {
            return;
        };
        if !matches!(sending.phase, Phase::Failed { .. }) {
            // An offer that is taken back may be answered before the question has left.
            let list = &mut self.peers[sending.peer as usize].urgent;
            self.requests.links.remove(list, number);
        }
        let status = Status {
            error,
            bits: sending.bits,
            bytes: sending.bytes,
            placed: 0,
            peer: Some(sending.name),
        };
        self.requests.end(number, status);
    }
}
