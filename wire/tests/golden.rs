//! The layout, byte by byte, and every text people see.
//!
//! A failure here means that this build cannot talk to earlier ones: raise `VERSION` or repair the
//! layout. Texts are pinned because documentation quotes them.

use oxmpi_wire::{
    Code, Content, Eager, Envelope, Kind, MESSAGE_BYTES_MAX, PREFIX_BYTES, Packet, Repr, VERSION,
    WireError, reason,
};

/// What lies in the cell before; emit must leave the bytes behind the packet alone.
const UNTOUCHED: u8 = 0xEE;

fn repr(kind: Kind) -> Repr {
    Repr {
        envelope: Envelope {
            context: 0x0c0b_0a09_0403_0201,
            source: 0x0807_0605,
            tag: -2,
            content: Content::new(0x1615_1413_1211, 0x17),
        },
        sequence: 0x2423_2221,
        credit: 0x3231,
        kind,
    }
}

/// The header that [`repr`] has with any kind.
fn header(kind: u8, flags: u8) -> Vec<u8> {
    let mut bytes = vec![3, kind, 0x31, 0x32, 5, 6, 7, 8];
    bytes.extend([1, 2, 3, 4, 9, 10, 11, 12]);
    bytes.extend([0xfe, 0xff, 0xff, 0xff, 0x21, 0x22, 0x23, 0x24]);
    bytes.extend([0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, flags]);
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
    let lock = |exclusive| Kind::Lock {
        token: A,
        exclusive,
    };
    let put = |typed| Kind::Put {
        token: A,
        offset: B,
        typed,
    };
    let get = |typed| Kind::Get {
        token: A,
        offset: B,
        typed,
    };
    let accumulate = |typed, fetching| Kind::Accumulate {
        token: A,
        offset: B,
        operation: 0xd2d1,
        element: 0xe2e1,
        typed,
        fetching,
    };
    let refused = Kind::Refused {
        token: A,
        kind: 0xd1,
        reason: 0xe1,
    };
    let swap = Kind::CompareSwap {
        token: A,
        offset: B,
        element: 0xe2e1,
    };
    let cleared = Kind::Cleared {
        receive: A,
        send: B,
    };
    let (instance, value) = (A, B);
    let (token, offset, name) = (A, B, 0xd4d3_d2d1);
    let third = |word: [u8; 8]| [A_BYTES, B_BYTES, word].concat();
    let combined = third([0xe1, 0xe2, 0xd1, 0xd2, 0, 0, 0, 0]);
    let swapped = third([0xe1, 0xe2, 0, 0, 0, 0, 0, 0]);
    let why = [A_BYTES, [0xd1, 0xe1, 0, 0, 0, 0, 0, 0]].concat();
    let named = [A_BYTES, [0xd1, 0xd2, 0xd3, 0xd4, 0, 0, 0, 0]].concat();
    vec![
        (Kind::Eager, 0x01, 0, vec![]),
        (Kind::Credit, 0x02, 0, vec![]),
        (Kind::Revoke, 0x03, 0, vec![]),
        (Kind::More { offset: A }, 0x41, 0, one.clone()),
        (Kind::Done { send: A }, 0x42, 0, one.clone()),
        (Kind::Cancel { send: A }, 0x43, 0, one.clone()),
        (reply(false), 0x44, 0, one.clone()),
        (reply(true), 0x44, 8, one.clone()),
        (lock(false), 0x45, 0x80, one.clone()),
        (lock(true), 0x45, 0x81, one.clone()),
        (Kind::Locked { token }, 0x46, 0, one.clone()),
        (Kind::Unlock { token }, 0x47, 0x80, one.clone()),
        (Kind::Flush { token }, 0x48, 0x80, one.clone()),
        (Kind::Served { token }, 0x49, 0, one),
        (request(false, false, false), 0x81, 0, two.clone()),
        (request(true, false, false), 0x81, 1, two.clone()),
        (request(false, true, false), 0x81, 2, two.clone()),
        (request(false, false, true), 0x81, 4, two.clone()),
        (clear, 0x82, 0, two.clone()),
        (refused, 0x83, 0, why),
        (put(false), 0x84, 0x80, two.clone()),
        (put(true), 0x84, 0x81, two.clone()),
        (get(false), 0x85, 0x80, two.clone()),
        (get(true), 0x85, 0x81, two.clone()),
        (Kind::Agree { instance, value }, 0x86, 0, two.clone()),
        (Kind::Agreed { instance, value }, 0x87, 0, two.clone()),
        (Kind::Introduce { token, name }, 0x88, 0x80, named.clone()),
        (Kind::Introduced { token, name }, 0x89, 0, named),
        (data, 0xa1, 0, two.clone()),
        (Kind::Fetched { token, offset }, 0xa2, 0, two.clone()),
        (cleared, 0xa3, 0x80, two),
        (accumulate(false, false), 0xc1, 0x80, combined.clone()),
        (accumulate(true, false), 0xc1, 0x81, combined.clone()),
        (accumulate(false, true), 0xc1, 0x82, combined),
        (swap, 0xc2, 0x80, swapped),
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
        assert_eq!(kind.byte(), byte);
        let asks = (flags & 0x80 != 0).then_some(A);
        assert_eq!(kind.asks(), asks, "{kind:?}");
        assert_eq!(kind.is_ordered(), ![0xa1, 0xa2, 0xa3].contains(&byte));
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
        with(0, 1),
        "packet has layout version 1, this build speaks version 3; start every rank of the job \
         with the same OxMPI release"
    );
    assert_eq!(
        with(1, 0x40),
        "packet has kind 0x40, which is none; the bytes are damaged or do not come from OxMPI"
    );
    assert_eq!(
        with(31, 5),
        "packet of kind 0x41 has flags 0x05 instead of some of 0x00; the bytes are damaged or do not \
         come from OxMPI"
    );
    let mut unasked = [0; PREFIX_BYTES];
    repr(Kind::Flush { token: A }).emit(&mut unasked);
    unasked[31] = 0;
    assert_eq!(
        refused(&unasked).to_string(),
        "packet of kind 0x48 has flags 0x00 instead of some of 0x80; the bytes are damaged or do not \
         come from OxMPI"
    );
    let introduction = Kind::Introduce { token: A, name: 7 };
    let mut odd = [0; PREFIX_BYTES];
    repr(introduction).emit(&mut odd);
    odd[44] = 1;
    assert_eq!(
        refused(&odd).to_string(),
        "packet of kind 0x88 has values in parts of its body that it does not use; the bytes are \
         damaged or do not come from OxMPI"
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
    assert_eq!(known, Code::ALL.map(|code| code as u8));
    let mut told: Vec<u8> = table().iter().map(|(_, byte, ..)| *byte).collect();
    told.dedup();
    assert_eq!(known, told, "every kind has golden bytes");
}

/// A kind that a later release adds is read as what it is, and leaves as it came.
#[test]
fn an_unknown_kind_keeps_its_bytes() {
    for (byte, words) in [(0x1f, 0), (0x5f, 1), (0x9f, 2), (0xbf, 2), (0xdf, 3)] {
        for flags in [0, 0x85] {
            let mut bytes = header(byte, flags);
            bytes.extend([A_BYTES, B_BYTES, A_BYTES].concat()[..8 * words].iter());
            let packet = Packet::new_checked(&bytes).expect("a later release may have it");
            let parsed = Repr::parse(&packet);
            let Kind::Unknown(unknown) = parsed.kind else {
                panic!("{byte:#x} was taken for {}", parsed.kind);
            };
            assert_eq!(unknown.kind(), byte);
            assert_eq!(parsed.kind.is_ordered(), byte != 0xbf);
            let asks = (flags & 0x80 != 0 && words > 0).then_some(A);
            assert_eq!(parsed.kind.asks(), asks);
            let mut again = vec![0; bytes.len()];
            assert_eq!(parsed.emit(&mut again), bytes.len());
            assert_eq!(again, bytes);
            assert_eq!(parsed.kind.to_string(), format!("unknown kind {byte:#04x}"));
        }
    }
}

/// Fields at their ends do not run into each other.
#[test]
fn the_longest_message_has_no_flags() {
    let mut longest = repr(Kind::Eager);
    longest.envelope.content = Content::new(MESSAGE_BYTES_MAX, 0);
    let mut cell = [0; PREFIX_BYTES];
    longest.emit_prefix(&mut cell);
    let eager = Eager::parse_prefix(&cell).expect("an eager header");
    assert_eq!(eager.envelope, longest.envelope);
    assert_eq!((eager.sequence, eager.credit), (0x2423_2221, 0x3231));
    cell[31] = 1;
    assert_eq!(Eager::parse_prefix(&cell), None);
}

#[test]
fn people_can_read_it() {
    let text = |kind| {
        let envelope = Envelope {
            context: 2,
            source: 1,
            tag: 7,
            content: Content::new(4096, 0),
        };
        let repr = Repr {
            envelope,
            sequence: 9,
            credit: 0,
            kind,
        };
        let line = repr.to_string();
        let front = line.strip_suffix(" | context 0x2 source 1 tag 7, 4096 bytes");
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
    assert!(credited.ends_with(" | returns 822336 bytes"), "{credited}");
}

#[test]
fn people_can_read_the_kinds_to_come() {
    let (token, offset, name) = (16, 64, 7);
    let (instance, value) = (3, 255);
    let refused = |reason| Kind::Refused {
        token,
        kind: 0xc1,
        reason,
    };
    let accumulate = |typed, fetching| Kind::Accumulate {
        token,
        offset,
        operation: 0x23,
        element: 0x208,
        typed,
        fetching,
    };
    let put = |typed| Kind::Put {
        token,
        offset,
        typed,
    };
    let get = |typed| Kind::Get {
        token,
        offset,
        typed,
    };
    let swap = Kind::CompareSwap {
        token,
        offset,
        element: 0x208,
    };
    let lock = |exclusive| Kind::Lock { token, exclusive };
    for (kind, text) in [
        (
            refused(reason::UNKNOWN),
            "refused 0x10: kind 0xc1 is not known",
        ),
        (
            refused(reason::NOT_SERVED),
            "refused 0x10: kind 0xc1 is not served",
        ),
        (refused(9), "refused 0x10: kind 0xc1 for reason 9"),
        (put(false), "put 0x10 at 64"),
        (put(true), "put 0x10 at 64, with datatype"),
        (get(false), "get 0x10 at 64"),
        (
            accumulate(false, false),
            "accumulate 0x10 at 64, operation 0x23 of 0x208",
        ),
        (
            accumulate(true, true),
            "accumulate 0x10 at 64, operation 0x23 of 0x208, fetching, with datatype",
        ),
        (swap, "compare and swap 0x10 at 64, element 0x208"),
        (Kind::Fetched { token, offset }, "fetched 0x10 at 64"),
        (
            Kind::Cleared {
                receive: 7,
                send: 5,
            },
            "cleared by the kernel 0x5, receive 0x7",
        ),
        (Kind::Served { token }, "served 0x10"),
        (lock(true), "lock 0x10, exclusive"),
        (lock(false), "lock 0x10, shared"),
        (Kind::Locked { token }, "locked 0x10"),
        (Kind::Unlock { token }, "unlock 0x10"),
        (Kind::Flush { token }, "flush 0x10"),
        (Kind::Revoke, "revoke"),
        (Kind::Agree { instance, value }, "agree 3: 0xff"),
        (Kind::Agreed { instance, value }, "agreed 3: 0xff"),
        (
            Kind::Introduce { token, name },
            "introduce 0x10, calls the receiver 7",
        ),
        (
            Kind::Introduced { token, name },
            "introduced 0x10, calls the receiver 7",
        ),
    ] {
        assert_eq!(kind.to_string(), text);
    }
}
