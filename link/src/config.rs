//! What both sides of a link agree on before they speak, and the limits within which they may.
//!
//! Nothing here is negotiated on the wire: the endpoint above gives both sides the same figures,
//! only `me`/`peer`, the names and the channels are mirrored.

use oxmpi_wire::frame::PIECE_HEADER_BYTES;

/// Most frames in flight: the bitmap of a selective acknowledgement is then at most 512 bytes,
/// which fit the smallest frames in use, and 4096 is also what an Ethernet receive ring holds, so a
/// larger window could not be kept anywhere.
pub const WINDOW_FRAMES_MAX: u32 = 4096;

/// Frames that arrive without a word from us before they are acknowledged although nobody asked: as
/// many as two or three segmented UDP sends carry, so that a stream costs one small frame for
/// several large calls.
pub const ACK_FRAMES_MAX: u32 = 128;

/// Later frames that must have arrived before a missing one counts as lost rather than reordered
/// (selective repeat only): TCP's and QUIC's figure, RFC 5681 and RFC 9002.
pub const REORDER_FRAMES: u32 = 3;

/// A message begins in the rest of a frame only if it fits wholly or by at least this much, so that
/// the head of a packet of the layer above (60 bytes) is never cut in two.
pub const START_BYTES_MIN: usize = 64;

/// Who sends a message of this many frames waits for its memory: its last frame asks for the
/// acknowledgement.
pub const ASK_FRAMES_MIN: usize = 8;

/// How lost frames are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// PM's way: the receiver takes only the expected frame, and the sender goes back to the lost
    /// one. No memory, no reordering; for Ethernet.
    GoBackN,
    /// The receiver keeps later frames and says which; the sender repeats what is missing. For
    /// networks that lose or reorder.
    Selective,
}

/// What a link is told when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// This node: where frames that arrive go to.
    pub me: u32,
    /// The node at the other side: where frames that leave go to.
    pub peer: u32,
    /// The name that the peer has given this node: written into every frame.
    pub name_out: u32,
    /// The name that this node has given the peer: expected in every frame.
    pub name_in: u32,
    /// The peer's channel: written into every frame.
    pub channel_out: u16,
    /// Our channel: expected in every frame.
    pub channel_in: u16,
    /// Most payload of a frame, piece headers included: the device's longest frame less the frame
    /// header.
    pub payload_bytes_max: usize,
    /// Most frames in flight. With several peers, their windows together should fit the device's
    /// receive buffer.
    pub window_frames_max: u32,
    /// How lost frames are repeated; both sides alike.
    pub recovery: Recovery,
    /// Whether the window also obeys congestion, for networks with other people's traffic.
    pub congestion: bool,
    /// Whether every frame carries, and must carry, a CRC32C.
    pub checked: bool,
    /// Whether every frame is, and must be, sealed: encrypted by the endpoint.
    pub sealed: bool,
    /// STOP when this many frames wait in the device. What is in flight when STOP leaves still
    /// arrives, so the device needs room for the windows of all peers above this mark:
    /// `backlog_high + peers * window_frames_max <= slots`.
    pub backlog_high: usize,
    /// GO when no more than this many frames wait.
    pub backlog_low: usize,
    /// Shortest time-out before an unacknowledged frame is repeated.
    pub rto_ns_min: u64,
    /// Longest time-out, reached by doubling.
    pub rto_ns_max: u64,
    /// How long an acknowledgement may wait for data that carries it.
    pub ack_delay_ns: u64,
    /// Number of the first frame, in both directions.
    pub first_sequence: u32,
    /// A peer that owes an answer and is silent for longer is dead. Several `rto_ns_max`, since
    /// repeats become that rare.
    pub dead_after_ns: u64,
    /// Most messages queued or unacknowledged.
    pub messages_max: usize,
}

impl Config {
    /// Figures for ordinary Ethernet frames on a local network; each calls the other by its number.
    /// The caller adds channels, and what it knows better.
    pub fn new(me: u32, peer: u32) -> Config {
        Config {
            me,
            peer,
            name_out: me,
            name_in: peer,
            channel_out: 0,
            channel_in: 0,
            payload_bytes_max: 1400,
            window_frames_max: 256,
            recovery: Recovery::GoBackN,
            congestion: false,
            checked: false,
            sealed: false,
            backlog_high: 1024,
            backlog_low: 256,
            rto_ns_min: 1_000_000,
            rto_ns_max: 500_000_000,
            ack_delay_ns: 200_000,
            first_sequence: 0,
            dead_after_ns: 10_000_000_000,
            messages_max: 1024,
        }
    }

    /// Longest bitmap of a selective acknowledgement.
    pub(crate) const fn bitmap_bytes_max(&self) -> usize {
        match self.recovery {
            Recovery::GoBackN => 0,
            Recovery::Selective => {
                let window = (self.window_frames_max as usize - 1).div_ceil(8);
                if window < self.payload_bytes_max {
                    window
                } else {
                    self.payload_bytes_max
                }
            }
        }
    }

    /// Panics, with the value, on what can only be a mistake of the caller's.
    pub(crate) fn assert_legal(&self) {
        let window = self.window_frames_max;
        assert!(
            (1..=WINDOW_FRAMES_MAX).contains(&window),
            "a window of {window} frames; 1 to {WINDOW_FRAMES_MAX} are possible"
        );
        let payload = self.payload_bytes_max;
        assert!(
            payload > PIECE_HEADER_BYTES && payload <= usize::from(u16::MAX),
            "frames of {payload} bytes of payload; possible are 5 to 65535"
        );
        assert!(
            self.backlog_low < self.backlog_high,
            "the low mark {} must lie below the high mark {}",
            self.backlog_low,
            self.backlog_high
        );
        assert!(
            0 < self.rto_ns_min && self.rto_ns_min <= self.rto_ns_max,
            "time-outs from {} to {} ns",
            self.rto_ns_min,
            self.rto_ns_max
        );
        assert!(self.messages_max > 0, "a queue of no messages");
    }
}
