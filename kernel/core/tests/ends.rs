//! How things end: farewells, closed sockets, garbage, receives that are taken back; and what is
//! refused from the beginning.

mod double;

use double::{DUMP, Double, Pages, content, eager, entry, envelope, one_socket, packet, request};
use oxmpi_o2g_core::{
    Area, AreaError, CancelError, Core, FreeError, NewError, OpenError, PutError, Reply, Step,
};
use oxmpi_wire::Kind;
use oxmpi_wire::o2g::{DONE, Entry, FREE, NO_SLOT, RecordKind, WAITING};
use oxmpi_wire::stream::{GOODBYE, PAUSE, PAYLOAD_MAX};

const ECONNRESET: u32 = 104;
const EPROTO: u32 = 71;

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
        assert_eq!(double.core.open_socket(9, 0), Ok(socket));
        double.take_all();
        double.put(entry(1, 5, 100), true).expect("released");
        double.run(socket, true, &eager(5, 3), 99);
        assert_eq!((double.flag(1).state, double.flag(1).error), (DONE, 0));
    }
}

#[test]
fn a_closed_socket_gives_back_the_place_for_its_record() {
    let (mut double, mut socket) = one_socket();
    // More often than the area has room for.
    for _ in 0..DUMP / 128 {
        double.put(entry(1, 5, 100), true).expect("released");
        let ran = double.run(socket, true, &eager(5, 100)[..50], usize::MAX);
        assert_eq!(ran.step, Step::Done);
        double.core.close_socket(socket);
        socket = double.core.open_socket(9, 0).expect("closed");
    }
    assert!(double.take().is_none());
}

#[test]
fn an_end_waits_for_room_like_anything_else() {
    let (mut double, socket) = one_socket();
    let other = double.core.open_socket(10, 0).expect("room");
    double.run(other, false, &eager(6, 2 * DUMP as usize), 999);
    assert!(!double.core.end(socket, 0) && double.core.is_stopped(socket));
    double.take_all();
    assert_eq!(double.core.free_to(double.tail), Ok(true));
    assert!(double.core.end(socket, 0) && !double.core.is_stopped(socket));
    assert_eq!(double.take_all()[0].kind, RecordKind::Closed);
}

/// A copy that was asked for and not made, because the process has read the bytes itself or a page
/// did not come, is known by its entry until it is given up; the end releases the entry.
#[test]
fn a_copy_that_was_left_is_known_by_its_entry() {
    for told in [true, false] {
        let (mut double, socket) = one_socket();
        double.put(entry(1, 5, 100), true).expect("empty");
        assert_eq!(double.core.placing(socket), None);
        double.core.begin(socket, false);
        let answer = double.core.feed(socket, &eager(5, 100));
        assert!(matches!(
            answer.step,
            Step::Place {
                slot: 1,
                bytes: 100,
                ..
            }
        ));
        assert_eq!(double.core.placing(socket), Some(entry(1, 5, 100).cookie));
        assert_eq!(double.core.placing(socket + 1), None);
        assert_eq!(double.core.next_released(), None, "it may be written");
        if told {
            double.core.placed(socket, ECONNRESET);
            assert_eq!(double.core.placing(socket), None);
        }
        assert!(double.core.end(socket, 0));
        assert_eq!(double.core.placing(socket), None);
        assert_eq!(
            (double.flag(1).state, double.flag(1).error),
            (DONE, ECONNRESET)
        );
        double.release();
        // A report that comes too late is about nothing.
        double.put(entry(1, 5, 100), true).expect("released");
        double.core.placed(socket, 0);
        assert_eq!(double.flag(1).state, WAITING);
        let told: Vec<_> = double.take_all().iter().map(|taken| taken.kind).collect();
        assert_eq!(told.last(), Some(&RecordKind::Closed));
    }
}

#[test]
fn garbage_breaks_its_socket_only() {
    let begun = packet(envelope(5, 300), 0, Kind::Eager, &content(5, 0, 100));
    let wrong = Kind::More { offset: 99 };
    let cases = [
        (PAYLOAD_MAX as u32 + 1).to_le_bytes().to_vec(),
        vec![0, 0, 0, 0, 3, 0x40],
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
        let other = double.core.open_socket(10, 0).expect("room");
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
    assert_eq!(bare.open_socket(0, 0), Err(OpenError::NoArea));
    assert_eq!(bare.put(&entry(0, 0, 0), true), Err(PutError::NoArea));
    assert_eq!(bare.free_to(0), Err(FreeError::NoArea));
    assert_eq!(bare.cancel(0), Err(CancelError::Unknown { cookie: 0 }));
    assert!(!bare.is_readable() && bare.next_released().is_none());
    assert!(!bare.has_answer(0) && bare.answer(0) == Reply::None);

    let (mut double, _) = one_socket();
    let refused = |double: &mut Double, entry| double.core.put(&entry, true).expect_err("nonsense");
    let slot = PutError::Slot {
        slot: 8,
        n_entries: 8,
    };
    assert_eq!(refused(&mut double, entry(8, 0, 0)), slot);
    let flags = PutError::Flags { flags: 16 };
    assert_eq!(
        refused(
            &mut double,
            Entry {
                flags: 16,
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
        double.core.open_socket(9, 0),
        Err(OpenError::Exists { rank: 9 })
    );
    for rank in 0..3 {
        double.core.open_socket(rank, 0).expect("room for four");
    }
    assert_eq!(
        double.core.open_socket(3, 0),
        Err(OpenError::Full { n_socks: 4 })
    );
    assert_eq!(double.core.find_socket(2), Some(3));
    assert_eq!(double.core.find_socket(3), None);
}

#[test]
fn an_area_is_a_power_of_two_and_given_once() {
    let pages = Pages::new(1 << 20);
    for bytes in [0, 1 << 15, (64 << 10) + 1, 1 << 31] {
        // SAFETY: refused before anything is written.
        let area =
            unsafe { Area::new(pages.at(), pages.at(), 1, pages.at(), 1, pages.at(), bytes) };
        assert_eq!(area.err(), Some(AreaError::Bytes { bytes }));
    }
    let mut double = Double::new(1, 8, DUMP);
    for (slots, error) in [(8, AreaError::Twice), (1, AreaError::Twice)] {
        let at = pages.at();
        // SAFETY: refused before anything is written.
        let area = unsafe { Area::new(at, at, slots, at, 1, at, DUMP) };
        assert_eq!(double.core.set_area(area.expect("a size")), Err(error));
    }
}
