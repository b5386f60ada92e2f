//! UDP: frames as datagrams, for any user. One socket serves all peers of a process, of both families.
//!
//! Runs of frames of one length leave in one call (UDP_SEGMENT) and arrive in one (UDP_GRO): that is where the bandwidth comes from. A lone frame
//! costs one call on either side, and so does a look that finds nothing: short calls, which do not say where datagrams of a run end, so that the first run after a silence is
//! cut by what its first frame says of itself (of garbage, `link` then refuses the parts). Datagrams are not cut up on their way; a path that is too narrow makes
//! [`Device::frame_bytes_max`] sink for links that begin later, and frames already cut travel in fragments from then on, because `link` never
//! changes a frame. What ICMP says comes through the socket's error queue, and only "nobody listens at that port" is passed on.

mod socket;

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

use super::sys::Name;
use super::{Address, Batch, Counters, Device};
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
    datagrams: Datagrams,
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
        let mut udp = Udp {
            datagrams,
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

    fn send_run(&mut self, to: &Name, batch: &Batch, begin: usize, run: usize) -> io::Result<()> {
        let pieces = batch.pieces(begin, begin + run);
        self.counters.sends += 1;
        if pieces.len() > PIECES_MAX {
            // Only a run of one can be so.
            batch.copy_frame(begin, &mut self.gathered);
            let whole = libc::iovec {
                iov_base: self.gathered.as_mut_ptr().cast(),
                iov_len: self.gathered.len(),
            };
            return self.datagrams.send(to, &[whole], None);
        }
        let segment = (run > 1).then(|| batch.frame_bytes(begin) as u16);
        self.datagrams.send(to, pieces, segment)
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
                    let address = complaint.to.map(Address::Udp);
                    if let Some(address) = address
                        && self.refused.len() < REFUSED_MAX
                        && !self.refused.contains(&address)
                    {
                        self.refused.push_back(address);
                    }
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
        for _ in 0..REPEATS_MAX {
            self.counters.receives += 1;
            let received = if self.streaming {
                self.datagrams
                    .receive_run(&mut self.scratch, &mut self.from)
            } else {
                self.datagrams
                    .receive(&mut self.scratch, &mut self.from)
                    .map(|bytes| Received {
                        bytes,
                        segment: segment(&self.scratch[..bytes]),
                    })
            };
            match received {
                Ok(Received { bytes, segment }) => {
                    self.filled = bytes;
                    self.segment = segment;
                    self.streaming |= segment < bytes;
                    self.look_now_and_then();
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Bad news about a datagram that left earlier; reading the queue makes way.
                Err(_) => _ = self.hear_complaints(),
            }
        }
        self.counters.receives_empty += 1;
        self.streaming = false;
        self.waiting_bytes = 0;
        self.taken = 0;
        false
    }

    #[inline]
    fn look_now_and_then(&mut self) {
        self.taken += 1.max(self.filled / self.segment.max(1)) as u32;
        if self.taken >= FRAMES_PER_LOOK {
            self.taken = 0;
            self.waiting_bytes = self.datagrams.memory().map_or(0, |(used, _)| used);
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
        let mut sent = 0;
        let mut repeats = 0;
        // The kernel has refused a run, and whether because it is one shows when its first frame is tried alone.
        let mut doubted = false;
        while sent < batch.len() {
            let run = if doubted { 1 } else { self.run(batch, sent) };
            let Err(error) = self.send_run(&name, batch, sent, run) else {
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
        self.datagrams.fd()
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
        Counters {
            overruns,
            ..self.counters
        }
    }
}
