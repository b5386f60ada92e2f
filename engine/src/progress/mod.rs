//! The progress half of the engine: carrying out what the protocol decides, and waiting.
//!
//! `handler` moves packets and bytes; `wait` decides whether a waiting thread spins, yields or sleeps; `driver` runs
//! the handler while the application computes; `lock` guards the handler, `shared` is the waiting loop around it, and
//! `sleepers` knows whom to wake.

mod area;
mod driver;
mod extents;
mod handler;
mod lock;
mod rates;
mod shared;
mod sleepers;
mod wait;

pub use area::Area;
pub(crate) use driver::Driver;
pub(crate) use extents::Extents;
pub(crate) use handler::Handler;
pub use handler::Transport;
pub use lock::Threads;
pub use shared::{Background, Condition};
pub(crate) use shared::{Guard, Outside, Shared};
pub(crate) use wait::WaitPolicy;
