//! Processes that have the job's key and still do not speak its language, or speak too early:
//! whatever they send, the endpoint survives it and says who it was.

#[allow(dead_code, reason = "other tests use the rest")]
mod pm_world;

use std::net::{SocketAddr, UdpSocket};

use oxmpi_link::{Config, FrameKey, Link, Recovery, Session};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};
use pm_world::{Node, Plan, job, key, until};
use proptest::prelude::*;

/// Process 0 as a bare link over a socket, talking to process 1.
struct Babbler {
    socket: UdpSocket,
    link: Link<usize>,
    session: Session,
    messages: Vec<Vec<u8>>,
    to: SocketAddr,
}

/// The key of the proofs of frames in one direction, as docs/network.md derives it.
fn frame_key(from: u32, to: u32) -> FrameKey {
    let none = 0u64.to_le_bytes();
    let proof = key().proof(&[
        b"oxmpi frame proof",
        b"talk",
        &0u32.to_le_bytes(),
        &from.to_le_bytes(),
        &none,
        &to.to_le_bytes(),
        &none,
    ]);
    FrameKey::new(*proof.first_chunk().unwrap())
}

impl Babbler {
    fn new(to: SocketAddr) -> Babbler {
        let mut config = Config::new(0, 1);
        config.channel_out = 1;
        config.recovery = Recovery::Selective;
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        Babbler {
            socket,
            link: Link::new(config, 0),
            session: Session::new(frame_key(0, 1), frame_key(1, 0)),
            messages: Vec::new(),
            to,
        }
    }

    fn send(&mut self, message: Vec<u8>) {
        self.link.send(0, self.messages.len(), message.len());
        self.messages.push(message);
        while let Some(transmit) = self.link.poll_transmit(0) {
            let mut frame = vec![0; FRAME_HEADER_BYTES];
            transmit.frame.emit(frame.first_chunk_mut().unwrap());
            for piece in self.link.pieces(&transmit) {
                frame.extend(piece.header().emit());
                let message = &self.messages[piece.message];
                frame.extend(&message[piece.offset..piece.offset + piece.bytes]);
            }
            self.session.sign(frame.first_chunk_mut().unwrap());
            self.socket.send_to(&frame, self.to).unwrap();
        }
    }
}

/// Process 1, and somebody who speaks to it as process 0.
fn listener() -> (Vec<Node>, Babbler) {
    let mut nodes = job(&Plan::default());
    drop(nodes.remove(0));
    let babbler = Babbler::new(nodes[0].addresses[0]);
    (nodes, babbler)
}

#[test]
fn a_message_that_is_no_packet_is_named() {
    let head = |length: u32| {
        let (prefix, used) = pm_world::head(oxmpi_wire::Kind::Eager, 1, length as usize);
        let mut message = length.to_le_bytes().to_vec();
        message.extend_from_slice(&prefix[..used]);
        message
    };
    let mut early = head(100);
    early.extend([0; 50]);
    let mut late = head(10);
    late.extend([0; 11]);
    for (message, said) in [
        (vec![0, 0, 0, 0, 3, 0x60], "length 0 and kind 96"),
        (vec![255, 255, 255, 127], "length 2147483647"),
        (vec![1, 2], "ends too early"),
        (early, "ends too early"),
        (late, "longer than it says"),
    ] {
        let (mut nodes, mut babbler) = listener();
        babbler.send(message);
        until(&mut nodes, said, |nodes| nodes[0].lost == [0]);
        let what = &nodes[0].pm.trouble(0).unwrap().what;
        assert!(what.contains(said), "{what}");
        assert!(what.contains("same version"), "{what}");
    }
}

#[test]
fn another_version_of_packets_is_named() {
    let (mut nodes, mut babbler) = listener();
    babbler.send(vec![0, 0, 0, 0, 1, 1]);
    until(&mut nodes, "version", |nodes| nodes[0].lost == [0]);
    let what = &nodes[0].pm.trouble(0).unwrap().what;
    assert!(
        what.starts_with("packet has layout version 1, this build speaks version 3"),
        "{what}"
    );
}

#[test]
fn a_greeting_begins_no_conversation() {
    let (mut nodes, babbler) = listener();
    let frame = Frame {
        kind: Kind::Hello,
        channel: 1,
        to: 1,
        name: 0,
        length: 0,
        flags: 0,
        sequence: 0,
        ack: 0,
        serial: 0,
        crc: 0,
        tag: 0,
    };
    let mut header = [0; FRAME_HEADER_BYTES];
    frame.emit(&mut header);
    babbler.socket.send_to(&header, babbler.to).unwrap();
    for _ in 0..100 {
        nodes[0].look();
    }
    let counters = nodes[0].pm.counters();
    assert_eq!(
        (counters.device.frames_in, counters.peers, counters.forged),
        (1, 0, 0)
    );
    nodes[0].pm.close(false);
    assert!(nodes[0].pm.is_closed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_messages_are_survived(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..8),
        small in any::<bool>(),
    ) {
        let (mut nodes, mut babbler) = listener();
        for mut message in messages {
            if small && message.len() > 5 {
                // More of it looks like a packet.
                let front = [message[0], 0, 0, 0, 2, message[5]];
                message[..6].copy_from_slice(&front);
            }
            babbler.send(message);
        }
        for _ in 0..50 {
            while let Some(event) = nodes[0].pm.poll() {
                let _ = event;
                let bytes = nodes[0].pm.at_hand().len();
                nodes[0].pm.pass(bytes);
            }
        }
    }
}
