//! What an endpoint's lock protects: the core's decisions, the memory of requests, the sockets.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_oxk_core::{self as core, PeerToken, Status, Token, Transmit};

use crate::poller::Poller;

/// A request that is over, and its memory.
#[derive(Debug)]
pub struct Completed {
    /// How it ended.
    pub status: Status,
    /// The memory that was given with it.
    pub buffer: Vec<u8>,
}

impl Completed {
    /// What was received, or the errno.
    pub fn received(mut self) -> Result<Vec<u8>, u32> {
        match self.status.error {
            0 => {
                self.buffer.truncate(self.status.placed as usize);
                Ok(self.buffer)
            }
            error => Err(error),
        }
    }
}

/// Called once when a request is over, with no lock held. It may make requests; it runs in the
/// endpoint's thread or in that of a caller, so it should not block.
pub type Done = Box<dyn FnOnce(Completed) + Send>;

/// A message that no receive waits for.
pub struct Arrival<'a> {
    /// Its sender.
    pub peer: PeerToken,
    /// Its bits.
    pub bits: u64,
    /// Its length.
    pub bytes: u64,
    /// Its bytes wait at the sender.
    pub offered: bool,
    /// Those of its bytes that have been read already.
    pub here: &'a [u8],
}

/// What becomes of it.
pub enum Answer {
    /// It waits for a receive.
    Leave,
    /// The handler has seen enough of it.
    Take,
    /// It goes into this memory.
    Into(Vec<u8>, Done),
}

/// Asked about an unexpected message, under the endpoint's lock: it may call nothing of it.
pub type Unexpected = Box<dyn Fn(Arrival) -> Answer + Send + Sync>;

/// What an endpoint tells of by itself.
#[derive(Default)]
pub struct Handlers {
    /// Asked about messages that no receive waits for; without it they wait for one.
    pub unexpected: Option<Unexpected>,
    /// A peer is lost, with an errno; what concerned it is over already.
    pub lost: Option<Box<dyn Fn(PeerToken, u32) + Send + Sync>>,
}

/// The memory of a request, and who is told.
pub(crate) struct Held {
    pub buffer: Vec<u8>,
    pub done: Option<Done>,
}

/// A peer's socket and where its streams are.
pub(crate) struct Socket {
    pub stream: Arc<TcpStream>,
    /// Bytes that were read before it was known where they belong: `used..filled` are to be fed.
    pub staged: Vec<u8>,
    pub used: usize,
    pub filled: usize,
    /// A packet that has left in part: how many of its bytes have.
    pub leaving: Option<(Transmit, usize)>,
    /// A thread is writing without the lock.
    pub writing: bool,
    /// The socket took no more; the poller will tell.
    pub full: bool,
    /// Writing failed with this errno; the endpoint's thread parts with the peer.
    pub broken: Option<u32>,
}

pub(crate) struct State {
    pub core: core::Endpoint,
    pub held: HashMap<Token, Held>,
    pub sockets: HashMap<PeerToken, Socket>,
    /// Over, and not yet told.
    pub over: Vec<(Done, Completed)>,
    /// New peers that the endpoint's thread has not looked at.
    pub fresh: Vec<PeerToken>,
    pub closing: bool,
}

impl State {
    /// Copies what came before its receive, and collects what is over.
    pub(crate) fn settle(&mut self) {
        while let Some(token) = self.core.next_copy() {
            if let Some(held) = self.held.get_mut(&token) {
                while let Some(piece) = self.core.next_piece(token) {
                    let at = piece.offset as usize;
                    held.buffer[at..at + piece.bytes.len()].copy_from_slice(piece.bytes);
                }
            }
            self.core.copied(token, 0);
        }
        while let Some(completion) = self.core.next_completed() {
            let Some(held) = self.held.remove(&completion.token) else {
                continue;
            };
            let status = completion.status;
            let completed = Completed {
                status,
                buffer: held.buffer,
            };
            if let Some(done) = held.done {
                self.over.push((done, completed));
            }
        }
    }
}

pub(crate) struct Shared {
    pub state: Mutex<State>,
    pub poller: Poller,
    pub handlers: Handlers,
}

impl Shared {
    /// A panic of a completion leaves no state half changed: completions run without the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a change: collects what is over, drops the lock and tells.
    pub(crate) fn conclude(&self, mut state: MutexGuard<'_, State>) {
        state.settle();
        let over = std::mem::take(&mut state.over);
        drop(state);
        for (done, completed) in over {
            done(completed);
        }
    }
}
