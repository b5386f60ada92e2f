//! The order of one process's packets where two rails bring them.
//!
//! Short messages come as frames and longer ones by the rail for bulk, and either may be faster. A
//! packet whose kind has a place in the order carries a number, so one that comes before its turn
//! is *early*: it is kept here, and shown when the packets before it are there wholly. `remote`
//! asks about every packet, and passes on how much payload of it was taken; nothing here reads a
//! byte.
//!
//! Invariants: at most one packet in order is *open* (some of its payload is still to come); early
//! packets lie in the order of their numbers, and one is shown only when all of it is here.

use std::collections::VecDeque;

use oxmpi_wire::PREFIX_BYTES;

/// Bytes of early payload of one process: no process may have more unmatched here
/// (`ROOM_BYTES_MAX`), so a packet beyond that is no process's of ours, and is shown at once, where
/// the protocol refuses it.
const EARLY_BYTES_MAX: usize = 8 << 20;
/// Early packets of one process, most of which have no payload: as many as there may be unexpected
/// messages (`unexpected_max`).
const EARLY_MAX: usize = 1 << 24;

/// A packet that came before its turn.
pub(super) struct Early {
    sequence: u32,
    rail: usize,
    /// Payload bytes of it that are still to come.
    left: usize,
    pub prefix: [u8; PREFIX_BYTES],
    pub payload: Vec<u8>,
}

/// What is to be done with payload that arrives on a rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It is shown.
    Shown,
    /// It belongs to an early packet, and is kept.
    Kept,
}

/// The order of one process's packets.
#[derive(Default)]
pub(super) struct Order {
    /// Number of the next packet.
    next: u32,
    /// The packet before it is not all here: its rail, and the payload bytes to come.
    open: Option<(usize, usize)>,
    early: VecDeque<Early>,
    early_bytes: usize,
}

impl Order {
    /// A packet with a place in the order begins on a rail.
    #[inline]
    pub fn begin(
        &mut self,
        rail: usize,
        sequence: u32,
        prefix: &[u8; PREFIX_BYTES],
        bytes: usize,
    ) -> Course {
        let ahead = sequence.wrapping_sub(self.next);
        if ahead == 0 && self.open.is_none() {
            self.next = self.next.wrapping_add(1);
            self.open = (bytes > 0).then_some((rail, bytes));
            return Course::Shown;
        }
        let room = self.early.len() < EARLY_MAX && self.early_bytes + bytes <= EARLY_BYTES_MAX;
        if ahead as i32 >= 0 && room {
            self.keep(rail, sequence, prefix, bytes);
            return Course::Kept;
        }
        Course::Shown
    }

    #[cold]
    fn keep(&mut self, rail: usize, sequence: u32, prefix: &[u8; PREFIX_BYTES], bytes: usize) {
        let behind = |early: &Early| (early.sequence.wrapping_sub(sequence) as i32) < 0;
        let place = self.early.partition_point(behind);
        let early = Early {
            sequence,
            rail,
            left: bytes,
            prefix: *prefix,
            payload: Vec::with_capacity(bytes),
        };
        self.early_bytes += bytes;
        self.early.insert(place, early);
    }

    /// What becomes of the next payload on a rail.
    #[inline]
    pub fn course(&self, rail: usize) -> Course {
        match self.early.is_empty() || self.filling(rail).is_none() {
            true => Course::Shown,
            false => Course::Kept,
        }
    }

    /// The early packet whose payload arrives on a rail: the last one of that rail, if it is not
    /// all here.
    fn filling(&self, rail: usize) -> Option<usize> {
        let last = self.early.iter().rposition(|early| early.rail == rail)?;
        (self.early[last].left > 0).then_some(last)
    }

    /// Keeps payload of an early packet.
    #[cold]
    pub fn fill(&mut self, rail: usize, piece: &[u8]) {
        if let Some(place) = self.filling(rail) {
            let early = &mut self.early[place];
            let bytes = piece.len().min(early.left);
            early.payload.extend_from_slice(&piece[..bytes]);
            early.left -= bytes;
        }
    }

    /// So many bytes of payload that was shown have been taken.
    #[inline]
    pub fn pass(&mut self, rail: usize, bytes: usize) {
        if let Some((open, left)) = self.open
            && open == rail
        {
            let left = left.saturating_sub(bytes);
            self.open = (left > 0).then_some((rail, left));
        }
    }

    /// Whether an early packet's turn has come.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.open.is_none()
            && self
                .early
                .front()
                .is_some_and(|early| early.sequence == self.next && early.left == 0)
    }

    /// The early packet whose turn has come; all of its payload is in it.
    #[cold]
    pub fn take_early(&mut self) -> Option<Early> {
        if !self.is_ready() {
            return None;
        }
        let early = self.early.pop_front()?;
        self.early_bytes -= early.payload.len();
        self.next = self.next.wrapping_add(1);
        Some(early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: [u8; PREFIX_BYTES] = [0; PREFIX_BYTES];

    #[test]
    fn a_packet_waits_until_the_one_before_it_is_all_here() {
        let mut order = Order::default();
        assert_eq!(order.begin(1, 0, &PREFIX, 100), Course::Shown);
        assert_eq!(order.begin(0, 1, &PREFIX, 3), Course::Kept);
        assert_eq!(order.course(0), Course::Kept);
        assert_eq!(order.course(1), Course::Shown);
        order.fill(0, &[7; 3]);
        assert_eq!(order.course(0), Course::Shown);
        order.pass(1, 60);
        assert!(!order.is_ready());
        order.pass(1, 40);
        let early = order.take_early().expect("its turn has come");
        assert_eq!(early.payload, [7; 3]);
        assert_eq!(order.begin(0, 2, &PREFIX, 0), Course::Shown);
        assert!(!order.is_ready());
    }

    #[test]
    fn what_has_no_turn_any_more_is_shown() {
        let mut order = Order::default();
        assert_eq!(order.begin(0, 0, &PREFIX, 0), Course::Shown);
        assert_eq!(order.begin(1, 0, &PREFIX, 0), Course::Shown);
        assert_eq!(order.begin(1, u32::MAX, &PREFIX, 5), Course::Shown);
        assert_eq!(
            order.begin(1, 9, &PREFIX, EARLY_BYTES_MAX + 1),
            Course::Shown
        );
    }

    /// Numbers that are random enough (splitmix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) as usize % most
        }
    }

    /// Packets dealt out to two rails, which bring them in pieces as each likes, are shown in the
    /// order of their numbers, each with all of its bytes.
    #[test]
    fn packets_are_shown_in_order() {
        for seed in 0..2000 {
            let mut random = Random(seed);
            let first = (random.below(20) as u32).wrapping_sub(10);
            let mut order = Order {
                next: first,
                ..Order::default()
            };
            let mut rails: [VecDeque<(u32, usize)>; 2] = Default::default();
            let mut expected = Vec::new();
            for number in 0..1 + random.below(60) as u32 {
                let packet = (first.wrapping_add(number), random.below(40));
                rails[random.below(2)].push_back(packet);
                expected.push(packet);
            }
            let favoured = 1 + random.below(9);
            let mut left = [0; 2];
            let mut shown: Vec<(u32, usize)> = Vec::new();
            let mut of_rail = [0; 2];
            while rails.iter().any(|rail| !rail.is_empty()) || left != [0; 2] {
                let rail = usize::from(random.below(10) < favoured);
                if left[rail] == 0 {
                    let Some((sequence, bytes)) = rails[rail].pop_front() else {
                        continue;
                    };
                    left[rail] = bytes;
                    if order.begin(rail, sequence, &PREFIX, bytes) == Course::Shown {
                        of_rail[rail] = shown.len();
                        shown.push((sequence, 0));
                    }
                } else {
                    let bytes = left[rail].min(1 + random.below(20));
                    left[rail] -= bytes;
                    match order.course(rail) {
                        Course::Kept => order.fill(rail, &vec![1; bytes]),
                        Course::Shown => {
                            order.pass(rail, bytes);
                            shown[of_rail[rail]].1 += bytes;
                        }
                    }
                }
                while let Some(early) = order.take_early() {
                    shown.push((early.sequence, early.payload.len()));
                }
            }
            assert_eq!(shown, expected, "seed {seed}");
            assert_eq!((order.early.len(), order.early_bytes), (0, 0));
        }
    }
}
