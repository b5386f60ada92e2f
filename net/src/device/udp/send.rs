//! The way out: batches as runs of frames, by the lane if there is one to that peer, and what the
//! kernel's refusals mean.

use std::io;
use std::net::SocketAddr;

use super::lane::Lane;
use super::{REPEATS_MAX, RUN_BYTES_MAX, SEGMENTS_MAX, Udp};
use crate::device::Batch;
use crate::device::sys::{COPIED_BYTES_MAX, Name, gather};

/// Pieces of memory that the kernel takes in one call (UIO_MAXIOV).
const PIECES_MAX: usize = 1024;

impl Udp {
    /// Gives the frames to the kernel; see [`crate::device::Device::send`].
    pub(super) fn send_batch(&mut self, address: &SocketAddr, batch: &Batch) -> io::Result<usize> {
        let name = self.datagrams.name(address);
        let mut by_lane = self.has_lane(address);
        let mut sent = 0;
        let mut repeats = 0;
        // The kernel has refused a run, and whether because it is one shows when its first frame is
        // tried alone.
        let mut doubted = false;
        while sent < batch.len() {
            let run = if doubted { 1 } else { self.run(batch, sent) };
            let to = (!by_lane).then_some(&name);
            let Err(error) = self.send_run(to, batch, sent, run) else {
                let bytes: usize = (sent..sent + run)
                    .map(|frame| batch.frame_bytes(frame))
                    .sum();
                self.counters.frames_out += run as u64;
                self.counters.bytes_out += bytes as u64;
                sent += run;
                self.segments &= !doubted;
                continue;
            };
            let code = error.raw_os_error().unwrap_or(0);
            if matches!(code, libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) {
                break;
            }
            if by_lane {
                self.abandon_lane(&error);
                by_lane = false;
                continue;
            }
            repeats += 1;
            if repeats <= REPEATS_MAX && (self.hear_complaints() || code == libc::EINTR) {
                doubted = false;
                continue;
            }
            let run_refused = matches!(
                code,
                libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOPROTOOPT | libc::EMSGSIZE
            );
            if run > 1 && run_refused {
                doubted = true;
                continue;
            }
            if sent == 0 {
                return Err(error);
            }
            break;
        }
        Ok(sent)
    }

    /// Frames from `begin` on that can leave in one call: equally long, only the last may be
    /// shorter.
    #[inline]
    fn run(&self, batch: &Batch, begin: usize) -> usize {
        let segment = batch.frame_bytes(begin);
        // A frame that has become too long for its path is cut up by IP, and that cannot be had
        // together.
        if !self.segments || segment > self.frame_bytes_max {
            return 1;
        }
        let mut bytes = segment;
        let mut end = begin + 1;
        while end < batch.len() && end - begin < SEGMENTS_MAX {
            let next = batch.frame_bytes(end);
            bytes += next;
            let fits = next <= segment
                && bytes <= RUN_BYTES_MAX
                && batch.pieces(begin, end + 1).len() <= PIECES_MAX;
            if !fits {
                break;
            }
            end += 1;
            if next < segment {
                break;
            }
        }
        end - begin
    }

    /// Sends a run; to nobody in particular means by the lane.
    #[inline]
    fn send_run(
        &mut self,
        to: Option<&Name>,
        batch: &Batch,
        begin: usize,
        run: usize,
    ) -> io::Result<()> {
        let pieces = batch.pieces(begin, begin + run);
        self.counters.sends += 1;
        let by = match (to, &self.lane) {
            (None, Some(lane)) => &lane.datagrams,
            _ => &self.datagrams,
        };
        if pieces.len() > PIECES_MAX {
            // Only a run of one can be so.
            batch.copy_frame(begin, &mut self.gathered);
            let whole = libc::iovec {
                iov_base: self.gathered.as_mut_ptr().cast(),
                iov_len: self.gathered.len(),
            };
            return by.send(to, &[whole], None);
        }
        if to.is_none() && run == 1 && batch.frame_bytes(begin) <= COPIED_BYTES_MAX {
            let mut datagram = [0; COPIED_BYTES_MAX];
            let bytes = gather(pieces, &mut datagram);
            return by.send_short(&datagram[..bytes]);
        }
        let segment = (run > 1).then(|| batch.frame_bytes(begin) as u16);
        by.send(to, pieces, segment)
    }

    /// Whether there is a lane to this address, which may be made just now.
    #[inline]
    fn has_lane(&mut self, to: &SocketAddr) -> bool {
        if self.lane.as_ref().is_some_and(|lane| lane.to == *to) {
            self.habit.interrupt();
            return true;
        }
        self.habit.note(to) && self.move_lane(to)
    }

    #[cold]
    fn move_lane(&mut self, to: &SocketAddr) -> bool {
        if self.lane.as_ref().is_some_and(|lane| !lane.is_empty()) {
            return false;
        }
        self.habit.spend();
        self.close_lane();
        let lane = Lane::open(&self.datagrams, self.port, *to);
        self.lane = lane
            .ok()
            .filter(|lane| self.watch.add(lane.datagrams.socket()).is_ok());
        self.lane.is_some()
    }

    fn close_lane(&mut self) {
        if let Some(lane) = self.lane.take() {
            let drops = lane.datagrams.memory().map_or(0, |(_, drops)| drops);
            self.drops_of_lanes += u64::from(drops);
        }
        self.lane_spoke = false;
    }

    /// The lane gives an error: either its peer has closed its port, or the main socket knows
    /// better what to do.
    #[cold]
    pub(super) fn abandon_lane(&mut self, error: &io::Error) {
        if let Some(lane) = &self.lane
            && error.raw_os_error() == Some(libc::ECONNREFUSED)
        {
            let to = lane.to;
            self.note_refused(to);
        }
        self.close_lane();
    }
}
