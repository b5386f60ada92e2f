//! What the oracle of views does not reach: the message form and joined ranges.

use super::*;
use crate::coverage::Coverage;

#[test]
fn a_strip_survives_a_message() {
    let strip = Strip {
        offset: 7,
        block: 8,
        stride: 1 << 40,
        count: 3,
    };
    assert_eq!(Strip::from_bytes(&strip.to_bytes()), strip);
    assert_eq!(strip.end(), 7 + (2 << 40) + 8);
}

#[test]
fn regular_pieces_are_one_strip() {
    let mut strips = Strips::default();
    for index in 0..1000 {
        strips.push(Piece {
            offset: 100 + index * 16,
            bytes: 8,
        });
    }
    assert_eq!(strips.0.len(), 1);
    let mut covered = Coverage::new(100, 16_000, 8);
    covered.add(&strips.0[0]);
    assert_eq!(covered.ranges(0).len(), 1000);
    assert_eq!(
        covered.ranges(8),
        [Piece {
            offset: 100,
            bytes: 15_992
        }]
    );
}
