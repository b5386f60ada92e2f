//! Where a message goes: to its entry, or to the dump area, whichever way it comes.

mod double;

use double::{content, data, eager, entry, envelope, one_socket, packet, request};
use oxmpi_o2g_core::{CancelError, PutError, Step};
use oxmpi_wire::o2g::{
    ANY_SOURCE, ANY_TAG, DONE, Entry, FREE, MATCHED, NO_BUFFER, NO_SLOT, OTHER_VERSION, RecordKind,
    WAITING,
};
use oxmpi_wire::{Envelope, HEADER_BYTES, Kind};

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
    let behind = &taken[0].record.prefix[HEADER_BYTES..];
    assert!(
        behind.iter().all(|&byte| byte == 0),
        "no payload in the head"
    );
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
    let other = double.core.open_socket(10, 0).expect("room");
    double.run(other, true, &data(cookie, 5, 1000, 0, 10), usize::MAX);
    assert_eq!(double.take_all()[0].record.slot, NO_SLOT);
    // So is what would be more than the message altogether.
    double.run(socket, true, &data(cookie, 5, 1000, 600, 400), 33);
    double.run(socket, true, &data(cookie, 5, 1000, 0, 601), 33);
    let taken = double.take_all();
    assert_eq!((taken[0].record.slot, taken[0].record.placed), (2, 400));
    assert_eq!((taken[1].record.slot, taken[1].record.placed), (NO_SLOT, 0));
    double.run(socket, true, &data(cookie, 5, 1000, 0, 600), 33);
    assert_eq!(double.flag(2).state, DONE);
    assert_eq!(double.take_all()[0].record.placed, 600);
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

/// Packets that only the process can judge, of a later release among them, are its to read;
/// messages behind them are matched as before.
#[test]
fn kinds_that_the_driver_does_not_serve_become_records() {
    let put = Kind::Put {
        token: 7,
        offset: 9,
        typed: false,
    };
    let known = packet(envelope(1, 30), 0, put, &content(1, 0, 30));
    // Three words, unordered, a number that no kind has.
    let mut later = packet(envelope(1, 40), 0, Kind::Eager, &[]);
    later[0] = 40;
    later[5] = 0xff;
    later.extend([0xab; 24]);
    later.extend(content(2, 0, 40));
    let stream = [known, later.clone(), eager(5, 60)].concat();
    for cut in [usize::MAX, 7] {
        let (mut double, socket) = one_socket();
        double.put(entry(3, 5, 100), true).expect("empty");
        assert_eq!(double.run(socket, true, &stream, cut).step, Step::Done);
        let taken = double.take_all();
        let kinds: Vec<_> = taken.iter().map(|taken| taken.kind).collect();
        let packets = kinds.iter().filter(|kind| **kind == RecordKind::Packet);
        assert_eq!(packets.count(), 3, "{kinds:?}");
        let payload: Vec<u8> = taken
            .iter()
            .flat_map(|taken| taken.payload.clone())
            .collect();
        assert_eq!(payload, [content(1, 0, 30), content(2, 0, 40)].concat());
        let strange = taken.iter().find(|taken| taken.record.prefix[1] == 0xff);
        let strange = strange.expect("the later kind has a record");
        assert_eq!(strange.record.prefix[..], later[4..60]);
        assert_eq!(double.flag(3).state, DONE);
    }
}

#[test]
fn another_version_is_told_with_its_number() {
    let (mut double, socket) = one_socket();
    let mut other = eager(5, 60);
    other[4] = 1;
    assert_eq!(
        double.run(socket, true, &other, usize::MAX).step,
        Step::Broken
    );
    let taken = double.take_all();
    assert_eq!(taken[0].kind, RecordKind::Garbage);
    assert_eq!(taken[0].record.detail, OTHER_VERSION | 1);
}
