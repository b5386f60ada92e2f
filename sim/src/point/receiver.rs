//! The receiving side of a rank: posted receives, probes, claims, cancellations.
//!
//! With an orderly discipline there is exactly one receive for every message that will come, and
//! whichever way they are matched all fit. The disorderly one posts what it likes, then cancels
//! what is left and collects the rest by claims, until no message for it is due.

use oxmpi_engine::protocol::{Claim, RequestId};
use oxmpi_matching::Pattern;

use crate::fabric::{Area, Fabric};
use crate::node::Node;
use crate::random::Random;

use super::{CONTEXTS, LONGEST_BYTES, Message, NUMBER_BYTES, Point, UNIQUE_TAGS};

/// How the receives of one rank in one context choose their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discipline {
    /// All from anybody with any tag.
    Any,
    /// By source, with any tag.
    BySource,
    /// By tag, from anybody.
    ByTag,
    /// By source and tag.
    Exact,
    /// Anything at all.
    Disorder,
}

impl Discipline {
    pub fn draw(random: &mut Random, deaths: bool) -> Discipline {
        use Discipline::*;
        if deaths {
            Disorder
        } else {
            random.pick(&[Any, BySource, ByTag, Exact, Disorder])
        }
    }

    fn pattern(self, message: &Message, random: &mut Random) -> Pattern {
        let (source, tag) = match self {
            Discipline::Any => (false, false),
            Discipline::BySource => (true, false),
            Discipline::ByTag => (false, true),
            Discipline::Exact => (true, true),
            Discipline::Disorder => (random.chance(50), random.chance(50)),
        };
        Pattern {
            context: message.context,
            source: source.then_some(message.from),
            tag: tag.then_some(message.tag),
            signature: 0,
        }
    }
}

fn accepts(pattern: &Pattern, message: &Message) -> bool {
    pattern.context == message.context
        && pattern.source.is_none_or(|source| source == message.from)
        && pattern.tag.is_none_or(|tag| tag == message.tag)
}

/// A receive under way.
struct Receiving {
    request: RequestId,
    area: Area,
    /// Its place in the log.
    entry: usize,
}

/// A receive as it was made and how it ended, in the order of posting.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub pattern: Pattern,
    pub capacity: u64,
    /// The message that it got.
    pub got: Option<u32>,
}

impl Entry {
    pub fn accepts(&self, message: &Message) -> bool {
        accepts(&self.pattern, message)
    }
}

/// What a rank has to receive.
pub(super) struct Receiver {
    disciplines: Vec<Discipline>,
    to_post: Vec<Pattern>,
    under_way: Vec<Receiving>,
    /// Claimed, not yet received; with the place in the log.
    claims: Vec<(Claim, usize)>,
    pub log: Vec<Entry>,
    /// The disorderly contexts are past their posting: what is left has been cancelled.
    collecting: bool,
}

impl Receiver {
    pub fn new(
        rank: u32,
        disciplines: &[Discipline],
        messages: &[Message],
        random: &mut Random,
    ) -> Receiver {
        let mut to_post: Vec<Pattern> = Vec::new();
        for message in messages.iter().filter(|message| message.to == rank) {
            let pattern = disciplines[message.context as usize].pattern(message, random);
            let at = random.below(to_post.len() as u64 + 1) as usize;
            to_post.push(pattern);
            let last = to_post.len() - 1;
            to_post.swap(at, last);
        }
        let disciplines = disciplines.to_vec();
        Receiver {
            disciplines,
            to_post,
            under_way: Vec::new(),
            claims: Vec::new(),
            log: Vec::new(),
            collecting: false,
        }
    }

    pub fn may_be_receiving(&self, message: &Message) -> bool {
        self.under_way
            .iter()
            .any(|receiving| self.log[receiving.entry].accepts(message))
    }

    /// There is nothing to call until a receive is over.
    pub fn only_waits(&self, node: &Node) -> bool {
        let nothing_to_call =
            self.to_post.is_empty() && self.claims.is_empty() && !self.has_disorder();
        nothing_to_call
            && !self
                .under_way
                .iter()
                .any(|receiving| node.protocol().is_complete(receiving.request))
    }

    /// The receives under way, for reports.
    pub fn waits_for(&self) -> Vec<&Entry> {
        self.under_way
            .iter()
            .map(|receiving| &self.log[receiving.entry])
            .take(3)
            .collect()
    }

    fn is_disorderly(&self, context: u64) -> bool {
        self.disciplines[context as usize] == Discipline::Disorder
    }

    fn has_disorder(&self) -> bool {
        self.disciplines.contains(&Discipline::Disorder)
    }
}

impl Point {
    pub(super) fn receiver_is_over(&self, rank: u32) -> bool {
        let receiver = &self.receivers[rank as usize];
        let posted = receiver.to_post.is_empty()
            && receiver.under_way.is_empty()
            && receiver.claims.is_empty();
        posted && (!receiver.has_disorder() || receiver.collecting && self.due[rank as usize] == 0)
    }

    /// Posts the next receive, or claims its message, or tidies up a disorderly context.
    pub(super) fn issue_receive(
        &mut self,
        node: &mut Node,
        fabric: &mut Fabric,
    ) -> Result<bool, String> {
        let rank = node.rank() as usize;
        if self.random.chance(30) && self.receive_claimed(node, fabric)? {
            return Ok(true);
        }
        if let Some(pattern) = self.receivers[rank].to_post.pop() {
            return self.receive_one(node, fabric, pattern);
        }
        if !self.receivers[rank].has_disorder() {
            return Ok(false);
        }
        if !self.receivers[rank].collecting {
            // Messages still come in for what has been posted: only now and then is it time.
            if self.random.chance(90) {
                return Ok(false);
            }
            self.receivers[rank].collecting = true;
            return self.cancel_disorder(node, fabric);
        }
        let contexts = (0..CONTEXTS).filter(|context| self.receivers[rank].is_disorderly(*context));
        let patterns: Vec<Pattern> = contexts
            .map(|context| Pattern {
                context,
                source: None,
                tag: None,
                signature: 0,
            })
            .collect();
        let mut moved = false;
        for pattern in patterns {
            if let Some(claim) = node.claim(&pattern) {
                self.keep_claim(node.rank(), pattern, claim);
                moved = true;
            }
        }
        Ok(moved)
    }

    fn receive_one(
        &mut self,
        node: &mut Node,
        fabric: &mut Fabric,
        pattern: Pattern,
    ) -> Result<bool, String> {
        let rank = node.rank();
        if self.random.chance(20) {
            let probed = node.probe(&pattern);
            let claim = node.claim(&pattern);
            if probed != claim.as_ref().map(|claim| claim.envelope) {
                return Err(format!(
                    "rank {rank}: a probe for {pattern:?} saw {probed:?}, a claim got {claim:?}"
                ));
            }
            if let Some(claim) = claim {
                self.keep_claim(rank, pattern, claim);
                return Ok(true);
            }
        }
        let (area, capacity) = self.draw_buffer(rank, fabric, pattern.tag);
        let from = pattern.source;
        let request = node.receive(fabric, from, pattern, area, capacity);
        let request = request.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        let receiver = &mut self.receivers[rank as usize];
        let entry = receiver.log.len();
        receiver.under_way.push(Receiving {
            request,
            area,
            entry,
        });
        receiver.log.push(Entry {
            pattern,
            capacity,
            got: None,
        });
        Ok(true)
    }

    /// A claimed message belongs to its receive from now on, though it may be received much later.
    fn keep_claim(&mut self, rank: u32, pattern: Pattern, claim: Claim) {
        let receiver = &mut self.receivers[rank as usize];
        receiver.claims.push((claim, receiver.log.len()));
        receiver.log.push(Entry {
            pattern,
            capacity: 0,
            got: None,
        });
    }

    /// Receives the latest claim, or uses it where it lies if that is memory of both.
    fn receive_claimed(&mut self, node: &mut Node, fabric: &mut Fabric) -> Result<bool, String> {
        let rank = node.rank();
        let Some((claim, entry)) = self.receivers[rank as usize].claims.pop() else {
            return Ok(false);
        };
        if let Some(address) = claim.mapped().filter(|_| self.random.chance(50)) {
            let (from, envelope) = (claim.from(), claim.envelope);
            let lies = Area::from_address(address);
            let bytes = fabric
                .arena(from)
                .read(lies, 0, envelope.bytes() as usize)
                .to_vec();
            let finished = node.finish_claim(fabric, claim);
            finished.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
            self.receivers[rank as usize].log[entry].capacity = envelope.bytes();
            self.judge_message(rank, entry, envelope, &bytes)?;
            return Ok(true);
        }
        let (area, capacity) = self.draw_buffer(rank, fabric, Some(claim.envelope.tag));
        let request = node.receive_claim(fabric, claim, area, capacity);
        let request = request.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        let receiver = &mut self.receivers[rank as usize];
        receiver.log[entry].capacity = capacity;
        receiver.under_way.push(Receiving {
            request,
            area,
            entry,
        });
        Ok(true)
    }

    /// Mostly enough room, sometimes too little; always enough to tell which message it was.
    fn draw_buffer(&mut self, rank: u32, fabric: &mut Fabric, tag: Option<i32>) -> (Area, u64) {
        let least = if tag.is_some_and(|tag| tag >= UNIQUE_TAGS) {
            0
        } else {
            NUMBER_BYTES as u64
        };
        let enough = LONGEST_BYTES + 8;
        let capacity = if self.random.chance(10) {
            least + self.random.below(300)
        } else {
            enough
        };
        (
            fabric.arena(rank).keep(vec![UNTOUCHED; capacity as usize]),
            capacity,
        )
    }

    fn cancel_disorder(&mut self, node: &mut Node, fabric: &mut Fabric) -> Result<bool, String> {
        let rank = node.rank() as usize;
        let receiver = &self.receivers[rank];
        let disorderly = |receiving: &&Receiving| {
            receiver.is_disorderly(receiver.log[receiving.entry].pattern.context)
        };
        let requests: Vec<RequestId> = receiver
            .under_way
            .iter()
            .filter(disorderly)
            .map(|receiving| receiving.request)
            .collect();
        for request in requests {
            node.cancel(fabric, request)
                .map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        }
        Ok(true)
    }

    /// Sees which receives are over.
    pub(super) fn reap_receives(
        &mut self,
        node: &mut Node,
        fabric: &mut Fabric,
    ) -> Result<bool, String> {
        let rank = node.rank() as usize;
        let mut moved = false;
        let mut at = 0;
        while let Some(receiving) = self.receivers[rank].under_way.get(at) {
            let (request, area, entry) = (receiving.request, receiving.area, receiving.entry);
            let Some(outcome) = node.take(request) else {
                at += 1;
                continue;
            };
            self.receivers[rank].under_way.swap_remove(at);
            let bytes = fabric.arena(rank as u32).free(area);
            self.judge_receive(rank as u32, entry, outcome, &bytes)?;
            moved = true;
        }
        Ok(moved)
    }
}

/// What a receive's buffer holds before.
pub(super) const UNTOUCHED: u8 = 0xA5;
