//! Scopes: operations that go on while the program computes, and cannot outlive their buffers.
//!
//! A buffer lent to the engine must stay in place until the engine is done with it. A scope
//! guarantees that the way `std::thread::scope` does: whatever is started inside borrows its buffer
//! for the whole scope, and the scope does not end before all of it has ended, forgotten requests
//! included. So requests may be dropped, leaked or sent to other threads without danger.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use oxmpi_engine::Request as EngineRequest;

use crate::any_request::UnderWay;
use crate::error::{Error, ErrorKind, Result};
use crate::process::Process;

/// Where operations may be started; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// Room for a few operations without allocating.
    first: [Slot; FIRST_SLOTS],
    /// Boxes, because slots must keep their addresses while the list grows.
    more: RefCell<Vec<Box<[Slot]>>>,
    /// The slot to try next.
    next: Cell<usize>,
    /// What is not one message of one block: collectives, views.
    others: RefCell<Vec<UnderWay>>,
    /// Persistent ones, started or not.
    lasting: RefCell<Vec<UnderWay>>,
    owner: Cell<Option<&'scope Process>>,
    /// Both lifetimes must be exactly the ones of the call (invariant), as in std's scope.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Slots that every scope has: cheap to make, enough for an exchange with a few neighbours.
const FIRST_SLOTS: usize = 8;

/// Slots that are added at a time: the window of a message-rate test.
const MORE_SLOTS: usize = 64;

/// Slots looked at before new ones are added. Operations mostly end in the order they began, so the
/// oldest slot is nearly always free; a few that last long are stepped over.
const LOOKS_MAX: usize = 4;

/// A place where the scope remembers an operation under way.
struct Slot {
    /// Cleared by whoever learns that the operation is over. The request in the slot is read
    /// only by the scope's own thread, so the flag orders nothing but itself.
    pending: AtomicBool,
    request: Cell<Option<EngineRequest>>,
}

impl Slot {
    fn empty() -> Slot {
        Slot {
            pending: AtomicBool::new(false),
            request: Cell::new(None),
        }
    }
}

/// The flag of operations that were over before they could be remembered.
static OVER: AtomicBool = AtomicBool::new(false);

/// Runs `body`, in which operations can be started that use buffers from outside it:
///
/// ```no_run
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let outgoing = [1.0; 1000];
/// let mut incoming = [0.0; 1000];
/// let peer = 1 - world.rank();
/// oxmpi::scope(|s| {
///     let receive = world.irecv(s, &mut incoming, peer, 0)?;
///     world.isend(s, &outgoing, peer, 0)?;
///     // compute something else here
///     receive.wait()
/// })?;
/// println!("{}", incoming[0]);
/// # Ok::<(), oxmpi::Error>(())
/// ```
///
/// When `body` returns, the scope waits for what was started and not waited for. When `body` fails
/// or panics, it takes back what has not met its partner yet and waits for the rest.
///
/// A buffer that is still in use cannot be touched, freed or moved:
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// oxmpi::scope(|s| {
///     let mut buffer = [0u8; 10];       // would be gone before the scope has waited
///     world.irecv(s, &mut buffer, 0, 0)?.wait()
/// });
/// ```
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let mut buffer = [0u8; 10];
/// oxmpi::scope(|s| {
///     let request = world.irecv(s, &mut buffer, 0, 0)?;
///     buffer[0] = 1;                    // the engine may be writing to it
///     request.wait()
/// });
/// ```
///
/// Nor can a communicator be dropped, or `Mpi` finalised, before the scope has ended:
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let mut buffer = [0u8; 10];
/// oxmpi::scope(|s| {
///     let request = world.irecv(s, &mut buffer, 0, 0)?;
///     drop(mpi);
///     request.wait()
/// });
/// ```
pub fn scope<'env, F, R>(body: F) -> Result<R>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
{
    let scope = Scope {
        first: std::array::from_fn(|_| Slot::empty()),
        more: RefCell::new(Vec::new()),
        next: Cell::new(0),
        others: RefCell::default(),
        lasting: RefCell::default(),
        owner: Cell::new(None),
        scope: PhantomData,
        env: PhantomData,
    };
    /// Runs also when the body panics.
    struct End<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);
    impl Drop for End<'_, '_, '_> {
        fn drop(&mut self) {
            self.0.finish(true);
        }
    }
    let end = End(&scope);
    let result = body(&scope);
    std::mem::forget(end);
    match (scope.finish(result.is_err()), result) {
        (_, Err(error)) => Err(error),
        (Some(error), Ok(_)) => Err(error),
        (None, Ok(value)) => Ok(value),
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Remembers an operation; the flag is to be cleared by whoever learns that it is over.
    #[inline]
    pub(super) fn remember(
        &'scope self,
        process: &'scope Process,
        request: EngineRequest,
    ) -> &'scope AtomicBool {
        // Most short sends are over in the call that began them.
        if matches!(request, EngineRequest::Over(_)) {
            return &OVER;
        }
        self.owner.set(Some(process));
        let slot = self.free_slot();
        slot.request.set(Some(request));
        slot.pending.store(true, Ordering::Relaxed);
        &slot.pending
    }

    /// Remembers an operation of another kind than a message of one block.
    pub(crate) fn remember_other(&'scope self, process: &'scope Process, operation: &UnderWay) {
        self.owner.set(Some(process));
        let mut others = self.others.borrow_mut();
        if others.len() == others.capacity() {
            others.retain(|operation| !operation.is_idle());
        }
        others.push(operation.clone());
    }

    /// Remembers an operation that is started again and again.
    pub(crate) fn remember_lasting(&'scope self, process: &'scope Process, operation: &UnderWay) {
        self.owner.set(Some(process));
        self.lasting.borrow_mut().push(operation.clone());
    }

    #[inline]
    fn free_slot(&'scope self) -> &'scope Slot {
        let slots = FIRST_SLOTS + MORE_SLOTS * self.more.borrow().len();
        let mut index = self.next.get();
        for _ in 0..LOOKS_MAX {
            let slot = self.slot(index);
            let after = if index + 1 == slots { 0 } else { index + 1 };
            if !slot.pending.load(Ordering::Relaxed) {
                self.next.set(after);
                return slot;
            }
            index = after;
        }
        let more = std::iter::repeat_with(Slot::empty).take(MORE_SLOTS);
        self.more.borrow_mut().push(more.collect());
        self.next.set(slots + 1);
        self.slot(slots)
    }

    #[inline]
    fn slot(&'scope self, index: usize) -> &'scope Slot {
        if index < FIRST_SLOTS {
            return &self.first[index];
        }
        let (index, more) = (index - FIRST_SLOTS, self.more.borrow());
        let slot: *const Slot = &more[index / MORE_SLOTS][index % MORE_SLOTS];
        // SAFETY: boxes are only ever added, so the slot keeps its address until the scope is
        // dropped, and nobody holds a mutable reference into a box.
        unsafe { &*slot }
    }
}

impl Scope<'_, '_> {
    /// Waits for everything under way, after an attempt to take it back when `give_up`. Tells the
    /// first error.
    fn finish(&self, give_up: bool) -> Option<Error> {
        let process = self.owner.get()?;
        let more = self.more.borrow();
        let all = self
            .first
            .iter()
            .chain(more.iter().flat_map(|slots| slots.iter()));
        let left: Vec<EngineRequest> = all
            .filter(|slot| slot.pending.swap(false, Ordering::Relaxed))
            .filter_map(|slot| slot.request.take())
            .collect();
        if give_up {
            left.iter()
                .for_each(|&request| process.engine.cancel(request));
        }
        let mut first = None;
        let mut note = |error: ErrorKind| {
            let (rank, size) = (process.engine.rank(), process.engine.size());
            first.get_or_insert_with(|| error.at("scope", rank, size, process.engine.host()));
        };
        for request in left {
            if let Err(error) = process.engine.wait(request) {
                note(ErrorKind::Engine(error));
            }
        }
        for operation in self.others.take().into_iter().chain(self.lasting.take()) {
            if give_up {
                operation.abandon();
            } else if let Err(error) = operation.wait() {
                note(error);
            }
        }
        first
    }
}

impl std::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
