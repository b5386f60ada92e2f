//! Why received bytes are not a packet of this version.
//!
//! Written out by hand rather than derived: this crate has no dependencies (see `Cargo.toml`), and
//! five texts do not pay for one. The texts are pinned in `tests/golden.rs`.

use core::fmt;

use crate::VERSION;

/// Bytes that are not a packet; each variant carries what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Fewer bytes than the header, or than the header and the body its kind calls for.
    Short {
        /// Bytes that were given.
        found: usize,
        /// Bytes that the header, or the header and this kind's body, take.
        needed: usize,
    },
    /// The sender speaks another version of the layout.
    Version {
        /// The version byte that was found.
        found: u8,
    },
    /// The kind byte is one that no version has.
    Kind {
        /// The kind byte that was found.
        found: u8,
    },
    /// Flags are set that the kind does not have.
    Flags {
        /// The kind byte, which is a legal one.
        kind: u8,
        /// All flags that were found.
        found: u8,
        /// The flags this kind may carry.
        allowed: u8,
    },
    /// The body has values where the kind has none.
    Body {
        /// The kind byte, which is a legal one.
        kind: u8,
    },
}

impl fmt::Display for WireError {
    #[cold]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WireError::Short { found, needed } => write!(
                f,
                "packet of {found} bytes is cut short: its header and body take {needed}; the \
                 sender or the device between lost the rest"
            ),
            WireError::Version { found } => write!(
                f,
                "packet has layout version {found}, this build speaks version {VERSION}; start \
                 every rank of the job with the same OxMPI release"
            ),
            WireError::Kind { found } => write!(
                f,
                "packet has kind {found:#04x}, which is none; the bytes are damaged or do not come \
                 from OxMPI"
            ),
            WireError::Flags {
                kind,
                found,
                allowed,
            } => write!(
                f,
                "packet of kind {kind:#04x} has flags {found:#04x} instead of some of {allowed:#04x}; \
                 the bytes are damaged or do not come from OxMPI"
            ),
            WireError::Body { kind } => write!(
                f,
                "packet of kind {kind:#04x} has values in parts of its body that it does not use; \
                 the bytes are damaged or do not come from OxMPI"
            ),
        }
    }
}

impl core::error::Error for WireError {}
