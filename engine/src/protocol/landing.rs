//! Packets that arrive in pieces: a stream device reads a header, and the payload follows as the
//! network delivers it.
//!
//! The first piece, which may be empty, goes through [`Protocol::handle`] with the header. For the
//! others the device asks where the next byte belongs, every time: a message that was being kept
//! may have been matched in between.

use super::Protocol;
use super::failure::Failure;
use super::peer::Inbound;
use super::requests::{RequestId, State};
use oxmpi_wire::Kind;

/// What the pieces of a packet belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The eager message that its sender began last.
    Eager,
    /// A matched message, by the receiver's token.
    Matched(u64),
    /// A packet of a kind that this process does not serve: its payload is thrown away.
    Unserved,
}

impl Stream {
    /// The stream of a packet's payload; `None` for kinds that have none.
    pub fn of(kind: &Kind) -> Option<Stream> {
        match *kind {
            Kind::Eager | Kind::More { .. } => Some(Stream::Eager),
            Kind::Data { receive, .. } => Some(Stream::Matched(receive)),
            Kind::RequestToSend { .. }
            | Kind::ClearToSend { .. }
            | Kind::Cleared { .. }
            | Kind::Done { .. }
            | Kind::Credit
            | Kind::Cancel { .. }
            | Kind::CancelReply { .. } => None,
            _ => Some(Stream::Unserved),
        }
    }
}

/// Where the next bytes of a packet go.
#[derive(Debug)]
pub enum Landing<B> {
    /// Into a receive's buffer.
    Buffer {
        /// The receive's buffer.
        buffer: B,
        /// Where in it.
        offset: u64,
        /// How many bytes it still takes; what comes after them is dropped.
        room: u64,
    },
    /// They are kept: [`Protocol::keep`].
    Kept,
    /// Nobody wants them.
    Nowhere,
}

impl<B: Copy> Protocol<B> {
    /// Where the next bytes from `from` go.
    pub fn landing(&mut self, from: u32, stream: Stream) -> Landing<B> {
        let id = match (stream, self.peers[from as usize].inbound) {
            (Stream::Matched(receive), _) => RequestId::from_token(receive),
            (Stream::Eager, Some(Inbound::Request(id))) => id,
            (Stream::Eager, Some(Inbound::Stash(_))) => return Landing::Kept,
            (Stream::Eager, None) | (Stream::Unserved, _) => return Landing::Nowhere,
        };
        let Some(request) = self.requests.get(id) else {
            return Landing::Nowhere;
        };
        let State::Receiving { arrived } = request.state else {
            return Landing::Nowhere;
        };
        match request.buffer {
            Some(buffer) if request.peer == Some(from) => Landing::Buffer {
                buffer,
                offset: arrived,
                room: request.capacity.saturating_sub(arrived),
            },
            _ => Landing::Nowhere,
        }
    }

    /// So many bytes have arrived where [`Protocol::landing`] said, or were dropped beyond its
    /// room.
    pub fn landed(&mut self, from: u32, stream: Stream, bytes: u64) -> Result<(), Failure> {
        let id = match (stream, self.peers[from as usize].inbound) {
            (Stream::Matched(receive), _) => RequestId::from_token(receive),
            (Stream::Eager, Some(Inbound::Request(id))) => id,
            (Stream::Eager | Stream::Unserved, _) => return Ok(()),
        };
        let Some(request) = self.requests.get(id) else {
            return Ok(());
        };
        let State::Receiving { arrived } = request.state else {
            return Ok(());
        };
        let end = arrived + bytes;
        if end > request.envelope.bytes() {
            return Err(Failure::Malformed {
                peer: from,
                what: "a packet longer than its message",
            });
        }
        if end < request.envelope.bytes() {
            request.state = State::Receiving { arrived: end };
            return Ok(());
        }
        let outcome = request.received();
        self.requests.complete(id, outcome);
        if stream == Stream::Eager {
            self.peers[from as usize].inbound = None;
        }
        Ok(())
    }

    /// Bytes that [`Protocol::landing`] said are kept.
    pub fn keep(&mut self, from: u32, bytes: &[u8]) -> Result<(), Failure> {
        let Some(Inbound::Stash(stash)) = self.peers[from as usize].inbound else {
            return Ok(());
        };
        if self.stashes.append(stash, bytes) {
            Ok(())
        } else {
            Err(Failure::Malformed {
                peer: from,
                what: "a packet longer than its message",
            })
        }
    }
}
