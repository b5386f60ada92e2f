//! What simulated runs have found, each as small as it can be told.

use oxmpi_engine::protocol::{Failure, Limits, Mode, Posted, Protocol, Source};
use oxmpi_matching::Pattern;
use oxmpi_wire::{Content, Envelope};

const LIMITS: Limits = Limits {
    eager_bytes_max: 0,
    room_bytes: 1024,
    reserved_bytes: 0,
    kept_bytes_max: 1024,
    fragment_bytes: 64,
    fragment_bytes_short: 64,
    short_bytes_max: 0,
    fetch_bytes_min: 0,
    unexpected_max: 16,
    copied_bytes_max: u64::MAX,
};

/// An offer stays in the unexpected queue when its sender dies; the receive that finds it waited
/// for ever.
#[test]
fn a_receive_that_finds_a_dead_ranks_offer_fails() {
    for fetchable in [false, true] {
        let mut sender: Protocol<()> = Protocol::new(1, 2, LIMITS);
        let mut receiver: Protocol<()> = Protocol::new(0, 2, LIMITS);
        let envelope = Envelope {
            context: 0,
            source: 1,
            tag: 5,
            content: Content::new(100, 0),
        };
        let source = Source {
            buffer: (),
            address: 0,
            mapped: false,
            fetchable,
        };
        sender
            .send(0, envelope, source, Mode::Synchronous)
            .expect("the receiver lives");
        let offer = sender.poll_transmit(0).expect("an offer is due");
        receiver
            .handle(1, &offer.repr, &[])
            .expect("the offer is in order");
        receiver.peer_died(1);
        let pattern = Pattern {
            context: 0,
            source: None,
            tag: None,
            signature: 0,
        };
        let (request, posted) = receiver.post(None, pattern, (), 100);
        assert!(matches!(posted, Posted::Waiting));
        assert_eq!(
            receiver.take(request),
            Some(Err(Failure::PeerDied { peer: 1 }))
        );
    }
}

/// A death ends receives from anybody only where the dead rank could have sent.
#[test]
fn a_receive_from_anybody_fails_only_where_a_member_died() {
    let mut protocol: Protocol<()> = Protocol::new(0, 4, LIMITS);
    protocol.set_members(1, [0, 1, 2].into());
    protocol.set_members(2, [0, 3].into());
    let mut post = |context| {
        let pattern = Pattern {
            context,
            source: None,
            tag: None,
            signature: 0,
        };
        protocol.post(None, pattern, (), 100).0
    };
    let (unknown, without, with) = (post(0), post(1), post(2));
    protocol.peer_died(3);
    let died = Some(Err(Failure::PeerDied { peer: 3 }));
    assert_eq!(protocol.take(unknown), died);
    assert_eq!(protocol.take(with), died);
    assert!(!protocol.is_complete(without));
    protocol.peer_died(2);
    assert!(protocol.is_complete(without));
}

/// Where all are needed, the death of one ends every receive without a message, whoever was to send
/// it; what has arrived can still be received.
#[test]
fn a_death_ends_all_receives_of_a_bound_context() {
    let mut protocol: Protocol<()> = Protocol::new(0, 4, LIMITS);
    protocol.bind_members(1, [0, 1, 2].into());
    let post = |protocol: &mut Protocol<()>, context, source| {
        let pattern = Pattern {
            context,
            source: Some(source),
            tag: None,
            signature: 0,
        };
        protocol.post(Some(source), pattern, (), 100).0
    };
    let (bound, free) = (post(&mut protocol, 1, 1), post(&mut protocol, 2, 1));
    protocol.peer_died(3);
    assert!(!protocol.is_complete(bound), "rank 3 is no member");
    protocol.peer_died(2);
    let died = Some(Err(Failure::PeerDied { peer: 2 }));
    assert_eq!(protocol.take(bound), died);
    assert!(!protocol.is_complete(free));
    let later = post(&mut protocol, 1, 1);
    assert_eq!(protocol.take(later), died);
    protocol.forget_members(1);
    let unbound = post(&mut protocol, 1, 1);
    assert!(!protocol.is_complete(unbound));
}
