//! Why received bytes are not a frame of this version; the texts are pinned in `tests/frame.rs`.

use core::fmt;

use super::{FRAME_HEADER_BYTES, FRAME_VERSION};

/// Bytes that are not a frame; each variant carries what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Fewer bytes than the header takes, or the header and the trailer of a sealed frame.
    Short {
        /// Bytes that were given.
        found: usize,
    },
    /// The sender speaks another version of the layout.
    Version {
        /// The version byte that was found.
        found: u8,
    },
    /// The kind byte names no kind of this version.
    Kind {
        /// The kind byte that was found.
        found: u8,
    },
    /// Flags are set that the kind does not have.
    Flags {
        /// The kind byte, which is a legal one.
        kind: u8,
        /// All flags that were found.
        found: u16,
        /// The flags this kind may carry.
        allowed: u16,
    },
    /// The payload is longer or shorter than the header says.
    Length {
        /// Bytes behind the header.
        found: usize,
        /// Bytes that the header speaks of.
        said: usize,
    },
    /// The kind, with these flags, has no payload of this length.
    Payload {
        /// The kind byte, which is a legal one.
        kind: u8,
        /// Bytes of payload.
        bytes: usize,
    },
    /// A field that this kind does not use is not 0.
    Unused {
        /// The kind byte, which is a legal one.
        kind: u8,
    },
}

impl fmt::Display for FrameError {
    #[cold]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FrameError::Short { found } => write!(
                f,
                "{found} bytes are too few for a frame, whose header alone takes {FRAME_HEADER_BYTES}"
            ),
            FrameError::Version { found } => write!(
                f,
                "frame has layout version {found}, this build speaks version {FRAME_VERSION}; start \
                 every rank of the job with the same OxMPI release"
            ),
            FrameError::Kind { found } => write!(
                f,
                "frame has unknown kind {found}, version {FRAME_VERSION} knows 1 to 8"
            ),
            FrameError::Flags {
                kind,
                found,
                allowed,
            } => write!(
                f,
                "frame of kind {kind} has flags {found:#06x}, of which only {allowed:#06x} are legal"
            ),
            FrameError::Length { found, said } => write!(
                f,
                "frame has {found} bytes of payload, but its header says {said}"
            ),
            FrameError::Payload { kind, bytes } => write!(
                f,
                "frame of kind {kind} has {bytes} bytes of payload, which make no sense for it"
            ),
            FrameError::Unused { kind } => write!(
                f,
                "frame of kind {kind} has values in fields that it does not use"
            ),
        }
    }
}

impl core::error::Error for FrameError {}
