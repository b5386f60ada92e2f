//! What the engine reports, with the facts a person needs. MPI's error classes are assigned in the
//! layers above.

use oxmpi_ports::{Death, SegmentError};

/// An operation, or the engine itself, failed. One word long, because it stands in the result of
/// every call.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct EngineError(Box<Fault>);

impl EngineError {
    /// What went wrong, with the facts.
    pub fn fault(&self) -> &Fault {
        &self.0
    }
}

impl From<Fault> for EngineError {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault))
    }
}

/// What went wrong.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// A message was longer than the buffer given for it.
    #[error(
        "rank {rank} received a message of {bytes} bytes from rank {source_rank} with tag {tag} into a buffer of {capacity} bytes: \
         the first {capacity} bytes were delivered; give a larger buffer or probe for the length first"
    )]
    Truncated {
        /// Who received.
        rank: u32,
        /// Who sent, as a rank of the communicator.
        source_rank: u32,
        /// The tag.
        tag: i32,
        /// The message's length.
        bytes: u64,
        /// The buffer's.
        capacity: u64,
    },
    /// A process that this one waits for is gone.
    #[error("rank {rank} waits for rank {peer} on host {host}, which {}", .death.map_or("has finalised".to_string(), |death| death.to_string()))]
    PeerDied {
        /// Who waited.
        rank: u32,
        /// Who is gone.
        peer: u32,
        /// Where it ran.
        host: String,
        /// How it ended; `None`: it finalised.
        death: Option<Death>,
    },
    /// A process on another host cannot be reached, or not any more.
    #[error("rank {rank} has lost rank {peer} on host {host}: {reason}")]
    Unreachable {
        /// Who noticed.
        rank: u32,
        /// Who is lost.
        peer: u32,
        /// Where it runs.
        host: String,
        /// What happened, with addresses.
        reason: String,
    },
    /// The network could not be used.
    #[error("rank {rank} on host {host} cannot use the network: {reason}")]
    Network {
        /// Who.
        rank: u32,
        /// Where.
        host: String,
        /// The cause.
        reason: String,
    },
    /// Shared memory could not be had.
    #[error("rank {rank} on host {host}: {reason}")]
    Memory {
        /// Who.
        rank: u32,
        /// Where.
        host: String,
        /// The cause.
        reason: String,
    },
    /// A process sent something that no engine sends; nothing more is taken from it.
    #[error(
        "rank {rank} on host {host} takes nothing more from rank {peer}, which sent what no OxMPI process sends: {reason}; \
         do all ranks run the same OxMPI version?"
    )]
    Protocol {
        /// Who.
        rank: u32,
        /// Where.
        host: String,
        /// From whom.
        peer: u32,
        /// What.
        reason: String,
    },
    /// More unexpected messages than a process can keep.
    #[error(
        "rank {rank} on host {host} has {messages} messages that it did not receive, and rank {peer} sends another one; \
         receive more often or send less ahead"
    )]
    UnexpectedFull {
        /// Who.
        rank: u32,
        /// Where.
        host: String,
        /// From whom.
        peer: u32,
        /// How many.
        messages: usize,
    },
    /// A request that is over, or was never begun here.
    #[error("rank {rank}: the request is not known: it is over, or belongs to another process")]
    UnknownRequest {
        /// Who.
        rank: u32,
    },
}

impl EngineError {
    pub(crate) fn memory(rank: u32, host: &str, error: &SegmentError) -> Self {
        Fault::Memory {
            rank,
            host: host.into(),
            reason: error.to_string(),
        }
        .into()
    }
}
