//! What a link has counted: for `oxmpi pmtest`, for people who ask why, and for tests.

use crate::Refusal;

/// Counts since the link was made; frames unless something else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages given to [`send`](crate::Link::send).
    pub messages_out: u64,
    /// Messages delivered wholly.
    pub messages_in: u64,
    /// Data sent for the first time.
    pub data_out: u64,
    /// Data delivered.
    pub data_in: u64,
    /// Data sent again.
    pub repeats: u64,
    /// Time-outs after which data was sent again.
    pub timeouts: u64,
    /// Time-outs that turned out to have been too early: the frames had arrived.
    pub timeouts_spurious: u64,
    /// Acknowledgements sent by themselves.
    pub acks_out: u64,
    /// Acknowledgements that came by themselves.
    pub acks_in: u64,
    /// LOSE sent.
    pub lose_out: u64,
    /// LOSE that came.
    pub lose_in: u64,
    /// STOP sent.
    pub stop_out: u64,
    /// STOP that came.
    pub stop_in: u64,
    /// GO sent.
    pub go_out: u64,
    /// GO that came.
    pub go_in: u64,
    /// Probes sent.
    pub probe_out: u64,
    /// Probes that came.
    pub probe_in: u64,
    /// Data that was there already.
    pub duplicates: u64,
    /// Data that came before an earlier frame.
    pub out_of_order: u64,
    /// Of those, kept until the earlier frame came.
    pub kept: u64,
    /// Refused: not a frame of this version.
    pub refused_frame: u64,
    /// Refused: other nodes or another channel.
    pub refused_address: u64,
    /// Refused: no checksum, or one that does not fit; sealed where no frame is, or not sealed
    /// where every frame is.
    pub refused_checksum: u64,
    /// Refused: impossible acknowledgement, pieces or kind.
    pub refused_content: u64,
    /// Smoothed round trip in nanoseconds, 0 before the first.
    pub round_trip_ns: u64,
    /// Least round trip of late in nanoseconds, 0 before the first.
    pub round_trip_ns_least: u64,
    /// Frames that may be in flight at present.
    pub window_frames: u32,
}

impl Counters {
    pub(crate) fn count_refusal(&mut self, refusal: &Refusal) {
        let counter = match refusal {
            Refusal::Frame(_) => &mut self.refused_frame,
            Refusal::Node { .. } | Refusal::Channel { .. } => &mut self.refused_address,
            Refusal::Unchecked | Refusal::Checksum { .. } | Refusal::Seal { .. } => {
                &mut self.refused_checksum
            }
            Refusal::Kind | Refusal::Ack { .. } | Refusal::Pieces { .. } => {
                &mut self.refused_content
            }
        };
        *counter += 1;
    }

    /// All frames refused, for whatever reason.
    pub fn refused(&self) -> u64 {
        self.refused_frame + self.refused_address + self.refused_checksum + self.refused_content
    }
}
