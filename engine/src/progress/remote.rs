//! The handler's part for processes of other hosts: packets from the device to the protocol and back.
//!
//! A packet's head is matched as soon as it has been read, and the device then reads the payload straight into the receive's buffer. Nothing that comes
//! from another host may name memory of this one: offers to fetch are refused here.

use oxmpi_net::choice::Choice;
use oxmpi_net::transport::{Event, Sent, Transport};
use oxmpi_ports::Death;
use oxmpi_wire::{Eager, Kind, PREFIX_BYTES, Repr};

use super::area::Area;
use super::handler::{BATCH_MAX, Handler};
use crate::error::Fault;
use crate::protocol::{Arrived, Effect, Failure, Landing, RequestId, Stream, Transmit};

/// No process has room for a longer message that it did not ask for.
const EAGER_BYTES_MAX: u64 = 8 << 20;

/// Batches of events that are taken before a process counts as dead. 32 of each: the others' messages must not keep the
/// word of a death waiting for ever.
const DRAIN_ROUNDS_MAX: usize = 1024;

/// Ways to one process: frames for what is short, another for bulk.
const RAILS_MAX: usize = 2;

/// What reaches other hosts.
pub(crate) struct Remote {
    pub net: Transport,
    /// Which it is, and why.
    pub choice: Choice,
    /// A packet to each process that has left in part.
    partial: Vec<Option<Transmit<Area>>>,
    /// What the packet that is arriving from each process, on each rail, belongs to.
    streams: Vec<[Option<Stream>; RAILS_MAX]>,
}

impl Remote {
    pub fn new(net: Transport, choice: Choice, size: u32) -> Remote {
        Remote {
            net,
            choice,
            partial: vec![None; size as usize],
            streams: vec![[None; RAILS_MAX]; size as usize],
        }
    }
}

impl Handler {
    /// Takes what has arrived from other hosts. True if anything has.
    #[inline(always)]
    pub(super) fn progress_remote(&mut self, watched: Option<RequestId>) -> bool {
        let happened = self.take_remote_events(watched);
        if self.has_waiting() {
            self.offer_waiting();
        }
        happened
    }

    /// As [`Handler::progress_remote`], and nothing is handed over.
    pub(super) fn take_remote_events(&mut self, watched: Option<RequestId>) -> bool {
        let mut happened = false;
        for _ in 0..BATCH_MAX {
            let Some(event) = self.remote.as_mut().and_then(|remote| remote.net.poll()) else {
                break;
            };
            happened = true;
            match event {
                Event::Packet {
                    from,
                    prefix,
                    payload,
                } => self.take_remote_packet(from, &prefix, payload),
                Event::Payload { from } => self.take_remote_payload(from),
                Event::Matched {
                    from,
                    prefix,
                    payload,
                } => self.take_matched_packet(from, &prefix, payload),
                Event::Released { token } => {
                    self.protocol.released(RequestId::from_token(token - 1));
                }
                Event::Finished(peer) => {
                    self.forget_partial(peer);
                    self.peer_finished(peer);
                }
                Event::Lost(peer) => {
                    self.forget_partial(peer);
                    self.peer_died(peer);
                }
            }
            if watched.is_some_and(|id| self.protocol.is_complete(id)) || self.broken.is_some() {
                break;
            }
        }
        happened
    }

    /// Passes the launcher's word of deaths to the network, for processes that are reached by it. The network then reports
    /// each of them as lost, also those that this process never talked to.
    #[cold]
    pub(super) fn notice_remote_deaths(&mut self) {
        if self.remote.is_none() {
            return;
        }
        let others: Vec<u32> = self.places.others().collect();
        let dead: Vec<(u32, Death)> = others
            .into_iter()
            .filter(|peer| !self.protocol.is_gone(*peer))
            .filter_map(|peer| Some((peer, self.segment().death_of(peer)?)))
            .collect();
        if dead.is_empty() {
            return;
        }
        // What the dead have sent and the network has delivered still counts.
        for _ in 0..DRAIN_ROUNDS_MAX {
            if self.broken.is_some() || !self.take_remote_events(None) {
                break;
            }
        }
        if let Some(remote) = &mut self.remote {
            for (peer, death) in dead {
                remote.net.handle_death(peer, format!("it {death}"));
            }
        }
        self.take_remote_events(None);
    }

    #[inline(always)]
    fn take_remote_packet(&mut self, from: u32, prefix: &[u8; PREFIX_BYTES], payload: usize) {
        let Some(remote) = &mut self.remote else {
            return;
        };
        let piece = remote.net.at_hand();
        if let Some(header) = Eager::parse_prefix(prefix)
            && piece.len() == payload
            && header.envelope.bytes == payload as u64
        {
            match self.protocol.handle_eager(from, &header, piece) {
                Arrived::Deliver(buffer, bytes) => {
                    buffer.write(0, &piece[..bytes]);
                    return remote.net.pass(payload);
                }
                Arrived::Kept => return remote.net.pass(payload),
                // The general way finds out why.
                Arrived::Refused => {}
            }
        }
        self.take_other_remote_packet(from, prefix, payload);
    }

    #[inline(never)]
    fn take_other_remote_packet(&mut self, from: u32, prefix: &[u8; PREFIX_BYTES], payload: usize) {
        let Some(repr) = self.parse_remote(from, prefix, payload) else {
            return;
        };
        let Some(remote) = &mut self.remote else {
            return;
        };
        let piece = remote.net.at_hand();
        let bytes_at_hand = piece.len();
        let effect = self.protocol.handle(from, &repr, piece);
        if let Ok(Effect::Deliver {
            buffer,
            offset,
            bytes,
        }) = &effect
        {
            buffer.write(*offset, &piece[..*bytes]);
        }
        remote.net.pass(bytes_at_hand);
        self.carry_out_effect(from, effect);
    }

    /// What is left to do about a packet whose payload has been delivered.
    pub(super) fn carry_out_effect(&mut self, from: u32, effect: Result<Effect<Area>, Failure>) {
        match effect {
            Ok(Effect::None | Effect::Deliver { .. }) => {}
            Ok(Effect::Fetch(fetch)) => self.fetch(&fetch),
            Err(failure) => self.fail(from, failure),
        }
    }

    /// A packet's head, if another host may send such a packet; the engine breaks down if not. Payload that follows belongs to it.
    pub(super) fn parse_remote(
        &mut self,
        from: u32,
        prefix: &[u8; PREFIX_BYTES],
        payload: usize,
    ) -> Option<Repr> {
        let repr = match Repr::parse_prefix(prefix) {
            Ok(repr) => repr,
            Err(error) => {
                self.break_down(from, error.to_string());
                return None;
            }
        };
        let stream = Stream::of(&repr.kind);
        let bytes = repr.envelope.bytes;
        let wrong = match repr.kind {
            _ if payload > 0 && stream.is_none() => Some(format!("{} with a payload", repr.kind)),
            Kind::RequestToSend {
                mapped, fetchable, ..
            } if mapped || fetchable => Some("an offer of memory on another host".into()),
            Kind::Eager if bytes > EAGER_BYTES_MAX => {
                Some(format!("an eager message of {bytes} bytes"))
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.break_down(from, wrong);
            return None;
        }
        let remote = self.remote.as_mut()?;
        let rail = remote.net.rail();
        remote.streams[from as usize][rail] = stream;
        Some(repr)
    }

    /// More of a packet's payload: at hand, or to be read to where it belongs.
    #[inline(never)]
    fn take_remote_payload(&mut self, from: u32) {
        let Some(remote) = &mut self.remote else {
            return;
        };
        let Some(stream) = remote.streams[from as usize][remote.net.rail()] else {
            return self.break_down(from, "a payload of no packet".into());
        };
        let landing = self.protocol.landing(from, stream);
        if let Landing::Buffer {
            buffer,
            offset,
            room,
        } = landing
            && room > 0
            && remote.net.reads_directly()
        {
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let write = |at, piece: &[u8]| buffer.write(offset + at, piece);
            // SAFETY: the receiving request's promise covers its buffer up to its capacity.
            let bytes = unsafe { remote.net.read_into(buffer.at(offset), room, write) };
            let landed = self.protocol.landed(from, stream, bytes as u64);
            return landed.unwrap_or_else(|failure| self.fail(from, failure));
        }
        if remote.net.at_hand().is_empty() {
            remote.net.read_at_hand();
        }
        let piece = remote.net.at_hand();
        let bytes = piece.len();
        let landed = match landing {
            Landing::Buffer {
                buffer,
                offset,
                room,
            } => {
                buffer.write(offset, &piece[..bytes.min(room as usize)]);
                self.protocol.landed(from, stream, bytes as u64)
            }
            Landing::Kept => self.protocol.keep(from, piece),
            Landing::Nowhere => Ok(()),
        };
        remote.net.pass(bytes);
        if let Err(failure) = landed {
            self.fail(from, failure);
        }
    }

    /// Sends a message that can leave at once; false if it cannot.
    #[inline(never)]
    pub(super) fn send_eager_remote(&mut self, to: u32, header: &Eager, buffer: Area) -> bool {
        let Some(remote) = &mut self.remote else {
            return false;
        };
        let mut prefix = [0; PREFIX_BYTES];
        let used = header.emit_prefix(&mut prefix);
        let bytes = header.envelope.bytes as usize;
        // SAFETY: the sending request's promise covers the message, and what does not leave at once is copied.
        let sent = unsafe {
            let payload = buffer.at(0).cast_const();
            remote.net.send(to, &prefix[..used], payload, bytes, None)
        };
        if sent == Sent::Left {
            self.protocol.sent_eager(to, header);
        }
        sent == Sent::Left
    }

    /// Sends one packet of a request; false if it has to wait, or has left in part.
    pub(super) fn transmit_remote(&mut self, transmit: &Transmit<Area>) -> bool {
        let Some(remote) = &mut self.remote else {
            return false;
        };
        let mut prefix = [0; PREFIX_BYTES];
        let used = transmit.repr.emit_prefix(&mut prefix);
        let (payload, bytes) = match transmit.payload {
            Some(payload) => (
                payload.buffer.at(payload.offset).cast_const(),
                payload.bytes,
            ),
            None => (std::ptr::null(), 0),
        };
        // 0 is no token, and the first request's would be.
        let token = transmit.ends().map_or(0, |id| id.token() + 1);
        let lasting = remote.net.holds(transmit.repr.envelope.bytes);
        let lasting = lasting.then_some(token);
        let head = &prefix[..used];
        // SAFETY: the request's promise covers the piece until the request is over, and it is not over before the packet has left and its memory is let go;
        // when its peer is lost or finished, the device has dropped what it had for it before the request fails.
        let sent = unsafe {
            let net = &mut remote.net;
            net.send(transmit.to, head, payload, bytes, lasting)
        };
        match sent {
            Sent::Left => self.protocol.sent(transmit),
            Sent::Partly => remote.partial[transmit.to as usize] = Some(*transmit),
            Sent::Held => self.protocol.held(transmit),
            Sent::Later => {}
        }
        matches!(sent, Sent::Left | Sent::Held)
    }

    /// Goes on with a packet that has left in part. True if there is none any more.
    pub(super) fn finish_partial(&mut self, peer: u32) -> bool {
        let Some(remote) = &mut self.remote else {
            return true;
        };
        let Some(partial) = remote.partial[peer as usize] else {
            return true;
        };
        let left = remote.net.resume(peer);
        if left {
            remote.partial[peer as usize] = None;
            self.protocol.sent(&partial);
            self.news = true;
        }
        left
    }

    fn forget_partial(&mut self, peer: u32) {
        if let Some(remote) = &mut self.remote {
            remote.partial[peer as usize] = None;
            remote.streams[peer as usize] = [None; RAILS_MAX];
        }
    }

    /// Bytes wait that have not been offered to the kernel.
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        let remote = self.remote.as_ref();
        remote.is_some_and(|remote| remote.net.has_unsent())
    }

    /// Whether the driver must be about although nothing is pending and nothing waits.
    #[inline(always)]
    pub fn needs_company(&self) -> bool {
        let remote = self.remote.as_ref();
        remote.is_some_and(|remote| remote.net.has_unsent() || remote.net.needs_company())
    }

    /// Lets go what waits for messages that may follow.
    #[cold]
    pub fn release(&mut self) {
        if let Some(remote) = &mut self.remote {
            remote.net.flush_unsent();
        }
    }

    /// Everything that was sent is out of this process's hands.
    pub fn is_flushed(&self) -> bool {
        let remote = self.remote.as_ref();
        self.protocol.busy().is_empty() && remote.is_none_or(|remote| remote.net.is_flushed())
    }

    /// Why nothing more can come from a process of another host.
    #[cold]
    pub(super) fn explain_remote(&mut self, peer: u32) -> Fault {
        let rank = self.rank;
        let unknown = || "unknown".to_string();
        let Some(remote) = &mut self.remote else {
            return Fault::UnknownRequest { rank };
        };
        let death = self.port.segment().death_of(peer);
        let fault = match remote.net.trouble(peer) {
            Some(trouble) if death.is_none() => Fault::Unreachable {
                rank,
                peer,
                host: trouble.host.clone(),
                reason: trouble.what.clone(),
            },
            _ => Fault::PeerDied {
                rank,
                peer,
                host: remote.net.host_of(peer).unwrap_or_else(unknown),
                death,
            },
        };
        if !matches!(fault, Fault::PeerDied { death: None, .. }) {
            self.note_loss();
        }
        fault
    }
}
