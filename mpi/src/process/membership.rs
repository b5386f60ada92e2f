//! Who of a process is inside MPI: the world, sessions, or nobody any more.
//!
//! The process joins its job when the first of them comes and they share the engine. It leaves when the world has been finalised
//! and no session is open; a process that only ever had sessions stays until it exits, because another one may be opened (MPI
//! 5.0 §11.3 sets no limit), and then [`at_exit`] says goodbye. Invariant: the process is in the job once or never.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Process, Threads};
use crate::error::{ErrorKind, Result};

static MEMBERSHIP: Mutex<Membership> = Mutex::new(Membership {
    process: None,
    world: World::Never,
    sessions: 0,
    owner: 0,
});

struct Membership {
    /// From the first who came in until all have left.
    process: Option<Arc<Process>>,
    world: World,
    /// Open sessions.
    sessions: usize,
    /// The system's number of the process that joined: a child of it must not leave in its name.
    owner: u32,
}

/// The world's life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum World {
    /// Not initialised.
    Never,
    /// Between initialisation and finalisation.
    Inside,
    /// Finalised: it cannot come back.
    Left,
}

fn membership() -> MutexGuard<'static, Membership> {
    // Nothing is left half done by whoever panicked: each step below is one assignment.
    MEMBERSHIP.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Membership {
    /// The process in its job.
    ///
    /// # Safety
    /// As [`Process::join`].
    unsafe fn process(&mut self, threads: Threads) -> Result<Arc<Process>> {
        if let Some(process) = &self.process {
            return Ok(process.clone());
        }
        if self.world == World::Left {
            return Err(ErrorKind::AlreadyFinalised.before_start("init"));
        }
        // SAFETY: the caller's promise.
        let process = unsafe { Process::join(threads)? };
        self.owner = std::process::id();
        Ok(self.process.insert(process).clone())
    }

    /// Leaves the job if nobody is inside and nobody can come.
    fn leave_if_empty(&mut self) -> Option<Arc<Process>> {
        let empty = self.world == World::Left && self.sessions == 0;
        empty.then(|| self.process.take()).flatten()
    }
}

/// The world is initialised. With [`Threads::One`] the process may be found to allow many threads already, because a session was
/// there first; that is never wrong.
///
/// # Safety
/// As [`Process::join`].
pub unsafe fn enter_world(threads: Threads) -> Result<Arc<Process>> {
    let mut membership = membership();
    match membership.world {
        World::Never => {}
        World::Inside => return Err(ErrorKind::AlreadyInitialised.before_start("init")),
        World::Left => return Err(ErrorKind::AlreadyFinalised.before_start("init")),
    }
    // SAFETY: the caller's promise.
    let process = unsafe { membership.process(threads)? };
    membership.world = World::Inside;
    Ok(process)
}

/// The world is finalised; the process leaves its job unless a session is open. What the program sent is delivered first.
pub fn leave_world() {
    let mut membership = membership();
    membership.world = World::Left;
    let leaving = membership.leave_if_empty();
    drop(membership);
    leaving.inspect(|process| process.finalize());
}

/// A session is opened. If it is the first to come in, the process joins for any number of threads: sessions may be opened by any.
pub fn open_session() -> Result<Arc<Process>> {
    let mut membership = membership();
    // SAFETY: `Threads::Many` asks for no promise; if the process is in its job already, whoever brought it in has promised.
    let process = unsafe { membership.process(Threads::Many)? };
    membership.sessions += 1;
    Ok(process)
}

/// A session is closed.
pub fn close_session() {
    let mut membership = membership();
    membership.sessions -= 1;
    let leaving = membership.leave_if_empty();
    drop(membership);
    leaving.inspect(|process| process.finalize());
}

/// The process, if it is in its job.
pub fn current() -> Option<Arc<Process>> {
    membership().process.clone()
}

/// The program exits: a process that is in its job with nobody inside leaves properly. One with somebody inside does not, and
/// the launcher reports that it ended without finalising.
pub fn at_exit() {
    // Whoever holds the lock at exit is a thread that will never go on.
    let Ok(mut membership) = MEMBERSHIP.try_lock() else {
        return;
    };
    let nobody = membership.world != World::Inside && membership.sessions == 0;
    if !nobody || membership.owner != std::process::id() {
        return;
    }
    let leaving = membership.process.take();
    drop(membership);
    leaving.inspect(|process| process.finalize());
}
