//! One behaviour of the driver's core after another, by hand-made streams.

mod double;

use double::{Double, content, entry, envelope, packet};
use oxmpi_o2g_core::{
    AreaError, CancelError, Core, FreeError, NewError, OpenError, PutError, SOFTIRQ_BYTES_MAX, Step,
};
use oxmpi_wire::o2g::{
    ANY_SOURCE, ANY_TAG, DONE, Entry, FREE, MATCHED, NO_BUFFER, NO_SLOT, RecordKind, WAITING,
};
use oxmpi_wire::stream::{GOODBYE, PAUSE, PAYLOAD_MAX};
use oxmpi_wire::{Envelope, Kind};

const DUMP: u64 = 64 << 10;
const ECONNRESET: u32 = 104;
const EPROTO: u32 = 71;
const EFAULT: u32 = 14;

fn eager(tag: i32, bytes: usize) -> Vec<u8> {
    let payload = content(tag as u32, 0, bytes);
    packet(envelope(tag, bytes as u64), 0, Kind::Eager, &payload)
}

fn request(tag: i32, bytes: u64) -> Vec<u8> {
    let kind = Kind::RequestToSend {
        send: 77,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    };
    packet(envelope(tag, bytes), 0, kind, &[])
}

fn data(receive: u64, tag: i32, total: u64, offset: u64, bytes: usize) -> Vec<u8> {
    let payload = content(tag as u32, offset, bytes);
    let kind = Kind::Data { receive, offset };
    packet(envelope(tag, total), 0, kind, &payload)
}

/// A context with one socket, of rank 9.
fn one_socket() -> (Double, u32) {
    let mut double = Double::new(4, 8, DUMP);
    let socket = double.core.open_socket(9).expect("room for one");
    (double, socket)
}

#[test]
fn a_message_goes_to_the_entry_that_waits_for_it() {
    let (mut double, socket) = one_socket();
    double
        .put(entry(3, 5, 100), true)
        .expect("nothing is there");
    assert_eq!(double.flag(3).state, WAITING);
    let ran = double.run(socket, true, &eager(5, 60), usize::MAX);
    assert_eq!(ran.step, Step::Done);
    let flag = double.flag(3);
    assert_eq!((flag.state, flag.error, flag.bytes), (DONE, 0, 60));
    assert_eq!((flag.source, flag.tag, flag.cookie), (2, 5, 3));
    let taken = double.take_all();
    assert_eq!(taken.len(), 1);
    let record = &taken[0].record;
    assert_eq!((record.slot, record.cookie, record.rank), (3, 3, 9));
    assert_eq!((record.payload, record.placed, record.here), (60, 60, 0));
    double.release();
    assert_eq!(double.finished[&3][..60], content(5, 0, 60));
    assert!(double.finished[&3][60..].iter().all(|&byte| byte == 0xee));
}

#[test]
fn a_message_that_nobody_awaits_is_dumped_and_makes_put_ask_again() {
    let (mut double, socket) = one_socket();
    double.run(socket, true, &eager(5, 60), usize::MAX);
    assert!(double.core.is_readable());
    assert_eq!(double.put(entry(3, 5, 100), true), Err(PutError::Again));
    assert_eq!(double.flag(3).state, FREE);
    // Another tag is another matter.
    double.put(entry(4, 6, 100), true).expect("no such message");
    let any = Entry {
        flags: ANY_SOURCE | ANY_TAG,
        ..entry(5, 0, 0)
    };
    assert_eq!(double.put(any, true), Err(PutError::Again));
    let taken = double.take_all();
    assert_eq!(taken[0].record.slot, NO_SLOT);
    assert_eq!(taken[0].payload, content(5, 0, 60));
    // `put` says with its tail that the message is the process's own affair now.
    double.put(any, true).expect("the message is taken");
    assert!(!double.core.is_readable());
    assert_eq!(double.core.counters().agains, 2);
}

#[test]
fn a_head_may_be_cut_anywhere() {
    let stream = [eager(1, 10), request(2, 0), eager(3, 0), eager(4, 3000)].concat();
    for cut in 1..stream.len() {
        let (mut double, socket) = one_socket();
        for tag in [1, 2, 4] {
            double
                .put(entry(tag, tag as i32, 3000), true)
                .expect("empty");
        }
        for part in [&stream[..cut], &stream[cut..]] {
            assert_eq!(double.run(socket, true, part, usize::MAX).step, Step::Done);
        }
        double.release();
        assert_eq!(double.take_all().len(), 4, "cut at {cut}");
        assert_eq!(double.finished[&1][..10], content(1, 0, 10), "cut at {cut}");
        assert_eq!(double.finished[&4], content(4, 0, 3000), "cut at {cut}");
    }
}

#[test]
fn fragments_of_an_eager_message_follow_their_first() {
    for flags in [0, NO_BUFFER] {
        let (mut double, socket) = one_socket();
        double
            .put(
                Entry {
                    flags,
                    ..entry(1, 5, 300)
                },
                true,
            )
            .expect("empty");
        let envelope = envelope(5, 300);
        let mut stream = packet(envelope, 0, Kind::Eager, &content(5, 0, 100));
        // Answers may come between the fragments of a message.
        stream.extend(packet(envelope, 0, Kind::Credit, &[]));
        let more = Kind::More { offset: 100 };
        stream.extend(packet(envelope, 0, more, &content(5, 100, 200)));
        let all = stream.len();
        double.run(socket, true, &stream[..all - 1], 50);
        assert_eq!(double.flag(1).state, MATCHED);
        double.run(socket, true, &stream[all - 1..], 50);
        assert_eq!(double.flag(1).state, DONE);
        let taken = double.take_all();
        let packets = taken
            .iter()
            .filter(|taken| taken.kind == RecordKind::Packet);
        let slots: Vec<u32> = packets.map(|taken| taken.record.slot).collect();
        assert_eq!(slots, [1, NO_SLOT, 1]);
        let inline: Vec<u8> = taken
            .iter()
            .flat_map(|taken| taken.payload.clone())
            .collect();
        double.release();
        if flags == NO_BUFFER {
            assert_eq!(inline, content(5, 0, 300));
        } else {
            assert!(inline.is_empty());
            assert_eq!(double.finished[&1], content(5, 0, 300));
        }
    }
}

#[test]
fn data_is_placed_where_its_token_says() {
    let (mut double, socket) = one_socket();
    let cookie = 7 << 32 | 2;
    double.put(entry(cookie, 5, 1000), true).expect("empty");
    double.run(socket, true, &request(5, 1000), usize::MAX);
    let taken = double.take_all();
    assert_eq!((taken[0].record.slot, taken[0].record.cookie), (2, cookie));
    assert_eq!(double.flag(2).state, MATCHED);
    assert_eq!(double.core.cancel(cookie), Err(CancelError::Again));
    // Another token, or bytes beyond the message, are dumped.
    double.run(socket, true, &data(2, 5, 1000, 0, 10), usize::MAX);
    double.run(socket, true, &data(cookie, 5, 1000, 991, 10), usize::MAX);
    double.run(
        socket,
        true,
        &data(cookie, 5, 1000, u64::MAX, 10),
        usize::MAX,
    );
    assert!(
        double
            .take_all()
            .iter()
            .all(|taken| taken.record.slot == NO_SLOT)
    );
    // So are those of another socket.
    let other = double.core.open_socket(10).expect("room");
    double.run(other, true, &data(cookie, 5, 1000, 0, 10), usize::MAX);
    assert_eq!(double.take_all()[0].record.slot, NO_SLOT);
    let stream = [
        data(cookie, 5, 1000, 600, 400),
        data(cookie, 5, 1000, 0, 600),
    ]
    .concat();
    double.run(socket, true, &stream, 33);
    assert_eq!(double.flag(2).state, DONE);
    let placed: Vec<u64> = double
        .take_all()
        .iter()
        .map(|taken| taken.record.placed)
        .collect();
    assert_eq!(placed, [400, 600]);
    double.release();
    assert_eq!(double.finished[&cookie], content(5, 0, 1000));
}

#[test]
fn what_does_not_fit_is_dropped_and_its_length_is_told() {
    let (mut double, socket) = one_socket();
    for (cookie, capacity) in [(1, 10), (2, 0)] {
        double
            .put(entry(cookie, cookie as i32, capacity), true)
            .expect("empty");
        double.run(socket, true, &eager(cookie as i32, 50), 7);
        let flag = double.flag(cookie as u32);
        assert_eq!((flag.state, flag.bytes), (DONE, 50));
        let record = double.take_all()[0].record;
        assert_eq!((record.payload, record.placed), (50, capacity));
        double.release();
        assert_eq!(
            double.finished[&cookie],
            content(cookie as u32, 0, capacity as usize)
        );
    }
}

#[test]
fn a_request_ends_an_entry_when_no_data_will_come() {
    let (mut double, socket) = one_socket();
    double.put(entry(1, 1, 10), true).expect("empty");
    double
        .put(
            Entry {
                flags: NO_BUFFER,
                ..entry(2, 2, 10)
            },
            true,
        )
        .expect("empty");
    double.run(socket, true, &[request(1, 0), request(2, 500)].concat(), 9);
    assert_eq!((double.flag(1).state, double.flag(2).state), (DONE, DONE));
    let slots: Vec<u32> = double
        .take_all()
        .iter()
        .map(|taken| taken.record.slot)
        .collect();
    assert_eq!(slots, [1, 2]);
}

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
    double.copy_error = EFAULT;
    double.run(socket, false, &[eager(5, 100), eager(6, 4)].concat(), 30);
    let flag = double.flag(1);
    assert_eq!((flag.state, flag.error), (DONE, EFAULT));
    let taken = double.take_all();
    assert_eq!(
        (taken[0].record.detail, taken[0].record.placed),
        (EFAULT, 0)
    );
    assert_eq!(taken[1].payload, content(6, 0, 4), "the stream goes on");
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
    // A tail that moves back frees nothing, and one beyond the head is believed up to the head: the process has cheated only itself.
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
    let other = double.core.open_socket(10).expect("room");
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
    let other = double.core.open_socket(10).expect("room");
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

#[test]
fn farewells_and_ends_are_told() {
    let (mut double, socket) = one_socket();
    let stream = [PAUSE.to_le_bytes(), GOODBYE.to_le_bytes()].concat();
    for byte in stream.chunks(1) {
        assert_eq!(double.run(socket, true, byte, 1).step, Step::Done);
    }
    assert!(double.core.end(socket, 0) && double.core.end(socket, 5));
    assert_eq!(double.run(socket, true, &[0], 1).step, Step::Broken);
    let told: Vec<_> = double
        .take_all()
        .iter()
        .map(|t| (t.kind, t.record.detail))
        .collect();
    let farewell = RecordKind::Farewell;
    assert_eq!(
        told,
        [(farewell, 1), (farewell, 0), (RecordKind::Closed, 0)]
    );
}

#[test]
fn the_end_of_a_socket_ends_what_was_arriving() {
    for by_end in [true, false] {
        let (mut double, socket) = one_socket();
        double.put(entry(1, 5, 100), true).expect("empty");
        double.put(entry(2, 6, 100), true).expect("empty");
        double.put(entry(3, 7, 100), true).expect("empty");
        let stream = [request(6, 100), eager(5, 100)].concat();
        double.run(socket, true, &stream[..stream.len() - 1], usize::MAX);
        if by_end {
            assert!(double.core.end(socket, ECONNRESET));
            assert_eq!(
                double.take_all().last().map(|t| t.record.detail),
                Some(ECONNRESET)
            );
        }
        double.core.close_socket(socket);
        double.core.close_socket(socket);
        for slot in [1, 2] {
            assert_eq!(
                (double.flag(slot).state, double.flag(slot).error),
                (DONE, ECONNRESET)
            );
        }
        assert_eq!(double.flag(3).state, WAITING);
        double.release();
        assert_eq!(double.finished.len(), 2);
        assert_eq!(double.core.counters().sockets, 0);
        // The place is free for another, and so is the rank.
        assert_eq!(double.core.open_socket(9), Ok(socket));
        double.take_all();
        double.put(entry(1, 5, 100), true).expect("released");
        double.run(socket, true, &eager(5, 3), 99);
        assert_eq!((double.flag(1).state, double.flag(1).error), (DONE, 0));
    }
}

#[test]
fn an_end_waits_for_room_like_anything_else() {
    let (mut double, socket) = one_socket();
    let other = double.core.open_socket(10).expect("room");
    double.run(other, false, &eager(6, 2 * DUMP as usize), 999);
    assert!(!double.core.end(socket, 0) && double.core.is_stopped(socket));
    double.take_all();
    assert_eq!(double.core.free_to(double.tail), Ok(true));
    assert!(double.core.end(socket, 0) && !double.core.is_stopped(socket));
    assert_eq!(double.take_all()[0].kind, RecordKind::Closed);
}

#[test]
fn garbage_breaks_its_socket_only() {
    let begun = packet(envelope(5, 300), 0, Kind::Eager, &content(5, 0, 100));
    let wrong = Kind::More { offset: 99 };
    let cases = [
        (PAYLOAD_MAX as u32 + 1).to_le_bytes().to_vec(),
        vec![0, 0, 0, 0, 1, 77],
        // A version that nobody has.
        [vec![0, 0, 0, 0, 200, 1], vec![0; 40]].concat(),
        // Longer than its message.
        packet(envelope(5, 2), 0, Kind::Eager, &[1, 2, 3]),
        // Another message before the last is complete; a fragment of nowhere; too much of it.
        [begun.clone(), eager(5, 1)].concat(),
        [begun.clone(), request(5, 1)].concat(),
        [begun.clone(), packet(envelope(5, 300), 0, wrong, &[1])].concat(),
        [
            begun,
            packet(envelope(5, 300), 0, Kind::More { offset: 100 }, &[1; 201]),
        ]
        .concat(),
    ];
    for (number, case) in cases.iter().enumerate() {
        let (mut double, socket) = one_socket();
        double.put(entry(1, 5, 300), true).expect("empty");
        let met = number >= 4;
        assert_eq!(
            double.run(socket, true, case, 11).step,
            Step::Broken,
            "case {number}"
        );
        assert_eq!(double.run(socket, true, &[0], 1).step, Step::Broken);
        assert_eq!(
            double.take_all().last().map(|t| t.kind),
            Some(RecordKind::Garbage)
        );
        let flag = double.flag(1);
        let wanted = if met { (DONE, EPROTO) } else { (WAITING, 0) };
        assert_eq!((flag.state, flag.error), wanted, "case {number}");
        let other = double.core.open_socket(10).expect("room");
        assert_eq!(double.run(other, true, &eager(6, 9), 99).step, Step::Done);
    }
}

#[test]
fn a_receive_is_taken_back_while_it_waits() {
    let (mut double, socket) = one_socket();
    let cookie = 5 << 32 | 1;
    double.put(entry(cookie, 5, 10), true).expect("empty");
    assert_eq!(
        double.core.cancel(1),
        Err(CancelError::Unknown { cookie: 1 })
    );
    assert_eq!(
        double.core.cancel(99),
        Err(CancelError::Unknown { cookie: 99 })
    );
    assert_eq!(double.core.cancel(cookie), Ok(()));
    assert_eq!(
        double.core.cancel(cookie),
        Err(CancelError::Unknown { cookie })
    );
    assert_eq!(double.flag(1).state, FREE);
    double.run(socket, true, &eager(5, 3), 99);
    assert_eq!(double.take_all()[0].record.slot, NO_SLOT);
    // The slot is busy until its memory is let go.
    let busy = Err(PutError::Busy { slot: 1 });
    let tail = double.tail;
    assert_eq!(
        double.core.put(
            &Entry {
                tail,
                ..entry(1, 5, 10)
            },
            true
        ),
        busy
    );
    double.put(entry(1, 5, 10), true).expect("released");
    assert_eq!(
        double.core.put(
            &Entry {
                tail,
                ..entry(1, 5, 10)
            },
            true
        ),
        busy
    );
    double.run(socket, true, &eager(5, 3), 99);
    assert_eq!(
        double.core.cancel(1),
        Err(CancelError::Again),
        "it has arrived"
    );
}

#[test]
fn the_oldest_entry_that_accepts_a_message_gets_it() {
    let (mut double, socket) = one_socket();
    let any = Entry {
        flags: ANY_SOURCE | ANY_TAG,
        ..entry(1, 0, 10)
    };
    double.put(any, true).expect("empty");
    double.put(entry(2, 5, 10), true).expect("empty");
    double
        .put(
            Entry {
                flags: ANY_SOURCE,
                ..entry(3, 5, 10)
            },
            true,
        )
        .expect("empty");
    double.run(
        socket,
        true,
        &[eager(5, 1), request(5, 1), eager(5, 3), eager(5, 4)].concat(),
        8,
    );
    let taken = double.take_all();
    let packets = taken
        .iter()
        .filter(|taken| taken.kind == RecordKind::Packet);
    let slots: Vec<u32> = packets.map(|taken| taken.record.slot).collect();
    assert_eq!(slots, [1, 2, 3, NO_SLOT]);
}

#[test]
fn nonsense_from_the_process_is_refused() {
    assert_eq!(
        Core::new(0, 1).err(),
        Some(NewError::Sockets { n_socks: 0 })
    );
    let many = (1 << 16) + 1;
    assert_eq!(
        Core::new(many, 1).err(),
        Some(NewError::Sockets { n_socks: many })
    );
    assert_eq!(
        Core::new(1, 0).err(),
        Some(NewError::Entries { n_entries: 0 })
    );
    assert_eq!(
        Core::new(1, many).err(),
        Some(NewError::Entries { n_entries: many })
    );
    let mut bare = Core::new(1, 1).expect("in range");
    assert_eq!(bare.open_socket(0), Err(OpenError::NoArea));
    assert_eq!(bare.put(&entry(0, 0, 0), true), Err(PutError::NoArea));
    assert_eq!(bare.free_to(0), Err(FreeError::NoArea));
    assert_eq!(bare.cancel(0), Err(CancelError::Unknown { cookie: 0 }));
    assert!(!bare.is_readable() && bare.next_released().is_none());

    let (mut double, _) = one_socket();
    let refused = |double: &mut Double, entry| double.core.put(&entry, true).expect_err("nonsense");
    let slot = PutError::Slot {
        slot: 8,
        n_entries: 8,
    };
    assert_eq!(refused(&mut double, entry(8, 0, 0)), slot);
    let flags = PutError::Flags { flags: 8 };
    assert_eq!(
        refused(
            &mut double,
            Entry {
                flags: 8,
                ..entry(1, 0, 0)
            }
        ),
        flags
    );
    let (address, bytes) = (u64::MAX, 2);
    let memory = PutError::Memory { address, bytes };
    assert_eq!(
        refused(
            &mut double,
            Entry {
                address,
                ..entry(1, 0, bytes)
            }
        ),
        memory
    );
    let tail = PutError::Tail { tail: 1, head: 0 };
    assert_eq!(
        refused(
            &mut double,
            Entry {
                tail: 1,
                ..entry(1, 0, 0)
            }
        ),
        tail
    );
    assert_eq!(
        double.core.open_socket(9),
        Err(OpenError::Exists { rank: 9 })
    );
    for rank in 0..3 {
        double.core.open_socket(rank).expect("room for four");
    }
    assert_eq!(
        double.core.open_socket(3),
        Err(OpenError::Full { n_socks: 4 })
    );
    assert_eq!(double.core.find_socket(2), Some(3));
    assert_eq!(double.core.find_socket(3), None);
}

#[test]
fn an_area_is_a_power_of_two_and_given_once() {
    let pages = double::Pages::new(1 << 20);
    for bytes in [0, 1 << 15, (64 << 10) + 1, 1 << 31] {
        // SAFETY: refused before anything is written.
        let area =
            unsafe { oxmpi_o2g_core::Area::new(pages.at(), pages.at(), 1, pages.at(), bytes) };
        assert_eq!(area.err(), Some(AreaError::Bytes { bytes }));
    }
    let mut double = Double::new(1, 8, DUMP);
    for (slots, error) in [(8, AreaError::Twice), (1, AreaError::Twice)] {
        // SAFETY: refused before anything is written.
        let area =
            unsafe { oxmpi_o2g_core::Area::new(pages.at(), pages.at(), slots, pages.at(), DUMP) };
        assert_eq!(double.core.set_area(area.expect("a size")), Err(error));
    }
}

#[test]
fn entries_of_one_context_do_not_take_messages_of_another() {
    let (mut double, socket) = one_socket();
    double
        .put(
            Entry {
                context: 2,
                flags: ANY_SOURCE | ANY_TAG,
                ..entry(1, 0, 9)
            },
            true,
        )
        .expect("empty");
    double.run(socket, true, &eager(5, 1), 99);
    assert_eq!(double.flag(1).state, WAITING);
    let theirs = Envelope {
        context: 2,
        ..envelope(5, 1)
    };
    double.run(socket, true, &packet(theirs, 0, Kind::Eager, &[1]), 99);
    assert_eq!(double.flag(1).state, DONE);
}
