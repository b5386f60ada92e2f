//! Nothing is allocated after the start, and what is allocated then is what `Core::bytes` says.

#[path = "../../../harness/counting.rs"]
mod counting;

use oxmpi_o2g_core::{Area, Core, Step};
use oxmpi_wire::o2g::{ANY_SOURCE, ANY_TAG, Control, Desk, Done, Entry};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

const ENTRIES: u32 = 1000;
const DUMP: usize = 1 << 20;

/// Every message differs in all fields, so that each class of patterns needs as many keys as it
/// ever can.
fn message(number: u32) -> Envelope {
    Envelope {
        context: u64::from(number % 50),
        source: number,
        tag: number as i32,
        content: Content::new(8, 0),
    }
}

/// Writes a packet with eight bytes of payload; without an allocation.
fn feed(core: &mut Core, socket: u32, number: u32) -> Step {
    let repr = Repr {
        envelope: message(number),
        sequence: 0,
        credit: 0,
        kind: Kind::Eager,
    };
    let mut bytes = [0; 4 + PREFIX_BYTES];
    let used = 4 + repr.emit_prefix(bytes[4..].first_chunk_mut().expect("room"));
    bytes[0] = 8;
    let bytes = &bytes[..used + 8];
    core.begin(socket, false);
    let answer = core.feed(socket, bytes);
    let Step::Place { .. } = answer.step else {
        return answer.step;
    };
    core.placed(socket, 0);
    core.feed(socket, &bytes[used + 8..]).step
}

fn entry(number: u32, flags: u32, tail: u64) -> Entry {
    let Envelope {
        context,
        source,
        tag,
        content,
    } = message(number);
    let bytes = content.bytes();
    Entry {
        cookie: u64::from(number),
        context,
        source,
        tag,
        flags,
        reserved: 0,
        address: 0,
        bytes,
        tail,
    }
}

/// Fills and empties both queues by one class of patterns.
fn exercise(core: &mut Core, sockets: &[u32], head: &dyn Fn() -> u64, flags: u32) {
    for number in 0..ENTRIES {
        let put = core.put(&entry(number, flags, head()), true);
        assert_eq!(put, Ok(()), "entry {number} with flags {flags}");
    }
    for number in 0..ENTRIES {
        let socket = sockets[number as usize % sockets.len()];
        assert_eq!(feed(core, socket, number), Step::Done);
    }
    core.free_to(head()).expect("not beyond the head");
    while core.next_released().is_some() {}
    for number in 0..ENTRIES {
        assert_eq!(feed(core, sockets[0], number), Step::Done);
    }
    assert_eq!(
        feed(core, sockets[1], 0),
        Step::Stop,
        "the bound is reached"
    );
    for number in 0..ENTRIES {
        assert!(core.put(&entry(number, flags, 0), true).is_err());
    }
    core.free_to(head()).expect("not beyond the head");
    assert_eq!(feed(core, sockets[1], 0), Step::Done);
    core.free_to(head()).expect("not beyond the head");
}

#[test]
fn nothing_is_allocated_after_the_start() {
    let mut control = Control::default();
    let control = &raw mut control;
    let mut flags = vec![Done::default(); ENTRIES as usize];
    let mut desks = [Desk::default(); 16];
    let mut dump = vec![0u64; DUMP / 8];
    // SAFETY: the control page outlives the core, and one thread does all.
    let head = || unsafe { (&raw const (*control).head).read_volatile() };
    let mut sockets = [0; 16];

    let before = counting::bytes();
    let mut core = Core::new(sockets.len() as u32, ENTRIES).expect("in range");
    let taken = (counting::bytes() - before) as u64;
    let said = Core::bytes(sockets.len() as u32, ENTRIES);
    assert!(
        (taken..2 * taken).contains(&said),
        "{taken} taken, {said} said"
    );

    let asked = counting::asked();
    // SAFETY: the memory is zeroed, long enough and outlives the core; nobody else has it.
    let area = unsafe {
        let (flags, dump) = (flags.as_mut_ptr().cast(), dump.as_mut_ptr().cast());
        let desks = (&raw mut desks).cast();
        Area::new(control.cast(), flags, ENTRIES, desks, 16, dump, DUMP as u64)
    };
    core.set_area(area.expect("a size in range")).expect("once");
    for (rank, socket) in sockets.iter_mut().enumerate() {
        *socket = core.open_socket(rank as u32, 0).expect("room");
    }
    for class in [0, ANY_SOURCE, ANY_TAG, ANY_SOURCE | ANY_TAG] {
        exercise(&mut core, &sockets, &head, class);
    }
    for socket in sockets {
        assert!(core.end(socket, 0));
        core.close_socket(socket);
    }
    assert_eq!(counting::asked(), asked, "after the start");
}
