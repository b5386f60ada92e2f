//! Sessions: the other way into MPI, without a world (MPI 5.0 §11.3).
//!
//! A [`Session`] knows the process sets and has hints and a thread level of its own; groups come
//! from its sets and communicators from groups. Any number of sessions may be open, beside the
//! world or without it: all share the process.

use std::sync::Arc;

use crate::attached::Attached;
use crate::communicator::MEMORY_KINDS;
use crate::error::Result;
use crate::group::Group;
use crate::info::Info;
use crate::process::Process;

/// The set of all processes of the job.
pub const WORLD_SET: &str = "mpi://WORLD";
/// The set of this process alone.
pub const SELF_SET: &str = "mpi://SELF";

/// The sets that every session has, in the order of their numbers.
pub(crate) const SETS: [&str; 2] = [WORLD_SET, SELF_SET];

/// A level of thread support, as a value (MPI 5.0 §11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// The process has one thread.
    Single,
    /// The thread that initialised makes all calls.
    Funneled,
    /// Any thread may call, one at a time.
    Serialized,
    /// Any thread may call at any time.
    Multiple,
}

impl ThreadLevel {
    /// The constant's name, which is also the value of the key `thread_level`.
    pub fn name(self) -> &'static str {
        match self {
            ThreadLevel::Single => "MPI_THREAD_SINGLE",
            ThreadLevel::Funneled => "MPI_THREAD_FUNNELED",
            ThreadLevel::Serialized => "MPI_THREAD_SERIALIZED",
            ThreadLevel::Multiple => "MPI_THREAD_MULTIPLE",
        }
    }

    /// The level that the info of a new session asks for; the highest if it does not say.
    pub fn asked(info: Option<&Info>) -> Result<ThreadLevel, SessionError> {
        let Some(name) = info.and_then(|info| info.get_text("thread_level")) else {
            return Ok(ThreadLevel::Multiple);
        };
        let level = ThreadLevel::named(name.trim());
        level.ok_or(SessionError::NoSuchLevel { name })
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<ThreadLevel> {
        let all = [
            ThreadLevel::Single,
            ThreadLevel::Funneled,
            ThreadLevel::Serialized,
            ThreadLevel::Multiple,
        ];
        all.into_iter().find(|level| level.name() == name)
    }
}

/// Why a session cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A set that does not exist.
    #[error("there is no process set '{name}'; this session has {}", SETS.join(", "))]
    NoSuchSet {
        /// The name given.
        name: String,
    },
    /// A thread level that does not exist.
    #[error(
        "the info's thread_level is '{name}'; the levels are MPI_THREAD_SINGLE, \
         MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED and MPI_THREAD_MULTIPLE"
    )]
    NoSuchLevel {
        /// The value given.
        name: String,
    },
    /// A number that no set has.
    #[error("there is no process set {number}; this session has {} of them, from 0 on", SETS.len())]
    NoSuchNumber {
        /// The number given.
        number: i64,
    },
}

/// An open session.
pub struct Session {
    process: Arc<Process>,
    threads: ThreadLevel,
    memory_kinds: String,
    attached: Arc<Attached>,
}

impl Session {
    /// A session of a process in its job. `info` may ask for a `thread_level` (see
    /// [`ThreadLevel::asked`] for what it may say) and for `mpi_memory_alloc_kinds`.
    pub fn new(process: Arc<Process>, info: Option<&Info>) -> Session {
        let highest = match process.is_concurrent() {
            true => ThreadLevel::Multiple,
            false => ThreadLevel::Serialized,
        };
        let kinds = info.and_then(|info| info.get_text("mpi_memory_alloc_kinds"));
        Session {
            process,
            threads: ThreadLevel::asked(info).unwrap_or(highest).min(highest),
            memory_kinds: supported_kinds(kinds.as_deref()),
            attached: Arc::default(),
        }
    }

    /// The process.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// Space for buffered sends of its communicators: those made from its groups, and whatever is
    /// made from them.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }

    /// The thread level that was granted.
    pub fn thread_level(&self) -> ThreadLevel {
        self.threads
    }

    /// The hints in use, in a new object.
    pub fn info(&self) -> Info {
        let info = Info::new();
        for (key, value) in [
            ("thread_level", self.threads.name()),
            ("mpi_memory_alloc_kinds", &self.memory_kinds),
        ] {
            info.set(key, value).expect("a legal key and value");
        }
        info
    }

    /// How many process sets there are.
    pub fn set_count(&self) -> usize {
        SETS.len()
    }

    /// The name of a process set.
    pub fn set_name(&self, number: i64) -> Result<&'static str, SessionError> {
        let name = usize::try_from(number).ok().and_then(|n| SETS.get(n));
        name.copied().ok_or(SessionError::NoSuchNumber { number })
    }

    /// The processes of a set, whose name is compared without regard to case.
    pub fn group(&self, set: &str) -> Result<Group, SessionError> {
        let group = match find_set(set) {
            Some(WORLD_SET) => Group::all(self.process.size()),
            Some(_) => Group::new(vec![self.process.rank()]),
            None => {
                let name = set.to_owned();
                return Err(SessionError::NoSuchSet { name });
            }
        };
        Ok(group.with_origin(Some(self.attached.clone())))
    }

    /// What is known of a set: `mpi_size`, the number of its processes.
    pub fn set_info(&self, set: &str) -> Result<Info, SessionError> {
        let group = self.group(set)?;
        let info = Info::new();
        info.set("mpi_size", group.size().to_string())
            .expect("a legal key and value");
        Ok(info)
    }
}

/// The set of this name. URIs differ by the case of their path (RFC 3986 §6.2.2.1); but programs
/// write `mpi://world`, other libraries take it, and no set here differs by case alone.
pub(crate) fn find_set(name: impl AsRef<str>) -> Option<&'static str> {
    let name = name.as_ref();
    SETS.into_iter().find(|set| set.eq_ignore_ascii_case(name))
}

/// The kinds of memory that were asked for and exist, with those that always do (MPI 5.0 §12.4.3).
fn supported_kinds(asked: Option<&str>) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    let asked = asked.unwrap_or_default().split(',').map(str::trim);
    for kind in asked
        .filter(|kind| MEMORY_KINDS.contains(kind))
        .chain(MEMORY_KINDS)
    {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_do_not_exist_are_left_out() {
        assert_eq!(supported_kinds(None), "mpi,system");
        assert_eq!(supported_kinds(Some("system,cuda, mpi")), "system,mpi");
    }

    #[test]
    fn sets_are_found_by_their_uri() {
        assert_eq!(find_set("mpi://WORLD"), Some(WORLD_SET));
        assert_eq!(find_set("MPI://SELF"), Some(SELF_SET));
        assert_eq!(find_set("mpi://world"), Some(WORLD_SET));
        assert_eq!(find_set("WORLD"), None);
    }
}
