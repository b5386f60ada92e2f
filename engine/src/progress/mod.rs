//! The progress half of the engine: carrying out what the protocol decides, and waiting.
//!
//! `handler` has all of it: `intake` is what comes in, `outlet` what goes out, `waiters` who waits.
//! What carries packets: `ports` on this host, `remote` between hosts; `places` says who is where,
//! `memory` where bytes belong, `entries` which receives a driver in the kernel has, `faults` what
//! went wrong, `learned` what was found out about copying, `rails` in which order packets of two
//! rails come. `wait` decides whether a waiting thread spins, yields or sleeps, `vain` whether one
//! that looks in a loop yields; `driver` runs the handler while the application computes; `lock`
//! guards it, `shared` is the waiting loop around it, `sleepers` knows whom to wake, `bed` is where a
//! thread sleeps.

mod area;
mod bed;
mod driver;
mod entries;
mod extents;
mod faults;
mod handler;
mod intake;
mod learned;
mod lock;
mod memory;
mod outlet;
mod places;
mod ports;
mod preemption;
mod rails;
mod rates;
mod remote;
mod shared;
mod sleepers;
mod transport;
mod vain;
mod wait;
mod waiters;

pub use area::{Area, Spread};
pub(crate) use bed::Bed;
pub(crate) use driver::Driver;
pub(crate) use entries::Receive;
pub(crate) use extents::Extents;
pub(crate) use handler::Handler;
pub use learned::Learned;
pub use lock::Threads;
pub(crate) use places::Places;
pub(crate) use remote::Remote;
pub use shared::{Background, Condition};
pub(crate) use shared::{Guard, Outside, Shared};
pub use transport::Transport;
pub(crate) use wait::{WaitPolicy, comes_true_soon};
pub use waiters::Work;
