//! Devices: what puts frames on a network and takes them off it. They promise nothing: frames may
//! be lost, doubled and reordered, and `link` makes up for it.
//!
//! One trait, one file per device; wrapping devices (faults, traces, captures) are devices around a
//! device. A frame is what `oxmpi_wire::frame` lays out, header and payload; what the network
//! itself needs around it (Ethernet or UDP headers) is the device's own business.
//!
//! Call order: [`Device::poll`] until false, looking at each frame by [`Device::frame`] before the
//! next poll; [`Device::send`] whenever `link` has frames; before a sleep on [`Device::fd`],
//! [`Device::prepare_sleep`].

mod batch;
pub mod channel;
pub mod ethernet;
pub mod fault;
pub mod oxk;
mod part;
pub mod pcap;
#[cfg(test)]
pub(crate) mod recorder;
mod sys;
pub mod trace;
pub mod trunk;
pub mod udp;
pub mod xdp;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::Duration;

pub use batch::Batch;
pub use channel::Channel;
pub use ethernet::Ethernet;
pub use fault::{Fault, Faults, FaultsError};
pub use oxk::{Oxk, OxkError};
pub use pcap::{CaptureError, Pcap};
pub use trace::Trace;
pub use trunk::{Trunk, TrunkError};
pub use udp::Udp;
pub use xdp::{Xdp, XdpError};

/// Where a node is, in a device's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A socket of another process.
    Udp(SocketAddr),
    /// A card on the same segment.
    Ethernet([u8; 6]),
    /// The kernel of another process, which meets others there by TCP.
    Oxk(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Udp(address) => write!(formatter, "UDP {address}"),
            Address::Oxk(address) => write!(formatter, "PM in the kernel {address}"),
            Address::Ethernet([a, b, c, d, e, f]) => {
                write!(
                    formatter,
                    "Ethernet {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"
                )
            }
        }
    }
}

/// What a device has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames given to the kernel.
    pub frames_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Frames taken from the kernel.
    pub frames_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// System calls that sent.
    pub sends: u64,
    /// System calls that received; none where the kernel fills a mapped ring.
    pub receives: u64,
    /// Of those, calls that found nothing.
    pub receives_empty: u64,
    /// Frames that the kernel says it dropped because nobody took them in time.
    pub overruns: u64,
    /// Frames that a fault device dropped, doubled, delayed or reordered.
    pub faults: u64,
}

/// What puts frames on a network and takes them off it.
pub trait Device: Send {
    /// For people: `UDP 10.0.0.1:5000`, `Ethernet eth0 aa:bb:cc:dd:ee:ff channel 3`.
    fn describe(&self) -> String;

    /// Longest frame, header and payload of `oxmpi_wire::frame` together, that this device sends.
    fn frame_bytes_max(&self) -> usize;

    /// Most frames and most bytes that [`Device::send`] gains from having in one batch.
    fn batch_max(&self) -> (usize, usize);

    /// Gives frames to the kernel. Says how many it took; fewer than all when its buffers are full.
    /// An error means that nothing more will ever leave this way to that address for now
    /// (unreachable, interface down): the caller treats the frames as lost and lets `link` try
    /// again.
    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize>;

    /// Shows the next frame that has arrived, and lets go of the one shown before. False when there
    /// is none.
    fn poll(&mut self) -> bool;

    /// The frame shown by the last [`Device::poll`] that said true.
    fn frame(&self) -> &[u8];

    /// Where that frame came from.
    fn sender(&self) -> Address;

    /// About how many frames wait to be shown, counted no further than `high`: what STOP and GO are
    /// decided by.
    fn backlog(&self, high: usize) -> usize;

    /// Frames that may wait to be shown before the kernel drops some.
    fn room(&self) -> usize;

    /// Readable when there is something to poll.
    fn fd(&self) -> RawFd;

    /// Makes it safe to sleep until [`Device::fd`] is readable. False if there is something to do
    /// first.
    fn prepare_sleep(&mut self) -> bool;

    /// How long a sleeper may sleep, for devices that hold frames back.
    fn nap_max(&self) -> Option<Duration> {
        None
    }

    /// The addresses of a node, one for each of the devices that this one consists of; it is known
    /// by the first. For trunks.
    fn learn(&mut self, _addresses: &[Address]) {}

    /// A node whose own host says that nobody takes its frames any more (ICMP), if there is news of
    /// one.
    fn refused(&mut self) -> Option<Address> {
        None
    }

    /// What has been counted.
    fn counters(&self) -> Counters;
}
