//! A job in one thread: several endpoints over UDP on the loopback interface, and messages between
//! them whose contents tell whether they arrived as they were sent.

pub mod narrow;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use narrow::Narrow;
use oxmpi_net::JobKey;
use oxmpi_net::device::udp::Families;
use oxmpi_net::device::{Address, Device, Fault, Faults, Udp};
use oxmpi_net::pm::{Options, Peer, Pm, Rail, RailKind};
use oxmpi_net::transport::{Event, Sent};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A random number generator good enough for sizes and contents (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Lengths of all magnitudes up to `most`.
    pub fn length(&mut self, most: usize) -> usize {
        let bits = self.next() % (usize::BITS - most.leading_zeros() + 1) as u64;
        (self.next() & ((1 << bits) - 1)).min(most as u64) as usize
    }
}

/// What a test may choose about a job.
pub struct Plan {
    pub nodes: u32,
    pub rails: usize,
    pub mtu: usize,
    pub options: Options,
    pub faults: Option<&'static str>,
    pub kind: RailKind,
    /// Devices that often have no room.
    pub narrow: bool,
    /// The first process encrypts, whatever the others do.
    pub first_encrypts: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            nodes: 2,
            rails: 1,
            mtu: 1500,
            options: Options::default(),
            faults: None,
            kind: RailKind::Udp,
            narrow: false,
            first_encrypts: false,
        }
    }
}

/// A process of the job.
pub struct Node {
    pub rank: u32,
    pub pm: Pm,
    /// Dialled by others to find out whether this process exists.
    pub listener: Option<TcpListener>,
    pub addresses: Vec<SocketAddr>,
    /// What has arrived: sender, number and contents.
    pub arrived: VecDeque<(u32, i32, Vec<u8>)>,
    arriving: Vec<[Option<Arriving>; 2]>,
    pub released: Vec<u64>,
    pub finished: Vec<u32>,
    pub lost: Vec<u32>,
}

/// A packet whose payload is still coming: number, length and what is there.
type Arriving = (i32, usize, Vec<u8>);

pub fn key() -> JobKey {
    JobKey::from_bytes([5; 16])
}

/// The processes of a job, each of which knows where the others are.
pub fn job(plan: &Plan) -> Vec<Node> {
    let mut bound = Vec::new();
    for rank in 0..plan.nodes {
        let mut devices: Vec<Box<dyn Device>> = Vec::new();
        let mut addresses = Vec::new();
        for _ in 0..plan.rails {
            let udp = Udp::bind(0, plan.mtu, Families::V4).unwrap();
            addresses.push(SocketAddr::from(([127, 0, 0, 1], udp.port())));
            let device: Box<dyn Device> = match plan.faults {
                Some(faults) => {
                    let faults: Faults = faults.parse().unwrap();
                    Box::new(Fault::new(Box::new(udp), faults, rank))
                }
                None if plan.narrow => Box::new(Narrow::new(Box::new(udp), u64::from(rank))),
                None => Box::new(udp),
            };
            devices.push(device);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        bound.push((devices, addresses, listener));
    }
    let places: Vec<(Vec<SocketAddr>, SocketAddr)> = bound
        .iter()
        .map(|(_, addresses, listener)| (addresses.clone(), listener.local_addr().unwrap()))
        .collect();
    let nodes = bound.into_iter().enumerate();
    let nodes = nodes.map(|(rank, (devices, addresses, listener))| {
        let places = places.clone();
        let finder = move |node: u32, rail: usize| {
            let (addresses, listener) = &places[node as usize];
            Ok(Peer {
                addresses: vec![Address::Udp(addresses[rail])],
                channel: node as u16,
                name: rank as u32,
                salt: 0,
                frame_bytes_max: None,
                host: format!("host{node}"),
                probe: vec![*listener],
            })
        };
        let mut node = node_of(plan, rank as u32, devices, Box::new(finder));
        node.listener = Some(listener);
        node.addresses = addresses;
        node
    });
    nodes.collect()
}

/// One process out of devices and a finder.
pub fn node_of(
    plan: &Plan,
    rank: u32,
    devices: Vec<Box<dyn Device>>,
    finder: oxmpi_net::pm::Finder,
) -> Node {
    let channels = vec![rank as u16; devices.len()];
    node_on(plan, rank, devices, channels, finder)
}

/// As [`node_of`], on these channels.
pub fn node_on(
    plan: &Plan,
    rank: u32,
    devices: Vec<Box<dyn Device>>,
    channels: Vec<u16>,
    finder: oxmpi_net::pm::Finder,
) -> Node {
    let rails = devices.into_iter().map(|device| Rail {
        device,
        kind: plan.kind,
    });
    let rails = rails.collect();
    let mut options = plan.options;
    options.encrypted |= plan.first_encrypts && rank == 0;
    let pm = Pm::new(rank, plan.nodes, key(), rails, channels, finder, options).unwrap();
    Node {
        rank,
        pm,
        listener: None,
        addresses: Vec::new(),
        arrived: VecDeque::new(),
        arriving: vec![[None, None]; plan.nodes as usize],
        released: Vec::new(),
        finished: Vec::new(),
        lost: Vec::new(),
    }
}

/// A packet's head: the number is its tag.
pub fn head(kind: Kind, number: i32, bytes: usize) -> ([u8; PREFIX_BYTES], usize) {
    let repr = Repr {
        envelope: Envelope {
            context: 1,
            source: 0,
            tag: number,
            content: Content::new(bytes as u64, 0),
        },
        sequence: number as u32,
        credit: 0,
        kind,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    (prefix, used)
}

impl Node {
    /// Sends a message whose memory need not last.
    pub fn send(&mut self, to: u32, number: i32, payload: &[u8]) -> Sent {
        let (prefix, used) = head(Kind::Eager, number, payload.len());
        // SAFETY: what does not leave at once is copied.
        unsafe {
            self.pm
                .send(to, &prefix[..used], payload.as_ptr(), payload.len(), None)
        }
    }

    /// Sends a message whose memory stays; the caller keeps it until it is released or its receiver
    /// lost.
    pub fn send_lasting(&mut self, to: u32, number: i32, payload: &[u8], token: u64) -> Sent {
        let kind = Kind::Data {
            receive: 1,
            offset: 2,
        };
        let (prefix, used) = head(kind, number, payload.len());
        let head = &prefix[..used];
        // SAFETY: every test keeps the payload until its token is back.
        unsafe {
            self.pm
                .send(to, head, payload.as_ptr(), payload.len(), Some(token))
        }
    }

    /// Sends a whole message that nobody asked for, out of memory that stays until it is released.
    pub fn send_unasked(&mut self, to: u32, number: i32, payload: &[u8], token: u64) -> Sent {
        let (prefix, used) = head(Kind::Eager, number, payload.len());
        let head = &prefix[..used];
        // SAFETY: every test keeps the payload until its token is back, if it is held.
        unsafe {
            self.pm
                .send(to, head, payload.as_ptr(), payload.len(), Some(token))
        }
    }

    /// Takes what has arrived. True if anything has.
    pub fn look(&mut self) -> bool {
        let mut happened = false;
        while let Some(event) = self.pm.poll() {
            happened = true;
            match event {
                Event::Packet {
                    from,
                    prefix,
                    payload,
                } => {
                    let repr = Repr::parse_prefix(&prefix).unwrap();
                    let number = repr.envelope.tag;
                    let rail = self.pm.rail();
                    let place = &mut self.arriving[from as usize][rail];
                    assert!(place.is_none(), "a packet began within another");
                    *place = Some((number, payload, Vec::with_capacity(payload)));
                    self.take(from);
                }
                Event::Payload { from } => {
                    assert!(!self.pm.at_hand().is_empty());
                    self.take(from);
                }
                Event::Released { token } => self.released.push(token),
                Event::Finished(peer) => self.finished.push(peer),
                Event::Lost(peer) => self.lost.push(peer),
            }
        }
        happened
    }

    fn take(&mut self, from: u32) {
        let rail = self.pm.rail();
        let place = &mut self.arriving[from as usize][rail];
        let (_, expected, bytes) = place.as_mut().unwrap();
        let piece = self.pm.at_hand();
        bytes.extend_from_slice(piece);
        let (length, whole) = (piece.len(), bytes.len() == *expected);
        self.pm.pass(length);
        if whole {
            let (number, _, bytes) = place.take().unwrap();
            self.arrived.push_back((from, number, bytes));
        }
    }
}

/// Looks at all nodes in turn until something is true.
pub fn until(nodes: &mut [Node], what: &str, mut done: impl FnMut(&mut [Node]) -> bool) {
    let begin = Instant::now();
    while !done(nodes) {
        for node in nodes.iter_mut() {
            node.look();
        }
        if begin.elapsed() > PATIENCE {
            for node in nodes.iter_mut() {
                eprintln!(
                    "{}: {:?} lost {:?}",
                    node.rank,
                    node.pm.counters(),
                    node.lost
                );
            }
            panic!("waited too long for {what}");
        }
    }
}
