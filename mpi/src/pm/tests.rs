//! Channels over UDP on loopback: every node a thread of this process, with the real endpoint and
//! the real device below.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use oxmpi_net::JobKey;
use oxmpi_net::device::Address;
use oxmpi_net::device::udp::{Families, Udp};
use oxmpi_net::pm::{Options, Peer, Pm, Rail, RailKind};

use super::{Channel, PmError};

/// Nobody needs longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// An ordinary Ethernet's, so that messages have several frames.
const MTU: usize = 1500;

/// The channels of a job of so many nodes.
fn channels(nodes: u32) -> Vec<Channel> {
    let key = JobKey::from_bytes([7; 16]);
    let devices: Vec<Udp> = (0..nodes)
        .map(|_| Udp::bind(0, MTU, Families::Both).unwrap())
        .collect();
    let addresses: Vec<SocketAddr> = devices
        .iter()
        .map(|device| SocketAddr::from((Ipv4Addr::LOCALHOST, device.port())))
        .collect();
    devices
        .into_iter()
        .enumerate()
        .map(|(node, device)| {
            let addresses = addresses.clone();
            let finder = move |peer: u32, _: usize| {
                Ok(Peer {
                    addresses: vec![Address::Udp(addresses[peer as usize])],
                    channel: 1,
                    name: node as u32,
                    salt: 0,
                    frame_bytes_max: None,
                    host: format!("host{peer}"),
                    probe: Vec::new(),
                })
            };
            let rail = Rail {
                device: Box::new(device),
                kind: RailKind::Udp,
            };
            let pm = Pm::new(
                node as u32,
                nodes,
                key.clone(),
                vec![rail],
                vec![1],
                Box::new(finder),
                Options::default(),
            );
            Channel::over(node as u32, nodes, pm.unwrap())
        })
        .collect()
}

/// Runs one closure per node at the same time, and all channels until everybody is done.
fn nodes(count: u32, body: impl Fn(&mut Channel) + Sync) {
    std::thread::scope(|scope| {
        for mut channel in channels(count) {
            let body = &body;
            scope.spawn(move || body(&mut channel));
        }
    });
}

/// The next message, as bytes.
fn next(channel: &mut Channel) -> (u32, Vec<u8>) {
    let began = Instant::now();
    loop {
        if let Some(message) = channel.receive().unwrap() {
            return (message.from(), message.to_vec());
        }
        assert!(began.elapsed() < PATIENCE, "no message");
        std::thread::yield_now();
    }
}

fn send(channel: &mut Channel, to: u32, bytes: &[u8]) {
    let mut buffer = channel.get_send_buffer(to, bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    channel.send(buffer);
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|place| (place * 7 + length) as u8)
        .collect()
}

const LENGTHS: [usize; 12] = [
    0,
    1,
    8,
    100,
    1400,
    1500,
    20_000,
    65_536,
    1 << 20,
    (1 << 20) + 1,
    3 << 20,
    5,
];

#[test]
fn messages_of_any_length_arrive_in_order() {
    nodes(2, |channel| {
        let peer = 1 - channel.node();
        for length in LENGTHS {
            send(channel, peer, &pattern(length));
        }
        for length in LENGTHS {
            let (from, message) = next(channel);
            assert_eq!((from, message.len()), (peer, length));
            assert!(message == pattern(length), "{length} bytes differ");
        }
    });
}

#[test]
fn everybody_talks_to_everybody_and_to_itself() {
    nodes(4, |channel| {
        for to in 0..4 {
            send(channel, to, &[channel.node() as u8; 300]);
        }
        let mut heard: Vec<u32> = (0..4)
            .map(|_| {
                let (from, message) = next(channel);
                assert_eq!(message, [from as u8; 300]);
                from
            })
            .collect();
        heard.sort_unstable();
        assert_eq!(heard, [0, 1, 2, 3]);
    });
}

#[test]
fn a_short_message_is_shown_in_place_and_a_long_one_put_together() {
    nodes(2, |channel| {
        if channel.node() == 0 {
            send(channel, 1, b"short");
            send(channel, 1, &pattern(10_000));
            assert_eq!(next(channel).1, b"thanks");
            return;
        }
        for (length, in_place) in [(5, true), (10_000, false)] {
            loop {
                if let Some(message) = channel.receive().unwrap() {
                    assert_eq!((message.len(), message.is_in_place()), (length, in_place));
                    break;
                }
            }
        }
        send(channel, 0, b"thanks");
    });
}

#[test]
fn remote_memory_is_written_before_a_later_message_and_read() {
    nodes(2, |channel| {
        let region = channel.register(vec![0; 2 << 20]);
        assert_eq!(region.number(), 0);
        let peer = 1 - channel.node();
        // Both are there before anybody writes.
        send(channel, peer, b"ready");
        assert_eq!(next(channel).1, b"ready");
        if channel.node() == 0 {
            channel.write(1, 0, 10, &pattern((1 << 20) + 500)).unwrap();
            send(channel, 1, b"written");
            assert_eq!(next(channel).1, b"seen");
            let found = channel.read(1, 0, 10, (1 << 20) + 500).unwrap();
            assert!(found == pattern((1 << 20) + 500));
            assert_eq!(channel.read(1, 0, 0, 0).unwrap(), []);
            let refused = channel.read(1, 0, 2 << 20, 1).unwrap_err();
            assert!(matches!(refused, PmError::Refused { bytes: 1, .. }));
            channel.write(1, 5, 0, b"nowhere").unwrap();
            // A read answers after the write before it.
            channel.read(1, 0, 0, 1).unwrap();
            let refused = channel.receive().unwrap_err().to_string();
            assert!(refused.contains("refuses 7 bytes of region 5"), "{refused}");
            send(channel, 1, b"over");
        } else {
            assert_eq!(next(channel).1, b"written");
            let memory = channel.region(&region);
            assert!(memory[10..][..(1 << 20) + 500] == pattern((1 << 20) + 500));
            assert!(memory[..10].iter().all(|byte| *byte == 0));
            send(channel, 0, b"seen");
            assert_eq!(next(channel).1, b"over");
            assert_eq!(channel.unregister(region).len(), 2 << 20);
        }
    });
}

#[test]
fn one_reads_and_writes_ones_own_memory() {
    let mut channel = channels(1).pop().unwrap();
    let region = channel.register(vec![0; 8]);
    channel.write(0, 0, 2, b"abc").unwrap();
    assert_eq!(channel.read(0, 0, 1, 4).unwrap(), b"\0abc");
    channel.region_mut(&region)[0] = 9;
    assert_eq!(channel.region(&region)[0], 9);
    channel.write(0, 0, 6, b"abc").unwrap();
    assert!(matches!(channel.receive(), Err(PmError::Refused { .. })));
}

#[test]
fn a_node_that_does_not_exist_is_an_error_that_says_which_do() {
    let mut channel = channels(2).remove(0);
    let error = channel.get_send_buffer(2, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 2 does not exist: this job has nodes 0 to 1"
    );
}

#[test]
fn messages_to_a_node_that_never_receives_are_bounded() {
    let mut channels = channels(2);
    let _silent = channels.pop();
    let mut channel = channels.pop().unwrap();
    let refused = (0..1_000_000).find_map(|_| match channel.get_send_buffer(1, 1 << 10) {
        Ok(buffer) => {
            channel.send(buffer);
            None
        }
        Err(error) => Some(error),
    });
    assert!(matches!(refused, Some(PmError::Busy { waiting: 1024 })));
    // The other one is not there to hear a goodbye.
    std::mem::forget(channel);
}

#[test]
fn a_node_that_has_closed_takes_nothing_more() {
    nodes(2, |channel| {
        if channel.node() == 0 {
            let began = Instant::now();
            loop {
                let _ = channel.receive().unwrap();
                match channel.get_send_buffer(1, 1) {
                    Err(PmError::Closed { node: 1 }) => return,
                    Ok(_) => assert!(began.elapsed() < PATIENCE),
                    Err(other) => panic!("{other}"),
                }
            }
        }
        send(channel, 0, b"bye");
    });
}
