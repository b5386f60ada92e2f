//! The progress half of the engine: carrying out what the protocol decides, and waiting.
//!
//! `handler` moves packets and bytes, `remote` those of other hosts, `entries` knows which receives a driver in the kernel has, `places` who is where; `wait` decides whether a waiting thread spins, yields or sleeps; `driver` runs
//! the handler while the application computes; `lock` guards the handler, `shared` is the waiting loop around it,
//! `sleepers` knows whom to wake, `bed` is where a thread sleeps.

mod area;
mod bed;
mod driver;
mod entries;
mod extents;
mod handler;
mod lock;
mod places;
mod preemption;
mod rates;
mod remote;
mod shared;
mod sleepers;
mod wait;

pub use area::Area;
pub(crate) use bed::Bed;
pub(crate) use driver::Driver;
pub(crate) use entries::Receive;
pub(crate) use extents::Extents;
pub(crate) use handler::Handler;
pub use handler::Transport;
pub use lock::Threads;
pub(crate) use places::Places;
pub(crate) use remote::Remote;
pub use shared::{Background, Condition};
pub(crate) use shared::{Guard, Outside, Shared};
pub(crate) use wait::WaitPolicy;
