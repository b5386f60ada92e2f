//! UDP: frames as datagrams, for any user. One socket serves all peers of a process, of both families.
//!
//! Runs of frames of one length leave in one call (UDP_SEGMENT) and arrive in one (UDP_GRO): that is where the bandwidth comes from. A lone frame
//! costs one call on either side, and so does a look that finds nothing: short calls, which do not say where datagrams of a run end, so that the first run after a silence is
//! cut by what its first frame says of itself (of garbage, `link` then refuses the parts). Datagrams are not cut up on their way; a path that is too narrow makes
//! [`Device::frame_bytes_max`] sink for links that begin later, and frames already cut travel in fragments from then on, because `link` never
//! changes a frame. What ICMP says comes through the socket's error queue, and only "nobody listens at that port" is passed on.

mod lane;
mod socket;

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use super::sys::{Name, Watch};
use super::{Address, Batch, Counters, Device};
use lane::{Habit, Lane};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, LENGTH_OFFSET};
use socket::{Datagrams, Received};

/// Datagrams that the kernel takes in one call: UDP_MAX_SEGMENTS of its first version with UDP_SEGMENT.
const SEGMENTS_MAX: usize = 64;
/// Bytes of them: an IPv4 packet of 65 535 less its headers of 20 and 8.
const RUN_BYTES_MAX: usize = 65_507;
/// Pieces of memory that the kernel takes in one call (UIO_MAXIOV).
const PIECES_MAX: usize = 1024;
/// Longest datagram or run that can arrive: the length field of UDP has 16 bits.
const SCRATCH_BYTES: usize = 65_536;
/// Headers of IP and UDP around a frame.
const HEADERS_V4_BYTES: usize = 20 + 8;
const HEADERS_V6_BYTES: usize = 40 + 8;
/// No path that IP permits is narrower than 576 bytes with IPv4; whoever says so (it may be forged) is not believed.
const MTU_MIN: usize = 576;
/// How often a call is repeated because of bad news about earlier datagrams, which the kernel gives instead of doing what it was asked.
const REPEATS_MAX: usize = 8;
/// Addresses that refused and have not been asked for yet; more are forgotten, as their links notice by themselves.
const REFUSED_MAX: usize = 64;
/// Entries of the error queue read at one go.
const COMPLAINTS_MAX: usize = 256;
/// Frames taken in a row, without a look that found nothing, until the kernel is asked how much more it has: one call of 0.15 µs for so many frames.
const FRAMES_PER_LOOK: u32 = 128;

/// Of the two sockets that there may be, the one that spoke last is looked at every time and the other every so many times.
const OTHER_EVERY: u32 = 4;

/// Why there is no UDP device.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another socket has the port.
    #[error("UDP port {port} of this host is taken; try another")]
    PortTaken {
        /// The port asked for.
        port: u16,
    },
    /// The kernel refuses something.
    #[error("cannot {what} for UDP port {port}: {source}; OXMPI_NET=tcp does without UDP")]
    System {
        /// What was to be done.
        what: &'static str,
        /// The port asked for.
        port: u16,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Which addresses a UDP device can talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// IPv6 and IPv4; IPv4 only where the kernel has no other.
    Both,
    /// IPv4 only: frames may be 20 bytes longer.
    V4,
}

/// The device. See the module.
pub struct Udp {
    /// The socket for everybody.
    datagrams: Datagrams,
    /// The socket for the one that we talk to most.
    lane: Option<Lane>,
    habit: Habit,
    /// Which of them spoke last, and looks at either.
    lane_spoke: bool,
    looks: u32,
    /// Readable when one of them is.
    watch: Watch,
    port: u16,
    frame_bytes_max: usize,
    /// The kernel takes runs of frames.
    segments: bool,
    receive_buffer_bytes: usize,
    /// What the last call received: `filled` bytes, datagrams of `segment` bytes each.
    scratch: Box<[u8]>,
    filled: usize,
    segment: usize,
    /// Runs are coming in: the kernel is asked to tell where their datagrams end.
    streaming: bool,
    /// The frame shown, and where the next begins.
    begin: usize,
    next: usize,
    from: Name,
    refused: VecDeque<Address>,
    /// Bytes that the kernel had for us at the last look, and frames taken since.
    waiting_bytes: usize,
    taken: u32,
    counters: Counters,
    /// The kernel's count of drops has 32 bits: what it said last, and the sum.
    drops: Cell<(u32, u64)>,
    /// What lanes that are closed had dropped.
    drops_of_lanes: u64,
    /// For a frame in more pieces than the kernel takes.
    gathered: Vec<u8>,
}

impl Udp {
    /// A device on `port` (0: any that is free) of all interfaces, over paths with the given MTU.
    pub fn bind(port: u16, mtu: usize, families: Families) -> Result<Udp, BindError> {
        let datagrams = Datagrams::bind(port, families)?;
        let failed = |what| move |source| BindError::System { what, port, source };
        let receive_buffer_bytes = datagrams
            .receive_buffer_bytes()
            .map_err(failed("ask for the receive buffer's size"))?;
        let port = datagrams.port().map_err(failed("ask for the port"))?;
        let watch = Watch::new().map_err(failed("make a descriptor to sleep at"))?;
        watch
            .add(datagrams.socket())
            .map_err(failed("watch the socket"))?;
        let mut udp = Udp {
            datagrams,
            lane: None,
            habit: Habit::new(),
            lane_spoke: false,
            looks: 0,
            watch,
            port,
            frame_bytes_max: RUN_BYTES_MAX,
            segments: true,
            receive_buffer_bytes,
            scratch: vec![0; SCRATCH_BYTES].into_boxed_slice(),
            filled: 0,
            segment: 0,
            streaming: false,
            begin: 0,
            next: 0,
            from: Name::empty(),
            refused: VecDeque::new(),
            waiting_bytes: 0,
            taken: 0,
            counters: Counters::default(),
            drops: Cell::new((0, 0)),
            drops_of_lanes: 0,
            gathered: Vec::new(),
        };
        udp.lower_to(mtu);
        Ok(udp)
    }

    /// The port that others send to.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn lower_to(&mut self, mtu: usize) {
        let headers = if self.datagrams.speaks_both() {
            HEADERS_V6_BYTES
        } else {
            HEADERS_V4_BYTES
        };
        let frame_bytes = mtu.max(MTU_MIN) - headers;
        self.frame_bytes_max = self.frame_bytes_max.min(frame_bytes);
    }

    /// What a frame takes of the receive buffer: the kernel keeps a datagram in memory of the next power of two and adds its own notes.
    fn frame_in_buffer_bytes(&self) -> usize {
        self.frame_bytes_max.next_power_of_two() + 256
    }

    /// Frames from `begin` on that can leave in one call: equally long, only the last may be shorter.
    #[inline]
    fn run(&self, batch: &Batch, begin: usize) -> usize {
        let segment = batch.frame_bytes(begin);
        // A frame that has become too long for its path is cut up by IP, and that cannot be had together.
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

    /// The lane gives an error: either its peer has closed its port, or the main socket knows better what to do.
    #[cold]
    fn abandon_lane(&mut self, error: &io::Error) {
        if let Some(lane) = &self.lane
            && error.raw_os_error() == Some(libc::ECONNREFUSED)
        {
            let to = lane.to;
            self.note_refused(to);
        }
        self.close_lane();
    }

    fn note_refused(&mut self, by: SocketAddr) {
        let by = Address::Udp(by);
        if self.refused.len() < REFUSED_MAX && !self.refused.contains(&by) {
            self.refused.push_back(by);
        }
    }

    /// Reads the error queue; says whether there was anything in it.
    #[cold]
    fn hear_complaints(&mut self) -> bool {
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

    /// Asks the kernel for more; says whether it had something.
    fn receive(&mut self) -> bool {
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
    fn show_next(&mut self) {
        self.begin = self.next;
        self.next = self.filled.min(self.begin + self.segment);
        self.counters.frames_in += 1;
        self.counters.bytes_in += (self.next - self.begin) as u64;
    }
}

/// Takes a datagram, or a run if they are streaming in, and notes where it is from unless that is known.
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

/// Length of the datagrams that these bytes are a run of, by the word of the first; all of them if that makes no sense.
#[inline]
fn segment(bytes: &[u8]) -> usize {
    let length = bytes
        .get(LENGTH_OFFSET..)
        .and_then(|rest| rest.first_chunk());
    let payload = length.map_or(0, |length| usize::from(u16::from_le_bytes(*length)));
    let segment = FRAME_HEADER_BYTES + payload;
    if segment * SEGMENTS_MAX < bytes.len() {
        return bytes.len();
    }
    segment.min(bytes.len())
}

impl Device for Udp {
    fn describe(&self) -> String {
        let families = if self.datagrams.speaks_both() {
            "IPv4 and IPv6"
        } else {
            "IPv4"
        };
        format!(
            "UDP port {} ({families}), frames of up to {} bytes{}",
            self.port,
            self.frame_bytes_max,
            if self.segments { "" } else { ", one per call" }
        )
    }

    fn frame_bytes_max(&self) -> usize {
        self.frame_bytes_max
    }

    fn batch_max(&self) -> (usize, usize) {
        (SEGMENTS_MAX, RUN_BYTES_MAX)
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let Address::Udp(address) = to else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a UDP device cannot send to {to}"),
            ));
        };
        let name = self.datagrams.name(address);
        let mut by_lane = self.has_lane(address);
        let mut sent = 0;
        let mut repeats = 0;
        // The kernel has refused a run, and whether because it is one shows when its first frame is tried alone.
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

    #[inline]
    fn poll(&mut self) -> bool {
        if self.next >= self.filled && !self.receive() {
            return false;
        }
        self.show_next();
        true
    }

    #[inline]
    fn frame(&self) -> &[u8] {
        &self.scratch[self.begin..self.next]
    }

    fn sender(&self) -> Address {
        let nobody = || (std::net::Ipv4Addr::UNSPECIFIED, 0).into();
        Address::Udp(self.from.address().unwrap_or_else(nobody))
    }

    /// The kernel lets go of memory late, up to a quarter of its buffer, so that this is rather too much than too little.
    fn backlog(&self, high: usize) -> usize {
        let here = (self.filled - self.next).div_ceil(self.segment.max(1));
        let kernel = self.waiting_bytes / self.frame_in_buffer_bytes();
        high.min(here + kernel)
    }

    fn room(&self) -> usize {
        self.receive_buffer_bytes / self.frame_in_buffer_bytes()
    }

    fn fd(&self) -> RawFd {
        self.watch.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        self.next >= self.filled && self.refused.is_empty()
    }

    fn refused(&mut self) -> Option<Address> {
        self.refused.pop_front()
    }

    fn counters(&self) -> Counters {
        let (last, mut overruns) = self.drops.get();
        if let Ok((_, drops)) = self.datagrams.memory() {
            overruns += u64::from(drops.wrapping_sub(last));
            self.drops.set((drops, overruns));
        }
        let lane = self.lane.as_ref().map(|lane| lane.datagrams.memory());
        let drops_of_lane = lane.and_then(Result::ok).map_or(0, |(_, drops)| drops);
        Counters {
            overruns: overruns + self.drops_of_lanes + u64::from(drops_of_lane),
            ..self.counters
        }
    }
}
