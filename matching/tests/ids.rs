//! Ids, the bound, truncation and counters, one by one.

use oxmpi_matching::{Capacity, Counters, Pattern, Post, PostedId, Queues};
use oxmpi_wire::{Content, Envelope};

const ENVELOPE: Envelope = Envelope {
    context: 1,
    source: 2,
    tag: 3,
    content: Content::new(100, 0),
};

const PATTERN: Pattern = Pattern {
    context: 1,
    source: Some(2),
    tag: Some(3),
    signature: 0,
};

const CAPACITY: Capacity = Capacity {
    posted: 4,
    unexpected: 4,
    unexpected_max: 4,
};

fn post(queues: &mut Queues<u32, u32>, receive: u32) -> PostedId {
    match queues.post(PATTERN, 100, receive) {
        Post::Queued(id) => id,
        Post::Matched { .. } => panic!("no message is there"),
    }
}

#[test]
fn an_id_names_its_receive_once() {
    let mut queues: Queues<u32, u32> = Queues::new(CAPACITY);
    let cancelled = post(&mut queues, 10);
    assert_eq!(queues.cancel(cancelled), Some(10));
    assert_eq!(queues.cancel(cancelled), None);
    // The next receive takes the same place, and the old id does not reach it.
    let matched = post(&mut queues, 11);
    assert_ne!(matched, cancelled);
    assert_eq!(queues.cancel(cancelled), None);
    assert_eq!(queues.arrive(&ENVELOPE).map(|m| m.posted), Some(11));
    assert_eq!(queues.cancel(matched), None);
    let last = post(&mut queues, 12);
    assert_eq!(queues.cancel(matched), None);
    assert_eq!(queues.cancel(last), Some(12));
}

#[test]
fn an_id_names_its_message_once() {
    let mut queues: Queues<u32, u32> = Queues::new(CAPACITY);
    let first = queues.store(ENVELOPE, 20).expect("room");
    *queues.unexpected_mut(first).expect("waits") += 1;
    assert_eq!(queues.claim(&PATTERN), Some((ENVELOPE, 21)));
    assert_eq!(queues.unexpected_mut(first), None);
    assert_eq!(queues.withdraw(first), None);
    let second = queues.store(ENVELOPE, 30).expect("room");
    assert_eq!(queues.unexpected_mut(first), None);
    assert_eq!(queues.withdraw(first), None);
    assert_eq!(queues.withdraw(second), Some((ENVELOPE, 30)));
    assert_eq!(queues.unexpected_len(), 0);
}

/// An id of other queues may name nothing here, or a place that was never used.
#[test]
fn a_foreign_id_names_nothing() {
    let mut queues: Queues<u32, u32> = Queues::new(CAPACITY);
    let mut others: Queues<u32, u32> = Queues::new(CAPACITY);
    for receive in 0..3 {
        let id = post(&mut others, receive);
        assert_eq!(queues.cancel(id), None);
    }
}

#[test]
fn the_bound_hands_the_message_back() {
    let mut queues: Queues<u32, String> = Queues::new(CAPACITY);
    for _ in 0..4 {
        queues.store(ENVELOPE, String::from("kept")).expect("room");
    }
    let full = queues.store(ENVELOPE, String::from("back"));
    let full = full.expect_err("four wait already");
    assert_eq!(
        full.to_string(),
        "unexpected message (context 0x1 source 2 tag 3, 100 bytes) refused: 4 messages without a \
         receive wait already, which is the bound; post receives earlier, or raise the bound"
    );
    assert_eq!(full.unexpected, "back");
    assert_eq!(queues.unexpected_len(), 4);
    assert!(queues.claim(&PATTERN).is_some());
    assert!(queues.store(ENVELOPE, full.unexpected).is_ok());
}

#[test]
fn no_unexpected_messages_at_all_is_a_bound_too() {
    let none = Capacity {
        unexpected_max: 0,
        ..CAPACITY
    };
    let mut queues: Queues<u32, u32> = Queues::new(none);
    assert!(queues.store(ENVELOPE, 1).is_err());
    post(&mut queues, 1);
    assert!(queues.arrive(&ENVELOPE).is_some());
}

#[test]
fn a_buffer_one_byte_short_truncates() {
    for (capacity, wanted) in [(99, true), (100, false), (101, false)] {
        let mut queues: Queues<u32, u32> = Queues::new(CAPACITY);
        queues.post(PATTERN, capacity, 1);
        let matched = queues.arrive(&ENVELOPE).expect("posted");
        assert_eq!(matched.truncated, wanted, "posted with {capacity}");
        queues.store(ENVELOPE, 1).expect("room");
        match queues.post(PATTERN, capacity, 1) {
            Post::Matched { truncated, .. } => assert_eq!(truncated, wanted),
            Post::Queued(_) => panic!("a message waits"),
        }
    }
}

#[test]
fn counters_tell_what_passed() {
    let mut queues: Queues<u32, u32> = Queues::new(CAPACITY);
    post(&mut queues, 1);
    post(&mut queues, 2);
    assert!(queues.arrive(&ENVELOPE).is_some());
    assert!(queues.arrive(&ENVELOPE).is_some());
    for _ in 0..5 {
        let _ = queues.store(ENVELOPE, 0);
    }
    assert!(queues.probe(&PATTERN).is_some());
    assert!(queues.claim(&PATTERN).is_some());
    queues.post(PATTERN, 0, 3);
    let wanted = Counters {
        posted_high: 2,
        unexpected_high: 4,
        expected: 2,
        unexpected: 2,
        refused: 1,
    };
    assert_eq!(queues.counters(), wanted);
}
