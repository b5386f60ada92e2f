//! What must be true of a point-to-point program: each receive ends with a message that it may get,
//! intact and for the first time; and when all is over every message had exactly one end, in MPI's
//! order, and unexpected bytes stayed within their bound.

use std::collections::{HashMap, HashSet};

use oxmpi_engine::protocol::{Failure, Outcome};
use oxmpi_wire::{Content, Envelope};

use crate::fabric::Fabric;
use crate::node::Node;

use super::receiver::{Entry, UNTOUCHED};
use super::{Fate, Message, NUMBER_BYTES, Point, UNIQUE_TAGS};

impl Point {
    /// A receive is over: whether it may have ended like that, and what it got.
    pub(super) fn judge_receive(
        &mut self,
        rank: u32,
        entry: usize,
        outcome: Outcome,
        buffer: &[u8],
    ) -> Result<(), String> {
        let (pattern, capacity) = {
            let entry = &self.receivers[rank as usize].log[entry];
            (entry.pattern, entry.capacity)
        };
        let envelope = match outcome {
            Ok(completion) if completion.cancelled => return Ok(()),
            Ok(completion) => {
                if completion.bytes > capacity {
                    return Err(format!(
                        "rank {rank}: {completion:?} in a buffer of {capacity} bytes is no success"
                    ));
                }
                Envelope {
                    context: pattern.context,
                    source: completion.source,
                    tag: completion.tag,
                    content: Content::new(completion.bytes, 0),
                }
            }
            Err(Failure::Truncated {
                source,
                tag,
                bytes,
                capacity: reported,
            }) => {
                if bytes <= capacity || reported != capacity {
                    return Err(format!(
                        "rank {rank}: truncation of {bytes} bytes to {reported}, buffer {capacity}"
                    ));
                }
                Envelope {
                    context: pattern.context,
                    source,
                    tag,
                    content: Content::new(bytes, 0),
                }
            }
            Err(Failure::PeerDied { peer }) => {
                let concerned = pattern.source.is_none_or(|source| source == peer);
                if !self.dead[peer as usize] || !concerned {
                    return Err(format!(
                        "rank {rank}: {pattern:?} failed because rank {peer} died, which it did not"
                    ));
                }
                return Ok(());
            }
            Err(failure) => {
                return Err(format!(
                    "rank {rank}: a receive of {pattern:?} failed: {failure:?}"
                ));
            }
        };
        self.judge_message(rank, entry, envelope, buffer)
    }

    /// Which message it was, and whether it arrived intact and for the first time.
    pub(super) fn judge_message(
        &mut self,
        rank: u32,
        entry: usize,
        envelope: Envelope,
        buffer: &[u8],
    ) -> Result<(), String> {
        let number = if envelope.tag >= UNIQUE_TAGS {
            (envelope.tag - UNIQUE_TAGS) as u32
        } else {
            let head = buffer
                .get(..NUMBER_BYTES)
                .and_then(|head| head.try_into().ok());
            head.map(u32::from_le_bytes)
                .ok_or(format!("rank {rank}: {envelope:?} lacks its number"))?
        };
        let Some(message) = self.messages.get(number as usize) else {
            return Err(format!(
                "rank {rank}: {envelope:?} carries the number {number}, which nobody sent"
            ));
        };
        let log = &mut self.receivers[rank as usize].log[entry];
        if message.to != rank || message.envelope() != envelope || !log.accepts(message) {
            return Err(format!(
                "rank {rank}: {log:?} got {envelope:?}, which contradicts {message:?}"
            ));
        }
        if message.fate != Fate::Open {
            return Err(format!("rank {rank}: {message:?} was received again"));
        }
        log.got = Some(number);
        let arrived = message.bytes.min(buffer.len());
        let content = message.content(self.seed);
        if buffer[..arrived] != content[..arrived]
            || buffer[arrived..].iter().any(|byte| *byte != UNTOUCHED)
        {
            return Err(format!(
                "rank {rank}: {message:?} arrived damaged, or bytes beyond it were written"
            ));
        }
        self.seal(number, Fate::Received);
        Ok(())
    }

    pub(super) fn check_all(&self, nodes: &[Node], fabric: &Fabric) -> Result<(), String> {
        if let Some(message) = self.messages.iter().find(|message| self.is_due(message)) {
            return Err(format!("{message:?} was neither received nor taken back"));
        }
        for node in nodes.iter().filter(|node| fabric.is_alive(node.rank())) {
            let rank = node.rank();
            self.check_order(rank)?;
            self.check_bound(node)?;
            if !fabric.arena(rank).is_empty() {
                let left = fabric.arena(rank).len();
                return Err(format!(
                    "rank {rank} ends with {left} buffers that were never given back"
                ));
            }
        }
        Ok(())
    }

    /// MPI 5.0 §3.5, non-overtaking. Of two receives of one rank, let the earlier one have got the
    /// later message of a sender. If it would have accepted that sender's earlier message too, it
    /// should have got that one: at the moment of either match the other choice was there.
    fn check_order(&self, rank: u32) -> Result<(), String> {
        let mut by_sender: HashMap<(u64, u32), Vec<(&Entry, &Message)>> = HashMap::new();
        for entry in &self.receivers[rank as usize].log {
            if let Some(number) = entry.got {
                let message = &self.messages[number as usize];
                by_sender
                    .entry((message.context, message.from))
                    .or_default()
                    .push((entry, message));
            }
        }
        for received in by_sender.values() {
            for (at, (entry, message)) in received.iter().enumerate() {
                // Numbers rise in the order of sending.
                let overtaken = received[at + 1..]
                    .iter()
                    .find(|(_, later)| later.number < message.number && entry.accepts(later));
                if let Some((_, overtaken)) = overtaken {
                    return Err(format!(
                        "rank {rank}: {entry:?} got {message:?} although {overtaken:?} was sent before it"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Each sender may have `room_bytes` here unmatched, headers counted.
    fn check_bound(&self, node: &Node) -> Result<(), String> {
        let senders = self
            .messages
            .iter()
            .filter(|message| message.to == node.rank())
            .map(|message| message.from);
        let senders: HashSet<u32> = senders.collect();
        let bound = senders.len() as u64 * self.room_bytes;
        let high = node.protocol().counters().stashed_bytes_high;
        if high > bound {
            let rank = node.rank();
            return Err(format!(
                "rank {rank} kept {high} unexpected bytes, {bound} are allowed"
            ));
        }
        // What dead ranks sent may be left over; otherwise every message has been received.
        let left = node.protocol().counters().stashed_bytes;
        if left > 0 && !self.dead.contains(&true) {
            return Err(format!(
                "rank {} ends with {left} unexpected bytes",
                node.rank()
            ));
        }
        Ok(())
    }

    /// For reports: messages that were received, taken back, lost.
    pub fn fates(&self) -> (usize, usize, usize) {
        let count = |fate| {
            self.messages
                .iter()
                .filter(|message| message.fate == fate)
                .count()
        };
        (
            count(Fate::Received),
            count(Fate::Cancelled),
            count(Fate::Lost),
        )
    }
}
