//! What callers see of an endpoint: peers, requests and their ends.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use oxmpi_oxk_core::{
    self as core, Bounds, CancelError, Found, PeerError, PeerToken, RequestError, Seed, Token,
};

use crate::connection::Connection;
use crate::driver;
use crate::poller::Poller;
use crate::state::{Completed, Done, Handlers, Held, Shared, Socket, State};

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A bound is out of range.
    #[error("an endpoint cannot have {0}")]
    Bounds(core::OpenError),
    /// The system has no epoll, no thread or no random bytes for it.
    #[error("the system gives no endpoint ({0}): look at the limits on open files and threads")]
    System(#[from] io::Error),
}

/// A send that was not made, and its memory.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Unsent {
    /// Why.
    pub error: RequestError,
    /// The memory that was given with it.
    pub buffer: Vec<u8>,
}

/// An endpoint; the crate's documentation says what it is. Dropping it closes it.
pub struct Endpoint {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// A request of a caller who waits for it.
pub struct Pending {
    slot: Arc<(Mutex<Option<Completed>>, Condvar)>,
    /// Its name, by which it can be cancelled.
    pub token: Token,
}

impl Pending {
    /// Waits for its end.
    pub fn wait(self) -> Completed {
        let (slot, told) = &*self.slot;
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match slot.take() {
                Some(completed) => return completed,
                None => slot = told.wait(slot).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Waits for its end at most so long; the request itself if that was not enough.
    pub fn wait_for(self, time: Duration) -> Result<Completed, Pending> {
        let (slot, told) = &*self.slot;
        let guard = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = told.wait_timeout_while(guard, time, |slot| slot.is_none());
        let taken = waited.unwrap_or_else(PoisonError::into_inner).0.take();
        taken.ok_or(self)
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        let slot = self.slot.0.lock();
        slot.unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Endpoint {
    /// Opens an endpoint; the memory that its bounds stand for is taken now.
    pub fn open(mut bounds: Bounds, handlers: Handlers) -> Result<Endpoint, OpenError> {
        let mut seed = [0; 16];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        let (low, high) = (
            u128::from_le_bytes(seed) as u64,
            u128::from_le_bytes(seed) >> 64,
        );
        bounds.handler = handlers.unexpected.is_some();
        let core = core::Endpoint::open(bounds, Seed::new([low, high as u64]));
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                core: core.map_err(OpenError::Bounds)?,
                held: HashMap::new(),
                sockets: HashMap::new(),
                over: Vec::new(),
                fresh: Vec::new(),
                closing: false,
            }),
            poller: Poller::new()?,
            handlers,
        });
        let driven = shared.clone();
        let thread = std::thread::Builder::new()
            .name("oxk endpoint".into())
            .spawn(move || driver::run(&driven))?;
        let thread = Some(thread);
        Ok(Endpoint { shared, thread })
    }

    /// Takes a proven connection as a peer.
    pub fn adopt(&self, connection: Connection) -> Result<PeerToken, PeerError> {
        let stream = Arc::new(connection.stream);
        let mut state = self.shared.lock();
        let peer = state.core.accepted()?;
        let ready = stream.set_nonblocking(true);
        let socket = Socket {
            stream,
            filled: connection.ahead.len(),
            staged: connection.ahead,
            used: 0,
            leaving: None,
            writing: false,
            full: false,
            broken: ready.err().map(|error| driver::errno(&error)),
        };
        state.sockets.insert(peer, socket);
        state.fresh.push(peer);
        drop(state);
        self.shared.poller.wake();
        Ok(peer)
    }

    /// Sends a message; `done` is called when its memory is free.
    pub fn send(
        &self,
        peer: PeerToken,
        bits: u64,
        buffer: Vec<u8>,
        done: Option<Done>,
    ) -> Result<Token, Unsent> {
        self.submit(peer, bits, buffer, false, done)
    }

    /// Sends a message; `done` is called when it has also met a receive.
    pub fn send_synchronous(
        &self,
        peer: PeerToken,
        bits: u64,
        buffer: Vec<u8>,
        done: Option<Done>,
    ) -> Result<Token, Unsent> {
        self.submit(peer, bits, buffer, true, done)
    }

    fn submit(
        &self,
        peer: PeerToken,
        bits: u64,
        buffer: Vec<u8>,
        sync: bool,
        done: Option<Done>,
    ) -> Result<Token, Unsent> {
        let mut state = self.shared.lock();
        let bytes = buffer.len() as u64;
        let token = match state.core.send(peer, bits, bytes, sync, 0) {
            Ok(token) => token,
            Err(error) => return Err(Unsent { error, buffer }),
        };
        state.held.insert(token, Held { buffer, done });
        let state = driver::flush(&self.shared, state, peer);
        self.shared.conclude(state);
        Ok(token)
    }

    /// Receives the oldest message whose bits agree with `bits` wherever `mask` is 1, into the
    /// whole length of `buffer`.
    pub fn receive(
        &self,
        bits: u64,
        mask: u64,
        buffer: Vec<u8>,
        done: Done,
    ) -> Result<Token, RequestError> {
        let mut state = self.shared.lock();
        let token = state.core.receive(bits, mask, buffer.len() as u64, 0)?;
        let done = Some(done);
        state.held.insert(token, Held { buffer, done });
        // An offer that has waited is answered, and credit may be due.
        let peers: Vec<PeerToken> = state.sockets.keys().copied().collect();
        state.settle();
        for peer in peers {
            state = driver::flush(&self.shared, state, peer);
        }
        self.shared.conclude(state);
        Ok(token)
    }

    /// As [`Endpoint::receive`], for a caller who waits.
    pub fn receive_pending(
        &self,
        bits: u64,
        mask: u64,
        buffer: Vec<u8>,
    ) -> Result<Pending, RequestError> {
        let (slot, done) = waiter();
        let token = self.receive(bits, mask, buffer, done)?;
        Ok(Pending { slot, token })
    }

    /// As [`Endpoint::send`] or [`Endpoint::send_synchronous`], for a caller who waits.
    pub fn send_pending(
        &self,
        peer: PeerToken,
        bits: u64,
        buffer: Vec<u8>,
        sync: bool,
    ) -> Result<Pending, Unsent> {
        let (slot, done) = waiter();
        let token = self.submit(peer, bits, buffer, sync, Some(done))?;
        Ok(Pending { slot, token })
    }

    /// Takes a request back. `Ok`: its memory is here and nothing more is told of it.
    pub fn cancel(&self, request: Token) -> Result<Vec<u8>, CancelError> {
        let mut state = self.shared.lock();
        let cancelled = state.core.cancel(request);
        if cancelled == Err(CancelError::Again) {
            // An offer is asked back; whose it is, the core knows.
            let peers: Vec<PeerToken> = state.sockets.keys().copied().collect();
            for peer in peers {
                state = driver::flush(&self.shared, state, peer);
            }
            self.shared.conclude(state);
            return Err(CancelError::Again);
        }
        cancelled?;
        let held = state.held.remove(&request);
        Ok(held.map(|held| held.buffer).unwrap_or_default())
    }

    /// The message that a receive with these bits and this mask would get at once.
    pub fn probe(&self, bits: u64, mask: u64) -> Option<Found> {
        self.shared.lock().core.probe(bits, mask)
    }

    /// The peers that are connected.
    pub fn peers(&self) -> Vec<PeerToken> {
        self.shared.lock().sockets.keys().copied().collect()
    }

    /// Whether the peer is connected.
    pub fn is_there(&self, peer: PeerToken) -> bool {
        self.shared.lock().core.is_there(peer)
    }

    /// Closes the endpoint: what is under way ends with an error, soon. Dropping it does so, too,
    /// and waits for that.
    pub fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.poller.wake();
    }

    /// Ends the connection with a peer; `lost` is called.
    pub fn disconnect(&self, peer: PeerToken) {
        let mut state = self.shared.lock();
        if let Some(socket) = state.sockets.get_mut(&peer) {
            socket.broken.get_or_insert(core::ECONNRESET);
            drop(state);
            self.shared.poller.wake();
        }
    }
}

/// A completion for a caller who waits, and where it will find it.
#[allow(
    clippy::type_complexity,
    reason = "the slot is named by the structure that has it"
)]
fn waiter() -> (Arc<(Mutex<Option<Completed>>, Condvar)>, Done) {
    let slot = Arc::new((Mutex::new(None), Condvar::new()));
    let told = slot.clone();
    let done = Box::new(move |completed| {
        *told.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(completed);
        told.1.notify_all();
    });
    (slot, done)
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.close();
        if let Some(thread) = self.thread.take() {
            // The last owner may be a completion, which runs in that thread.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
