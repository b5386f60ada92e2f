//! Sending and receiving in one call (MPI 5.0 §3.11).
//!
//! The receive is posted first, so two ranks, or a ring of them, that do the same cannot block each
//! other. The forms that replace the data send a packed copy of it.

use std::sync::Arc;

use oxmpi_engine::{Mode, RequestId};

use crate::any_request::{AnyRequest, Pending, Report};
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::status::{Source, Tag};

/// One half of an exchange: what, to whom.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The data.
    pub buffer: Buffer,
    /// The receiver; none for the null process.
    pub dest: Option<u32>,
    /// The tag.
    pub tag: i32,
}

/// The other half: where to, from whom.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Where it goes.
    pub buffer: Buffer,
    /// The sender; none for the null process.
    pub source: Option<Source>,
    /// The tag.
    pub tag: Tag,
}

impl Comm {
    /// Sends and receives at once.
    pub fn exchange(
        self: &Arc<Self>,
        outgoing: &Outgoing,
        incoming: &Incoming,
    ) -> Result<Report, ErrorKind> {
        let mut receive = self.irecv_buffer(&incoming.buffer, incoming.source, incoming.tag)?;
        let sent = self.send_buffer(
            &outgoing.buffer,
            outgoing.dest,
            outgoing.tag,
            Mode::Standard,
        );
        if sent.is_err() {
            receive.cancel()?;
        }
        let received = receive.wait();
        sent.and(received)
    }

    /// Sends the data of `buffer` and receives into it.
    pub fn exchange_in_place(
        self: &Arc<Self>,
        buffer: &Buffer,
        to: (Option<u32>, i32),
        from: (Option<Source>, Tag),
    ) -> Result<Report, ErrorKind> {
        self.iexchange_in_place(buffer, to, from)?.wait()
    }

    /// Begins to send and to receive.
    pub fn iexchange(
        self: &Arc<Self>,
        outgoing: &Outgoing,
        incoming: &Incoming,
    ) -> Result<AnyRequest, ErrorKind> {
        self.both(outgoing, incoming, Vec::new())
    }

    /// Begins to send the data of `buffer` and to receive into it.
    pub fn iexchange_in_place(
        self: &Arc<Self>,
        buffer: &Buffer,
        (dest, send_tag): (Option<u32>, i32),
        (source, receive_tag): (Option<Source>, Tag),
    ) -> Result<AnyRequest, ErrorKind> {
        let mut copy = buffer.pack()?;
        // SAFETY: the copy is kept with the operation.
        let copied = unsafe { Buffer::raw(copy.as_mut_ptr(), buffer.bytes()) };
        let outgoing = Outgoing {
            buffer: copied,
            dest,
            tag: send_tag,
        };
        let incoming = Incoming {
            buffer: buffer.clone(),
            source,
            tag: receive_tag,
        };
        self.both(&outgoing, &incoming, copy)
    }

    fn both(
        self: &Arc<Self>,
        outgoing: &Outgoing,
        incoming: &Incoming,
        copy: Vec<u8>,
    ) -> Result<AnyRequest, ErrorKind> {
        let mut receive = self.irecv_buffer(&incoming.buffer, incoming.source, incoming.tag)?;
        let send = self.isend_buffer(
            &outgoing.buffer,
            outgoing.dest,
            outgoing.tag,
            Mode::Standard,
        );
        let send = match send {
            Ok(send) => send,
            Err(error) => {
                receive.cancel()?;
                receive.wait()?;
                return Err(error);
            }
        };
        Ok(AnyRequest::other(Both {
            comm: self.clone(),
            send,
            receive,
            copy,
            concluded: false,
        }))
    }
}

/// A send and a receive that end together.
struct Both {
    comm: Arc<Comm>,
    send: AnyRequest,
    receive: AnyRequest,
    /// What is sent, if it is not the program's memory.
    copy: Vec<u8>,
    concluded: bool,
}

impl Drop for Both {
    fn drop(&mut self) {
        if !self.concluded {
            // The engine may still read it: it is lost rather than used by somebody else.
            std::mem::forget(std::mem::take(&mut self.copy));
        }
    }
}

impl Pending for Both {
    fn comm(&self) -> Option<&Arc<Comm>> {
        Some(&self.comm)
    }

    fn is_ready(&mut self) -> bool {
        self.receive.is_ready() && self.send.is_ready()
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        // Only what is still under way: a half that is over would end the wait at once. But if both
        // ended since the last look, that is what must happen.
        let others = requests.len();
        self.receive.watch_unfinished(requests);
        self.send.watch_unfinished(requests);
        if requests.len() == others {
            self.receive.watch(requests);
            self.send.watch(requests);
        }
    }

    fn is_departing(&self) -> bool {
        self.send.is_departing()
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        let sent = self.send.conclude();
        let received = self.receive.conclude();
        self.concluded = true;
        sent.and(received)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        self.receive.cancel()?;
        self.send.cancel()
    }
}
