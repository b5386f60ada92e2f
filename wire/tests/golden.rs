//! The layout, byte by byte, and every text people see.
//!
//! A failure here means that this build cannot talk to earlier ones: raise `VERSION` or repair the
//! layout. Texts are pinned because documentation quotes them.

use oxmpi_wire::{Code, Envelope, Kind, PREFIX_BYTES, Packet, Repr, VERSION, WireError};

/// What lies in the cell before; emit must leave the bytes behind the packet alone.
const UNTOUCHED: u8 = 0xEE;

fn repr(kind: Kind) -> Repr {
    Repr {
        envelope: Envelope {
            context: 0x0403_0201,
            source: 0x0807_0605,
            tag: -2,
            bytes: 0x1817_1615_1413_1211,
        },
        sequence: 0x2423_2221,
        credit: 0x0000_0002,
        kind,
    }
}

/// The header that [`repr`] has with any kind.
fn header(kind: u8, flags: u8) -> Vec<u8> {
    let mut bytes = vec![1, kind, flags, 0];
    bytes.extend([1, 2, 3, 4, 5, 6, 7, 8, 0xfe, 0xff, 0xff, 0xff]);
    bytes.extend([0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
    bytes.extend([0x21, 0x22, 0x23, 0x24, 2, 0, 0, 0]);
    bytes
}

const A: u64 = 0xa8a7_a6a5_a4a3_a2a1;
const A_BYTES: [u8; 8] = [0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8];
const B: u64 = 0xb8b7_b6b5_b4b3_b2b1;
const B_BYTES: [u8; 8] = [0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8];

/// Every kind with its kind byte, its flags and its body.
fn table() -> Vec<(Kind, u8, u8, Vec<u8>)> {
    let request = |mapped, fetchable, sync| Kind::RequestToSend {
        send: A,
        address: B,
        mapped,
        fetchable,
        sync,
    };
    let reply = |cancelled| Kind::CancelReply { send: A, cancelled };
    let one = A_BYTES.to_vec();
    let two = [A_BYTES, B_BYTES].concat();
    let clear = Kind::ClearToSend {
        send: A,
        receive: B,
    };
    let data = Kind::Data {
        receive: A,
        offset: B,
    };
    vec![
        (Kind::Eager, 1, 0, vec![]),
        (Kind::More { offset: A }, 2, 0, one.clone()),
        (request(false, false, false), 3, 0, two.clone()),
        (request(true, false, false), 3, 1, two.clone()),
        (request(false, true, false), 3, 2, two.clone()),
        (request(false, false, true), 3, 4, two.clone()),
        (clear, 4, 0, two.clone()),
        (data, 5, 0, two),
        (Kind::Done { send: A }, 6, 0, one.clone()),
        (Kind::Credit, 7, 0, vec![]),
        (Kind::Cancel { send: A }, 8, 0, one.clone()),
        (reply(false), 9, 0, one.clone()),
        (reply(true), 9, 8, one),
    ]
}

#[test]
fn every_kind_has_its_bytes() {
    for (kind, byte, flags, body) in table() {
        let mut golden = header(byte, flags);
        golden.extend(body);
        let mut cell = [UNTOUCHED; PREFIX_BYTES];
        let used = repr(kind).emit_prefix(&mut cell);
        assert_eq!(cell[..used], golden, "{kind:?}");
        assert_eq!(used, repr(kind).bytes_on_wire(), "{kind:?}");
        assert!(cell[used..].iter().all(|&byte| byte == UNTOUCHED));
        assert_eq!(Repr::parse_prefix(&cell), Ok(repr(kind)));
        assert_eq!(kind.code() as u8, byte);
    }
}

#[test]
fn a_slice_of_exactly_the_packet_is_enough() {
    for (kind, ..) in table() {
        let mut exact = vec![UNTOUCHED; repr(kind).bytes_on_wire()];
        assert_eq!(repr(kind).emit(&mut exact), exact.len());
        let packet = Packet::new_checked(&exact).expect("emitted just now");
        assert_eq!(Repr::parse(&packet), repr(kind));
        assert!(packet.payload().is_empty());
    }
}

#[test]
#[should_panic(expected = "31 bytes given for a packet prefix of 32")]
fn a_slice_too_short_is_the_callers_mistake() {
    repr(Kind::Eager).emit(&mut [0; 31]);
}

#[test]
fn the_payload_follows_the_body() {
    for (kind, ..) in table() {
        let mut bytes = vec![0; repr(kind).bytes_on_wire()];
        repr(kind).emit(&mut bytes);
        bytes.extend(b"payload");
        let packet = Packet::new_checked(&bytes).expect("emitted just now");
        assert_eq!(packet.payload(), b"payload", "{kind:?}");
    }
}

#[test]
fn what_is_not_a_packet_is_refused_with_its_values() {
    let mut good = [0; PREFIX_BYTES];
    repr(Kind::More { offset: A }).emit(&mut good);
    let refused = |bytes: &[u8]| Packet::new_checked(bytes).expect_err("not a packet");
    let with = |at: usize, value: u8| {
        let mut bad = good;
        bad[at] = value;
        refused(&bad).to_string()
    };
    assert_eq!(
        with(0, 2),
        "packet has layout version 2, this build speaks version 1; start every rank of the job \
         with the same OxMPI release"
    );
    assert_eq!(
        with(1, 10),
        "packet has unknown kind 10, version 1 knows 1 to 9; the bytes are damaged or do not come \
         from OxMPI"
    );
    assert_eq!(
        with(2, 5),
        "packet of kind 2 has flags 0x0005, of which only 0x0000 are legal; the bytes are damaged \
         or do not come from OxMPI"
    );
    assert_eq!(
        refused(&good[..39]).to_string(),
        "packet of 39 bytes is cut short: its header and body take 40; the sender or the device \
         between lost the rest"
    );
    let short = |found, needed| WireError::Short { found, needed };
    assert_eq!(refused(&[]), short(0, 32));
    assert_eq!(refused(&good[..31]), short(31, 32));
}

/// Before anything else is believed: another version may have moved every other field.
#[test]
fn the_version_is_looked_at_first() {
    let strange = [VERSION + 1, 0xff, 0xff, 0xff].repeat(14);
    let refused = Packet::new_checked(&strange).expect_err("another version");
    assert_eq!(refused, WireError::Version { found: VERSION + 1 });
}

#[test]
fn exactly_the_codes_of_the_table_exist() {
    let known: Vec<u8> = (0..=255)
        .filter(|&byte| Code::from_byte(byte).is_some())
        .collect();
    assert_eq!(known, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn people_can_read_it() {
    let text = |kind| {
        let envelope = Envelope {
            context: 2,
            source: 1,
            tag: 7,
            bytes: 4096,
        };
        let repr = Repr {
            envelope,
            sequence: 9,
            credit: 0,
            kind,
        };
        let line = repr.to_string();
        let front = line.strip_suffix(" | context 2 source 1 tag 7, 4096 bytes");
        front.expect("every line ends so").to_owned()
    };
    let request = |mapped, fetchable, sync| Kind::RequestToSend {
        send: 16,
        address: 255,
        mapped,
        fetchable,
        sync,
    };
    let reply = |cancelled| Kind::CancelReply {
        send: 16,
        cancelled,
    };
    let clear = Kind::ClearToSend {
        send: 16,
        receive: 17,
    };
    let data = Kind::Data {
        receive: 17,
        offset: 64,
    };
    assert_eq!(text(Kind::Eager), "#9 eager");
    assert_eq!(text(Kind::More { offset: 64 }), "#9 more at 64");
    assert_eq!(
        text(request(true, false, false)),
        "#9 request to send 0x10, segment 0xff"
    );
    assert_eq!(
        text(request(false, true, true)),
        "#9 request to send 0x10, address 0xff, fetchable, synchronous"
    );
    assert_eq!(text(clear), "#9 clear to send 0x10, receive 0x11");
    assert_eq!(text(data), "#9 data for 0x11 at 64");
    assert_eq!(text(Kind::Done { send: 16 }), "#9 done 0x10");
    assert_eq!(text(Kind::Credit), "#9 credit");
    assert_eq!(text(Kind::Cancel { send: 16 }), "#9 cancel 0x10");
    assert_eq!(text(reply(true)), "#9 cancel 0x10: taken back");
    assert_eq!(text(reply(false)), "#9 cancel 0x10: too late");
    let credited = repr(Kind::Credit).to_string();
    assert!(credited.ends_with(" | returns 128 bytes"), "{credited}");
}
