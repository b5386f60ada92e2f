//! [`Failure`]: an error class or code with the text that explains it. The only place where MPI's classes are assigned.
//!
//! Chapters use `?` on the results of the layer below: the `From` implementations here choose the
//! class. What they check themselves they report with [`Failure::new`] and a text that says what
//! failed, with which values, and what to try.

use std::fmt;

use oxmpi_core::any_request::Report;
use oxmpi_core::attribute::AttributeError;
use oxmpi_core::buffer::BufferError;
use oxmpi_core::group::GroupError;
use oxmpi_core::info::InfoError;
use oxmpi_core::session::SessionError;
use oxmpi_core::topology::TopologyError;
use oxmpi_core::{CommunicatorError, ErrorKind, FileError, FileFault, WindowError};
use oxmpi_datatypes::datatype::{CopyError, DatatypeError, ExternalError};
use oxmpi_datatypes::op::OpError;
use oxmpi_engine::{EngineError, Fault};

use crate::constant::*;
use crate::subject::Subject;

/// Why a call fails. One pointer wide, so that the path that succeeds stays cheap.
#[derive(Debug)]
pub struct Failure(Box<Facts>);

#[derive(Debug)]
struct Facts {
    code: i32,
    text: String,
    subject: Option<Subject>,
    /// What the status of the operation tells.
    report: Report,
}

impl Failure {
    /// A failure with a class, or a code that a callback of the program returned.
    #[cold]
    pub fn new(code: i32, text: impl Into<String>) -> Failure {
        Failure(Box::new(Facts {
            code,
            text: text.into(),
            subject: None,
            report: Report::EMPTY,
        }))
    }

    /// The object whose error handler is responsible, where it is not the one among the arguments:
    /// for a failed request the communicator it was started on.
    pub fn on(mut self, subject: Subject) -> Failure {
        self.0.subject = Some(subject);
        self
    }

    /// What the call returns if its error handler lets it return.
    pub fn code(&self) -> i32 {
        self.0.code
    }

    /// The explanation.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What the status of the operation that failed tells.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    #[cold]
    fn reporting(mut self, error: &EngineError) -> Failure {
        self.0.report = Report::of_failure(error);
        self
    }

    /// The object given by [`Failure::on`].
    pub fn subject(&self) -> Option<Subject> {
        self.0.subject
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", class_name(self.0.code), self.0.text)
    }
}

/// Makes `From` for an error whose class depends on its variant.
macro_rules! classes {
    ($($error:ty => $class:expr;)*) => {$(
        impl From<$error> for Failure {
            #[cold]
            fn from(error: $error) -> Failure {
                let class: fn(&$error) -> i32 = $class;
                Failure::new(class(&error), error.to_string())
            }
        }
    )*};
}

classes! {
    DatatypeError => datatype_class;
    CopyError => |error| match error {
        CopyError::Range { .. } => MPI_ERR_TRUNCATE,
        _ => MPI_ERR_BUFFER,
    };
    ExternalError => |error| match error {
        ExternalError::DoesNotFit { .. } => MPI_ERR_CONVERSION,
        ExternalError::Short { .. } => MPI_ERR_TRUNCATE,
        ExternalError::Datatype(error) => datatype_class(error),
        _ => MPI_ERR_BUFFER,
    };
    GroupError => |error| match error {
        GroupError::RankOutOfRange { .. } | GroupError::RankTwice { .. } => MPI_ERR_RANK,
        GroupError::RangeLeavesGroup { .. } | GroupError::RangeTwice { .. } => MPI_ERR_RANK,
        _ => MPI_ERR_ARG,
    };
    InfoError => |error| match error {
        InfoError::ValueTooLong { .. } => MPI_ERR_INFO_VALUE,
        InfoError::Nul { what: "value", .. } => MPI_ERR_INFO_VALUE,
        InfoError::NoKey { .. } => MPI_ERR_INFO_NOKEY,
        InfoError::NoSuchIndex { .. } => MPI_ERR_ARG,
        InfoError::ReadOnly { .. } => MPI_ERR_INFO,
        _ => MPI_ERR_INFO_KEY,
    };
    OpError => op_class;
    BufferError => buffer_class;
    FileError => file_class;
    CommunicatorError => communicator_class;
    TopologyError => topology_class;
    WindowError => window_class;
    SessionError => |error| match error {
        SessionError::NoSuchLevel { .. } => MPI_ERR_INFO_VALUE,
        _ => MPI_ERR_ARG,
    };
    AttributeError => |error| match error {
        AttributeError::CopyFailed { code, .. } | AttributeError::DeleteFailed { code, .. } => *code,
        AttributeError::NoNumberLeft { .. } | AttributeError::Endless { .. } => MPI_ERR_OTHER,
        _ => MPI_ERR_KEYVAL,
    };
}

impl From<EngineError> for Failure {
    #[cold]
    fn from(error: EngineError) -> Failure {
        Failure::new(engine_class(&error), error.to_string()).reporting(&error)
    }
}

impl From<&ErrorKind> for Failure {
    #[cold]
    fn from(kind: &ErrorKind) -> Failure {
        let failure = Failure::new(kind_class(kind), kind.to_string());
        match kind {
            ErrorKind::Engine(error) => failure.reporting(error),
            ErrorKind::FileLoss(loss) => match &loss.cause {
                ErrorKind::Engine(error) => failure.reporting(error),
                _ => failure,
            },
            _ => failure,
        }
    }
}

impl From<ErrorKind> for Failure {
    #[cold]
    fn from(kind: ErrorKind) -> Failure {
        Failure::from(&kind)
    }
}

impl From<oxmpi_core::Error> for Failure {
    #[cold]
    fn from(error: oxmpi_core::Error) -> Failure {
        Failure::from(error.kind())
    }
}

fn datatype_class(error: &DatatypeError) -> i32 {
    match error {
        DatatypeError::Negative {
            argument: "count", ..
        } => MPI_ERR_COUNT,
        DatatypeError::Overflow { .. } => MPI_ERR_TYPE,
        _ => MPI_ERR_ARG,
    }
}

fn op_class(error: &OpError) -> i32 {
    match error {
        OpError::Unsupported { .. } => MPI_ERR_UNSUPPORTED_OPERATION,
        _ => MPI_ERR_OP,
    }
}

fn buffer_class(error: &BufferError) -> i32 {
    match error {
        BufferError::Null { .. } => MPI_ERR_BUFFER,
        BufferError::Uncommitted { .. } => MPI_ERR_TYPE,
        BufferError::TooLarge { .. } => MPI_ERR_COUNT,
        BufferError::Memory { .. } => MPI_ERR_NO_MEM,
    }
}

fn engine_class(error: &EngineError) -> i32 {
    match error.fault() {
        Fault::Truncated { .. } => MPI_ERR_TRUNCATE,
        // A process that cannot be reached any more is as good as ended, and mostly it has.
        Fault::PeerDied { .. } | Fault::Unreachable { .. } => MPI_ERR_PROC_ABORTED,
        Fault::Memory { .. } => MPI_ERR_NO_MEM,
        Fault::UnknownRequest { .. } => MPI_ERR_REQUEST,
        _ => MPI_ERR_INTERN,
    }
}

fn communicator_class(error: &CommunicatorError) -> i32 {
    match error {
        CommunicatorError::NotInCommunicator { .. } | CommunicatorError::NotInGroup { .. } => {
            MPI_ERR_GROUP
        }
        CommunicatorError::Leader { .. } => MPI_ERR_RANK,
        CommunicatorError::NoTopology { .. } => MPI_ERR_TOPOLOGY,
        CommunicatorError::SplitType { .. } => MPI_ERR_ARG,
        CommunicatorError::LeaderFailed { .. } => MPI_ERR_OTHER,
        _ => MPI_ERR_COMM,
    }
}

fn topology_class(error: &TopologyError) -> i32 {
    match error {
        TopologyError::NegativeDimension { .. }
        | TopologyError::NotDivisible { .. }
        | TopologyError::DimensionNotPositive { .. }
        | TopologyError::TooManyPlaces { .. } => MPI_ERR_DIMS,
        TopologyError::RankOutOfRange { .. } => MPI_ERR_RANK,
        TopologyError::NeighbourOutOfRange { .. } => MPI_ERR_RANK,
        _ => MPI_ERR_ARG,
    }
}

fn window_class(error: &WindowError) -> i32 {
    match error {
        WindowError::Rank { .. } => MPI_ERR_RANK,
        WindowError::Displacement { .. } | WindowError::Unit { .. } => MPI_ERR_DISP,
        WindowError::Range { .. } | WindowError::NotAttached { .. } => MPI_ERR_RMA_RANGE,
        WindowError::NoEpoch { .. }
        | WindowError::Epoch { .. }
        | WindowError::Locked { .. }
        | WindowError::NotLocked { .. } => MPI_ERR_RMA_SYNC,
        WindowError::Size { .. } => MPI_ERR_SIZE,
        WindowError::Null { .. } => MPI_ERR_ARG,
        WindowError::Overlap { .. } | WindowError::Detach { .. } | WindowError::InUse { .. } => {
            MPI_ERR_RMA_ATTACH
        }
        WindowError::Flavor { .. } => MPI_ERR_RMA_FLAVOR,
        WindowError::NotShared { .. } => MPI_ERR_RMA_SHARED,
        WindowError::Length { .. }
        | WindowError::Mixed { .. }
        | WindowError::Elements { .. }
        | WindowError::CompareType { .. } => MPI_ERR_TYPE,
        WindowError::UserOp | WindowError::NoOp => MPI_ERR_OP,
        WindowError::Group { .. } => MPI_ERR_GROUP,
        _ => MPI_ERR_OTHER,
    }
}

fn file_class(error: &FileError) -> i32 {
    match error.fault {
        FileFault::NoSuchFile => MPI_ERR_NO_SUCH_FILE,
        FileFault::Exists => MPI_ERR_FILE_EXISTS,
        FileFault::Access => MPI_ERR_ACCESS,
        FileFault::BadName => MPI_ERR_BAD_FILE,
        FileFault::InUse => MPI_ERR_FILE_IN_USE,
        FileFault::ReadOnly => MPI_ERR_READ_ONLY,
        FileFault::NoSpace => MPI_ERR_NO_SPACE,
        FileFault::Quota => MPI_ERR_QUOTA,
        FileFault::Amode => MPI_ERR_AMODE,
        FileFault::NotSame => MPI_ERR_NOT_SAME,
        FileFault::Unsupported => MPI_ERR_UNSUPPORTED_OPERATION,
        FileFault::Argument => MPI_ERR_ARG,
        FileFault::NoRepresentation => MPI_ERR_UNSUPPORTED_DATAREP,
        FileFault::RepresentationExists => MPI_ERR_DUP_DATAREP,
        FileFault::Conversion => MPI_ERR_CONVERSION,
        FileFault::Memory => MPI_ERR_NO_MEM,
        // Also of a filetype's placement: the standard names no class for it, programs know ROMIO's.
        _ => MPI_ERR_IO,
    }
}

fn kind_class(kind: &ErrorKind) -> i32 {
    match kind {
        ErrorKind::Engine(error) => engine_class(error),
        ErrorKind::Buffer(error) => buffer_class(error),
        ErrorKind::Communicator(error) => communicator_class(error),
        ErrorKind::Topology(error) => topology_class(error),
        ErrorKind::Window(error) => window_class(error),
        ErrorKind::File(error) => file_class(error),
        ErrorKind::FileLoss(loss) => kind_class(&loss.cause),
        ErrorKind::Rank {
            argument: "root", ..
        } => MPI_ERR_ROOT,
        ErrorKind::Rank { .. } => MPI_ERR_RANK,
        ErrorKind::Tag { .. } => MPI_ERR_TAG,
        ErrorKind::Length { .. } | ErrorKind::PerRank { .. } | ErrorKind::Block { .. } => {
            MPI_ERR_COUNT
        }
        ErrorKind::RootBuffer { .. } | ErrorKind::Overlap { .. } => MPI_ERR_BUFFER,
        ErrorKind::BufferedSpace { .. } | ErrorKind::AlreadyAttached => MPI_ERR_BUFFER,
        ErrorKind::Partition { .. } | ErrorKind::PartitionTwice { .. } => MPI_ERR_ARG,
        ErrorKind::PartitionedIntroduction { .. } => MPI_ERR_OTHER,
        ErrorKind::PartitionedInactive | ErrorKind::PartitionedDirection { .. } => MPI_ERR_REQUEST,
        ErrorKind::NotCancellable { .. } => MPI_ERR_REQUEST,
        ErrorKind::WholeElements { .. } => MPI_ERR_TYPE,
        ErrorKind::CollectiveMismatch { expected, got, .. } if got > expected => MPI_ERR_TRUNCATE,
        ErrorKind::CollectiveMismatch { .. } => MPI_ERR_COUNT,
        ErrorKind::DifferentRoot { .. } | ErrorKind::EarlierRoot { .. } | ErrorKind::InterRoot => {
            MPI_ERR_ROOT
        }
        ErrorKind::DifferentOperation { .. } => MPI_ERR_OP,
        ErrorKind::Op(error) => op_class(error),
        ErrorKind::InPlace { .. } | ErrorKind::SharedBuffer => MPI_ERR_BUFFER,
        ErrorKind::OneGroupOnly { .. } => MPI_ERR_COMM,
        ErrorKind::CancelCollective => MPI_ERR_REQUEST,
        ErrorKind::RequestFailed | ErrorKind::NotPersistent | ErrorKind::AlreadyActive => {
            MPI_ERR_REQUEST
        }
        ErrorKind::Callback { code } => *code,
        ErrorKind::Memory { .. } => MPI_ERR_NO_MEM,
        _ => MPI_ERR_OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_pointer() {
        assert_eq!(size_of::<Result<(), Failure>>(), size_of::<usize>());
    }

    #[test]
    fn classes_are_those_the_standard_names() {
        let rank = |argument| ErrorKind::Rank {
            argument,
            rank: 9,
            size: 4,
        };
        assert_eq!(Failure::from(rank("root")).code(), MPI_ERR_ROOT);
        assert_eq!(Failure::from(rank("dest")).code(), MPI_ERR_RANK);
        assert_eq!(
            Failure::from(ErrorKind::Tag { tag: -9 }).code(),
            MPI_ERR_TAG
        );
        assert_eq!(Failure::from(InfoError::EmptyKey).code(), MPI_ERR_INFO_KEY);
    }

    #[test]
    fn mistakes_with_windows_have_the_classes_of_the_chapter() {
        let class = |error: WindowError| Failure::from(ErrorKind::Window(error)).code();
        let (rank, size, target) = (4, 4, 1);
        assert_eq!(class(WindowError::Rank { rank, size }), MPI_ERR_RANK);
        assert_eq!(class(WindowError::NoEpoch { target }), MPI_ERR_RMA_SYNC);
        assert_eq!(class(WindowError::Size { bytes: -1 }), MPI_ERR_SIZE);
        assert_eq!(class(WindowError::Unit { unit: 0 }), MPI_ERR_DISP);
        assert_eq!(
            class(WindowError::Detach { address: 8 }),
            MPI_ERR_RMA_ATTACH
        );
        assert_eq!(class(WindowError::UserOp), MPI_ERR_OP);
    }

    #[test]
    fn a_lost_process_is_an_ended_one_and_is_named() {
        let fault = Fault::Unreachable {
            rank: 0,
            peer: 3,
            host: "b".into(),
            reason: "the connection ended without a goodbye".into(),
        };
        let failure = Failure::from(EngineError::from(fault));
        assert_eq!(failure.code(), MPI_ERR_PROC_ABORTED);
        assert!(
            failure.text().contains("rank 3 on host b"),
            "{}",
            failure.text()
        );
    }
}
