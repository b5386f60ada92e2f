//! The kernel's part is played by hand: records are written into memory that no driver has mapped.

use super::*;
use oxmpi_wire::o2g::{DONE, NO_SLOT, WAITING};

const DUMP_BYTES: u64 = 64 << 10;
const N_ENTRIES: u32 = 200;
const N_SOCKS: u32 = 5;

fn area() -> Area {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    Area::over(N_ENTRIES, N_SOCKS, DUMP_BYTES, flags, -1).unwrap()
}

fn record(kind: u16, length: u32, here: u32) -> Record {
    Record {
        length,
        kind,
        reserved: 0,
        rank: 3,
        slot: NO_SLOT,
        cookie: 0,
        payload: here.into(),
        here,
        detail: 9,
        placed: 0,
        prefix: [7; PREFIX_BYTES],
    }
}

/// What the kernel does: a record at the head, then the head.
fn write(area: &mut Area, position: u64, record: Record, payload: &[u8]) {
    let place = area.dump + (position & (DUMP_BYTES - 1)) as usize;
    let bytes = (area.map_bytes - place).min(RECORD_BYTES);
    let to = area.at(place, bytes).cast_mut();
    // SAFETY: `at` checked the place; the record is a local.
    unsafe {
        std::ptr::copy_nonoverlapping(std::ptr::from_ref(&record).cast::<u8>(), to, bytes);
    }
    if !payload.is_empty() {
        let to = area.at(place + RECORD_BYTES, payload.len()).cast_mut();
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(payload.as_ptr(), to, payload.len()) };
    }
    set_head(area, position + u64::from(record.length));
}

fn set_head(area: &mut Area, head: u64) {
    // SAFETY: a field of the control page.
    unsafe { area.atomic_u64(offset_of!(Control, head)) }.store(head, Ordering::Release);
}

#[test]
fn records_come_in_order_and_once() {
    let mut area = area();
    assert!(area.peek().unwrap().is_none());
    write(&mut area, 0, record(1, 160, 50), &[5; 50]);
    write(&mut area, 160, record(5, 128, 0), &[]);
    let view = area.peek().unwrap().unwrap();
    assert_eq!((view.kind, view.rank), (RecordKind::Packet, 3));
    assert_eq!((view.payload, view.entry), (&[5u8; 50][..], None));
    let end = view.end();
    area.advance_to(end).unwrap();
    let view = area.peek().unwrap().unwrap();
    assert_eq!((view.kind, view.detail), (RecordKind::Closed, 9));
    assert_eq!(view.payload, &[] as &[u8]);
    area.advance_to(view.end()).unwrap();
    assert!(area.peek().unwrap().is_none());
    assert_eq!(area.tail(), 288);
    assert_eq!(area.load_u64(offset_of!(Control, tail)), 288);
}

#[test]
fn a_filler_leads_to_the_beginning() {
    let mut area = area();
    // All but the last 32 bytes, where no whole record fits.
    let mut position = 0;
    while position < DUMP_BYTES - 32 {
        let length = (DUMP_BYTES - 32 - position).min(4096);
        write(&mut area, position, record(2, length as u32, 0), &[]);
        position += length;
    }
    area.advance_to(position).unwrap();
    write(&mut area, position, record(0, 32, 0), &[]);
    assert!(area.peek().unwrap().is_none(), "nothing behind the filler");
    write(&mut area, DUMP_BYTES, record(3, 128, 0), &[]);
    let view = area.peek().unwrap().unwrap();
    assert_eq!(view.kind, RecordKind::Farewell);
    assert_eq!(view.end(), DUMP_BYTES + 128);
}

#[test]
fn nonsense_is_an_error_with_its_values() {
    let (position, kind) = (0, 1);
    for length in [0, 32, 96, 100, 120, 65536 + 32, u32::MAX] {
        let mut area = area();
        write(&mut area, 0, record(kind, length, 0), &[]);
        set_head(&mut area, 1024);
        let error = area.peek().unwrap_err();
        assert_eq!(
            error,
            RecordError::Length {
                position,
                length,
                kind
            }
        );
    }
    let mut area = area();
    write(&mut area, 0, record(77, 128, 0), &[]);
    assert_eq!(
        area.peek().unwrap_err().to_string(),
        "no record at 0: length 128, kind 77"
    );
    write(&mut area, 0, record(1, 128, 25), &[]);
    assert_eq!(
        area.peek().unwrap_err().to_string(),
        "the record at 0 of 128 bytes says that 25 bytes of a payload of 25 follow"
    );
    let wrong = Record {
        slot: N_ENTRIES,
        ..record(1, 128, 0)
    };
    write(&mut area, 0, wrong, &[]);
    assert_eq!(
        area.peek().unwrap_err().to_string(),
        "the record at 0 names slot 200 of 200"
    );
    for head in [DUMP_BYTES + 32, 1, u64::MAX] {
        set_head(&mut area, head);
        assert!(
            matches!(area.peek(), Err(RecordError::Head { .. })),
            "head {head}"
        );
    }
}

#[test]
fn only_what_there_is_can_be_given_back() {
    let mut area = area();
    write(&mut area, 0, record(1, 128, 0), &[]);
    for position in [129, 160, u64::MAX] {
        assert!(area.advance_to(position).is_err(), "{position}");
    }
    area.advance_to(128).unwrap();
    assert!(area.advance_to(0).is_err(), "not backwards");
}

#[test]
fn flags_are_read_by_their_state() {
    let area = area();
    assert_eq!(area.state(0), FREE);
    let slot = N_ENTRIES - 1;
    let flag = Done {
        state: DONE,
        source: 1,
        tag: 2,
        error: 0,
        bytes: 77,
        cookie: 5,
    };
    let at = PAGE_BYTES + slot as usize * size_of::<Done>();
    // SAFETY: a flag of the mapping.
    unsafe { area.at(at, 32).cast_mut().cast::<Done>().write(flag) };
    assert_eq!(area.state(slot), DONE);
    assert_eq!((area.done(slot).bytes, area.done(slot).cookie), (77, 5));
    assert_eq!(area.state(N_ENTRIES), FREE, "no such slot");
    assert_eq!(area.done(u32::MAX).state, FREE, "no such slot");
    assert_ne!(area.state(0), WAITING);
}

#[test]
fn a_desk_says_who_writes() {
    let area = area();
    let word = |desk: usize, offset: usize| {
        let at = PAGE_BYTES + flags_bytes(N_ENTRIES) + desk * size_of::<Desk>() + offset;
        // SAFETY: within the mapping, aligned, and one thread does all.
        unsafe { AtomicU32::from_ptr(area.at(at, 4).cast_mut().cast()) }
    };
    let (busy, owed) = (word(4, 0), word(4, 4));
    area.begin_writing(4);
    assert_eq!(busy.load(Ordering::Relaxed), 1);
    assert!(!area.end_writing(4));
    assert_eq!(busy.load(Ordering::Relaxed), 0);
    area.begin_writing(4);
    owed.store(1, Ordering::Relaxed);
    assert!(area.end_writing(4));
    // One that does not exist is nobody's.
    area.begin_writing(N_SOCKS);
    assert!(!area.end_writing(N_SOCKS));
}
