//! The Rust half of o2g.ko: `oxmpi-o2g-core` with the C faces that `kernel/shim/core.h` declares.
//!
//! Nothing is decided here. `faces.rs` turns pointers into references and errors into errnos;
//! `kernel/runtime` has the allocator and the end of panics.
#![no_std]

extern crate alloc;
extern crate kernel_runtime as _;

mod faces;
