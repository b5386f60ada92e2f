//! Networks between hosts: TCP, UDP and raw Ethernet.
//!
//! The layer carries packets (a `wire` header and a payload) between processes that share no
//! memory. It knows addresses, sockets and the job's key; it knows nothing of matching or requests.
//! It uses `wire` for heads, `link` for frames, and `o2g` where a driver in the kernel reads the
//! connections.
//!
//! [`transport`] is what the engine sees of all of them. [`tcp`] has a connection for each pair of
//! processes; [`pm`] is the PM protocol's endpoint over a [`device`] that carries frames; `both` is
//! PM with TCP beside it for what is long;
//! [`choice`] finds the network that works for all hosts of a job.
//!
//! Before two processes exchange a packet, four things happen, each in its own module: [`address`]
//! finds out what this host can be reached by and under which [`address::Policy`], a [`Card`]
//! carries that to the others through the launcher, `address` again decides in which order a
//! dialler tries a card's addresses, and [`handshake`] makes both ends prove that they know the
//! [`JobKey`].

#![deny(unsafe_code)]

pub mod address;
mod both;
mod bpf;
pub mod choice;
pub mod device;
mod event;
mod introductions;
pub mod pm;
pub mod seal;
pub mod tcp;
pub mod transport;

pub use address::card::{self, Card};
pub use oxmpi_handshake::{self as handshake, JobKey, key};
