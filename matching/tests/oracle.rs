//! The queues against the oracle: two plain lists, searched from the front.
//!
//! Random operations over few contexts, sources and tags (so that much matches), with wildcards,
//! probes, claims, cancels, withdrawals, stale ids and a bound. After every operation both sides
//! have given the same answer; at the end both hold the same entries. Short runs shrink to a small
//! failing example; long runs reach the paths that need thousands of messages.

use oxmpi_matching::{Capacity, Pattern, Post, PostedId, Queues, UnexpectedId};
use oxmpi_wire::{Content, Envelope};
use proptest::prelude::*;

const CONTEXTS: [u64; 3] = [0, 1 << 32, u64::MAX];
const SOURCES: [u32; 3] = [0, 1, u32::MAX];
const TAGS: [i32; 4] = [0, 1, i32::MAX, -1];
const UNEXPECTED_MAX: usize = 40;

#[derive(Clone, Debug)]
enum Operation {
    Post(Pattern, u64),
    Send(Envelope),
    Probe(Pattern),
    Claim(Pattern),
    /// Cancels the receive posted so many posts ago, live or not.
    Cancel(usize),
    /// Withdraws the message stored so many stores ago, live or not.
    Withdraw(usize),
    /// Changes what is remembered of a message.
    Touch(usize),
}

/// The receives and messages that wait, the oldest first. Names are numbers counted up.
#[derive(Default)]
struct Lists {
    posted: Vec<(u64, Pattern, u64)>,
    unexpected: Vec<(u64, Envelope, u64)>,
}

impl Lists {
    fn first(&self, pattern: &Pattern) -> Option<usize> {
        let accepts = |(_, envelope, _): &(u64, Envelope, u64)| pattern.accepts(envelope);
        self.unexpected.iter().position(accepts)
    }

    fn claim(&mut self, pattern: &Pattern) -> Option<(Envelope, (u64, u64))> {
        let (name, envelope, touched) = self.unexpected.remove(self.first(pattern)?);
        Some((envelope, (name, touched)))
    }

    fn arrive(&mut self, envelope: &Envelope) -> Option<(u64, bool)> {
        let accepts = |(_, pattern, _): &(u64, Pattern, u64)| pattern.accepts(envelope);
        let at = self.posted.iter().position(accepts)?;
        let (name, _, capacity) = self.posted.remove(at);
        Some((name, envelope.bytes() > capacity))
    }
}

/// Both sides, and the ids that were ever given out.
struct Pair {
    queues: Queues<u64, (u64, u64)>,
    lists: Lists,
    max: usize,
    posted_ids: Vec<(PostedId, u64)>,
    unexpected_ids: Vec<(UnexpectedId, u64)>,
    names: u64,
}

impl Pair {
    fn new(capacity: Capacity) -> Pair {
        Pair {
            queues: Queues::new(capacity),
            lists: Lists::default(),
            max: capacity.unexpected_max,
            posted_ids: Vec::new(),
            unexpected_ids: Vec::new(),
            names: 0,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        self.names += 1;
        match operation {
            Operation::Post(pattern, capacity) => self.post(*pattern, *capacity),
            Operation::Send(envelope) => self.send(*envelope),
            Operation::Probe(pattern) => {
                let found = self.queues.probe(pattern).map(|(e, u)| (*e, *u));
                let wanted = self.lists.first(pattern).map(|at| {
                    let (name, envelope, touched) = self.lists.unexpected[at];
                    (envelope, (name, touched))
                });
                assert_eq!(found, wanted);
            }
            Operation::Claim(pattern) => {
                assert_eq!(self.queues.claim(pattern), self.lists.claim(pattern));
            }
            Operation::Cancel(back) => self.cancel(*back),
            Operation::Withdraw(back) => self.withdraw(*back),
            Operation::Touch(back) => self.touch(*back),
        }
        assert_eq!(self.queues.posted_len(), self.lists.posted.len());
        assert_eq!(self.queues.unexpected_len(), self.lists.unexpected.len());
    }

    fn post(&mut self, pattern: Pattern, capacity: u64) {
        let name = self.names;
        let wanted = self.lists.claim(&pattern);
        match self.queues.post(pattern, capacity, name) {
            Post::Matched {
                envelope,
                unexpected,
                truncated,
            } => {
                assert_eq!(Some((envelope, unexpected)), wanted);
                assert_eq!(truncated, envelope.bytes() > capacity);
            }
            Post::Queued(id) => {
                assert_eq!(wanted, None);
                self.lists.posted.push((name, pattern, capacity));
                self.posted_ids.push((id, name));
            }
        }
    }

    fn send(&mut self, envelope: Envelope) {
        let name = self.names;
        let peeked = self.queues.peek(&envelope).copied();
        let matched = self.queues.arrive(&envelope);
        assert_eq!(peeked, matched.map(|matched| matched.posted));
        let matched = matched.map(|matched| (matched.posted, matched.truncated));
        assert_eq!(matched, self.lists.arrive(&envelope));
        if matched.is_some() {
            return;
        }
        match self.queues.store(envelope, (name, 0)) {
            Ok(id) => {
                self.lists.unexpected.push((name, envelope, 0));
                self.unexpected_ids.push((id, name));
                assert!(self.lists.unexpected.len() <= self.max);
            }
            Err(full) => {
                assert_eq!(self.lists.unexpected.len(), self.max);
                assert_eq!((full.envelope, full.unexpected), (envelope, (name, 0)));
            }
        }
    }

    fn cancel(&mut self, back: usize) {
        let Some(&(id, name)) = self.posted_ids.iter().rev().nth(back) else {
            return;
        };
        let at = self.lists.posted.iter().position(|entry| entry.0 == name);
        let wanted = at.map(|at| self.lists.posted.remove(at).0);
        assert_eq!(self.queues.cancel(id), wanted);
    }

    fn withdraw(&mut self, back: usize) {
        let Some(&(id, name)) = self.unexpected_ids.iter().rev().nth(back) else {
            return;
        };
        let at = self.lists.unexpected.iter().position(|e| e.0 == name);
        let wanted = at.map(|at| {
            let (name, envelope, touched) = self.lists.unexpected.remove(at);
            (envelope, (name, touched))
        });
        assert_eq!(self.queues.withdraw(id), wanted);
    }

    fn touch(&mut self, back: usize) {
        let Some(&(id, name)) = self.unexpected_ids.iter().rev().nth(back) else {
            return;
        };
        let entry = self.lists.unexpected.iter_mut().find(|e| e.0 == name);
        match (self.queues.unexpected_mut(id), entry) {
            (Some(found), Some(wanted)) => {
                found.1 += 1;
                wanted.2 += 1;
                assert_eq!(*found, (wanted.0, wanted.2));
            }
            (found, wanted) => assert!(found.is_none() && wanted.is_none()),
        }
    }

    /// Both sides hold the same entries.
    fn compare(&self) {
        let found = self.queues.unexpected().map(|(_, e, u)| (u.0, *e, u.1));
        assert!(found.eq(self.lists.unexpected.iter().copied()));
        let mut found: Vec<_> = self
            .queues
            .posted()
            .map(|(_, p, name)| (*name, p))
            .collect();
        found.sort_by_key(|entry| entry.0);
        let wanted = self.lists.posted.iter().map(|entry| (entry.0, entry.1));
        assert!(found.into_iter().eq(wanted));
    }
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let source = prop::option::of(prop::sample::select(&SOURCES[..]));
    let tag = prop::option::of(prop::sample::select(&TAGS[..]));
    (prop::sample::select(&CONTEXTS[..]), source, tag).prop_map(|(context, source, tag)| Pattern {
        context,
        source,
        tag,
        signature: 0,
    })
}

fn envelopes() -> impl Strategy<Value = Envelope> {
    let context = prop::sample::select(&CONTEXTS[..]);
    let source = prop::sample::select(&SOURCES[..]);
    let tag = prop::sample::select(&TAGS[..]);
    (context, source, tag, 0u64..4).prop_map(|(context, source, tag, bytes)| Envelope {
        context,
        source,
        tag,
        content: Content::new(bytes, 0),
    })
}

/// More receives than messages in some runs, fewer in others, so that either queue becomes long.
fn operations() -> impl Strategy<Value = Vec<Operation>> {
    (1u32..12, 1u32..12, 0u32..3).prop_flat_map(|(posts, sends, others)| {
        let operation = prop_oneof![
            posts => (patterns(), 0u64..4).prop_map(|(p, capacity)| Operation::Post(p, capacity)),
            sends => envelopes().prop_map(Operation::Send),
            others => patterns().prop_map(Operation::Probe),
            others => patterns().prop_map(Operation::Claim),
            others => (0usize..20).prop_map(Operation::Cancel),
            others => (0usize..20).prop_map(Operation::Withdraw),
            others => (0usize..20).prop_map(Operation::Touch),
        ];
        prop::collection::vec(operation, 0..300)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn the_queues_are_two_lists(
        operations in operations(),
        posted in 0usize..40,
        unexpected in 0usize..40,
        unexpected_max in 0usize..UNEXPECTED_MAX,
    ) {
        let mut pair = Pair::new(Capacity { posted, unexpected, unexpected_max });
        for operation in &operations {
            pair.apply(operation);
        }
        pair.compare();
    }
}

/// Numbers by xorshift: the same for a seed on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn envelope(&mut self) -> Envelope {
        Envelope {
            context: CONTEXTS[self.below(2)],
            source: SOURCES[self.below(3)],
            tag: TAGS[self.below(4)],
            content: Content::new(self.below(4) as u64, 0),
        }
    }

    fn pattern(&mut self, wild: bool) -> Pattern {
        let Envelope {
            context,
            source,
            tag,
            ..
        } = self.envelope();
        Pattern {
            context,
            source: (!wild || self.below(2) == 0).then_some(source),
            tag: (!wild || self.below(2) == 0).then_some(tag),
            signature: 0,
        }
    }
}

/// Phases in which the queues fill, drain and idle, with and without wildcards: an index over the
/// unexpected messages is built, kept, dropped after thousands of messages and built again.
fn long_run(seed: u64) {
    let mut random = Random(seed);
    let mut pair = Pair::new(Capacity {
        posted: 4,
        unexpected: 4,
        unexpected_max: 100,
    });
    for phase in 0..40 {
        let wild = phase % 2 == 0;
        let sends = [10, 50, 90][random.below(3)];
        for _ in 0..[50, 500, 15_000][phase % 3] {
            let operation = match random.below(120) {
                chance if chance < sends => Operation::Send(random.envelope()),
                chance if chance < 100 => Operation::Post(random.pattern(wild), 2),
                100..105 => Operation::Probe(random.pattern(wild)),
                105..110 => Operation::Claim(random.pattern(wild)),
                110..115 => Operation::Cancel(random.below(100)),
                115..118 => Operation::Withdraw(random.below(100)),
                _ => Operation::Touch(random.below(100)),
            };
            pair.apply(&operation);
        }
        pair.compare();
        // Run empty by exact receives only, so that what wildcards left behind becomes idle.
        for envelope in pair
            .lists
            .unexpected
            .iter()
            .map(|e| e.1)
            .collect::<Vec<_>>()
        {
            let (source, tag) = (Some(envelope.source), Some(envelope.tag));
            let context = envelope.context;
            pair.apply(&Operation::Claim(Pattern {
                context,
                source,
                tag,
                signature: 0,
            }));
        }
    }
}

#[test]
fn long_runs_are_two_lists() {
    for seed in 1..=4 {
        println!("seed {seed}");
        long_run(seed * 0x9e37_79b9);
    }
}
