//! The port as a carrier: processes of this host, through memory that all of them map.

use std::collections::VecDeque;

use oxmpi_ports::{Arrival, Port, PortError, PortState, SegmentError};
use oxmpi_wire::{Eager, HEADER_BYTES, More, PREFIX_BYTES};

use super::area::Area;
use super::places::Places;
use crate::path::{Carrier, Event, Outgoing, Packet, Sent};
use crate::protocol::Transmit;

/// Looks for the next packet of a message of which one has just come: less than a microsecond, in
/// which a sender that runs copies some 16 KiB.
const FOLLOW_LOOKS: u32 = 256;

/// This process's port, and who is in the others.
pub(crate) struct Ports {
    pub port: Port,
    pub places: Places,
    /// The segment's count of departures, up to which all have been told.
    departures: u32,
    /// Processes that have left, until all that they sent has been taken and they have been told.
    departed: VecDeque<(u32, Departure)>,
    /// The segment's count when those were found.
    counted: u32,
    /// What is known already, by port.
    known: Vec<Option<Departure>>,
}

/// How a process left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Departure {
    Finished,
    Dead,
}

impl Ports {
    pub fn new(port: Port, places: Places) -> Ports {
        let ports = port.segment().ports() as usize;
        Ports {
            port,
            places,
            departures: 0,
            departed: VecDeque::new(),
            counted: 0,
            known: vec![None; ports],
        }
    }

    /// The next process that has left, when nothing lies in the rings. What it sent before it left
    /// still counts: processes that are found here are told only after the rings were found empty
    /// again.
    #[cold]
    #[inline(never)]
    fn next_departed(&mut self) -> Option<Event> {
        if self.departed.is_empty() {
            let counted = self.port.segment().departures();
            self.look_for_departed();
            if self.departed.is_empty() {
                self.departures = counted;
                return None;
            }
            self.counted = counted;
            if self.port.poll().is_some() {
                return None;
            }
        }
        let (peer, departure) = self.departed.pop_front()?;
        if self.departed.is_empty() {
            self.departures = self.counted;
        }
        Some(match departure {
            Departure::Finished => Event::Finished(peer),
            Departure::Dead => Event::Lost(peer),
        })
    }

    fn look_for_departed(&mut self) {
        let segment = self.port.segment();
        for port in (0..segment.ports()).filter(|&port| port != self.port.index()) {
            let departure = match segment.state(port) {
                PortState::Finished => Departure::Finished,
                PortState::Dead(_) => Departure::Dead,
                _ => continue,
            };
            let peer = self.places.process(port);
            // A process that is reached by a connection is told gone by it, after everything that
            // came before.
            if self.places.port(peer).is_some() && self.known[port as usize] != Some(departure) {
                self.known[port as usize] = Some(departure);
                self.departed.push_back((peer, departure));
            }
        }
    }
}

impl Outgoing<Area> for Ports {
    type Error = SegmentError;

    #[inline(always)]
    fn send_now(&mut self, to: u32, header: &Eager, buffer: Area) -> Result<Sent, SegmentError> {
        match self.places.port(to) {
            Some(port) => self.send_now_to(port, header, buffer),
            None => Ok(Sent::Later),
        }
    }

    #[inline(always)]
    fn send(&mut self, transmit: &Transmit<Area>) -> Result<Sent, SegmentError> {
        match self.places.port(transmit.to) {
            Some(port) => self.send_to(port, transmit),
            None => Ok(Sent::Later),
        }
    }
}

impl Ports {
    /// As [`Outgoing::send_now`], for a caller that has looked up the port.
    #[inline(always)]
    pub fn send_now_to(
        &mut self,
        port: u32,
        header: &Eager,
        buffer: Area,
    ) -> Result<Sent, SegmentError> {
        let emit = |out: &mut [u8; PREFIX_BYTES]| {
            header.emit_prefix(out);
        };
        let bytes = header.envelope.bytes() as usize;
        let fill = |out: &mut [u8]| buffer.read_into_shared(0, out);
        sent(self.port.send(port, HEADER_BYTES, emit, bytes, fill))
    }

    /// Sends an eager message in several packets, the first of which has that header. How many they
    /// were; none, and nothing has happened, if there is no room for all of them.
    #[inline(always)]
    pub fn send_pieces_to(
        &mut self,
        port: u32,
        header: &Eager,
        piece_bytes: usize,
        buffer: Area,
    ) -> Result<Option<u32>, SegmentError> {
        let bytes = header.envelope.bytes() as usize;
        let packets = bytes.div_ceil(piece_bytes);
        if !self
            .port
            .has_room(port, packets as u64, piece_bytes, bytes as u64)
        {
            return Ok(None);
        }
        let fill = |out: &mut [u8]| buffer.read_into_shared(0, out);
        let emit = |out: &mut [u8; PREFIX_BYTES]| {
            header.emit_prefix(out);
        };
        let left = sent(self.port.send(port, HEADER_BYTES, emit, piece_bytes, fill))?;
        assert_eq!(left, Sent::Left, "there was room");
        let mut more = More {
            head: Eager {
                credit: 0,
                ..*header
            },
            offset: piece_bytes as u64,
        };
        while more.offset < bytes as u64 {
            more.head.sequence = more.head.sequence.wrapping_add(1);
            let emit = |out: &mut [u8; PREFIX_BYTES]| {
                more.emit_prefix(out);
            };
            let piece = piece_bytes.min(bytes - more.offset as usize);
            let fill = |out: &mut [u8]| buffer.read_into_shared(more.offset, out);
            let used = More::BYTES_ON_WIRE;
            let left = sent(self.port.send(port, used, emit, piece, fill))?;
            assert_eq!(left, Sent::Left, "there was room");
            more.offset += piece as u64;
        }
        Ok(Some(packets as u32))
    }

    /// As [`Outgoing::send`], for a caller that has looked up the port.
    #[inline(always)]
    pub fn send_to(&mut self, port: u32, transmit: &Transmit<Area>) -> Result<Sent, SegmentError> {
        let emit = |out: &mut [u8; PREFIX_BYTES]| {
            transmit.repr.emit_prefix(out);
        };
        let bytes = transmit.payload.map_or(0, |payload| payload.bytes);
        let fill = |out: &mut [u8]| {
            if let Some(payload) = transmit.payload {
                payload.buffer.read_into_shared(payload.offset, out);
            }
        };
        let used = transmit.repr.bytes_on_wire();
        sent(self.port.send(port, used, emit, bytes, fill))
    }
}

#[inline(always)]
fn packet<'p>(places: &Places, arrival: Arrival<'p>) -> Packet<'p> {
    let Arrival {
        from,
        prefix,
        bytes,
        outside,
    } = arrival;
    Packet {
        from: places.process(from),
        prefix,
        bytes,
        outside,
        matched: None,
    }
}

#[inline(always)]
fn sent(sent: Result<(), PortError>) -> Result<Sent, SegmentError> {
    match sent {
        Ok(()) => Ok(Sent::Left),
        Err(PortError::Full) => Ok(Sent::Later),
        Err(PortError::Segment(error)) => Err(error),
    }
}

impl Carrier<Area> for Ports {
    const SHARES_MEMORY: bool = true;

    #[inline(always)]
    fn arrival(&mut self) -> Option<Packet<'_>> {
        let arrival = self.port.poll()?;
        Some(packet(&self.places, arrival))
    }

    #[inline(always)]
    fn event(&mut self) -> Option<Event> {
        if self.port.segment().departures() == self.departures {
            return None;
        }
        self.next_departed()
    }

    #[inline(always)]
    fn current(&self) -> Option<Packet<'_>> {
        let arrival = self.port.current()?;
        Some(packet(&self.places, arrival))
    }

    #[inline(always)]
    fn follows(&mut self, from: u32) -> bool {
        let Some(port) = self.places.port(from) else {
            return false;
        };
        (0..FOLLOW_LOOKS).any(|_| self.port.poll_from(port).is_some())
    }

    #[inline(always)]
    fn pass(&mut self, _bytes: usize) {
        self.port.consume();
    }

    fn expel(&mut self, peer: u32, _reason: &str) {
        if let Some(port) = self.places.port(peer) {
            self.port.shut(port);
        }
    }

    fn prepare_sleep(&mut self) -> bool {
        if !self.port.prepare_sleep() {
            return false;
        }
        // Ordered after the announcement, as the look at the rings is: a process that departs
        // counts first and rings afterwards.
        if self.port.segment().departures() != self.departures {
            self.port.bell().announce_awake();
            return false;
        }
        true
    }
}
