//! The queues against the plainest ones: two vectors that are walked from the oldest.

mod random;

use oxmpi_oxk_core::{BitsQueues, FULL, Full, PostedId, Seed, UnexpectedId};
use random::{Random, for_seeds};

const POSTED: usize = 40;
const UNEXPECTED: usize = 30;

#[derive(Default)]
struct Oracle {
    posted: Vec<(u64, u64, u32)>,
    unexpected: Vec<(u64, u32)>,
}

impl Oracle {
    fn accepts(bits: u64, mask: u64, message: u64) -> bool {
        (bits ^ message) & mask == 0
    }

    fn arrive(&mut self, message: u64) -> Option<u32> {
        let is_it = |&(bits, mask, _): &(u64, u64, u32)| Oracle::accepts(bits, mask, message);
        let at = self.posted.iter().position(is_it)?;
        Some(self.posted.remove(at).2)
    }

    fn find(&self, bits: u64, mask: u64) -> Option<usize> {
        let is_it = |&(message, _): &(u64, u32)| Oracle::accepts(bits, mask, message);
        self.unexpected.iter().position(is_it)
    }
}

struct Pair {
    queues: BitsQueues<u32, u32>,
    oracle: Oracle,
    receives: Vec<(PostedId, u32)>,
    messages: Vec<(UnexpectedId, u32)>,
    names: u32,
}

impl Pair {
    fn new(random: &mut Random) -> Pair {
        let seed = Seed::new([random.next(), random.next()]);
        Pair {
            queues: BitsQueues::new(POSTED, UNEXPECTED, seed),
            oracle: Oracle::default(),
            receives: Vec::new(),
            messages: Vec::new(),
            names: 0,
        }
    }

    fn receive(&mut self, bits: u64, mask: u64) {
        self.names += 1;
        let expected = self
            .oracle
            .find(bits, mask)
            .map(|at| self.oracle.unexpected.remove(at));
        assert_eq!(self.queues.claim(bits, mask), expected);
        if expected.is_some() {
            return;
        }
        match self.queues.post(bits, mask, self.names) {
            Ok(id) => {
                self.receives.push((id, self.names));
                self.oracle.posted.push((bits, mask, self.names));
            }
            Err(Full) => assert_eq!(self.oracle.posted.len(), POSTED),
        }
    }

    fn message(&mut self, bits: u64) {
        self.names += 1;
        let expected = self.oracle.arrive(bits);
        assert_eq!(self.queues.arrive(bits), expected);
        if expected.is_some() {
            return;
        }
        match self.queues.store(bits, self.names) {
            Ok(id) => {
                self.messages.push((id, self.names));
                self.oracle.unexpected.push((bits, self.names));
            }
            Err(Full) => assert_eq!(self.oracle.unexpected.len(), UNEXPECTED),
        }
    }

    /// Any receive that ever was: cancelled exactly if it waits.
    fn cancel(&mut self, random: &mut Random) {
        if self.receives.is_empty() {
            return;
        }
        let (id, name) = random.pick(&self.receives);
        let at = self
            .oracle
            .posted
            .iter()
            .position(|&(.., other)| other == name);
        assert_eq!(
            self.queues.cancel(id),
            at.map(|at| self.oracle.posted.remove(at).2)
        );
    }

    fn withdraw(&mut self, random: &mut Random) {
        if self.messages.is_empty() {
            return;
        }
        let (id, name) = random.pick(&self.messages);
        let at = self
            .oracle
            .unexpected
            .iter()
            .position(|&(_, other)| other == name);
        let expected = at.map(|at| self.oracle.unexpected.remove(at));
        assert_eq!(self.queues.withdraw(id), expected);
    }

    fn probe(&mut self, bits: u64, mask: u64) {
        let expected = self
            .oracle
            .find(bits, mask)
            .map(|at| self.oracle.unexpected[at]);
        let found = self
            .queues
            .probe(bits, mask)
            .map(|(bits, &name)| (bits, name));
        assert_eq!(found, expected);
    }
}

/// Few values, so that receives and messages meet; more masks than have an index.
fn run(random: &mut Random, masks: &[u64], likely_receive: u64) {
    let mut pair = Pair::new(random);
    for _ in 0..400 {
        let bits = random.below(4) | random.below(4) << 30 | random.below(4) << 62;
        let mask = random.pick(masks);
        match random.below(20) {
            0 | 1 => pair.cancel(random),
            2 => pair.withdraw(random),
            3 | 4 => pair.probe(bits, mask),
            action if action < 5 + likely_receive => pair.receive(bits, mask),
            _ => pair.message(bits),
        }
        assert_eq!(pair.queues.posted_len(), pair.oracle.posted.len());
        assert_eq!(pair.queues.unexpected_len(), pair.oracle.unexpected.len());
    }
}

#[test]
fn the_queues_agree_with_two_vectors() {
    for_seeds(600, |random| {
        let likely = 3 + random.below(9);
        run(random, &[FULL], likely);
        run(random, &[FULL, 3, 3 << 62, 0], likely);
        let many: Vec<u64> = (0..14).map(|_| random.next() & random.next()).collect();
        run(random, &many, likely);
    });
}

/// Bits that a mask leaves out do not count in the receive either.
#[test]
fn bits_beyond_the_mask_are_ignored_on_both_sides() {
    let mut queues: BitsQueues<u32, u32> = BitsQueues::new(2, 2, Seed::new([1, 2]));
    queues.post(0xff12, 0xff, 7).expect("room");
    assert_eq!(queues.arrive(0x0013), None);
    assert_eq!(queues.arrive(0xaa12), Some(7));
}

/// 16 000 messages with the same bits do not lengthen the search for others: that would take
/// minutes here.
#[test]
fn many_messages_under_one_key_cost_nothing() {
    let mut queues: BitsQueues<u32, u64> = BitsQueues::new(1, 32_000, Seed::new([1, 2]));
    for number in 0..16_000 {
        queues.store(5, number).expect("room");
    }
    for number in 0..16_000 {
        queues.store(1 << 40 | number, number).expect("room");
    }
    for number in (0..16_000).rev() {
        let bits = 1 << 40 | number;
        assert_eq!(queues.claim(bits, FULL >> 1), Some((bits, number)));
    }
    assert_eq!(queues.claim(5, FULL), Some((5, 0)));
}
