//! What the core refuses, one enum per request. `kernel/module` makes an errno of each;
//! `docs/o2g.md` says what to do about them.

use core::fmt;

/// Why there is no core of these sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewError {
    /// Not between 1 and [`SOCKETS_MAX`](oxmpi_wire::o2g::SOCKETS_MAX).
    Sockets {
        /// What was asked for.
        n_socks: u32,
    },
    /// Not between 1 and [`ENTRIES_MAX`](oxmpi_wire::o2g::ENTRIES_MAX).
    Entries {
        /// What was asked for.
        n_entries: u32,
    },
}

/// Why memory is no area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaError {
    /// No power of two between the bounds.
    Bytes {
        /// What was asked for.
        bytes: u64,
    },
    /// There is one already.
    Twice,
    /// It has flags for another number of entries.
    Slots {
        /// Flags of the area.
        flags: u32,
        /// Entries of the core.
        entries: u32,
    },
    /// It has desks for another number of sockets.
    Desks {
        /// Desks of the area.
        desks: u32,
        /// Sockets of the core.
        sockets: u32,
    },
}

/// Why a socket was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The rank has one.
    Exists {
        /// The rank.
        rank: u32,
    },
    /// As many as the context was made for are open.
    Full {
        /// How many.
        n_socks: u32,
    },
    /// A desk that there is not.
    Desk {
        /// Which.
        desk: u32,
        /// How many there are.
        n_socks: u32,
    },
    /// Records would have no place yet.
    NoArea,
}

/// Why a receive was not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutError {
    /// A message that it accepts is in the dump area: look there, then ask again.
    Again,
    /// The slot has an entry, or one whose memory is still held.
    Busy {
        /// The slot.
        slot: u32,
    },
    /// A slot that there is not.
    Slot {
        /// The slot.
        slot: u32,
        /// How many there are.
        n_entries: u32,
    },
    /// Flags that mean nothing, or a field that is to be 0.
    Flags {
        /// The flags.
        flags: u32,
    },
    /// Memory that no address space has.
    Memory {
        /// Where it begins.
        address: u64,
        /// How long it would be.
        bytes: u64,
    },
    /// A tail beyond the head.
    Tail {
        /// The tail.
        tail: u64,
        /// The head.
        head: u64,
    },
    /// Flags would have no place yet.
    NoArea,
}

/// Why a receive was not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelError {
    /// Its message is arriving or has arrived.
    Again,
    /// There is none of that name.
    Unknown {
        /// The name.
        cookie: u64,
    },
}

/// Why a tail is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeError {
    /// It is beyond the head.
    Tail {
        /// The tail.
        tail: u64,
        /// The head.
        head: u64,
    },
    /// Nothing can have been taken yet.
    NoArea,
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewError::Sockets { n_socks } => write!(f, "{n_socks} sockets; ask for 1 to 65536"),
            NewError::Entries { n_entries } => {
                write!(f, "{n_entries} entries; ask for 1 to 65536")
            }
        }
    }
}

impl fmt::Display for AreaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AreaError::Bytes { bytes } => write!(
                f,
                "a dump area of {bytes} bytes; ask for a power of two from 64 KiB to 1 GiB"
            ),
            AreaError::Twice => f.write_str("the context has a dump area; open another context"),
            AreaError::Slots { flags, entries } => {
                write!(f, "flags for {flags} slots in a context of {entries}")
            }
            AreaError::Desks { desks, sockets } => {
                write!(f, "{desks} desks in a context of {sockets} sockets")
            }
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Exists { rank } => {
                write!(f, "rank {rank} has a socket; forget that one first")
            }
            OpenError::Full { n_socks } => write!(
                f,
                "{n_socks} sockets are registered; forget one, or init for more"
            ),
            OpenError::Desk { desk, n_socks } => {
                write!(
                    f,
                    "desk {desk} of a context with {n_socks}; take a lower one"
                )
            }
            OpenError::NoArea => f.write_str("there is no dump area yet; set it first"),
        }
    }
}

impl fmt::Display for PutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PutError::Again => {
                f.write_str("a message that may match has arrived; look at the dump area")
            }
            PutError::Busy { slot } => {
                write!(f, "slot {slot} has an entry; wait for it or cancel it")
            }
            PutError::Slot { slot, n_entries } => {
                write!(f, "slot {slot} of a context with {n_entries} entries")
            }
            PutError::Flags { flags } => {
                write!(f, "flags {flags:#x}, of which only 15 mean anything")
            }
            PutError::Memory { address, bytes } => {
                write!(f, "{bytes} bytes at {address:#x} pass the end of memory")
            }
            PutError::Tail { tail, head } => {
                write!(f, "tail {tail} is beyond the head {head}")
            }
            PutError::NoArea => f.write_str("there is no dump area yet; set it first"),
        }
    }
}

impl fmt::Display for CancelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CancelError::Again => {
                f.write_str("the entry's message is arriving or has arrived; look at its record")
            }
            CancelError::Unknown { cookie } => write!(f, "there is no entry {cookie:#x}"),
        }
    }
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::Tail { tail, head } => write!(f, "tail {tail} is beyond the head {head}"),
            FreeError::NoArea => f.write_str("there is no dump area yet; set it first"),
        }
    }
}

impl core::error::Error for NewError {}
impl core::error::Error for AreaError {}
impl core::error::Error for OpenError {}
impl core::error::Error for PutError {}
impl core::error::Error for CancelError {}
impl core::error::Error for FreeError {}
