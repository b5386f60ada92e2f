//! PM as what carries packets: a link of the protocol for each peer, in memory that is taken when
//! the endpoint is opened.
//!
//! A packet of `send.rs` (head, then bytes of a request's memory) is one message of a link; what the
//! link delivers is the stream that [`Endpoint::feed`](crate::Endpoint::feed) takes. Frames name a
//! peer by its place and a generation, prove themselves by the session's tag before anything of them
//! is believed, and are read where they arrived. Who calls has the clock, the card, the packets'
//! places and the lock:
//!
//! ```text
//!   begin ─▶ can_send? poll_send ─▶ send(place) ─▶ poll_frame, until None ─▶ card
//!            card ─▶ arrive ─▶ next_delivered ─▶ feed;  next_released ─▶ the place is free
//!            clock ─▶ poll_timeout, handle_timeout ─▶ poll_frame
//! ```
//!
//! Recovery is go-back-N: no frame is kept, so a peer costs its window of numbers and its packets.

use alloc::vec::Vec;
use core::ops::Range;

use oxmpi_link::{Config, FRAME_KEY_BYTES, FrameKey, Link, Place, Session};
use oxmpi_wire::frame::{self, FRAME_HEADER_BYTES, Frame, Kind, PIECE_HEADER_BYTES, PIECES_MAX};

use crate::requests::Token;
use crate::send::Transmit;

/// Packets of a peer that are not acknowledged: as many as TCP is lent payloads.
pub const PACKETS_MAX: usize = 32;
/// Frames of a peer on their way: 90 KB of 1500-byte frames, several round trips of a local
/// network, and a quarter of the shortest receive ring of ordinary cards (256) for each of four
/// peers that send at once.
pub const WINDOW_FRAMES: u32 = 64;
/// Runs of payload in a frame: each piece has one at most.
pub const RUNS_MAX: usize = PIECES_MAX;
/// Longest payload of a frame: jumbo frames of 9000 bytes less the header.
pub const PAYLOAD_BYTES_MAX: usize = 9000 - FRAME_HEADER_BYTES;
/// Shortest that is worth a link: a packet's head and its piece.
pub const PAYLOAD_BYTES_MIN: usize = 256;
/// Losses at the end of a burst wait for this.
const REPEAT_NS_MIN: u64 = 2_000_000;
/// A cable that was out is in use again this soon.
const REPEAT_NS_MAX: u64 = 250_000_000;
/// An acknowledgement that nobody asks for waits this long for a packet to go with.
const ACK_DELAY_NS: u64 = 100_000;
/// A peer that owes an answer for so long is lost: 80 of the longest time-outs.
const DEAD_NS: u64 = 20_000_000_000;
/// Frames that count as waiting while the stream is held, so that STOP is said.
const HELD: usize = 2;

/// What both ends have told each other before the first frame.
#[derive(Clone, Copy, Debug)]
pub struct Wiring {
    /// This end has dialled.
    pub dialled: bool,
    /// What this end calls the peer, and the peer this end.
    pub name_in: u32,
    /// See `name_in`.
    pub name_out: u32,
    /// This end's channel.
    pub channel_in: u16,
    /// The peer's channel.
    pub channel_out: u16,
    /// The lesser of what both can send; see [`PAYLOAD_BYTES_MIN`] and [`PAYLOAD_BYTES_MAX`].
    pub payload_bytes_max: usize,
    /// Of what leaves.
    pub key_out: FrameKey,
    /// Of what arrives.
    pub key_in: FrameKey,
}

/// Bytes of a request's memory that a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The send.
    pub token: Token,
    /// Where in its memory.
    pub offset: u64,
    /// Where in the frame.
    pub at: u32,
    /// How many bytes.
    pub bytes: u32,
    /// The packet's place.
    pub packet: u32,
}

/// A frame that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameOut {
    /// Its length.
    pub bytes: usize,
    /// It was sent before.
    pub repeat: bool,
}

/// What became of a frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It is a peer's: there may be bytes delivered, packets released and frames to send.
    Taken {
        /// The peer's place.
        peer: u32,
    },
    /// It is a peer's, and comes while its stream is held: it will be repeated.
    Held {
        /// The peer's place.
        peer: u32,
    },
    /// It proves nothing, or says what no link says. Nothing has changed.
    Refused,
}

/// The links of an endpoint.
pub struct Rail {
    talks: Vec<Talk>,
}

struct Talk {
    up: bool,
    name_in: u32,
    /// Nothing more is fed for now.
    held: bool,
    link: Link<u32>,
    session: Session,
    packets: Vec<Transmit>,
}

/// Figures of every link.
fn config(payload_bytes_max: usize) -> Config {
    Config {
        payload_bytes_max,
        window_frames_max: WINDOW_FRAMES,
        backlog_high: HELD,
        backlog_low: HELD - 1,
        rto_ns_min: REPEAT_NS_MIN,
        rto_ns_max: REPEAT_NS_MAX,
        ack_delay_ns: ACK_DELAY_NS,
        dead_after_ns: DEAD_NS,
        messages_max: PACKETS_MAX,
        ..Config::new(0, 1)
    }
}

/// The name of a peer's place, for so many peers as there may have been in it.
pub fn name(place: u32, generation: u32) -> u32 {
    // Endpoint::check: there are at most 65536 places.
    place & 0xffff | generation << 16
}

impl Rail {
    /// Links for so many peers; the only call that allocates.
    pub fn new(peers: u32) -> Rail {
        let nobody = FrameKey::new([0; FRAME_KEY_BYTES]);
        let talk = || Talk {
            up: false,
            name_in: 0,
            held: false,
            link: Link::new(config(PAYLOAD_BYTES_MAX), 0),
            session: Session::new(nobody, nobody),
            packets: (0..PACKETS_MAX).map(|_| Transmit::EMPTY).collect(),
        };
        Rail {
            talks: (0..peers).map(|_| talk()).collect(),
        }
    }

    /// Bytes that [`Rail::new`] allocates.
    pub fn bytes(peers: u32) -> u64 {
        let link = Link::<u32>::memory_bytes(&config(PAYLOAD_BYTES_MAX));
        let packets = PACKETS_MAX * size_of::<Transmit>();
        (peers as usize * (size_of::<Talk>() + link + packets)) as u64
    }

    /// A peer that is connected: frames may be exchanged.
    pub fn begin(&mut self, peer: u32, wiring: &Wiring, now: u64) {
        let talk = &mut self.talks[peer as usize];
        let me = u32::from(wiring.dialled);
        talk.link.renew(
            Config {
                me,
                peer: 1 - me,
                name_in: wiring.name_in,
                name_out: wiring.name_out,
                channel_in: wiring.channel_in,
                channel_out: wiring.channel_out,
                ..config(wiring.payload_bytes_max)
            },
            now,
        );
        talk.session = Session::new(wiring.key_out, wiring.key_in);
        talk.name_in = wiring.name_in;
        talk.held = false;
        talk.up = true;
    }

    /// Nothing more is sent to the peer, and its frames are a stranger's.
    pub fn end(&mut self, peer: u32) {
        self.talks[peer as usize].up = false;
    }

    /// Whether frames are exchanged with the peer.
    pub fn is_up(&self, peer: u32) -> bool {
        self.talks[peer as usize].up
    }

    /// Whether the peer can be given another packet.
    pub fn can_send(&self, peer: u32) -> bool {
        let talk = &self.talks[peer as usize];
        talk.up && talk.link.can_send()
    }

    /// Gives the peer a packet, which has one of [`PACKETS_MAX`] places to itself until
    /// [`Rail::next_released`] names that.
    pub fn send(&mut self, peer: u32, place: u32, packet: Transmit, now: u64) {
        let talk = &mut self.talks[peer as usize];
        let payload = packet.payload.map_or(0, |payload| payload.bytes as usize);
        talk.packets[place as usize] = packet;
        talk.link.send(now, place, packet.head().len() + payload);
    }

    /// The next frame for the peer. Everything but the runs is written to `buffer`, which has room
    /// for the longest frame; `put_run` gets the runs, at most [`RUNS_MAX`], which the caller fills.
    pub fn poll_frame(
        &mut self,
        peer: u32,
        now: u64,
        buffer: &mut [u8],
        mut put_run: impl FnMut(Run),
    ) -> Option<FrameOut> {
        let talk = &mut self.talks[peer as usize];
        if !talk.up {
            return None;
        }
        let transmit = talk.link.poll_transmit(now)?;
        let mut at = FRAME_HEADER_BYTES;
        for piece in talk.link.pieces(&transmit) {
            buffer[at..at + PIECE_HEADER_BYTES].copy_from_slice(&piece.header().emit());
            at += PIECE_HEADER_BYTES;
            let packet = &talk.packets[piece.message as usize];
            let head = packet.head();
            let (begin, end) = (piece.offset, piece.offset + piece.bytes);
            let of_head = &head[begin.min(head.len())..end.min(head.len())];
            buffer[at..at + of_head.len()].copy_from_slice(of_head);
            at += of_head.len();
            let bytes = piece.bytes - of_head.len();
            if let Some(payload) = packet.payload.filter(|_| bytes > 0) {
                put_run(Run {
                    token: payload.token,
                    offset: payload.offset + begin.saturating_sub(head.len()) as u64,
                    at: at as u32,
                    bytes: bytes as u32,
                    packet: piece.message,
                });
                at += bytes;
            }
        }
        let header = buffer.first_chunk_mut()?;
        transmit.frame.emit(header);
        talk.session.sign(header);
        Some(FrameOut {
            bytes: at,
            repeat: transmit.repeat,
        })
    }

    /// Whether the header of a frame has the name and the tag of a peer's.
    pub fn is_signed(&self, header: &[u8]) -> bool {
        self.signer(header).is_some()
    }

    /// The peer that has signed a frame, and the frame's number.
    fn signer(&self, bytes: &[u8]) -> Option<(u32, u64)> {
        let name = frame::name(bytes)?;
        let peer = name & 0xffff;
        let talk = self.talks.get(peer as usize)?;
        if !talk.up || name != talk.name_in {
            return None;
        }
        Some((peer, talk.session.examine(bytes).ok()?))
    }

    /// A frame has arrived, perhaps with padding behind it.
    pub fn arrive(&mut self, now: u64, bytes: &[u8]) -> Arrived {
        let Some(bytes) = whole(bytes) else {
            return Arrived::Refused;
        };
        let Some((peer, serial)) = self.signer(bytes) else {
            return Arrived::Refused;
        };
        let talk = &mut self.talks[peer as usize];
        let Ok((frame, _)) = Frame::parse(bytes) else {
            return Arrived::Refused;
        };
        if talk.held && frame.kind == Kind::Data {
            // Its acknowledgement comes again by itself: STOP has the peer send nothing else.
            talk.link.note_backlog(now, HELD);
            return Arrived::Held { peer };
        }
        if talk.session.admit(serial).is_err() {
            return Arrived::Refused;
        }
        let backlog = if talk.held { HELD } else { 0 };
        match talk.link.handle_frame(now, bytes, backlog) {
            Ok(_) => Arrived::Taken { peer },
            Err(_) => Arrived::Refused,
        }
    }

    /// The next bytes of the peer's stream, by their place in the frame that has just arrived. To be
    /// called until there are none.
    pub fn next_delivered(&mut self, peer: u32) -> Option<Range<usize>> {
        let delivered = self.talks[peer as usize].link.poll_delivered()?;
        match delivered.place {
            Place::Frame(range) => Some(range),
            Place::Kept(..) => None,
        }
    }

    /// The place of a packet that the peer has wholly.
    pub fn next_released(&mut self, peer: u32) -> Option<u32> {
        self.talks[peer as usize].link.poll_released()
    }

    /// The peer's stream is held, or goes on. While it is, the peer is told to stop.
    pub fn hold(&mut self, peer: u32, held: bool, now: u64) {
        let talk = &mut self.talks[peer as usize];
        talk.held = held;
        talk.link.note_backlog(now, if held { HELD } else { 0 });
    }

    /// When [`Rail::handle_timeout`] is to be called for the peer.
    pub fn poll_timeout(&self, peer: u32) -> Option<u64> {
        let talk = &self.talks[peer as usize];
        talk.link.poll_timeout().filter(|_| talk.up)
    }

    /// Time has passed: there may be frames to send. False: the peer has been silent for too long,
    /// and is lost.
    pub fn handle_timeout(&mut self, peer: u32, now: u64) -> bool {
        let talk = &mut self.talks[peer as usize];
        if !talk.up {
            return true;
        }
        talk.link.handle_timeout(now);
        !talk.link.is_dead(now)
    }

    /// The peer has all that was sent, and what it sent is acknowledged.
    pub fn is_quiet(&self, peer: u32) -> bool {
        let talk = &self.talks[peer as usize];
        !talk.up || talk.link.is_quiet()
    }
}

/// The frame without the padding of short ones.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(..frame::frame_bytes(bytes)?)
}
