//! Why a frame was not believed. Nothing of a refused frame has any effect but one counter.

use core::fmt;

use oxmpi_wire::frame::FrameError;

/// A frame that is not, or cannot be, of this conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not a frame of this version.
    Frame(FrameError),
    /// Between other nodes.
    Node {
        /// Name that the frame gives its sender.
        name: u32,
        /// Destination the frame names.
        to: u32,
    },
    /// For another channel.
    Channel {
        /// Channel the frame names.
        found: u16,
        /// Our channel.
        expected: u16,
    },
    /// No checksum, on a link where every frame has one.
    Unchecked,
    /// The checksum does not fit: damaged on the way.
    Checksum {
        /// What the frame carries.
        found: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// Sealed on a link where no frame is, or the other way round.
    Seal {
        /// Whether the frame is sealed.
        found: bool,
    },
    /// A kind that belongs to wire-up and not to a link.
    Kind,
    /// It acknowledges frames that were never sent.
    Ack {
        /// The acknowledgement.
        found: u32,
        /// Number of the next frame we shall send.
        next: u32,
    },
    /// The payload is not a run of pieces that continues the stream.
    Pieces {
        /// Number of the frame.
        sequence: u32,
    },
}

impl fmt::Display for Refusal {
    #[cold]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Frame(error) => error.fmt(f),
            Refusal::Node { name, to } => {
                write!(
                    f,
                    "frame from node {name} to node {to} does not belong to this link"
                )
            }
            Refusal::Channel { found, expected } => {
                write!(
                    f,
                    "frame is for channel {found}, this is channel {expected}"
                )
            }
            Refusal::Unchecked => {
                f.write_str("frame has no checksum, which every frame on this link carries")
            }
            Refusal::Checksum { found, computed } => write!(
                f,
                "frame was damaged on the way: checksum {found:#010x}, its bytes give {computed:#010x}"
            ),
            Refusal::Seal { found: true } => {
                f.write_str("frame is encrypted, which no frame on this link is")
            }
            Refusal::Seal { found: false } => {
                f.write_str("frame is not encrypted, which every frame on this link is")
            }
            Refusal::Kind => f.write_str("frame of wire-up on a link that is wired up"),
            Refusal::Ack { found, next } => write!(
                f,
                "frame acknowledges up to {found}, but the next frame to be sent is {next}"
            ),
            Refusal::Pieces { sequence } => write!(
                f,
                "payload of frame {sequence} is not a run of pieces that continues the stream"
            ),
        }
    }
}

impl core::error::Error for Refusal {}
