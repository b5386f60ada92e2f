//! What is remembered of a socket between two segments: how much of a head is there, or where the
//! rest of a payload goes, and what this run of the reader may still do.

use oxmpi_wire::PREFIX_BYTES;
use oxmpi_wire::stream::HEAD_MAX;

/// Bytes that one run in a softirq may copy; a record counts as what it takes in the area. 128 KiB
/// are about 20 µs of copying, or 1 024 short messages: what a network driver's own poll takes at a
/// time.
pub const SOFTIRQ_BYTES_MAX: usize = 128 << 10;

pub(crate) struct Socket {
    pub rank: u32,
    pub open: bool,
    pub phase: Phase,
    /// The head being collected; while payload is placed, the head that it belongs to.
    pub head: [u8; HEAD_MAX],
    /// How many bytes of `head` are there.
    pub collected: usize,
    /// The entry of the eager message that this sender began and has not ended.
    pub continues: Option<u32>,
    /// How many entries wait for more from this socket.
    pub arriving: u32,
    /// It waits for room.
    pub stopped: bool,
    /// The first and the last entry whose request to send is to be answered.
    pub answers: Option<(u32, u32)>,
    /// Where its process tells whether it is within a packet.
    pub desk: u32,
    pub run: Run,
}

/// What the next byte of a stream is.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// Of a head.
    Head,
    /// Of a payload that goes to the dump area.
    Dump(Dump),
    /// Of a payload that goes to an entry; the record is reserved.
    Place(Place),
    /// Nothing more is read: garbage, or the end.
    Broken,
}

#[derive(Clone, Copy)]
pub(crate) struct Dump {
    /// Payload bytes of the packet.
    pub payload: usize,
    /// Payload bytes to come.
    pub left: usize,
    /// The entry that the message was matched with.
    pub slot: Option<u32>,
    /// Bytes of the message that are there for the entry when all of this packet is.
    pub counts: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub slot: u32,
    /// Payload bytes of the packet.
    pub payload: usize,
    /// Payload bytes to come.
    pub left: usize,
    /// Where the next one belongs in the message.
    pub offset: u64,
    /// How many are in the buffer.
    pub placed: u64,
    /// How many the caller is copying.
    pub pending: usize,
}

/// One run of the reader.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub softirq: bool,
    left: usize,
}

impl Run {
    pub(crate) fn new(softirq: bool) -> Run {
        Run {
            softirq,
            left: SOFTIRQ_BYTES_MAX,
        }
    }

    /// How many bytes may still be copied.
    pub(crate) fn left(&self) -> usize {
        if self.softirq { self.left } else { usize::MAX }
    }

    /// Bytes were copied.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

impl Socket {
    pub(crate) const CLOSED: Socket = Socket {
        rank: 0,
        open: false,
        phase: Phase::Broken,
        head: [0; HEAD_MAX],
        collected: 0,
        continues: None,
        arriving: 0,
        stopped: false,
        answers: None,
        desk: 0,
        run: Run {
            softirq: false,
            left: 0,
        },
    };

    pub(crate) fn new(rank: u32, desk: u32) -> Socket {
        Socket {
            rank,
            desk,
            open: true,
            phase: Phase::Head,
            ..Socket::CLOSED
        }
    }

    /// The head's packet, as records carry it.
    pub(crate) fn prefix(&self) -> [u8; PREFIX_BYTES] {
        *self
            .head
            .last_chunk()
            .expect("a head is a length and a prefix")
    }
}
