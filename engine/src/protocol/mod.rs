//! The protocol half of the engine: what to do with calls and packets, with no I/O, no clock and no
//! memory of the user's.
//!
//! Call order:
//! - [`Protocol::eager_now`] says whether a message can leave at once ([`Protocol::sent_eager`]
//!   confirms); else [`Protocol::send`] makes a request of it; [`Protocol::post`] takes a receive
//!   and says what it found;
//! - [`Protocol::handle`] takes an arrived packet and says where its payload goes; a device whose
//!   packets arrive in pieces hands the first piece to it and the others to [`Protocol::landing`]
//!   and [`Protocol::landed`];
//! - [`Protocol::poll_transmit`] yields the next packet for a peer, [`Protocol::sent`] confirms
//!   that it left;
//! - [`Protocol::fetched`] reports on bytes that the caller fetched itself;
//! - [`Protocol::turn`] says which of several finished requests comes first;
//! - [`Protocol::take`] gives a finished request's outcome and frees it.
//!
//! A message goes *eager* when it is small and the receiver has room for it unmatched; else it is
//! *offered* (a request to send) and moves after the match: fetched by the receiver where that is
//! possible, streamed by the sender where not. Buffers are a type `B` that the protocol carries and
//! never looks into, so the simulator runs this very code.

mod disagreement;
mod failure;
mod landing;
mod mirror;
mod offer;
mod order;
mod peer;
mod post;
mod receive;
mod requests;
mod send;
mod stash;

pub use disagreement::{Disagreement, Notice};
pub use failure::Failure;
pub use landing::{Landing, Stream};
pub use mirror::Placement;
pub use offer::Fetch;
pub use order::{STANDSTILL_MAX, Turn};
pub use post::{Claim, Posted};
pub use receive::{Arrived, Effect, Further};
pub use requests::{Completion, Outcome, RequestId};
pub use send::{Mode, Origin, Payload, Source, Transmit};

use std::collections::HashMap;
use std::sync::Arc;

use oxmpi_matching::{Capacity, Queues};
use oxmpi_wire::{CREDIT_UNIT, Kind};

use peer::Peer;
use requests::Requests;
use stash::{StashId, Stashes};

/// Sizes that steer the protocol. Which values are good is a matter of measurement, not of
/// correctness.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest message that may go eager.
    pub eager_bytes_max: u64,
    /// Longest message that leaves in the call that sends it, because the device has copied it
    /// then; a longer one is a request, and its memory is used until it has left.
    pub copied_bytes_max: u64,
    /// Eager bytes a peer may have unmatched here (each message counts its length and a header, in
    /// whole credit units).
    pub room_bytes: u64,
    /// Of this room, what only messages of up to [`LITTLE_BYTES_MAX`] bytes may take: programs send
    /// them by the hundred thousand before anybody asks for one, and to offer them costs more than
    /// to keep them.
    pub reserved_bytes: u64,
    /// Eager bytes that a peer may have unmatched here before it is taken for one that does not
    /// obey: at least `room_bytes` of every process that sends to this one.
    pub kept_bytes_max: u64,
    /// Longest payload of one packet.
    pub fragment_bytes: usize,
    /// Longest payload of one packet while a message is short: smaller pieces let both sides copy
    /// at the same time.
    pub fragment_bytes_short: usize,
    /// Messages up to this length count as short.
    pub short_bytes_max: u64,
    /// Offered messages from this length on are fetched by the receiver where it may.
    pub fetch_bytes_min: u64,
    /// Unexpected messages beyond which the job cannot go on: 2^24 headers take about 2 GiB.
    pub unexpected_max: usize,
}

/// Messages up to this length take no more memory unmatched than the offers of others do.
pub const LITTLE_BYTES_MAX: u64 = 64;

impl Limits {
    /// The sizes of messages and of their pieces, for people.
    pub fn tell(&self) -> String {
        format!(
            "messages up to {} KiB leave at once, in pieces of {} to {} KiB; longer ones are offered, \
             and their pieces have up to {} KiB",
            self.eager_bytes_max >> 10,
            self.piece_bytes_min() >> 10,
            self.fragment_bytes_short >> 10,
            self.fragment_bytes >> 10,
        )
    }

    /// Messages up to this length go in one eager packet at once.
    fn whole_bytes_max(&self) -> u64 {
        let fragment = self.piece_bytes_min().min(self.fragment_bytes) as u64;
        self.eager_bytes_max
            .min(fragment)
            .min(self.copied_bytes_max)
    }

    /// Longest payload of a packet that belongs to a message of `bytes`. Short messages are cut in
    /// four and longer ones in eight, if their pieces become neither too short nor too long by it:
    /// the last piece is copied by one side alone, and so is the first.
    #[inline(always)]
    fn fragment(&self, bytes: u64) -> usize {
        if bytes > self.short_bytes_max {
            let eighth = (bytes / 8).next_multiple_of(4096) as usize;
            return (eighth.max(self.fragment_bytes_short)).min(self.fragment_bytes);
        }
        let quarter = (bytes / 4).next_multiple_of(64) as usize;
        quarter.clamp(self.piece_bytes_min(), self.fragment_bytes_short)
    }

    /// The shortest pieces into which messages are cut: beginning to copy costs as much as copying
    /// some KiB, so they are half as long as those of the longest short messages.
    #[inline(always)]
    fn piece_bytes_min(&self) -> usize {
        if self.short_bytes_max > self.fragment_bytes_short as u64 {
            (self.fragment_bytes_short / 2).max(1)
        } else {
            self.fragment_bytes_short
        }
    }

    /// What must be left of a peer's room when a message of `bytes` has taken its part.
    #[inline(always)]
    fn reserve(&self, bytes: u64) -> u64 {
        if bytes <= LITTLE_BYTES_MAX {
            0
        } else {
            self.reserved_bytes
        }
    }
}

/// What an unexpected message leaves behind until it is matched.
#[derive(Debug)]
enum Unexpected {
    /// Its bytes, as far as they have arrived.
    Stashed { from: u32, stash: StashId },
    /// The offer.
    Offered {
        from: u32,
        send: u64,
        address: u64,
        mapped: bool,
        fetchable: bool,
    },
}

impl Unexpected {
    /// The offer in a packet, if it is one.
    fn offered(from: u32, kind: &Kind) -> Option<Unexpected> {
        match *kind {
            Kind::RequestToSend {
                send,
                address,
                mapped,
                fetchable,
                ..
            } => Some(Unexpected::Offered {
                from,
                send,
                address,
                mapped,
                fetchable,
            }),
            _ => None,
        }
    }
}

/// What the engine counts; `oxmpi info` and reports show it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Messages sent eager.
    pub eager: u64,
    /// Messages offered.
    pub offered: u64,
    /// Offered although short, because the receiver had no room.
    pub out_of_room: u64,
    /// Messages fetched by this process.
    pub fetched: u64,
    /// Messages whose bytes had to be kept until a receive came.
    pub stashed: u64,
    /// Bytes kept at this moment, and at most.
    pub stashed_bytes: u64,
    /// The largest `stashed_bytes` so far.
    pub stashed_bytes_high: u64,
    /// Packets of kinds that this process does not know or does not serve.
    pub unserved: u64,
}

/// The protocol state of one process.
pub struct Protocol<B: Copy> {
    me: u32,
    limits: Limits,
    queues: Queues<RequestId, Unexpected>,
    requests: Requests<B>,
    peers: Vec<Peer>,
    /// Peers that have something to transmit.
    busy: Vec<u32>,
    stashes: Stashes,
    /// Peers known to be dead, in the order in which that became known.
    died: Vec<u32>,
    /// The processes that send messages in a context, where they are known.
    members: HashMap<u64, Arc<[u32]>>,
    /// The processes without any of which a context is of no use.
    bound: HashMap<u64, Arc<[u32]>>,
    /// How many processes have finalised.
    finished: u32,
    /// Looks at several requests so far.
    look: u64,
    /// Offered messages are fetched where that is possible, for now.
    fetching: bool,
    counters: Counters,
    /// Who is told of messages whose sender and receiver disagree.
    notice: Option<Notice>,
}

impl<B: Copy> Protocol<B> {
    /// Process `me` of `size`.
    pub fn new(me: u32, size: u32, limits: Limits) -> Self {
        assert!(me < size, "process {me} of {size}");
        assert!(limits.fragment_bytes > 0 && limits.fragment_bytes_short > 0);
        Self {
            me,
            limits,
            queues: Queues::new(Capacity {
                unexpected_max: limits.unexpected_max,
                ..Capacity::default()
            }),
            requests: Requests::new(),
            peers: (0..size).map(|_| Peer::new(limits)).collect(),
            busy: Vec::new(),
            stashes: Stashes::new(),
            died: Vec::new(),
            members: HashMap::new(),
            bound: HashMap::new(),
            finished: 0,
            look: 0,
            fetching: true,
            counters: Counters::default(),
            notice: None,
        }
    }

    /// Who is told of messages whose sender and receiver disagree on what the data is.
    pub fn set_notice(&mut self, notice: Notice) {
        self.notice = Some(notice);
    }

    /// Another process becomes known, and its number.
    pub fn add_peer(&mut self, limits: Limits) -> u32 {
        self.peers.push(Peer::new(limits));
        self.peers.len() as u32 - 1
    }

    /// Sizes for one peer that differ from those for all: it is reached by another device. Before
    /// anything is sent to it.
    pub fn set_limits(&mut self, peer: u32, limits: Limits) {
        self.peers[peer as usize] = Peer::new(limits);
    }

    /// This process.
    #[inline(always)]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// Requests that are not over: while there are any, packets matter even when nobody waits.
    #[inline(always)]
    pub fn pending(&self) -> usize {
        self.requests.pending()
    }

    /// Whether messages offered from now on are fetched where that is possible, or streamed.
    pub fn set_fetching(&mut self, fetching: bool) {
        self.fetching = fetching;
    }

    /// The sizes that steer it, for peers that have none of their own.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Peers for which [`Protocol::poll_transmit`] has something.
    #[inline(always)]
    pub fn busy(&self) -> &[u32] {
        &self.busy
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether the request is over.
    #[inline(always)]
    pub fn is_complete(&self, id: RequestId) -> bool {
        self.requests.is_complete(id)
    }

    /// The outcome of a request that is over; the request is gone then.
    #[inline(always)]
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        self.requests.take(id)
    }

    /// The outcome of a request that is over; it stays.
    pub fn outcome(&self, id: RequestId) -> Option<Outcome> {
        self.requests.outcome(id)
    }

    fn make_busy(&mut self, peer: u32) {
        if !self.peers[peer as usize].busy {
            self.peers[peer as usize].busy = true;
            self.busy.push(peer);
        }
    }
}

/// What a message of `bytes` takes of the receiver's room.
#[inline(always)]
fn cost(bytes: u64) -> u64 {
    CREDIT_UNIT.saturating_mul(bytes.div_ceil(CREDIT_UNIT).saturating_add(1))
}
