//! What goes out: which carrier reaches a process, and sending what is due.

use oxmpi_ports::SegmentError;
use oxmpi_wire::{Eager, Envelope};

use super::area::Area;
use super::entries::is_matched;
use super::handler::Handler;
use super::ports::Ports;
use super::remote::Remote;
use crate::path::{self, Carrier, Outgoing, Resumed, Sent, Stopped};
use crate::protocol::{Mode, Transmit};

/// The carriers of a process: each other process is reached by one of them.
pub(crate) struct Ways {
    /// Processes of this host.
    pub ports: Ports,
    /// All others.
    pub remote: Option<Box<Remote>>,
}

impl Ways {
    /// Makes it safe to sleep: messages and departures will ring the doorbell. False if there is
    /// something to do first.
    pub fn prepare_sleep(&mut self) -> bool {
        if !self.ports.prepare_sleep() {
            return false;
        }
        let remote = self.remote.as_mut();
        if remote.is_some_and(|remote| !remote.prepare_sleep()) {
            self.ports.port.bell().announce_awake();
            return false;
        }
        true
    }
}

impl Outgoing<Area> for Ways {
    type Error = SegmentError;

    #[inline(always)]
    fn send_now(&mut self, to: u32, header: &Eager, buffer: Area) -> Result<Sent, SegmentError> {
        if let Some(port) = self.ports.places.port(to) {
            return self.ports.send_now_to(port, header, buffer);
        }
        match &mut self.remote {
            Some(remote) => remote.send_now(to, header, buffer),
            None => Ok(Sent::Later),
        }
    }

    #[inline(always)]
    fn send(&mut self, transmit: &Transmit<Area>) -> Result<Sent, SegmentError> {
        if let Some(port) = self.ports.places.port(transmit.to) {
            return self.ports.send_to(port, transmit);
        }
        match &mut self.remote {
            Some(remote) => remote.send(transmit),
            None => Ok(Sent::Later),
        }
    }

    #[inline(always)]
    fn resume(&mut self, to: u32) -> Resumed<Area> {
        match &mut self.remote {
            Some(remote) => remote.resume(to),
            None => Resumed::Nothing,
        }
    }
}

impl Handler {
    /// Sends a message that can leave at once; false if its carrier has no room.
    #[inline(always)]
    pub fn send_now(
        &mut self,
        to: u32,
        header: &Eager,
        buffer: Area,
    ) -> Result<bool, SegmentError> {
        path::send_now(&mut self.protocol, &mut self.ways, to, header, buffer)
    }

    /// Sends an eager message that is too long for one packet, if it can leave at once; false, and
    /// nothing has happened, if not.
    #[inline(never)]
    pub fn send_pieces(&mut self, to: u32, envelope: &Envelope, mode: Mode, buffer: Area) -> bool {
        let ports = &mut self.ways.ports;
        let Some(port) = ports.places.port(to) else {
            return false;
        };
        let Some((header, piece)) = self.protocol.pieces_now(to, envelope, mode) else {
            return false;
        };
        // What goes wrong here goes wrong again in the general way, which tells.
        let Ok(Some(packets)) = ports.send_pieces_to(port, &header, piece, buffer) else {
            return false;
        };
        self.protocol.sent_pieces(to, &header, packets);
        true
    }

    /// Takes a message of this process to itself if that can be done at once; false, and nothing
    /// has happened, if not.
    #[inline(never)]
    pub fn send_to_self(&mut self, header: &Eager, buffer: Area) -> bool {
        // The kernel's driver would have to give up the receive first.
        let is_taken = !self.has_entries()
            && path::send_to_self(&mut self.protocol, &mut self.memory, header, buffer);
        self.waiters.news |= is_taken;
        if is_taken && !self.protocol.busy().is_empty() {
            // Credit that this process owes itself.
            self.flush();
        }
        is_taken
    }

    /// Sends what waits, as far as carriers have room. True if anything left.
    #[inline(never)]
    pub fn flush(&mut self) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let flushed = path::flush(
            &mut self.protocol,
            &mut self.ways,
            &mut self.memory,
            |protocol, ways, repr| {
                if let Some(remote) = &mut ways.remote
                    && is_matched(&repr.kind)
                {
                    remote.make_way(protocol, &repr.envelope);
                }
            },
        );
        let left = match flushed {
            Ok(left) => left,
            Err(Stopped::Carrier(error)) => {
                self.break_for_memory(&error);
                true
            }
            Err(Stopped::Own(failure)) => {
                self.part_with(self.rank, failure);
                true
            }
        };
        self.waiters.news |= left;
        left
    }

    /// Bytes wait that have not been offered to the kernel.
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        let remote = self.ways.remote.as_ref();
        remote.is_some_and(|remote| remote.net.has_unsent())
    }

    /// Whether the driver must be about although nothing is pending and nothing waits.
    #[inline(always)]
    pub fn needs_company(&self) -> bool {
        let remote = self.ways.remote.as_ref();
        remote.is_some_and(|remote| remote.net.has_unsent() || remote.net.needs_company())
    }

    /// Lets go what waits for messages that may follow.
    #[cold]
    pub fn release(&mut self) {
        if let Some(remote) = &mut self.ways.remote {
            remote.net.flush_unsent();
        }
    }

    /// Everything that was sent is out of this process's hands.
    pub fn is_flushed(&self) -> bool {
        let remote = self.ways.remote.as_ref();
        self.protocol.busy().is_empty() && remote.is_none_or(|remote| remote.net.is_flushed())
    }
}
