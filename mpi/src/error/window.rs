//! Why a call on a window cannot do as asked. Error classes are assigned in the ABI layer; the
//! class that the standard has for a variant stands beside it.

/// What is wrong with the arguments, or with the moment, of a one-sided call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A target that the window does not have (MPI_ERR_RANK).
    #[error("target rank {rank} does not exist: the window has {size} rank(s), 0 to {}", .size - 1)]
    Rank {
        /// The value given.
        rank: u32,
        /// The window's size.
        size: u32,
    },
    /// A displacement below zero (MPI_ERR_DISP).
    #[error(
        "target displacement {displacement} is negative: displacements count forward from the \
         beginning of the window of rank {target}"
    )]
    Displacement {
        /// The value given.
        displacement: i64,
        /// The target.
        target: u32,
    },
    /// The access leaves the target's memory (MPI_ERR_RMA_RANGE).
    #[error(
        "the access to rank {target} covers bytes {begin} to {end} of its window, which has {bytes} \
         bytes ({displacement} units of {unit} from its beginning); check displacement, count and \
         datatype"
    )]
    Range {
        /// The target.
        target: u32,
        /// Displacement in units.
        displacement: i64,
        /// The target's displacement unit.
        unit: u32,
        /// First byte of the access.
        begin: i64,
        /// Byte behind the last one.
        end: i64,
        /// The target's size.
        bytes: u64,
    },
    /// The target has no memory attached there (MPI_ERR_RMA_RANGE).
    #[error(
        "rank {target} has attached no memory that covers {bytes} bytes at address {address:#x}; \
         MPI_Win_attach it there before the access, and send the address by MPI_Get_address"
    )]
    NotAttached {
        /// The target.
        target: u32,
        /// First byte of the access.
        address: u64,
        /// Bytes to its end.
        bytes: u64,
    },
    /// No epoch permits the access (MPI_ERR_RMA_SYNC).
    #[error(
        "no epoch is open for rank {target}: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or \
         MPI_Win_lock_all first"
    )]
    NoEpoch {
        /// The target.
        target: u32,
    },
    /// A call that does not fit the epoch that is open (MPI_ERR_RMA_SYNC).
    #[error("{call} is not possible now: {state}")]
    Epoch {
        /// The call.
        call: &'static str,
        /// What is the case.
        state: &'static str,
    },
    /// A lock is asked for twice (MPI_ERR_RMA_SYNC).
    #[error("rank {target} is locked by this process already; call MPI_Win_unlock first")]
    Locked {
        /// The target.
        target: u32,
    },
    /// A lock is given back that is not held (MPI_ERR_RMA_SYNC).
    #[error("rank {target} is not locked by this process; call MPI_Win_lock before {call}")]
    NotLocked {
        /// The call.
        call: &'static str,
        /// The target.
        target: u32,
    },
    /// A displacement unit that is none (MPI_ERR_DISP).
    #[error("disp_unit {unit} is not allowed: it must be from 1 to {}", u32::MAX)]
    Unit {
        /// The value given.
        unit: i64,
    },
    /// A size that no memory has (MPI_ERR_SIZE).
    #[error("a window of {bytes} bytes is not possible")]
    Size {
        /// The value given.
        bytes: i64,
    },
    /// Memory without an address (MPI_ERR_ARG).
    #[error("the window's base is a null pointer but its size is {bytes} bytes")]
    Null {
        /// The size given.
        bytes: u64,
    },
    /// Attached memory overlaps other attached memory (MPI_ERR_RMA_ATTACH).
    #[error(
        "{bytes} bytes at {address:#x} overlap the {other_bytes} bytes at {other:#x} that are \
         attached already; detach those first"
    )]
    Overlap {
        /// Begin of what is to be attached.
        address: u64,
        /// Its length.
        bytes: u64,
        /// Begin of what is attached.
        other: u64,
        /// Its length.
        other_bytes: u64,
    },
    /// Nothing is attached there (MPI_ERR_RMA_ATTACH).
    #[error(
        "no memory was attached at {address:#x}; pass the address that MPI_Win_attach was given"
    )]
    Detach {
        /// The address given.
        address: u64,
    },
    /// Memory that others are changing was to be detached (MPI_ERR_RMA_ATTACH).
    #[error(
        "the {bytes} bytes at {address:#x} are in use: {transfers} transfer(s) of other ranks into \
         them are under way; detach them after those ranks have completed their operations (flush, \
         unlock, fence)"
    )]
    InUse {
        /// The address given.
        address: u64,
        /// How many bytes are attached there.
        bytes: u64,
        /// Puts and accumulations whose data is still coming.
        transfers: u32,
    },
    /// The call needs a window of another kind (MPI_ERR_RMA_FLAVOR).
    #[error("{call} needs a window made by {needed}; this one was made by {found}")]
    Flavor {
        /// The call.
        call: &'static str,
        /// The calls that make the right kind.
        needed: &'static str,
        /// The call that made this one.
        found: &'static str,
    },
    /// The ranks do not share memory (MPI_ERR_RMA_SHARED).
    #[error(
        "ranks {first} and {other} do not share memory (they are on different hosts); split the \
         communicator by MPI_COMM_TYPE_SHARED first"
    )]
    NotShared {
        /// A rank.
        first: u32,
        /// A rank that has no memory in common with it.
        other: u32,
    },
    /// Origin and target describe different amounts of data (MPI_ERR_TYPE).
    #[error(
        "the {side} describes {got} bytes and the target {needed}: both must have the same elements"
    )]
    Length {
        /// Which other side: origin, result.
        side: &'static str,
        /// Bytes of the target.
        needed: u64,
        /// Bytes of the other side.
        got: u64,
    },
    /// A datatype whose elements cannot be accumulated (MPI_ERR_TYPE).
    #[error(
        "{datatype} cannot be accumulated: all of its elements must be of one predefined datatype"
    )]
    Mixed {
        /// The datatype.
        datatype: String,
    },
    /// Origin and target are of different predefined types (MPI_ERR_TYPE).
    #[error("the {side} has elements of {got} and the target elements of {needed}")]
    Elements {
        /// Which other side: origin, result.
        side: &'static str,
        /// The target's.
        needed: String,
        /// The other side's.
        got: String,
    },
    /// A type that compare-and-swap does not take (MPI_ERR_TYPE).
    #[error(
        "MPI_Compare_and_swap takes integers, logicals, MPI_BYTE and the integers of all \
         languages, not {datatype}"
    )]
    CompareType {
        /// The datatype.
        datatype: String,
    },
    /// An operation of the program's own (MPI_ERR_OP).
    #[error("one-sided calls take the predefined operations only, not one made by MPI_Op_create")]
    UserOp,
    /// An accumulation by an operation for get_accumulate and fetch_and_op only (MPI_ERR_OP).
    #[error("MPI_NO_OP reads the target: use it with MPI_Get_accumulate or MPI_Fetch_and_op")]
    NoOp,
    /// A group with a process that the window does not have (MPI_ERR_GROUP).
    #[error(
        "the group's rank {rank} is process {process} of the job, which the window does not have"
    )]
    Group {
        /// Rank in the group.
        rank: u32,
        /// Process of the job.
        process: u32,
    },
    /// The target could not read what this process sent (MPI_ERR_OTHER).
    #[error(
        "rank {target} could not read a one-sided request; do all ranks run one OxMPI version?"
    )]
    Garbled {
        /// The target.
        target: u32,
    },
}
