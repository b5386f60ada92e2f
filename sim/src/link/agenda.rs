//! What happens when: one queue of events, ordered by time and, at the same time, by when they were
//! planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::network::{Flight, Time};

/// Something that happens.
#[derive(Debug)]
pub enum Event {
    /// A frame comes to its next place.
    Flight(Flight),
    /// A node looks at its ring, and at what it could not send before.
    Turn(u32),
    /// An end's timer runs out.
    Timer(u32),
    /// An end has one more message to send.
    Offer(u32),
    /// An end that waits for messages asks for a sign of life.
    Probe(u32),
}

/// The events to come.
#[derive(Debug, Default)]
pub struct Agenda {
    entries: BinaryHeap<Entry>,
    planned: u64,
}

#[derive(Debug)]
struct Entry {
    at: Time,
    number: u64,
    event: Event,
}

impl Agenda {
    /// Something is to happen.
    pub fn plan(&mut self, at: Time, event: Event) {
        let number = self.planned;
        self.planned += 1;
        self.entries.push(Entry { at, number, event });
    }

    /// Whether nothing is left to happen.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What happens next, and when, if that is before `until`.
    pub fn next_before(&mut self, until: Time) -> Option<(Time, Event)> {
        if self.entries.peek()?.at >= until {
            return None;
        }
        self.entries.pop().map(|entry| (entry.at, entry.event))
    }
}

impl Ord for Entry {
    /// The earlier one is the greater one, because the heap gives its greatest.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.number == other.number
    }
}

impl Eq for Entry {}
