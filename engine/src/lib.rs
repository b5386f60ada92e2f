//! The protocol handler: MPI's receive queues, eager and rendezvous, flow control, and who runs them when.
//!
//! Two halves. [`protocol`] decides and is pure; the simulator runs it as it is. [`progress`] holds the devices, the lock, the
//! waiting and the driver thread, and carries out what the protocol says. [`Engine`] is the face of both.
//!
//! The engine uses `wire`, `matching` and `ports`, and knows processes, contexts and tags; communicators, datatypes and
//! collectives live above it. It promises MPI's matching order, progress whether the application calls or computes
//! ("reap or interrupt"), and an error instead of silence when a peer is gone.

mod boards;
mod engine;
mod error;
mod introduce;
mod join;
mod look;
mod options;
#[forbid(unsafe_code)]
pub mod path;
mod port_buffer;
pub mod progress;
#[forbid(unsafe_code)]
pub mod protocol;
mod several;

pub use engine::{Engine, Request};
pub use error::{EngineError, Fault};
pub use introduce::ProcessId;
pub use join::{Network, Seat};
pub use options::{Options, OptionsError, Progress, WaitMode};
pub use oxmpi_matching::Pattern;
pub use oxmpi_net::transport::Counters as NetworkCounters;
pub use oxmpi_ports::Death;
pub use oxmpi_ports::board::{Board, Ticket};
pub use oxmpi_wire::Envelope;
pub use port_buffer::{InPlace, PortBuffer};
pub use progress::{Area, Background, Condition, Spread, Threads, Transport};
pub use protocol::{Claim, Completion, Mode, RequestId};
pub use several::{Several, keep_first};
