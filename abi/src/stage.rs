//! Where the process stands: before initialisation, inside, or after finalisation; and the job it
//! has joined.
//!
//! The library is in use while the world is initialised or a session is open (MPI 5.0 §11.1): both
//! count as one user each. Entry points look at one word; `chapter::environment` and
//! `chapter::session` change it.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Once, RwLock};

use oxmpi_core::info::Environment;
use oxmpi_core::process::{Process, Threads};

use crate::constant::*;
use crate::failure::Failure;

static USERS: AtomicU32 = AtomicU32::new(0);
static WORLD: AtomicU8 = AtomicU8::new(World::Before as u8);
/// What PROCESS holds, for calls that cannot wait for its lock.
static CURRENT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Calls may overlap: set until a first user asks for a level at which they do not.
static OVERLAP: AtomicBool = AtomicBool::new(true);
static LEVEL_MAX: AtomicI32 = AtomicI32::new(MPI_THREAD_MULTIPLE);
static PROCESS: RwLock<Option<Arc<Process>>> = RwLock::new(None);

/// The life of MPI_COMM_WORLD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum World {
    /// MPI_Init was not called.
    Before = 0,
    /// It was, and MPI_Finalize was not.
    Inside = 1,
    /// MPI_Finalize was called; there is no way back.
    After = 2,
}

/// Whether functions that need the library may be called.
#[inline]
pub fn is_inside() -> bool {
    USERS.load(Ordering::Relaxed) != 0
}

/// Where MPI_COMM_WORLD is in its life.
pub fn world() -> World {
    match WORLD.load(Ordering::Acquire) {
        0 => World::Before,
        1 => World::Inside,
        _ => World::After,
    }
}

/// Changes where MPI_COMM_WORLD is; false if it was not at `from`.
pub fn move_world(from: World, to: World) -> bool {
    WORLD
        .compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire)
        .is_ok()
}

/// The world or a session begins to use the library.
fn begin_use() {
    USERS.fetch_add(1, Ordering::AcqRel);
}

/// The world or a session is over; true if it was the last user.
fn end_use() -> bool {
    USERS.fetch_sub(1, Ordering::AcqRel) == 1
}

/// The levels of thread support, in order.
pub const LEVELS: [i32; 4] = [
    MPI_THREAD_SINGLE,
    MPI_THREAD_FUNNELED,
    MPI_THREAD_SERIALIZED,
    MPI_THREAD_MULTIPLE,
];

/// The highest level that can be given: the first user decides whether the engine serves many
/// threads at once.
pub fn level_max() -> i32 {
    LEVEL_MAX.load(Ordering::Relaxed)
}

/// The world or a session begins: the process joins its job, if it has not. `level` is the level of
/// threads that is asked for.
pub fn join(level: i32) -> Result<Arc<Process>, Failure> {
    let mut slot = PROCESS
        .write()
        .expect("nothing panics while it holds this lock");
    let process = match &*slot {
        Some(process) => {
            process.resume();
            process.clone()
        }
        None => {
            let threads = match level {
                MPI_THREAD_MULTIPLE => Threads::Many,
                _ => Threads::One,
            };
            // SAFETY: below MPI_THREAD_MULTIPLE the program has promised that calls do not overlap
            // (MPI 5.0 §11.6).
            let process = unsafe { Process::join(threads)? };
            let level_max = match threads {
                Threads::Many => MPI_THREAD_MULTIPLE,
                Threads::One => MPI_THREAD_SERIALIZED,
            };
            LEVEL_MAX.store(level_max, Ordering::Relaxed);
            OVERLAP.store(threads == Threads::Many, Ordering::Relaxed);
            // The library stays until the process ends: calls need not count references to it.
            CURRENT.store(Arc::as_ptr(&process).cast_mut(), Ordering::Release);
            slot.insert(process).clone()
        }
    };
    begin_use();
    Ok(process)
}

/// The world or a session is over. The process stays in its job, because another session may begin,
/// and leaves it when it ends.
pub fn leave() {
    // Nobody begins in between: the lock is the one that `join` takes.
    let slot = PROCESS
        .write()
        .expect("nothing panics while it holds this lock");
    if !end_use() {
        return;
    }
    if let Some(process) = &*slot {
        process.pause();
    }
    drop(slot);
    static AT_EXIT: Once = Once::new();
    // SAFETY: the function is one, and takes no arguments.
    AT_EXIT.call_once(|| unsafe {
        libc::atexit(leave_at_exit);
    });
}

extern "C" fn leave_at_exit() {
    // A session that is open when the process ends was not finalised: the others are to see that.
    if is_inside() {
        return;
    }
    // Whoever holds the lock now is a thread that will never go on.
    if let Ok(process) = PROCESS.try_read()
        && let Some(process) = &*process
    {
        process.finalize();
    }
}

/// What is known of how this process was started. It is the same before the process joins its job
/// as afterwards, where the launcher has told the number of processes by a variable.
pub fn environment() -> Environment {
    let mut environment = Environment::of_process();
    if let Some(process) = process() {
        environment.maxprocs = Some(process.size());
        environment.host = Some(process.host().to_owned());
    }
    let errhandler = oxmpi_settings::INITIAL_ERRHANDLER.read();
    if errhandler.is_set() && errhandler.check().is_ok() {
        environment.initial_errhandler = errhandler.text();
    }
    environment.soft = environment.maxprocs.map(|count| count.to_string());
    environment
}

/// The process as a member of its job; an error before it is one.
pub fn joined() -> Result<Arc<Process>, Failure> {
    process().ok_or_else(|| Failure::new(MPI_ERR_OTHER, "the library is not initialised"))
}

/// Whether several threads may be inside the library at once. The program has promised that they
/// are not, below MPI_THREAD_MULTIPLE (MPI 5.0 §11.6).
#[inline]
pub fn do_calls_overlap() -> bool {
    OVERLAP.load(Ordering::Relaxed)
}

/// The process as a member of its job, without counting a reference; none before it is one.
#[inline]
pub fn current() -> Option<&'static Process> {
    // Pairs with the release in `join`.
    let process = CURRENT.load(Ordering::Acquire);
    // SAFETY: null, or the process that PROCESS keeps until the end.
    unsafe { process.as_ref() }
}

/// Takes what has arrived, so that requests are seen as they are.
#[inline]
pub fn progress() {
    if let Some(process) = current() {
        process.progress();
    }
}

/// The process as a member of its job, once it is one.
pub fn process() -> Option<Arc<Process>> {
    PROCESS
        .read()
        .expect("nothing panics while it holds this lock")
        .clone()
}
