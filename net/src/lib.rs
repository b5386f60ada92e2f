//! Devices that leave the host: TCP, and later UDP and raw Ethernet.
//!
//! The layer carries packets (a `wire` header and a payload) between processes of a job that share no memory. It knows addresses,
//! sockets and the job's key; it knows nothing of matching or requests. It uses `wire` only.
//!
//! Before two processes exchange a packet, four things happen, each in its own module: [`address`] finds out what this host can be
//! reached by and under which [`address::Policy`], a [`Card`] carries that to the others through the launcher, `address` again decides in
//! which order a dialler tries a card's addresses, and [`handshake`] makes both ends prove that they know the [`JobKey`].

#![deny(unsafe_code)]

pub mod address;
pub mod card;
pub mod choice;
pub mod device;
pub mod handshake;
pub mod key;
pub mod pm;
pub mod tcp;
pub mod transport;

pub use card::Card;
pub use key::JobKey;
