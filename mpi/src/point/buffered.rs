//! Buffered sends: the message is copied, and the program's memory is free at once (MPI 5.0 §3.6).
//!
//! A [`Pool`] keeps book of the space that the program attached: to the process, to a session or to a communicator, of which the
//! most specific one is used. The copies themselves lie in memory of the library; the attached buffer is a promise of how much
//! there may be. A pool without a bound is what MPI_BUFFER_AUTOMATIC asks for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::{Mode, RequestId};

use super::persistent::Persistent;
use crate::buffer::Buffer;
use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::operation::{Operation, Pending, Report};

/// Bytes that every message costs beside its data; MPI_BSEND_OVERHEAD tells programs to allow for it.
pub const OVERHEAD_BYTES: u64 = 512;

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
    /// Messages that are still on their way, and the space they take.
    pending: Vec<(u64, Operation)>,
}

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

    /// Attaches a pool; there can be one at a time. `lent` is what the program gave for it, address and size, to be given back.
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

    /// Waits until all messages have left and takes the pool away. What was lent for it; none if there was no pool.
    pub fn detach(&self) -> Result<Option<(usize, i64)>, ErrorKind> {
        let Some(pool) = self.pool() else {
            return Ok(None);
        };
        pool.flush()?;
        *self.slot() = None;
        Ok(Some(pool.lent))
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Space for a message, if there is some; messages that have left give theirs back first.
    fn reserve(&self, bytes: u64) -> Result<(), ErrorKind> {
        let mut state = self.state();
        state.reap();
        let needed = bytes.saturating_add(OVERHEAD_BYTES);
        if let Some(capacity) = self.capacity
            && needed > capacity - state.used
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

    /// Waits until every message has left.
    pub fn flush(&self) -> Result<(), ErrorKind> {
        let mut pending = std::mem::take(&mut self.state().pending);
        for (space, operation) in &mut pending {
            operation.wait()?;
            self.state().used -= *space;
        }
        Ok(())
    }

    /// An operation that is over when the messages of now have left.
    pub fn iflush(self: &Arc<Self>) -> Operation {
        let mut state = self.state();
        state.reap();
        if state.pending.is_empty() {
            return Operation::Over(Report::EMPTY);
        }
        let comm = state.pending[0].1.comm().cloned();
        drop(state);
        let pool = self.clone();
        Operation::Other(Box::new(Flush { pool, comm }))
    }
}

impl State {
    fn reap(&mut self) {
        let used = &mut self.used;
        self.pending.retain_mut(|(space, operation)| {
            let over = operation.is_ready();
            if over {
                // A buffered send that failed has nobody left to tell: its call has returned.
                let _ = operation.conclude();
                *used -= *space;
            }
            !over
        });
    }
}

impl Comm {
    /// Sends a copy.
    pub fn buffered_send(
        self: &Arc<Self>,
        buffer: &Buffer,
        dest: Option<u32>,
        tag: i32,
    ) -> Result<(), ErrorKind> {
        let Some(dest) = dest else { return Ok(()) };
        self.envelope(buffer.bytes(), dest, tag)?;
        let Some(pool) = self.buffering() else {
            return Err(ErrorKind::BufferedSpace {
                needed: buffer.bytes() + OVERHEAD_BYTES,
                free: 0,
                capacity: 0,
            });
        };
        pool.reserve(buffer.bytes())?;
        let space = buffer.bytes() + OVERHEAD_BYTES;
        let begun = self.isend_copy(buffer, dest, tag);
        let mut state = pool.state();
        match begun {
            Ok(operation @ Operation::Other(_)) => state.pending.push((space, operation)),
            over_or_failed => {
                state.used -= space;
                over_or_failed?;
            }
        }
        Ok(())
    }

    /// The pool that buffered sends of this communicator use: its own, else that of its session or of the process.
    fn buffering(&self) -> Option<Arc<Pool>> {
        let own = self.attached().pool();
        own.or_else(|| match self.group().origin() {
            Some(session) => session.pool(),
            None => self.process.attached.pool(),
        })
    }

    /// A buffered send that is started later.
    pub fn buffered_send_init(
        self: &Arc<Self>,
        buffer: Buffer,
        dest: Option<u32>,
        tag: i32,
    ) -> Result<Operation, ErrorKind> {
        if let Some(dest) = dest {
            self.envelope(buffer.bytes(), dest, tag)?;
        }
        let comm = self.clone();
        let begin = move || {
            comm.buffered_send(&buffer, dest, tag)?;
            Ok(Operation::Over(Report::EMPTY))
        };
        Ok(Persistent::operation(self, Box::new(begin)))
    }

    fn isend_copy(
        self: &Arc<Self>,
        buffer: &Buffer,
        dest: u32,
        tag: i32,
    ) -> Result<Operation, ErrorKind> {
        let (process, envelope) = self.envelope(buffer.bytes(), dest, tag)?;
        self.isend_packed(process, envelope, buffer.pack()?, Mode::Standard)
    }
}

/// All messages of a pool.
struct Flush {
    pool: Arc<Pool>,
    comm: Option<Arc<Comm>>,
}

impl Pending for Flush {
    fn comm(&self) -> Option<&Arc<Comm>> {
        self.comm.as_ref()
    }

    fn is_ready(&mut self) -> bool {
        let mut state = self.pool.state();
        state.reap();
        state.pending.is_empty()
    }

    fn watch(&self, requests: &mut Vec<RequestId>) {
        for (_, operation) in &self.pool.state().pending {
            operation.watch(requests);
        }
    }

    fn conclude(&mut self) -> Result<Report, ErrorKind> {
        Ok(Report::EMPTY)
    }

    fn cancel(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
