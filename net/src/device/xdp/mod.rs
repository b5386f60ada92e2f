//! AF_XDP: raw Ethernet frames for cards that put them straight into a process's memory. An option;
//! `ethernet` does the same on any card, and faster on virtual ones.
//!
//! A socket shares memory with the kernel (`rings`), and a small program on the interface
//! (`program`, attached by `bpf`) redirects the frames of one channel and node to it and lets
//! everything else pass. Where the card can do without copies, the program runs in its driver;
//! elsewhere behind the driver, never in it: a program in the driver of a veth switches its
//! segmentation offload off and slows TCP beside it to a third. The kernel gives a receive queue to
//! one socket, so that one process of a host can use an interface this way, and it hears what the
//! card puts into the first queue: with several queues, where the card spreads frames that are not
//! IP, only a part.

mod bpf;
mod error;
mod program;
mod rings;
mod socket;

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, frame_bytes};

use self::bpf::Mode;
use self::error::no_socket;
pub use self::error::{XdpError, permitted};
use self::program::Wanted;
use self::rings::{Chunks, Rings};
use self::socket::XdpSocket;
use super::channel::Channel;
use super::ethernet::{ETHERTYPE, EthernetError, Interface};
use super::{Address, Batch, Counters, Device};

/// Destination, source, EtherType.
const ETHERNET_HEADER_BYTES: usize = 6 + 6 + 2;
/// Shortest packet; cards should pad by themselves, and without copies some do not.
const PACKET_BYTES_MIN: usize = 60;
/// The receive queue that we ask for.
const QUEUE: u32 = 0;
/// Chunks to receive into: as many frames may wait as in the ring of a packet socket.
const RECEIVE_CHUNKS: u32 = 4096;
/// Chunks to send from: several batches, so that the next can be written while the card still reads
/// the last.
const TRANSMIT_CHUNKS: u32 = 512;
/// What the kernel keeps free in front of a packet (`XDP_PACKET_HEADROOM`).
const HEADROOM_BYTES: usize = 256;
/// Longest frame: a page less the headroom and what the kernel keeps behind a packet
/// (`skb_shared_info`, 320 bytes), less header and VLAN tags. Longer packets would come in several
/// chunks.
const FRAME_BYTES_MAX: usize = 3498;
/// Frames in one call: what the kernel sends before it looks at the time.
const BATCH_FRAMES_MAX: usize = 64;
/// How long an interface may stay busy: after a process has ended, the kernel takes a moment to
/// detach its program and free its queue.
const BUSY_MAX: Duration = Duration::from_millis(500);
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// The device. See the module.
pub struct Xdp {
    // The first to be dropped: from then on the interface is as it was.
    _link: OwnedFd,
    _map: OwnedFd,
    socket: XdpSocket,
    rings: Rings,
    chunks: Chunks,
    /// Chunks to send from that nobody uses.
    free: Vec<u64>,
    /// Where the packet shown lies, and how long it is up to the end of its frame.
    shown: Option<(u64, usize)>,
    /// The kernel has not yet looked at all that was given to it to send.
    unsent: bool,
    interface: Interface,
    channel: u16,
    zero_copy: bool,
    counters: Counters,
}

impl Xdp {
    /// Takes frames for node `me` on the channel from the interface. The channel must be one of
    /// that interface and be kept while the device is used.
    pub fn open(interface: &str, channel: &Channel, me: u32) -> Result<Xdp, XdpError> {
        permitted()?;
        let interface = Interface::named(interface)?;
        let name = || interface.name.clone();
        if !interface.ethernet || interface.loopback {
            return Err(EthernetError::NotEthernet { interface: name() }.into());
        }
        if !interface.up {
            return Err(EthernetError::Down { interface: name() }.into());
        }
        assert_eq!(
            channel.interface_index(),
            interface.index,
            "channel {} is one of another interface than {}",
            channel.number(),
            interface.name
        );
        // A driver that promises to do without copies may still refuse the program.
        match Xdp::open_as(&interface, channel.number(), me, true) {
            Err(XdpError::System { .. }) => Xdp::open_as(&interface, channel.number(), me, false),
            decided => decided,
        }
    }

    fn open_as(
        interface: &Interface,
        channel: u16,
        me: u32,
        zero_copy: bool,
    ) -> Result<Xdp, XdpError> {
        let name = || interface.name.clone();
        let failed = |what| {
            let interface = name();
            move |source: io::Error| match source.raw_os_error() {
                Some(libc::EBUSY | libc::EEXIST) => XdpError::Busy { interface },
                _ => XdpError::System {
                    what,
                    interface,
                    source,
                },
            }
        };
        let socket = XdpSocket::open().map_err(no_socket)?;
        let chunk_bytes = chunk_bytes(interface.mtu);
        let chunks = (RECEIVE_CHUNKS + TRANSMIT_CHUNKS) as usize;
        let bytes = chunk_bytes * chunks;
        let chunks = Chunks::register(socket.socket(), chunk_bytes, chunks).map_err(|source| {
            let interface = name();
            XdpError::Memory {
                interface,
                bytes,
                source,
            }
        })?;
        let mut rings = Rings::map(socket.socket(), RECEIVE_CHUNKS, TRANSMIT_CHUNKS)
            .map_err(failed("make the rings"))?;
        let chunk = |number: u32| u64::from(number) * chunk_bytes as u64;
        (0..RECEIVE_CHUNKS).for_each(|number| rings.fill.put(chunk(number)));
        patiently(|| socket.bind(interface.index, QUEUE, zero_copy))
            .map_err(failed("receive from the first queue"))?;
        let zero_copy = socket.is_zero_copy();
        let map = bpf::map_with(socket.fd(), QUEUE).map_err(failed("make the map of sockets"))?;
        let wanted = Wanted {
            mac: interface.mac,
            channel,
            node: me,
        };
        let program = program::program(wanted, std::os::fd::AsRawFd::as_raw_fd(&map));
        let program = bpf::load(&program).map_err(failed("load the program for packets"))?;
        let mode = if zero_copy {
            Mode::Native
        } else {
            Mode::Generic
        };
        let link = patiently(|| bpf::attach(&program, interface.index, mode))
            .map_err(failed("attach a program to the packets"))?;
        Ok(Xdp {
            _link: link,
            _map: map,
            socket,
            rings,
            chunks,
            free: (RECEIVE_CHUNKS..RECEIVE_CHUNKS + TRANSMIT_CHUNKS)
                .map(chunk)
                .collect(),
            shown: None,
            unsent: false,
            interface: interface.clone(),
            channel,
            zero_copy,
            counters: Counters::default(),
        })
    }

    /// The interface as it was when the device was opened.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Whether the card puts packets straight into our memory.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// The packet shown lies in a chunk that the kernel may have back.
    #[inline]
    fn give_back(&mut self) {
        if let Some((address, _)) = self.shown.take() {
            self.rings.fill.put(self.chunks.chunk_of(address));
        }
    }

    /// Writes one frame into a chunk and puts it before the kernel. False if there is no chunk.
    fn enqueue(&mut self, to: &[u8; 6], batch: &Batch, frame: usize) -> bool {
        if self.free.is_empty() {
            while let Some(chunk) = self.rings.completion.take() {
                self.free.push(self.chunks.chunk_of(chunk));
            }
        }
        let Some(chunk) = self.free.pop() else {
            return false;
        };
        let memory = self.chunks.chunk(chunk);
        memory[..6].copy_from_slice(to);
        memory[6..12].copy_from_slice(&self.interface.mac);
        memory[12..ETHERNET_HEADER_BYTES].copy_from_slice(&ETHERTYPE.to_be_bytes());
        let bytes = socket::gather(batch, frame, &mut memory[ETHERNET_HEADER_BYTES..]);
        let end = ETHERNET_HEADER_BYTES + bytes;
        let padded = end.max(PACKET_BYTES_MIN);
        memory[end..padded].fill(0);
        self.rings.transmit.put(libc::xdp_desc {
            addr: chunk,
            len: padded as u32,
            options: 0,
        });
        self.counters.frames_out += 1;
        self.counters.bytes_out += bytes as u64;
        true
    }

    /// Has the kernel send what is before it, as far as it will.
    fn kick(&mut self) -> io::Result<()> {
        loop {
            let waiting = self.rings.transmit.filled();
            self.unsent = waiting > 0 && self.rings.transmit.needs_wakeup();
            if !self.unsent {
                return Ok(());
            }
            self.counters.sends += 1;
            match self.socket.wake_to_send() {
                Err(error) if !is_full(&error) => return Err(error),
                // It sends some at a time.
                _ if self.rings.transmit.filled() < waiting => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Chunks are powers of two, at most a page.
fn chunk_bytes(mtu: usize) -> usize {
    let packet = HEADROOM_BYTES + ETHERNET_HEADER_BYTES + mtu.min(FRAME_BYTES_MAX);
    packet.next_power_of_two().clamp(2048, 4096)
}

/// Tries again for a while as long as the kernel says that it is busy.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
                    && begun.elapsed() < BUSY_MAX =>
            {
                thread::sleep(BUSY_PAUSE);
            }
            decided => return decided,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    let full = [
        libc::EAGAIN,
        libc::EBUSY,
        libc::ENOBUFS,
        libc::ENOMEM,
        libc::EINTR,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| full.contains(&code))
}

/// Where the frame in a packet ends: where its header says, or, if that cannot be true, where the
/// packet does, and then `link` refuses it.
fn end_of_frame(packet: &[u8]) -> usize {
    let frame = packet.get(ETHERNET_HEADER_BYTES..).and_then(frame_bytes);
    let end = ETHERNET_HEADER_BYTES + frame.unwrap_or(FRAME_HEADER_BYTES);
    packet.len().min(end)
}

impl Device for Xdp {
    fn describe(&self) -> String {
        let Interface { name, mac, .. } = &self.interface;
        format!(
            "{} ({name}) channel {} by AF_XDP {}, frames of up to {} bytes",
            Address::Ethernet(*mac),
            self.channel,
            if self.zero_copy {
                "without copies"
            } else {
                "with copies"
            },
            self.frame_bytes_max()
        )
    }

    fn frame_bytes_max(&self) -> usize {
        self.interface.mtu.min(FRAME_BYTES_MAX)
    }

    fn batch_max(&self) -> (usize, usize) {
        (BATCH_FRAMES_MAX, BATCH_FRAMES_MAX * self.frame_bytes_max())
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let Address::Ethernet(mac) = to else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("an Ethernet device cannot send to {to}"),
            ));
        };
        let mut sent = 0;
        while sent < batch.len() {
            if batch.frame_bytes(sent) > self.frame_bytes_max() {
                if sent == 0 {
                    return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
                }
                break;
            }
            if !self.enqueue(mac, batch, sent) {
                break;
            }
            sent += 1;
        }
        // Frames that stay before the kernel because the interface is down leave when it is up,
        // late and harmlessly; the caller must know that they do not leave now.
        self.kick()?;
        Ok(sent)
    }

    #[inline]
    fn poll(&mut self) -> bool {
        self.give_back();
        let Some(packet) = self.rings.receive.take() else {
            if self.unsent {
                // What is wrong with the interface is said to who sends.
                let _ = self.kick();
            }
            if self.rings.fill.needs_wakeup() {
                self.socket.wake_to_receive();
                self.counters.receives += 1;
            }
            return false;
        };
        let end = end_of_frame(self.chunks.packet(packet.addr, packet.len as usize));
        self.shown = Some((packet.addr, end));
        self.counters.frames_in += 1;
        self.counters.bytes_in += end.saturating_sub(ETHERNET_HEADER_BYTES) as u64;
        true
    }

    #[inline]
    fn frame(&self) -> &[u8] {
        let (address, bytes) = self.shown.unwrap_or_default();
        let packet = self.chunks.packet(address, bytes);
        packet.get(ETHERNET_HEADER_BYTES..).unwrap_or_default()
    }

    fn sender(&self) -> Address {
        let (address, bytes) = self.shown.unwrap_or_default();
        let packet = self.chunks.packet(address, bytes);
        let source = packet.get(6..).and_then(|rest| rest.first_chunk());
        Address::Ethernet(source.copied().unwrap_or_default())
    }

    #[inline]
    fn backlog(&self, high: usize) -> usize {
        high.min(self.rings.receive.filled() as usize)
    }

    fn room(&self) -> usize {
        self.rings.receive.size() as usize
    }

    fn fd(&self) -> RawFd {
        self.socket.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        self.give_back();
        if self.unsent {
            let _ = self.kick();
        }
        !self.unsent && self.rings.receive.filled() == 0
    }

    fn counters(&self) -> Counters {
        Counters {
            overruns: self.socket.drops(),
            ..self.counters
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_their_packets() {
        assert_eq!(chunk_bytes(1500), 2048);
        assert_eq!(chunk_bytes(3498), 4096);
        assert_eq!(chunk_bytes(9000), 4096);
        for mtu in 68..10_000 {
            let packet = HEADROOM_BYTES + ETHERNET_HEADER_BYTES + mtu.min(FRAME_BYTES_MAX);
            assert!(chunk_bytes(mtu) >= packet, "{mtu}");
        }
    }
}
