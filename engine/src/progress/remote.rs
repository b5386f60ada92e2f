//! The network as a carrier: processes of other hosts, and of this one where they are kept apart.
//!
//! A packet's head is matched as soon as it has been read, and the network then reads the payload
//! straight into the receive's buffer. Where a driver in the kernel reads the connections,
//! `entries` knows which receives it has, and says of its records which receive their message has
//! met.
//!
//! Where there are two rails, messages of one process may overtake each other, and `rails` puts
//! them in order before anybody sees them.

use oxmpi_net::Card;
use oxmpi_net::choice::Choice;
use oxmpi_net::transport::{self, IntroduceError, Transport};
use oxmpi_ports::Death;
use oxmpi_wire::{Eager, PREFIX_BYTES, Packet as Header, code};

use super::area::Area;
use super::entries::Entries;
use super::rails::{Course, Order};
use crate::error::Fault;
use crate::path::{Carrier, Event, Matched, Outgoing, Packet, Resumed, Sent};
use crate::protocol::{RequestId, Stream, Transmit};

/// Ways to one process: frames for what is short, datagrams and a connection for bulk.
const RAILS_MAX: usize = 3;

/// What reaches other hosts.
pub(crate) struct Remote {
    pub net: Transport,
    /// Which it is, and why.
    pub choice: Choice,
    /// Receives that a driver in the kernel has, if there is one.
    pub entries: Option<Entries>,
    /// The segment's count of departures, up to which deaths on other hosts have been told.
    pub departures: u32,
    /// By process.
    peers: Vec<Peer>,
    /// By process, where there are two rails; else empty.
    orders: Vec<Order>,
    /// Packets of that process came before their turn, and their turn has come.
    ready: Option<u32>,
    /// The process whose payload the network shows, and by which rail it came.
    source: (u32, usize),
    /// The last packet.
    shown: Option<Shown>,
    /// A piece of a scattered message, on its way to the network.
    bounce: Vec<u8>,
    /// What happened instead of a packet.
    event: Option<Event>,
}

/// What is under way between this process and another.
#[derive(Clone, Copy, Default)]
struct Peer {
    /// A packet that has left in part.
    partial: Option<Transmit<Area>>,
    /// What the packet that is arriving, on each rail, belongs to.
    streams: [Option<Stream>; RAILS_MAX],
}

struct Shown {
    from: u32,
    prefix: [u8; PREFIX_BYTES],
    bytes: usize,
    matched: Option<Matched>,
    /// Its payload, if it came before its turn.
    early: Option<Vec<u8>>,
}

impl Remote {
    pub fn new(mut net: Transport, choice: Choice, size: u32) -> Remote {
        Remote {
            entries: net.matcher().is_some().then(Entries::new),
            orders: match net.has_rails() {
                true => (0..size).map(|_| Order::default()).collect(),
                false => Vec::new(),
            },
            ready: None,
            source: (0, 0),
            net,
            choice,
            departures: 0,
            peers: vec![Peer::default(); size as usize],
            shown: None,
            bounce: Vec::new(),
            event: None,
        }
    }

    /// Where a piece of a message lies in one block: where it is, or packed in the bounce buffer
    /// until the next piece. What lies there must have been read or copied when the network has it.
    #[inline(always)]
    fn payload(&mut self, buffer: Area, offset: u64, bytes: usize) -> *const u8 {
        if !buffer.is_scattered() {
            return buffer.at(offset).cast_const();
        }
        if self.bounce.len() < bytes {
            self.bounce.resize(bytes, 0);
        }
        buffer.read(offset, &mut self.bounce[..bytes]);
        self.bounce.as_ptr()
    }

    /// A process becomes known to the network; its number.
    pub fn introduce(&mut self, card: Card) -> Result<u32, IntroduceError> {
        let process = self.net.introduce(card)?;
        self.peers.push(Peer::default());
        if !self.orders.is_empty() {
            self.orders.push(Order::default());
        }
        Ok(process)
    }

    /// Nothing more comes from that process, and nothing goes to it.
    pub fn forget(&mut self, peer: u32) {
        self.peers[peer as usize] = Peer::default();
        if let Some(order) = self.orders.get_mut(peer as usize) {
            *order = Order::default();
        }
        self.ready = self.ready.filter(|ready| *ready != peer);
    }

    /// Whether a packet that begins is shown now.
    fn is_in_order(&mut self, from: u32, prefix: &[u8; PREFIX_BYTES], bytes: usize) -> bool {
        let rail = self.net.rail();
        self.source = (from, rail);
        // What cannot be read is shown, and refused.
        let Ok(header) = Header::new_checked(prefix) else {
            return true;
        };
        if !code::is_ordered(header.kind_byte()) {
            return true;
        }
        let order = &mut self.orders[from as usize];
        let course = order.begin(rail, header.sequence(), prefix, bytes);
        if order.is_ready() {
            self.ready = Some(from);
        }
        if course == Course::Kept {
            self.keep_early(from, rail);
        }
        course == Course::Shown
    }

    /// Whether payload that arrives is shown; else it was kept.
    fn is_payload_shown(&mut self, from: u32) -> bool {
        let rail = self.net.rail();
        self.source = (from, rail);
        let shown = self.orders[from as usize].course(rail) == Course::Shown;
        if !shown {
            if self.net.at_hand().is_empty() {
                // A connection leaves long payload where it is until somebody asks for it.
                self.net.read_at_hand();
            }
            self.keep_early(from, rail);
        }
        shown
    }

    /// Keeps what is at hand of a packet that came before its turn.
    #[cold]
    fn keep_early(&mut self, from: u32, rail: usize) {
        let piece = self.net.at_hand();
        let bytes = piece.len();
        let order = &mut self.orders[from as usize];
        order.fill(rail, piece);
        if order.is_ready() {
            self.ready = Some(from);
        }
        self.net.pass(bytes);
    }

    /// So many bytes of the payload that the network shows were taken.
    #[inline(always)]
    fn count_passed(&mut self, bytes: usize) {
        let (from, rail) = self.source;
        if let Some(order) = self.orders.get_mut(from as usize) {
            order.pass(rail, bytes);
            if order.is_ready() {
                self.ready = Some(from);
            }
        }
    }

    /// Shows the packet whose turn has come.
    #[cold]
    fn show_early(&mut self, from: u32) -> bool {
        let order = &mut self.orders[from as usize];
        let early = order.take_early();
        self.ready = order.is_ready().then_some(from);
        let Some(early) = early else {
            return false;
        };
        self.shown = Some(Shown {
            from,
            prefix: early.prefix,
            bytes: early.payload.len(),
            matched: None,
            early: Some(early.payload),
        });
        true
    }

    /// The next event that is shown now. `None` also if an early packet's turn has come: it is shown
    /// before the network is asked for more, which may say that its sender has finished.
    #[inline(always)]
    fn next_event(&mut self) -> Option<transport::Event> {
        if self.orders.is_empty() {
            return self.net.poll();
        }
        self.next_in_order()
    }

    fn next_in_order(&mut self) -> Option<transport::Event> {
        while self.ready.is_none() {
            let event = self.net.poll()?;
            let shown = match &event {
                transport::Event::Packet {
                    from,
                    prefix,
                    payload,
                } => self.is_in_order(*from, prefix, *payload),
                transport::Event::Payload { from } => self.is_payload_shown(*from),
                _ => true,
            };
            if shown {
                return Some(event);
            }
        }
        None
    }

    /// Shows the early packet whose turn has come, if there is one.
    #[inline(always)]
    fn is_early_shown(&mut self) -> bool {
        self.ready.is_some_and(|from| self.show_early(from))
    }

    /// The receive that the driver has matched the current packet with.
    fn matched(&mut self) -> Option<Matched> {
        let entries = self.entries.as_ref()?;
        let matched = self.net.matcher()?.matched()?;
        let receive = RequestId::from_token(matched.cookie);
        let placed = (!entries.is_bare(receive)).then_some(matched.placed);
        Some(Matched {
            receive,
            placed,
            answered: matched.answered,
        })
    }

    /// Why nothing more can come from a process. `death`: what the launcher says of its end.
    #[cold]
    pub fn explain(&mut self, rank: u32, peer: u32, death: Option<Death>) -> Fault {
        match self.net.trouble(peer) {
            Some(trouble) if death.is_none() => Fault::Unreachable {
                rank,
                peer,
                host: trouble.host.clone(),
                reason: trouble.what.clone(),
            },
            _ => Fault::PeerDied {
                rank,
                peer,
                host: self.net.host_of(peer).unwrap_or_else(|| "unknown".into()),
                death,
            },
        }
    }
}

impl Outgoing<Area> for Remote {
    type Error = oxmpi_ports::SegmentError;

    #[inline(never)]
    fn send_now(&mut self, to: u32, header: &Eager, buffer: Area) -> Result<Sent, Self::Error> {
        let mut prefix = [0; PREFIX_BYTES];
        let used = header.emit_prefix(&mut prefix);
        let bytes = header.envelope.bytes() as usize;
        let payload = self.payload(buffer, 0, bytes);
        // SAFETY: the sending request's promise covers the message, and what does not leave at once
        // is copied.
        Ok(unsafe { self.net.send(to, &prefix[..used], payload, bytes, None) })
    }

    fn send(&mut self, transmit: &Transmit<Area>) -> Result<Sent, Self::Error> {
        let mut prefix = [0; PREFIX_BYTES];
        let used = transmit.repr.emit_prefix(&mut prefix);
        let (payload, bytes) = match transmit.payload {
            Some(payload) => (
                self.payload(payload.buffer, payload.offset, payload.bytes),
                payload.bytes,
            ),
            None => (std::ptr::null(), 0),
        };
        let is_lasting = transmit
            .payload
            .is_none_or(|payload| !payload.buffer.is_scattered());
        // 0 is no token, and the first request's would be.
        let token = transmit.ends().map_or(0, |id| id.token() + 1);
        let held = is_lasting && self.net.holds(transmit.repr.envelope.bytes());
        let lasting = held.then_some(token);
        let head = &prefix[..used];
        // SAFETY: the request's promise covers the piece until the request is over, and it is not
        // over before the packet has left and its memory is let go; when its peer is lost or
        // finished, the device has dropped what it had for it before the request fails.
        let sent = unsafe { self.net.send(transmit.to, head, payload, bytes, lasting) };
        if sent == Sent::Partly {
            self.peers[transmit.to as usize].partial = Some(*transmit);
        }
        Ok(sent)
    }

    fn resume(&mut self, to: u32) -> Resumed<Area> {
        let partial = &mut self.peers[to as usize].partial;
        let Some(transmit) = *partial else {
            return Resumed::Nothing;
        };
        if !self.net.resume(to) {
            return Resumed::Waiting;
        }
        *partial = None;
        Resumed::Left(transmit)
    }
}

impl Carrier<Area> for Remote {
    const SHARES_MEMORY: bool = false;

    #[inline(always)]
    fn arrival(&mut self) -> Option<Packet<'_>> {
        if !self.orders.is_empty() {
            // What came early lies in no device: the next event is about something else.
            self.shown = self.shown.take().filter(|shown| shown.early.is_none());
            if self.is_early_shown() {
                return self.current();
            }
        }
        let Some(event) = self.next_event() else {
            return match self.is_early_shown() {
                true => self.current(),
                false => None,
            };
        };
        let event = match event {
            transport::Event::Packet {
                from,
                prefix,
                payload,
            } => {
                let matched = self.matched();
                self.shown = Some(Shown {
                    from,
                    prefix,
                    bytes: payload,
                    matched,
                    early: None,
                });
                return self.current();
            }
            transport::Event::Payload { from } => Event::Payload { from },
            transport::Event::Released { token } => {
                Event::Released(RequestId::from_token(token - 1))
            }
            transport::Event::Finished(peer) => {
                self.forget(peer);
                Event::Finished(peer)
            }
            transport::Event::Lost(peer) => {
                self.forget(peer);
                Event::Lost(peer)
            }
        };
        self.event = Some(event);
        None
    }

    #[inline(always)]
    fn event(&mut self) -> Option<Event> {
        self.event.take()
    }

    #[inline(always)]
    fn current(&self) -> Option<Packet<'_>> {
        self.shown.as_ref().map(|shown| Packet {
            from: shown.from,
            prefix: &shown.prefix,
            bytes: shown.bytes,
            outside: Some(match &shown.early {
                Some(payload) => payload,
                None => self.net.at_hand(),
            }),
            matched: shown.matched,
        })
    }

    #[inline(always)]
    fn pass(&mut self, bytes: usize) {
        if let Some(shown) = &mut self.shown
            && shown.early.is_some()
        {
            return;
        }
        self.net.pass(bytes);
        self.count_passed(bytes);
    }

    fn expect(&mut self, from: u32, stream: Stream) {
        if let Some(shown) = &self.shown
            && shown.early.is_some()
        {
            // Nothing of it follows.
            return;
        }
        let rail = self.net.rail();
        self.peers[from as usize].streams[rail] = Some(stream);
    }

    fn expected(&self, from: u32) -> Option<Stream> {
        self.peers[from as usize].streams[self.net.rail()]
    }

    fn read_into(&mut self, buffer: Area, offset: u64, room: u64) -> Option<usize> {
        if buffer.is_scattered() || !self.net.reads_directly() {
            return None;
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let write = |at, piece: &[u8]| buffer.write(offset + at, piece);
        // SAFETY: the receiving request's promise covers its buffer up to its capacity.
        let bytes = unsafe { self.net.read_into(buffer.at(offset), room, write) };
        self.count_passed(bytes);
        Some(bytes)
    }

    fn piece(&mut self) -> &[u8] {
        if self.net.at_hand().is_empty() {
            self.net.read_at_hand();
        }
        self.net.at_hand()
    }

    fn conclude(&mut self, receive: RequestId) {
        if let Some(entries) = &mut self.entries {
            entries.release(receive);
        }
    }

    fn expel(&mut self, peer: u32, reason: &str) {
        self.forget(peer);
        self.net.expel(peer, reason);
    }

    fn prepare_sleep(&mut self) -> bool {
        self.ready.is_none() && self.net.prepare_sleep()
    }
}
