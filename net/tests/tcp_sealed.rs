//! Encrypted connections over real sockets: messages of all sizes, what somebody on the cable sees,
//! processes of which one does not encrypt.

mod pair;
#[allow(dead_code, reason = "other tests use the rest")]
mod sniffer;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxmpi_net::tcp::{Event, Listener, Sent, Tcp};
use oxmpi_net::{Card, JobKey};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};
use pair::Pair;
use sniffer::Sniffer;

const SIZES: [usize; 8] = [0, 1, 60, 3000, 16_300, 70_000, 400_000, 1 << 20];
const ROUNDS: u32 = 2;

/// A process, what has arrived in it, and what it is sending.
struct Node {
    tcp: Tcp,
    arrived: Vec<Vec<u8>>,
    expected: usize,
    lost: Option<String>,
    finished: bool,
    sent: u32,
    under_way: bool,
}

/// Two processes whose listeners and cards are given; `encrypted` each.
fn job(listeners: [Listener; 2], encrypted: [bool; 2], port_of_0: Option<u16>) -> [Node; 2] {
    let mut cards: Vec<Card> = listeners
        .iter()
        .zip(encrypted)
        .map(|(one, encrypted)| one.card("here").unwrap().with_salt(0, encrypted))
        .collect();
    cards[0].port = port_of_0.unwrap_or(cards[0].port);
    let key = JobKey::random().unwrap();
    let mut ranks = 0..;
    listeners.map(|listener| {
        let cards = cards.clone();
        let directory = Box::new(move |peer: u32| Ok(cards[peer as usize].clone()));
        let rank = ranks.next().unwrap();
        let tcp = Tcp::new(rank, 2, key.clone(), listener, directory).unwrap();
        Node {
            tcp: tcp.with_encryption(encrypted[rank as usize]),
            arrived: Vec::new(),
            expected: 0,
            lost: None,
            finished: false,
            sent: 0,
            under_way: false,
        }
    })
}

fn here() -> [Listener; 2] {
    [0, 1].map(|rank| Listener::bind(rank).unwrap())
}

fn content(number: u32) -> Vec<u8> {
    let bytes = SIZES[number as usize % SIZES.len()];
    (0..bytes)
        .map(|at| (at as u8).wrapping_mul(7) ^ number as u8 ^ (at >> 8) as u8)
        .collect()
}

fn head(number: u32, bytes: usize) -> Vec<u8> {
    let repr = Repr {
        envelope: Envelope {
            context: 0x1234_5678_9abc,
            source: 1,
            tag: 0x5a5a_5a5a,
            content: Content::new(bytes as u64, 0),
        },
        sequence: number,
        credit: 0,
        kind: Kind::Eager,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    prefix[..used].to_vec()
}

impl Node {
    /// Takes what has arrived, long payloads straight to their place.
    fn look(&mut self, peer: u32) {
        while let Some(event) = self.tcp.poll() {
            match event {
                Event::Packet { payload, .. } => {
                    assert!(self.expected == 0);
                    self.arrived.push(Vec::with_capacity(payload));
                    self.expected = payload;
                    self.take();
                }
                Event::Payload { .. } => self.take(),
                Event::Lost(_) => {
                    self.lost = Some(self.tcp.trouble(peer).unwrap().what.clone());
                }
                Event::Finished(_) => self.finished = true,
                Event::Released { .. } => unreachable!(),
            }
        }
    }

    fn take(&mut self) {
        let into = self.arrived.last_mut().unwrap();
        let at_hand = self.tcp.at_hand();
        if !at_hand.is_empty() || self.expected == 0 {
            into.extend_from_slice(at_hand);
            let bytes = at_hand.len();
            self.expected -= bytes;
            self.tcp.pass(bytes);
            return;
        }
        let mut piece = vec![0; self.expected.min(100_000)];
        // SAFETY: pointer and length describe the vector.
        let landed = unsafe { self.tcp.read_into(piece.as_mut_ptr(), piece.len()) };
        self.expected -= landed;
        into.extend_from_slice(&piece[..landed]);
    }

    /// Goes on with sending `contents` in turn; messages of odd numbers come from memory that
    /// lasts.
    fn push(&mut self, to: u32, contents: &[Vec<u8>]) {
        if self.under_way {
            self.under_way = !self.tcp.resume(to);
            return;
        }
        let Some(payload) = contents.get(self.sent as usize) else {
            return;
        };
        let (at, bytes) = (payload.as_ptr(), payload.len());
        let lasting = self.sent % 2 == 1;
        // SAFETY: the contents outlive the job.
        match unsafe {
            self.tcp
                .send(to, &head(self.sent, bytes), at, bytes, lasting)
        } {
            Sent::Left => self.sent += 1,
            Sent::Partly => {
                self.sent += 1;
                self.under_way = true;
            }
            _ => {}
        }
    }
}

fn until(nodes: &mut [Node; 2], what: &str, mut done: impl FnMut(&mut [Node; 2]) -> bool) {
    let begin = Instant::now();
    while !done(nodes) {
        nodes[0].look(1);
        nodes[1].look(0);
        assert!(begin.elapsed() < Duration::from_secs(300), "{what}");
    }
}

/// Messages in both directions, each of which must arrive once, whole and in order.
fn talk(nodes: &mut [Node; 2]) {
    let count = ROUNDS * SIZES.len() as u32;
    let contents: Vec<Vec<u8>> = (0..count).map(content).collect();
    until(nodes, "all messages", |nodes| {
        // The second dials, from where the test is.
        nodes[1].push(0, &contents);
        if !nodes[0].arrived.is_empty() {
            nodes[0].push(1, &contents);
        }
        nodes.iter().all(|node| {
            node.arrived.len() == count as usize && node.expected == 0 && node.sent == count
        })
    });
    for node in nodes.iter() {
        assert!(node.arrived == contents);
        assert_eq!(node.lost, None);
    }
    nodes.iter_mut().for_each(|node| node.tcp.close(false));
    until(nodes, "goodbyes", |nodes| {
        nodes.iter().all(|node| node.tcp.is_closed())
    });
    assert!(
        nodes
            .iter()
            .all(|node| node.finished && node.lost.is_none())
    );
}

#[test]
fn messages_of_all_sizes_arrive() {
    talk(&mut job(here(), [true, true], None));
}

#[test]
fn contents_can_be_seen_on_the_way_unless_they_are_encrypted() {
    for encrypted in [false, true] {
        let Some(pair) = Pair::new(1500) else { return };
        let pair = Arc::new(pair);
        let sniffer = Sniffer::on(&pair, 0, Box::new(|_| Vec::new()));
        let listeners =
            [0, 1].map(|host| pair.on(host, move || Listener::bind(host as u32).unwrap()));
        // Sockets are made where the thread is that dials.
        let mut nodes = job(listeners, [encrypted; 2], None);
        pair.enter(1);
        talk(&mut nodes);
        let seen = sniffer.end();
        assert!(seen.len() > 10, "it saw nothing");
        let (short, long) = (content(2), content(7));
        let tag = 0x5a5a_5a5au32.to_le_bytes();
        for telling in [&short[..40], &long[9000..9016], &tag] {
            let shows = |packet: &Vec<u8>| {
                let mut parts = packet.windows(telling.len());
                parts.any(|part| part == telling)
            };
            // Four bytes come together by chance, in a few of a thousand million places.
            if !encrypted || telling.len() > 4 {
                assert_eq!(seen.iter().any(shows), !encrypted);
            }
        }
    }
}

#[test]
fn who_encrypts_does_not_talk_to_who_does_not() {
    let with = "it runs with --encrypt and this process without: OXMPI_ENCRYPT must be the same for all processes of a job";
    let without = "it runs without --encrypt and this process with: OXMPI_ENCRYPT must be the same for all processes of a job";
    for (encrypted, text) in [([true, false], with), ([false, true], without)] {
        let mut nodes = job(here(), encrypted, None);
        let contents = [content(2)];
        until(&mut nodes, "an error", |nodes| {
            nodes[1].push(0, &contents);
            nodes[1].lost.is_some()
        });
        assert_eq!(nodes[1].lost.as_deref(), Some(text));
        assert!(nodes[0].arrived.is_empty());
    }
}

/// Somebody between the two who turns over a bit of what follows the handshake: the receiver says
/// so, and takes nothing.
#[test]
fn an_altered_stream_is_noticed() {
    let listeners = here();
    let behind = listeners[0].port();
    let between = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = between.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut from, _) = between.accept().unwrap();
        let mut to = TcpStream::connect((Ipv4Addr::LOCALHOST, behind)).unwrap();
        let (mut back_from, mut back_to) = (to.try_clone().unwrap(), from.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        // Hello and response have 64 bytes.
        let (mut gone, mut bytes) = (0, [0; 4096]);
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            for byte in &mut bytes[..count] {
                *byte ^= u8::from(gone == 64 + 30);
                gone += 1;
            }
            if to.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    });
    let mut nodes = job(listeners, [true, true], Some(port));
    let contents = [content(2)];
    until(&mut nodes, "an error", |nodes| {
        nodes[1].push(0, &contents);
        nodes[0].lost.is_some()
    });
    let text = "record 0 of its stream: the seal is broken: altered on the way, or forged; somebody between the hosts changes packets, or a network device damages them";
    assert_eq!(nodes[0].lost.as_deref(), Some(text));
    assert!(nodes[0].arrived.is_empty());
}
