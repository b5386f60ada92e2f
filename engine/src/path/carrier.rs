//! What carries packets: the shared-memory port, every network, and the links of the simulator.
//!
//! A carrier moves packets between this process and those that it reaches; it knows their heads and
//! payloads as bytes and nothing of matching. It is used by one thread at a time, under the
//! engine's lock, and always statically: each carrier gets its own copy of the code in [`super`].

use oxmpi_net::transport::Sent;
use oxmpi_wire::{Eager, PREFIX_BYTES};

use crate::protocol::{Payload, RequestId, Stream, Transmit};

/// Something other than a packet that a carrier has for this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// More payload of a packet that began earlier can be read.
    Payload {
        /// The process it comes from.
        from: u32,
    },
    /// The carrier reads the memory of a message no more: all of it has arrived.
    Released(RequestId),
    /// A process has finalised; everything that it sent has been taken.
    Finished(u32),
    /// A process is dead or cannot be reached any more; everything of it that arrived has been
    /// taken.
    Lost(u32),
}

/// A packet as it lies in the carrier, until [`Carrier::pass`].
#[derive(Debug)]
pub struct Packet<'c> {
    /// The process it comes from.
    pub from: u32,
    /// Header and body; a short payload may lie behind them.
    pub prefix: &'c [u8; PREFIX_BYTES],
    /// Bytes of payload, all of it.
    pub bytes: usize,
    /// The payload as far as it is at hand; `None`: all of it lies behind the head.
    pub outside: Option<&'c [u8]>,
    /// A driver in the kernel has matched its message with this receive.
    pub matched: Option<Matched>,
}

/// What a driver in the kernel did with a packet.
#[derive(Debug, Clone, Copy)]
pub struct Matched {
    /// The receive that the message has met.
    pub receive: RequestId,
    /// Bytes of the packet's payload that are in the receive's buffer, and will not be handed out;
    /// `None`: the payload is handed out as ever.
    pub placed: Option<u64>,
    /// It is an offer, and is accepted without this process.
    pub answered: bool,
}

impl<'c> Packet<'c> {
    /// The payload behind a head of `used` bytes, as far as it is at hand. `None`: the packet
    /// claims more bytes than its place holds.
    #[inline(always)]
    pub fn at_hand(&self, used: usize) -> Option<&'c [u8]> {
        match self.outside {
            Some(payload) => Some(payload),
            None => self.prefix.get(used..used + self.bytes),
        }
    }
}

/// What became of a packet that had left in part.
#[derive(Debug)]
pub enum Resumed<B> {
    /// There is none: the next packet may go.
    Nothing,
    /// Some of it is still here, and must go first.
    Waiting,
    /// All of it has left now.
    Left(Transmit<B>),
}

/// The way out: a carrier, or several of which each process is reached by one.
pub trait Outgoing<B> {
    /// Why nothing can be sent any more, to anybody: this process's own memory is lost.
    type Error;

    /// Sends a whole eager message of a buffer that may be changed as soon as this returns.
    /// [`Sent::Left`] or [`Sent::Later`].
    fn send_now(&mut self, to: u32, header: &Eager, buffer: B) -> Result<Sent, Self::Error>;

    /// Sends a packet of a request, whose memory lasts until the request is over.
    fn send(&mut self, transmit: &Transmit<B>) -> Result<Sent, Self::Error>;

    /// Goes on with a packet that [`Outgoing::send`] took in part.
    #[inline(always)]
    fn resume(&mut self, _to: u32) -> Resumed<B> {
        Resumed::Nothing
    }
}

/// What carries packets.
pub trait Carrier<B>: Outgoing<B> {
    /// Whether the processes that it reaches share memory with this one: only they may offer
    /// theirs.
    const SHARES_MEMORY: bool;

    /// The next packet, if the next thing that happened is one. All of its payload is at hand, or
    /// the rest follows by [`Event::Payload`].
    fn arrival(&mut self) -> Option<Packet<'_>>;

    /// What happened if it is no packet; to be asked after [`Carrier::arrival`].
    fn event(&mut self) -> Option<Event>;

    /// The last packet once more, until it is passed.
    fn current(&self) -> Option<Packet<'_>>;

    /// Whether another packet of that process is there, or comes at once: it is the current one
    /// then. Only asked of carriers that share memory, after a packet that does not end its
    /// message.
    fn follows(&mut self, _from: u32) -> bool {
        false
    }

    /// So many bytes of payload at hand have been used; the packet's head is not needed any more.
    fn pass(&mut self, bytes: usize);

    /// The rest of the current packet's payload will follow, and belongs to this.
    fn expect(&mut self, _from: u32, _stream: Stream) {}

    /// What the payload of the last [`Event::Payload`] belongs to.
    fn expected(&self, _from: u32) -> Option<Stream> {
        None
    }

    /// Reads payload straight into a buffer, if it can be read that way now; says how much came.
    fn read_into(&mut self, _buffer: B, _offset: u64, _room: u64) -> Option<usize> {
        None
    }

    /// The next piece of payload; [`Carrier::pass`] takes it.
    fn piece(&mut self) -> &[u8] {
        &[]
    }

    /// A receive that a driver in the kernel had is over.
    fn conclude(&mut self, _receive: RequestId) {}

    /// Nothing of that process is taken or sent any more, because of what it sent.
    fn expel(&mut self, peer: u32, reason: &str);

    /// Makes it safe to sleep: whatever happens will wake this process. False if there is something
    /// to do first.
    fn prepare_sleep(&mut self) -> bool;
}

/// The memory that messages come from and go to, behind the handles that the protocol carries.
pub trait Memory<B> {
    /// Copies a piece of a message to its place.
    fn write(&mut self, buffer: B, offset: u64, bytes: &[u8]);

    /// As [`Memory::write`], for a piece that lies in memory which its sender shares.
    #[inline(always)]
    fn write_shared(&mut self, buffer: B, offset: u64, bytes: &[u8]) {
        self.write(buffer, offset, bytes);
    }

    /// As [`Memory::write_shared`], for a piece that is long enough to be timed.
    fn write_timed(&mut self, buffer: B, offset: u64, bytes: &[u8]) {
        self.write_shared(buffer, offset, bytes);
    }

    /// As [`Memory::write`], for bytes of this process's own, which may overlap.
    fn write_own(&mut self, buffer: B, offset: u64, bytes: &[u8]) {
        self.write(buffer, offset, bytes);
    }

    /// Shows a piece of one of this process's own messages to `take`.
    fn show<R>(
        &mut self,
        payload: Option<Payload<B>>,
        take: impl FnOnce(&mut Self, &[u8]) -> R,
    ) -> R;

    /// Whether the next offered message is to be fetched where that is possible; `None`: as the
    /// last.
    fn choose_fetch(&mut self) -> Option<bool> {
        None
    }

    /// Copies a message out of its sender's memory. False if that is not permitted.
    fn fetch(&mut self, fetch: &crate::protocol::Fetch<B>) -> bool;
}
