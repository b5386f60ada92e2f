//! Core and process at the same time: one thread writes records under the context's lock, the other
//! reads the mapped memory without it and moves its tail there.
//!
//! What must hold: whole records only, in order; and no stop that nobody hears of, although the
//! process asks for more only when it sees the flag `stopped`.

mod double;

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use double::{DUMP, Pages, content, envelope, packet};
use oxmpi_o2g_core::{Area, Core, Step};
use oxmpi_wire::Kind;
use oxmpi_wire::o2g::{Control, PAGE_BYTES, RECORD_BYTES, Record, RecordKind};

const MESSAGES: u32 = 60_000;
/// So often the process waits until the area is full; so many messages fill it.
const FILL: u32 = 1000;
/// A wake-up that takes this long was lost.
const PATIENCE: Duration = Duration::from_secs(300);

/// The memory that both have.
struct Mapped {
    control: Pages,
    flags: Pages,
    desks: Pages,
    dump: Pages,
}

// SAFETY: control is used by atomics only; of the dump area the process reads what the core has
// published and does not write before the tail has passed it.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the zeroed page, aligned, and used by atomics only.
        unsafe { AtomicU64::from_ptr(self.control.at().add(offset).cast()) }
    }

    fn is_stopped(&self) -> bool {
        let at = offset_of!(Control, stopped);
        // SAFETY: as in `word`.
        let stopped = unsafe { AtomicU32::from_ptr(self.control.at().add(at).cast()) };
        stopped.load(Ordering::Relaxed) != 0
    }

    /// The record at a position before the head, with its payload.
    fn record(&self, position: u64) -> (Record, Vec<u8>) {
        let place = (position % DUMP) as usize;
        // SAFETY: a record begins there, and wherever one begins there is room for all of it before
        // the area ends.
        unsafe {
            let at = self.dump.at().add(place);
            let record = at.cast::<Record>().read_unaligned();
            let mut payload = vec![0; record.here as usize];
            assert!(place + RECORD_BYTES + payload.len() <= DUMP as usize);
            at.add(RECORD_BYTES)
                .copy_to_nonoverlapping(payload.as_mut_ptr(), payload.len());
            (record, payload)
        }
    }
}

/// The context's lock, and who sleeps until there is room.
struct Context {
    core: Mutex<Core>,
    room: Condvar,
}

fn length(number: u32) -> usize {
    (number.wrapping_mul(2_654_435_761) >> 8) as usize % 3000
}

/// Reads the socket: message after message, asleep while the core has stopped.
fn kernel(context: &Context, socket: u32) {
    for number in 0..MESSAGES {
        let payload = content(number, 0, length(number));
        let envelope = envelope(1, payload.len() as u64);
        let bytes = packet(envelope, number, Kind::Credit, &payload);
        let mut rest = &bytes[..];
        let mut core = context.core.lock().expect("no thread has failed");
        core.begin(socket, false);
        loop {
            let answer = core.feed(socket, rest);
            rest = &rest[answer.consumed..];
            match answer.step {
                Step::Done => break,
                Step::Stop => {
                    let (woken, waited) = context
                        .room
                        .wait_timeout(core, PATIENCE)
                        .expect("no thread has failed");
                    assert!(!waited.timed_out(), "message {number} stopped for good");
                    core = woken;
                }
                step => panic!("{step:?} of a message that is dumped"),
            }
        }
    }
}

/// Takes records until all messages are there; asks for more only when it sees that the core has
/// stopped.
fn process(context: &Context, mapped: &Mapped) {
    let mut tail = 0;
    for number in 0..MESSAGES {
        while number % FILL == 0 && number + FILL < MESSAGES && !mapped.is_stopped() {
            std::thread::yield_now();
        }
        let mut message = Vec::new();
        let mut kind = RecordKind::Packet;
        loop {
            while mapped
                .word(offset_of!(Control, head))
                .load(Ordering::Acquire)
                == tail
            {
                std::thread::yield_now();
            }
            let (record, payload) = mapped.record(tail);
            assert_eq!(RecordKind::from_number(record.kind), Some(kind));
            assert_eq!(record.payload, length(number) as u64);
            message.extend(payload);
            tail += u64::from(record.length);
            mapped
                .word(offset_of!(Control, tail))
                .store(tail, Ordering::Release);
            fence(Ordering::SeqCst);
            if mapped.is_stopped() {
                let mut core = context.core.lock().expect("no thread has failed");
                if core.free_to(tail).expect("before the head") {
                    context.room.notify_all();
                }
            }
            if message.len() == length(number) {
                break;
            }
            kind = RecordKind::Payload;
        }
        assert!(
            message == content(number, 0, message.len()),
            "message {number}"
        );
    }
}

#[test]
fn no_record_is_torn_and_no_stop_is_missed() {
    let mapped = Mapped {
        control: Pages::new(PAGE_BYTES),
        flags: Pages::new(PAGE_BYTES),
        desks: Pages::new(PAGE_BYTES),
        dump: Pages::new(DUMP as usize),
    };
    let (control, flags, dump) = (mapped.control.at(), mapped.flags.at(), mapped.dump.at());
    // SAFETY: zeroed pages, long enough, dropped after the core, which is dropped with the context.
    let area = unsafe { Area::new(control, flags, 1, mapped.desks.at(), 1, dump, DUMP) };
    let mut core = Core::new(1, 1).expect("in range");
    core.set_area(area.expect("a size in range")).expect("once");
    let socket = core.open_socket(0, 0).expect("room");
    let context = Context {
        core: Mutex::new(core),
        room: Condvar::new(),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| kernel(&context, socket));
        scope.spawn(|| process(&context, &mapped));
    });
    let core = context.core.into_inner().expect("no thread has failed");
    assert!(core.counters().stops > 0, "the area was never full");
}
