//! What bounds the core: bytes of a softirq, memory that is not pinned, room in the dump area and
//! in the unexpected queue.

mod double;

use double::{DUMP, content, eager, entry, one_socket};
use oxmpi_o2g_core::{FreeError, SOFTIRQ_BYTES_MAX, Step};
use oxmpi_wire::o2g::{DONE, Entry, MATCHED};

const EFAULT: u32 = 14;

#[test]
fn a_softirq_copies_so_much_and_leaves_the_rest_to_a_thread() {
    let (mut double, socket) = one_socket();
    let bytes = 2 * SOFTIRQ_BYTES_MAX;
    double.put(entry(1, 5, bytes as u64), true).expect("empty");
    let stream = eager(5, bytes);
    let ran = double.run(socket, true, &stream, 40_000);
    assert_eq!(ran.step, Step::Thread);
    assert!((SOFTIRQ_BYTES_MAX - 128..=SOFTIRQ_BYTES_MAX + 128).contains(&ran.consumed));
    let ran = double.run(socket, false, &stream[ran.consumed..], 40_000);
    assert_eq!(ran.step, Step::Done);
    let counters = double.core.counters();
    assert_eq!(
        counters.placed_bytes_softirq + counters.placed_bytes_thread,
        bytes as u64
    );
    assert_eq!((counters.runs_softirq, counters.runs_thread), (1, 1));
    // Short messages cost too.
    let many = eager(6, 0).repeat(SOFTIRQ_BYTES_MAX / 36);
    let ran = double.run(socket, true, &many, usize::MAX);
    assert!(matches!(ran.step, Step::Thread | Step::Stop) && ran.consumed < many.len());
}

#[test]
fn memory_that_is_not_pinned_is_written_by_a_thread() {
    let (mut double, socket) = one_socket();
    double.put(entry(1, 5, 100), false).expect("empty");
    let stream = eager(5, 100);
    let ran = double.run(socket, true, &stream, usize::MAX);
    assert_eq!((ran.step, ran.consumed), (Step::Thread, stream.len() - 100));
    assert_eq!(double.flag(1).state, MATCHED);
    let ran = double.run(socket, false, &stream[ran.consumed..], usize::MAX);
    assert_eq!((ran.step, double.flag(1).state), (Step::Done, DONE));
    // Nothing is to be written: no thread is needed.
    double.take_all();
    double.put(entry(2, 6, 100), false).expect("empty");
    assert_eq!(double.run(socket, true, &eager(6, 0), 99).step, Step::Done);
}

#[test]
fn a_copy_that_fails_ends_the_entry_with_its_errno() {
    let (mut double, socket) = one_socket();
    double.put(entry(1, 5, 100), false).expect("empty");
    let stream = [eager(5, 100), eager(6, 4)].concat();
    double.copy_error = EFAULT;
    double.run(socket, false, &stream[..60], 30);
    // Nothing is copied behind a hole.
    double.copy_error = 0;
    double.run(socket, false, &stream[60..], 30);
    let flag = double.flag(1);
    assert_eq!((flag.state, flag.error), (DONE, EFAULT));
    let taken = double.take_all();
    assert_eq!(
        (taken[0].record.detail, taken[0].record.placed),
        (EFAULT, 0)
    );
    assert_eq!(taken[1].payload, content(6, 0, 4), "the stream goes on");
    double.release();
    assert!(double.finished[&1].iter().all(|&byte| byte == 0xee));
}

#[test]
fn a_full_area_stops_the_socket_until_there_is_room() {
    let (mut double, socket) = one_socket();
    let stream = eager(5, 3 * DUMP as usize);
    let mut rest = &stream[..];
    let mut found = Vec::new();
    let mut stops = 0;
    while !rest.is_empty() {
        let ran = double.run(socket, false, rest, 5000);
        rest = &rest[ran.consumed..];
        if ran.step == Step::Stop {
            stops += 1;
            assert!(double.core.is_stopped(socket) && double.control().stopped == 1);
            // While there is none, asking again changes nothing.
            assert_eq!(double.run(socket, false, rest, 5000).consumed, 0);
        }
        found.extend(
            double
                .take_all()
                .into_iter()
                .flat_map(|taken| taken.payload),
        );
        assert_eq!(double.core.free_to(double.tail), Ok(ran.step == Step::Stop));
    }
    assert!(stops >= 3 && double.core.counters().stops == stops);
    assert!(!double.core.is_stopped(socket) && double.control().stopped == 0);
    assert_eq!(found, content(5, 0, 3 * DUMP as usize));
}

#[test]
fn the_mapped_tail_makes_room_but_no_lie_does() {
    let (mut double, socket) = one_socket();
    let stream = eager(5, 4 * DUMP as usize);
    let first = double.run(socket, false, &stream, 5000);
    assert_eq!(first.step, Step::Stop);
    // A tail that moves back frees nothing, and one beyond the head is believed up to the head: the
    // process has cheated only itself.
    double.map_tail(0);
    let rest = &stream[first.consumed..];
    assert_eq!(double.run(socket, false, rest, 5000).consumed, 0);
    double.map_tail(u64::MAX);
    let second = double.run(socket, false, &rest[..rest.len() / 2], 5000);
    assert_eq!(second.step, Step::Done);
    double.map_tail(0);
    let rest = &rest[rest.len() / 2..];
    assert_eq!(double.run(socket, false, rest, 5000).step, Step::Stop);
    let head = double.control().head;
    let beyond = head + 1;
    assert_eq!(
        double.core.free_to(beyond),
        Err(FreeError::Tail { tail: beyond, head })
    );
    assert_eq!(double.core.free_to(head), Ok(true));
}

#[test]
fn the_unexpected_queue_is_bounded_too() {
    let (mut double, socket) = one_socket();
    let stream = eager(5, 0).repeat(12);
    let ran = double.run(socket, true, &stream, usize::MAX);
    assert_eq!((ran.step, double.take_all().len()), (Step::Stop, 8));
    // What an entry accepts needs no place there.
    let other = double.core.open_socket(10, 0).expect("room");
    let asked = Entry {
        tail: 0,
        ..entry(1, 6, 0)
    };
    double.core.put(&asked, true).expect("another tag");
    assert_eq!(double.run(other, true, &eager(6, 0), 99).step, Step::Done);
    assert_eq!(double.core.free_to(double.tail), Ok(true));
    let ran = double.run(socket, true, &stream[ran.consumed..], usize::MAX);
    assert_eq!((ran.step, double.take_all().len()), (Step::Done, 5));
}

#[test]
fn a_place_for_the_record_is_kept_while_a_message_is_placed() {
    let (mut double, socket) = one_socket();
    let other = double.core.open_socket(10, 0).expect("room");
    double.put(entry(1, 5, 100), true).expect("empty");
    let stream = eager(5, 100);
    double.run(socket, true, &stream[..80], usize::MAX);
    let flood = eager(6, 2 * DUMP as usize);
    assert_eq!(double.run(other, false, &flood, 999).step, Step::Stop);
    assert_eq!(double.run(socket, true, &stream[80..], 99).step, Step::Done);
    assert_eq!(double.flag(1).state, DONE);
    assert_eq!(
        double.take_all().last().map(|taken| taken.record.slot),
        Some(1)
    );
}
