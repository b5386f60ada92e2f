//! The table of requests: places for operations under way, and the lock around them.
//!
//! Requests come and go by the million, so they have a table of their own, a slab that is held for
//! some loads and stores. Below MPI_THREAD_MULTIPLE calls do not overlap, and nobody locks.
//!
//! Most requests are *messages*: sends and receives of one block, for which the engine's name says
//! all. They lie in the table in 24 bytes, apart from everything else, because calls on lists walk
//! over thousands of them.
//!
//! A message uses its communicator, whose contexts must not be given to another one before the
//! message is over, and has no reference of its own: references are counted by atomic operations,
//! which cost more than all the rest of a place. The table counts the messages of a communicator in
//! a word that only its holder writes ([`Comm::borrowers`]). As long as the communicator's handle
//! exists, that keeps it; when the handle goes first (MPI_Comm_free), [`keep_for_requests`] puts
//! the communicator into the table until its last message is over.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_core::any_request::{AnyRequest, Partitions, RequestId};
use oxmpi_core::communicator::Comm;

use crate::handle::Handle;
use crate::stage;

/// Kind of request handles, above the generation and the place.
const KIND: usize = 7;
const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 7;
const KIND_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
/// Requests that can exist at once; the last place is never used.
pub const REQUESTS_MAX: usize = (1 << INDEX_BITS) - 1;

/// The handle of every send that was over when its call returned.
pub const SENT: Handle = Handle(KIND << KIND_SHIFT | REQUESTS_MAX);

/// The places of all requests.
pub struct Table {
    places: Vec<Place>,
    /// What only other operations than messages need, by the same index.
    others: Vec<Other>,
    /// Free places; the last one is used first, because it is still in the cache.
    free: Vec<u32>,
    /// Communicators whose handles are gone, and which messages still use.
    kept: Vec<Arc<Comm>>,
}

struct Place {
    /// Of a message: its name in the engine.
    id: RequestId,
    /// Of a message: its communicator, which counts this place among its borrowers.
    comm: Option<NonNull<Comm>>,
    generation: u8,
    content: Content,
}

const _: () = assert!(size_of::<Place>() == 24);

struct Other {
    operation: Option<AnyRequest>,
    /// What other threads may use while the operation is taken out.
    beside: Beside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Free,
    /// A message that this process sends from one block.
    Send,
    /// A message that it receives into one block.
    Receive,
    /// Any other operation.
    Other,
    TakenOut,
}

/// What can be reached of a request while a call has its operation.
#[derive(Clone)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// The partitions of a partitioned message.
    Partitions(Arc<dyn Partitions>),
    /// What MPI_Grequest_complete sets.
    Signal(Arc<Signal>),
}

/// Which of the calls that end a generalized request have been made. The operation of one that is
/// freed keeps its place until it is complete, too: whoever makes the later call gives it up.
#[derive(Debug, Default)]
pub struct Signal(AtomicU8);

impl Signal {
    const COMPLETE: u8 = 1;
    const FREED: u8 = 2;

    /// Whether MPI_Grequest_complete was called.
    pub fn is_complete(&self) -> bool {
        // Pairs with `complete`: what the program did before that call has happened.
        self.0.load(Ordering::Acquire) & Signal::COMPLETE != 0
    }

    /// MPI_Grequest_complete; tells whether the request was freed before.
    pub fn complete(&self) -> bool {
        self.0.fetch_or(Signal::COMPLETE, Ordering::AcqRel) & Signal::FREED != 0
    }

    /// MPI_Request_free; tells whether the request was completed before.
    pub fn free(&self) -> bool {
        self.0.fetch_or(Signal::FREED, Ordering::AcqRel) & Signal::COMPLETE != 0
    }
}

/// Why an operation cannot be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The handle is no request's.
    Unknown,
    /// Another call has it.
    TakenOut,
}

struct Shared {
    mutex: Mutex<()>,
    /// Somebody has the table, to find calls from inside of each other while testing.
    held: AtomicBool,
    table: std::cell::UnsafeCell<Table>,
}

// SAFETY: the table is reached through `Guard`s alone. They have the mutex, or the program has
// promised that no two calls overlap. What is in it may be moved between threads: the pointers to
// communicators are those of `Arc`s.
unsafe impl Sync for Shared {}

static REQUESTS: Shared = Shared {
    mutex: Mutex::new(()),
    held: AtomicBool::new(false),
    table: std::cell::UnsafeCell::new(Table {
        places: Vec::new(),
        others: Vec::new(),
        free: Vec::new(),
        kept: Vec::new(),
    }),
};

/// The right to the table. Nothing that calls the program, or another function of this module, may
/// run while it exists.
pub struct Guard {
    _mutex: Option<MutexGuard<'static, ()>>,
}

/// The table, for this thread alone until the guard is dropped.
#[inline]
pub fn table() -> Guard {
    let mutex = match stage::do_calls_overlap() {
        true => Some(lock()),
        false => None,
    };
    if cfg!(debug_assertions) {
        let was_held = REQUESTS.held.swap(true, Ordering::Relaxed);
        assert!(!was_held, "nobody asks for the table who has it");
    }
    Guard { _mutex: mutex }
}

#[inline(never)]
fn lock() -> MutexGuard<'static, ()> {
    let locked = REQUESTS.mutex.lock();
    locked.unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Guard {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        // SAFETY: guards do not overlap, see `Shared`.
        unsafe { &*REQUESTS.table.get() }
    }
}

impl DerefMut for Guard {
    #[inline]
    fn deref_mut(&mut self) -> &mut Table {
        // SAFETY: guards do not overlap, see `Shared`.
        unsafe { &mut *REQUESTS.table.get() }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            REQUESTS.held.store(false, Ordering::Relaxed);
        }
    }
}

/// The handle of a communicator is about to go: the table keeps what its messages use.
pub fn keep_for_requests(comm: &Arc<Comm>) {
    let mut table = table();
    let is_kept = table.kept.iter().any(|kept| Arc::ptr_eq(kept, comm));
    if comm.borrowers().load(Ordering::Relaxed) != 0 && !is_kept {
        table.kept.push(comm.clone());
    }
}

impl Table {
    /// The index of a handle that is a request's.
    #[inline]
    fn index(&self, handle: Handle) -> Option<usize> {
        let index = handle.0 & REQUESTS_MAX;
        let generation = handle.0 >> INDEX_BITS & ((1 << GENERATION_BITS) - 1);
        let place = self.places.get(index)?;
        let is_right = handle.0 >> KIND_SHIFT == KIND
            && usize::from(place.generation) == generation
            && place.content != Content::Free;
        is_right.then_some(index)
    }

    /// A free place.
    #[inline]
    fn place(&mut self) -> Option<usize> {
        match self.free.pop() {
            Some(index) => Some(index as usize),
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> Option<usize> {
        let index = self.places.len();
        (index < REQUESTS_MAX).then(|| {
            self.places.push(Place {
                id: RequestId::from_token(0),
                comm: None,
                generation: 0,
                content: Content::Free,
            });
            self.others.push(Other {
                operation: None,
                beside: Beside::Nothing,
            });
            index
        })
    }

    #[inline]
    fn handle(&self, index: usize) -> Handle {
        let generation = usize::from(self.places[index].generation);
        Handle(KIND << KIND_SHIFT | generation << INDEX_BITS | index)
    }

    /// Gives a message a place; none if there are [`REQUESTS_MAX`] requests.
    #[inline]
    pub fn insert_message(
        &mut self,
        comm: &Arc<Comm>,
        id: RequestId,
        is_send: bool,
    ) -> Option<Handle> {
        let index = self.place()?;
        let borrowers = comm.borrowers();
        // Only who has the table writes it.
        borrowers.store(borrowers.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let place = &mut self.places[index];
        place.id = id;
        place.comm = Some(NonNull::from(&**comm));
        place.content = match is_send {
            true => Content::Send,
            false => Content::Receive,
        };
        Some(self.handle(index))
    }

    /// Gives another operation a place.
    pub fn insert(&mut self, operation: AnyRequest, beside: Beside) -> Option<Handle> {
        let index = self.place()?;
        self.places[index].content = Content::Other;
        let other = &mut self.others[index];
        other.operation = Some(operation);
        other.beside = beside;
        Some(self.handle(index))
    }

    /// The engine's name of a message that no call has; none if the request is anything else.
    #[inline]
    pub fn message(&self, handle: Handle) -> Option<RequestId> {
        let place = &self.places[self.index(handle)?];
        matches!(place.content, Content::Send | Content::Receive).then_some(place.id)
    }

    /// As [`Table::message`]; until [`Table::release`], no other call can have it.
    #[inline]
    pub fn occupy(&mut self, handle: Handle) -> Option<RequestId> {
        let id = self.message(handle)?;
        self.places[handle.0 & REQUESTS_MAX].content = Content::TakenOut;
        Some(id)
    }

    /// The communicator of a message.
    pub fn comm(&self, handle: Handle) -> Option<Arc<Comm>> {
        let comm = self.places[self.index(handle)?].comm?;
        // SAFETY: the communicator came from an `Arc` and lives: its handle or `kept` holds a
        // reference as long as it has borrowers.
        Some(unsafe { shared(comm) })
    }

    /// Takes out the operation of a request. It has to come back, or its place has to be released.
    pub fn take(&mut self, handle: Handle) -> Result<AnyRequest, Missing> {
        let index = self.index(handle).ok_or(Missing::Unknown)?;
        let comm = self.comm(handle);
        let place = &mut self.places[index];
        let content = std::mem::replace(&mut place.content, Content::TakenOut);
        let operation = match (content, comm) {
            (Content::Send, Some(comm)) => Some(AnyRequest::Send(comm, place.id)),
            (Content::Receive, Some(comm)) => Some(AnyRequest::Receive(comm, place.id)),
            _ => self.others[index].operation.take(),
        };
        operation.ok_or(Missing::TakenOut)
    }

    /// Puts back what was taken out. What comes out is to be dropped after the guard.
    #[must_use]
    pub fn put_back(&mut self, handle: Handle, operation: AnyRequest) -> Option<AnyRequest> {
        let Some(index) = self.index(handle) else {
            return Some(operation);
        };
        let place = &mut self.places[index];
        let content = match &operation {
            AnyRequest::Send(..) if place.comm.is_some() => Content::Send,
            AnyRequest::Receive(..) if place.comm.is_some() => Content::Receive,
            _ => Content::Other,
        };
        place.content = content;
        if content == Content::Other {
            self.others[index].operation = Some(operation);
            return None;
        }
        Some(operation)
    }

    /// Gives a place up. What comes out is to be dropped after the guard.
    #[inline]
    #[must_use]
    pub fn release(&mut self, handle: Handle) -> Option<Arc<Comm>> {
        let index = self.index(handle)?;
        let place = &mut self.places[index];
        place.content = Content::Free;
        place.generation = (place.generation + 1) % (1 << GENERATION_BITS);
        self.free.push(index as u32);
        match place.comm.take() {
            Some(comm) => self.give_back(comm),
            None => {
                self.others[index].beside = Beside::Nothing;
                None
            }
        }
    }

    /// A message does not need its communicator any more.
    #[inline]
    fn give_back(&mut self, comm: NonNull<Comm>) -> Option<Arc<Comm>> {
        // SAFETY: as in `comm`.
        let borrowers = unsafe { comm.as_ref() }.borrowers();
        let left = borrowers.load(Ordering::Relaxed) - 1;
        borrowers.store(left, Ordering::Relaxed);
        if left > 0 || self.kept.is_empty() {
            return None;
        }
        let is_it = |kept: &Arc<Comm>| Arc::as_ptr(kept) == comm.as_ptr();
        let at = self.kept.iter().position(is_it)?;
        Some(self.kept.swap_remove(at))
    }

    /// What other threads may use of a request; none if there is no such request.
    pub fn beside(&self, handle: Handle) -> Option<Beside> {
        Some(self.others[self.index(handle)?].beside.clone())
    }
}

/// Another reference to a communicator.
///
/// # Safety
/// The pointer is that of an `Arc` of which a reference exists.
unsafe fn shared(comm: NonNull<Comm>) -> Arc<Comm> {
    let comm = comm.as_ptr().cast_const();
    // SAFETY: the caller's promise.
    unsafe {
        Arc::increment_strong_count(comm);
        Arc::from_raw(comm)
    }
}
