//! Answers of the driver: a request to send that met an entry is answered without the process, so
//! that the data comes while that computes.
//!
//! The process writes to the same stream, and may have left it within a packet. Its *desk* (see
//! `wire::o2g::Desk`) says whether it has; who asks here holds the socket's lock, under which the
//! process writes, too: between the look at the desk and the last byte of the answer nothing of the
//! process comes. The answer is a kind of packet that has no place in the order of the process's
//! own, and gives no credit.
//!
//! An entry whose record says that the driver answers is answered by nobody else, and data for it is
//! nobody's until it is: so an entry in the list of those that wait is not over. If its socket ends
//! before, the list ends, too.

use oxmpi_wire::stream::LENGTH_BYTES;
use oxmpi_wire::{Code, Content, Envelope, HEADER_BYTES, Kind, PREFIX_BYTES, Repr};

use crate::context::Core;

/// Bytes of an answer on the wire.
pub const ANSWER_BYTES: usize = LENGTH_BYTES + HEADER_BYTES + Code::Cleared.body_bytes();

/// What is to be done about the answers of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// There is none.
    None,
    /// The process is within a packet: ask again when it says that it is not.
    Later,
    /// Write this, all of it, then call [`Core::answered`].
    Now([u8; ANSWER_BYTES]),
}

impl Core {
    /// A request to send has met an entry: is it for the driver to answer? What the receiver
    /// would fetch by itself, and what has no bytes, is the process's affair.
    pub(crate) fn owe_answer(&mut self, index: u32, slot: u32, repr: &Repr) {
        let Kind::RequestToSend {
            send,
            mapped,
            fetchable,
            ..
        } = repr.kind
        else {
            return;
        };
        let entry = self.entries.get_mut(slot);
        entry.answers &= !mapped && !fetchable && repr.envelope.bytes() > 0;
        if !entry.answers {
            return;
        }
        entry.send = send;
        entry.unanswered = true;
        entry.next_answer = None;
        let socket = &mut self.sockets[index as usize];
        match &mut socket.answers {
            None => socket.answers = Some((slot, slot)),
            Some((_, last)) => {
                let before = core::mem::replace(last, slot);
                self.entries.get_mut(before).next_answer = Some(slot);
            }
        }
    }

    /// Whether the driver answers the request that this entry has met.
    pub(crate) fn answers(&self, slot: Option<u32>) -> bool {
        slot.is_some_and(|slot| self.entries.get(slot).answers)
    }

    /// Whether an answer waits to be written.
    pub fn has_answer(&self, index: u32) -> bool {
        let socket = self.sockets.get(index as usize);
        socket.is_some_and(|socket| socket.answers.is_some())
    }

    /// The next answer of a socket whose lock is held.
    pub fn answer(&mut self, index: u32) -> Reply {
        let Some(socket) = self.sockets.get(index as usize) else {
            return Reply::None;
        };
        let (Some((slot, _)), desk) = (socket.answers, socket.desk) else {
            return Reply::None;
        };
        if !self.area_mut().is_at_rest(desk) {
            return Reply::Later;
        }
        let bytes = self
            .entries
            .arriving(slot)
            .map_or(0, |message| message.bytes);
        let entry = self.entries.get(slot);
        let repr = Repr {
            envelope: Envelope {
                context: 0,
                source: 0,
                tag: 0,
                content: Content::new(bytes, 0),
            },
            sequence: 0,
            credit: 0,
            kind: Kind::Cleared {
                receive: entry.cookie,
                send: entry.send,
            },
        };
        let mut prefix = [0; PREFIX_BYTES];
        let used = repr.emit_prefix(&mut prefix);
        let mut answer = [0; ANSWER_BYTES];
        answer[LENGTH_BYTES..].copy_from_slice(&prefix[..used]);
        Reply::Now(answer)
    }

    /// The answer has been written.
    pub fn answered(&mut self, index: u32) {
        let Some((slot, last)) = self.sockets[index as usize].answers else {
            return;
        };
        self.counters.answers += 1;
        let entry = self.entries.get_mut(slot);
        entry.unanswered = false;
        let next = entry.next_answer.take();
        let socket = &mut self.sockets[index as usize];
        socket.answers = next.map(|next| (next, last));
        let desk = socket.desk;
        if next.is_none() {
            self.area_mut().tell_owed(desk, false);
        }
    }
}
