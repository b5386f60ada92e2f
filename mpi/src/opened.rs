//! Sessions for Rust programs: a way into MPI without a world (MPI 5.0 §11.3).
//!
//! A library opens a session of its own and needs no agreement with the program that calls it:
//! groups come from the session's process sets, communicators from groups. All sessions, and the
//! world if there is one, share the process.

use std::fmt;
use std::sync::Arc;

use crate::communicator::Communicator;
use crate::error::{ErrorKind, Result};
use crate::group::Group;
use crate::init::{enter, leave};
use crate::making::{create_from_group, create_from_groups};
use crate::process::{Process, Threads};
use crate::session::{SETS, Session as Open};
use crate::thread::Multiple;

/// An open session. Dropping it closes it; others may be opened before and afterwards.
///
/// Its communicators may be used by any thread, because nobody knows who else has a session. A
/// program that also has an [`Mpi`](crate::Mpi) initialises it with [`Multiple`].
///
/// ```no_run
/// let session = oxmpi::Session::open()?;
/// let everybody = session.group("mpi://WORLD")?;
/// let communicator = session.communicator(&everybody, "my library")?;
/// communicator.barrier()?;
/// # Ok::<(), oxmpi::Error>(())
/// ```
///
/// A communicator cannot outlive its session:
///
/// ```compile_fail
/// let session = oxmpi::Session::open().unwrap();
/// let group = session.group("mpi://SELF").unwrap();
/// let communicator = session.communicator(&group, "").unwrap();
/// drop(session);
/// communicator.barrier().unwrap();
/// ```
pub struct Session {
    process: Arc<Process>,
    open: Open,
}

impl Session {
    /// Opens a session; the process joins its job, if it has not.
    pub fn open() -> Result<Session> {
        let process = enter(Threads::Many, "open")?;
        Ok(Session {
            open: Open::new(process.clone(), None),
            process,
        })
    }

    /// The names of the process sets.
    pub fn sets(&self) -> &'static [&'static str] {
        &SETS
    }

    /// The processes of a set: `mpi://WORLD` is the whole job, `mpi://SELF` this process alone.
    pub fn group(&self, set: &str) -> Result<Group> {
        self.open.group(set).map_err(|_| {
            let (name, sets) = (set.to_owned(), self.sets());
            self.fail("group", ErrorKind::ProcessSet { name, sets })
        })
    }

    /// A communicator of these processes, all of which call with the same group and tag; this one
    /// is among them. The tag keeps apart what is made at once by different threads or libraries.
    pub fn communicator(&self, group: &Group, tag: &str) -> Result<Communicator<'_, Multiple>> {
        let made = create_from_group(&self.process, group, tag.as_bytes());
        let made = made.map_err(|kind| self.fail("communicator", kind))?;
        Ok(Communicator::new(&self.process, Arc::new(made)))
    }

    /// A communicator of two groups, of which this process is in the first; all of both call, each
    /// with its own group first, and the same tag. See [`Communicator::intercommunicator`].
    pub fn intercommunicator(
        &self,
        own: &Group,
        other: &Group,
        tag: &str,
    ) -> Result<Communicator<'_, Multiple>> {
        let made = create_from_groups(&self.process, own, 0, Some((other, 0)), tag.as_bytes());
        let made = made.map_err(|kind| self.fail("intercommunicator", kind))?;
        Ok(Communicator::new(&self.process, Arc::new(made)))
    }

    /// The name of the machine this process runs on.
    pub fn host(&self) -> &str {
        self.process.engine.host()
    }

    #[cold]
    fn fail(&self, call: &'static str, kind: ErrorKind) -> crate::Error {
        let (rank, size) = (self.process.rank(), self.process.size());
        kind.at(call, rank, size, self.host())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        leave(&self.process, false);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("rank", &self.process.rank())
            .field("size", &self.process.size())
            .finish_non_exhaustive()
    }
}
