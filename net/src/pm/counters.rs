//! What the endpoint has counted: the sums over its conversations and devices, and what only it can
//! see.

use oxmpi_link::Forgery;

use super::Pm;
use crate::device;

/// What has been counted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Sums over all conversations; round trip and window are the longest and the widest at
    /// present.
    pub link: oxmpi_link::Counters,
    /// Sums over all devices.
    pub device: device::Counters,
    /// Processes that frames were exchanged with.
    pub peers: u64,
    /// Frames that do not prove their sender, frames of strangers, and what is no frame at all.
    pub forged: u64,
    /// Frames that were here before, or came too late to tell.
    pub replayed: u64,
    /// Batches that the kernel did not take all of.
    pub blocked: u64,
    /// Silent processes that were asked after.
    pub liveness: u64,
}

impl Counters {
    #[cold]
    pub(super) fn count_forgery(&mut self, forgery: Forgery) {
        match forgery {
            Forgery::Replay { .. } => self.replayed += 1,
            Forgery::Short | Forgery::Tag => self.forged += 1,
        }
    }
}

impl Pm {
    /// What has been counted.
    pub fn counters(&self) -> Counters {
        let mut all = self.counters;
        for conversation in self.conversations() {
            add_link(&mut all.link, conversation.link.counters());
        }
        for line in &self.lines {
            add_device(&mut all.device, &line.device.counters());
        }
        all
    }
}

/// Adds every field named; the compiler says if one was forgotten.
macro_rules! add {
    ($kind:path, $to:ident, $from:ident, sums: $($sum:ident)*, greatest: $($greatest:ident)*) => {{
        let $kind { $($sum,)* $($greatest,)* } = *$from;
        $( $to.$sum += $sum; )*
        $( $to.$greatest = $to.$greatest.max($greatest); )*
    }};
}

pub(super) fn add_link(to: &mut oxmpi_link::Counters, from: &oxmpi_link::Counters) {
    add!(oxmpi_link::Counters, to, from,
        sums: messages_out messages_in data_out data_in repeats timeouts timeouts_spurious acks_out acks_in lose_out lose_in stop_out stop_in
            go_out go_in probe_out probe_in duplicates out_of_order kept refused_frame refused_address refused_checksum refused_content,
        greatest: round_trip_ns round_trip_ns_least window_frames);
}

fn add_device(to: &mut device::Counters, from: &device::Counters) {
    add!(device::Counters, to, from,
        sums: frames_out bytes_out frames_in bytes_in sends receives receives_empty overruns faults,
        greatest:);
}
