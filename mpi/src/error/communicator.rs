//! Why a communicator cannot be made, or cannot be used as asked. Error classes are assigned in the
//! ABI layer.

/// What is wrong with the arguments of a call that makes or names communicators.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommunicatorError {
    /// A group with a process that the communicator does not have.
    #[error(
        "the group's rank {rank} is process {process} of the job, which is not in the communicator's group of {size}; \
         build the group from MPI_Comm_group of that communicator"
    )]
    NotInCommunicator {
        /// Rank in the group.
        rank: u32,
        /// Process of the job.
        process: u32,
        /// Members of the communicator.
        size: u32,
    },
    /// A process called what only members of the group call.
    #[error(
        "this process (number {process} of the job) is not in the group of {size}; only members of the group make this call"
    )]
    NotInGroup {
        /// This process.
        process: u32,
        /// Members of the group.
        size: u32,
    },
    /// Two groups that must not share processes do.
    #[error(
        "process {process} of the job is in both groups; the groups of an intercommunicator have no process in common"
    )]
    GroupsOverlap {
        /// The first such process.
        process: u32,
    },
    /// A leader that the group or communicator does not have.
    #[error("{argument} {rank} does not exist: there are {size} rank(s)")]
    Leader {
        /// Which leader.
        argument: &'static str,
        /// The value given.
        rank: i64,
        /// Ranks that exist.
        size: u32,
    },
    /// The leader gave no communicator to talk to the other leader.
    #[error("rank {leader} is the local leader and must pass the peer communicator")]
    PeerMissing {
        /// The leader, this process.
        leader: u32,
    },
    /// The leader could not reach an agreement with the other leader; it reports why itself.
    #[error("local leader {leader} could not make the intercommunicator; its own error says why")]
    LeaderFailed {
        /// The leader's rank.
        leader: u32,
    },
    /// A call for communicators with one group only.
    #[error("{call} needs an intracommunicator, and this one has two groups")]
    IsInter {
        /// The call.
        call: &'static str,
    },
    /// A call for communicators with two groups only.
    #[error("{call} needs an intercommunicator, and this one has one group")]
    IsIntra {
        /// The call.
        call: &'static str,
    },
    /// The communicator has no topology, or one of another kind.
    #[error("{call} needs a communicator with {needed}, and this one has {found}")]
    NoTopology {
        /// The call.
        call: &'static str,
        /// What it needs.
        needed: &'static str,
        /// What there is.
        found: &'static str,
    },
    /// A split type that the standard does not know.
    #[error("split type {value} is none that MPI defines")]
    SplitType {
        /// The value given.
        value: i32,
    },
}
