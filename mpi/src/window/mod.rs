//! Windows: memory that other ranks read, write and accumulate into (MPI 5.0 chapter 12).
//!
//! A [`Window`] is made by all ranks of a communicator together (`make`) and has a hidden duplicate
//! of it, so that its messages meet no others. There are two ways to a target. *Direct*: its memory
//! is mapped here, and this rank copies and combines by itself; locks are words in memory that the
//! ranks of a host share (`control`). *By message*: requests travel to the target in batches
//! (`origin`), and its service (`target`), a background task, carries them out, whatever
//! the target's program does. Which way leads to a rank is decided when the window is made
//! (`memory`). What the two sides say to each other, and in which order requests are done, is
//! `oxmpi-windows`, which the simulator runs too.
//!
//! `operation` and `sync` are the calls of the program: they check arguments and epochs (`epoch`)
//! and places (`place`), and take one of the two ways. `at_once` is the shortest way for what is usual: a block in memory
//! that is mapped here. `accumulate` combines elements so that all ways are atomic against
//! each other.

mod accumulate;
mod at_once;
mod control;
mod details;
mod epoch;
mod layout;
mod lock;
mod make;
mod memory;
mod operation;
mod origin;
mod place;
mod request;
mod sync;
mod target;
mod word;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::communicator::Comm;
use crate::error::{ErrorKind, WindowError};
use crate::group::Group;
use crate::label::Label;
use crate::process::Task;
use oxmpi_datatypes::datatype::Datatype;
use oxmpi_engine::Condition;
use oxmpi_windows::lock::Told;

use epoch::Epoch;
use lock::HeldLocks;
use memory::{Core, Detached, Part};
use origin::Origin;
use target::Service;
use word::{Turns, Words};

pub use at_once::{Later, Transfer};
pub use details::HINTS;
pub use operation::Elements;
pub use oxmpi_windows::LockKind;

/// Which call made a window (MPI_WIN_CREATE_FLAVOR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// MPI_Win_create: memory of the program.
    Create,
    /// MPI_Win_allocate.
    Allocate,
    /// MPI_Win_create_dynamic: memory is attached later.
    Dynamic,
    /// MPI_Win_allocate_shared.
    Shared,
}

impl Flavor {
    /// The call that makes such windows.
    pub fn call(self) -> &'static str {
        match self {
            Flavor::Create => "MPI_Win_create",
            Flavor::Allocate => "MPI_Win_allocate",
            Flavor::Dynamic => "MPI_Win_create_dynamic",
            Flavor::Shared => "MPI_Win_allocate_shared",
        }
    }
}

/// What the program asserts in a synchronisation (the MPI_MODE_ constants).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assertion {
    /// MPI_MODE_NOCHECK: the other side has done its part already.
    pub no_check: bool,
    /// MPI_MODE_NOSTORE: the local window was not written by local stores.
    pub no_store: bool,
    /// MPI_MODE_NOPUT: the local window will not be written by others.
    pub no_put: bool,
    /// MPI_MODE_NOPRECEDE: this fence ends no epoch with accesses of this rank.
    pub no_precede: bool,
    /// MPI_MODE_NOSUCCEED: this fence begins no epoch.
    pub no_succeed: bool,
}

/// What an operation touches at the target.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The rank; none for MPI_PROC_NULL.
    pub rank: Option<u32>,
    /// In units of the target's window; an address in a dynamic one.
    pub displacement: i64,
    /// Elements.
    pub count: u64,
    /// Their type.
    pub datatype: &'a Datatype,
}

/// A rank's part of a window, as [`Window::shared_query`] tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedPart {
    /// Where it lies in this process; null if it is not mapped here.
    pub base: *mut u8,
    /// Its size.
    pub bytes: u64,
    /// Its displacement unit.
    pub unit: u32,
}

/// A window.
pub struct Window {
    core: Arc<Core>,
    /// Those of the core, one step nearer.
    parts: Arc<[Part]>,
    epoch: Epoch,
    origin: Arc<Origin>,
    /// Serves requests of ranks to which this rank's memory is not mapped; none if all map it.
    service: Option<Arc<Task<Service>>>,
    /// The locks that this process holds by their words.
    held: HeldLocks,
    /// The deaths of holders that were told to the program.
    told: Mutex<Told>,
    /// How often an exposure, and an epoch of accesses, was begun with each rank.
    turns: Turns,
    /// The words that end an exposure.
    awaited: Mutex<Words>,
    /// A meeting of all ranks has failed.
    is_parted: AtomicBool,
    label: Label,
    /// The number by which the layer above knows it.
    handle: AtomicU64,
}

impl Window {
    /// The duplicate of the communicator that its messages travel on.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.core.comm
    }

    /// Its ranks (MPI_Win_get_group).
    pub fn group(&self) -> &Group {
        self.core.comm.group()
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.core.comm.rank
    }

    /// Its size in ranks.
    pub fn size(&self) -> u32 {
        self.core.comm.size
    }

    /// Which call made it.
    pub fn flavor(&self) -> Flavor {
        self.core.flavor
    }

    /// This rank's memory: the base (null in a dynamic window; MPI_WIN_BASE).
    pub fn base(&self) -> *mut u8 {
        self.core.own_base()
    }

    /// The size of this rank's memory (MPI_WIN_SIZE).
    pub fn bytes(&self) -> u64 {
        self.core.part(self.rank()).bytes
    }

    /// This rank's displacement unit (MPI_WIN_DISP_UNIT).
    pub fn unit(&self) -> u32 {
        self.core.part(self.rank()).unit
    }

    /// The number by which the layer above knows it: callbacks are called with it.
    pub fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Gives it a number.
    pub fn set_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Where another rank's memory lies in this process (MPI_Win_shared_query). Without a rank: the
    /// first one that has some. A rank without memory, or whose memory is not shared with this one,
    /// has the null base and size 0.
    pub fn shared_query(&self, rank: Option<u32>) -> Result<SharedPart, ErrorKind> {
        if let Some(rank) = rank {
            self.check_rank(rank)?;
        }
        Ok(self.core.shared_part(rank))
    }

    /// Adds memory to a dynamic window.
    ///
    /// # Safety
    /// The memory must stay valid until it is detached or the window freed.
    pub unsafe fn attach(&self, base: *mut u8, bytes: u64) -> Result<(), ErrorKind> {
        self.check_dynamic("MPI_Win_attach")?;
        Ok(self.core.attached.add(base as u64, bytes)?)
    }

    /// Takes memory out of a dynamic window. It is an error, and the memory stays attached, while
    /// data of others is on its way into it; data that leaves it is waited for, because whoever
    /// reads it may have it before this process has noticed.
    pub fn detach(&self, base: *const u8) -> Result<(), ErrorKind> {
        self.check_dynamic("MPI_Win_detach")?;
        let mut detached = Detached::new(&self.core.attached, base as u64);
        if !detached.is_met() {
            self.core.engine().wait_until(&mut detached, &[])?;
        }
        Ok(detached.outcome()?)
    }

    /// Whether this process has locked a rank exclusively.
    pub fn is_locked_alone(&self, rank: u32) -> bool {
        self.epoch.is_exclusive(rank)
    }

    fn check_dynamic(&self, call: &'static str) -> Result<(), WindowError> {
        match self.core.flavor {
            Flavor::Dynamic => Ok(()),
            other => Err(WindowError::Flavor {
                call,
                needed: Flavor::Dynamic.call(),
                found: other.call(),
            }),
        }
    }

    #[inline]
    fn check_rank(&self, rank: u32) -> Result<(), WindowError> {
        let size = self.size();
        if rank < size {
            return Ok(());
        }
        Err(WindowError::Rank { rank, size })
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("flavor", &self.core.flavor)
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
