//! The process as a member of its job: the engine, the numbers of its communicators, and work that
//! goes on in the background.
//!
//! [`Process::join`] is what both faces of the library begin with: `init` of the typed one,
//! MPI_Init and MPI_Session_init of the C one. Every communicator holds its process, so the engine
//! lives as long as anything that may use it.

pub(crate) mod background;
mod heap;
mod numbers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use oxmpi_engine::Threads;
use oxmpi_engine::{Engine, Options, Ticket};
use oxmpi_join::{LauncherLine, Membership};

use crate::attached::Attached;
use crate::disagreement;
use crate::error::{ErrorKind, Result};
use crate::spreads::Spreads;
pub(crate) use background::Background;
pub use background::{Task, Work};
use heap::Heap;
pub use numbers::COMMUNICATORS_MAX;
use numbers::Numbers;
pub(crate) use numbers::UNKNOWN;

/// What all communicators of a process share.
pub struct Process {
    pub(crate) engine: Arc<Engine>,
    pub(crate) numbers: Numbers,
    pub(crate) background: Arc<Background>,
    /// The number of the command line's program that this process executes.
    program: u32,
    /// The line to the launcher, where it wants to be told.
    launcher: LauncherLine,
    /// Space for buffered sends of communicators that have none of their own.
    pub attached: Attached,
    pub(crate) spreads: Spreads,
    /// Memory that the program has asked for.
    heap: Heap,
    /// Small collectives may use boards.
    pub(crate) boards: bool,
    /// Several threads may be inside the library at once.
    pub(crate) concurrent: bool,
    /// The board of all processes, set apart before any other is handed out.
    pub(crate) world_board: Option<Ticket>,
    finalized: AtomicBool,
    /// The system's number of this process: a child of it must not leave the job in its name.
    system_number: u32,
}

impl Process {
    /// Joins the job that the environment describes; without a launcher the process is alone.
    ///
    /// # Safety
    /// With [`Threads::One`], no two calls that reach the engine may overlap in time, and calls of
    /// different threads must be ordered by other means.
    pub unsafe fn join(threads: Threads) -> Result<Arc<Process>> {
        let Membership {
            facts,
            program,
            launcher,
        } = Membership::from_env()
            .map_err(|error| ErrorKind::WireUp(error).before_start("init"))?;
        let (rank, size, host) = (facts.rank, facts.size, facts.host.clone());
        let options = Options::from_env()
            .map_err(|error| ErrorKind::Options(error).at("init", rank, size, &host))?;
        // SAFETY: the caller's promise.
        let engine = unsafe { Engine::attach(facts, &options, threads) }
            .map_err(|error| ErrorKind::Engine(error).at("init", rank, size, &host))?;
        let engine = Arc::new(engine);
        let background = Background::new(&engine);
        engine.set_background(background.clone());
        engine.set_notice(disagreement::notice(&engine));
        let shared = options.boards && size > 1 && engine.hosts() == 1;
        let numbers = Numbers::new(engine.job_nonce(), rank);
        let world_board = shared.then(|| board_of_world(&engine));
        Ok(Arc::new(Process {
            engine,
            numbers,
            background,
            program,
            launcher,
            attached: Attached::default(),
            spreads: Spreads::default(),
            heap: Heap::default(),
            boards: options.boards,
            concurrent: threads == Threads::Many,
            world_board,
            finalized: AtomicBool::new(false),
            system_number: std::process::id(),
        }))
    }

    /// This process's number in the job.
    pub fn rank(&self) -> u32 {
        self.engine.rank()
    }

    /// Processes of the job.
    pub fn size(&self) -> u32 {
        self.engine.size()
    }

    /// The number of the command line's program that this process executes, from 0: of `mpiexec a :
    /// b`, those of `b` have 1 (MPI 5.0 §11.10.3).
    pub fn program(&self) -> u32 {
        self.program
    }

    /// Whether all processes of the job run on one host.
    pub fn is_on_one_host(&self) -> bool {
        let engine = &self.engine;
        (1..self.size()).all(|rank| engine.host_of(rank) == engine.host_of(0))
    }

    /// How this process talks to the others, for people.
    pub fn transport(&self) -> impl std::fmt::Display + use<> {
        self.engine.transport()
    }

    /// The name of the machine this process runs on.
    pub fn host(&self) -> &str {
        self.engine.host()
    }

    /// Takes what has arrived and sends what is due, and does what background work can do now.
    pub fn progress(&self) {
        self.engine.progress();
        self.background.step_if_active();
    }

    /// Makes threads that wait for operations look again: another thread has ended one.
    pub fn rouse(&self) {
        self.engine.rouse();
    }

    /// The job is to end with this code; the launcher ends every process. True if no process has
    /// asked for it before.
    pub fn set_abort(&self, code: i32) -> bool {
        let first = self.engine.set_abort(code);
        self.launcher
            .abort(code, "MPI_Abort, or an error that ends the job");
        first
    }

    /// Begins work that goes on in the background of this process.
    pub fn start(&self, task: Arc<Task<dyn Work>>) {
        self.background.start(task);
    }

    /// Whether a thread of the library's own may call the engine while there is background work.
    pub fn expects_threads(&self) -> bool {
        self.concurrent || self.engine.has_driver()
    }

    /// CPUs that the ranks of this host may use together.
    pub fn usable_cpus(&self) -> u32 {
        self.engine.usable_cpus()
    }

    /// Several threads may be inside the library at once.
    pub fn is_concurrent(&self) -> bool {
        self.concurrent
    }

    /// Nobody uses the library for now: what is due is sent. If the process ends before
    /// [`Process::resume`], it has left the job properly.
    pub fn pause(&self) {
        self.background.send_what_is_due(&self.engine);
        self.engine.pause();
    }

    /// Somebody uses the library again.
    pub fn resume(&self) {
        self.engine.resume();
    }

    /// Leaves the job: what is due is sent, and nothing more is received. Does nothing the second
    /// time, nor in a process that was forked off this one, so that it can be called when a program
    /// exits.
    pub fn finalize(&self) {
        let first = !self.finalized.swap(true, Ordering::AcqRel);
        if first && self.system_number == std::process::id() {
            self.background.send_what_is_due(&self.engine);
            self.engine.finalize();
            self.launcher.leave();
        }
    }
}

/// The first board of rank 0, known to all without a word: nobody has used it before.
fn board_of_world(engine: &Engine) -> Ticket {
    let first = Ticket {
        port: 0,
        board: 0,
        base: 0,
    };
    if engine.rank() == 0 {
        let offered = engine.offer_board();
        assert_eq!(offered, Some(first), "a fresh engine has all its boards");
    }
    first
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
