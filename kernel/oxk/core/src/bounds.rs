//! How large an endpoint may become.

use oxmpi_wire::CREDIT_UNIT;

use crate::peer::RECORD_UNITS;

/// Most requests of an endpoint: 2^20 take about 220 MiB. The loss of a peer looks at each of them,
/// which takes some milliseconds then.
pub const REQUESTS_MAX: u32 = 1 << 20;
/// Most peers of an endpoint.
pub const PEERS_MAX: u32 = 1 << 16;
/// Fewest bytes of window per peer: four messages without bytes, so that one is left when a quarter
/// of the window has not been told.
pub const WINDOW_BYTES_MIN: u64 = 4 * RECORD_UNITS as u64 * CREDIT_UNIT;
/// Most bytes for unexpected messages: 2^24 units, whose sums stay far below 2^32.
pub const UNEXPECTED_BYTES_MAX: u64 = 1 << 30;

/// How large an endpoint may become; all of it is taken when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Sends and receives under way at once.
    pub requests: u32,
    /// Peers at once.
    pub peers: u32,
    /// Memory for messages that no receive waits for, shared out evenly among the peers.
    pub unexpected_bytes: u64,
    /// Longest message that is sent without asking, if the peer has room for it.
    pub eager_bytes: u32,
    /// Unexpected messages are shown to a handler first.
    pub handler: bool,
}
