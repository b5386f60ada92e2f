//! Nothing is allocated after open, and what open allocates is what `Endpoint::bytes` says.

#[path = "../../../../harness/counting.rs"]
mod counting;

use oxmpi_oxk_core::{Bounds, Endpoint, FULL, PeerToken, Seed, Step};

const BOUNDS: Bounds = Bounds {
    requests: 500,
    peers: 5,
    unexpected_bytes: 1 << 20,
    eager_bytes: 4000,
    handler: false,
};

const MEMORY: [u8; 8000] = [3; 8000];

/// Carries what there is from one end to the other, which is its only peer; without an allocation.
fn carry(from: &mut Endpoint, to: &mut Endpoint, peer: PeerToken) {
    while let Some(transmit) = from.poll_send(peer) {
        feed(to, peer, transmit.head());
        if let Some(payload) = transmit.payload {
            feed(
                to,
                peer,
                &MEMORY[payload.offset as usize..][..payload.bytes as usize],
            );
            from.sent(payload.token);
        }
    }
}

fn feed(to: &mut Endpoint, peer: PeerToken, bytes: &[u8]) {
    let mut at = 0;
    loop {
        let fed = to.feed(peer, &bytes[at..]);
        at += fed.consumed;
        match fed.step {
            Step::Done => return,
            Step::Place { bytes, .. } => {
                at += bytes;
                to.placed(peer, 0);
            }
            step => panic!("{step:?}"),
        }
    }
}

fn settle(end: &mut Endpoint) -> usize {
    while let Some(token) = end.next_copy() {
        while end.next_piece(token).is_some() {}
        end.copied(token, 0);
    }
    let mut count = 0;
    while end.next_completed().is_some() {
        count += 1;
    }
    count
}

fn exercise(left: &mut Endpoint, right: &mut Endpoint, peer: PeerToken, early: bool, mask: u64) {
    let mut over = [0, 0];
    for number in 0..500 {
        let bits = number | number << 40;
        if early {
            right.receive(bits, mask, 8000, number).expect("room");
        }
        let bytes = [0, 100, 3000, 8000][number as usize % 4];
        left.send(peer, bits, bytes, number % 7 == 0, number)
            .expect("room");
    }
    for round in 0..40 {
        carry(left, right, peer);
        if round == 2 && !early {
            for number in 0..500 {
                right
                    .receive(number | number << 40, mask, 8000, number)
                    .expect("room");
            }
        }
        over[1] += settle(right);
        carry(right, left, peer);
        over[0] += settle(left);
    }
    assert_eq!(over, [500, 500], "early {early}, mask {mask:x}");
}

#[test]
fn nothing_is_allocated_after_open() {
    let before = counting::bytes();
    let mut left = Endpoint::open(BOUNDS, Seed::new([1, 2])).expect("in range");
    assert_eq!(
        (counting::bytes() - before) as u64,
        Endpoint::bytes(&BOUNDS)
    );
    let mut right = Endpoint::open(BOUNDS, Seed::new([3, 4])).expect("in range");

    let asked = counting::asked();
    for _ in 0..3 {
        let peer = left.accepted().expect("room");
        assert_eq!(right.accepted(), Ok(peer));
        carry(&mut left, &mut right, peer);
        carry(&mut right, &mut left, peer);
        for mask in [FULL, 0xffff, 0xff_ffff << 40] {
            exercise(&mut left, &mut right, peer, true, mask);
            exercise(&mut left, &mut right, peer, false, mask);
        }
        left.lost(peer, 5);
        right.lost(peer, 5);
        left.forget(peer).expect("lost");
        right.forget(peer).expect("lost");
    }
    left.close();
    right.close();
    assert_eq!(counting::asked(), asked);
}
