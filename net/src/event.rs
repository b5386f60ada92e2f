//! What a transport tells the engine: what happened, what became of a packet, why a process is
//! lost.

use oxmpi_wire::PREFIX_BYTES;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A packet begins; its payload follows, as far as it is at hand and by further
    /// [`Event::Payload`]s.
    Packet {
        /// The process it comes from.
        from: u32,
        /// Header and body, and whatever was there behind them before.
        prefix: [u8; PREFIX_BYTES],
        /// Payload bytes.
        payload: usize,
    },
    /// More payload of a packet that began earlier can be read.
    Payload {
        /// The process it comes from.
        from: u32,
    },
    /// The memory of a packet that was [`Sent::Held`] is free: the other side has it all.
    Released {
        /// What the packet was sent with.
        token: u64,
    },
    /// A process has said goodbye.
    Finished(u32),
    /// A process cannot be reached any more, or never could; `trouble` says why.
    Lost(u32),
}

/// What became of a packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It has left, or a copy waits: the payload's memory is free.
    Left,
    /// Part of the payload is still in the sender's memory, and nothing else leaves for that
    /// process until `resume` says that it is out.
    Partly,
    /// All of it has been taken, and its memory is read until [`Event::Released`] or
    /// [`Event::Lost`]; other packets may follow.
    Held,
    /// Nothing has been taken: try again after progress.
    Later,
}

/// Why a process cannot be reached.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// Its host, as far as it is known.
    pub host: String,
    /// What happened, with addresses.
    pub what: String,
}
