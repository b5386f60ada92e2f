//! One simulated process: the real protocol, driven as the library's handler drives it.
//!
//! The calls of an application come in at the top (`send`, `receive`, …), packets at the bottom (`arrive`), and
//! whatever the protocol wants transmitted goes out through the fabric (`flush`). Nothing is decided here.

use oxmpi_engine::protocol::{
    Claim, Effect, Failure, Fetch, Limits, Mode, Outcome, Posted, Protocol, RequestId, Source,
    Transmit,
};
use oxmpi_matching::Pattern;
use oxmpi_wire::{Envelope, PREFIX_BYTES, Repr};

use crate::fabric::{Area, Arena, Fabric, LinkFull};

/// A rank of the job.
pub struct Node {
    rank: u32,
    protocol: Protocol<Area>,
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
            retry: false,
        }
    }

    /// This rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The protocol, to look at.
    pub fn protocol(&self) -> &Protocol<Area> {
        &self.protocol
    }

    /// Begins a send. `reach` says how the receiver may get at the bytes itself: (mapped, fetchable).
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
            let mut prefix = [0; PREFIX_BYTES];
            header.emit_prefix(&mut prefix);
            let whole = |arena: &Arena| arena.read(area, 0, envelope.bytes as usize).to_vec();
            if self.leaves(fabric, to, prefix, whole) {
                self.protocol.sent_eager(to, &header);
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
        self.carry_out(fabric, posted, area)?;
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
        self.carry_out(fabric, posted, area)?;
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

    fn carry_out(
        &mut self,
        fabric: &mut Fabric,
        posted: Posted<Area>,
        area: Area,
    ) -> Result<(), Failure> {
        match posted {
            Posted::Waiting => {}
            Posted::Stashed { stash, bytes } => {
                fabric.arenas[self.rank as usize].write(area, 0, &stash[..bytes]);
                self.protocol.recycle(stash);
            }
            Posted::Fetch(fetch) => self.fetch(fabric, &fetch),
        }
        self.flush(fabric)
    }

    fn fetch(&mut self, fabric: &mut Fabric, wanted: &Fetch<Area>) {
        let bytes = wanted.bytes as usize;
        let done = bytes == 0
            || fabric.fetch(
                wanted.from,
                self.rank,
                wanted.address,
                wanted.mapped,
                bytes,
                wanted.buffer,
            );
        self.protocol.fetched(wanted, done);
    }

    /// Takes the next packet from `from` off its link, if there is one.
    pub(crate) fn arrive(&mut self, fabric: &mut Fabric, from: u32) -> Result<bool, Failure> {
        let Some(packet) = fabric.take(from, self.rank) else {
            return Ok(false);
        };
        self.handle(fabric, from, &packet.prefix, &packet.payload)?;
        self.flush(fabric)?;
        Ok(true)
    }

    fn handle(
        &mut self,
        fabric: &mut Fabric,
        from: u32,
        prefix: &[u8; PREFIX_BYTES],
        payload: &[u8],
    ) -> Result<(), Failure> {
        let repr = Repr::parse_prefix(prefix).expect("what a node emitted can be parsed");
        match self.protocol.handle(from, &repr, payload)? {
            Effect::None => {}
            Effect::Deliver {
                buffer,
                offset,
                bytes,
            } => {
                fabric.arenas[self.rank as usize].write(buffer, offset, &payload[..bytes]);
            }
            Effect::Fetch(fetch) => self.fetch(fabric, &fetch),
        }
        Ok(())
    }

    /// Sends what waits, as far as the links have room.
    pub(crate) fn flush(&mut self, fabric: &mut Fabric) -> Result<(), Failure> {
        if self.protocol.busy().is_empty() {
            return Ok(());
        }
        let mut at = 0;
        while let Some(&peer) = self.protocol.busy().get(at) {
            while let Some(transmit) = self.protocol.poll_transmit(peer) {
                if !self.transmit(fabric, &transmit)? {
                    break;
                }
            }
            at += 1;
        }
        self.protocol.settle();
        Ok(())
    }

    /// Sends one packet; false if the link is full.
    fn transmit(
        &mut self,
        fabric: &mut Fabric,
        transmit: &Transmit<Area>,
    ) -> Result<bool, Failure> {
        let mut prefix = [0; PREFIX_BYTES];
        transmit.repr.emit_prefix(&mut prefix);
        let piece = |arena: &Arena| {
            transmit.payload.map_or(Vec::new(), |piece| {
                arena.read(piece.buffer, piece.offset, piece.bytes).to_vec()
            })
        };
        if transmit.to == self.rank {
            let payload = piece(&fabric.arenas[self.rank as usize]);
            self.protocol.sent(transmit);
            self.handle(fabric, self.rank, &prefix, &payload)?;
            return Ok(true);
        }
        let left = self.leaves(fabric, transmit.to, prefix, piece);
        if left {
            self.protocol.sent(transmit);
        }
        Ok(left)
    }

    /// Puts a packet on its link; false if the link is full.
    fn leaves(
        &mut self,
        fabric: &mut Fabric,
        to: u32,
        prefix: [u8; PREFIX_BYTES],
        payload: impl FnOnce(&Arena) -> Vec<u8>,
    ) -> bool {
        let left = if fabric.is_alive(to) {
            fabric.send(self.rank, to, prefix, payload) != Err(LinkFull)
        } else {
            // The ring of a process that has just died swallows what it is given, or is full for ever; nobody knows yet.
            fabric.swallows()
        };
        self.retry |= !left;
        left
    }

    /// This rank learns that another one has died; what that one sent before still counts.
    pub(crate) fn notice_death(&mut self, fabric: &mut Fabric, dead: u32) -> Result<(), Failure> {
        while self.arrive(fabric, dead)? {}
        self.protocol.peer_died(dead);
        self.flush(fabric)
    }
}
