//! Receives that the driver /dev/o2g has: handing them over, and getting them back before anything
//! else may end them.
//!
//! The driver writes into a receive's memory whenever its message arrives. So a receive that the
//! driver has ends in one of three ways only: by the driver's records, by being taken back
//! ([`Handler::recall`]), or by closing the driver, which the engine does when it breaks down and
//! when it finalises. Everything here serves that rule.
//!
//! Receives are handed over in the order in which they were posted. One that cannot be (no slot, or
//! a message that may be its own has just arrived) waits, and all that come after it wait too: then
//! their messages come unmatched and meet the mirror (`protocol::mirror`), where the order is right
//! anyway.

use std::collections::VecDeque;

use oxmpi_matching::Pattern;
use oxmpi_net::transport::{self, Cancel, ENTRIES, Put, PutError};
use oxmpi_wire::{Envelope, Kind, Repr};

use super::area::Area;
use super::handler::Handler;
use super::remote::Remote;
use crate::path::{self, Taken};
use crate::protocol::{Protocol, RequestId};

/// How often a receive is offered again in the call that posts it: each time what has arrived is
/// looked at first, so that a second time is rare.
const OFFERS_MAX: usize = 8;

/// What the driver has, and what waits to be given to it.
pub(crate) struct Entries {
    /// By slot.
    held: Vec<Held>,
    waiting: VecDeque<Receive>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    No,
    /// The receive of that token, with its memory.
    Buffer(u64),
    /// The receive of that token; its message is to be copied by this process.
    Bare(u64),
}

/// A posted receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receive {
    pub id: RequestId,
    pub pattern: Pattern,
    pub buffer: Area,
    pub capacity: u64,
}

/// What became of an offer.
enum Offer {
    /// There is nothing to offer, or the driver has no room.
    Rest,
    /// It was taken, or is not needed any more: the next one.
    Next,
    /// Something has arrived that may be for it.
    Again,
}

impl Entries {
    pub fn new() -> Entries {
        Entries {
            held: vec![Held::No; ENTRIES as usize],
            waiting: VecDeque::new(),
        }
    }

    fn get(&self, id: RequestId) -> Held {
        match self.held.get(slot(id)) {
            Some(held @ (Held::Buffer(token) | Held::Bare(token))) if *token == id.token() => *held,
            _ => Held::No,
        }
    }

    fn set(&mut self, id: RequestId, held: Held) {
        self.held[slot(id)] = held;
    }

    /// Whether the driver has a receive without its memory: this process copies its message.
    pub fn is_bare(&self, id: RequestId) -> bool {
        matches!(self.get(id), Held::Bare(_))
    }

    pub fn release(&mut self, id: RequestId) {
        if self.get(id) != Held::No {
            self.set(id, Held::No);
        }
    }

    /// All that the driver has.
    fn ids(&self) -> Vec<RequestId> {
        let token = |held: &Held| match *held {
            Held::No => None,
            Held::Buffer(token) | Held::Bare(token) => Some(RequestId::from_token(token)),
        };
        self.held.iter().filter_map(token).collect()
    }
}

fn slot(id: RequestId) -> usize {
    id.token() as u32 as usize
}

impl Remote {
    fn offer_first(&mut self, protocol: &mut Protocol<Area>) -> Offer {
        let (Some(entries), Some(matcher)) = (&mut self.entries, self.net.matcher()) else {
            return Offer::Rest;
        };
        let Some(&receive) = entries.waiting.front() else {
            return Offer::Rest;
        };
        if !protocol.is_posted(receive.id) || protocol.is_stranded(receive.id) {
            entries.waiting.pop_front();
            return Offer::Next;
        }
        if slot(receive.id) >= entries.held.len() {
            return Offer::Rest;
        }
        let Receive {
            id,
            pattern,
            buffer,
            capacity,
        } = receive;
        let mut offered = transport::Receive {
            cookie: id.token(),
            context: pattern.context,
            source: pattern.source,
            tag: pattern.tag,
            buffer: (capacity > 0).then_some((buffer.at(0), capacity)),
        };
        // SAFETY: the receiving request's promise covers its buffer until it is over, and it does
        // not end while the driver has it: `held` is set, and who would end it asks `recall` first.
        let mut put = unsafe { matcher.put(&offered) };
        if matches!(put, Err(PutError::Memory { .. })) {
            // Less memory than the receive promises, or of a kind that the kernel does not write:
            // the message may be short, and this process copies it.
            offered.buffer = None;
            // SAFETY: there is no buffer.
            put = unsafe { matcher.put(&offered) };
        }
        match put {
            Ok(Put::Posted) => {
                entries.waiting.pop_front();
                let token = id.token();
                let held = match offered.buffer {
                    Some(_) => Held::Buffer(token),
                    None => Held::Bare(token),
                };
                entries.set(id, held);
                Offer::Next
            }
            Ok(Put::Again) => Offer::Again,
            Err(_) => Offer::Rest,
        }
    }

    /// Takes a receive back, because something else is to end it. False: the driver has a message
    /// for it, and its records will end it.
    #[cold]
    pub fn recall(&mut self, protocol: &mut Protocol<Area>, id: RequestId) -> bool {
        let (Some(entries), Some(matcher)) = (&mut self.entries, self.net.matcher()) else {
            return true;
        };
        if entries.get(id) == Held::No {
            return true;
        }
        match matcher.cancel(id.token()) {
            Cancel::Cancelled | Cancel::Unknown => {
                entries.release(id);
                true
            }
            Cancel::Again => {
                protocol.award(id);
                false
            }
        }
    }

    /// A message that did not come through the driver is about to be matched: the receive that it
    /// will take is nobody else's afterwards.
    #[cold]
    pub fn make_way(&mut self, protocol: &mut Protocol<Area>, envelope: &Envelope) {
        if self.entries.is_none() {
            return;
        }
        while let Some(id) = protocol.next_for(envelope) {
            if self.recall(protocol, id) {
                return;
            }
        }
    }

    pub(super) fn recall_for(
        &mut self,
        protocol: &mut Protocol<Area>,
        peer: u32,
        with_wildcards: bool,
    ) {
        let Some(entries) = &self.entries else {
            return;
        };
        for id in entries.ids() {
            let awarded = protocol.is_awarded(id);
            let concerned = match protocol.peer_of(id) {
                Some(other) if other == peer => true,
                Some(_) => with_wildcards && !awarded && protocol.is_concerned(id, peer),
                None => with_wildcards && protocol.is_concerned(id, peer) || awarded,
            };
            // An awarded receive that the driver knows no more was to get a message of this
            // process, which is incomplete for ever.
            if concerned && self.recall(protocol, id) && awarded {
                protocol.fail_awarded(id, peer);
            }
        }
    }
}

impl Handler {
    /// Whether a driver in the kernel has receives of this process.
    #[inline(always)]
    pub fn has_entries(&self) -> bool {
        let remote = self.ways.remote.as_ref();
        remote.is_some_and(|remote| remote.entries.is_some())
    }

    /// A receive was posted whose message may come through the driver.
    #[cold]
    pub fn hand_over(&mut self, receive: Receive) {
        if !self.protocol.is_posted(receive.id) || self.protocol.is_stranded(receive.id) {
            return;
        }
        let remote = self.ways.remote.as_mut();
        if let Some(entries) = remote.and_then(|remote| remote.entries.as_mut()) {
            entries.waiting.push_back(receive);
            self.offer_waiting();
        }
    }

    /// Whether receives wait to be handed over.
    #[inline(always)]
    pub(super) fn has_waiting(&self) -> bool {
        let remote = self.ways.remote.as_ref();
        let entries = remote.and_then(|remote| remote.entries.as_ref());
        entries.is_some_and(|entries| !entries.waiting.is_empty())
    }

    /// Hands over what waits, as far as the driver takes it.
    #[cold]
    pub(super) fn offer_waiting(&mut self) {
        let mut agains = 0;
        while agains < OFFERS_MAX && self.broken.is_none() {
            let Some(remote) = &mut self.ways.remote else {
                return;
            };
            match remote.offer_first(&mut self.protocol) {
                Offer::Rest => return,
                Offer::Next => {}
                Offer::Again => {
                    agains += 1;
                    self.waiters.news |= self.take_from_network(None);
                }
            }
        }
    }

    /// A thread waits for a receive, or a send, that needs a process which has finalised.
    #[cold]
    pub fn fail_stranded(&mut self, id: RequestId) {
        if self.recall(id) {
            self.protocol.fail_stranded(id);
        }
    }

    /// As [`Remote::recall`]; true where no driver has receives.
    pub fn recall(&mut self, id: RequestId) -> bool {
        match &mut self.ways.remote {
            Some(remote) => remote.recall(&mut self.protocol, id),
            None => true,
        }
    }

    /// Takes what the ports have, as [`path::take`] does, after [`Remote::make_way`] for it. The
    /// port is looked at only once: a second look may show another packet, which has come meanwhile
    /// and for which no way has been made.
    #[cold]
    pub(super) fn take_beside_driver(&mut self) -> Option<Taken> {
        let (protocol, ports) = (&mut self.protocol, &mut self.ways.ports);
        let Some(arrival) = ports.port.poll() else {
            return path::take_event(protocol, ports, &mut self.memory);
        };
        if let Ok(repr) = Repr::parse_prefix(arrival.prefix)
            && is_matched(&repr.kind)
            && let Some(remote) = &mut self.ways.remote
        {
            remote.make_way(protocol, &repr.envelope);
        }
        Some(path::take_shown(protocol, ports, &mut self.memory))
    }

    /// A process has died: what waits for it is over, and its memory is given back.
    #[cold]
    pub(super) fn peer_died(&mut self, peer: u32) {
        if let Some(remote) = &mut self.ways.remote {
            remote.recall_for(&mut self.protocol, peer, true);
        }
        self.protocol.peer_died(peer);
    }

    /// A process has finalised: the driver need not have receives from it any more, which stay
    /// posted.
    #[cold]
    pub(super) fn peer_finished(&mut self, peer: u32) {
        if let Some(remote) = &mut self.ways.remote {
            remote.recall_for(&mut self.protocol, peer, false);
        }
        self.protocol.peer_finished(peer);
    }

    /// The driver writes nothing any more: what it had is over, or is about to be.
    #[cold]
    pub fn close_driver(&mut self) {
        if let Some(remote) = &mut self.ways.remote {
            if let Some(matcher) = remote.net.matcher() {
                matcher.close();
            }
            remote.net.stop_placing();
            remote.entries = None;
        }
    }
}

/// Whether a packet of that kind takes a posted receive.
pub(super) fn is_matched(kind: &Kind) -> bool {
    matches!(kind, Kind::Eager | Kind::RequestToSend { .. })
}
