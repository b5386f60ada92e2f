//! Stands in for the shim and for the process: has the mapped memory and the entries' buffers,
//! copies as it is told, and reads records.
#![allow(
    dead_code,
    reason = "each test of this folder compiles it and uses its own part"
)]

use std::alloc::Layout;
use std::collections::HashMap;

use oxmpi_o2g_core::{Area, Core, PutError, Step};
use oxmpi_wire::o2g::{
    Control, Desk, Done, Entry, PAGE_BYTES, RECORD_ALIGN, RECORD_BYTES, Record, RecordKind,
};
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

/// Zeroed pages, as the shim maps them.
pub struct Pages {
    at: *mut u8,
    layout: Layout,
}

impl Pages {
    pub fn new(bytes: usize) -> Pages {
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).expect("pages");
        // SAFETY: the layout has a size.
        let at = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!at.is_null());
        Pages { at, layout }
    }

    pub fn at(&self) -> *mut u8 {
        self.at
    }

    fn read<T: Copy>(&self, offset: usize) -> T {
        assert!(offset + size_of::<T>() <= self.layout.size());
        // SAFETY: within the pages by the assertion; only plain old data is read, and one thread
        // does all.
        unsafe { self.at.add(offset).cast::<T>().read_unaligned() }
    }

    fn bytes(&self, offset: usize, bytes: usize) -> Vec<u8> {
        (offset..offset + bytes).map(|at| self.read(at)).collect()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with the same layout.
        unsafe { std::alloc::dealloc(self.at, self.layout) }
    }
}

/// A record, read like a process does.
#[derive(Debug, Clone)]
pub struct Taken {
    pub position: u64,
    pub kind: RecordKind,
    pub record: Record,
    pub payload: Vec<u8>,
}

impl Taken {
    pub fn repr(&self) -> Repr {
        Repr::parse_prefix(&self.record.prefix).expect("the core has checked it")
    }
}

/// How a run of the reader ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    pub consumed: usize,
    pub step: Step,
}

pub struct Double {
    pub core: Core,
    pub control: Pages,
    pub flags: Pages,
    pub desks: Pages,
    pub dump: Pages,
    pub dump_bytes: u64,
    /// Where the process reads next.
    pub tail: u64,
    /// The entries' memory, by slot, until it is released.
    pub buffers: HashMap<u32, Vec<u8>>,
    /// Memory that has been released, by cookie.
    pub finished: HashMap<u64, Vec<u8>>,
    cookies: HashMap<u32, u64>,
    /// errno that copies end with.
    pub copy_error: u32,
}

impl Double {
    pub fn new(n_socks: u32, n_entries: u32, dump_bytes: u64) -> Double {
        let mut core = Core::new(n_socks, n_entries).expect("sizes in range");
        let control = Pages::new(PAGE_BYTES);
        let flags = Pages::new(n_entries as usize * size_of::<Done>());
        let dump = Pages::new(dump_bytes as usize);
        let desks = Pages::new(n_socks as usize * size_of::<Desk>());
        // SAFETY: the pages are zeroed, long enough, and dropped after the core, whose field is
        // before theirs.
        let area = unsafe {
            Area::new(
                control.at(),
                flags.at(),
                n_entries,
                desks.at(),
                n_socks,
                dump.at(),
                dump_bytes,
            )
        };
        core.set_area(area.expect("a size in range")).expect("once");
        Double {
            core,
            control,
            flags,
            desks,
            dump,
            dump_bytes,
            tail: 0,
            buffers: HashMap::new(),
            finished: HashMap::new(),
            cookies: HashMap::new(),
            copy_error: 0,
        }
    }

    /// Posts an entry with a buffer, unless it has none.
    pub fn put(&mut self, mut entry: Entry, pinned: bool) -> Result<(), PutError> {
        self.release();
        entry.tail = self.tail;
        self.core.put(&entry, pinned)?;
        let slot = entry.cookie as u32;
        let old = self.buffers.insert(slot, vec![0xee; entry.bytes as usize]);
        assert!(
            old.is_none(),
            "slot {slot} was taken without being released"
        );
        self.cookies.insert(slot, entry.cookie);
        Ok(())
    }

    /// Lets memory go that the core no longer writes.
    pub fn release(&mut self) {
        while let Some(slot) = self.core.next_released() {
            let memory = self.buffers.remove(&slot).expect("released once");
            let cookie = self.cookies.remove(&slot).expect("released once");
            self.finished.insert(cookie, memory);
        }
    }

    /// One run of the reader over these bytes, which stand for segments of `cut` bytes.
    pub fn run(&mut self, socket: u32, softirq: bool, data: &[u8], cut: usize) -> Ran {
        self.core.begin(socket, softirq);
        let mut consumed = 0;
        for segment in data.chunks(cut.max(1)) {
            let (used, step) = self.segment(socket, segment);
            consumed += used;
            if step != Step::Done {
                return Ran { consumed, step };
            }
        }
        let step = Step::Done;
        Ran { consumed, step }
    }

    fn segment(&mut self, socket: u32, segment: &[u8]) -> (usize, Step) {
        let mut used = 0;
        loop {
            let answer = self.core.feed(socket, &segment[used..]);
            used += answer.consumed;
            let Step::Place {
                slot,
                offset,
                bytes,
            } = answer.step
            else {
                assert!(answer.step != Step::Done || used == segment.len());
                return (used, answer.step);
            };
            if self.copy_error == 0 {
                let buffer = self.buffers.get_mut(&slot).expect("memory that is held");
                buffer[offset as usize..][..bytes].copy_from_slice(&segment[used..][..bytes]);
            }
            used += bytes;
            self.core.placed(socket, self.copy_error);
        }
    }

    pub fn control(&self) -> Control {
        self.control.read(0)
    }

    pub fn flag(&self, slot: u32) -> Done {
        self.flags.read(slot as usize * size_of::<Done>())
    }

    pub fn desk(&self, desk: u32) -> Desk {
        self.desks.read(desk as usize * size_of::<Desk>())
    }

    /// The process says whether it is within a packet.
    pub fn set_busy(&mut self, desk: u32, busy: bool) {
        let at = desk as usize * size_of::<Desk>();
        assert!(at < self.desks.layout.size());
        // SAFETY: within the pages, aligned, and one thread does all.
        unsafe { self.desks.at.add(at).cast::<u32>().write(busy.into()) }
    }

    /// Reads the next record and moves its own tail past it.
    pub fn take(&mut self) -> Option<Taken> {
        let head = self.control().head;
        assert!(self.tail <= head && head - self.tail <= self.dump_bytes);
        if self.tail == head {
            return None;
        }
        let place = (self.tail & (self.dump_bytes - 1)) as usize;
        let record: Record = self.dump.read(place);
        let kind = RecordKind::from_number(record.kind).expect("a kind");
        let (length, here) = (record.length as usize, record.here as usize);
        assert!(length.is_multiple_of(RECORD_ALIGN) && length >= RECORD_BYTES + here);
        assert!(
            place + length <= self.dump_bytes as usize,
            "no record wraps"
        );
        let taken = Taken {
            position: self.tail,
            kind,
            record,
            payload: self.dump.bytes(place + RECORD_BYTES, here),
        };
        self.tail += length as u64;
        assert!(self.tail <= head);
        Some(taken)
    }

    pub fn take_all(&mut self) -> Vec<Taken> {
        std::iter::from_fn(|| self.take()).collect()
    }

    /// Writes its tail to the mapped memory.
    pub fn map_tail(&mut self, tail: u64) {
        let at = std::mem::offset_of!(Control, tail);
        // SAFETY: within the control page, aligned, and one thread does all.
        unsafe { self.control.at.add(at).cast::<u64>().write(tail) }
    }
}

/// A packet as it lies in a stream.
pub fn packet(envelope: Envelope, sequence: u32, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let repr = Repr {
        envelope,
        sequence,
        credit: 0,
        kind,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&prefix[..used]);
    bytes.extend_from_slice(payload);
    bytes
}

/// An envelope with this tag and length.
pub fn envelope(tag: i32, bytes: u64) -> Envelope {
    Envelope {
        context: 1,
        source: 2,
        tag,
        content: Content::new(bytes, 0),
    }
}

/// An entry for a message with this tag.
pub fn entry(cookie: u64, tag: i32, bytes: u64) -> Entry {
    Entry {
        cookie,
        context: 1,
        source: 2,
        tag,
        bytes,
        ..Entry::default()
    }
}

/// The smallest dump area.
pub const DUMP: u64 = 64 << 10;

/// An eager message that is one packet.
pub fn eager(tag: i32, bytes: usize) -> Vec<u8> {
    let payload = content(tag as u32, 0, bytes);
    packet(envelope(tag, bytes as u64), 0, Kind::Eager, &payload)
}

/// A request to send.
pub fn request(tag: i32, bytes: u64) -> Vec<u8> {
    request_of(77, tag, bytes)
}

/// The same with a token of its own.
pub fn request_of(send: u64, tag: i32, bytes: u64) -> Vec<u8> {
    let kind = Kind::RequestToSend {
        send,
        address: 0,
        mapped: false,
        fetchable: false,
        sync: false,
    };
    packet(envelope(tag, bytes), 0, kind, &[])
}

/// A piece of a message that was requested.
pub fn data(receive: u64, tag: i32, total: u64, offset: u64, bytes: usize) -> Vec<u8> {
    let payload = content(tag as u32, offset, bytes);
    let kind = Kind::Data { receive, offset };
    packet(envelope(tag, total), 0, kind, &payload)
}

/// A context with one socket, of rank 9.
pub fn one_socket() -> (Double, u32) {
    let mut double = Double::new(4, 8, DUMP);
    let socket = double.core.open_socket(9, 0).expect("room for one");
    (double, socket)
}

/// Bytes that tell which message they are of and where they lie in it.
pub fn content(message: u32, offset: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|at| offset.wrapping_add(at))
        .map(|at| (at.wrapping_mul(167) >> 3) as u8 ^ at as u8 ^ (message.wrapping_mul(151)) as u8)
        .collect()
}

/// Random numbers by seed (xorshift), and a word about the seed when a test fails.
pub struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random {
            seed,
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    pub fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with OXMPI_SEED={}", self.seed);
        }
    }
}

/// The seeds that a test goes through: as many as `count`, or the one of the environment.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("OXMPI_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("OXMPI_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..count,
    }
}
