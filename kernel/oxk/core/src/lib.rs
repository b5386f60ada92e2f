//! The decisions of oxk.ko: endpoints by which kernel code sends and receives messages.
//!
//! This layer uses `wire` and, for the carrier PM, `link`; it does no I/O, calls nobody back and compiles for the host, where its
//! tests are. The module's C shim has the sockets, pages, work items and locks.
//!
//! ```text
//!   send ────▶ queue of the peer ─▶ poll_send ─▶ shim writes head, pages ─▶ sent ─▶ next_completed
//!   receive ─▶ posted, by bits and mask ◀── match ◀── feed ◀── segment
//!                    │                        │ none
//!                    ▼                        ▼
//!              Step::Place,             Step::Unexpected,
//!              the shim copies          the handler is asked
//!                    │ placed                 │ verdict: leave (or take, into)
//!                    ▼                        ▼
//!              next_completed ◀─ copied ◀─ next_copy, next_piece: memory of the endpoint
//! ```
//!
//! The calls, all under the endpoint's lock: [`Endpoint::open`]; for each peer
//! [`Endpoint::connect`] and [`Endpoint::connected`], or [`Endpoint::accepted`], then
//! [`Endpoint::feed`] with what arrives and [`Endpoint::poll_send`] while the connection takes
//! more, [`Endpoint::lost`] when it ends and [`Endpoint::forget`]; at any time [`Endpoint::send`],
//! [`Endpoint::receive`], [`Endpoint::cancel`] and [`Endpoint::probe`]; after each of these
//! [`Endpoint::next_copy`], [`Endpoint::poll_send`] and [`Endpoint::next_completed`] until they
//! have nothing; [`Endpoint::close`].
//!
//! Packets are those of [`oxmpi_wire`], in its streams. What endpoints make of them:
//! - the match bits are the envelope's context; source and tag are 0 and not looked at;
//! - a stream begins with a `Credit` packet each way: nobody may send a message before. A message
//!   costs [`RECORD_UNITS`], an eager one also a unit for each 64 bytes begun ([`eager_units`]);
//! - an eager message is one packet. Longer ones, synchronous ones, and those for which credit is
//!   short are a `RequestToSend`, answered by `ClearToSend` when it is matched. `Data` follows in
//!   order; a message without bytes is over by the answer alone;
//! - `Done` answers an offer whose bytes nobody wants; `Cancel` is answered by `CancelReply` if the
//!   offer was not matched, and otherwise by the `ClearToSend` or `Done` that is on its way;
//! - kinds that endpoints do not serve are refused as [`oxmpi_wire::code`] says.
//!
//! What it promises:
//! - nothing is allocated after `open`, and no bytes of a peer make it panic;
//! - messages of a peer are matched in the order in which they were sent, each with the oldest
//!   receive that accepts it;
//! - a peer has at most its window of records and memory, whatever it writes and however often it
//!   comes back;
//! - every request is over exactly once, unless it is cancelled, and never while its memory is read
//!   or written;
//! - a lost peer fails what it was concerned in and nothing else. Messages of it that have come
//!   whole can still be received.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bits;
mod bounds;
mod endpoint;
mod error;
mod list;
mod peer;
pub mod pm;
mod pool;
mod reader;
mod receive;
mod records;
mod requests;
mod send;

pub use bits::{BitsQueues, FULL, Full, MASKS_MAX, PostedId, Seed, UnexpectedId};
pub use bounds::{Bounds, PEERS_MAX, REQUESTS_MAX, UNEXPECTED_BYTES_MAX, WINDOW_BYTES_MIN};
pub use endpoint::{Endpoint, Found};
pub use error::{
    CancelError, ECANCELED, ECONNRESET, EMSGSIZE, EPROTO, ESHUTDOWN, OpenError, PeerError,
    RequestError, VerdictError,
};
pub use oxmpi_wire::stream::GOODBYE;
pub use peer::{RECORD_UNITS, eager_units};
pub use reader::{Awaited, Fed, Step};
pub use receive::{Piece, Verdict};
pub use requests::{Completion, PeerToken, Status, Token};
pub use send::{DATA_BYTES_MAX, Payload, Transmit};
