//! Two links on a bad network, by seed: every message arrives once, whole and in order, and both
//! ends come to rest.
//!
//! A small sister of what `sim` does at length: it runs in a second and stands beside the code it
//! tests.

mod pair;

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher;

use oxmpi_link::{Config, Link, Recovery};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame};
use pair::{Inbox, Number, content, gather, mirrored};
use proptest::prelude::*;

/// Numbers by xorshift, so that a case is its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Debug)]
struct Network {
    loss: u64,
    duplication: u64,
    reordering: u64,
    corruption: u64,
    delay_ns: u64,
}

struct End {
    link: Link<Number>,
    inbox: Inbox,
    to_send: Vec<usize>,
    sent: usize,
    released: usize,
}

impl End {
    fn new(config: Config, to_send: Vec<usize>) -> End {
        End {
            link: Link::new(config, 0),
            inbox: Inbox::default(),
            to_send,
            sent: 0,
            released: 0,
        }
    }

    fn push(&mut self, now: u64) {
        while self.sent < self.to_send.len() && self.link.can_send() {
            self.link
                .send(now, self.sent as Number, self.to_send[self.sent]);
            self.sent += 1;
        }
    }

    fn take_released(&mut self) {
        while let Some(number) = self.link.poll_released() {
            assert_eq!(number as usize, self.released);
            self.released += 1;
        }
    }
}

fn converse(config: &Config, network: &Network, messages: [Vec<usize>; 2], seed: u64) -> [End; 2] {
    let mut random = Random(seed | 1);
    let [first, second] = messages;
    let mut ends = [
        End::new(config.clone(), first),
        End::new(mirrored(config), second),
    ];
    let mut wire: BTreeMap<(u64, u64), (usize, Vec<u8>)> = BTreeMap::new();
    let mut now = 0;
    let mut frames = 0u64;
    let mut rounds = 0;
    loop {
        for (index, end) in ends.iter_mut().enumerate() {
            end.push(now);
            // What the short way would give, and where it would lead.
            let mut short: Option<(Link<Number>, VecDeque<Vec<u8>>)> = None;
            loop {
                if short.is_none() {
                    let mut link = end.link.clone();
                    let frames = middles(&mut link, now);
                    short = (!frames.is_empty()).then_some((link, frames));
                }
                let wanted = end.link.wants_transmit(now);
                let Some(transmit) = end.link.poll_transmit(now) else {
                    assert!(!wanted, "wants_transmit, but there is nothing");
                    assert!(short.is_none(), "the short way gives more frames");
                    break;
                };
                assert!(wanted, "there is something, but wants_transmit said no");
                let bytes = gather(&end.link, &transmit);
                if let Some((link, frames)) = &mut short {
                    assert_eq!(frames.pop_front().as_ref(), Some(&bytes));
                    if frames.is_empty() {
                        assert_eq!(digest(link, now), digest(&end.link, now));
                        assert_eq!(link.counters(), end.link.counters());
                        short = None;
                    }
                }
                let copies = 1 + u64::from(random.percent(network.duplication));
                for _ in 0..copies {
                    frames += 1;
                    if random.percent(network.loss) {
                        continue;
                    }
                    let mut bytes = bytes.clone();
                    if random.percent(network.corruption) {
                        let bit = random.below(bytes.len() as u64 * 8) as usize;
                        bytes[bit / 8] ^= 1 << (bit % 8);
                    }
                    let late = random.percent(network.reordering);
                    let extra = if late {
                        random.below(network.delay_ns * 3)
                    } else {
                        0
                    };
                    wire.insert((now + network.delay_ns + extra, frames), (1 - index, bytes));
                }
            }
        }
        rounds += 1;
        assert!(
            frames < 300_000 && rounds < 300_000,
            "livelock: {frames} frames in {now} ns"
        );
        let arrival = wire.keys().next().map(|&(at, _)| at);
        let timeouts = ends.iter().filter_map(|end| end.link.poll_timeout());
        let Some(next) = arrival.into_iter().chain(timeouts).min() else {
            return ends;
        };
        now = now.max(next);
        for end in &mut ends {
            if end.link.poll_timeout().is_some_and(|at| at <= now) {
                end.link.handle_timeout(now);
            }
        }
        while let Some(entry) = wire.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let (to, bytes) = entry.remove();
            let end = &mut ends[to];
            let mut short = end.link.clone();
            let middle = short.take_middle(now, &bytes, usize::MAX);
            let _ = end.link.handle_frame(now, &bytes, 0);
            if let Some(piece) = middle {
                let mut long = end.link.clone();
                let delivered = long
                    .poll_delivered()
                    .expect("the short way delivered a piece");
                assert_eq!(long.bytes(&delivered, &bytes), &bytes[piece]);
                assert_eq!(long.poll_delivered(), None);
                assert_eq!(
                    digest(&short, now),
                    digest(&long, now),
                    "the short way leads elsewhere"
                );
                assert_eq!(short.counters(), long.counters());
            }
            end.inbox.drain(&mut end.link, &bytes);
            end.take_released();
        }
    }
}

/// The frames that the short way gives.
fn middles(link: &mut Link<Number>, now: u64) -> VecDeque<Vec<u8>> {
    let Some(middles) = link.poll_middles(now, 7) else {
        return VecDeque::new();
    };
    let piece = middles.piece;
    let frame = |number: u32| {
        let frame = Frame {
            sequence: middles.frame.sequence.wrapping_add(number),
            ..middles.frame
        };
        let mut bytes = vec![0; FRAME_HEADER_BYTES];
        frame.emit(bytes.first_chunk_mut().expect("room for a header"));
        bytes.extend(piece.header().emit());
        let begin = piece.offset + number as usize * piece.bytes;
        bytes.extend((begin..begin + piece.bytes).map(|offset| content(piece.message, offset)));
        bytes
    };
    (0..middles.frames).map(frame).collect()
}

/// All that decides about what a link does next.
fn digest(link: &Link<Number>, now: u64) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    link.digest(now, &mut hasher);
    hasher.finish()
}

fn configs() -> impl Strategy<Value = Config> {
    (
        prop_oneof![Just(Recovery::GoBackN), Just(Recovery::Selective)],
        any::<(bool, bool)>(),
        prop_oneof![1u32..10, Just(64), Just(256)],
        prop_oneof![Just(20usize), Just(100), Just(1400)],
        prop_oneof![Just(0u32), Just(u32::MAX - 5), any::<u32>()],
        0u64..300_000,
    )
        .prop_map(
            |(recovery, (congestion, asks), window, payload, first, delay)| Config {
                recovery,
                congestion,
                checked: true,
                window_frames_max: window,
                payload_bytes_max: payload,
                first_sequence: first,
                ack_delay_ns: if asks { 0 } else { delay },
                messages_max: 8,
                channel_in: 3,
                channel_out: 4,
                ..Config::new(5, 6)
            },
        )
}

fn networks() -> impl Strategy<Value = Network> {
    (
        0u64..31,
        0u64..10,
        0u64..20,
        prop_oneof![Just(0), 0u64..5],
        1u64..2_000_000,
    )
        .prop_map(
            |(loss, duplication, reordering, corruption, delay_ns)| Network {
                loss,
                duplication,
                reordering,
                corruption,
                delay_ns,
            },
        )
}

/// Lengths of messages in hundredths of a frame, so that every configuration has about the same
/// number of frames to send.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![0usize..20, 0usize..300, Just(2000)];
    prop::collection::vec(length, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once_and_in_order(
        config in configs(),
        network in networks(),
        messages in [lengths(), lengths()],
        seed in any::<u64>(),
    ) {
        let scaled = |lengths: &Vec<usize>| {
            let scale = |length| length * config.payload_bytes_max / 100;
            lengths.iter().copied().map(scale).collect::<Vec<usize>>()
        };
        let messages = messages.each_ref().map(scaled);
        // Unchecked frames may take the short way.
        let config = Config { checked: network.corruption > 0, ..config.clone() };
        let ends = converse(&config, &network, messages, seed);
        for (here, there) in [(0, 1), (1, 0)] {
            prop_assert_eq!(&ends[here].to_send, &ends[there].inbox.whole);
            prop_assert_eq!(ends[here].released, ends[here].to_send.len());
            prop_assert!(ends[here].link.is_quiet());
            prop_assert_eq!(ends[here].link.silent_since(), None);
        }
    }
}

/// On a network that loses nothing, nothing is sent twice, and acknowledgements are few.
#[test]
fn a_good_network_costs_nothing_extra() {
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        for congestion in [false, true] {
            let config = Config {
                recovery,
                congestion,
                ..Config::new(0, 1)
            };
            let network = Network {
                loss: 0,
                duplication: 0,
                reordering: 0,
                corruption: 0,
                delay_ns: 10_000,
            };
            let messages = [vec![1_000_000; 4], vec![]];
            let ends = converse(&config, &network, messages, 1);
            let counters = ends[0].link.counters();
            assert_eq!(counters.repeats, 0);
            assert_eq!(counters.timeouts, 0);
            let acks = ends[1].link.counters().acks_out;
            assert!(
                acks * 10 < counters.data_out,
                "{acks} of {}",
                counters.data_out
            );
            assert_eq!(ends[1].inbox.whole, vec![1_000_000; 4]);
        }
    }
}
