//! What is remembered of a peer: how its stream stands, what is to be sent to it, and who may still
//! send how much.

use oxmpi_wire::stream::HEAD_MAX;
use oxmpi_wire::{CREDIT_MAX, CREDIT_UNIT};

use crate::list::List;

/// Credit units that a message costs beside its bytes: 256 bytes. Its record and its places in ten
/// indexes take about twice that, so an endpoint has about three bytes for each of its bound; more
/// units would make short messages dear.
pub const RECORD_UNITS: u32 = 4;

/// Credit units that an eager message of so many bytes costs. What no window has room for costs
/// the most that can be said.
pub fn eager_units(bytes: u64) -> u32 {
    let units = bytes.div_ceil(CREDIT_UNIT);
    u32::try_from(units).map_or(u32::MAX, |units| units.saturating_add(RECORD_UNITS))
}

pub(crate) struct Peer {
    pub generation: u32,
    pub state: State,
    /// Requests with something to send that waits for no credit: offers that are answered, bytes
    /// that were asked for, offers that are taken back.
    pub urgent: List,
    /// Sends of which nothing has left, in order.
    pub queued: List,
    /// Records that are answers.
    pub replies: List,
    /// Whether `urgent` had the last turn.
    pub urgent_had: bool,
    pub credit: Credit,
    /// Numbers of the next ordered packet in each direction.
    pub sequence_out: u32,
    pub sequence_in: u32,
    /// A packet that asked for what endpoints do not do: its token, kind and why.
    pub refused: Option<(u64, u8, u8)>,
    pub phase: Phase,
    pub head: [u8; HEAD_MAX],
    pub collected: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The place is vacant.
    Free,
    /// Sends can be queued; nothing is sent or read.
    Connecting,
    Up,
    /// Everything that concerned it has failed.
    Lost,
}

/// What the next byte of a stream is.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// Of a head.
    Head,
    /// The message before it waits for the handler's verdict.
    Judge(Arrival),
    /// Of a payload that goes to a request's memory.
    Place(Place),
    /// Of a payload that is kept in a record.
    Store { record: u32, left: usize },
    /// Of a payload that nobody wants.
    Discard { left: usize },
    /// Nothing more is read.
    Broken,
}

/// A message whose head is there.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub bits: u64,
    pub bytes: u64,
    /// The sender's token, if the message is offered.
    pub offer: Option<u64>,
}

impl Arrival {
    /// Credit units that it costs its sender.
    pub(crate) fn units(&self) -> u32 {
        match self.offer {
            Some(_) => RECORD_UNITS,
            None => eager_units(self.bytes),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub request: u32,
    /// Payload bytes to come.
    pub left: usize,
    /// How many the caller is copying.
    pub pending: usize,
}

/// Credit units in both directions. What the peer was given is in one of three places:
/// `allowance + returned + held` is the window.
pub(crate) struct Credit {
    /// What may be sent to the peer.
    pub ours: u32,
    /// What the peer may send.
    pub allowance: u32,
    /// What is to be told to the peer that it may send.
    pub returned: u32,
    /// What records hold, those of earlier peers in this place among them.
    pub held: u32,
}

impl Credit {
    /// The most that a packet can tell.
    pub(crate) fn take_returned(&mut self) -> u16 {
        let units = self.returned.min(CREDIT_MAX);
        self.returned -= units;
        self.allowance += units;
        units as u16
    }

    /// Whether a packet is worth while for nothing but credit: a quarter of the window is to be
    /// told, or the peer may have less than a quarter.
    pub(crate) fn is_due(&self, window: u32) -> bool {
        self.returned >= window / 4 || self.returned > 0 && self.allowance < window / 4
    }

    /// A message arrived. `false`: the peer may not send that much.
    #[must_use]
    pub(crate) fn charge(&mut self, units: u32) -> bool {
        match self.allowance.checked_sub(units) {
            None => false,
            Some(rest) => {
                self.allowance = rest;
                self.held += units;
                true
            }
        }
    }

    /// What a message held is free.
    pub(crate) fn release(&mut self, units: u32) {
        self.held -= units;
        self.returned += units;
    }
}

impl Peer {
    pub(crate) const VACANT: Peer = Peer {
        generation: 1,
        state: State::Free,
        urgent: List::EMPTY,
        queued: List::EMPTY,
        replies: List::EMPTY,
        urgent_had: false,
        credit: Credit {
            ours: 0,
            allowance: 0,
            returned: 0,
            held: 0,
        },
        sequence_out: 0,
        sequence_in: 0,
        refused: None,
        phase: Phase::Broken,
        head: [0; HEAD_MAX],
        collected: 0,
    };

    /// A new peer in this place. Its window is what records of earlier ones leave.
    pub(crate) fn renew(&mut self, state: State, window: u32) {
        let (generation, held) = (self.generation, self.credit.held);
        *self = Peer {
            generation,
            state,
            phase: Phase::Head,
            ..Peer::VACANT
        };
        self.credit.held = held;
        self.credit.returned = window - held;
    }
}
