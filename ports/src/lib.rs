//! User-level ports between the processes of one host.
//!
//! A job's processes on a host share one [`Segment`], a memfd that only they can reach. Each
//! process owns a *port* in it: one ring per sender that really talks to it, a doorbell, and boards
//! for small collectives. A sender writes into the receiver's ring; the receiver polls the few
//! rings that are *hot* and finds all others through a bitmap, so the work per message does not
//! grow with the number of senders. Nobody pays for waking a receiver that is awake.
//!
//! The layer knows bytes and process numbers, nothing of MPI. It uses no layer below it. It
//! promises: messages of one sender arrive once and in order; a sender killed at any instruction
//! leaves at most an unpublished slot, which nobody ever sees; memory is touched only for pairs
//! that talk; nothing outlives the processes.
//!
//! Walk: [`layout`] (where everything lies) → [`Segment`] (memory and who lives in it) → [`ring`]
//! (one sender, one receiver) → [`doorbell`] (finding work, sleeping, waking) → [`Port`] (the whole
//! of it) → [`board`], [`extent`], [`fetch`], [`turn_lock`].

#[cfg(not(loom))]
pub mod board;
pub mod copy;
pub mod doorbell;
#[cfg(not(loom))]
pub mod extent;
#[cfg(not(loom))]
pub mod fetch;
pub mod filling;
#[cfg(not(loom))]
pub mod layout;
#[cfg(not(loom))]
mod membarrier;
#[cfg(not(loom))]
mod port;
pub mod ring;
#[cfg(not(loom))]
mod segment;
pub mod sync;
pub mod turn_lock;

#[cfg(not(loom))]
pub use port::{Arrival, Port, PortError};
pub use ring::{Full, PREFIX_BYTES};
#[cfg(not(loom))]
pub use segment::{Death, PortState, Segment, SegmentError};
