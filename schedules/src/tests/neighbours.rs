//! Edges that look alike: every block arrives where its direction says.

use super::super::neighbours::exchange;
use super::*;

const BYTES: usize = 8;

/// What a process sends along an edge.
fn block(process: u32, edge: usize) -> Vec<u8> {
    vec![(process * 16 + edge as u32) as u8; BYTES]
}

/// A ring of every small size, in which for sizes 1 and 2 both neighbours are the same rank.
#[test]
fn in_a_ring_what_goes_up_arrives_from_below() {
    for size in 1..=5u32 {
        let build = |rank: u32| {
            let both = [Some((rank + size - 1) % size), Some((rank + 1) % size)];
            let send = |index: u32| Region::send(index as usize * BYTES, BYTES);
            let receive = |index: u32| Region::receive(index as usize * BYTES, BYTES);
            let schedule = exchange(rank, &both, &both, true, send, receive);
            let extents = Extents {
                send: 2 * BYTES,
                receive: 2 * BYTES,
            };
            let valid = schedule.validate(Position::new(rank, size), extents);
            valid.unwrap_or_else(|fault| panic!("{fault}\n{schedule}"));
            let sent = [block(rank, 0), block(rank, 1)].concat();
            (schedule, sent, vec![0; 2 * BYTES])
        };
        for seed in 0..20 {
            let members = (0..size).map(build).collect();
            let ranks = simulate(&size, members, true, &mut Random(seed));
            for (rank, got) in (0..).zip(ranks) {
                let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
                assert_eq!(got.receive, [block(below, 1), block(above, 0)].concat());
            }
        }
    }
}

/// Nobody is beyond the edge: those blocks stay as they were.
#[test]
fn nothing_comes_from_beyond_the_edge() {
    let both = [None, None];
    let send = |index: u32| Region::send(index as usize * BYTES, BYTES);
    let receive = |index: u32| Region::receive(index as usize * BYTES, BYTES);
    let schedule = exchange(0, &both, &both, true, send, receive);
    assert_eq!(schedule.rounds(), 0);
}
