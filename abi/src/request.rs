//! Requests: the handles by which programs know operations under way.
//!
//! Requests come and go by the million, so they have a table of their own, a slab behind one lock
//! that is held for some loads and stores. A call that works on a request takes its operation out
//! and puts it back or gives the place up; a second call on the same request meanwhile, which MPI
//! forbids (§11.6.2), finds it occupied. Two things can be reached even then, because threads may
//! use them while another one waits: the partitions of a partitioned message, and the end of a
//! generalized request.
//!
//! A send that was over when its call returned needs no place: its handle is [`SENT`].

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_core::ErrorKind;
use oxmpi_core::any_request::{AnyRequest, Partitions, Report, RequestList, look_at};
use oxmpi_core::communicator::Comm;
use oxmpi_engine::RequestId;

use crate::caller::Entry;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{File, Window};
use crate::subject::Subject;

/// Kind of request handles, above the generation and the place.
const KIND: usize = 7;
const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 7;
const KIND_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
/// Requests that can exist at once; the last place is never used.
const REQUESTS_MAX: usize = (1 << INDEX_BITS) - 1;

/// The handle of every send that was over when its call returned.
pub const SENT: Handle = Handle(KIND << KIND_SHIFT | REQUESTS_MAX);

static REQUESTS: Mutex<Slab> = Mutex::new(Slab {
    slots: Vec::new(),
    free: Vec::new(),
});

struct Slab {
    slots: Vec<Slot>,
    /// Free places; the last one is used first, because it is still in the cache.
    free: Vec<u32>,
}

struct Slot {
    generation: u8,
    content: Content,
    /// Of a receive into one block, which most requests are: its communicator, and its name in the
    /// engine. They lie here one by one because they are read soon after they were written, and a
    /// processor waits for all earlier stores when it is to read several at once.
    comm: Option<Arc<Comm>>,
    id: RequestId,
    /// Any other operation.
    operation: Option<AnyRequest>,
    /// What other threads may use while the operation is taken out.
    beside: Beside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Free,
    /// A receive into one block.
    Receive,
    /// Any other operation.
    Other,
    TakenOut,
}

#[derive(Clone)]
enum Beside {
    Nothing,
    Partitions(Arc<dyn Partitions>),
    Signal(Arc<AtomicBool>),
}

fn slab() -> MutexGuard<'static, Slab> {
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slab {
    fn index(&self, handle: Handle) -> Option<usize> {
        let index = handle.0 & REQUESTS_MAX;
        let generation = handle.0 >> INDEX_BITS & ((1 << GENERATION_BITS) - 1);
        let slot = self.slots.get(index)?;
        let is_right = handle.0 >> KIND_SHIFT == KIND
            && usize::from(slot.generation) == generation
            && slot.content != Content::Free;
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
        let index = self.slots.len();
        (index < REQUESTS_MAX).then(|| {
            self.slots.push(Slot {
                generation: 0,
                content: Content::Free,
                comm: None,
                id: RequestId::from_token(0),
                operation: None,
                beside: Beside::Nothing,
            });
            index
        })
    }

    fn handle(&self, index: usize) -> Handle {
        let generation = usize::from(self.slots[index].generation);
        Handle(KIND << KIND_SHIFT | generation << INDEX_BITS | index)
    }

    fn insert(&mut self, operation: AnyRequest, beside: Beside) -> Option<Handle> {
        let index = self.place()?;
        let slot = &mut self.slots[index];
        slot.content = Content::Other;
        slot.operation = Some(operation);
        slot.beside = beside;
        Some(self.handle(index))
    }

    #[inline]
    fn insert_receive(&mut self, comm: Arc<Comm>, id: RequestId) -> Option<Handle> {
        let index = self.place()?;
        let slot = &mut self.slots[index];
        slot.content = Content::Receive;
        slot.comm = Some(comm);
        slot.id = id;
        Some(self.handle(index))
    }

    #[inline]
    fn take(&mut self, handle: Handle) -> Result<AnyRequest, Failure> {
        let Some(index) = self.index(handle) else {
            return Err(no_request(handle));
        };
        let slot = &mut self.slots[index];
        let content = std::mem::replace(&mut slot.content, Content::TakenOut);
        let operation = match content {
            Content::Receive => slot
                .comm
                .take()
                .map(|comm| AnyRequest::Receive(comm, slot.id)),
            _ => slot.operation.take(),
        };
        operation.ok_or_else(|| occupied(handle))
    }

    #[inline]
    fn put_back(&mut self, handle: Handle, operation: AnyRequest) {
        let Some(index) = self.index(handle) else {
            return;
        };
        let slot = &mut self.slots[index];
        match operation {
            AnyRequest::Receive(comm, id) => {
                slot.content = Content::Receive;
                slot.comm = Some(comm);
                slot.id = id;
            }
            other => {
                slot.content = Content::Other;
                slot.operation = Some(other);
            }
        }
    }

    #[inline]
    fn release(&mut self, handle: Handle) {
        if let Some(index) = self.index(handle) {
            let slot = &mut self.slots[index];
            slot.content = Content::Free;
            if !matches!(slot.beside, Beside::Nothing) {
                slot.beside = Beside::Nothing;
            }
            slot.generation = (slot.generation + 1) % (1 << GENERATION_BITS);
            self.free.push(index as u32);
        }
    }
}

#[cold]
fn no_request(handle: Handle) -> Failure {
    let text = format!(
        "the request {handle} is not one: it was completed or freed, or never was a request"
    );
    Failure::new(MPI_ERR_REQUEST, text)
}

#[cold]
fn occupied(handle: Handle) -> Failure {
    let text = format!("another thread is completing the request {handle} now; only one may");
    Failure::new(MPI_ERR_REQUEST, text)
}

/// Gives a receive into one block a handle.
#[inline]
pub fn of_receive(comm: &Arc<Comm>, id: RequestId) -> Result<Handle, Failure> {
    slab().insert_receive(comm.clone(), id).ok_or_else(full)
}

/// Gives an operation a handle.
#[inline]
pub fn of(operation: AnyRequest) -> Result<Handle, Failure> {
    let beside = match &operation {
        AnyRequest::Other(other) => other
            .partitions()
            .map_or(Beside::Nothing, Beside::Partitions),
        _ => Beside::Nothing,
    };
    insert(operation, beside)
}

/// Gives a send a handle.
#[inline]
pub fn of_send(operation: AnyRequest) -> Result<Handle, Failure> {
    match operation {
        AnyRequest::Over(_) => Ok(SENT),
        _ => of(operation),
    }
}

/// Gives a generalized request a handle; `signal` is set by MPI_Grequest_complete.
pub fn of_generalized(operation: AnyRequest, signal: Arc<AtomicBool>) -> Result<Handle, Failure> {
    insert(operation, Beside::Signal(signal))
}

#[inline]
fn insert(operation: AnyRequest, beside: Beside) -> Result<Handle, Failure> {
    slab().insert(operation, beside).ok_or_else(full)
}

#[cold]
fn full() -> Failure {
    let text = format!("{REQUESTS_MAX} requests exist already; complete some first");
    Failure::new(MPI_ERR_OTHER, text)
}

/// An operation that a call works on. It goes back to its place when this is dropped, unless it was
/// concluded and is over for good.
#[derive(Debug)]
pub struct Taken {
    handle: Handle,
    /// Always there until the drop.
    operation: Option<AnyRequest>,
    is_gone: bool,
}

/// Takes out the operation behind a handle; none for MPI_REQUEST_NULL.
#[inline]
pub fn take(handle: Handle) -> Result<Option<Taken>, Failure> {
    take_by(handle, |handle| slab().take(handle))
}

#[inline]
fn take_by(
    handle: Handle,
    take: impl FnOnce(Handle) -> Result<AnyRequest, Failure>,
) -> Result<Option<Taken>, Failure> {
    if handle == MPI_REQUEST_NULL {
        return Ok(None);
    }
    let operation = match handle {
        SENT => AnyRequest::Over(Report::EMPTY),
        _ => take(handle)?,
    };
    Ok(Some(Taken {
        handle,
        operation: Some(operation),
        is_gone: false,
    }))
}

/// A receive into one block, taken for good: its request is gone.
pub type Simple = (usize, Arc<Comm>, RequestId);

/// Takes all requests for good if each is null, a send that is over, or a receive into one block.
/// False, and nothing is taken, if one is anything else. What is to be waited for goes into
/// `messages`, with its place.
#[inline]
pub fn take_simple(handles: &mut [Handle], messages: &mut Vec<Simple>) -> bool {
    if handles
        .iter()
        .all(|&handle| handle == SENT || handle == MPI_REQUEST_NULL)
    {
        handles.fill(MPI_REQUEST_NULL);
        return true;
    }
    let mut slab = slab();
    let is_simple = |&handle: &Handle| {
        handle == SENT
            || handle == MPI_REQUEST_NULL
            || slab
                .index(handle)
                .is_some_and(|index| slab.slots[index].content == Content::Receive)
    };
    if !handles.iter().all(is_simple) {
        return false;
    }
    messages.reserve(handles.len());
    for (index, handle) in handles.iter_mut().enumerate() {
        // A handle that is there twice is gone the second time, and then there is nothing to wait
        // for.
        if *handle != SENT
            && *handle != MPI_REQUEST_NULL
            && let Some(place) = slab.index(*handle)
            && let Some(comm) = slab.slots[place].comm.take()
        {
            let id = slab.slots[place].id;
            slab.release(*handle);
            messages.push((index, comm, id));
        }
        *handle = MPI_REQUEST_NULL;
    }
    true
}

/// The requests of a call on several, taken out: they go back when this is dropped, except those
/// that were concluded for good.
#[derive(Debug)]
pub struct All {
    taken: Vec<Option<Taken>>,
    /// Turns and places of those that are ready.
    ready: Vec<(u64, usize)>,
}

/// What an [`All`] leaves for the next one of its thread, so that no call has to make it.
type Room = (Vec<Option<Taken>>, Vec<(u64, usize)>);

thread_local! {
    static ROOM: Cell<Room> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// Takes out all of them; an error names the first that is none, and then nothing is taken.
pub fn take_all(handles: &[Handle]) -> Result<All, Failure> {
    let (taken, ready) = ROOM.take();
    let mut all = All { taken, ready };
    match all.take(handles) {
        None => Ok(all),
        Some((index, failure)) => {
            let entry = Entry("array_of_requests", index);
            let text = format!("{entry}: {}", failure.text());
            Err(Failure::new(failure.code(), text))
        }
    }
}

impl All {
    /// Takes them out under one hold of the lock; which one is none, and why.
    fn take(&mut self, handles: &[Handle]) -> Option<(usize, Failure)> {
        let mut slab = slab();
        for (index, &handle) in handles.iter().enumerate() {
            match take_by(handle, |handle| slab.take(handle)) {
                Ok(taken) => self.taken.push(taken),
                Err(failure) => return Some((index, failure)),
            }
        }
        None
    }

    /// Whether there is one that a call can complete.
    pub fn is_any_active(&self) -> bool {
        self.taken.iter().any(is_active)
    }

    /// Those that a call can complete, with their places.
    pub fn active(&mut self) -> impl Iterator<Item = (usize, &mut Taken)> {
        let taken = self.taken.iter_mut().enumerate();
        taken
            .filter(|(_, taken)| is_active(taken))
            .filter_map(|(index, taken)| Some((index, taken.as_mut()?)))
    }

    /// The places of null and inactive ones, which are complete at once and have an empty status.
    pub fn inactive(&self) -> impl Iterator<Item = usize> {
        let taken = self.taken.iter().enumerate();
        taken.filter_map(|(index, taken)| (!is_active(taken)).then_some(index))
    }

    /// The request at a place that is active.
    pub fn at(&mut self, index: usize) -> &mut Taken {
        self.taken[index]
            .as_mut()
            .expect("a place that a look found has a request")
    }

    /// Looks which are ready now and puts their places in the order in which they are to be handed
    /// out; tells how many.
    pub fn find_ready(&mut self) -> usize {
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        look_at(self, |index, turn| ready.push((turn, index)));
        ready.sort_unstable();
        self.ready = ready;
        self.ready.len()
    }

    /// The places that [`All::find_ready`] found, by their number.
    pub fn ready(&self, number: usize) -> usize {
        self.ready[number].1
    }
}

fn is_active(taken: &Option<Taken>) -> bool {
    taken.as_ref().is_some_and(Taken::is_active)
}

impl RequestList for All {
    fn each(&self, visit: &mut dyn FnMut(usize, &AnyRequest)) {
        for (index, taken) in self.taken.iter().enumerate() {
            if let Some(operation) = taken.as_ref().and_then(|taken| taken.operation.as_ref())
                && operation.is_active()
            {
                visit(index, operation);
            }
        }
    }

    fn each_mut(&mut self, visit: &mut dyn FnMut(usize, &mut AnyRequest)) {
        self.active()
            .for_each(|(index, taken)| visit(index, taken.operation()));
    }
}

impl Drop for All {
    fn drop(&mut self) {
        let mut slab = slab();
        self.taken
            .iter_mut()
            .flatten()
            .for_each(|taken| taken.settle(&mut slab));
        drop(slab);
        // Outside the lock: what the operations held may be much.
        self.taken.clear();
        let taken = std::mem::take(&mut self.taken);
        ROOM.set((taken, std::mem::take(&mut self.ready)));
    }
}

impl Taken {
    /// The operation.
    #[inline]
    pub fn operation(&mut self) -> &mut AnyRequest {
        self.operation.as_mut().expect("it is there until the drop")
    }

    /// Whether it has been begun and not concluded.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.operation.as_ref().is_some_and(AnyRequest::is_active)
    }

    /// Concludes an operation that is ready: the outcome, and what the program's handle is from now
    /// on.
    #[inline]
    pub fn conclude(&mut self) -> (Result<Report, Failure>, Handle) {
        self.end(AnyRequest::conclude)
    }

    /// Waits for the operation and concludes it.
    #[inline]
    pub fn wait(&mut self) -> (Result<Report, Failure>, Handle) {
        self.end(AnyRequest::wait)
    }

    #[inline]
    fn end(
        &mut self,
        end: impl FnOnce(&mut AnyRequest) -> Result<Report, ErrorKind>,
    ) -> (Result<Report, Failure>, Handle) {
        let operation = self.operation();
        let outcome = end(operation);
        let is_persistent = operation.is_persistent();
        let outcome = outcome.map_err(|kind| failed(kind, operation.comm()));
        if is_persistent {
            return (outcome, self.handle);
        }
        self.is_gone = true;
        (outcome, MPI_REQUEST_NULL)
    }

    /// Gives the request up (MPI_Request_free).
    pub fn free(mut self) {
        self.is_gone = true;
        if let Some(operation) = self.operation.take() {
            operation.detach();
        }
    }

    /// Puts the operation back, or gives its place up; it needs no place from now on.
    #[inline]
    fn settle(&mut self, slab: &mut Slab) {
        let handle = std::mem::replace(&mut self.handle, SENT);
        if handle == SENT {
            return;
        }
        match self.operation.take() {
            Some(operation) if !self.is_gone => slab.put_back(handle, operation),
            operation => {
                slab.release(handle);
                self.operation = operation;
            }
        }
    }
}

impl Drop for Taken {
    #[inline]
    fn drop(&mut self) {
        if self.handle != SENT {
            // What the operation held may be much: it is dropped after the lock.
            self.settle(&mut slab());
        }
    }
}

/// A failure of an operation: the error handler of its communicator, or of the window whose hidden
/// one that is, is responsible.
#[cold]
pub fn failed(kind: ErrorKind, comm: Option<&Arc<Comm>>) -> Failure {
    let failure = Failure::from(kind);
    let handle = match comm.map(|comm| comm.handle()) {
        Some(handle) if handle != 0 => Handle(handle as usize),
        _ => return failure,
    };
    // The own communicator of a window or of a file has the handle of that.
    if Window::table().get(handle).is_some() {
        failure.on(Subject::Win(handle))
    } else if File::table().get(handle).is_some() {
        failure.on(Subject::File(handle))
    } else {
        failure.on(Subject::Comm(handle))
    }
}

/// The partitions of a partitioned request.
pub fn partitions(handle: Handle) -> Result<Arc<dyn Partitions>, Failure> {
    let slab = slab();
    let Some(index) = slab.index(handle) else {
        return Err(no_request(handle));
    };
    match &slab.slots[index].beside {
        Beside::Partitions(partitions) => Ok(partitions.clone()),
        _ => {
            let text =
                format!("the request {handle} was not made by MPI_Psend_init or MPI_Precv_init");
            Err(Failure::new(MPI_ERR_REQUEST, text))
        }
    }
}

/// Notes the end of a generalized request.
pub fn signal(handle: Handle) -> Result<(), Failure> {
    let slab = slab();
    let Some(index) = slab.index(handle) else {
        return Err(no_request(handle));
    };
    match &slab.slots[index].beside {
        Beside::Signal(signal) => {
            signal.store(true, Ordering::Release);
            Ok(())
        }
        _ => {
            let text = format!("the request {handle} was not made by MPI_Grequest_start");
            Err(Failure::new(MPI_ERR_REQUEST, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over() -> AnyRequest {
        AnyRequest::Over(Report::NOBODY)
    }

    #[test]
    fn a_completed_request_is_told_from_its_successor() {
        let first = of(over()).unwrap();
        let (outcome, next) = take(first).unwrap().unwrap().wait();
        assert_eq!((outcome.unwrap(), next), (Report::NOBODY, MPI_REQUEST_NULL));
        let second = of(over()).unwrap();
        assert_ne!(first, second);
        assert_eq!(take(first).unwrap_err().code(), MPI_ERR_REQUEST);
        assert!(second.0 >= 4096 && second.0 <= i32::MAX as usize);
        take(second).unwrap().unwrap().free();
        assert!(
            take(second).is_err() && take(Handle(12345)).is_err() && take(MPI_COMM_WORLD).is_err()
        );
    }

    #[test]
    fn what_is_not_concluded_goes_back() {
        let handle = of(over()).unwrap();
        let taken = take(handle).unwrap().unwrap();
        assert_eq!(take(handle).unwrap_err().code(), MPI_ERR_REQUEST);
        drop(taken);
        take(handle).unwrap().unwrap().free();
    }

    #[test]
    fn sends_that_are_over_share_a_handle() {
        assert_eq!(of_send(over()).unwrap(), SENT);
        for _ in 0..2 {
            assert_eq!(take(SENT).unwrap().unwrap().wait().1, MPI_REQUEST_NULL);
        }
        assert!(take(MPI_REQUEST_NULL).unwrap().is_none());
        assert!(partitions(SENT).is_err() && signal(SENT).is_err());
    }
}
