//! oxfs: a folder of one host, used from others.
//!
//! `oxmpi fs serve` is the server; the other commands of `oxmpi fs` are a client in user space, and
//! the kernel module oxfs.ko is another. They speak the protocol of `kernel/include/oxfs.h` over
//! endpoints of `oxk`, which is all that this layer uses. `docs/oxfs.md` says what it offers.
//!
//! [`protocol`] has the messages, [`server`] what is done for clients, [`client`] how to ask for it,
//! [`command`] the words of the command line.

#![deny(unsafe_code)]

pub mod client;
pub mod command;
pub mod key;
pub mod protocol;
pub mod server;
mod sys;

pub use command::main;
