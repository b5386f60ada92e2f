//! Errors as people read them: who failed, in which call, with which values, and what to try.
//!
//! `ErrorKind` carries the facts and is what a program matches on; `Error` adds where it happened.
//! It is one pointer wide, so that a `Result<Status, Error>` stays cheap on the path that succeeds.
//! Texts are pinned by tests below.

mod communicator;
mod file;
mod view;
mod window;

use std::fmt;

use oxmpi_engine::{EngineError, OptionsError};
use oxmpi_join::WireUpError;

use crate::status::TAG_MAX;
pub use communicator::CommunicatorError;
pub use file::{FileError, FileFault, FileLoss};
pub use view::ViewError;
pub use window::WindowError;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What failed, and where: the call, the rank, the host.
pub struct Error(Box<Failure>);

struct Failure {
    call: &'static str,
    at: Option<Place>,
    kind: ErrorKind,
}

/// The process that reports.
struct Place {
    rank: u32,
    size: u32,
    host: String,
}

/// What failed, with the values that matter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A process may initialise once; it is initialised already.
    #[error(
        "this process is already initialised; pass the first Mpi (or a communicator) on instead"
    )]
    AlreadyInitialised,

    /// A process may initialise once; it did and has finalised.
    #[error(
        "this process has already finalised, and it cannot be initialised again; keep one Mpi alive \
         for as long as messages are exchanged"
    )]
    AlreadyFinalised,

    /// The process cannot take its place in the job: the launcher's description contradicts itself,
    /// or the way to the others is barred.
    #[error("this process cannot join its job: {0}")]
    WireUp(#[source] WireUpError),

    /// An environment variable of the library has a value it cannot have.
    #[error("{0}")]
    Options(#[source] OptionsError),

    /// The engine could not do its part: a peer died, a message did not fit, no memory.
    #[error("{0}")]
    Engine(#[source] EngineError),

    /// A rank that the communicator does not have.
    #[error("{argument} {rank} does not exist: the communicator has {size} rank(s), 0 to {}", .size - 1)]
    Rank {
        /// Which argument: source, dest or root.
        argument: &'static str,
        /// The value given.
        rank: u32,
        /// The communicator's size.
        size: u32,
    },

    /// A tag outside the bounds.
    #[error("tag {tag} is not allowed: tags go from 0 to {TAG_MAX}; ANY_TAG receives any of them")]
    Tag {
        /// The value given.
        tag: i32,
    },

    /// A buffer whose length does not follow from the other arguments.
    #[error("the {buffer} buffer has {got} element(s) but needs {needed}: {rule}")]
    Length {
        /// Which buffer: send, receive.
        buffer: &'static str,
        /// Elements needed.
        needed: usize,
        /// Elements given.
        got: usize,
        /// Where the need comes from.
        rule: &'static str,
    },

    /// The root passed `None` where it has to give its buffer.
    #[error(
        "rank {root} is the root and must pass Some({buffer} buffer); the other ranks pass None"
    )]
    RootBuffer {
        /// Which buffer: send, receive.
        buffer: &'static str,
        /// The root, this process.
        root: u32,
    },

    /// A list that must have one entry per rank.
    #[error(
        "{list} has {got} entries but the communicator has {size} rank(s): one entry per rank is needed"
    )]
    PerRank {
        /// Which list: counts, displacements.
        list: &'static str,
        /// Entries given.
        got: usize,
        /// The communicator's size.
        size: u32,
    },

    /// A rank's block does not lie inside the buffer.
    #[error(
        "the block of rank {rank} (elements {offset} to {offset} + {count}) ends beyond the {buffer} buffer \
         of {length} element(s); check counts[{rank}] and displacements[{rank}]"
    )]
    Block {
        /// Which buffer: send, receive.
        buffer: &'static str,
        /// Whose block.
        rank: u32,
        /// Its displacement in elements.
        offset: usize,
        /// Its count of elements.
        count: usize,
        /// The buffer's length in elements.
        length: usize,
    },

    /// Two ranks' blocks would be received into the same elements.
    #[error(
        "the blocks of ranks {first} and {second} overlap in the receive buffer; check their displacements"
    )]
    Overlap {
        /// The block that begins first.
        first: u32,
        /// The block that begins inside it.
        second: u32,
    },

    /// A message that is not a whole number of the elements asked for.
    #[error(
        "the message from rank {source_rank} with tag {tag} has {bytes} bytes, which is no whole number of \
         elements of {element} bytes; does the sender use another type?"
    )]
    WholeElements {
        /// The sender.
        source_rank: u32,
        /// The message's tag.
        tag: i32,
        /// The message's length.
        bytes: u64,
        /// The size of the element asked for.
        element: usize,
    },

    /// A message that is not the one value asked for.
    #[error(
        "the message from rank {source_rank} with tag {tag} has {bytes} bytes, and one value of {needed} was asked \
         for; receive several by recv_vec, or into a slice"
    )]
    OneValue {
        /// The sender.
        source_rank: u32,
        /// The message's tag.
        tag: i32,
        /// The message's length.
        bytes: u64,
        /// The size of the value.
        needed: usize,
    },

    /// A view that cannot be.
    #[error("{0}")]
    View(#[from] ViewError),

    /// The memory of a prepared operation was replaced.
    #[error(
        "its memory is no longer where it was when it was prepared; change elements in \
         place instead of replacing, growing or shrinking their vector or view"
    )]
    MovedMemory,

    /// A list that must have one entry for each neighbour.
    #[error("{list} has {got} entries, but this rank has {neighbours} neighbour(s) on that side")]
    PerNeighbour {
        /// Which list.
        list: &'static str,
        /// Entries given.
        got: usize,
        /// How many neighbours there are.
        neighbours: usize,
    },

    /// A rank entered a collective with another length than this one.
    #[error(
        "rank {peer} sent {got} bytes where {expected} were expected; do all ranks call the same collective \
         in the same order with the same counts?"
    )]
    CollectiveMismatch {
        /// Whose part it was.
        peer: u32,
        /// Bytes this rank's arguments call for.
        expected: u64,
        /// Bytes that came.
        got: u64,
    },

    /// Another rank is in another collective.
    #[error(
        "rank {peer} is in {there} where this rank is in {here}; all ranks must call the same collectives in the \
         same order"
    )]
    DifferentCollective {
        /// Who.
        peer: u32,
        /// This rank's call.
        here: String,
        /// The other one's.
        there: String,
    },

    /// Another rank named another root.
    #[error(
        "rank {peer} says that the root is rank {there}, this rank says {here}; all ranks must name the same root"
    )]
    DifferentRoot {
        /// Who.
        peer: u32,
        /// This rank's root.
        here: u32,
        /// The other one's.
        there: u32,
    },

    /// Another rank named another operation.
    #[error(
        "rank {peer} combines by {there} where this rank combines by {here}; all ranks must name the same operation"
    )]
    DifferentOperation {
        /// Who.
        peer: u32,
        /// This rank's operation.
        here: String,
        /// The other one's.
        there: String,
    },

    /// Another rank named another root, in a collective before this one.
    #[error(
        "rank {peer} has named another root than this rank in an earlier collective of this communicator; all \
         ranks must name the same root in a bcast, reduce, gather or scatter"
    )]
    EarlierRoot {
        /// Who.
        peer: u32,
    },

    /// A request was used again after its error had been handed out.
    #[error("this operation has failed before, and its error was returned then; start a new one")]
    RequestFailed,

    /// Two calls at once inside collectives of one communicator.
    #[error(
        "this process is already inside a collective on the same communicator (in another thread, or in an operation \
         that calls one); give each its own communicator by dup()"
    )]
    ConcurrentCollective,

    /// No number left for a new communicator.
    #[error(
        "no communicator can be added: the process that numbers it (rank 0 of its group) has numbered {max} that exist, the \
         most there can be with MPI_COMM_WORLD and MPI_COMM_SELF; free those that are no longer needed (MPI_Comm_free)"
    )]
    Communicators {
        /// The most a process can have.
        max: u32,
    },

    /// A buffer that cannot be.
    #[error("{0}")]
    Buffer(#[from] crate::buffer::BufferError),

    /// A request that cannot be started: it is not persistent.
    #[error("only persistent requests, made by the calls whose names end in _init, can be started")]
    NotPersistent,

    /// A persistent request was started while it was active.
    #[error(
        "the request is active already; complete it by a wait or a test before starting it again"
    )]
    AlreadyActive,

    /// Not enough attached space for a buffered send.
    #[error(
        "a buffered send needs {needed} bytes of attached buffer (512 of them for the message itself), but only {free} of \
         {capacity} are free; attach a larger buffer, or receive earlier"
    )]
    BufferedSpace {
        /// Bytes that the message takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes that are attached.
        capacity: u64,
    },

    /// A buffer is attached already.
    #[error("a buffer is attached already; detach it first")]
    AlreadyAttached,

    /// An operation that MPI does not let programs cancel.
    #[error("{what} cannot be cancelled")]
    NotCancellable {
        /// The operation.
        what: &'static str,
    },

    /// Partitions that the message does not have.
    #[error("partitions {first} to {last} do not exist: the message has {partitions}, from 0 on")]
    Partition {
        /// The first one given.
        first: u64,
        /// The last one given.
        last: u64,
        /// How many there are.
        partitions: u64,
    },

    /// A partition was called ready twice.
    #[error("partition {partition} was called ready before in this round")]
    PartitionTwice {
        /// Which one.
        partition: u64,
    },

    /// A partition was called ready before the start.
    #[error("the partitioned send is not started; call MPI_Start first")]
    PartitionedInactive,

    /// What the sender of a partitioned message says of it cannot be.
    #[error(
        "rank {from} describes its partitioned message as no process of this library does; do all ranks use the same version?"
    )]
    PartitionedIntroduction {
        /// The sender.
        from: u32,
    },

    /// The call belongs to the other side.
    #[error("{call} needs a request of {needs}")]
    PartitionedDirection {
        /// The call.
        call: &'static str,
        /// What makes requests for it.
        needs: &'static str,
    },
    /// A communicator cannot be made, or is not of the kind that the call needs.
    #[error("{0}")]
    Communicator(#[from] CommunicatorError),

    /// A rank that stands twice in the list from which a group is made.
    #[error("ranks[{index}] is {rank} again, after ranks[{earlier}]: name each rank once")]
    RankTwice {
        /// Which entry of the list.
        index: usize,
        /// Where the rank stood first.
        earlier: usize,
        /// The rank.
        rank: u32,
    },

    /// A process set that a session does not have.
    #[error("there is no process set '{name}'; this session has {}", .sets.join(", "))]
    ProcessSet {
        /// The name given.
        name: String,
        /// Those that there are.
        sets: &'static [&'static str],
    },

    /// A session beside an `Mpi` that lets one thread at a time into the library.
    #[error(
        "a session may be used by any thread, but this process was initialised for one thread at a time; initialise          it by init_with::<Multiple>(), or open the session first"
    )]
    OneThread,

    /// An object that serde or postcard cannot turn into bytes.
    #[cfg(feature = "serde")]
    #[error("a value of type {of} cannot be encoded: {why}")]
    Encode {
        /// Its type.
        of: &'static str,
        /// What postcard says.
        why: String,
    },

    /// Another rank's object could not be turned into bytes.
    #[cfg(feature = "serde")]
    #[error("rank {peer} gave no object, or one that cannot be encoded; its own error says why")]
    PeerEncode {
        /// Who.
        peer: u32,
    },

    /// Bytes that are not the object asked for.
    #[cfg(feature = "serde")]
    #[error(
        "the {bytes} bytes from rank {from} are no {to} ({why}); sender and receiver must name the same type, and the          sender use send_object or another call for objects"
    )]
    Decode {
        /// The type asked for.
        to: &'static str,
        /// Bytes that came.
        bytes: u64,
        /// From whom.
        from: u32,
        /// What postcard says.
        why: String,
    },

    /// A window that cannot be, or a one-sided call that cannot be made on it now.
    #[error("{0}")]
    Window(#[from] WindowError),

    /// A topology that cannot be.
    #[error("{0}")]
    Topology(#[from] crate::topology::TopologyError),

    /// A function of the program failed.
    #[error("a function of the program returned the error code {code}")]
    Callback {
        /// What it returned.
        code: i32,
    },

    /// An operation that cannot combine these elements.
    #[error("{0}")]
    Op(#[from] oxmpi_datatypes::op::OpError),

    /// Data cannot be left in place here.
    #[error(
        "{collective} cannot be done in place here: {why}; pass a buffer instead of MPI_IN_PLACE"
    )]
    InPlace {
        /// The collective.
        collective: &'static str,
        /// What forbids it.
        why: &'static str,
    },

    /// A root that only intercommunicators have.
    #[error(
        "MPI_ROOT and MPI_PROC_NULL are roots in intercommunicators only; name the rank of the root"
    )]
    InterRoot,

    /// A collective that intercommunicators do not have.
    #[error(
        "{collective} needs a communicator of one group, and this is an intercommunicator; use MPI_Intercomm_merge first"
    )]
    OneGroupOnly {
        /// The collective.
        collective: &'static str,
    },

    /// One buffer is read and written by the same collective.
    #[error(
        "the send buffer and the receive buffer share memory; keep them apart, or pass MPI_IN_PLACE as the send buffer"
    )]
    SharedBuffer,

    /// An operation on a file failed.
    #[error("{0}")]
    File(#[from] Box<FileError>),

    /// A process was lost during an operation on a file, or messages did not reach it.
    #[error("{0}")]
    FileLoss(#[source] Box<FileLoss>),

    /// Collectives go on once they have begun.
    #[error("a collective cannot be cancelled; wait for its end")]
    CancelCollective,

    /// Memory for a buffer was refused.
    #[error("no memory for a buffer of {bytes} bytes")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl ErrorKind {
    /// Completes the report with the call and the process.
    #[cold]
    pub(crate) fn at(self, call: &'static str, rank: u32, size: u32, host: &str) -> Error {
        let host = host.to_owned();
        Error(Box::new(Failure {
            call,
            at: Some(Place { rank, size, host }),
            kind: self,
        }))
    }

    /// Completes the report before the process knows who it is.
    #[cold]
    pub(crate) fn before_start(self, call: &'static str) -> Error {
        Error(Box::new(Failure {
            call,
            at: None,
            kind: self,
        }))
    }
}

impl From<EngineError> for ErrorKind {
    fn from(error: EngineError) -> Self {
        ErrorKind::Engine(error)
    }
}

impl Error {
    /// The facts, for programs.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The call that failed.
    pub fn call(&self) -> &'static str {
        self.0.call
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { call, at, kind } = &*self.0;
        match at {
            Some(Place { rank, size, host }) => {
                write!(f, "{call} on rank {rank} of {size} ({host}): {kind}")
            }
            None => write!(f, "{call}: {kind}"),
        }
    }
}

/// `main` returning an error prints it this way, so it is the text for people too.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.kind.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: ErrorKind) -> String {
        kind.at("send", 1, 4, "node7").to_string()
    }

    #[test]
    fn an_error_is_one_pointer() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn texts_name_the_values_and_the_remedy() {
        let rank = ErrorKind::Rank {
            argument: "dest",
            rank: 9,
            size: 4,
        };
        assert_eq!(
            text(rank),
            "send on rank 1 of 4 (node7): dest 9 does not exist: the communicator has 4 rank(s), 0 to 3"
        );
        assert_eq!(
            text(ErrorKind::Tag { tag: -3 }),
            "send on rank 1 of 4 (node7): tag -3 is not allowed: tags go from 0 to 1073741823; \
             ANY_TAG receives any of them"
        );
        let length = ErrorKind::Length {
            buffer: "receive",
            needed: 8,
            got: 7,
            rule: "one block of the send buffer's length per rank",
        };
        assert_eq!(
            text(length),
            "send on rank 1 of 4 (node7): the receive buffer has 7 element(s) but needs 8: \
             one block of the send buffer's length per rank"
        );
        assert_eq!(
            ErrorKind::AlreadyInitialised
                .before_start("init")
                .to_string(),
            "init: this process is already initialised; pass the first Mpi (or a communicator) on instead"
        );
    }
}
