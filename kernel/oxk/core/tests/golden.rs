//! What endpoints write, byte for byte: a program that speaks to kernel endpoints sees these.

mod shim;

use oxmpi_oxk_core::{FULL, PeerToken};
use shim::{BOUNDS, Shim, no_handler};

fn end() -> (Shim, PeerToken) {
    let mut end = Shim::new(BOUNDS);
    let peer = end.core.accepted().expect("room");
    (end, peer)
}

/// The header of `wire`: version, kind, credit, source, bits, tag, sequence, length and flags.
fn head(kind: u8, credit: u8, bits: u64, sequence: u8, bytes: u8, flags: u8) -> Vec<u8> {
    let mut head = vec![3, kind, credit, 0, 0, 0, 0, 0];
    head.extend(bits.to_le_bytes());
    head.extend([0, 0, 0, 0, sequence, 0, 0, 0]);
    head.extend([bytes, 0, 0, 0, 0, 0, 0, flags]);
    head
}

const BITS: u64 = 0x1122_3344_5566_7788;

#[test]
fn a_conversation() {
    let ((mut left, to_right), (mut right, to_left)) = (end(), end());
    // 4096 bytes for each of 4 peers: 64 units.
    let window = [vec![0; 4], head(0x02, 64, 0, 0, 0, 0)].concat();
    let first = right.pump_all(to_left);
    assert_eq!(first, window, "both begin with their windows");
    left.feed(to_right, &first, &mut no_handler);
    let first = left.pump_all(to_right);
    assert_eq!(first, window);
    right.feed(to_left, &first, &mut no_handler);

    left.send(to_right, BITS, vec![0xaa, 0xbb], false, 1)
        .expect("room");
    let eager = left.pump_all(to_right);
    assert_eq!(
        eager,
        [
            vec![2, 0, 0, 0],
            head(0x01, 0, BITS, 1, 2, 0),
            vec![0xaa, 0xbb]
        ]
        .concat()
    );
    left.acknowledge_all();

    left.send(to_right, BITS, vec![0xcc], true, 2)
        .expect("room");
    let offer = left.pump_all(to_right);
    // Place 0, which the message before has left, so generation 2.
    let again = [0, 0, 0, 0, 2, 0, 0, 0];
    let body = [again, [0; 8]].concat();
    assert_eq!(
        offer,
        [vec![0; 4], head(0x81, 0, BITS, 2, 1, 4), body].concat()
    );

    right.receive(BITS, FULL, 9, 1).expect("room");
    right.feed(to_left, &eager, &mut no_handler);
    right.receive(BITS, FULL, 9, 2).expect("room");
    right.feed(to_left, &offer, &mut no_handler);
    let clear = right.pump_all(to_left);
    // 5 units of the eager message and 4 of the offer are given back; the place is used again.
    let body = [again, again].concat();
    assert_eq!(
        clear,
        [vec![0; 4], head(0x82, 9, BITS, 1, 1, 0), body].concat()
    );

    left.feed(to_right, &clear, &mut no_handler);
    let data = left.pump_all(to_right);
    let body = [again, [0; 8]].concat();
    assert_eq!(
        data,
        [
            vec![1, 0, 0, 0],
            head(0xa1, 0, BITS, 0, 1, 0),
            body,
            vec![0xcc]
        ]
        .concat()
    );
    right.feed(to_left, &data, &mut no_handler);
    assert_eq!(right.completed[&2].1[0], 0xcc);
}
