//! Devices that leave the host: TCP, and later UDP and raw Ethernet.
//!
//! The layer carries packets (a `wire` header and a payload) between processes of a job that share no memory. It knows addresses,
//! sockets and the job's key; it knows nothing of matching or requests. It uses `wire` only.

#![deny(unsafe_code)]
