//! What can go wrong with each request, for people: what failed, with which values, what to try.
//!
//! Every enum belongs to one operation. `device` makes them from the errno that the driver
//! answered; one that a request is not known to give is kept as it is.

use std::io;

use oxmpi_wire::o2g::{
    DUMP_BYTES_MAX, DUMP_BYTES_MIN, EARLY_BYTES_MAX, ENTRIES_MAX, SOCKETS_MAX, VERSION,
};

use crate::PATH;

/// The driver cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none.
    #[error(
        "{PATH} does not exist: the driver is not loaded; load it as root: insmod o2g.ko (docs/o2g.md says how it is built)"
    )]
    Missing,
    /// Not for this user.
    #[error(
        "{PATH} may not be opened by this user: its permissions decide; as root: chown or chmod {PATH}, or load the module with mode=0666"
    )]
    Permission,
    /// The system refused for another reason.
    #[error("{PATH} cannot be opened: {0}")]
    System(io::Error),
}

/// `init` failed.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Module and program are of different times.
    #[error(
        "the driver does not speak version {VERSION} of its interface: load the module that belongs to this OxMPI"
    )]
    Version,
    /// Numbers.
    #[error(
        "init for {n_socks} sockets and {n_entries} entries: 1 to {SOCKETS_MAX} and 1 to {ENTRIES_MAX} are possible"
    )]
    Range {
        /// Sockets asked for.
        n_socks: u32,
        /// Entries asked for.
        n_entries: u32,
    },
    /// It has been done.
    #[error("init was called twice: a context has it once; open {PATH} again for another context")]
    Twice,
    /// Kernel memory.
    #[error(
        "the kernel has no memory for {n_socks} sockets and {n_entries} entries: ask for fewer"
    )]
    Memory {
        /// Sockets asked for.
        n_socks: u32,
        /// Entries asked for.
        n_entries: u32,
    },
    /// Every context has a thread, and this user has enough of them.
    #[error(
        "this user has as many threads of the driver and processes as it may: end some, or raise the limit (ulimit -u)"
    )]
    Threads,
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("init failed: {0}")]
    System(io::Error),
}

/// `set_dump_area` failed.
#[derive(Debug, thiserror::Error)]
pub enum DumpAreaError {
    /// Size.
    #[error(
        "a dump area of {bytes} bytes: a power of two from {DUMP_BYTES_MIN} to {DUMP_BYTES_MAX} is needed, after init"
    )]
    Bytes {
        /// As asked.
        bytes: u64,
    },
    /// It has been done.
    #[error("the dump area is set already, and stays as it is as long as {PATH} is open")]
    Twice,
    /// Kernel memory.
    #[error("the kernel has no memory for a dump area of {bytes} bytes: ask for a smaller one")]
    Memory {
        /// As asked.
        bytes: u64,
    },
    /// Module and program are of different times.
    #[error(
        "the driver maps {map_bytes} bytes where {expected} are expected: load the module that belongs to this OxMPI"
    )]
    Layout {
        /// What the driver says.
        map_bytes: u64,
        /// What this program makes of it.
        expected: u64,
    },
    /// The memory is there, but not in this process.
    #[error("the dump area of {bytes} bytes cannot be mapped: {source}")]
    Map {
        /// As asked.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("set_dump_area of {bytes} bytes failed: {source}")]
    System {
        /// As asked.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
}

/// `register_socket` failed; the socket is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// No socket, or none that the driver can read.
    #[error("descriptor {fd} (rank {rank}) is no connected TCP socket: {source}")]
    Socket {
        /// The descriptor.
        fd: i32,
        /// Whose it is said to be.
        rank: u32,
        /// The system's word for it.
        source: io::Error,
    },
    /// It is taken.
    #[error(
        "descriptor {fd} (rank {rank}) is read by somebody else in the kernel, or is registered already: forget_socket it there first"
    )]
    Busy {
        /// The descriptor.
        fd: i32,
        /// Whose it is said to be.
        rank: u32,
    },
    /// The rank is taken.
    #[error("rank {rank} has a socket already: forget_socket it first")]
    Rank {
        /// The rank.
        rank: u32,
    },
    /// All are in use.
    #[error("rank {rank}: init was told of fewer sockets than are registered now")]
    Full {
        /// The rank.
        rank: u32,
    },
    /// Too much was read before.
    #[error(
        "rank {rank}: {bytes} bytes were read before the socket was registered; {EARLY_BYTES_MAX} are possible"
    )]
    Early {
        /// The rank.
        rank: u32,
        /// How many.
        bytes: usize,
    },
    /// There is no dump area, or something else is out of order.
    #[error("rank {rank}: register_socket comes after init and set_dump_area")]
    Order {
        /// The rank.
        rank: u32,
    },
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("register_socket of descriptor {fd} (rank {rank}) failed: {source}")]
    System {
        /// The descriptor.
        fd: i32,
        /// Whose it is said to be.
        rank: u32,
        /// The system's reason.
        source: io::Error,
    },
}

/// `forget_socket` failed.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// There is none.
    #[error("rank {rank} has no registered socket")]
    Unknown {
        /// The rank.
        rank: u32,
    },
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("forget_socket of rank {rank} failed: {source}")]
    System {
        /// The rank.
        rank: u32,
        /// The system's reason.
        source: io::Error,
    },
}

/// `start_dumper_thread` failed.
#[derive(Debug, thiserror::Error)]
pub enum DumperError {
    /// Number, or order of calls.
    #[error("{threads} dumper threads: 1 to 16 are possible, once, after init")]
    Range {
        /// As asked.
        threads: u32,
    },
    /// This user has enough of them.
    #[error(
        "{threads} dumper threads are more than this user may have beside its processes (ulimit -u): go on with fewer"
    )]
    Threads {
        /// As asked.
        threads: u32,
    },
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("{threads} dumper threads cannot be started: {source}")]
    System {
        /// As asked.
        threads: u32,
        /// The system's reason.
        source: io::Error,
    },
}

/// `put_entry` failed; nothing is posted.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// The slot's last entry is not over.
    #[error("slot {slot} has an entry already (cookie {cookie:#x} was to be put there)")]
    Busy {
        /// The slot.
        slot: u32,
        /// The entry's name.
        cookie: u64,
    },
    /// No room in the queue.
    #[error(
        "entry {cookie:#x} has no room in the driver's queue: put it again when others are done"
    )]
    Full {
        /// The entry's name.
        cookie: u64,
    },
    /// The buffer.
    #[error(
        "the buffer of entry {cookie:#x}, {bytes} bytes from {address:#x} on, is not memory that this process can write"
    )]
    Memory {
        /// The entry's name.
        cookie: u64,
        /// Where it was to go.
        address: u64,
        /// How long.
        bytes: u64,
    },
    /// A field.
    #[error(
        "entry {cookie:#x} is refused: slot below {n_entries}? flags {flags:#x} known? {bytes} bytes from {address:#x} on without overflow? tail {tail} not beyond the head?"
    )]
    Invalid {
        /// The entry's name.
        cookie: u64,
        /// Slots that there are.
        n_entries: u32,
        /// As given.
        flags: u32,
        /// As given.
        address: u64,
        /// As given.
        bytes: u64,
        /// As given.
        tail: u64,
    },
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("put_entry of {cookie:#x} failed: {source}")]
    System {
        /// The entry's name.
        cookie: u64,
        /// The system's reason.
        source: io::Error,
    },
}

/// `cancel_entry` failed.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("cancel_entry of {cookie:#x} failed: {source}")]
    System {
        /// The entry's name.
        cookie: u64,
        /// The system's reason.
        source: io::Error,
    },
}

/// `free_entry` failed.
#[derive(Debug, thiserror::Error)]
pub enum FreeError {
    /// A position that is not possible.
    #[error("free_entry up to {tail}, which is not between what was freed before and the head")]
    Tail {
        /// As given.
        tail: u64,
    },
    /// What was to be freed cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("free_entry up to {tail} failed: {source}")]
    System {
        /// As given.
        tail: u64,
        /// The system's reason.
        source: io::Error,
    },
}

/// `counters` failed.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// Another process opened it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Unexpected.
    #[error("the driver's counters cannot be read: {0}")]
    System(io::Error),
}

/// Sleeping failed.
#[derive(Debug, thiserror::Error)]
#[error("waiting for the driver failed: {0}")]
pub struct WaitError(pub io::Error);

/// The request came from a process that did not open the driver.
#[derive(Debug, thiserror::Error)]
#[error(
    "{PATH} was opened by another process (a parent before fork, or the sender of the descriptor): each process opens it for itself"
)]
pub struct Foreign;

/// What the kernel wrote is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The head is where it cannot be.
    #[error(
        "the driver's head {head} is not possible with the tail at {tail} in a dump area of {dump_bytes} bytes"
    )]
    Head {
        /// As found.
        head: u64,
        /// What has been taken.
        tail: u64,
        /// Size of the area.
        dump_bytes: u64,
    },
    /// Not an end of a record.
    #[error("{position} is no end of a record between the tail {tail} and the head {head}")]
    Position {
        /// As given.
        position: u64,
        /// As found.
        head: u64,
        /// What has been taken.
        tail: u64,
    },
    /// Not a length, or not a kind.
    #[error("no record at {position}: length {length}, kind {kind}")]
    Length {
        /// Where.
        position: u64,
        /// As found.
        length: u32,
        /// As found.
        kind: u16,
    },
    /// More payload than the record or the packet has.
    #[error(
        "the record at {position} of {length} bytes says that {here} bytes of a payload of {payload} follow"
    )]
    Payload {
        /// Where.
        position: u64,
        /// As found.
        here: u32,
        /// Of the record.
        length: u32,
        /// Of the packet.
        payload: u64,
    },
    /// A slot that does not exist.
    #[error("the record at {position} names slot {slot} of {n_entries}")]
    Slot {
        /// Where.
        position: u64,
        /// As found.
        slot: u32,
        /// Slots that there are.
        n_entries: u32,
    },
}
