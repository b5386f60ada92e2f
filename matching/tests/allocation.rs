//! Below the capacity no operation allocates; beyond it the queues grow and stay correct.
//!
//! The whole test binary runs on an allocator that counts, for each thread by itself: the thread
//! that runs the tests allocates at any time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use oxmpi_matching::{Capacity, Pattern, Post, Queues};
use oxmpi_wire::Envelope;

/// The system's allocator, with a count of how often memory was asked for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and the memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same here.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller keeps the contract of `realloc`, and the memory is the system's.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 1000;

/// Every message differs in all fields, so that each class needs as many keys as it ever can.
fn envelope(number: usize) -> Envelope {
    Envelope {
        context: number as u64 % 50,
        source: number as u32,
        tag: number as i32,
        bytes: 8,
    }
}

/// The pattern of a class that accepts a message.
fn pattern(class: usize, envelope: &Envelope) -> Pattern {
    Pattern {
        context: envelope.context,
        source: class.is_multiple_of(2).then_some(envelope.source),
        tag: (class < 2).then_some(envelope.tag),
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
    let before = ASKED.get();
    exercise(&mut queues, COUNT);
    assert_eq!(ASKED.get(), before, "below the capacity");

    exercise(&mut queues, 5 * COUNT);
    let grown = ASKED.get();
    assert!(grown > before, "five times the capacity needs memory");

    exercise(&mut queues, 5 * COUNT);
    let after = ASKED.get();
    assert_eq!(after, grown, "what has grown once stays");
}
