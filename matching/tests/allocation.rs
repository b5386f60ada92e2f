//! Below the capacity no operation allocates; beyond it the queues grow and stay correct.

#[path = "../../harness/counting.rs"]
mod counting;

use oxmpi_matching::{Capacity, Pattern, Post, Queues};
use oxmpi_wire::{Content, Envelope};

const COUNT: usize = 1000;

/// Every message differs in all fields, so that each class needs as many keys as it ever can.
fn envelope(number: usize) -> Envelope {
    Envelope {
        context: number as u64 % 50,
        source: number as u32,
        tag: number as i32,
        content: Content::new(8, 0),
    }
}

/// The pattern of a class that accepts a message.
fn pattern(class: usize, envelope: &Envelope) -> Pattern {
    Pattern {
        context: envelope.context,
        source: class.is_multiple_of(2).then_some(envelope.source),
        tag: (class < 2).then_some(envelope.tag),
        signature: 0,
    }
}

/// Fills and empties both queues by every class of pattern and every way out.
fn exercise(queues: &mut Queues<usize, usize>, count: usize) {
    for class in 0..4 {
        for number in 0..count {
            let pattern = pattern(class, &envelope(number));
            assert!(matches!(queues.post(pattern, 8, number), Post::Queued(_)));
        }
        for number in 0..count {
            assert!(queues.arrive(&envelope(number)).is_some());
        }
        for number in 0..count {
            assert!(queues.arrive(&envelope(number)).is_none());
            queues.store(envelope(number), number).expect("room");
        }
        for number in 0..count {
            let pattern = pattern(class, &envelope(number));
            assert!(queues.probe(&pattern).is_some());
            if number % 2 == 0 {
                assert!(queues.claim(&pattern).is_some());
            } else {
                assert!(matches!(queues.post(pattern, 8, 0), Post::Matched { .. }));
            }
        }
        let Post::Queued(id) = queues.post(pattern(class, &envelope(0)), 8, 0) else {
            panic!("everything was taken");
        };
        assert!(queues.cancel(id).is_some());
        let id = queues.store(envelope(0), 0).expect("room");
        assert!(queues.withdraw(id).is_some());
    }
    assert_eq!((queues.posted_len(), queues.unexpected_len()), (0, 0));
}

#[test]
fn no_operation_allocates_below_the_capacity() {
    let mut queues = Queues::new(Capacity {
        posted: COUNT,
        unexpected: COUNT,
        unexpected_max: 10 * COUNT,
    });
    let before = counting::asked();
    exercise(&mut queues, COUNT);
    assert_eq!(counting::asked(), before, "below the capacity");

    exercise(&mut queues, 5 * COUNT);
    let grown = counting::asked();
    assert!(grown > before, "five times the capacity needs memory");

    exercise(&mut queues, 5 * COUNT);
    let after = counting::asked();
    assert_eq!(after, grown, "what has grown once stays");
}
