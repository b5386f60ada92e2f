//! What comes in: the handler's looks at its carriers, and what follows from what they bring.

use oxmpi_matching::Pattern;
use oxmpi_ports::Death;
use oxmpi_wire::{Eager, Envelope, HEADER_BYTES};

use super::area::Area;
use super::handler::Handler;
use crate::path::{self, Taken};
use crate::protocol::{Completion, Posted, RequestId};

/// Packets taken in one go before the caller looks whether its own business is done.
const BATCH_MAX: usize = 32;
/// Batches of events that are taken before a process counts as dead. 32 of each: the others'
/// messages must not keep the word of a death waiting for ever.
const DRAIN_ROUNDS_MAX: usize = 1024;

impl Handler {
    /// As [`Handler::advance`], for callers that are not the waiting loop: what they took in may be
    /// what a thread that waits, or its background work, awaits.
    #[inline(always)]
    pub fn progress(&mut self, watched: Option<RequestId>) -> bool {
        let happened = self.advance(watched);
        self.waiters.news |= happened;
        happened
    }

    /// Whether something has happened since the waiting loop looked last, by its own hand or by
    /// others'.
    #[inline(always)]
    pub fn has_advanced(&mut self, watched: Option<RequestId>) -> bool {
        let happened = self.advance(watched);
        let news = std::mem::take(&mut self.waiters.news);
        if news && self.waiters.has_listeners() {
            self.tell_others(true);
        }
        happened | news
    }

    /// Takes what has arrived and sends what is due. True if anything happened. Stops early when
    /// `watched` is over.
    #[inline(always)]
    fn advance(&mut self, watched: Option<RequestId>) -> bool {
        if self.broken.is_some() {
            // Who waited has been told that it failed, and has its memory back.
            return false;
        }
        let mut happened = false;
        for _ in 0..BATCH_MAX {
            if !self.take_from_ports() {
                break;
            }
            happened = true;
            if watched.is_some_and(|id| self.protocol.is_complete(id)) {
                break;
            }
        }
        if let Some(remote) = &mut self.ways.remote {
            if remote.departures != self.ways.ports.port.segment().departures() {
                self.notice_remote_departures();
            }
            happened |= self.take_from_network(watched);
            if self.has_waiting() {
                self.offer_waiting();
            }
        }
        if !self.protocol.busy().is_empty() {
            happened |= self.flush();
        }
        if happened && self.waiters.has_listeners() {
            self.tell_others(true);
        }
        happened
    }

    /// Takes one packet of a process of this host, if there is one.
    #[inline(always)]
    fn take_from_ports(&mut self) -> bool {
        let taken = match self.has_entries() {
            true => self.take_beside_driver(),
            false => path::take(&mut self.protocol, &mut self.ways.ports, &mut self.memory),
        };
        match taken {
            None => false,
            Some(Taken::Packet) => true,
            Some(taken) => self.part(taken),
        }
    }

    /// Takes what has arrived from other hosts. True if anything has.
    pub(super) fn take_from_network(&mut self, watched: Option<RequestId>) -> bool {
        let mut happened = false;
        for _ in 0..BATCH_MAX {
            let had_unexpected = self.protocol.has_unexpected();
            let Some(remote) = self.ways.remote.as_deref_mut() else {
                break;
            };
            match path::take(&mut self.protocol, remote, &mut self.memory) {
                None => break,
                Some(Taken::Packet) => {}
                Some(taken) => {
                    self.part(taken);
                }
            }
            happened = true;
            let is_over = watched.is_some_and(|id| self.protocol.is_complete(id));
            if is_over || self.broken.is_some() {
                break;
            }
            // Probably a request to background work. It is answered before the network is asked for
            // more, which is a system call.
            if !had_unexpected && self.protocol.has_unexpected() && self.has_background() {
                break;
            }
        }
        happened
    }

    /// Passes the launcher's word of ranks that have ended to the network, for processes that are
    /// reached by it. The network then reports each of them as lost or finished, also those that
    /// this process never talked to.
    #[cold]
    #[inline(never)]
    fn notice_remote_departures(&mut self) {
        let departures = self.segment().departures();
        let gone: Vec<(u32, Option<Death>)> = self
            .places()
            .others()
            .filter(|peer| !self.protocol.is_gone(*peer))
            .filter_map(|peer| match self.segment().death_of(peer) {
                None if !self.segment().has_finished(peer) => None,
                death => Some((peer, death)),
            })
            .collect();
        if !gone.is_empty() {
            // What they have sent and the network has delivered still counts.
            for _ in 0..DRAIN_ROUNDS_MAX {
                if self.broken.is_some() || !self.take_from_network(None) {
                    break;
                }
            }
        }
        if let Some(remote) = &mut self.ways.remote {
            remote.departures = departures;
            for (peer, death) in gone {
                match death {
                    Some(death) => remote.net.handle_death(peer, format!("it {death}")),
                    None => remote.net.handle_finish(peer),
                }
            }
        }
    }

    /// A process has left, or must be parted with. True: something happened.
    #[cold]
    #[inline(never)]
    fn part(&mut self, taken: Taken) -> bool {
        match taken {
            Taken::Packet => {}
            Taken::Garbage(from, failure) => self.part_with(from, failure),
            Taken::Finished(peer) => self.peer_finished(peer),
            Taken::Lost(peer) => self.peer_died(peer),
        }
        true
    }

    /// Takes the next message from `from` without posting the receive, while nothing else is
    /// queued. `None`: it is not there, or needs the general way.
    #[inline(always)]
    pub fn receive_directly(
        &mut self,
        from: u32,
        port: u32,
        pattern: &Pattern,
        buffer: Area,
        capacity: u64,
    ) -> Option<Completion> {
        let arrival = self.ways.ports.port.poll_from(port)?;
        let header = Eager::parse_prefix(arrival.prefix)?;
        let payload = match arrival.outside {
            Some(payload) => payload,
            None => arrival
                .prefix
                .get(HEADER_BYTES..HEADER_BYTES + arrival.bytes)?,
        };
        let Envelope {
            source,
            tag,
            content,
            ..
        } = header.envelope;
        let (bytes, signature) = (content.bytes(), content.signature());
        if bytes > capacity
            || !self
                .protocol
                .take_directly(from, &header, payload.len(), pattern)
        {
            return None;
        }
        buffer.write(0, payload);
        self.ways.ports.port.consume();
        Some(Completion {
            source,
            tag,
            bytes,
            cancelled: false,
            signature,
        })
    }

    /// A posted receive gets what it found.
    #[inline(always)]
    pub fn settle_posted(&mut self, posted: Posted<Area>, buffer: Area) {
        path::settle_posted(&mut self.protocol, &mut self.memory, posted, buffer);
        // An answer may be due (clear to send, done, credit).
        if !self.protocol.busy().is_empty() {
            self.flush();
        }
    }
}
