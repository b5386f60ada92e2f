//! A link takes its memory when it is made: afterwards nothing is allocated, whatever the network
//! does, and what is taken is what `Link::memory_bytes` says.

#[path = "../../harness/counting.rs"]
mod counting;
mod pair;

use oxmpi_link::{Config, FrameKey, Link, Recovery, Session};
use oxmpi_wire::frame::FRAME_HEADER_BYTES;
use pair::{Number, content, mirrored};

/// Longest frame of this test.
const FRAME_BYTES_MAX: usize = FRAME_HEADER_BYTES + 1400;
/// Frames that may be on the wire; more are lost.
const WIRE_FRAMES_MAX: usize = 700;

/// A frame on the wire.
#[derive(Clone, Copy)]
struct Packet {
    at: u64,
    to: usize,
    length: usize,
    bytes: [u8; FRAME_BYTES_MAX],
}

/// What one end has received, without remembering it.
#[derive(Default)]
struct Received {
    messages: Number,
    offset: usize,
}

/// How bad the network is, in percent.
#[derive(Clone, Copy, Debug)]
struct Network {
    loss: u64,
    duplication: u64,
    reordering: u64,
    corruption: u64,
}

struct Trial {
    random: u64,
    network: Network,
    links: [Link<Number>; 2],
    sessions: [Session; 2],
    received: [Received; 2],
    sent: [Number; 2],
    wire: Vec<Packet>,
    now: u64,
}

impl Trial {
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    /// Queues as much as there is room for, every length from nothing to several windows' frames.
    fn send(&mut self, end: usize, messages: Number) {
        while self.sent[end] < messages && self.links[end].can_send() {
            let number = self.sent[end];
            self.links[end].send(self.now, number, length(number));
            self.sent[end] += 1;
        }
    }

    /// Everything that may leave does, by the short way where there is one.
    fn transmit(&mut self, end: usize) {
        loop {
            let mut packet = Packet {
                at: 0,
                to: 1 - end,
                length: FRAME_HEADER_BYTES,
                bytes: [0; FRAME_BYTES_MAX],
            };
            let middles = self.links[end].poll_middles(self.now, 3);
            if let Some(middles) = middles {
                for number in 0..middles.frames {
                    let mut packet = packet;
                    let mut frame = middles.frame;
                    frame.sequence = frame.sequence.wrapping_add(number);
                    frame.emit(packet.bytes.first_chunk_mut().expect("room"));
                    let offset = middles.piece.offset + number as usize * middles.piece.bytes;
                    let piece = oxmpi_link::Piece {
                        offset,
                        ..middles.piece
                    };
                    append(&mut packet, &piece);
                    self.launch(end, packet);
                }
                continue;
            }
            let Some(transmit) = self.links[end].poll_transmit(self.now) else {
                return;
            };
            let header = packet.bytes.first_chunk_mut().expect("room");
            transmit.frame.emit(header);
            for piece in self.links[end].pieces(&transmit) {
                append(&mut packet, &piece);
            }
            let control = self.links[end].control_payload(&transmit);
            packet.bytes[packet.length..][..control.len()].copy_from_slice(control);
            packet.length += control.len();
            self.launch(end, packet);
        }
    }

    /// Signs a frame and gives it to the network.
    fn launch(&mut self, end: usize, mut packet: Packet) {
        self.sessions[end].sign(packet.bytes.first_chunk_mut().expect("a header"));
        let copies = 1 + u64::from(self.below(100) < self.network.duplication);
        for _ in 0..copies {
            if self.below(100) < self.network.loss || self.wire.len() == WIRE_FRAMES_MAX {
                continue;
            }
            packet.at = self.now + 20_000;
            if self.below(100) < self.network.reordering {
                packet.at += self.below(60_000);
            }
            let mut copy = packet;
            if self.below(100) < self.network.corruption {
                // In the header, which every session proves.
                let bit = self.below(FRAME_HEADER_BYTES as u64 * 8);
                copy.bytes[bit as usize / 8] ^= 1 << (bit % 8);
            }
            self.wire.push(copy);
        }
    }

    /// Time goes on to the next arrival or time-out; `false` if there is none.
    fn advance(&mut self) -> bool {
        let arrival = self.wire.iter().map(|packet| packet.at).min();
        let timeouts = self.links.iter().filter_map(Link::poll_timeout);
        let Some(next) = timeouts.chain(arrival).min() else {
            return false;
        };
        self.now = self.now.max(next);
        for link in &mut self.links {
            if link.poll_timeout().is_some_and(|at| at <= self.now) {
                link.handle_timeout(self.now);
            }
        }
        let mut index = 0;
        while index < self.wire.len() {
            if self.wire[index].at > self.now {
                index += 1;
                continue;
            }
            // Behind frames of the same time may come earlier ones: `remove` keeps the order.
            let packet = self.wire.remove(index);
            self.arrive(&packet);
        }
        true
    }

    fn arrive(&mut self, packet: &Packet) {
        let frame = &packet.bytes[..packet.length];
        if self.sessions[packet.to].verify(frame).is_err() {
            return;
        }
        // The receiver is slow at times, and says STOP.
        let backlog = if self.below(20) == 0 { 3000 } else { 0 };
        let link = &mut self.links[packet.to];
        let received = &mut self.received[packet.to];
        if let Some(piece) = link.take_middle(self.now, frame, usize::MAX) {
            received.take(&frame[piece], false);
            return;
        }
        let _ = link.handle_frame(self.now, frame, backlog);
        while let Some(delivered) = link.poll_delivered() {
            received.take(link.bytes(&delivered, frame), delivered.last);
        }
        while link.poll_released().is_some() {}
    }
}

impl Received {
    fn take(&mut self, bytes: &[u8], last: bool) {
        for (index, &byte) in bytes.iter().enumerate() {
            assert_eq!(byte, content(self.messages, self.offset + index));
        }
        self.offset += bytes.len();
        if last {
            assert_eq!(self.offset, length(self.messages));
            self.messages += 1;
            self.offset = 0;
        }
    }
}

/// Many short messages, which share frames, and some of many frames.
fn length(number: Number) -> usize {
    match number % 40 {
        0 => 40_000,
        7 => 3000,
        few => few as usize * 3,
    }
}

fn append(packet: &mut Packet, piece: &oxmpi_link::Piece<Number>) {
    packet.bytes[packet.length..][..4].copy_from_slice(&piece.header().emit());
    packet.length += 4;
    for offset in piece.offset..piece.offset + piece.bytes {
        packet.bytes[packet.length] = content(piece.message, offset);
        packet.length += 1;
    }
}

/// Talks in both directions until all is said; what was asked of the allocator meanwhile.
fn converse(config: &Config, network: Network, seed: u64) -> usize {
    let before = counting::bytes();
    let here = Link::new(config.clone(), 0);
    let taken = counting::bytes() - before;
    assert_eq!(taken, Link::<Number>::memory_bytes(config), "{config:?}");
    let (one, other) = (FrameKey::new([1; 16]), FrameKey::new([2; 16]));
    let mut trial = Trial {
        random: seed | 1,
        network,
        links: [here, Link::new(mirrored(config), 0)],
        sessions: [Session::new(one, other), Session::new(other, one)],
        received: Default::default(),
        sent: [0; 2],
        wire: Vec::with_capacity(WIRE_FRAMES_MAX),
        now: 0,
    };
    let messages = 160;
    let before = counting::asked();
    let mut rounds = 0;
    loop {
        for end in 0..2 {
            trial.send(end, messages);
            trial.transmit(end);
        }
        rounds += 1;
        assert!(rounds < 200_000, "livelock with {config:?}, {network:?}");
        if !trial.advance() {
            break;
        }
    }
    let asked = counting::asked() - before;
    for (link, received) in trial.links.iter().zip(&trial.received) {
        assert!(link.is_quiet());
        assert_eq!(received.messages, messages, "{config:?}, {network:?}");
    }
    asked
}

#[test]
fn nothing_is_allocated_once_a_link_is_made() {
    let good = Network {
        loss: 0,
        duplication: 0,
        reordering: 0,
        corruption: 0,
    };
    let bad = Network {
        loss: 10,
        duplication: 10,
        reordering: 30,
        corruption: 5,
    };
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        for congestion in [false, true] {
            for (window, payload) in [(1, 100), (2, 1400), (64, 100), (256, 1400)] {
                for network in [good, bad] {
                    let config = Config {
                        recovery,
                        congestion,
                        window_frames_max: window,
                        payload_bytes_max: payload,
                        messages_max: 16,
                        first_sequence: u32::MAX - 20,
                        ..Config::new(0, 1)
                    };
                    let asked = converse(&config, network, 77);
                    assert_eq!(asked, 0, "allocations with {config:?} on {network:?}");
                }
            }
        }
    }
}

/// Peers agree on the longest frame, but one that is longer must not need memory either: it counts
/// as one that cannot be kept, and is delivered when it is the expected one.
#[test]
fn a_frame_longer_than_agreed_is_taken_in_order_only() {
    let small = Config {
        recovery: Recovery::Selective,
        payload_bytes_max: 100,
        ..Config::new(0, 1)
    };
    let mut receiver: Link<Number> = Link::new(mirrored(&small), 0);
    let mut sender: Link<Number> = Link::new(
        Config {
            payload_bytes_max: 1000,
            ..small
        },
        0,
    );
    sender.send(0, 0, 2500);
    let mut frames = Vec::new();
    while let Some(transmit) = sender.poll_transmit(0) {
        frames.push(pair::gather(&sender, &transmit));
    }
    assert_eq!(frames.len(), 3);
    let before = counting::asked();
    let early = receiver.handle_frame(0, &frames[1], 0).expect("a frame");
    assert_eq!(counting::asked(), before);
    assert_eq!(early.arrival, Some(oxmpi_link::Arrival::TooEarly));
    for frame in &frames {
        let handled = receiver.handle_frame(0, frame, 0).expect("a frame");
        assert_eq!(handled.arrival, Some(oxmpi_link::Arrival::InOrder));
        while receiver.poll_delivered().is_some() {}
    }
}

/// A link that is used again is as new, needs no memory, and says so where that cannot be.
#[test]
fn a_link_is_renewed_in_its_own_memory() {
    let config = Config::new(0, 1);
    let mut links = [
        Link::new(config.clone(), 0),
        Link::new(mirrored(&config), 0),
    ];
    for round in 0..3 {
        let now = round * 1000;
        let (here, there) = links.split_at_mut(1);
        here[0].send(now, 1, 5000);
        let transmit = here[0].poll_transmit(now).expect("a frame");
        assert_eq!(transmit.frame.sequence, 0);
        let frame = pair::gather(&here[0], &transmit);
        let handled = there[0].handle_frame(now, &frame, 0).expect("a frame");
        assert_eq!(handled.arrival, Some(oxmpi_link::Arrival::InOrder));
        while there[0].poll_delivered().is_some() {}
        // In the middle of a message, with frames on their way and an acknowledgement owed.
        let (one, other) = (config.clone(), mirrored(&config));
        let before = counting::asked();
        here[0].renew(one, now + 500);
        there[0].renew(other, now + 500);
        here[0].send(now, 2, 10);
        assert_eq!(counting::asked(), before);
        assert!(there[0].is_quiet() && !here[0].is_quiet());
        here[0].renew(config.clone(), now + 600);
        assert!(here[0].is_quiet() && here[0].poll_timeout().is_none());
    }
    let larger = Config {
        window_frames_max: 512,
        ..config
    };
    let renew = std::panic::AssertUnwindSafe(|| links[0].renew(larger, 0));
    assert!(std::panic::catch_unwind(renew).is_err());
}
