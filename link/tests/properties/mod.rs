//! What holds for every sequence of frames. The tests of this crate and the fuzzer
//! (`fuzz/targets/link.rs`) call the same.
//!
//! The input says how the link is set up and which frames come: a byte of choices, then for each
//! frame its length, a byte of choices and its bytes. Most frames are given the right name and
//! addresses, else none would come far.

use oxmpi_link::{Config, Link, Recovery};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};

use crate::pair::{Number, gather};

/// Fields of an input before the payload of a frame: kind, flags, sequence, acknowledgement.
const FIELDS: usize = 4;

/// No input makes a link panic, and messages begin once and end once.
pub fn link(input: &[u8]) {
    let Some((&choices, mut rest)) = input.split_first() else {
        return;
    };
    let recovery = match choices & 1 {
        0 => Recovery::GoBackN,
        _ => Recovery::Selective,
    };
    let config = Config {
        recovery,
        checked: choices & 2 != 0,
        payload_bytes_max: 100,
        window_frames_max: 8,
        channel_in: 3,
        channel_out: 4,
        ..Config::new(0, 1)
    };
    let mut link: Link<Number> = Link::new(config, 0);
    if choices & 4 != 0 {
        link.send(0, 0, 300);
    }
    let (mut now, mut within) = (0, false);
    while let [length, choices, after @ ..] = rest {
        let (bytes, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        now += u64::from(*choices >> 4) * 100_000_000;
        let frame = if choices & 1 == 0 {
            dressed(bytes)
        } else {
            bytes.to_vec()
        };
        if link.handle_frame(now, &frame, 0).is_err() {
            assert_eq!(link.poll_delivered(), None);
        }
        while let Some(delivered) = link.poll_delivered() {
            assert_eq!(delivered.first, !within, "messages begin once and end once");
            within = !delivered.last;
            let _ = link.bytes(&delivered, &frame);
        }
        while let Some(transmit) = link.poll_transmit(now) {
            let _ = gather(&link, &transmit);
        }
        while link.poll_released().is_some() {}
        if let Some(at) = link.poll_timeout().filter(|&at| at <= now) {
            link.handle_timeout(at);
        }
    }
}

/// A frame of the link's own conversation with these fields and this payload.
fn dressed(bytes: &[u8]) -> Vec<u8> {
    let Some((&[kind, flags, sequence, ack], payload)) = bytes.split_first_chunk::<FIELDS>() else {
        return bytes.to_vec();
    };
    let kind = Kind::from_byte(kind).unwrap_or(Kind::Data);
    let frame = Frame {
        kind,
        channel: 3,
        to: 0,
        name: 1,
        length: payload.len() as u16,
        flags: u16::from(flags) & kind.flags_allowed() & !1,
        sequence: if kind == Kind::Data {
            u32::from(sequence)
        } else {
            0
        },
        ack: u32::from(ack),
        serial: 0,
        crc: 0,
        tag: 0,
    };
    let mut header = [0; FRAME_HEADER_BYTES];
    frame.emit(&mut header);
    [&header[..], payload].concat()
}
