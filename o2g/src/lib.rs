//! The driver /dev/o2g, as a safe library.
//!
//! A [`Device`] is one open file of the driver: a context with its sockets, its posted receives
//! (*entries*) and the memory that it shares with the kernel. The structures are those of
//! [`oxmpi_wire::o2g`]; `docs/o2g.md` explains each request. This crate knows nothing of MPI and
//! nothing of `net`, which uses it.
//!
//! Call order: [`Device::open`], [`Device::init`], [`Device::set_dump_area`]; then
//! [`Device::register_socket`] and [`Device::put_entry`] as needed. News are read without a system
//! call: [`Device::done`] for an entry, [`Device::peek`] and [`Device::advance`] for records;
//! [`Device::wait`] sleeps until there is one.
//!
//! What it promises: whatever the kernel writes is checked before it is used; a record of nonsense
//! is a [`RecordError`]. All unsafe code is in the module `sys`, except for the promise that
//! [`Device::put_entry`] asks of its caller.
#![deny(unsafe_code)]

mod device;
mod error;
pub mod request;
#[allow(unsafe_code)]
mod sys;

pub use device::{Cancel, Device, Put};
pub use error::{
    CancelError, CountError, DumpAreaError, DumperError, Foreign, ForgetError, FreeError,
    InitError, OpenError, PutError, RecordError, RegisterError, WaitError,
};
pub use oxmpi_wire::o2g::{Counters, Done, Entry, RecordKind};
pub use sys::{Area, RecordView};

/// Where the driver is found.
pub const PATH: &str = "/dev/o2g";
