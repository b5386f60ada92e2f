//! Packets of kinds that the process does not know or does not serve: refused where somebody waits,
//! counted in any case, and no hindrance to what follows. Without devices.

use oxmpi_engine::protocol::{Effect, Limits, Posted, Protocol, Stream};
use oxmpi_engine::{Content, Envelope, Pattern};
use oxmpi_wire::{Code, Kind, PREFIX_BYTES, Repr, VERSION, reason};

const ME: u32 = 0;
const OTHER: u32 = 1;

fn protocol() -> Protocol<u32> {
    Protocol::new(
        ME,
        2,
        Limits {
            eager_bytes_max: 64 << 10,
            copied_bytes_max: u64::MAX,
            room_bytes: 1 << 20,
            reserved_bytes: 0,
            kept_bytes_max: 1 << 20,
            fragment_bytes: 16 << 10,
            fragment_bytes_short: 16 << 10,
            short_bytes_max: 64 << 10,
            fetch_bytes_min: u64::MAX,
            unexpected_max: 1 << 10,
        },
    )
}

fn packet(sequence: u32, kind: Kind, bytes: u64) -> Repr {
    Repr {
        envelope: Envelope {
            context: 1 << 40,
            source: OTHER,
            tag: 3,
            content: Content::new(bytes, 0),
        },
        sequence,
        credit: 0,
        kind,
    }
}

/// A kind that a later release may add: two words, and the sender waits for an answer.
fn later(asks: bool) -> Kind {
    let mut prefix = [0; PREFIX_BYTES];
    packet(
        0,
        Kind::Agree {
            instance: 7,
            value: 8,
        },
        0,
    )
    .emit_prefix(&mut prefix);
    prefix[1] = 0x9e;
    prefix[31] = if asks { 0x80 } else { 0 };
    assert_eq!(prefix[0], VERSION);
    let parsed = Repr::parse_prefix(&prefix).expect("its length is known");
    assert!(matches!(parsed.kind, Kind::Unknown(_)));
    parsed.kind
}

fn answer(protocol: &mut Protocol<u32>) -> Option<Kind> {
    let transmit = protocol.poll_transmit(OTHER)?;
    protocol.sent(&transmit);
    assert!(transmit.payload.is_none());
    assert_eq!(transmit.repr.envelope.context, 1 << 40);
    Some(transmit.repr.kind)
}

#[test]
fn kinds_that_nobody_serves_are_refused_or_counted() {
    let mut protocol = protocol();
    let put = Kind::Put {
        token: 5,
        offset: 0,
        typed: false,
    };
    let refused = |token, code: u8, reason| Kind::Refused {
        token,
        kind: code,
        reason,
    };
    let cases = [
        (put, Some(refused(5, Code::Put as u8, reason::NOT_SERVED))),
        (
            Kind::Flush { token: 6 },
            Some(refused(6, Code::Flush as u8, reason::NOT_SERVED)),
        ),
        (later(true), Some(refused(7, 0x9e, reason::UNKNOWN))),
        (later(false), None),
        (Kind::Revoke, None),
        (Kind::Served { token: 1 }, None),
        (refused(1, 2, 3), None),
    ];
    for (number, (kind, expected)) in cases.iter().enumerate() {
        let repr = packet(number as u32, *kind, 9);
        let effect = protocol.handle(OTHER, &repr, &[1; 9]).expect("it is legal");
        assert!(matches!(effect, Effect::None));
        assert_eq!(answer(&mut protocol), *expected, "{kind}");
        assert_eq!(Stream::of(kind), Some(Stream::Unserved), "{kind}");
        let landed = protocol.landed(OTHER, Stream::Unserved, 9);
        landed.expect("thrown away");
    }
    assert_eq!(protocol.counters().unserved, cases.len() as u64);

    // A message behind them is received as if they had never been.
    let pattern = Pattern {
        context: 1 << 40,
        source: Some(OTHER),
        tag: None,
        signature: 0,
    };
    let (id, posted) = protocol.post(Some(OTHER), pattern, 7, 100);
    assert!(matches!(posted, Posted::Waiting));
    let message = packet(cases.len() as u32, Kind::Eager, 4);
    let effect = protocol.handle(OTHER, &message, &[1; 4]).expect("in order");
    assert!(matches!(effect, Effect::Deliver { bytes: 4, .. }));
    assert!(protocol.is_complete(id));
}

/// An unordered packet takes no place in the order, whatever it is for.
#[test]
fn unordered_kinds_take_no_number() {
    let mut protocol = protocol();
    let fetched = Kind::Fetched {
        token: 1,
        offset: 0,
    };
    let effect = protocol.handle(OTHER, &packet(0, fetched, 1), &[1]);
    assert!(matches!(effect, Ok(Effect::None)));
    let effect = protocol.handle(OTHER, &packet(0, Kind::Revoke, 0), &[]);
    assert!(matches!(effect, Ok(Effect::None)), "still packet 0");
}
