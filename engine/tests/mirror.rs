//! Receives that a driver has too: what the protocol does with what the driver says, without
//! devices.

use oxmpi_engine::protocol::{Effect, Failure, Limits, Placement, Posted, Protocol, RequestId};
use oxmpi_engine::{Content, Envelope, Pattern};
use oxmpi_wire::{Code, Kind, Repr, reason};

const ME: u32 = 0;
const OTHER: u32 = 1;

fn protocol() -> Protocol<u32> {
    Protocol::new(
        ME,
        3,
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

fn envelope(tag: i32, bytes: u64) -> Envelope {
    Envelope {
        context: 1,
        source: OTHER,
        tag,
        content: Content::new(bytes, 0),
    }
}

/// Packet `sequence` of the other process.
fn packet(sequence: u32, envelope: Envelope, kind: Kind) -> Repr {
    Repr {
        envelope,
        sequence,
        credit: 0,
        kind,
    }
}

fn post(protocol: &mut Protocol<u32>, source: Option<u32>, capacity: u64) -> RequestId {
    let pattern = Pattern {
        context: 1,
        source,
        tag: None,
        signature: 0,
    };
    let (id, posted) = protocol.post(source, pattern, 7, capacity);
    assert!(matches!(posted, Posted::Waiting));
    id
}

fn placed(payload: u64) -> Placement<'static> {
    Placement::Placed {
        payload,
        placed: payload,
    }
}

#[test]
fn a_placed_message_ends_the_receive_that_the_driver_names() {
    let mut protocol = protocol();
    let (first, second) = (
        post(&mut protocol, Some(OTHER), 64),
        post(&mut protocol, Some(OTHER), 64),
    );
    // The driver had the second only: the first could not be handed over, say. It is believed.
    let eager = packet(0, envelope(5, 40), Kind::Eager);
    let effect = protocol.handle_matched(OTHER, &eager, second, placed(40), false);
    assert!(matches!(effect, Ok(Effect::None)));
    assert!(protocol.is_complete(second) && protocol.is_posted(first));
    let completion = protocol.take(second).unwrap().unwrap();
    assert_eq!((completion.tag, completion.bytes), (5, 40));
    // What it did not match meets the mirror.
    let eager = packet(1, envelope(6, 3), Kind::Eager);
    let effect = protocol.handle(OTHER, &eager, b"abc").unwrap();
    assert!(matches!(effect, Effect::Deliver { bytes: 3, .. }));
    assert!(protocol.is_complete(first));
}

#[test]
fn a_message_longer_than_its_buffer_is_cut_and_told() {
    let mut protocol = protocol();
    let id = post(&mut protocol, None, 10);
    let eager = packet(0, envelope(5, 40), Kind::Eager);
    let placement = Placement::Placed {
        payload: 40,
        placed: 10,
    };
    protocol
        .handle_matched(OTHER, &eager, id, placement, false)
        .unwrap();
    let outcome = protocol.take(id).unwrap();
    assert!(matches!(outcome, Err(Failure::Truncated { bytes: 40, .. })));
}

#[test]
fn an_eager_message_in_pieces_is_over_with_its_last() {
    let mut protocol = protocol();
    let id = post(&mut protocol, None, 100);
    let eager = packet(0, envelope(5, 60), Kind::Eager);
    protocol
        .handle_matched(OTHER, &eager, id, placed(40), false)
        .unwrap();
    assert!(!protocol.is_complete(id));
    let more = packet(1, envelope(5, 60), Kind::More { offset: 40 });
    protocol
        .handle_matched(OTHER, &more, id, placed(20), false)
        .unwrap();
    assert!(protocol.take(id).unwrap().is_ok());
}

#[test]
fn a_request_to_send_is_answered_and_its_data_counts_where_it_lies() {
    let mut protocol = protocol();
    let id = post(&mut protocol, None, 1 << 20);
    let offer = Kind::RequestToSend {
        send: 77,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    };
    let offer = packet(0, envelope(5, 100_000), offer);
    protocol
        .handle_matched(OTHER, &offer, id, placed(0), false)
        .unwrap();
    let answer = protocol.poll_transmit(OTHER).unwrap();
    let receive = id.token();
    assert_eq!(answer.repr.kind, Kind::ClearToSend { send: 77, receive });
    protocol.sent(&answer);
    for (offset, bytes) in [(0, 60_000), (60_000, 40_000)] {
        let data = packet(0, envelope(5, 100_000), Kind::Data { receive, offset });
        protocol
            .handle_matched(OTHER, &data, id, placed(bytes), false)
            .unwrap();
    }
    assert_eq!(protocol.take(id).unwrap().unwrap().bytes, 100_000);
}

#[test]
fn a_request_that_the_driver_answers_is_answered_again_only_if_its_sender_refuses() {
    let mut protocol = protocol();
    let id = post(&mut protocol, None, 1 << 20);
    let receive = id.token();
    let offer = Kind::RequestToSend {
        send: 77,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    };
    let offer = packet(0, envelope(5, 100), offer);
    protocol
        .handle_matched(OTHER, &offer, id, placed(0), true)
        .unwrap();
    assert!(protocol.poll_transmit(OTHER).is_none());
    // Of a sender that does not know the kernel's answer.
    let refused = Kind::Refused {
        token: receive,
        kind: Code::Cleared as u8,
        reason: reason::UNKNOWN,
    };
    let refused = packet(1, envelope(5, 0), refused);
    protocol.handle(OTHER, &refused, &[]).unwrap();
    let answer = protocol.poll_transmit(OTHER).unwrap();
    assert_eq!(answer.repr.kind, Kind::ClearToSend { send: 77, receive });
    protocol.sent(&answer);
    let data = packet(0, envelope(5, 100), Kind::Data { receive, offset: 0 });
    protocol
        .handle_matched(OTHER, &data, id, placed(100), false)
        .unwrap();
    assert_eq!(protocol.take(id).unwrap().unwrap().bytes, 100);
    // Once it is over, nobody is to be told anything.
    let refused = Repr {
        sequence: 2,
        ..refused
    };
    protocol.handle(OTHER, &refused, &[]).unwrap();
    assert!(protocol.poll_transmit(OTHER).is_none());
}

#[test]
fn an_awarded_receive_stands_in_nobodys_way() {
    let mut protocol = protocol();
    let (first, second) = (post(&mut protocol, None, 8), post(&mut protocol, None, 8));
    assert_eq!(protocol.next_for(&envelope(1, 8)), Some(first));
    protocol.award(first);
    assert_eq!(protocol.next_for(&envelope(1, 8)), Some(second));
    // Neither a cancellation nor somebody's death ends it: it has a message.
    protocol.cancel(first);
    protocol.peer_died(2);
    assert!(!protocol.is_complete(first) && protocol.is_complete(second));
    let eager = packet(0, envelope(1, 8), Kind::Eager);
    protocol
        .handle_matched(OTHER, &eager, first, placed(8), false)
        .unwrap();
    assert!(protocol.take(first).unwrap().is_ok());
}

#[test]
fn what_the_driver_cannot_have_meant_is_refused() {
    let mut protocol = protocol();
    let id = post(&mut protocol, None, 100);
    let eager = packet(0, envelope(5, 60), Kind::Eager);
    // Less than fits has been placed: the buffer was not there.
    let short = Placement::Placed {
        payload: 60,
        placed: 59,
    };
    assert!(matches!(
        protocol.handle_matched(OTHER, &eager, id, short, false),
        Err(Failure::Malformed { peer: OTHER, .. })
    ));
    // A receive that has its message already, and one that never was.
    for id in [id, RequestId::from_token(99)] {
        let eager = packet(1, envelope(5, 60), Kind::Eager);
        let again = protocol.handle_matched(OTHER, &eager, id, placed(60), false);
        assert!(again.is_err());
    }
    let lost = packet(9, envelope(5, 60), Kind::Eager);
    assert!(matches!(
        protocol.handle_matched(OTHER, &lost, id, placed(60), false),
        Err(Failure::PacketLost { found: 9, .. })
    ));
}
