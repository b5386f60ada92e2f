//! What leaves: the next packet for a peer, whenever its connection can take one.
//!
//! Messages leave in the order in which they were sent, eager while they are short and the peer has
//! room, offered otherwise. Answers and bytes that were asked for need no credit and take turns
//! with them, so neither waits for ever.

use oxmpi_wire::stream::{HEAD_MAX, LENGTH_BYTES};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

use crate::endpoint::Endpoint;
use crate::peer::{self, RECORD_UNITS, eager_units};
use crate::records::{Answer, What};
use crate::requests::{PeerToken, Phase, State, Token};

/// Most payload of one packet of an offered message. Other messages take turns with it, and a
/// receiver's head per 128 KiB costs nothing.
pub const DATA_BYTES_MAX: u64 = 128 << 10;

/// A packet to be written: its head, then bytes of a request's memory.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    head: [u8; HEAD_MAX],
    head_bytes: usize,
    /// Bytes of a send's memory; [`Endpoint::sent`] is to be called for each that has any.
    pub payload: Option<Payload>,
}

/// A part of a send's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The send.
    pub token: Token,
    /// Where in its memory.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Transmit {
    /// Nothing.
    pub(crate) const EMPTY: Transmit = Transmit {
        head: [0; HEAD_MAX],
        head_bytes: 0,
        payload: None,
    };

    /// Length, header and body.
    pub fn head(&self) -> &[u8] {
        &self.head[..self.head_bytes]
    }
}

impl Endpoint {
    /// The next packet for a peer; it is written before anything else for that peer.
    pub fn poll_send(&mut self, peer: PeerToken) -> Option<Transmit> {
        let slot = self.slot(peer)?;
        let peer = &mut self.peers[slot as usize];
        if peer.state != peer::State::Up {
            return None;
        }
        if let Some((token, kind, reason)) = peer.refused.take() {
            let kind = Kind::Refused {
                token,
                kind,
                reason,
            };
            return Some(self.packet(slot, 0, 0, kind, None));
        }
        if let Some(record) = self.records.links.pop(&mut peer.replies) {
            return self.answer(slot, record);
        }
        let urgent_first = !peer.urgent_had;
        let found = if urgent_first {
            self.poll_urgent(slot).or_else(|| self.poll_queued(slot))
        } else {
            self.poll_queued(slot).or_else(|| self.poll_urgent(slot))
        };
        found.or_else(|| {
            let due = self.peers[slot as usize].credit.is_due(self.window);
            due.then(|| self.packet(slot, 0, 0, Kind::Credit, None))
        })
    }

    /// Whether [`Endpoint::poll_send`] has a packet for the peer.
    pub fn has_to_send(&self, peer: PeerToken) -> bool {
        let Some(slot) = self.slot(peer) else {
            return false;
        };
        let peer = &self.peers[slot as usize];
        if peer.state != peer::State::Up {
            return false;
        }
        let answers = peer.refused.is_some() || peer.replies.first().is_some();
        let queued = peer.queued.first().is_some() && peer.credit.ours >= RECORD_UNITS;
        let due = peer.credit.is_due(self.window);
        answers || peer.urgent.first().is_some() || queued || due
    }

    fn answer(&mut self, slot: u32, number: u32) -> Option<Transmit> {
        let record = *self.records.get(number);
        let What::Reply { send, answer } = record.what else {
            return None;
        };
        let kind = match answer {
            Answer::Taken => Kind::Done { send },
            Answer::Cancelled => Kind::CancelReply {
                send,
                cancelled: true,
            },
        };
        self.free_record(number);
        Some(self.packet(slot, record.bits, record.bytes, kind, None))
    }

    fn poll_urgent(&mut self, slot: u32) -> Option<Transmit> {
        let peer = &mut self.peers[slot as usize];
        let number = self.requests.links.pop(&mut peer.urgent)?;
        peer.urgent_had = true;
        let token = self.requests.token(number);
        match *self.requests.state(number) {
            State::Receiving(receiving) => {
                let kind = Kind::ClearToSend {
                    send: receiving.offer?,
                    receive: token.0,
                };
                if receiving.bytes == 0 {
                    self.end_receiving(number, receiving, 0);
                }
                Some(self.packet(slot, receiving.bits, receiving.bytes, kind, None))
            }
            State::Sending(mut sending) => match sending.phase {
                Phase::Data { receive, offset } => {
                    let bytes = (sending.bytes - offset).min(DATA_BYTES_MAX);
                    let end = offset + bytes;
                    sending.unsent += 1;
                    if end == sending.bytes {
                        sending.phase = Phase::Sent;
                    } else {
                        let offset = end;
                        sending.phase = Phase::Data { receive, offset };
                        self.requests.links.push(&mut peer.urgent, number);
                    }
                    self.requests.set(number, State::Sending(sending));
                    let payload = Payload {
                        token,
                        offset,
                        bytes,
                    };
                    let kind = Kind::Data { receive, offset };
                    Some(self.packet(slot, sending.bits, sending.bytes, kind, Some(payload)))
                }
                _ => {
                    let kind = Kind::Cancel { send: token.0 };
                    Some(self.packet(slot, sending.bits, sending.bytes, kind, None))
                }
            },
            _ => None,
        }
    }

    fn poll_queued(&mut self, slot: u32) -> Option<Transmit> {
        let peer = &mut self.peers[slot as usize];
        let number = peer.queued.first()?;
        let token = self.requests.token(number);
        let &mut mut sending = self.requests.sending(number)?;
        let units = eager_units(sending.bytes);
        let short = sending.bytes <= u64::from(self.bounds.eager_bytes);
        let eager = short && !sending.sync && units <= peer.credit.ours;
        let units = if eager { units } else { RECORD_UNITS };
        peer.credit.ours = peer.credit.ours.checked_sub(units)?;
        peer.urgent_had = false;
        self.requests.links.remove(&mut peer.queued, number);
        if !eager {
            sending.phase = Phase::Offered;
            self.requests.set(number, State::Sending(sending));
            let kind = Kind::RequestToSend {
                send: token.0,
                address: 0,
                mapped: false,
                fetchable: false,
                sync: sending.sync,
            };
            return Some(self.packet(slot, sending.bits, sending.bytes, kind, None));
        }
        sending.phase = Phase::Sent;
        let payload = (sending.bytes > 0).then_some(Payload {
            token,
            offset: 0,
            bytes: sending.bytes,
        });
        sending.unsent = u32::from(payload.is_some());
        self.requests.set(number, State::Sending(sending));
        if payload.is_none() {
            self.end_sending(number, 0);
        }
        Some(self.packet(slot, sending.bits, sending.bytes, Kind::Eager, payload))
    }

    /// The memory of a [`Payload`] is no longer read: the peer's host has acknowledged the bytes,
    /// or the connection is gone. Once for each.
    pub fn sent(&mut self, request: Token) {
        let Some(number) = self.requests.find(request.0) else {
            return;
        };
        let Some(sending) = self.requests.sending(number) else {
            return;
        };
        sending.unsent = sending.unsent.saturating_sub(1);
        if sending.unsent > 0 {
            return;
        }
        match sending.phase {
            Phase::Sent => self.end_sending(number, 0),
            Phase::Failed { error } => self.end_sending(number, error),
            _ => {}
        }
    }

    /// Makes a packet; it takes along what credit there is to tell.
    fn packet(
        &mut self,
        slot: u32,
        bits: u64,
        bytes: u64,
        kind: Kind,
        payload: Option<Payload>,
    ) -> Transmit {
        let peer = &mut self.peers[slot as usize];
        let mut sequence = 0;
        if kind.is_ordered() {
            sequence = peer.sequence_out;
            peer.sequence_out = sequence.wrapping_add(1);
        }
        let repr = Repr {
            envelope: Envelope {
                context: bits,
                source: 0,
                tag: 0,
                content: Content::new(bytes, 0),
            },
            sequence,
            credit: peer.credit.take_returned(),
            kind,
        };
        let mut prefix = [0; PREFIX_BYTES];
        let used = repr.emit_prefix(&mut prefix);
        let mut head = [0; HEAD_MAX];
        // An eager message is at most PAYLOAD_MAX long, a part of another DATA_BYTES_MAX.
        let length = payload.map_or(0, |payload| payload.bytes as u32);
        head[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        head[LENGTH_BYTES..].copy_from_slice(&prefix);
        Transmit {
            head,
            head_bytes: LENGTH_BYTES + used,
            payload,
        }
    }
}
