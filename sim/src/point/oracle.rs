//! What must be true when a point-to-point program is over: every message had exactly one end, in MPI's order, and
//! unexpected bytes stayed within their bound.

use std::collections::HashMap;

use crate::fabric::Fabric;
use crate::node::Node;

use super::receiver::Entry;
use super::{Fate, Message, Point};

impl Point {
    pub(super) fn check_all(&self, nodes: &[Node], fabric: &Fabric) -> Result<(), String> {
        if let Some(message) = self.messages.iter().find(|message| self.is_due(message)) {
            return Err(format!("{message:?} was neither received nor taken back"));
        }
        for node in nodes.iter().filter(|node| fabric.is_alive(node.rank())) {
            let rank = node.rank();
            self.check_order(rank)?;
            self.check_bound(node)?;
            if !fabric.arenas[rank as usize].is_empty() {
                let left = fabric.arenas[rank as usize].len();
                return Err(format!(
                    "rank {rank} ends with {left} buffers that were never given back"
                ));
            }
        }
        Ok(())
    }

    /// MPI 5.0 §3.5, non-overtaking. Of two receives of one rank, let the earlier one have got the later message of a
    /// sender. If it would have accepted that sender's earlier message too, it should have got that one: at the
    /// moment of either match the other choice was there.
    fn check_order(&self, rank: u32) -> Result<(), String> {
        let mut by_sender: HashMap<(u32, u32), Vec<(&Entry, &Message)>> = HashMap::new();
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
        let senders: std::collections::HashSet<u32> = senders.collect();
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
