//! The way in: the two sockets in turn, single frames by short calls and runs by calls that say
//! where their datagrams end; and the error queue.

use std::io;

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, frame_bytes};

use super::socket::{Datagrams, Received};
use super::{REPEATS_MAX, SEGMENTS_MAX, Udp};
use crate::device::sys::Name;

/// Of the two sockets that there may be, the one that spoke last is looked at every time and the
/// other every so many times.
const OTHER_EVERY: u32 = 4;
/// Entries of the error queue read at one go.
const COMPLAINTS_MAX: usize = 256;
/// Frames taken in a row, without a look that found nothing, until the kernel is asked how much
/// more it has: one call of 0.15 µs for so many frames.
const FRAMES_PER_LOOK: u32 = 128;

impl Udp {
    /// Asks the kernel for more; says whether it had something.
    pub(super) fn receive(&mut self) -> bool {
        self.begin = 0;
        self.next = 0;
        self.filled = 0;
        self.looks = self.looks.wrapping_add(1);
        let lane_spoke = self.lane_spoke;
        let both = self.lane.is_some() && self.looks.is_multiple_of(OTHER_EVERY);
        if both && self.receive_by(!lane_spoke) || self.receive_by(lane_spoke) {
            return true;
        }
        self.streaming = false;
        self.waiting_bytes = 0;
        self.taken = 0;
        false
    }

    #[inline]
    fn receive_by(&mut self, by_lane: bool) -> bool {
        let found = if by_lane {
            self.receive_by_lane()
        } else {
            self.receive_by_main()
        };
        if !found {
            self.counters.receives_empty += 1;
            return false;
        }
        self.lane_spoke = by_lane;
        self.streaming |= self.segment < self.filled;
        self.look_now_and_then();
        true
    }

    fn receive_by_lane(&mut self) -> bool {
        let Some(lane) = &self.lane else {
            return false;
        };
        self.counters.receives += 1;
        match receive(&lane.datagrams, self.streaming, &mut self.scratch, None) {
            Ok(Received { bytes, segment }) => {
                (self.filled, self.segment) = (bytes, segment);
                self.from = lane.name;
                true
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    self.abandon_lane(&error);
                }
                false
            }
        }
    }

    fn receive_by_main(&mut self) -> bool {
        for _ in 0..REPEATS_MAX {
            self.counters.receives += 1;
            let from = Some(&mut self.from);
            match receive(&self.datagrams, self.streaming, &mut self.scratch, from) {
                Ok(Received { bytes, segment }) => {
                    (self.filled, self.segment) = (bytes, segment);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Bad news about a datagram that left earlier; reading the queue makes way.
                Err(_) => _ = self.hear_complaints(),
            }
        }
        false
    }

    #[inline]
    fn look_now_and_then(&mut self) {
        self.taken += 1.max(self.filled / self.segment.max(1)) as u32;
        if self.taken >= FRAMES_PER_LOOK {
            self.taken = 0;
            let by = match &self.lane {
                Some(lane) if self.lane_spoke => &lane.datagrams,
                _ => &self.datagrams,
            };
            self.waiting_bytes = by.memory().map_or(0, |(used, _)| used);
        }
    }

    #[inline]
    pub(super) fn show_next(&mut self) {
        self.begin = self.next;
        self.next = self.filled.min(self.begin + self.segment);
        self.counters.frames_in += 1;
        self.counters.bytes_in += (self.next - self.begin) as u64;
    }

    /// Reads the error queue; says whether there was anything in it.
    #[cold]
    pub(super) fn hear_complaints(&mut self) -> bool {
        for heard in 0..COMPLAINTS_MAX {
            let Some(complaint) = self.datagrams.complaint() else {
                return heard > 0;
            };
            match complaint.errno {
                libc::ECONNREFUSED if complaint.from_network => {
                    complaint
                        .to
                        .into_iter()
                        .for_each(|to| self.note_refused(to));
                }
                libc::EMSGSIZE => {
                    self.lower_to(complaint.mtu);
                    // If even that fails, those frames are lost, and their link says so in the end.
                    let _ = self.datagrams.allow_fragments();
                }
                _ => {}
            }
        }
        true
    }
}

/// Takes a datagram, or a run if they are streaming in, and notes where it is from unless that is
/// known.
#[inline]
fn receive(
    by: &Datagrams,
    streaming: bool,
    into: &mut [u8],
    from: Option<&mut Name>,
) -> io::Result<Received> {
    if streaming {
        return by.receive_run(into, from);
    }
    let bytes = by.receive(into, from)?;
    Ok(Received {
        bytes,
        segment: segment(&into[..bytes]),
    })
}

/// Length of the datagrams that these bytes are a run of, by the word of the first; all of them if
/// that makes no sense.
#[inline]
fn segment(bytes: &[u8]) -> usize {
    let segment = frame_bytes(bytes).unwrap_or(FRAME_HEADER_BYTES);
    if segment * SEGMENTS_MAX < bytes.len() {
        return bytes.len();
    }
    segment.min(bytes.len())
}
