//! The decisions of o2g.ko: MPI's two queues inside TCP's protocol handler.
//!
//! This layer uses `wire` and `matching`; it does no I/O, calls nobody back and compiles for the
//! host, where its tests are. The module's C shim (`kernel/shim`) has the sockets, pages, threads
//! and locks, and asks through the thin C faces of `kernel/module`:
//!
//! ```text
//!   segment ──▶ begin, feed ──▶ head complete? ──▶ matching: an entry accepts it ──▶ Step::Place ─▶ shim copies ─▶ placed
//!                  ▲                                   │ none                                                       │
//!                  └── rest of the segment             ▼                                                            ▼
//!   put, cancel, free_to ─────────────────▶  dump area: records, payload                              record, flag DONE, slot released
//! ```
//!
//! The calls, all under the context's lock: [`Core::with_seed`], [`Core::set_area`]; for each
//! socket [`Core::open_socket`], then runs of [`Core::begin`] and [`Core::feed`] (after
//! [`Step::Place`] the copy, without the lock, and [`Core::placed`]), [`Core::end`] at the end of
//! the stream and [`Core::close_socket`]; at any time [`Core::put`], [`Core::cancel`],
//! [`Core::free_to`] and [`Core::next_released`]; whenever the stream is at rest, [`Core::answer`]
//! and [`Core::answered`].
//!
//! What it promises:
//! - nothing is allocated after `with_seed`, and no bytes of a peer or of the process make it
//!   panic;
//! - the stream's order is the order of matching and of records; a message meets the entry that
//!   MPI's rules demand;
//! - a packet that is placed has room for its record before the first byte is copied; where there
//!   is no room the head stays in the socket ([`Step::Stop`]);
//! - an entry's memory is written only between its match and its end, and its slot is released
//!   exactly once after that.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

mod answers;
mod area;
mod context;
mod entries;
mod error;
mod reader;
mod route;
mod socket;

pub use answers::{ANSWER_BYTES, Reply};
pub use area::Area;
pub use context::Core;
pub use error::{AreaError, CancelError, FreeError, NewError, OpenError, PutError};
pub use oxmpi_matching::Seed;
pub use reader::{Answer, Step};
pub use socket::SOFTIRQ_BYTES_MAX;
