//! The Rust half of oxk.ko: `oxmpi-oxk-core` and `oxmpi-handshake` with the C faces that
//! `kernel/oxk/shim/core.h` declares.
//!
//! Nothing is decided here. `faces.rs`, `handshake.rs` and `pm.rs` turn pointers into references and errors into errnos;
//! `kernel/runtime` has the allocator and the end of panics.
#![no_std]

extern crate alloc;
extern crate kernel_runtime as _;

mod faces;
mod handshake;
mod pm;
