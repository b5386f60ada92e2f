//! Raw Ethernet: frames straight on the wire, beside IP and on unmodified drivers, for processes
//! that may open packet sockets (CAP_NET_RAW).
//!
//! A frame follows the Ethernet header, with an EtherType that IEEE 802 leaves to local
//! experiments. The kernel puts what its `filter` lets through into a `ring` that this process
//! maps, and who waits looks there: PM/Ethernet's interrupt reaping. Sends are plain calls, past
//! the queueing discipline. Nothing is attached to the interface, and packets of other types never
//! come near, so that IP on the same card is undisturbed. Cards pad short frames; the frame's own
//! length says where it ends. What a host sends does not come back to it: processes of one host do
//! not meet here.

mod filter;
mod interface;
mod packets;
mod ring;

use std::cell::Cell;
use std::io;
use std::os::fd::RawFd;

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, frame_bytes};

use super::channel::Channel;
use super::{Address, Batch, Counters, Device};
pub use interface::{Interface, interfaces};
use packets::{FRAMES_PER_CALL_MAX, Packets};
use ring::{Ring, Shape};

/// IEEE 802's first EtherType for local experiments.
pub const ETHERTYPE: u16 = libc::ETH_P_802_EX1 as u16;
/// Destination, source, EtherType.
const ETHERNET_HEADER_BYTES: usize = 6 + 6 + 2;

/// Why there is no Ethernet device.
#[derive(Debug, thiserror::Error)]
pub enum EthernetError {
    /// No capability.
    #[error(
        "raw Ethernet frames need the capability CAP_NET_RAW, which this process does not have: grant it to the program with `sudo setcap cap_net_raw+ep {program}` \
         (see oxmpi setup-net), or use OXMPI_NET=udp, which needs none"
    )]
    NotPermitted {
        /// The file that is being executed.
        program: String,
    },
    /// The kernel has no packet sockets, or a sandbox hides them.
    #[error("this system has no packet sockets (AF_PACKET: {source}); use OXMPI_NET=udp")]
    NoPacketSockets {
        /// The kernel's answer.
        source: io::Error,
    },
    /// No such interface.
    #[error("there is no network interface {interface:?} here (there is {there})")]
    Missing {
        /// The name asked for.
        interface: String,
        /// Those that exist.
        there: String,
    },
    /// An interface of another kind.
    #[error(
        "interface {interface} carries no Ethernet frames (it is a loopback, a tunnel or a device of another kind); name an Ethernet card or use OXMPI_NET=udp"
    )]
    NotEthernet {
        /// Its name.
        interface: String,
    },
    /// An interface that is off.
    #[error(
        "interface {interface} is down or has no carrier; `ip link set {interface} up` may help"
    )]
    Down {
        /// Its name.
        interface: String,
    },
    /// No memory for the ring.
    #[error(
        "the kernel has no {bytes} bytes for the receive ring of interface {interface}: {source}; a smaller MTU needs less"
    )]
    Ring {
        /// The interface's name.
        interface: String,
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refuses something else.
    #[error("cannot {what} of {interface} for raw Ethernet frames: {source}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// The interface's name.
        interface: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Whether this process may use raw Ethernet at all; if not, the error says what is missing.
pub fn permitted() -> Result<(), EthernetError> {
    open_packets().map(|_| ())
}

fn open_packets() -> Result<Packets, EthernetError> {
    Packets::open().map_err(|source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => EthernetError::NotPermitted {
            program: std::env::current_exe()
                .map_or_else(|_| "PROGRAM".to_owned(), |path| path.display().to_string()),
        },
        _ => EthernetError::NoPacketSockets { source },
    })
}

/// The device. See the module.
pub struct Ethernet {
    packets: Packets,
    ring: Ring,
    interface: Interface,
    channel: u16,
    /// Bytes of the packet shown that are Ethernet header and frame.
    shown: usize,
    counters: Counters,
    overruns: Cell<u64>,
}

impl Ethernet {
    /// Takes frames for node `me` on the channel from the interface. The channel must be one of
    /// that interface and be kept while the device is used.
    pub fn open(interface: &str, channel: &Channel, me: u32) -> Result<Ethernet, EthernetError> {
        let packets = open_packets()?;
        let interface = Interface::named(interface)?;
        let name = || interface.name.clone();
        if !interface.ethernet || interface.loopback {
            return Err(EthernetError::NotEthernet { interface: name() });
        }
        if !interface.up {
            return Err(EthernetError::Down { interface: name() });
        }
        assert_eq!(
            channel.interface_index(),
            interface.index,
            "channel {} is one of another interface than {}",
            channel.number(),
            interface.name
        );
        let failed = |what| {
            let interface = name();
            move |source| EthernetError::System {
                what,
                interface,
                source,
            }
        };
        // Filter and ring come first: from the moment of binding on, nothing but our frames enters,
        // and it enters the ring.
        packets
            .attach_filter(channel.number(), me)
            .map_err(failed("filter the packets"))?;
        packets.be_direct();
        let shape = Shape::of(interface.mtu);
        let ring = Ring::open(packets.socket(), shape).map_err(|source| EthernetError::Ring {
            interface: name(),
            bytes: shape.bytes(),
            source,
        })?;
        packets
            .bind(interface.index)
            .map_err(failed("receive the packets"))?;
        Ok(Ethernet {
            packets,
            ring,
            interface,
            channel: channel.number(),
            shown: 0,
            counters: Counters::default(),
            overruns: Cell::new(0),
        })
    }

    /// The interface as it was when the device was opened.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    fn header(&self, to: &[u8; 6]) -> [u8; ETHERNET_HEADER_BYTES] {
        let mut header = [0; ETHERNET_HEADER_BYTES];
        header[..6].copy_from_slice(to);
        header[6..12].copy_from_slice(&self.interface.mac);
        header[12..].copy_from_slice(&ETHERTYPE.to_be_bytes());
        header
    }
}

/// Where the frame in a packet ends: where its header says, or, if that cannot be true, where the
/// packet does, and then `link` refuses it.
#[inline]
fn end_of_frame(packet: &[u8]) -> usize {
    let frame = packet.get(ETHERNET_HEADER_BYTES..).and_then(frame_bytes);
    let end = ETHERNET_HEADER_BYTES + frame.unwrap_or(FRAME_HEADER_BYTES);
    packet.len().min(end)
}

impl Device for Ethernet {
    fn describe(&self) -> String {
        let Interface { name, mac, .. } = &self.interface;
        format!(
            "{} ({name}) channel {}, frames of up to {} bytes",
            Address::Ethernet(*mac),
            self.channel,
            self.frame_bytes_max()
        )
    }

    fn frame_bytes_max(&self) -> usize {
        self.interface.mtu
    }

    fn batch_max(&self) -> (usize, usize) {
        (
            FRAMES_PER_CALL_MAX,
            FRAMES_PER_CALL_MAX * self.interface.mtu,
        )
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let Address::Ethernet(mac) = to else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("an Ethernet device cannot send to {to}"),
            ));
        };
        let header = self.header(mac);
        let mut sent = 0;
        let mut was_down = false;
        while sent < batch.len() {
            self.counters.sends += 1;
            match self.packets.send(&header, batch, sent) {
                Ok(frames) => {
                    for frame in sent..sent + frames {
                        self.counters.bytes_out += batch.frame_bytes(frame) as u64;
                    }
                    self.counters.frames_out += frames as u64;
                    sent += frames;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => break,
                    Some(libc::EINTR) => {}
                    // Told once after the interface was down, even if it is up again.
                    Some(libc::ENETDOWN) if !was_down => was_down = true,
                    _ if sent > 0 => break,
                    _ => return Err(error),
                },
            }
        }
        Ok(sent)
    }

    #[inline]
    fn poll(&mut self) -> bool {
        if !self.ring.advance() {
            return false;
        }
        self.shown = end_of_frame(self.ring.packet());
        self.counters.frames_in += 1;
        self.counters.bytes_in += (self.shown - ETHERNET_HEADER_BYTES) as u64;
        true
    }

    #[inline]
    fn frame(&self) -> &[u8] {
        self.ring
            .packet()
            .get(ETHERNET_HEADER_BYTES..self.shown)
            .unwrap_or_default()
    }

    fn sender(&self) -> Address {
        let source = self
            .ring
            .packet()
            .get(6..)
            .and_then(|rest| rest.first_chunk());
        Address::Ethernet(source.copied().unwrap_or_default())
    }

    /// Exact from `high` on and for none at all, else a power of two below it, within half of the
    /// truth: a load each.
    #[inline]
    fn backlog(&self, high: usize) -> usize {
        if !self.ring.is_filled(0) {
            return 0;
        }
        let mut at_least = high.min(self.ring.slots());
        while at_least > 1 && !self.ring.is_filled(at_least - 1) {
            at_least /= 2;
        }
        at_least
    }

    fn room(&self) -> usize {
        self.ring.slots()
    }

    fn fd(&self) -> RawFd {
        self.packets.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        // The kernel takes the slot that is still held for one to be read.
        self.ring.give_back();
        self.packets.clear_error();
        !self.ring.is_filled(0)
    }

    fn counters(&self) -> Counters {
        let news = self.packets.drops().unwrap_or(0);
        self.overruns.set(self.overruns.get() + u64::from(news));
        Counters {
            overruns: self.overruns.get(),
            ..self.counters
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_wire::frame::LENGTH_OFFSET;
    use proptest::prelude::*;

    #[test]
    fn padding_is_cut_off() {
        let mut packet = vec![0; 60];
        assert_eq!(end_of_frame(&packet), 54);
        packet[ETHERNET_HEADER_BYTES + LENGTH_OFFSET] = 3;
        assert_eq!(end_of_frame(&packet), 57);
        packet[ETHERNET_HEADER_BYTES + LENGTH_OFFSET + 1] = 3;
        assert_eq!(end_of_frame(&packet), 60);
    }

    proptest! {
        #[test]
        fn no_packet_ends_beyond_its_end(packet: Vec<u8>) {
            prop_assert!(end_of_frame(&packet) <= packet.len());
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = EthernetError::NotPermitted {
            program: "/home/me/is".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "raw Ethernet frames need the capability CAP_NET_RAW, which this process does not have: grant it to the program with \
             `sudo setcap cap_net_raw+ep /home/me/is` (see oxmpi setup-net), or use OXMPI_NET=udp, which needs none"
        );
        let error = EthernetError::Down {
            interface: "eth0".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "interface eth0 is down or has no carrier; `ip link set eth0 up` may help"
        );
    }
}
