//! MPI's two queues: receives that were posted before their message came, and messages that came
//! before their receive was posted (unexpected).
//!
//! This layer uses `wire` for the envelope and an allocator for its tables; it does no I/O, knows
//! no clock and contains no unsafe code, so that the library, the simulator and a kernel module run
//! the same queues. The engine calls it under its own lock, hands in what it wants to remember (`P`
//! of a posted receive, `U` of an unexpected message) and gets it back when the two meet.
//!
//! What it promises:
//! - MPI 5.0 §3.5, non-overtaking: a message meets the receive posted first among those that accept
//!   it, a receive meets the message that arrived first among those it accepts, wildcards included;
//! - the cost of an operation does not depend on how many entries do not match, whichever fields
//!   they share with the one that does;
//! - no allocation while the queues hold no more than [`Capacity`] says; beyond it tables double;
//! - never more than [`Capacity::unexpected_max`] unexpected messages;
//! - an id whose entry is gone is answered with `None`, for ever;
//! - with a random [`Seed`], the same for whatever keys a peer chooses.
//!
//! How: an index (`index.rs`) keeps a first-in-first-out list per key, found by hash. A posted
//! receive is in one list, under its pattern; an arriving message looks under the four patterns
//! that accept it (classes nobody uses cost one comparison) and takes the one with the lowest
//! stamp. An unexpected message is in one list per class of pattern, of which only the exact one is
//! kept until a wildcard needs another (`unexpected.rs`). `examples/cost.rs` measures all of it.
//!
//! ```
//! use oxmpi_matching::{Capacity, Pattern, Post, Queues};
//! use oxmpi_wire::{Content, Envelope};
//!
//! let mut queues: Queues<&str, Vec<u8>> = Queues::new(Capacity::default());
//! let hello = Envelope { context: 0, source: 3, tag: 7, content: Content::new(5, 0) };
//!
//! // Nobody waits for it: the message is kept until a receive asks for it.
//! assert!(queues.arrive(&hello).is_none());
//! queues.store(hello, b"hello".to_vec()).unwrap();
//! let any = Pattern { context: 0, source: None, tag: None, signature: 0 };
//! let Post::Matched { unexpected, truncated, .. } = queues.post(any, 4, "first") else { panic!() };
//! assert!(unexpected == b"hello" && truncated);
//!
//! // The other way round: the receive waits for the message.
//! assert!(matches!(queues.post(any, 64, "second"), Post::Queued(_)));
//! assert_eq!(queues.arrive(&hello).unwrap().posted, "second");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod index;
mod pattern;
mod posted;
mod queues;
mod run;
mod slab;
mod unexpected;

pub use pattern::{Pattern, Seed};
pub use posted::{Matched, PostedId};
pub use queues::{Capacity, Counters, Post, Queues};
pub use unexpected::{Full, UnexpectedId};
