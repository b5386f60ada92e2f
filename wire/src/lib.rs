//! Every header OxMPI puts on a wire or into shared memory, in one place.
//!
//! This is the lowest layer. It uses nothing, does no I/O, allocates nothing and contains no unsafe
//! code, so that the library, the simulator and a kernel module compile the same bytes. Nobody else
//! knows an offset: the engine builds a [`Repr`] and emits it, or parses one out of received bytes.
//! Frames of the network below it are in [`frame`], streams of packets in [`stream`].
//!
//! What it promises:
//! - arbitrary bytes give a [`Repr`] or a [`WireError`] that names the offending values, never a
//!   panic;
//! - a [`Repr`] can hold only legal states, and survives emit and parse unchanged;
//! - the layout is the field table in [`packet`], pinned by golden bytes in `tests/golden.rs`. It
//!   changes only together with [`VERSION`], and other versions are refused. Kinds may be added
//!   within a version: [`code`] says what a receiver does with one that it does not know.
//!
//! What it leaves to the engine: a fragment's offset and payload are not compared with the length
//! of the message, because the payload's length is known only to the device that delivered it.
//!
//! ```
//! use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};
//!
//! let message = Repr {
//!     envelope: Envelope { context: 2, source: 1, tag: 7, content: Content::new(4096, 0) },
//!     sequence: 9,
//!     credit: 0,
//!     kind: Kind::Eager,
//! };
//! let mut cell = [0; PREFIX_BYTES];
//! let used = message.emit_prefix(&mut cell);
//! assert_eq!(used, message.bytes_on_wire());
//! assert_eq!(Repr::parse_prefix(&cell), Ok(message));
//! ```
#![no_std]
#![forbid(unsafe_code)]

pub mod code;
mod content;
mod error;
pub mod frame;
mod kind;
pub mod o2g;
pub mod packet;
mod repr;
pub mod stream;

pub use code::{Code, flag, reason};
pub use content::{Content, MESSAGE_BYTES_MAX};
pub use error::WireError;
pub use kind::{Kind, Unknown};
pub use packet::Packet;
pub use repr::{Eager, Envelope, More, Repr};

/// The layout version this build speaks; a header with any other one is refused.
pub const VERSION: u8 = 3;

/// Bytes of the header that every packet starts with.
pub const HEADER_BYTES: usize = 32;

/// Most bytes a kind's body may take behind the header: three 64-bit words.
pub const BODY_MAX: usize = 24;

/// Header and the largest body: 56 bytes, which with an 8-byte stamp before them fill exactly one
/// 64-byte cache line of a ring cell.
pub const PREFIX_BYTES: usize = HEADER_BYTES + BODY_MAX;

/// Bytes that one unit of the header's credit field gives back. A cache line: no eager message
/// takes less of a ring.
pub const CREDIT_UNIT: u64 = 64;

/// Most units that one packet gives back, 4 MiB; more than that takes a further packet.
pub const CREDIT_MAX: u32 = u16::MAX as u32;

const _: () = assert!(PREFIX_BYTES + 8 == 64);
