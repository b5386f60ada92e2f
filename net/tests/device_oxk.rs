//! PM in the kernel between two hosts: messages of all lengths both ways over /dev/oxk-pm, a cable
//! that is out for a while, and what messages cost in calls.
//!
//! Needs the modules oxk.ko and oxk_pm.ko, and so runs in a guest: `cargo xtask kernel test --only
//! pm-kernel`. Elsewhere the tests say why they were skipped.

mod pair;
#[allow(dead_code, reason = "other tests use the rest")]
mod pm_world;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use oxmpi_net::device::oxk::{self, Oxk, Reservation};
use oxmpi_net::device::{Address, Device};
use oxmpi_net::pm::{Peer, RailKind};
use oxmpi_net::transport::Sent;
use pair::{INTERFACE, Pair, ip};
use pm_world::{Node, Plan, Random, key, node_on, until};

const MTU: usize = 1500;
/// Longer than a window of frames.
const LENGTH_MAX: usize = 1 << 20;

/// A process on either host of a pair.
fn processes() -> Option<(Pair, Vec<Node>)> {
    if let Err(error) = oxk::permitted() {
        eprintln!("skipped: {error}");
        return None;
    }
    let pair = Pair::new(MTU)?;
    let mut opened: Vec<(Oxk, Address, u16)> = Vec::new();
    for host in 0..2 {
        opened.push(pair.on(host, move || {
            let own = IpAddr::V4(Ipv4Addr::new(10, 77, 0, host as u8 + 1));
            let reserved = Reservation::new(INTERFACE, own, std::iter::once(0)).unwrap();
            let place = reserved.address();
            let device = reserved.open(&key(), 1).unwrap();
            (device, Address::Oxk(place), place.port())
        }));
    }
    let places: Vec<(Address, u16)> = opened.iter().map(|one| (one.1, one.2)).collect();
    let plan = Plan {
        kind: RailKind::Kernel,
        ..Plan::default()
    };
    let nodes = opened
        .into_iter()
        .enumerate()
        .map(|(rank, (device, _, own))| {
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
            let device: Box<dyn Device> = Box::new(device);
            node_on(
                &plan,
                rank as u32,
                vec![device],
                vec![own],
                Box::new(finder),
            )
        });
    let nodes = nodes.collect();
    Some((pair, nodes))
}

fn content(number: i32, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at as u8).wrapping_mul(7) ^ number as u8)
        .collect()
}

/// Messages both ways, each of which must arrive once, whole and in order.
fn talk(nodes: &mut [Node], messages: i32, bytes_max: usize, mut step: impl FnMut(i32)) {
    let mut random = Random(7);
    let lengths: Vec<usize> = (0..messages).map(|_| random.length(bytes_max)).collect();
    let mut sent = [0; 2];
    let mut taken = [0; 2];
    until(nodes, "all messages", |nodes| {
        for from in 0..2 {
            let number = sent[from];
            if number < messages {
                let message = content(number, lengths[number as usize]);
                if nodes[from].send(1 - from as u32, number, &message) != Sent::Later {
                    sent[from] += 1;
                    step(number);
                }
            }
            while let Some((sender, number, bytes)) = nodes[from].arrived.pop_front() {
                assert_eq!((sender, number), (1 - from as u32, taken[from]));
                assert!(
                    bytes == content(number, lengths[number as usize]),
                    "{number}"
                );
                taken[from] += 1;
            }
        }
        taken == [messages; 2]
    });
}

fn part(nodes: &mut [Node]) {
    for node in nodes.iter_mut() {
        node.pm.close(false);
    }
    until(nodes, "all goodbyes", |nodes| {
        nodes.iter().all(|node| node.pm.is_closed())
    });
    for node in nodes {
        assert!(node.lost.is_empty(), "{} lost {:?}", node.rank, node.lost);
    }
}

#[test]
fn messages_of_all_lengths_go_both_ways() {
    let Some((_pair, mut nodes)) = processes() else {
        return;
    };
    talk(&mut nodes, 300, LENGTH_MAX, |_| {});
    part(&mut nodes);
}

#[test]
fn a_cable_that_is_out_for_a_while_makes_messages_late() {
    let Some((pair, mut nodes)) = processes() else {
        return;
    };
    talk(&mut nodes, 10, 5000, |_| {});
    talk(&mut nodes, 60, 50_000, |number| {
        if number == 20 || number == 40 {
            let down = format!("link set {INTERFACE} down");
            pair.on(0, move || ip(&[&down])).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            let up = format!("link set {INTERFACE} up");
            pair.on(0, move || ip(&[&up])).unwrap();
        }
    });
    part(&mut nodes);
}

/// Round trips, and what they have cost both sides together.
#[test]
fn a_round_trip_costs_two_turns() {
    const ROUND_TRIPS: u64 = 100;
    let Some((_pair, mut nodes)) = processes() else {
        return;
    };
    talk(&mut nodes, 2, 100, |_| {});
    let calls = |nodes: &[Node]| -> u64 {
        let devices = nodes.iter().map(|node| node.pm.counters().device);
        devices.map(|device| device.sends + device.receives).sum()
    };
    let before = calls(&nodes);
    for number in 0..ROUND_TRIPS as i32 {
        for from in 0..2 {
            let to = 1 - from;
            assert_ne!(
                nodes[from].send(to as u32, number, b"12345678"),
                Sent::Later
            );
            until(&mut nodes, "a message", |nodes| {
                nodes[to].arrived.pop_front().is_some()
            });
        }
    }
    let calls = calls(&nodes) - before;
    println!("count pm_kernel_round_trips={ROUND_TRIPS}");
    println!("count pm_kernel_calls={calls}");
    // One each, and acknowledgements of the library's link beside them.
    assert!(calls <= 6 * ROUND_TRIPS, "{calls} calls");
    part(&mut nodes);
}
