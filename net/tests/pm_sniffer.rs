//! Somebody who sees all packets between two hosts and repeats, alters and forges what it saw: two
//! processes that talk over the same cable lose nothing, get nothing twice, and end as always.

mod pair;
#[allow(dead_code, reason = "other tests use the rest")]
mod pm_world;
mod sniffer;

use std::net::SocketAddr;
use std::sync::Arc;

use oxmpi_net::device::ethernet::{Ethernet, Interface};
use oxmpi_net::device::udp::Families;
use oxmpi_net::device::{Address, Channel, Device, Udp};
use oxmpi_net::pm::{Options, Peer, RailKind};
use oxmpi_net::transport::Sent;
use oxmpi_wire::Kind;
use pair::{INTERFACE, Pair};
use pm_world::{Node, Plan, Random, node_on, until};
use sniffer::{Attack, Sniffer};

const MTU: usize = 1500;
const MESSAGES: i32 = 400;

/// A process on either host, and the channels that its devices hold.
fn processes(pair: &Pair, kind: RailKind, plan: &Plan) -> (Vec<Node>, Vec<Channel>) {
    let mut devices: Vec<Box<dyn Device>> = Vec::new();
    let (mut places, mut channels) = (Vec::new(), Vec::new());
    for host in 0..2 {
        if kind == RailKind::Udp {
            let udp = pair.on(host, || Udp::bind(0, MTU, Families::V4).unwrap());
            let address = SocketAddr::from(([10, 77, 0, host as u8 + 1], udp.port()));
            places.push((Address::Udp(address), 0));
            devices.push(Box::new(udp));
            continue;
        }
        let (device, channel) = pair.on(host, move || {
            let index = Interface::named(INTERFACE).unwrap().index;
            let channel = Channel::claim(index).unwrap();
            let device = Ethernet::open(INTERFACE, &channel, host as u32).unwrap();
            (device, channel)
        });
        let address = Address::Ethernet(device.interface().mac);
        places.push((address, channel.number()));
        channels.push(channel);
        devices.push(Box::new(device));
    }
    let nodes = devices.into_iter().enumerate().map(|(rank, device)| {
        let own = places[rank].1;
        let places = places.clone();
        let finder = move |node: u32, _| {
            let (address, channel) = places[node as usize];
            Ok(Peer {
                addresses: vec![address],
                channel,
                name: rank as u32,
                salt: 0,
                frame_bytes_max: None,
                host: format!("host{node}"),
                probe: Vec::new(),
            })
        };
        node_on(plan, rank as u32, vec![device], vec![own], Box::new(finder))
    });
    (nodes.collect(), channels)
}

fn content(number: i32, from: u32) -> Vec<u8> {
    let bytes = [1, 40, 900, 3000, 20_000][number as usize % 5];
    (0..bytes)
        .map(|at| (at as u8).wrapping_mul(7) ^ number as u8 ^ from as u8)
        .collect()
}

/// Messages in both directions, each of which must arrive once, whole and in order.
fn talk(nodes: &mut [Node]) {
    let mut sent = [0; 2];
    until(nodes, "all messages", |nodes| {
        for from in 0..2 {
            let number = sent[from];
            let to = 1 - from as u32;
            if number < MESSAGES
                && nodes[from].send(to, number, &content(number, from as u32)) == Sent::Left
            {
                sent[from] += 1;
            }
        }
        nodes
            .iter()
            .all(|node| node.arrived.len() >= MESSAGES as usize)
    });
    for node in nodes.iter_mut() {
        let from = 1 - node.rank;
        for (number, arrived) in node.arrived.drain(..).enumerate() {
            let number = number as i32;
            assert_eq!((arrived.0, arrived.1), (from, number));
            assert!(arrived.2 == content(number, from), "message {number}");
        }
    }
}

fn close(nodes: &mut [Node]) {
    for node in nodes.iter_mut() {
        node.pm.close(false);
    }
    until(nodes, "goodbyes", |nodes| {
        nodes.iter().all(|node| node.pm.is_closed())
    });
    for node in nodes.iter() {
        assert!(node.lost.is_empty(), "{:?}", node.lost);
        assert_eq!(node.finished, [1 - node.rank]);
    }
}

/// Everything that somebody can do who has no key.
fn attack(seed: u64) -> Attack {
    let mut random = Random(seed);
    let mut old: Vec<Vec<u8>> = Vec::new();
    Box::new(move |frame| {
        let mut evil = vec![frame.to_vec(); 2];
        // Long ago, and again.
        if !old.is_empty() {
            evil.push(old[random.next() as usize % old.len()].clone());
        }
        // The same number with other contents.
        let mut other = frame.to_vec();
        if let Some(byte) = other.get_mut(40 + random.next() as usize % 60) {
            *byte ^= 0x55;
            evil.push(other);
        }
        // Any bit of the header.
        let mut turned = frame.to_vec();
        let bit = random.next() as usize % 320;
        turned[bit / 8] ^= 1 << (bit % 8);
        evil.push(turned);
        // What would hurt: STOP, everything acknowledged, a frame ahead, with a new number.
        for (at, value) in [(14, 2), (20, 200), (16, 1), (1, 4)] {
            let mut crafted = frame.to_vec();
            crafted[at] = crafted[at].wrapping_add(value);
            let number = random.next() as u32;
            crafted[24..28].copy_from_slice(&number.to_le_bytes());
            evil.push(crafted);
        }
        if old.len() < 1000 {
            old.push(frame.to_vec());
        }
        evil
    })
}

/// Every network of frames, in the clear and encrypted.
const NETWORKS: [(RailKind, bool); 4] = [
    (RailKind::Udp, false),
    (RailKind::Ethernet, false),
    (RailKind::Udp, true),
    (RailKind::Ethernet, true),
];

fn plan(kind: RailKind, encrypted: bool) -> Plan {
    let options = Options {
        encrypted,
        ..Options::default()
    };
    Plan {
        kind,
        options,
        ..Plan::default()
    }
}

#[test]
fn nobody_without_a_key_disturbs_a_conversation() {
    for (kind, encrypted) in NETWORKS {
        let Some(pair) = Pair::new(MTU) else { return };
        let pair = Arc::new(pair);
        let sniffers: Vec<Sniffer> = (0..2)
            .map(|host| Sniffer::on(&pair, host, attack(host as u64)))
            .collect();
        let (mut nodes, channels) = processes(&pair, kind, &plan(kind, encrypted));
        let mut rounds = 0;
        while sniffers.iter().any(|sniffer| sniffer.sent() < 3000) {
            talk(&mut nodes);
            rounds += 1;
            assert!(rounds < 1000, "the sniffers see nothing");
        }
        close(&mut nodes);
        for sniffer in sniffers {
            sniffer.end();
        }
        for node in &nodes {
            let counters = node.pm.counters();
            assert!(
                counters.forged > 100 && counters.replayed > 100,
                "{kind:?}: {counters:?}"
            );
        }
        drop(channels);
    }
}

/// What the sniffer shows: without encryption, the contents of messages.
#[test]
fn contents_can_be_seen_on_the_way_unless_they_are_encrypted() {
    for (kind, encrypted) in NETWORKS {
        let Some(pair) = Pair::new(MTU) else { return };
        let pair = Arc::new(pair);
        let sniffer = Sniffer::on(&pair, 0, Box::new(|_| Vec::new()));
        let (mut nodes, _channels) = processes(&pair, kind, &plan(kind, encrypted));
        talk(&mut nodes);
        close(&mut nodes);
        let seen = sniffer.end();
        assert!(seen.len() > 10, "{kind:?}: it saw nothing");
        // Of the contents of short and long messages, and of a packet's head: the tag and what
        // stands around it.
        let (head, used) = pm_world::head(Kind::Eager, 7, 900);
        let head = head[..used].to_vec();
        for telling in [&content(2, 0)[100..164], &content(4, 0)[9000..9016], &head] {
            let shows = |packet: &Vec<u8>| {
                let mut parts = packet.windows(telling.len());
                parts.any(|part| part == telling)
            };
            assert_eq!(seen.iter().any(shows), !encrypted, "{kind:?}");
        }
    }
}
