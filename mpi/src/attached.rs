//! Space for buffered sends, and the copies that are on their way (MPI 5.0 §3.6).
//!
//! A [`Pool`] keeps book of the space that the program attached: to the process, to a session or to
//! a communicator, each of which has an [`Attached`]. The copies themselves lie in memory of the
//! library; the attached buffer is a promise of how much there may be. A pool without a bound is
//! what MPI_BUFFER_AUTOMATIC asks for. The sends that use it are in `point/buffered`.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::{Engine, EngineError, Request, RequestId};

use crate::error::ErrorKind;

/// Bytes that every message costs beside its data; MPI_BSEND_OVERHEAD tells programs to allow for
/// it.
pub const OVERHEAD_BYTES: u64 = 512;

/// The pool of an object that may have one.
#[derive(Debug, Default)]
pub struct Attached(Mutex<Option<Arc<Pool>>>);

impl Attached {
    fn slot(&self) -> MutexGuard<'_, Option<Arc<Pool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool, if one is attached.
    pub fn pool(&self) -> Option<Arc<Pool>> {
        self.slot().clone()
    }

    /// Attaches a pool; there can be one at a time. `lent` is what the program gave for it, address
    /// and size, to be given back.
    pub fn attach(&self, capacity: Option<u64>, lent: (usize, i64)) -> Result<(), ErrorKind> {
        let mut slot = self.slot();
        if slot.is_some() {
            return Err(ErrorKind::AlreadyAttached);
        }
        *slot = Some(Arc::new(Pool {
            capacity,
            lent,
            state: Mutex::default(),
        }));
        Ok(())
    }

    /// Waits until all messages have left and takes the pool away. What was lent for it; none if
    /// there was no pool.
    pub fn detach(&self) -> Result<Option<(usize, i64)>, ErrorKind> {
        let Some(pool) = self.pool() else {
            return Ok(None);
        };
        pool.flush()?;
        *self.slot() = None;
        Ok(Some(pool.lent))
    }
}

/// Space for buffered messages.
#[derive(Debug)]
pub struct Pool {
    /// Bytes there may be; none: any number.
    capacity: Option<u64>,
    /// Address and size of the memory that the program attached.
    lent: (usize, i64),
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    leaving: Vec<Leaving>,
    /// All messages are looked at when there are so many: twice as many as were left by the look
    /// before, so that a message costs two looks however many are on their way.
    look_at: usize,
}

/// So many messages are looked at in every call.
const FEW: usize = 8;

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Space for a message, if there is some; messages that have left give theirs back first.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), ErrorKind> {
        let mut state = self.state();
        let needed = bytes.saturating_add(OVERHEAD_BYTES);
        let is_full = |state: &State| {
            self.capacity
                .is_some_and(|capacity| needed > capacity - state.used)
        };
        if state.leaving.len() >= state.look_at.max(FEW) || is_full(&state) {
            state.reap();
        }
        if let Some(capacity) = self.capacity
            && is_full(&state)
        {
            return Err(ErrorKind::BufferedSpace {
                needed,
                free: capacity - state.used,
                capacity,
            });
        }
        state.used += needed;
        Ok(())
    }

    /// Takes in a copy for which there is space, and which the engine reads until `request` is
    /// over.
    pub(crate) fn keep(&self, engine: Arc<Engine>, request: RequestId, data: Vec<u8>) {
        self.state().leaving.push(Leaving {
            engine,
            request,
            data,
            ended: false,
        });
    }

    /// Gives back the space for a message that has left at once, or never will.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.state().used -= bytes + OVERHEAD_BYTES;
    }

    /// Waits until every message has left.
    pub fn flush(&self) -> Result<(), ErrorKind> {
        let leaving = std::mem::take(&mut self.state().leaving);
        for mut message in leaving {
            message.end()?;
            self.state().used -= message.space();
        }
        Ok(())
    }

    /// The engine by which messages are leaving; none if all have left.
    pub(crate) fn engine(&self) -> Option<Arc<Engine>> {
        let mut state = self.state();
        state.reap();
        state.leaving.first().map(|message| message.engine.clone())
    }

    /// Adds the requests of the messages on their way.
    pub(crate) fn watch(&self, requests: &mut Vec<RequestId>) {
        requests.extend(self.state().leaving.iter().map(|message| message.request));
    }
}

impl State {
    fn reap(&mut self) {
        let used = &mut self.used;
        self.leaving.retain_mut(|message| {
            let over = message.engine.is_complete(message.request());
            if over {
                // A buffered send that failed has nobody left to tell: its call has returned.
                let _ = message.end();
                *used -= message.space();
            }
            !over
        });
        self.look_at = 2 * self.leaving.len();
    }
}

/// A copy on its way.
struct Leaving {
    engine: Arc<Engine>,
    request: RequestId,
    data: Vec<u8>,
    /// The engine has let go of the data.
    ended: bool,
}

impl Leaving {
    fn request(&self) -> Request {
        Request::Pending(self.request)
    }

    fn space(&self) -> u64 {
        self.data.len() as u64 + OVERHEAD_BYTES
    }

    fn end(&mut self) -> Result<(), EngineError> {
        let ended = self.engine.wait(self.request());
        self.ended = true;
        ended.map(|_| ())
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.ended {
            // The engine may still read the memory: it is lost rather than used for something else.
            std::mem::forget(std::mem::take(&mut self.data));
        }
    }
}

impl fmt::Debug for Leaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaving")
            .field("bytes", &self.data.len())
            .finish_non_exhaustive()
    }
}
