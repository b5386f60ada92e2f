//! What a process and the driver /dev/o2g tell each other: arguments of requests, and the memory
//! that both have.
//!
//! `kernel/include/o2g.h` says the same in C, for programs and for the module's shim; a test of
//! `oxmpi-o2g-core` compares the two. Everything is little endian, because the driver runs on the
//! same machine.
//!
//! The memory, as mapped from offset 0 of the device:
//!
//! | part    | bytes                        | written by                                     |
//! |---------|------------------------------|------------------------------------------------|
//! | control | [`PAGE_BYTES`]               | the kernel; [`Control::tail`] by the process    |
//! | flags   | [`Done`] for each slot, in whole pages | the kernel                           |
//! | desks   | [`Desk`] for each socket, in whole pages | the process; [`Desk::owed`] by the kernel |
//! | dump    | as asked, a power of two     | the kernel: [`Record`]s, each with its payload |
//!
//! Positions in the dump area count bytes from the beginning of time; a position modulo the size is
//! a place. A record never wraps, and wherever one begins the area has at least [`RECORD_BYTES`]
//! left, [`RecordKind::Filler`] included, which leads to the beginning.

/// The version of these structures; a driver refuses others.
pub const VERSION: u32 = 3;

/// Bytes of the control page.
pub const PAGE_BYTES: usize = 4096;

/// Places of records are multiples of this.
pub const RECORD_ALIGN: usize = 32;

/// The smallest dump area.
pub const DUMP_BYTES_MIN: u64 = 64 << 10;

/// The largest dump area.
pub const DUMP_BYTES_MAX: u64 = 1 << 30;

/// Most entries of one context.
pub const ENTRIES_MAX: u32 = 1 << 16;

/// Most sockets of one context.
pub const SOCKETS_MAX: u32 = 1 << 16;

/// Most bytes that a process may have read of a socket before it registers it.
pub const EARLY_BYTES_MAX: u32 = 64 << 10;

/// No entry: what [`Record::slot`] holds for a message that none accepted.
pub const NO_SLOT: u32 = u32::MAX;

/// [`Entry::flags`]: any source is accepted.
pub const ANY_SOURCE: u32 = 1;
/// [`Entry::flags`]: any tag is accepted.
pub const ANY_TAG: u32 = 2;
/// [`Entry::flags`]: there is no buffer; the payload of the message that is matched goes to the dump area.
pub const NO_BUFFER: u32 = 4;
/// [`Entry::flags`]: the driver answers a request to send that the entry meets, by itself.
pub const ANSWER: u32 = 8;

/// [`Record::detail`] of a request to send: the driver answers it.
pub const ANSWERS: u32 = 1;

/// `init`: how many sockets and entries there can be.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Init {
    /// [`VERSION`].
    pub version: u32,
    /// Sockets that will be registered at most.
    pub n_socks: u32,
    /// Slots for entries.
    pub n_entries: u32,
    /// 0.
    pub reserved: u32,
}

/// `register_socket`: a connected TCP socket, of which everything is read by the driver from now
/// on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Register {
    /// Its descriptor.
    pub fd: i32,
    /// Whose messages it brings: a name for records, no check.
    pub rank: u32,
    /// Address of what the process has read of it already.
    pub early: u64,
    /// How many bytes that are.
    pub early_bytes: u32,
    /// Which [`Desk`] tells whether the process is within a packet that it writes to it; one below
    /// [`Init::n_socks`].
    pub desk: u32,
}

/// `set_dump_area`: room for messages that nobody awaits yet, and for records.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpArea {
    /// A power of two, [`DUMP_BYTES_MIN`] to [`DUMP_BYTES_MAX`].
    pub bytes: u64,
    /// Out: how many bytes to map, control page and flags included.
    pub map_bytes: u64,
}

/// `put_entry`: a receive.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Names it. The low 32 bits are its slot; a request to send that it matches is answered with
    /// it as the receiver's token.
    pub cookie: u64,
    /// The communicator's context.
    pub context: u64,
    /// The sender's rank in it.
    pub source: u32,
    /// The tag.
    pub tag: i32,
    /// [`ANY_SOURCE`], [`ANY_TAG`], [`NO_BUFFER`], [`ANSWER`].
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// Where the message goes.
    pub address: u64,
    /// How long it may be.
    pub bytes: u64,
    /// What the process has taken of the dump area: messages before this position are its own
    /// affair.
    pub tail: u64,
}

/// How an entry is, or ended; read by the process with one load of `state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// [`WAITING`], [`MATCHED`] or [`DONE`].
    pub state: u32,
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The message's tag.
    pub tag: i32,
    /// 0, or an errno: placing it failed (EFAULT), the connection ended before all of it came
    /// (ECONNRESET), garbage came instead of the rest (EPROTO).
    pub error: u32,
    /// Length of the message, of which the buffer has no more than it can hold.
    pub bytes: u64,
    /// The cookie of the entry that it is about.
    pub cookie: u64,
}

/// [`Done::state`]: there is no entry in the slot.
pub const FREE: u32 = 0;
/// [`Done::state`]: the entry waits for a message.
pub const WAITING: u32 = 1;
/// [`Done::state`]: its message is arriving.
pub const MATCHED: u32 = 2;
/// [`Done::state`]: all of the message is in the buffer (without a buffer: in the dump area, or a request to send it), or [`Done::error`] says why it never will be.
pub const DONE: u32 = 3;

/// The control page.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Control {
    /// Where the next record will begin: everything before it can be read.
    pub head: u64,
    /// 1 while the driver reads no further because the dump area is full; then `free_entry` is due.
    /// To miss nothing, a process moves `tail`, makes a full fence, and looks here; the driver
    /// writes here, makes a full fence, and looks at `tail`.
    pub stopped: u32,
    /// So that `tail` is in a cache line of its own.
    pub reserved: [u32; 29],
    /// What the process has taken. Written by the process, and never believed beyond `head`.
    pub tail: u64,
}

/// Where process and driver agree on who writes to a socket: the driver only between two packets of
/// the process. To miss nothing, a process that has ended its packet clears `busy`, makes a full
/// fence, and looks at `owed`; the driver writes `owed`, makes a full fence, and looks at `busy`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Desk {
    /// Not 0 while the process has written a packet in part, or is about to write. Written by the
    /// process.
    pub busy: u32,
    /// 1 while the driver has an answer to write and finds the process busy; then `give_answers` is due
    /// when it no longer is.
    pub owed: u32,
}

/// [`Record::detail`] of [`RecordKind::Garbage`]: a packet of another version of the layout, which
/// is the value less this.
pub const OTHER_VERSION: u32 = 1 << 16;

/// What a record tells.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Nothing; the next record is at the beginning of the area.
    Filler = 0,
    /// A packet: its head, and payload as far as it was there, unless it was placed in an entry's
    /// buffer.
    Packet = 1,
    /// More payload of the last packet of the same rank.
    Payload = 2,
    /// The sender has finalised; [`Record::detail`] 1: it may come back.
    Farewell = 3,
    /// What no OxMPI process of this version sends; nothing more is read of that socket.
    /// [`Record::payload`] is the length found, [`Record::detail`] the kind byte, [`OTHER_VERSION`]
    /// and the version byte, or `u32::MAX`. A packet of a kind that the driver does not know is no
    /// garbage but a [`RecordKind::Packet`].
    Garbage = 4,
    /// The connection has ended; [`Record::detail`] is the errno, 0 for an orderly end.
    Closed = 5,
}

impl RecordKind {
    /// The kind that a number stands for.
    pub fn from_number(number: u16) -> Option<RecordKind> {
        Some(match number {
            0 => RecordKind::Filler,
            1 => RecordKind::Packet,
            2 => RecordKind::Payload,
            3 => RecordKind::Farewell,
            4 => RecordKind::Garbage,
            5 => RecordKind::Closed,
            _ => return None,
        })
    }
}

/// One record of the dump area; `here` bytes of payload follow it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Bytes to the next record, a multiple of [`RECORD_ALIGN`].
    pub length: u32,
    /// A [`RecordKind`].
    pub kind: u16,
    /// 0.
    pub reserved: u16,
    /// As the socket was registered.
    pub rank: u32,
    /// The slot of the entry that the packet's message was matched with, or [`NO_SLOT`].
    pub slot: u32,
    /// The cookie of that entry.
    pub cookie: u64,
    /// Payload bytes of the whole packet.
    pub payload: u64,
    /// Payload bytes that follow this record.
    pub here: u32,
    /// Says more about some kinds. Of a packet that is placed: 0, or the errno after which nothing
    /// more was copied. Of a request to send: 0, or [`ANSWERS`].
    pub detail: u32,
    /// Payload bytes that are in the entry's buffer. A packet that is placed has one record,
    /// written when all of it is there.
    pub placed: u64,
    /// Header and body of the packet.
    pub prefix: [u8; crate::PREFIX_BYTES],
}

/// Bytes of a record before its payload.
pub const RECORD_BYTES: usize = size_of::<Record>();

/// What a context, and the module, have counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets read.
    pub packets: u64,
    /// Of those, messages that met an entry.
    pub matched: u64,
    /// Messages that went to the dump area because no entry accepted them.
    pub unexpected: u64,
    /// Payload bytes copied to entries' buffers by the protocol handler.
    pub placed_bytes_softirq: u64,
    /// The same by a dumper thread.
    pub placed_bytes_thread: u64,
    /// Payload bytes copied to the dump area.
    pub dumped_bytes: u64,
    /// Runs of the reader in the protocol handler.
    pub runs_softirq: u64,
    /// Runs of the reader in a dumper thread or in a request of the process.
    pub runs_thread: u64,
    /// How often reading stopped because the dump area was full.
    pub stops: u64,
    /// How often a sleeper was woken.
    pub wakeups: u64,
    /// Requests answered with EAGAIN.
    pub agains: u64,
    /// Requests to send that the driver answered.
    pub answers: u64,
    /// Pages of entries' buffers that are pinned; one counts for each entry.
    pub pages_pinned: u64,
    /// Pages that are kept pinned for the next receive into them, for no entry.
    pub pages_kept: u64,
    /// How often memory was pinned.
    pub pins: u64,
    /// How often it was pinned already.
    pub pins_reused: u64,
    /// Sockets that are registered.
    pub sockets: u64,
    /// Pages of all contexts that are pinned, for entries or not.
    pub pages_pinned_all: u64,
    /// Sockets of all contexts.
    pub sockets_all: u64,
    /// Contexts that exist.
    pub contexts_all: u64,
}

const _: () = {
    assert!(RECORD_BYTES == 104 && size_of::<Done>() == 32 && size_of::<Entry>() == 56);
    assert!(size_of::<Control>() <= PAGE_BYTES && core::mem::offset_of!(Control, tail) == 128);
};
