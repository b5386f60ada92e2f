//! `init`: the process joins its job; dropping `Mpi` leaves it.
//!
//! Everything a program can hold (communicators, requests, messages, port buffers) borrows from
//! `Mpi`, so nothing outlives finalisation. A process initialises once, as MPI 5.0 §11.2 has it;
//! the launcher's environment tells who it is, and without a launcher it is the only rank.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use crate::communicator::{Comm, Communicator};
use crate::error::{ErrorKind, Result};
use crate::process::{Process, Threads};
use crate::thread::{Funneled, Level};

/// The life of the process as far as this library is concerned.
static STAGE: AtomicU8 = AtomicU8::new(BEFORE);
/// Not initialised yet.
const BEFORE: u8 = 0;
/// Between `init` and the drop of `Mpi`.
const INSIDE: u8 = 1;
/// Finalised; there is no way back.
const AFTER: u8 = 2;

/// The process's membership in its job. Dropping it finalises.
pub struct Mpi<L: Level = Funneled> {
    process: Arc<Process>,
    world: Arc<Comm>,
    this: Arc<Comm>,
    level: PhantomData<L::Owner>,
}

/// Joins the job at the level [`Funneled`]: the calling thread makes all calls.
///
/// ```no_run
/// let mpi = oxmpi::init()?;
/// let world = mpi.world();
/// println!("rank {} of {}", world.rank(), world.size());
/// # Ok::<(), oxmpi::Error>(())
/// ```
pub fn init() -> Result<Mpi> {
    init_with()
}

/// Joins the job at the thread level `L`.
pub fn init_with<L: Level>() -> Result<Mpi<L>> {
    match STAGE.compare_exchange(BEFORE, INSIDE, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {}
        Err(INSIDE) => return Err(ErrorKind::AlreadyInitialised.before_start("init")),
        Err(_) => return Err(ErrorKind::AlreadyFinalised.before_start("init")),
    }
    join().inspect_err(|_| STAGE.store(BEFORE, Ordering::Release))
}

/// The process, once it has joined its job, and who uses it: an `Mpi`, and sessions.
struct Joined {
    process: Option<Arc<Process>>,
    users: u32,
    /// It has finalised.
    is_over: bool,
}

static JOINED: Mutex<Joined> = Mutex::new(Joined {
    process: None,
    users: 0,
    is_over: false,
});

fn joined() -> MutexGuard<'static, Joined> {
    JOINED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An `Mpi` or a session begins: the process joins its job, if it has not.
pub(crate) fn enter(threads: Threads, call: &'static str) -> Result<Arc<Process>> {
    let mut joined = joined();
    let process = match &joined.process {
        Some(process) if threads == Threads::Many && !process.is_concurrent() => {
            return Err(ErrorKind::OneThread.before_start(call));
        }
        Some(process) => {
            if joined.users == 0 {
                process.resume();
            }
            process.clone()
        }
        None if joined.is_over => {
            return Err(ErrorKind::AlreadyFinalised.before_start(call));
        }
        None => {
            // SAFETY: below the level MULTIPLE the level's types keep everything that calls the
            // engine on one thread at a time; sessions ask for many threads.
            let process = unsafe { Process::join(threads)? };
            start_clock();
            joined.process = Some(process.clone());
            process
        }
    };
    joined.users += 1;
    Ok(process)
}

/// An `Mpi` or a session ends. After the last session the process stays in its job, because another
/// may begin, and leaves it when it exits; an `Mpi` alone ends for good.
pub(crate) fn leave(process: &Process, is_world: bool) {
    if std::thread::panicking() {
        // A rank that fails must not look finished to the others: they learn of its death when the
        // process ends, and name it.
        return;
    }
    let mut joined = joined();
    joined.users -= 1;
    if joined.users > 0 {
        return;
    }
    if is_world {
        process.finalize();
        (joined.process, joined.is_over) = (None, true);
        return;
    }
    process.pause();
    static AT_EXIT: Once = Once::new();
    // SAFETY: the function is one, and takes no arguments.
    AT_EXIT.call_once(|| unsafe {
        libc::atexit(leave_at_exit);
    });
}

extern "C" fn leave_at_exit() {
    // Whoever holds the lock now is a thread that will never go on. A session that is open when the
    // process ends was not closed: the others are to see that.
    if let Ok(joined) = JOINED.try_lock()
        && joined.users == 0
        && let Some(process) = &joined.process
    {
        process.finalize();
    }
}

fn join<L: Level>() -> Result<Mpi<L>> {
    let threads = if L::CONCURRENT {
        Threads::Many
    } else {
        Threads::One
    };
    let process = enter(threads, "init")?;
    Ok(Mpi {
        world: Arc::new(process.world()),
        this: Arc::new(process.this()),
        process,
        level: PhantomData,
    })
}

impl<L: Level> Mpi<L> {
    /// All ranks of the job.
    pub fn world(&self) -> Communicator<'_, L> {
        Communicator::new(&self.process, self.world.clone())
    }

    /// This process alone (MPI_COMM_SELF).
    pub fn this(&self) -> Communicator<'_, L> {
        Communicator::new(&self.process, self.this.clone())
    }

    /// The number of the command line's program that this process executes, from 0 (MPI_APPNUM): of
    /// `mpiexec -n 1 a : -n 3 b`, the ranks of `b` have 1.
    pub fn program(&self) -> u32 {
        self.process.program()
    }

    /// The name of the machine this process runs on.
    pub fn host(&self) -> &str {
        self.process.engine.host()
    }

    /// How the ranks talk, for people: "ports, single copy".
    pub fn transport(&self) -> impl fmt::Display + use<L> {
        self.process.engine.transport()
    }

    /// What this process has learned about copying on its machine, and the sizes that steer it: name
    /// and value of each.
    pub fn learned(&self) -> [(&'static str, String); 4] {
        self.process.engine.learned().rows()
    }

    /// What the network device of this process has counted; `None` in a job on one host.
    pub fn network_counters(&self) -> Option<oxmpi_engine::NetworkCounters> {
        self.process.engine.network_counters()
    }

    /// Ends the whole job now with this exit code; the launcher reports which rank asked for it.
    pub fn abort(&self, code: i32) -> ! {
        self.process.set_abort(code);
        std::process::exit(code)
    }
}

impl<L: Level> Drop for Mpi<L> {
    fn drop(&mut self) {
        leave(&self.process, true);
        STAGE.store(AFTER, Ordering::Release);
    }
}

impl<L: Level> fmt::Debug for Mpi<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi")
            .field("rank", &self.process.engine.rank())
            .field("size", &self.process.engine.size())
            .field("level", &L::NAME)
            .finish()
    }
}

/// The clock when this process initialised, or was first asked, in nanoseconds; 0 before.
static START_NS: AtomicI64 = AtomicI64::new(0);

fn start_clock() -> i64 {
    // Whoever comes first sets it, and all others use what is there.
    let now = clock_ns();
    let set = START_NS.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    set.map_or_else(|earlier| earlier, |_| now)
}

/// The system's clock that never runs backwards. It is asked directly: a measuring program reads it
/// often, and conversions would cost as much as the reading.
#[inline]
fn clock_ns() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the address is that of a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Seconds since this process initialised, by a clock that never runs backwards.
#[inline]
pub fn wtime() -> f64 {
    let start = match START_NS.load(Ordering::Relaxed) {
        0 => start_clock(),
        start => start,
    };
    (clock_ns() - start) as f64 * 1e-9
}
