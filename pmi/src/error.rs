//! What can go wrong between a rank and the launcher that started it.

use crate::message::FormatError;

/// Why the launcher's protocol did not work.
#[derive(Debug, thiserror::Error)]
pub enum PmiError {
    /// A variable of the environment does not hold what its protocol says.
    #[error(
        "{variable}={value} in the environment is not {expected}: start the program with mpiexec, srun or mpirun, or unset {variable} to run it alone"
    )]
    Variable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A setting makes no sense.
    #[error(transparent)]
    Setting(#[from] oxmpi_settings::SettingError),
    /// A launcher sets several variables, and only some are here.
    #[error(
        "{present} is set in the environment but {absent} is not: the program was not started by the launcher that set it; start it with mpiexec or srun, or unset {present} to run it alone"
    )]
    Incomplete {
        /// A variable that is set.
        present: &'static str,
        /// One that should be, too.
        absent: &'static str,
    },
    /// OXMPI_PMI asks for a protocol that no launcher offers here.
    #[error(
        "OXMPI_PMI={protocol} asks for a launcher's protocol that nobody offers here: {missing} is not set"
    )]
    NotOffered {
        /// The protocol asked for.
        protocol: &'static str,
        /// The variable by which a launcher offers it.
        missing: &'static str,
    },
    /// The descriptor is not open in this process.
    #[error(
        "PMI_FD={fd} is not an open descriptor here ({error}): a program that a rank starts cannot be a rank of the same job, and neither can one whose wrapper closes descriptors; unset PMI_FD to run it alone"
    )]
    Descriptor {
        /// The descriptor's number.
        fd: i32,
        /// What the system said.
        error: std::io::Error,
    },
    /// The process speaks to its launcher already.
    #[error(
        "this process already is a client of its launcher: there is one PMI connection for a process"
    )]
    Taken,
    /// The launcher's port does not answer.
    #[error(
        "the launcher at PMI_PORT={address} cannot be reached ({error}): is the host of mpiexec reachable from {host}, and does a firewall permit the port?"
    )]
    Unreachable {
        /// Address and port the launcher named.
        address: String,
        /// This host.
        host: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The connection to the launcher broke.
    #[error(
        "the connection to the launcher broke during {doing} ({error}): has mpiexec or srun been killed?"
    )]
    Broken {
        /// The operation.
        doing: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// The launcher closed the connection.
    #[error("the launcher closed the connection during {doing}: it has ended, or it ends the job")]
    Closed {
        /// The operation.
        doing: &'static str,
    },
    /// The launcher's bytes are no message of the protocol.
    #[error("the launcher's answer to {doing} cannot be read: {error}")]
    Garbled {
        /// The operation.
        doing: &'static str,
        /// What is wrong with it.
        error: Garbled,
    },
    /// The launcher answers something else.
    #[error("the launcher answered {doing} with {answer:?} where {expected} was due")]
    Unexpected {
        /// The operation.
        doing: &'static str,
        /// What was due.
        expected: &'static str,
        /// What came.
        answer: String,
    },
    /// The launcher says no.
    #[error("the launcher refused {doing}: {text}")]
    Refused {
        /// The operation.
        doing: &'static str,
        /// Its code and reason.
        text: String,
    },
    /// Rank and size contradict each other.
    #[error(
        "the launcher says this is rank {rank} of {size}: ranks go from 0 to size - 1, and a job has at most {} ranks",
        crate::RANKS_MAX
    )]
    OutOfRange {
        /// The rank.
        rank: u32,
        /// The size.
        size: u32,
    },
    /// Nothing was put under this key.
    #[error(
        "rank {rank} has put nothing under {key:?}: does it run the same library, and has it reached the fence?"
    )]
    NotThere {
        /// The rank asked for.
        rank: u32,
        /// The key asked for.
        key: String,
    },
    /// The value in the launcher's hands is not one that a client of this kind put.
    #[error("what rank {rank} has put under {key:?} is not whole: {value:?}")]
    NotWhole {
        /// The rank asked for.
        rank: u32,
        /// The key asked for.
        key: String,
        /// What stands there.
        value: String,
    },
    /// A key that the protocols cannot carry.
    #[error(
        "{key:?} cannot be a key: letters, digits, '-', '_' and '.' can, and with the rank at most {bytes_max} of them"
    )]
    Key {
        /// The key.
        key: String,
        /// The longest the launcher takes.
        bytes_max: usize,
    },
    /// A value that the protocols cannot carry.
    #[error(
        "the value of {key:?} cannot be put ({bytes} bytes): visible ASCII without ';' and '\\' can, up to about {bytes_max} bytes"
    )]
    Value {
        /// The key.
        key: String,
        /// The value's length.
        bytes: usize,
        /// The longest the launcher takes.
        bytes_max: usize,
    },
    /// The launcher's host map cannot be read.
    #[error("the launcher's PMI_process_mapping {mapping:?} cannot be read: {reason}")]
    Mapping {
        /// The map.
        mapping: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The PMIx library is not here.
    #[error(
        "PMIX_NAMESPACE={namespace} says that a PMIx launcher (srun --mpi=pmix, prterun, Open MPI's mpirun) started this rank, but libpmix.so.2 cannot be loaded ({reason}): install it (Debian and Ubuntu: libpmix2, Fedora and RHEL: pmix), or name the file in OXMPI_LIBPMIX, or start the program with srun --mpi=pmi2 or OxMPI's mpiexec"
    )]
    PmixMissing {
        /// The job's name.
        namespace: String,
        /// What the loader said.
        reason: String,
    },
    /// The PMIx library is not for privileged programs.
    #[error(
        "PMIX_NAMESPACE={namespace} says that a PMIx launcher (srun --mpi=pmix, prterun, Open MPI's mpirun) started this rank, but the program has privileges that its caller does not have (setuid, setgid or file capabilities, as getcap shows), and libpmix loads what the environment names: it is not loaded; start the program with srun --mpi=pmi2 or OxMPI's mpiexec, or run a copy of it without privileges"
    )]
    PmixPrivileged {
        /// The job's name.
        namespace: String,
    },
    /// The library lacks a function.
    #[error("{library} has no function {symbol}: is it libpmix of PMIx 3 or later?")]
    PmixSymbol {
        /// The library.
        library: String,
        /// The function.
        symbol: &'static str,
    },
    /// The library is too old.
    #[error(
        "{library} is of PMIx {version}, and 3 or later is needed: name another in OXMPI_LIBPMIX, or start the program with srun --mpi=pmi2 or OxMPI's mpiexec"
    )]
    PmixVersion {
        /// The library.
        library: String,
        /// Its version.
        version: String,
    },
    /// A PMIx function failed.
    #[error("{call} of {version} failed with {status} ({text}){hint}")]
    Pmix {
        /// The function.
        call: &'static str,
        /// The library's version.
        version: String,
        /// Its status.
        status: i32,
        /// The library's name for the status.
        text: String,
        /// What to try; empty, or begins with a colon.
        hint: &'static str,
    },
}

/// What is wrong with a message of the launcher.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Garbled(#[from] FormatError);

impl PmiError {
    pub(crate) fn garbled(doing: &'static str) -> impl Fn(FormatError) -> PmiError {
        move |error| PmiError::Garbled {
            doing,
            error: Garbled(error),
        }
    }
}
