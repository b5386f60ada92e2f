//! Why a process cannot join its job.

use oxmpi_net::choice::{DecideError, EquipError, ModeError};
use oxmpi_net::seal::differing;
use oxmpi_net::tcp::DriverError;
use oxmpi_pmi::PmiError;
use oxmpi_ports::SegmentError;
use oxmpi_settings::SettingError;

use crate::identity::IdentityError;

/// Why a process cannot join its job.
#[derive(Debug, thiserror::Error)]
pub enum WireUpError {
    /// The environment contradicts itself.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The launcher's protocol does not work.
    #[error(transparent)]
    Pmi(#[from] PmiError),
    /// The driver that was asked for cannot be used.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The launcher of a job on several hosts left no line to it.
    #[error(
        "rank {rank} of {size} shares its host with {ports} ranks of the job, and nothing tells where the others are: PMI_FD is missing; was the program started through a wrapper that closes descriptors or clears the environment?"
    )]
    NoLauncher {
        /// This rank.
        rank: u32,
        /// The job's.
        size: u32,
        /// Ports of the inherited segment.
        ports: u32,
    },
    /// The two descriptions of this process differ.
    #[error(
        "OXMPI_RANK={rank} of {size}, but the launcher's protocol says {pmi_rank} of {pmi_size}: unset the variables of one of the two launchers"
    )]
    TwoLaunchers {
        /// By our environment.
        rank: u32,
        /// By our environment.
        size: u32,
        /// By PMI.
        pmi_rank: u32,
        /// By PMI.
        pmi_size: u32,
    },
    /// The memory of the host's ranks cannot be made or used.
    #[error("rank {rank} on host {host}: {error}")]
    Segment {
        /// This rank.
        rank: u32,
        /// Its host.
        host: String,
        /// Why.
        error: SegmentError,
    },
    /// The memory of the host's ranks cannot be reached.
    #[error(
        "rank {rank} on host {host} cannot open the memory it is to share with rank {leader} ({what}: {error}): are both in one container and of one user? OXMPI_SHARED_MEMORY=off makes ranks of one host talk by the network"
    )]
    Neighbour {
        /// This rank.
        rank: u32,
        /// Its host.
        host: String,
        /// Whose memory it is.
        leader: u32,
        /// What was opened.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// Nobody could reach this process.
    #[error("rank {rank} on host {host}: {error}")]
    Equip {
        /// This rank.
        rank: u32,
        /// Its host.
        host: String,
        /// Why.
        error: EquipError,
    },
    /// A setting.
    #[error(transparent)]
    Mode(ModeError),
    /// The network that was asked for does not work.
    #[error(transparent)]
    Network(DecideError),
    /// The same, at a rank that was only told.
    #[error("rank {rank} cannot join the job: {why}")]
    Refused {
        /// This rank.
        rank: u32,
        /// What rank 0 found.
        why: String,
    },
    /// Rank 0 ended while the job was wired up.
    #[error(
        "rank {rank} cannot join the job: rank 0 ended before it told {key}; the launcher says how it ended"
    )]
    FirstGone {
        /// This rank.
        rank: u32,
        /// What only rank 0 tells.
        key: &'static str,
    },
    /// One of two encrypts.
    #[error(
        "rank {rank} on {host} cannot join the job: {}", differing("rank 0", *.encrypted)
    )]
    Encryption {
        /// This rank.
        rank: u32,
        /// Its host.
        host: String,
        /// Whether it is rank 0 that encrypts.
        encrypted: bool,
    },
    /// Something that another rank told makes no sense.
    #[error(
        "rank {rank} told {key}={value}, which makes no sense: {why}; do all ranks run the same OxMPI version?"
    )]
    Told {
        /// Who told it.
        rank: u32,
        /// Under which key.
        key: &'static str,
        /// What.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// A system call failed.
    #[error("rank {rank} on host {host} cannot {what}: {error}")]
    System {
        /// This rank.
        rank: u32,
        /// Its host.
        host: String,
        /// What it did.
        what: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SettingError),
}
