//! The fuzzer's properties on the inputs of `fuzz/corpus`, and on arbitrary bytes.

#[path = "../../fuzz/corpus.rs"]
mod corpus;
mod properties;

use oxmpi_wire::frame::{self, FRAME_HEADER_BYTES, Frame};
use oxmpi_wire::stream::{GOODBYE, PAUSE};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};
use proptest::prelude::*;

#[test]
fn every_kept_input_keeps_the_properties() {
    corpus::each("packet", properties::packet);
    corpus::each("frame", properties::frame);
    corpus::each("stream", properties::stream);
}

proptest! {
    #[test]
    fn arbitrary_bytes_keep_the_properties(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        properties::packet(&bytes);
        properties::frame(&bytes);
        properties::stream(&bytes);
    }
}

/// A packet of each kind.
fn packets() -> Vec<Vec<u8>> {
    let offer = Kind::RequestToSend {
        send: 1,
        address: 2,
        mapped: true,
        fetchable: false,
        sync: true,
    };
    let kinds = [
        Kind::Eager,
        Kind::More { offset: 4 },
        offer,
        Kind::ClearToSend {
            send: 1,
            receive: 2,
        },
        Kind::Data {
            receive: 3,
            offset: 4,
        },
        Kind::Done { send: 5 },
        Kind::Credit,
        Kind::Cancel { send: 6 },
        Kind::CancelReply {
            send: 7,
            cancelled: true,
        },
    ];
    let emitted = kinds.map(|kind| {
        let envelope = Envelope {
            context: 2,
            source: 1,
            tag: 7,
            content: Content::new(9, 0),
        };
        let repr = Repr {
            envelope,
            sequence: 3,
            credit: 1,
            kind,
        };
        let mut cell = [0; PREFIX_BYTES];
        let used = repr.emit_prefix(&mut cell);
        cell[..used].to_vec()
    });
    emitted.to_vec()
}

/// A frame of each kind that has no payload, and of data with two pieces, in the clear and sealed.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let payload = [2, 0, 3, 0, 0xaa, 0xbb, 1, 0, 1, 0, 0xcc];
    for byte in 1..=u8::MAX {
        let Some(kind) = frame::Kind::from_byte(byte) else {
            break;
        };
        let payload = if kind == frame::Kind::Data {
            &payload[..]
        } else {
            &[]
        };
        let mut frame = Frame {
            kind,
            channel: 3,
            to: 0,
            name: 1,
            length: payload.len() as u16,
            flags: 0,
            serial: 7,
            tag: 0x0123_4567_89ab_cdef,
            sequence: 0,
            ack: 1,
            crc: 0,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        frame.emit(&mut header);
        frames.push([&header[..], payload].concat());
        if kind == frame::Kind::Data {
            frame.flags = frame::flag::SEALED;
            frame.emit(&mut header);
            frames.push([&header[..], payload, &[0x5e; frame::SEAL_BYTES]].concat());
        }
    }
    frames
}

#[test]
#[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p oxmpi-wire seeds -- --ignored"]
fn write_the_seeds() {
    for (index, packet) in packets().iter().enumerate() {
        corpus::write("packet", &format!("kind-{}", index + 1), packet);
        let stream = [
            &4u32.to_le_bytes()[..],
            packet,
            b"abcd",
            &GOODBYE.to_le_bytes(),
        ]
        .concat();
        corpus::write("stream", &format!("kind-{}", index + 1), &stream);
    }
    corpus::write("stream", "pause", &PAUSE.to_le_bytes());
    for (index, frame) in frames().iter().enumerate() {
        corpus::write("frame", &format!("kind-{}", index + 1), frame);
    }
}
