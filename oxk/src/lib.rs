//! Endpoints of oxk in user space: what oxk.ko gives code inside the kernel, for programs.
//!
//! An [`Endpoint`] sends and receives messages that are matched by 64 bits and a mask. The decisions
//! are `oxmpi_oxk_core`'s, the same that the module uses; this layer has the sockets, the memory of
//! requests and one thread for each endpoint. The handshake and the key are `oxmpi_handshake`'s. What
//! is on the wire is in `docs/oxk.md`.
//!
//! - [`connection`] dials, or answers at a [`Listener`]; both ends prove that they know the key.
//! - [`Endpoint`] takes proven connections as peers. Who sends writes to the socket itself while it
//!   takes bytes; the endpoint's thread reads, and writes what a full socket has left over.
//! - Payload goes between the socket and the memory of its request, without a copy between.
//!
//! What it promises: every request that was made is over once, or is cancelled; its memory comes
//! back with it. Completions are called with no lock held and may make requests. Nothing spins.

#![deny(unsafe_code)]

pub mod connection;
mod driver;
mod endpoint;
mod poller;
mod state;

pub use connection::{Connection, DialError, Listener};
pub use endpoint::{Endpoint, OpenError, Pending, Unsent};
pub use oxmpi_handshake::JobKey;
pub use oxmpi_oxk_core::{
    Bounds, CancelError, ECANCELED, ECONNRESET, EMSGSIZE, EPROTO, ESHUTDOWN, FULL, Found,
    PeerError, PeerToken, RequestError, Status, Token,
};
pub use state::{Answer, Arrival, Completed, Done, Handlers};
