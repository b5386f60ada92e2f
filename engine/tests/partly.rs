//! A packet of which the head has left and payload has not, as far as the protocol knows, while
//! another rail takes a message that is sent at once, or the other process finalises. On the pure
//! protocol.

use oxmpi_engine::protocol::{Limits, Mode, Posted, Protocol, RequestId, Source, Transmit};
use oxmpi_engine::{Content, Envelope, Pattern};
use oxmpi_wire::{Kind, Repr};

const ME: u32 = 0;
const OTHER: u32 = 1;
const LONG: u64 = 5000;

const LIMITS: Limits = Limits {
    eager_bytes_max: 1024,
    copied_bytes_max: u64::MAX,
    room_bytes: 6000,
    reserved_bytes: 0,
    kept_bytes_max: 6000,
    fragment_bytes: 400,
    fragment_bytes_short: 150,
    short_bytes_max: 600,
    fetch_bytes_min: u64::MAX,
    unexpected_max: 1000,
};

fn envelope(source: u32, bytes: u64) -> Envelope {
    Envelope {
        context: 1,
        source,
        tag: 5,
        content: Content::new(bytes, 0),
    }
}

/// A packet of the other process.
fn packet(sequence: u32, kind: Kind, bytes: u64) -> Repr {
    Repr {
        envelope: envelope(OTHER, bytes),
        sequence,
        credit: 0,
        kind,
    }
}

const SOURCE: Source<u32> = Source {
    buffer: 0,
    address: 0,
    mapped: false,
    fetchable: false,
};

/// A long message to the other process, which has been offered.
fn offered(protocol: &mut Protocol<u32>) -> RequestId {
    let send = protocol.send(OTHER, envelope(ME, LONG), SOURCE, Mode::Standard);
    let send = send.expect("the other process lives");
    let offer = protocol.poll_transmit(OTHER).expect("it is offered");
    assert!(matches!(offer.repr.kind, Kind::RequestToSend { .. }));
    protocol.sent(&offer);
    protocol.settle();
    send
}

/// The other process wants it: the next packet, whose head leaves.
fn begun(protocol: &mut Protocol<u32>, send: RequestId, sequence: u32) -> Transmit<u32> {
    let accept = Kind::ClearToSend {
        send: send.token(),
        receive: 7,
    };
    let accepted = packet(sequence, accept, LONG);
    protocol.handle(OTHER, &accepted, &[]).expect("an answer");
    let data = protocol.poll_transmit(OTHER).expect("data");
    assert!(matches!(data.repr.kind, Kind::Data { .. }));
    protocol.began(&data);
    data
}

#[test]
fn room_is_given_back_once() {
    let mut protocol = Protocol::new(ME, 2, LIMITS);
    let send = offered(&mut protocol);

    // A message of the other process has been taken, so its room is due.
    let pattern = Pattern {
        context: 1,
        source: Some(OTHER),
        tag: None,
        signature: 0,
    };
    let (_, posted) = protocol.post(Some(OTHER), pattern, 1, 100);
    assert!(matches!(posted, Posted::Waiting));
    let short = packet(0, Kind::Eager, 4);
    protocol.handle(OTHER, &short, &[1; 4]).expect("in order");

    let data = begun(&mut protocol, send, 1);
    assert_ne!(data.repr.credit, 0);

    // A short message overtakes the data.
    let now = envelope(ME, 8);
    let header = protocol.eager_now(OTHER, &now, Mode::Standard);
    let header = header.expect("it waits for nothing");
    assert_eq!(header.credit, 0);
    protocol.sent_eager(OTHER, &header);

    protocol.ended(&data);
    let next = protocol.poll_transmit(OTHER).expect("more data");
    assert_eq!(next.repr.credit, 0);
}

/// A connection writes the rest of a packet by itself, and the goodbye that answers it may be seen
/// before anybody has asked what became of the packet.
#[test]
fn a_process_that_has_finalised_has_what_it_asked_for() {
    let mut protocol = Protocol::new(ME, 2, LIMITS);
    let send = offered(&mut protocol);
    begun(&mut protocol, send, 0);
    protocol.peer_finished(OTHER);
    assert!(!protocol.is_stranded(send));
    let outcome = protocol.take(send).expect("it is over");
    assert!(outcome.is_ok(), "{outcome:?}");
}
