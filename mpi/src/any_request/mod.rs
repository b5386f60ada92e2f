//! Requests under way: what a request of the C interface stands for.
//!
//! An [`AnyRequest`] is begun by a call on a communicator, becomes *ready* when it has ended, and
//! is *concluded* by the call that completes its request: that hands out the [`Report`] and frees
//! what it held. Persistent operations are inactive before they are started and after they are
//! concluded. The two kinds that programs use by the million, contiguous sends and receives, are
//! variants of their own; all others are behind [`Pending`].

mod errand;
mod message;
mod messages;
mod under_way;
mod wait;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::task::Waker;

pub use oxmpi_engine::RequestId;
use oxmpi_engine::{Completion, Engine, EngineError, Fault};

use crate::communicator::Comm;
use crate::error::ErrorKind;
use crate::process::Task;
use crate::process::background::Work;

pub use errand::Errand;
pub use message::Scattered;
pub(crate) use message::Staged;
pub use messages::Listed;
pub use oxmpi_engine::Look;
pub(crate) use under_way::UnderWay;
pub use wait::{RequestList, first_ready, look_at, wait_ready};

/// An operation that was begun.
pub enum AnyRequest {
    /// It was over in the call that began it.
    Over(Report),
    /// A contiguous message that this process sends.
    Send(Arc<Comm>, RequestId),
    /// A contiguous message that this process receives.
    Receive(Arc<Comm>, RequestId),
    /// Anything else.
    Other(Held),
}

/// An operation behind [`Pending`]. The first kinds are so common that they are not allocated.
pub enum Held {
    /// A message whose data is not one block.
    Scattered(Scattered),
    /// A nonblocking or persistent collective.
    Errand(Errand),
    /// Any other.
    Boxed(Box<dyn Pending>),
}

impl Deref for Held {
    type Target = dyn Pending;

    fn deref(&self) -> &(dyn Pending + 'static) {
        match self {
            Held::Scattered(message) => message,
            Held::Errand(errand) => errand,
            Held::Boxed(other) => &**other,
        }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut (dyn Pending + 'static) {
        match self {
            Held::Scattered(message) => message,
            Held::Errand(errand) => errand,
            Held::Boxed(other) => &mut **other,
        }
    }
}

/// An operation of another kind. All methods but `conclude` may be called at any time.
pub trait Pending: Send {
    /// The communicator it belongs to, if there is one: its error handler is asked when it fails.
    fn comm(&self) -> Option<&Arc<Comm>>;
    /// The engine to wait with; none if only another thread of the program can end it.
    fn engine(&self) -> Option<&Arc<Engine>> {
        self.comm().map(|comm| &comm.process.engine)
    }
    /// Whether it is over, without waiting. May do some of the work itself.
    fn is_ready(&mut self) -> bool;
    /// Adds the engine's requests whose end may make it ready. Nothing is added if that depends on
    /// background work alone or on another thread of the program.
    fn watch(&self, requests: &mut Vec<RequestId>);
    /// The engine's request, if it stands for one message and nothing else.
    fn message(&self) -> Option<RequestId> {
        None
    }
    /// Whether it sends a message that is on its way: finalising waits for it even if its request
    /// was freed.
    fn is_departing(&self) -> bool {
        false
    }
    /// Whether the end was noted, for a waiting thread that holds the engine's lock: only loads are
    /// allowed here.
    fn is_noted(&self) -> bool {
        false
    }
    /// Ends it after it was ready: the outcome, once.
    fn conclude(&mut self) -> Result<Report, ErrorKind>;
    /// What `conclude` would say after it was ready, and will say again; `None` if that is not
    /// known without concluding.
    fn peek(&mut self) -> Option<Result<Report, ErrorKind>> {
        None
    }
    /// Asks to end it early; the report tells whether that was in time.
    fn cancel(&mut self) -> Result<(), ErrorKind>;
    /// Ends it early whatever becomes of it: nobody asks for its report any more.
    fn abandon(&mut self) {
        // What cannot be cancelled is waited for.
        let _ = self.cancel();
    }
    /// Wakes `waker` when it may be ready. False if it may be now.
    fn set_waker(&mut self, waker: &Waker) -> bool {
        let mut requests = Vec::new();
        self.watch(&mut requests);
        match (requests.first(), self.engine()) {
            (Some(&first), Some(engine)) => {
                engine.set_waker(oxmpi_engine::Request::Pending(first), waker)
            }
            // Only background work can end it: nobody would wake this task.
            _ => {
                waker.wake_by_ref();
                true
            }
        }
    }
    /// A persistent operation can be started again after it was concluded.
    fn is_persistent(&self) -> bool {
        false
    }
    /// Whether it has been begun and not concluded. Only persistent ones can be inactive.
    fn is_active(&self) -> bool {
        true
    }
    /// Begins a persistent operation.
    fn start(&mut self) -> Result<(), ErrorKind> {
        Err(ErrorKind::NotPersistent)
    }
    /// The calls on its partitions, if it has some.
    fn partitions(&self) -> Option<Arc<dyn Partitions>> {
        None
    }
}

/// The calls on a partitioned operation, which any thread may make while another one waits for it.
pub trait Partitions: Send + Sync {
    /// Partitions `first` to `last` of a send may be sent.
    fn ready(&self, first: u64, last: u64) -> Result<(), ErrorKind>;
    /// Whether a partition of a receive has arrived.
    fn arrived(&self, partition: u64) -> Result<bool, ErrorKind>;
}

/// From whom a message came, as a status tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// This rank.
    Rank(u32),
    /// The null process (MPI_PROC_NULL).
    Nobody,
    /// There was no message: an empty status.
    Unknown,
    /// What the query function of a generalized request says.
    Stated(i32),
}

/// How an operation ended, as a status tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// From whom the message came.
    pub sender: Sender,
    /// Its tag; none in an empty status.
    pub tag: Option<i32>,
    /// Its length.
    pub bytes: u64,
    /// The operation was taken back in time.
    pub cancelled: bool,
}

impl Report {
    /// The empty status (MPI 5.0 §3.7.3).
    pub const EMPTY: Report = Report {
        sender: Sender::Unknown,
        tag: None,
        bytes: 0,
        cancelled: false,
    };
    /// What a receive from the null process tells (MPI 5.0 §3.10).
    pub const NOBODY: Report = Report {
        sender: Sender::Nobody,
        ..Report::EMPTY
    };

    /// What the status of an operation that failed tells: of a message that was too long for its
    /// memory, which one it was and how much of it is there; of others nothing.
    #[cold]
    pub fn of_failure(error: &EngineError) -> Report {
        match *error.fault() {
            Fault::Truncated {
                source_rank,
                tag,
                capacity,
                ..
            } => Report {
                sender: Sender::Rank(source_rank),
                tag: Some(tag),
                bytes: capacity,
                cancelled: false,
            },
            _ => Report::EMPTY,
        }
    }
}

impl From<Completion> for Report {
    #[inline]
    fn from(completion: Completion) -> Self {
        Report {
            sender: Sender::Rank(completion.source),
            tag: Some(completion.tag),
            bytes: completion.bytes,
            cancelled: completion.cancelled,
        }
    }
}

impl AnyRequest {
    /// An operation of another kind than a message of one block.
    pub fn other(operation: impl Pending + 'static) -> AnyRequest {
        AnyRequest::Other(Held::Boxed(Box::new(operation)))
    }

    /// The communicator whose error handler is asked when it fails.
    pub fn comm(&self) -> Option<&Arc<Comm>> {
        match self {
            AnyRequest::Over(_) => None,
            AnyRequest::Send(comm, _) | AnyRequest::Receive(comm, _) => Some(comm),
            AnyRequest::Other(other) => other.comm(),
        }
    }

    /// The engine to wait with.
    pub(crate) fn engine(&self) -> Option<&Arc<Engine>> {
        match self {
            AnyRequest::Other(other) => other.engine(),
            _ => self.comm().map(|comm| &comm.process.engine),
        }
    }

    /// Whether it has been begun and not concluded.
    pub fn is_active(&self) -> bool {
        match self {
            AnyRequest::Other(other) => other.is_active(),
            _ => true,
        }
    }

    /// Whether it can be started again.
    pub fn is_persistent(&self) -> bool {
        match self {
            AnyRequest::Other(other) => other.is_persistent(),
            _ => false,
        }
    }

    /// Whether it is over, without waiting.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        match self {
            AnyRequest::Over(_) => true,
            AnyRequest::Send(comm, id) | AnyRequest::Receive(comm, id) => comm
                .process
                .engine
                .is_complete(oxmpi_engine::Request::Pending(*id)),
            AnyRequest::Other(other) => other.is_ready(),
        }
    }

    /// The engine's request, if it stands for one message and nothing else.
    #[inline]
    pub(crate) fn message(&self) -> Option<RequestId> {
        match self {
            AnyRequest::Over(_) => None,
            AnyRequest::Send(_, id) | AnyRequest::Receive(_, id) => Some(*id),
            AnyRequest::Other(other) => other.message(),
        }
    }

    /// Whether it sends a message that is on its way.
    pub(crate) fn is_departing(&self) -> bool {
        match self {
            AnyRequest::Over(_) | AnyRequest::Receive(..) => false,
            AnyRequest::Send(..) => true,
            AnyRequest::Other(other) => other.is_departing(),
        }
    }

    /// Whether it is over, or is a message that only a process which has finalised could end:
    /// concluding it tells that as an error. For work that cannot be taken back.
    pub(crate) fn is_settled(&mut self) -> bool {
        match (self.message(), self.comm()) {
            (Some(id), Some(comm)) => comm
                .process
                .engine
                .is_settled(oxmpi_engine::Request::Pending(id)),
            _ => self.is_ready(),
        }
    }

    /// Adds the engine's requests whose end may make it ready.
    pub(crate) fn watch(&self, requests: &mut Vec<RequestId>) {
        match self {
            AnyRequest::Over(_) => {}
            AnyRequest::Send(_, id) | AnyRequest::Receive(_, id) => requests.push(*id),
            AnyRequest::Other(other) => other.watch(requests),
        }
    }

    /// As `watch`, without what is over already.
    pub(crate) fn watch_unfinished(&self, requests: &mut Vec<RequestId>) {
        let Some(engine) = self.engine() else { return };
        let first = requests.len();
        self.watch(requests);
        let mut at = first;
        while at < requests.len() {
            if engine.is_complete(oxmpi_engine::Request::Pending(requests[at])) {
                requests.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    pub(crate) fn is_noted(&self) -> bool {
        match self {
            AnyRequest::Other(other) => other.is_noted(),
            _ => false,
        }
    }

    /// Waits until it is over and concludes it.
    #[inline]
    pub fn wait(&mut self) -> Result<Report, ErrorKind> {
        // The engine waits for the other kinds by itself.
        if let AnyRequest::Other(_) = self {
            wait_ready(self)?;
        }
        self.conclude()
    }

    /// Ends it after it was ready. A persistent one can be started again; of any other kind nothing
    /// is left.
    #[inline]
    pub fn conclude(&mut self) -> Result<Report, ErrorKind> {
        match self {
            AnyRequest::Over(report) => Ok(*report),
            AnyRequest::Send(comm, id) | AnyRequest::Receive(comm, id) => Ok(comm
                .process
                .engine
                .wait(oxmpi_engine::Request::Pending(*id))?
                .into()),
            AnyRequest::Other(other) => other.conclude(),
        }
    }

    /// The report of an operation that is ready, which stays to be concluded
    /// (MPI_Request_get_status).
    pub fn peek(&mut self) -> Result<Report, ErrorKind> {
        match self {
            AnyRequest::Send(comm, id) | AnyRequest::Receive(comm, id) => {
                return Ok(comm.process.engine.peek(*id)?.into());
            }
            AnyRequest::Over(report) => return Ok(*report),
            AnyRequest::Other(other) => {
                if let Some(report) = other.peek() {
                    return report;
                }
            }
        }
        let report = self.conclude()?;
        *self = AnyRequest::Over(report);
        Ok(report)
    }

    /// Asks to end it early.
    pub fn cancel(&mut self) -> Result<(), ErrorKind> {
        match self {
            AnyRequest::Over(_) => Ok(()),
            AnyRequest::Send(comm, id) | AnyRequest::Receive(comm, id) => {
                comm.process
                    .engine
                    .cancel(oxmpi_engine::Request::Pending(*id));
                Ok(())
            }
            AnyRequest::Other(other) => other.cancel(),
        }
    }

    /// Ends it early whatever becomes of it, and waits until it has let go of its memory.
    pub(crate) fn abandon(&mut self) {
        match self {
            AnyRequest::Other(other) => other.abandon(),
            _ => drop(self.cancel()),
        }
        let _ = self.wait();
    }

    /// Wakes `waker` when it may be ready. False if it may be now.
    pub(crate) fn set_waker(&mut self, waker: &Waker) -> bool {
        match self {
            AnyRequest::Over(_) => false,
            AnyRequest::Send(comm, id) | AnyRequest::Receive(comm, id) => {
                let message = oxmpi_engine::Request::Pending(*id);
                comm.process.engine.set_waker(message, waker)
            }
            AnyRequest::Other(other) => other.set_waker(waker),
        }
    }

    /// Lets it go on by itself: nobody will ask for its report (MPI_Request_free).
    pub fn detach(mut self) {
        let Some(process) = self.comm().map(|comm| comm.process().clone()) else {
            return;
        };
        if self.is_active() {
            if self.is_ready() {
                // Whoever lets go of an operation does not want to know how it ends.
                let _ = self.conclude();
            } else {
                process.background.start(Task::new(Orphan(self)));
            }
        }
    }

    /// The calls on its partitions, if it has some.
    pub fn partitions(&self) -> Option<Arc<dyn Partitions>> {
        match self {
            AnyRequest::Other(other) => other.partitions(),
            _ => None,
        }
    }

    /// Begins a persistent operation.
    pub fn start(&mut self) -> Result<(), ErrorKind> {
        match self {
            AnyRequest::Other(other) => other.start(),
            _ => Err(ErrorKind::NotPersistent),
        }
    }
}

/// An operation whose request was freed.
struct Orphan(AnyRequest);

impl Work for Orphan {
    fn step(&mut self) -> bool {
        let over = self.0.is_settled();
        if over {
            let _ = self.0.conclude();
        }
        over
    }

    fn is_departing(&self) -> bool {
        self.0.is_departing()
    }

    /// Its end may free what the program has attached. The messages move without it.
    fn calls_program(&self) -> bool {
        true
    }
}

impl std::fmt::Debug for AnyRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            AnyRequest::Over(_) => "over",
            AnyRequest::Send(..) => "send",
            AnyRequest::Receive(..) => "receive",
            AnyRequest::Other(_) => "other",
        };
        write!(f, "AnyRequest({kind})")
    }
}
