//! One simulated process: the real protocol, driven as the library's handler drives it.
//!
//! The calls of an application come in at the top (`send`, `receive`, …), packets at the bottom
//! (`arrive`), and whatever the protocol wants transmitted goes out through the fabric (`flush`):
//! all of them by the engine's own `path`, with the fabric as carrier and memory. Nothing is
//! decided here.

use std::sync::Arc;

use oxmpi_engine::path::{self, Carrier, Stopped, Taken};
use oxmpi_engine::protocol::{
    Claim, Failure, Limits, Mode, Outcome, Posted, Protocol, RequestId, Source,
};
use oxmpi_matching::Pattern;
use oxmpi_wire::Envelope;

use crate::fabric::{Area, Fabric};

/// A rank of the job.
pub struct Node {
    rank: u32,
    protocol: Protocol<Area>,
    /// No rank goes mad in this run: garbage is a finding.
    pub(crate) trusting: bool,
    /// A link was full: the rank must be run again although nothing arrives.
    pub(crate) retry: bool,
}

/// A send that the protocol has taken.
#[derive(Debug)]
pub enum Sent {
    /// It is over; the buffer is free.
    Over,
    /// It goes on.
    Pending(RequestId),
}

impl Node {
    /// Rank `rank` of `size`.
    pub fn new(rank: u32, size: u32, limits: Limits) -> Node {
        Node {
            rank,
            protocol: Protocol::new(rank, size, limits),
            trusting: true,
            retry: false,
        }
    }

    /// This rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// What is done in a context needs all of these processes.
    pub fn bind_members(&mut self, context: u64, members: Arc<[u32]>) {
        self.protocol.bind_members(context, members);
    }

    /// The protocol, to look at.
    pub fn protocol(&self) -> &Protocol<Area> {
        &self.protocol
    }

    /// Begins a send. `reach` says how the receiver may get at the bytes itself: (mapped,
    /// fetchable).
    pub fn send(
        &mut self,
        fabric: &mut Fabric,
        to: u32,
        envelope: Envelope,
        area: Area,
        mode: Mode,
        (mapped, fetchable): (bool, bool),
    ) -> Result<Sent, Failure> {
        let source = Source {
            buffer: area,
            address: area.address(),
            mapped,
            fetchable,
        };
        if to != self.rank
            && let Some(header) = self.protocol.eager_now(to, &envelope, mode)
        {
            let (mut facts, _) = fabric.facts(self.rank);
            let Ok(left) = path::send_now(&mut self.protocol, &mut facts, to, &header, area);
            self.retry |= facts.was_full;
            if left {
                return Ok(Sent::Over);
            }
        }
        let id = self.protocol.send(to, envelope, source, mode)?;
        self.flush(fabric)?;
        Ok(Sent::Pending(id))
    }

    /// Posts a receive.
    pub fn receive(
        &mut self,
        fabric: &mut Fabric,
        from: Option<u32>,
        pattern: Pattern,
        area: Area,
        capacity: u64,
    ) -> Result<RequestId, Failure> {
        let (id, posted) = self.protocol.post(from, pattern, area, capacity);
        self.settle(fabric, posted, area)?;
        Ok(id)
    }

    /// The oldest unexpected message that the pattern accepts.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Envelope> {
        self.protocol.probe(pattern)
    }

    /// Takes such a message out of the queue.
    pub fn claim(&mut self, pattern: &Pattern) -> Option<Claim> {
        self.protocol.claim(pattern)
    }

    /// Receives a claimed message.
    pub fn receive_claim(
        &mut self,
        fabric: &mut Fabric,
        claim: Claim,
        area: Area,
        capacity: u64,
    ) -> Result<RequestId, Failure> {
        let (id, posted) = self.protocol.receive_claim(claim, area, capacity);
        self.settle(fabric, posted, area)?;
        Ok(id)
    }

    /// Ends a claimed message that was used where it lies.
    pub fn finish_claim(&mut self, fabric: &mut Fabric, claim: Claim) -> Result<(), Failure> {
        self.protocol.finish_claim(claim);
        self.flush(fabric)
    }

    /// The outcome of a request that is over.
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        self.protocol.take(id)
    }

    /// Asks to end a request early.
    pub fn cancel(&mut self, fabric: &mut Fabric, id: RequestId) -> Result<(), Failure> {
        self.protocol.cancel(id);
        self.flush(fabric)
    }

    fn settle(
        &mut self,
        fabric: &mut Fabric,
        posted: Posted<Area>,
        area: Area,
    ) -> Result<(), Failure> {
        let (_, mut view) = fabric.facts(self.rank);
        path::settle_posted(&mut self.protocol, &mut view, posted, area);
        self.flush(fabric)
    }

    /// Takes the next packet from `from` off its link, if there is one.
    pub(crate) fn arrive(&mut self, fabric: &mut Fabric, from: u32) -> Result<bool, Failure> {
        let (mut facts, mut view) = fabric.facts(self.rank);
        if !facts.fetch_from(from) {
            return Ok(false);
        }
        while let Some(taken) = path::take(&mut self.protocol, &mut facts, &mut view) {
            if let Taken::Garbage(peer, failure) = taken {
                if self.trusting {
                    return Err(failure);
                }
                facts.expel(peer, "garbage");
                self.protocol.part_with(peer, failure);
            }
        }
        self.flush(fabric)?;
        Ok(true)
    }

    /// Sends what waits, as far as the links have room.
    pub(crate) fn flush(&mut self, fabric: &mut Fabric) -> Result<(), Failure> {
        if self.protocol.busy().is_empty() {
            return Ok(());
        }
        let (mut facts, mut view) = fabric.facts(self.rank);
        let flushed = path::flush(&mut self.protocol, &mut facts, &mut view, |_, _, _| {});
        self.retry |= facts.was_full;
        match flushed {
            Ok(_) => Ok(()),
            Err(Stopped::Own(failure)) => Err(failure),
        }
    }

    /// This rank learns that another one has died; what that one sent before still counts.
    pub(crate) fn notice_death(&mut self, fabric: &mut Fabric, dead: u32) -> Result<(), Failure> {
        while self.arrive(fabric, dead)? {}
        self.protocol.peer_died(dead);
        self.flush(fabric)
    }
}
