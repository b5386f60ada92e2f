//! UDP: frames as datagrams, for any user. One socket serves all peers of a process, of both
//! families; whoever it keeps talking to gets a `lane` beside it.
//!
//! Runs of frames of one length leave in one call (UDP_SEGMENT) and arrive in one (UDP_GRO): that
//! is where the bandwidth comes from. A lone frame costs one call on either side, and so does a
//! look that finds nothing: short calls, which do not say where datagrams of a run end, so that the
//! first run after a silence is cut by what its first frame says of itself (of garbage, `link` then
//! refuses the parts). Datagrams are not cut up on their way; a path that is too narrow makes
//! [`Device::frame_bytes_max`] sink for links that begin later, and frames already cut travel in
//! fragments from then on, because `link` never changes a frame. What ICMP says comes through the
//! socket's error queue, and only "nobody listens at that port" is passed on.

mod lane;
mod receive;
mod send;
mod socket;

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use super::sys::{Name, Watch};
use super::{Address, Batch, Counters, Device};
use crate::address::Reach;
use lane::{Habit, Lane};
use socket::Datagrams;

/// Datagrams that the kernel takes in one call: UDP_MAX_SEGMENTS of its first version with
/// UDP_SEGMENT.
const SEGMENTS_MAX: usize = 64;
/// Bytes of them: an IPv4 packet of 65 535 less its headers of 20 and 8.
const RUN_BYTES_MAX: usize = 65_507;
/// Longest datagram or run that can arrive: the length field of UDP has 16 bits.
const SCRATCH_BYTES: usize = 65_536;
/// Headers of IP and UDP around a frame.
const HEADERS_V4_BYTES: usize = 20 + 8;
const HEADERS_V6_BYTES: usize = 40 + 8;
/// No path that IP permits is narrower than 576 bytes with IPv4; whoever says so (it may be forged)
/// is not believed.
const MTU_MIN: usize = 576;
/// How often a call is repeated because of bad news about earlier datagrams, which the kernel gives
/// instead of doing what it was asked.
const REPEATS_MAX: usize = 8;
/// Addresses that refused and have not been asked for yet; more are forgotten, as their links
/// notice by themselves.
const REFUSED_MAX: usize = 64;

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
        Udp::bind_at(&Reach::Everywhere, port, mtu, families)
    }

    /// As [`Udp::bind`], at these addresses only.
    pub fn bind_at(
        reach: &Reach,
        port: u16,
        mtu: usize,
        families: Families,
    ) -> Result<Udp, BindError> {
        let datagrams = Datagrams::bind(reach, port, families)?;
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

    /// What a frame takes of the receive buffer: the kernel keeps a datagram in memory of the next
    /// power of two and adds its own notes.
    fn frame_in_buffer_bytes(&self) -> usize {
        self.frame_bytes_max.next_power_of_two() + 256
    }

    fn note_refused(&mut self, by: SocketAddr) {
        let by = Address::Udp(by);
        if self.refused.len() < REFUSED_MAX && !self.refused.contains(&by) {
            self.refused.push_back(by);
        }
    }
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
        self.send_batch(address, batch)
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

    /// The kernel lets go of memory late, up to a quarter of its buffer, so that this is rather too
    /// much than too little.
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
