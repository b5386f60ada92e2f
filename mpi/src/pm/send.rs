//! Sending: buffers that are filled and given away. Long ones stay where they are until the other
//! node has them; nothing is copied.

use std::fmt;
use std::ops::{Deref, DerefMut};

use oxmpi_net::pm::COPIED_BYTES_MAX;
use oxmpi_net::tcp::PAYLOAD_MAX;
use oxmpi_net::transport::Sent;
use oxmpi_wire::PREFIX_BYTES;

use super::packet::Action;
use super::{Channel, PmError};

/// Messages that may wait until the network takes them. A window's worth waits in the endpoint
/// already; more would only hide that nobody receives.
const WAITING_MAX: usize = 1024;

/// Buffers that are kept to be used again: as many as a window of the usual benchmarks, whatever
/// their length.
const POOL_MAX: usize = 64;

/// A message to be filled and sent.
pub struct SendBuffer {
    to: u32,
    bytes: Vec<u8>,
}

impl SendBuffer {
    /// The node it is for.
    pub fn destination(&self) -> u32 {
        self.to
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for SendBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for SendBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl fmt::Debug for SendBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes for node {}", self.bytes.len(), self.to)
    }
}

/// What a message's bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Message,
    Write {
        region: u32,
        offset: u64,
    },
    Answer {
        token: u32,
    },
    /// A packet without bytes.
    Word(Action),
}

impl Purpose {
    /// The packet that carries `bytes` bytes from `done` on.
    #[inline]
    fn operation(self, done: usize, bytes: usize, total: usize) -> Action {
        let (offset, total) = (done as u64, total as u64);
        match self {
            Purpose::Message => Action::Message { offset, total },
            Purpose::Write {
                region,
                offset: start,
            } => Action::Write {
                region,
                offset: start + offset,
                bytes: bytes as u64,
            },
            Purpose::Answer { token } => Action::Answer {
                token,
                offset,
                total,
            },
            Purpose::Word(operation) => operation,
        }
    }
}

/// A message on its way.
pub(super) struct Flight {
    pub to: u32,
    purpose: Purpose,
    bytes: Vec<u8>,
    /// Bytes that the network has taken, and whether that is all.
    done: usize,
    over: bool,
    /// Packets whose memory the network still reads.
    held: u32,
}

impl Channel {
    /// A buffer of `length` bytes, zero or what was in it before, for a message to node `to`.
    pub fn get_send_buffer(&mut self, to: u32, length: usize) -> Result<SendBuffer, PmError> {
        self.check_node(to)?;
        let waiting = self.outbox.len();
        if waiting >= WAITING_MAX {
            self.progress_outbox();
            if self.outbox.len() >= WAITING_MAX {
                return Err(PmError::Busy { waiting });
            }
        }
        Ok(SendBuffer {
            to,
            bytes: self.buffer(length),
        })
    }

    /// Sends a message. It arrives once and intact, after all that was sent to the same node
    /// before, or the node is lost, of which [`Channel::receive`] tells.
    pub fn send(&mut self, buffer: SendBuffer) {
        self.release_shown();
        let SendBuffer { to, bytes } = buffer;
        if to == self.node {
            // No network leads to oneself.
            self.inbox.push_back((to, bytes));
        } else {
            self.depart(to, Purpose::Message, bytes);
        }
    }

    /// Lets everything leave that waits for messages which may follow. Only who does not call
    /// [`Channel::receive`] soon needs it: short messages that follow each other within
    /// microseconds wait for that.
    pub fn flush(&mut self) {
        self.release_shown();
        self.progress_outbox();
        self.pm.flush_unsent();
    }

    /// Whether the other nodes have everything that was sent to them and is longer than a few
    /// frames, and the network has taken the rest.
    pub fn is_send_done(&self) -> bool {
        self.flights.is_empty() && self.pm.is_flushed()
    }

    /// A buffer of that length.
    pub(super) fn buffer(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = self.pool.pop().unwrap_or_default();
        bytes.resize(length, 0);
        bytes
    }

    /// Takes a buffer back.
    #[inline]
    pub(super) fn recycle(&mut self, bytes: Vec<u8>) {
        if self.pool.len() < POOL_MAX {
            self.pool.push(bytes);
        }
    }

    /// Sends bytes at once, or as soon as those before them have left.
    #[inline]
    pub(super) fn depart(&mut self, to: u32, purpose: Purpose, bytes: Vec<u8>) {
        self.token += 1;
        let token = self.token;
        let mut flight = Flight {
            to,
            purpose,
            bytes,
            done: 0,
            over: false,
            held: 0,
        };
        if self.outbox.is_empty() {
            self.advance(&mut flight, token);
        }
        if !flight.over {
            self.outbox.push_back(token);
        } else if flight.held == 0 {
            return self.recycle(flight.bytes);
        }
        self.flights.insert(token, flight);
    }

    /// Gives the network as much of a message as it takes.
    #[inline]
    fn advance(&mut self, flight: &mut Flight, token: u64) {
        let total = flight.bytes.len();
        while !flight.over {
            let part = &flight.bytes[flight.done..];
            let part = &part[..part.len().min(PAYLOAD_MAX)];
            let operation = flight.purpose.operation(flight.done, part.len(), total);
            let mut prefix = [0; PREFIX_BYTES];
            let head = operation.emit(self.node, &mut prefix);
            let lasting = (part.len() > COPIED_BYTES_MAX).then_some(token);
            // SAFETY: the bytes are on the heap, where they stay unmoved and unchanged in `flights`
            // until the endpoint has released every packet that it holds, or has said that the node
            // is lost or finished.
            let sent = unsafe {
                let head = &prefix[..head];
                self.pm
                    .send(flight.to, head, part.as_ptr(), part.len(), lasting)
            };
            match sent {
                Sent::Later => return,
                Sent::Held => flight.held += 1,
                Sent::Left => {}
                Sent::Partly => unreachable!("the PM endpoint takes packets wholly or not at all"),
            }
            flight.done += part.len();
            flight.over = flight.done == total;
        }
    }

    /// Offers the network what waits.
    pub(super) fn progress_outbox(&mut self) {
        while let Some(&token) = self.outbox.front() {
            let Some(mut flight) = self.flights.remove(&token) else {
                // Its node is gone.
                self.outbox.pop_front();
                continue;
            };
            self.advance(&mut flight, token);
            let over = flight.over;
            if over && flight.held == 0 {
                self.recycle(flight.bytes);
            } else {
                self.flights.insert(token, flight);
            }
            if !over {
                return;
            }
            self.outbox.pop_front();
        }
    }

    /// The network has let go of a packet.
    pub(super) fn released(&mut self, token: u64) {
        let Some(flight) = self.flights.get_mut(&token) else {
            return;
        };
        flight.held -= 1;
        if flight.held == 0
            && flight.over
            && let Some(flight) = self.flights.remove(&token)
        {
            self.recycle(flight.bytes);
        }
    }

    /// A node is gone: nothing for it will leave any more, and the network reads none of it.
    pub(super) fn drop_flights(&mut self, to: u32) {
        self.flights.retain(|_, flight| flight.to != to);
    }
}
