//! What is known of one other process: its room here and there, packet numbers, and what waits to
//! be sent to it.

use std::collections::VecDeque;

use oxmpi_wire::{CREDIT_MAX, CREDIT_UNIT, Envelope, Kind};

use super::Limits;
use super::failure::Failure;
use super::order::InFlight;
use super::requests::RequestId;
use super::stash::StashId;

pub(super) struct Peer {
    /// Messages up to this length go in one eager packet, whatever else holds.
    pub whole_bytes_max: u64,
    /// Eager bytes we may still send before the peer matches some.
    pub room: u64,
    /// What the peer's unmatched eager messages take of the room it has here.
    pub kept: u64,
    /// Credit units to give back with the next packet.
    pub owed: u32,
    /// Owed units from which on a packet is made for them alone: a quarter of the room that all
    /// messages may take.
    pub owed_max: u32,
    /// Number of the next packet to and from the peer.
    pub next_out: u32,
    pub next_in: u32,
    /// Answers: they may overtake messages.
    pub answers: VecDeque<(Envelope, Kind)>,
    /// Messages in order: eager ones and offers.
    pub messages: VecDeque<RequestId>,
    /// Matched messages that stream; short messages may overtake them.
    pub streams: VecDeque<RequestId>,
    /// The eager message from this peer whose packets have not all arrived.
    pub inbound: Option<Inbound>,
    /// Of the receives that were looked at last: the first matched one that is getting its bytes
    /// from this peer.
    pub in_flight: Option<InFlight>,
    /// It is in `Protocol::busy`.
    pub busy: bool,
    /// The receiver-side fetch was refused for this peer; its messages are streamed.
    pub no_fetch: bool,
    /// It is dead or was parted with: nothing is sent to it or taken from it any more.
    pub dead: bool,
    /// What it sent that no process sends, if that is why it was parted with.
    pub garbage: Option<Failure>,
    /// It is dead or has finalised: it answers nothing any more.
    pub gone: bool,
    /// Sizes for the device that reaches it.
    pub limits: Limits,
}

/// Where the further packets of an eager message go.
#[derive(Debug, Clone, Copy)]
pub(super) enum Inbound {
    Request(RequestId),
    Stash(StashId),
}

impl Peer {
    pub fn new(limits: Limits) -> Self {
        Self {
            whole_bytes_max: limits.whole_bytes_max(),
            room: limits.room_bytes,
            kept: 0,
            owed: 0,
            owed_max: (((limits.room_bytes - limits.reserved_bytes) / CREDIT_UNIT / 4) as u32)
                .max(1),
            next_out: 0,
            next_in: 0,
            answers: VecDeque::new(),
            messages: VecDeque::new(),
            streams: VecDeque::new(),
            inbound: None,
            in_flight: None,
            busy: false,
            no_fetch: false,
            dead: false,
            garbage: None,
            gone: false,
            limits,
        }
    }

    /// The next packet from the peer has come, and gives so many units of room back.
    #[inline(always)]
    pub fn take_packet(&mut self, credit: u16) {
        self.next_in = self.next_in.wrapping_add(1);
        self.take_credit(credit);
    }

    /// What the next packet gives back of the peer's room: all that is owed, or as much as fits.
    #[inline(always)]
    pub fn due(&self) -> u16 {
        self.owed.min(CREDIT_MAX) as u16
    }

    /// The peer gives so many units of room back.
    #[inline(always)]
    pub fn take_credit(&mut self, credit: u16) {
        self.room += u64::from(credit) * CREDIT_UNIT;
    }

    /// Whether the peer has room for an eager message.
    #[inline(always)]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.room >= super::cost(bytes) + self.limits.reserve(bytes)
    }

    pub fn has_work(&self) -> bool {
        !(self.answers.is_empty() && self.messages.is_empty() && self.streams.is_empty())
    }
}
