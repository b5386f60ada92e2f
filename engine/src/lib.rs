//! The protocol handler: MPI's receive queues, eager and rendezvous, flow control, and who runs
//! them when.
//!
//! [`protocol`] decides and is pure. [`path`] is the way of every packet: it asks the protocol and
//! carries out what it says, for whatever carries packets ([`path::Carrier`]) and wherever their
//! bytes belong ([`path::Memory`]); the simulator runs both halves as they are. [`progress`] holds
//! the carriers of a real process, the lock, the waiting and the driver thread. [`Engine`] is the
//! face of all of it.
//!
//! The engine uses `wire`, `matching`, `ports` and `net`, and knows processes, contexts and tags;
//! communicators, datatypes and collectives live above it. It promises MPI's matching order,
//! progress whether the application calls or computes ("reap or interrupt"), an error instead of
//! silence when a peer is gone, and that a peer which dies or sends garbage fails what needs that
//! peer and nothing else.

mod board_calls;
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
mod window_calls;

pub use engine::{Engine, Request};
pub use error::{EngineError, Fault};
pub use introduce::ProcessId;
pub use join::{JoinFacts, Network};
pub use options::{Options, OptionsError, Progress, WaitMode};
pub use oxmpi_matching::Pattern;
pub use oxmpi_net::transport::Counters as NetworkCounters;
pub use oxmpi_ports::Death;
pub use oxmpi_ports::board::{Board, Ticket};
pub use oxmpi_ports::extent::Mapping;
pub use oxmpi_ports::filling;
pub use oxmpi_ports::sync::full_fence;
pub use oxmpi_ports::turn_lock;
pub use oxmpi_wire::{Content, Envelope, MESSAGE_BYTES_MAX};
pub use port_buffer::{InPlace, PortBuffer};
pub use progress::{Area, Background, Condition, Learned, Spread, Threads, Transport, Work};
pub use protocol::{Claim, Completion, Disagreement, Mode, Notice, RequestId};
pub use several::{Look, Several, keep_first};
pub use window_calls::WaitedForAll;
