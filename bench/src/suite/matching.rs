//! What entries that do not match cost: in the queues alone, and in a ping-pong between two ranks.
//!
//! The floor of a crowded queue is the same queue with one entry in it.

use std::time::Instant;

use oxmpi_matching::{Capacity, Pattern, Post, Queues};
use oxmpi_wire::{Content, Envelope};

use crate::figure::{Row, Target, Unit};
use crate::floor::median;
use crate::rank::{Crowd, Probe};
use crate::session::{BenchError, Session};

const NAME: &str = "matching";
const ENTRIES: [usize; 2] = [1000, 100_000];
/// Matches between two looks at the clock.
const BATCH: u64 = 1000;

/// Queues alone, then between ranks.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for (crowd, what) in [(Crowd::Posted, "posted"), (Crowd::Unexpected, "unexpected")] {
        for entries in ENTRIES {
            let name = format!("queues alone, {entries} {what}");
            let pairs = session.pairs(
                &name,
                |session| Ok(queue_ns(crowd, 1, session)),
                |session| Ok(queue_ns(crowd, entries, session)),
            )?;
            rows.push(
                Row::new(NAME, name, Unit::Nanoseconds, &pairs.values)
                    .on_floor("with 1 entry", &pairs.values, &pairs.floors)
                    .aiming(Target::RatioAtMost(2.0))
                    .plotted(format!("queues, {what}"), "entries", entries as f64),
            );
        }
    }
    for (crowd, what) in [(Crowd::Posted, "posted"), (Crowd::Unexpected, "unexpected")] {
        for entries in ENTRIES {
            let name = format!("8 B one way, {entries} {what}");
            let probe = |entries, session: &Session| Probe::Crowded {
                crowd,
                entries,
                time: session.repetition(),
            };
            let pairs = session.pairs(
                &name,
                |session| session.figure(2, &probe(1, session)),
                |session| session.figure(2, &probe(entries, session)),
            )?;
            rows.push(
                Row::new(NAME, name, Unit::Nanoseconds, &pairs.values)
                    .on_floor("with 1 entry", &pairs.values, &pairs.floors)
                    .aiming(Target::RatioAtMost(1.2))
                    .plotted(format!("8 B one way, {what}"), "entries", entries as f64),
            );
        }
    }
    Ok(rows)
}

/// A receive and a message meeting, ns, beside `entries` others that share context and source with
/// them.
fn queue_ns(crowd: Crowd, entries: usize, session: &Session) -> f64 {
    let capacity = Capacity {
        posted: entries + 1,
        unexpected: entries + 1,
        unexpected_max: entries + 1,
    };
    let mut queues: Queues<u32, u32> = Queues::new(capacity);
    let pattern = |tag| Pattern {
        context: 0,
        source: Some(0),
        tag: Some(tag),
        signature: 0,
    };
    let envelope = |tag| Envelope {
        context: 0,
        source: 0,
        tag,
        content: Content::new(8, 0),
    };
    for tag in 1..=entries as i32 {
        match crowd {
            Crowd::Posted => drop(queues.post(pattern(tag), 8, 0)),
            Crowd::Unexpected => drop(queues.store(envelope(tag), 0)),
        }
    }
    let mut per_match = Vec::new();
    let began = Instant::now();
    while began.elapsed() < session.repetition() || per_match.len() < 3 {
        let start = Instant::now();
        for _ in 0..BATCH {
            match crowd {
                Crowd::Posted => {
                    std::hint::black_box(queues.post(pattern(0), 8, 7));
                    assert!(std::hint::black_box(queues.arrive(&envelope(0))).is_some());
                }
                Crowd::Unexpected => {
                    assert!(queues.arrive(&envelope(0)).is_none());
                    assert!(queues.store(envelope(0), 7).is_ok());
                    assert!(matches!(
                        std::hint::black_box(queues.post(pattern(0), 8, 7)),
                        Post::Matched { .. }
                    ));
                }
            }
        }
        per_match.push(start.elapsed().as_nanos() as f64 / BATCH as f64);
    }
    median(&mut per_match)
}
