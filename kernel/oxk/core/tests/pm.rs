//! Two endpoints that exchange messages by PM over frames that are lost, doubled, overtaken,
//! altered and forged, by seed; and what a rail promises about memory.

#[path = "../../../../harness/counting.rs"]
mod counting;
mod random;
mod shim;

use oxmpi_link::FrameKey;
use oxmpi_oxk_core::pm::{
    Arrived, FrameOut, PACKETS_MAX, PAYLOAD_BYTES_MAX, RUNS_MAX, Rail, Run, Wiring, name,
};
use oxmpi_oxk_core::{FULL, PeerToken, Step};
use random::{Random, for_seeds};
use shim::{BOUNDS, Shim, content, no_handler};

const FRAME_BYTES_MAX: usize = 40 + PAYLOAD_BYTES_MAX;

/// One end: the endpoint, its rail, and what the shim in C has.
struct End {
    shim: Shim,
    rail: Rail,
    peer: PeerToken,
    /// Packets' places that are free.
    places: Vec<u32>,
    /// The payload of the packet at each place.
    packets: [Option<oxmpi_oxk_core::Token>; PACKETS_MAX],
    /// Bytes of the stream that the endpoint does not take yet.
    held: Option<Vec<u8>>,
}

fn wiring(dialled: bool, payload_bytes_max: usize) -> Wiring {
    let keys = [[3; 16], [4; 16]].map(FrameKey::new);
    let (mine, theirs) = (usize::from(dialled), usize::from(!dialled));
    Wiring {
        dialled,
        name_in: name(0, 7 + mine as u32),
        name_out: name(0, 7 + theirs as u32),
        channel_in: 100 + mine as u16,
        channel_out: 100 + theirs as u16,
        payload_bytes_max,
        key_out: keys[mine],
        key_in: keys[theirs],
    }
}

impl End {
    fn new(dialled: bool, payload_bytes_max: usize) -> End {
        let mut shim = Shim::new(BOUNDS);
        let peer = shim.core.accepted().expect("room");
        let mut rail = Rail::new(BOUNDS.peers);
        rail.begin(0, &wiring(dialled, payload_bytes_max), 0);
        End {
            shim,
            rail,
            peer,
            places: (0..PACKETS_MAX as u32).collect(),
            packets: [None; PACKETS_MAX],
            held: None,
        }
    }

    /// Packets go to the link while there are places.
    fn fill(&mut self, now: u64) {
        while self.rail.can_send(0) {
            let Some(place) = self.places.pop() else {
                break;
            };
            let Some(packet) = self.shim.core.poll_send(self.peer) else {
                self.places.push(place);
                break;
            };
            if let Some(payload) = packet.payload {
                self.packets[place as usize] = Some(payload.token);
                self.shim.unsent.push((self.peer, payload.token));
            }
            self.rail.send(0, place, packet, now);
            self.shim.settle();
        }
        if self.shim.core.has_to_send(self.peer) {
            return;
        }
        if let Some(held) = self.held.take() {
            self.rail.hold(0, false, now);
            self.feed(&held, now);
        }
    }

    fn feed(&mut self, bytes: &[u8], now: u64) {
        if let Some(held) = &mut self.held {
            held.extend_from_slice(bytes);
            return;
        }
        let (used, step) = self.shim.feed(self.peer, bytes, &mut no_handler);
        match step {
            Step::Done => assert_eq!(used, bytes.len()),
            Step::Stop => {
                self.held = Some(bytes[used..].to_vec());
                self.rail.hold(0, true, now);
            }
            step => panic!("{step:?}"),
        }
    }

    /// The next frame as bytes.
    fn frame(&mut self, now: u64) -> Option<Vec<u8>> {
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let mut runs = Vec::new();
        let put = |run: Run| runs.push(run);
        let FrameOut { bytes, .. } = self.rail.poll_frame(0, now, &mut buffer, put)?;
        assert!(runs.len() <= RUNS_MAX);
        buffer.truncate(bytes);
        for run in &runs {
            assert_eq!(self.packets[run.packet as usize], Some(run.token));
            let memory = &self.shim.memory[&self.shim.users[&run.token]];
            let from = &memory[run.offset as usize..][..run.bytes as usize];
            buffer[run.at as usize..][..from.len()].copy_from_slice(from);
        }
        Some(buffer)
    }

    fn arrive(&mut self, frame: &[u8], now: u64) -> Arrived {
        let arrived = self.rail.arrive(now, frame);
        if let Arrived::Taken { peer } = arrived {
            assert_eq!(peer, 0);
            while let Some(range) = self.rail.next_delivered(0) {
                self.feed(&frame[range], now);
            }
            while let Some(place) = self.rail.next_released(0) {
                self.places.push(place);
                if let Some(token) = self.packets[place as usize].take() {
                    let at = self.shim.unsent.iter().position(|(_, sent)| *sent == token);
                    self.shim.acknowledge(at.expect("it has left"));
                }
            }
        }
        arrived
    }
}

/// Frames on the wire: when, to whom, what.
type Wire = Vec<(u64, usize, Vec<u8>)>;

fn launch(random: &mut Random, bad: u64, now: u64, to: usize, frame: &[u8], wire: &mut Wire) {
    let copies = 1 + u64::from(bad > 0 && random.below(100) < bad);
    for _ in 0..copies {
        if random.below(100) < bad {
            continue;
        }
        let late = if random.below(100) < bad { 90_000 } else { 0 };
        let mut bytes = frame.to_vec();
        if random.below(100) < bad {
            // Somebody alters the header, or makes one up.
            let at = random.below(40) as usize;
            bytes[at] ^= 1 + random.below(255) as u8;
        }
        // Cards pad short frames.
        let padded = bytes.len().max(46);
        bytes.resize(padded, 0x55);
        wire.push((now + 10_000 + random.below(late + 1), to, bytes));
    }
}

fn converse(random: &mut Random) {
    let payload = random.pick(&[256, 1460, PAYLOAD_BYTES_MAX]);
    let bad = random.pick(&[0, 0, 3, 10]);
    let mut ends = [End::new(false, payload), End::new(true, payload)];
    let messages = 60;
    let mut sent = [0u64; 2];
    let mut received = [0u64; 2];
    let mut wire: Wire = Vec::new();
    let mut now = 0;
    let lengths: Vec<u64> = (0..messages)
        .map(|_| random.pick(&[0, 1, 60, 900, 1001, 5000, 70_000]))
        .collect();
    for _ in 0..400_000 {
        for me in 0..2 {
            // Receives come before and after their messages.
            while received[me] < messages && random.below(4) > 0 {
                let (user, bytes) = (1000 + received[me], lengths[received[me] as usize]);
                match ends[me].shim.receive(received[me], FULL, bytes, user) {
                    Ok(_) => received[me] += 1,
                    Err(_) => break,
                }
            }
            let peer = ends[me].peer;
            while sent[me] < messages && random.below(4) > 0 {
                let memory = content(sent[me], lengths[sent[me] as usize]);
                let sync = random.one_in(5);
                match ends[me].shim.send(peer, sent[me], memory, sync, sent[me]) {
                    Ok(_) => sent[me] += 1,
                    Err(_) => break,
                }
            }
            ends[me].fill(now);
            while let Some(frame) = ends[me].frame(now) {
                launch(random, bad, now, 1 - me, &frame, &mut wire);
            }
        }
        let arrival = wire.iter().map(|(at, ..)| *at).min();
        let timeouts = ends.iter().filter_map(|end| end.rail.poll_timeout(0));
        let Some(next) = timeouts.chain(arrival).min() else {
            if sent == [messages; 2] && received == [messages; 2] {
                break;
            }
            continue;
        };
        now = now.max(next);
        for end in &mut ends {
            if end.rail.poll_timeout(0).is_some_and(|at| at <= now) {
                assert!(end.rail.handle_timeout(0, now), "a peer that is there");
            }
        }
        let due: Vec<_> = wire.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, to, frame) in due {
            ends[to].arrive(&frame, now);
        }
    }
    for end in &ends {
        assert!(end.rail.is_quiet(0));
        assert_eq!(end.places.len(), PACKETS_MAX);
        for number in 0..messages {
            let (over, _) = &end.shim.completed[&number];
            assert_eq!(over.status.error, 0, "send {number}");
            let (over, memory) = &end.shim.completed[&(1000 + number)];
            assert_eq!(over.status.error, 0, "receive {number}");
            assert_eq!(memory, &content(number, lengths[number as usize]));
        }
    }
}

#[test]
fn every_message_comes_once_over_any_network() {
    for_seeds(60, converse);
}

/// Frames of others change nothing: without a proof, under another key, of another channel's, again,
/// or of a peer that is not there.
#[test]
fn frames_of_strangers_are_refused() {
    let mut ends = [End::new(false, 1460), End::new(true, 1460)];
    let peer = ends[1].peer;
    ends[1].fill(0);
    assert!(ends[1].shim.send(peer, 1, vec![], false, 1).is_ok());
    let frame = ends[1].frame(0).expect("the first credit");
    let mut other = End::new(true, 1460);
    let mut wrong = wiring(true, 1460);
    wrong.key_out = FrameKey::new([9; 16]);
    other.rail.begin(0, &wrong, 0);
    other.fill(0);
    let forged = other.frame(0).expect("a frame");
    for_seeds(200, |random| {
        let mut bytes: Vec<u8> = (0..random.below(200))
            .map(|_| random.next() as u8)
            .collect();
        assert_eq!(ends[0].arrive(&bytes, 0), Arrived::Refused);
        bytes = frame.clone();
        let at = random.below(40) as usize;
        bytes[at] ^= 1 << random.below(8);
        assert_eq!(ends[0].arrive(&bytes, 0), Arrived::Refused);
        assert!(!ends[0].rail.is_signed(&bytes[..40]));
    });
    for (header, is_signed) in [
        (&frame[..40], true),
        (&frame[..39], false),
        (&forged[..40], false),
    ] {
        assert_eq!(ends[0].rail.is_signed(header), is_signed);
    }
    assert_eq!(ends[0].arrive(&forged, 0), Arrived::Refused);
    assert_eq!(ends[0].arrive(&frame[..39], 0), Arrived::Refused);
    assert_eq!(ends[0].arrive(&frame, 0), Arrived::Taken { peer: 0 });
    assert_eq!(ends[0].arrive(&frame, 0), Arrived::Refused, "a second time");
    ends[0].rail.end(0);
    assert_eq!(ends[0].rail.poll_timeout(0), None);
    let frame = loop {
        ends[1].fill(0);
        ends[1].rail.handle_timeout(0, 1 << 40);
        if let Some(frame) = ends[1].frame(1 << 40) {
            break frame;
        }
    };
    assert!(!ends[0].rail.is_signed(&frame[..40]), "it is gone");
    assert_eq!(ends[0].arrive(&frame, 0), Arrived::Refused, "it is gone");
}

/// A peer that never answers is lost, and not before its time.
#[test]
fn a_silent_peer_is_lost() {
    let mut end = End::new(true, 1460);
    end.fill(0);
    let mut now = 0;
    let mut frames = 0;
    loop {
        while end.frame(now).is_some() {
            frames += 1;
        }
        now = end.rail.poll_timeout(0).expect("it waits");
        if !end.rail.handle_timeout(0, now) {
            break;
        }
    }
    assert!((20_000_000_000..21_000_000_000).contains(&now), "{now}");
    assert!((50..200).contains(&frames), "{frames}");
}

/// What a rail takes is what it says.
#[test]
fn memory_is_taken_once() {
    let before = counting::bytes();
    let mut rail = Rail::new(5);
    assert_eq!((counting::bytes() - before) as u64, Rail::bytes(5));
    let before = counting::asked();
    for round in 0..3 {
        for peer in 0..5 {
            rail.begin(peer, &wiring(true, 1460), round);
            assert!(rail.can_send(peer) && rail.is_quiet(peer));
        }
    }
    assert_eq!(counting::asked(), before);
}
