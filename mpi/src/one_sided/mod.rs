//! One-sided communication for Rust programs: windows of a type, with epochs as scopes.
//!
//! A [`Window`] is a slice of `T` on every rank of a communicator. It has no method that accesses a
//! rank's memory: those belong to what opens an epoch, so an access outside of one does not
//! compile. There are two kinds.
//!
//! *Locks* are guards ([`Window::lock`], [`Window::lock_shared`]): a guard accesses one rank, its
//! calls return when the caller's memory can be used again, and dropping it unlocks. *Scopes*
//! ([`Window::fence`], [`Window::access`], [`Window::lock_all`]) are closures: operations begun in
//! them borrow their memory until the scope ends and complete there, so that many travel at once.
//!
//! What makes direct access to the memory sound ([`ExclusiveLock::as_mut_slice`]): whoever accesses
//! a rank's memory holds that rank's lock, shared or exclusive, or is in an epoch that the rank
//! itself has opened, by a fence or by [`Window::expose`]. Fences are refused to a process that has
//! a lock, locks to one that is between fences, and exposing holds the rank's own lock shared. So
//! nobody else accesses memory that is locked exclusively, whatever other safe programs do.

mod dynamic;
mod element;
mod epoch;
mod lock;
mod make;
mod operation;
mod place;
mod request;

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, WindowError};
use crate::process::Process;
use crate::thread::{Funneled, Level};
use crate::window::Window as Untyped;
use oxmpi_datatypes::plain::Plain;

pub use dynamic::Attached;
pub use element::{Accumulation, Element, Fetching, Integer, NoOp, Replace};
pub use epoch::{Epoch, Passive};
pub use lock::{ExclusiveLock, Lock};
pub use place::At;
pub use request::Transfer;

/// A slice of `T` on every rank of a communicator, which the other ranks write, read and combine
/// into.
///
/// ```no_run
/// use oxmpi::op::Sum;
///
/// let mpi = oxmpi::init()?;
/// let world = mpi.world();
/// let window = world.window::<u64>(16)?;
/// // Everybody adds to the first number of rank 0, whatever rank 0 does meanwhile.
/// let place = window.lock_shared(0)?;
/// let before = place.fetch_and_op(1, 0, Sum)?;
/// place.unlock()?;
/// println!("{before} ranks came before rank {}", world.rank());
/// window.free()
/// # ; Ok::<(), oxmpi::Error>(())
/// ```
///
/// An access outside of an epoch does not compile, since only epochs have the methods:
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let window = world.window::<u64>(16).unwrap();
/// window.put(&[1], 0, 0);
/// ```
///
/// nor does one after the epoch:
///
/// ```compile_fail
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// let window = world.window::<u64>(16).unwrap();
/// let lock = window.lock(0).unwrap();
/// lock.unlock().unwrap();
/// lock.put(&[1], 0);
/// ```
///
/// A window is freed by all ranks together ([`Window::free`]). One that is only dropped goes on
/// serving the other ranks, and keeps its memory, until this process finalises.
pub struct Window<'mpi, T: Plain, L: Level = Funneled> {
    process: &'mpi Process,
    window: ManuallyDrop<Untyped>,
    /// Memory of the program that the window was made of, or that was attached to it.
    memory: ManuallyDrop<Mutex<Vec<Vec<T>>>>,
    state: Mutex<State>,
    level: PhantomData<L::Handle>,
}

/// Which epochs this process has opened.
#[derive(Debug, Default)]
struct State {
    /// It is between two fences, or a fence has failed.
    fenced: bool,
    /// Its memory is exposed: it holds its own lock.
    exposed: bool,
    /// Locks it holds for the program.
    locks: u32,
}

impl State {
    /// What keeps an epoch of another kind from beginning.
    fn obstacle(&self) -> Option<&'static str> {
        match self {
            state if state.fenced => Some("this process is between two fences"),
            state if state.exposed => Some("this process exposes its memory"),
            _ => None,
        }
    }
}

impl<T: Plain, L: Level> Window<'_, T, L> {
    /// This process's rank in the window.
    pub fn rank(&self) -> u32 {
        self.window.rank()
    }

    /// The number of its ranks.
    pub fn size(&self) -> u32 {
        self.window.size()
    }

    /// How many elements this rank's part has.
    pub fn length(&self) -> usize {
        self.window.bytes() as usize / size_of::<T>()
    }

    /// Whether this process reaches a rank's memory by itself, without messages.
    pub fn is_mapped(&self, rank: u32) -> crate::Result<bool> {
        let part = self.window.shared_query(Some(rank));
        let part = part.map_err(|kind| self.fail("is_mapped", kind))?;
        Ok(!part.base.is_null() || rank == self.rank())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that this process begins a lock, which it cannot between fences.
    fn begin_lock(&self, call: &'static str) -> crate::Result<()> {
        let mut state = self.state();
        self.refuse(call, state.obstacle())?;
        state.locks += 1;
        Ok(())
    }

    fn refuse(&self, call: &'static str, obstacle: Option<&'static str>) -> crate::Result<()> {
        obstacle.map_or(Ok(()), |state| {
            Err(self.fail(call, WindowError::Epoch { call, state }))
        })
    }

    /// What keeps an epoch from beginning that concerns this rank's own memory.
    fn own_obstacle(state: &State) -> Option<&'static str> {
        let held = (state.locks > 0).then_some("this process holds a lock of the window");
        state.obstacle().or(held)
    }

    fn end_lock(&self) {
        self.state().locks -= 1;
    }

    /// Completes an error with the call and this process.
    #[cold]
    fn fail(&self, call: &'static str, kind: impl Into<ErrorKind>) -> Error {
        let host = self.process.engine.host();
        kind.into().at(call, self.rank(), self.size(), host)
    }
}

impl<T: Plain, L: Level> fmt::Debug for Window<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("length", &self.length())
            .finish_non_exhaustive()
    }
}
