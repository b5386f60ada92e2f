//! Windows without I/O: what origins ask of a target whose memory they do not map, and what the
//! target makes of it.
//!
//! What the layer is: the requests and how they travel ([`message`]), which of them an origin holds
//! back and when they leave ([`batch`]), the target's side that does them in order ([`service`]),
//! how the lock of a rank is had in the name of another, also after a holder has died ([`lock`]),
//! and which memory of a process others may use ([`region`]). What it uses: `oxmpi-datatypes` for
//! the names of types and operations, and the lock words of `oxmpi-ports`. What it promises: no memory of a window is touched and no message sent
//! here; both are the caller's ([`service::Hands`]). So the library (with engine requests) and the
//! simulator (with simulated links and memory) run the same code.
#![forbid(unsafe_code)]

pub mod batch;
mod element;
pub mod lock;
pub mod message;
pub mod region;
pub mod service;

pub use element::Element;

/// Whether others may hold a lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// MPI_LOCK_SHARED.
    Shared,
    /// MPI_LOCK_EXCLUSIVE.
    Exclusive,
}
