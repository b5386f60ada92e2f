//! What is known of the end of a rank: how its process ended, what it was to the others, and whether
//! another rank is likely to be the cause.

use oxmpi_ports::Death;
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    Status(u8),
    Signal { signal: i32, core: bool },
}

/// A call of abort, as the rank's host knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Abort {
    /// The caller.
    pub(crate) rank: u32,
    pub(crate) code: i32,
    /// The caller had been told that another rank is lost.
    pub(crate) told_of_loss: bool,
}

/// The end of a rank's process and what its host knows about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) standing: Standing,
    /// The first call of abort on its host.
    pub(crate) abort: Option<Abort>,
    /// It had been told that another rank is lost: its failure may be the consequence.
    pub(crate) told_of_loss: bool,
}

/// How a rank ended that did not finalise MPI, for the other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RankDeath {
    Signal(i32),
    Status(u8),
    Aborted(i32),
}

/// What a rank was to the others when its process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Standing {
    /// It never initialised MPI.
    Stranger,
    /// It had initialised MPI and not finalised it.
    Member,
    /// It had finalised MPI.
    Finished,
}

impl End {
    /// From the status word of wait(2).
    pub(crate) fn from_wait(status: i32) -> End {
        if libc::WIFSIGNALED(status) {
            End::Signal {
                signal: libc::WTERMSIG(status),
                core: libc::WCOREDUMP(status),
            }
        } else {
            End::Status(libc::WEXITSTATUS(status) as u8)
        }
    }

    /// The exit status a shell would give it.
    pub(crate) fn code(self) -> u8 {
        match self {
            End::Status(status) => status,
            End::Signal { signal, .. } => 128 + signal as u8,
        }
    }
}

impl Ended {
    /// The abort that the end is to be seen by: the rank's own, or one that had no other cause.
    pub(super) fn relevant_abort(&self, rank: u32) -> Option<Abort> {
        self.abort
            .filter(|abort| !abort.told_of_loss || abort.rank == rank)
    }

    /// What the other ranks are told about this rank, unless it had finalised.
    pub(crate) fn death(&self, rank: u32) -> Option<RankDeath> {
        if self.standing == Standing::Finished {
            return None;
        }
        let own = self.abort.filter(|abort| abort.rank == rank);
        Some(match (own, self.end) {
            (Some(abort), _) => RankDeath::Aborted(abort.code),
            (None, End::Signal { signal, .. }) => RankDeath::Signal(signal),
            (None, End::Status(status)) => RankDeath::Status(status),
        })
    }
}

impl From<RankDeath> for Death {
    fn from(death: RankDeath) -> Death {
        match death {
            RankDeath::Signal(signal) => Death::Signal(signal),
            RankDeath::Status(status) => Death::Status(i32::from(status)),
            RankDeath::Aborted(code) => Death::Aborted(code),
        }
    }
}
