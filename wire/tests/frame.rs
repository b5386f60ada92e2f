//! Frames: golden bytes, texts, and properties over arbitrary bytes.

use oxmpi_wire::frame::{
    FRAME_HEADER_BYTES, Frame, FrameError, Kind, PIECE_HEADER_BYTES, PieceHeader, SEAL_BYTES, flag,
    frame_bytes, is_sealed, serial, set_crc, set_serial, set_tag, tag,
};
use proptest::prelude::*;

fn sample() -> Frame {
    Frame {
        kind: Kind::Data,
        channel: 0x0102,
        to: 0x0304_0506,
        name: 0x0708_090a,
        length: 6,
        flags: flag::CHECKED | flag::STOPPED | flag::ASKING,
        sequence: 0x2122_2324,
        ack: 0x3132_3334,
        serial: 0x5152_5354,
        crc: 0x4142_4344,
        tag: 0x1112_1314_1516_1718,
    }
}

#[test]
fn a_frame_has_its_bytes() {
    let mut golden = vec![2, 1, 0x02, 0x01, 6, 5, 4, 3, 0x0a, 9, 8, 7, 6, 0, 0x0b, 0];
    golden.extend([0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31]);
    golden.extend([0x54, 0x53, 0x52, 0x51, 0x44, 0x43, 0x42, 0x41]);
    golden.extend([0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]);
    let mut header = [0xee; FRAME_HEADER_BYTES];
    sample().emit(&mut header);
    assert_eq!(header[..], golden);
    let piece = PieceHeader {
        bytes: 2,
        first: true,
        last: false,
    };
    assert_eq!(piece.emit(), [2, 0, 1, 0]);
    golden.extend([2, 0, 1, 0, 0xaa, 0xbb]);
    let (frame, payload) = Frame::parse(&golden).expect("a legal frame");
    assert_eq!(frame, sample());
    assert_eq!(PieceHeader::parse(payload), Some(piece));
    assert_eq!(frame_bytes(&golden), Some(golden.len()));
    set_crc(&mut header, 7);
    set_serial(&mut header, 0x6_0000_0005);
    set_tag(&mut header, 9);
    assert_eq!(
        header[24..],
        [5, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!((serial(&header), tag(&header)), (5, 9));
}

#[test]
fn a_sealed_frame_has_a_trailer() {
    let sealed = Frame {
        flags: flag::SEALED,
        crc: 0,
        ..sample()
    };
    let mut bytes = vec![7; FRAME_HEADER_BYTES + 6 + SEAL_BYTES];
    sealed.emit(bytes.first_chunk_mut().expect("long enough"));
    assert_eq!(bytes[14..16], [16, 0]);
    assert_eq!(frame_bytes(&bytes), Some(bytes.len()));
    let (frame, payload) = Frame::parse(&bytes).expect("a legal frame");
    assert_eq!((frame, payload), (sealed, &[7; 6][..]));
    assert!(is_sealed(&bytes) && !is_sealed(&bytes[..FRAME_HEADER_BYTES + SEAL_BYTES - 1]));
    for cut in 0..bytes.len() {
        assert!(Frame::parse(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    assert_eq!(
        sealed.to_string(),
        "117967114→50595078 data #555885348 6 B ack 825373492 sealed"
    );
}

#[test]
fn what_is_not_a_frame_is_refused_with_its_values() {
    let mut good = vec![0; FRAME_HEADER_BYTES + 6];
    sample().emit(good.first_chunk_mut().expect("long enough"));
    let with = |at: usize, value: u8| {
        let mut bad = good.clone();
        bad[at] = value;
        Frame::parse(&bad).expect_err("not a frame").to_string()
    };
    assert_eq!(
        with(0, 1),
        "frame has layout version 1, this build speaks version 2; start every rank of the job with the same OxMPI release"
    );
    assert_eq!(
        with(1, 9),
        "frame has unknown kind 9, version 2 knows 1 to 8"
    );
    assert_eq!(
        with(14, 0x2f),
        "frame of kind 1 has flags 0x002f, of which only 0x001b are legal"
    );
    assert_eq!(
        with(12, 7),
        "frame has 6 bytes of payload, but its header says 7"
    );
    assert_eq!(
        with(14, 0),
        "frame of kind 1 has values in fields that it does not use"
    );
    assert_eq!(
        Frame::parse(&good[..39])
            .expect_err("not a frame")
            .to_string(),
        "39 bytes are too few for a frame, whose header alone takes 40"
    );
    let empty = Frame {
        length: 0,
        ..sample()
    };
    let mut header = [0; FRAME_HEADER_BYTES];
    empty.emit(&mut header);
    assert_eq!(
        Frame::parse(&header),
        Err(FrameError::Payload { kind: 1, bytes: 0 })
    );
}

#[test]
fn people_can_read_it() {
    assert_eq!(
        Frame {
            name: 3,
            to: 1,
            sequence: 17,
            ack: 9,
            ..sample()
        }
        .to_string(),
        "3→1 data #17 6 B ack 9 asking stopped"
    );
    let control = |kind, flags, length| {
        Frame {
            kind,
            flags,
            length,
            name: 3,
            to: 1,
            ack: 9,
            ..sample()
        }
        .to_string()
    };
    assert_eq!(
        control(Kind::Ack, flag::SELECTIVE, 2),
        "3→1 ack 9 selective"
    );
    assert_eq!(control(Kind::Lose, 0, 0), "3→1 LOSE ack 9");
    assert_eq!(
        control(Kind::Stop, flag::STOPPED, 0),
        "3→1 STOP ack 9 stopped"
    );
}

/// Bytes that come far: mostly a right version, a kind near the legal ones, few flags, a length
/// that is often right.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let rest = prop::collection::vec(any::<u8>(), 24..80);
    (1u8..4, 0u8..10, 0u8..40, any::<bool>(), rest).prop_map(
        |(version, kind, flags, honest, rest)| {
            let mut bytes = vec![version, kind, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, flags, 0];
            bytes.extend(rest);
            bytes[28..32].fill(0);
            if honest {
                let trailer = usize::from(flags & 16 != 0) * SEAL_BYTES;
                bytes[12] = (bytes.len() - FRAME_HEADER_BYTES).saturating_sub(trailer) as u8;
            }
            bytes
        },
    )
}

/// Whatever is accepted is emitted again as the same bytes.
fn accepted_or_refused(bytes: &[u8]) {
    match Frame::parse(bytes) {
        Ok((frame, payload)) => {
            let mut again = [0; FRAME_HEADER_BYTES];
            frame.emit(&mut again);
            assert_eq!(again, bytes[..FRAME_HEADER_BYTES]);
            let end = bytes.len()
                - if frame.has(flag::SEALED) {
                    SEAL_BYTES
                } else {
                    0
                };
            assert_eq!(payload, &bytes[FRAME_HEADER_BYTES..end]);
            assert_eq!(frame_bytes(bytes), Some(bytes.len()));
            assert!(!frame.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(piece) = PieceHeader::parse(bytes) {
        assert_eq!(piece.emit(), bytes[..PIECE_HEADER_BYTES]);
        assert!(bytes.len() >= PIECE_HEADER_BYTES + usize::from(piece.bytes));
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        accepted_or_refused(&bytes);
    }

    #[test]
    fn plausible_bytes_never_panic(bytes in plausible()) {
        accepted_or_refused(&bytes);
    }
}
