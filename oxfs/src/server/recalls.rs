//! Which sessions may have something of a node in their caches, and which are being asked to forget.
//!
//! A session is interested in a node from the reply that told of it until the node is recalled.
//! Nothing here waits; `Server::recall` does.

use std::collections::{HashMap, HashSet, VecDeque};

/// Nodes that one session may cache at once; beyond it the oldest are recalled.
pub(crate) const INTERESTS_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Interests {
    nodes: HashMap<u64, Vec<u64>>,
    sessions: HashMap<u64, VecDeque<u64>>,
    /// Sessions that are being asked about a node, and how often.
    asked: HashMap<(u64, u64), usize>,
}

impl Interests {
    /// The session has been told of the node. The nodes that it has to forget for that.
    pub(crate) fn note(&mut self, session: u64, node: u64) -> Option<u64> {
        let interested = self.nodes.entry(node).or_default();
        if interested.contains(&session) {
            return None;
        }
        interested.push(session);
        let queue = self.sessions.entry(session).or_default();
        queue.push_back(node);
        if queue.len() <= INTERESTS_MAX {
            return None;
        }
        let oldest = queue.pop_front()?;
        self.forget(session, oldest).then_some(oldest)
    }

    fn forget(&mut self, session: u64, node: u64) -> bool {
        let Some(interested) = self.nodes.get_mut(&node) else {
            return false;
        };
        let had = interested.len();
        interested.retain(|&other| other != session);
        let forgot = interested.len() < had;
        if interested.is_empty() {
            self.nodes.remove(&node);
        }
        forgot
    }

    /// The sessions besides this one that are interested in the node; they are no longer.
    pub(crate) fn take_others(&mut self, session: u64, node: u64) -> Vec<u64> {
        let Some(interested) = self.nodes.get_mut(&node) else {
            return Vec::new();
        };
        let (own, others): (Vec<u64>, Vec<u64>) =
            interested.iter().partition(|&&other| other == session);
        *interested = own;
        if interested.is_empty() {
            self.nodes.remove(&node);
        }
        for other in &others {
            // The queue is only a bound: the oldest entry may name a node twice.
            if let Some(queue) = self.sessions.get_mut(other)
                && queue.len() > INTERESTS_MAX / 2
            {
                queue.retain(|&queued| queued != node);
            }
        }
        others
    }

    /// Whether the session is being asked about the node just now.
    pub(crate) fn is_asked(&self, session: u64, node: u64) -> bool {
        self.asked.contains_key(&(session, node))
    }

    pub(crate) fn ask(&mut self, session: u64, node: u64) {
        *self.asked.entry((session, node)).or_default() += 1;
    }

    pub(crate) fn answered(&mut self, session: u64, node: u64) {
        if let Some(count) = self.asked.get_mut(&(session, node)) {
            *count -= 1;
            if *count == 0 {
                self.asked.remove(&(session, node));
            }
        }
    }

    /// The session caches nothing any more.
    pub(crate) fn end(&mut self, session: u64) {
        let queue = self.sessions.remove(&session).unwrap_or_default();
        for node in queue.into_iter().collect::<HashSet<u64>>() {
            self.forget(session, node);
        }
    }
}
