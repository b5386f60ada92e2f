//! What the core refuses, one enum per operation, and the errnos that requests end with.
//! `docs/oxk.md` says what to do about them.

use core::fmt;

/// errno of what the caller took back.
pub const ECANCELED: u32 = 125;
/// errno of a message that is longer than the receive's memory.
pub const EMSGSIZE: u32 = 90;
/// errno of what a peer was concerned in that said goodbye.
pub const ECONNRESET: u32 = 104;
/// errno of what a peer was concerned in that wrote what no endpoint writes.
pub const EPROTO: u32 = 71;
/// errno of what was open when its endpoint was closed.
pub const ESHUTDOWN: u32 = 108;

/// Why there is no endpoint with these bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// Not between 1 and [`REQUESTS_MAX`](crate::REQUESTS_MAX).
    Requests {
        /// What was asked for.
        requests: u32,
    },
    /// Not between 1 and [`PEERS_MAX`](crate::PEERS_MAX).
    Peers {
        /// What was asked for.
        peers: u32,
    },
    /// Less than [`WINDOW_BYTES_MIN`](crate::WINDOW_BYTES_MIN) for each peer, or more than
    /// [`UNEXPECTED_BYTES_MAX`](crate::UNEXPECTED_BYTES_MAX) in all.
    Unexpected {
        /// What was asked for.
        bytes: u64,
        /// For how many peers.
        peers: u32,
    },
    /// More than one packet carries.
    Eager {
        /// What was asked for.
        bytes: u32,
    },
}

/// Why a request was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// As many as the endpoint was opened for are under way.
    Full,
    /// There is no such peer, or no longer.
    Peer,
    /// No message is that long.
    Long {
        /// The length.
        bytes: u64,
    },
    /// The endpoint is closed.
    Closed,
}

/// Why there is no further peer, or why one is not forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// As many as the endpoint was opened for are there.
    Full,
    /// There is no such peer.
    Unknown,
    /// It is not lost, or bytes of it are being placed.
    Busy,
    /// The endpoint is closed.
    Closed,
}

/// Why a request was not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelError {
    /// Its message is arriving or leaving. It will be over by itself; an offer is taken back, if
    /// the peer has not matched it.
    Again,
    /// There is no such request, or it is over.
    Unknown,
}

/// Why a verdict was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictError {
    /// No message of this peer waits for a verdict.
    Unasked,
    /// There is no request for the memory that was named; leave or take the message.
    Full,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Requests { requests } => {
                write!(
                    f,
                    "{requests} requests; ask for 1 to {}",
                    crate::REQUESTS_MAX
                )
            }
            OpenError::Peers { peers } => {
                write!(f, "{peers} peers; ask for 1 to {}", crate::PEERS_MAX)
            }
            OpenError::Unexpected { bytes, peers } => write!(
                f,
                "{bytes} bytes for unexpected messages of {peers} peers; ask for at least {} for \
                 each and at most {} in all",
                crate::WINDOW_BYTES_MIN,
                crate::UNEXPECTED_BYTES_MAX
            ),
            OpenError::Eager { bytes } => {
                let most = oxmpi_wire::stream::PAYLOAD_MAX;
                write!(f, "eager messages of {bytes} bytes; ask for at most {most}")
            }
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Full => f.write_str(
                "all requests of the endpoint are under way; wait for one, or open it for more",
            ),
            RequestError::Peer => f.write_str("the peer is lost or was never there; connect again"),
            RequestError::Long { bytes } => write!(f, "{bytes} bytes are more than a message has"),
            RequestError::Closed => f.write_str("the endpoint is closed"),
        }
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PeerError::Full => {
                "all peers of the endpoint are taken; forget one, or open it for more"
            }
            PeerError::Unknown => "there is no such peer",
            PeerError::Busy => "the peer is not lost, or its bytes are being placed",
            PeerError::Closed => "the endpoint is closed",
        })
    }
}

impl fmt::Display for CancelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CancelError::Again => "the message is arriving or leaving; wait for the request",
            CancelError::Unknown => "there is no such request, or it is over",
        })
    }
}

impl fmt::Display for VerdictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VerdictError::Unasked => "no message of this peer waits for a verdict",
            VerdictError::Full => "no request is left for the memory; leave the message or take it",
        })
    }
}

impl core::error::Error for OpenError {}
impl core::error::Error for RequestError {}
impl core::error::Error for PeerError {}
impl core::error::Error for CancelError {}
impl core::error::Error for VerdictError {}
