//! Groups: ordered sets of processes (MPI 5.0 §7.3).
//!
//! A [`Group`] lists process numbers of the job in rank order. It never changes once made, so a
//! clone is a reference and every operation (`algebra` beside this file) yields a new group.
//! Invariant: no process is in a group twice. Communicators hold groups; nothing here knows about
//! communicators, handles or messages. A group only remembers for them which session it comes from,
//! and hands that on to the groups made from it.
#![forbid(unsafe_code)]

mod algebra;
mod error;
#[cfg(test)]
mod tests;

pub use algebra::{Comparison, Translated};
pub use error::GroupError;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::attached::Attached;

/// The rank that stands for no process, with the number the standard ABI gives it: translating it
/// yields itself. Every other rank below zero is out of range.
pub const PROC_NULL: i32 = -3;

/// Up to this many members a search through the list is quicker than a hash: 16 numbers are one
/// cache line.
const LINEAR_MAX: usize = 16;

/// An ordered set of processes. Cheap to clone.
#[derive(Clone)]
pub struct Group {
    members: Arc<Members>,
    /// Of a group that comes from a session: the space for buffered sends of that session's
    /// communicators.
    origin: Option<Arc<Attached>>,
}

struct Members {
    processes: Box<[u32]>,
    /// The processes are 0, 1, 2 … in this order: a rank is its process number.
    identity: bool,
    /// Process to rank; built at the first question that needs it.
    index: OnceLock<HashMap<u32, u32>>,
}

impl Group {
    /// The group of these processes; the first has rank 0.
    ///
    /// # Panics
    /// If a process is named twice: that is a mistake of the library, which alone knows process
    /// numbers.
    pub fn new(processes: Vec<u32>) -> Group {
        let group = Group::from_distinct(processes);
        if !group.members.identity {
            let index = group.members.index();
            assert_eq!(
                index.len(),
                group.members.processes.len(),
                "a group names a process twice"
            );
        }
        group
    }

    /// The group of the first `count` processes of the job, in the job's order.
    pub fn all(count: u32) -> Group {
        Group::from_distinct((0..count).collect())
    }

    /// The group without members, MPI_GROUP_EMPTY.
    pub fn empty() -> Group {
        Group::from_distinct(Vec::new())
    }

    /// A group of processes that are known to differ, because they were taken from a group.
    fn from_distinct(processes: Vec<u32>) -> Group {
        let identity = (0u32..).zip(&processes).all(|(rank, &p)| rank == p);
        Group {
            members: Arc::new(Members {
                processes: processes.into_boxed_slice(),
                identity,
                index: OnceLock::new(),
            }),
            origin: None,
        }
    }

    /// As [`Group::from_distinct`], with the origin of this group, from which the processes were
    /// taken.
    fn derive(&self, processes: Vec<u32>) -> Group {
        Group::from_distinct(processes).with_origin(self.origin.clone())
    }

    pub(crate) fn with_origin(self, origin: Option<Arc<Attached>>) -> Group {
        Group { origin, ..self }
    }

    pub(crate) fn origin(&self) -> Option<&Arc<Attached>> {
        self.origin.as_ref()
    }

    /// How many processes are in it.
    pub fn size(&self) -> u32 {
        // A member's number is a u32 and no number occurs twice, so their count fits unless all
        // 2^32 are in.
        u32::try_from(self.members.processes.len()).expect("process numbers are distinct u32")
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.processes.is_empty()
    }

    /// The processes in rank order.
    pub fn processes(&self) -> &[u32] {
        &self.members.processes
    }

    /// The process with this rank.
    pub fn process(&self, rank: u32) -> Option<u32> {
        self.members.processes.get(rank as usize).copied()
    }

    /// The rank of this process, if it is a member.
    pub fn rank_of(&self, process: u32) -> Option<u32> {
        let processes = &self.members.processes;
        if self.members.identity {
            ((process as usize) < processes.len()).then_some(process)
        } else if processes.len() <= LINEAR_MAX {
            (0..)
                .zip(processes)
                .find(|&(_, &p)| p == process)
                .map(|(rank, _)| rank)
        } else {
            self.members.index().get(&process).copied()
        }
    }

    /// Whether this process is a member.
    pub fn contains(&self, process: u32) -> bool {
        self.rank_of(process).is_some()
    }
}

impl Members {
    fn index(&self) -> &HashMap<u32, u32> {
        self.index
            .get_or_init(|| self.processes.iter().copied().zip(0..).collect())
    }
}

/// Equal groups have the same processes in the same order: what MPI calls identical.
impl PartialEq for Group {
    fn eq(&self, other: &Group) -> bool {
        Arc::ptr_eq(&self.members, &other.members) || self.processes() == other.processes()
    }
}

impl Eq for Group {}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.members.identity {
            write!(f, "Group(0..{})", self.size())
        } else {
            write!(f, "Group({:?})", self.processes())
        }
    }
}
