//! Somebody on the cable between two hosts who sees every packet, and what can be done with that.
//!
//! A sniffer is a thread with a packet socket at either end of the cable: at one it sees what the
//! other host sends (a host does not show all of that itself), at the other it sends what is to
//! arrive as if that host had sent it.

use std::collections::HashSet;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use oxmpi_wire::frame::frame_bytes;

use super::pair::{INTERFACE, Pair};

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// For the host that it arrived at, in the words of packet sockets.
const PACKET_HOST: u8 = 0;

/// What a sniffer does with a packet of OxMPI that it sees: packets to be sent, made of the frame.
pub type Attack = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>> + Send>;

/// A thread that sees what a host sends.
pub struct Sniffer {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    /// Gives all packets that it has seen, OxMPI's or not.
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Sniffer {
    /// Of what a host sends.
    pub fn on(pair: &Arc<Pair>, host: usize, mut attack: Attack) -> Sniffer {
        let stop = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicUsize::new(0));
        let (pair, over, count) = (Arc::clone(pair), Arc::clone(&stop), Arc::clone(&sent));
        let (ready, listening) = mpsc::channel();
        let thread = thread::spawn(move || {
            pair.enter(1 - host);
            let ear = packet_socket();
            pair.enter(host);
            let mouth = packet_socket();
            ready.send(()).expect("the test waits");
            let mut seen = Vec::new();
            let mut known: HashSet<Vec<u8>> = HashSet::new();
            loop {
                // Asked before the look: what has arrived by then is still seen.
                let is_over = over.load(Ordering::Acquire);
                let Some(packet) = next_arrived(&ear) else {
                    if is_over {
                        return seen;
                    }
                    thread::yield_now();
                    continue;
                };
                // Its own packets arrive, too.
                if !known.insert(packet.clone()) {
                    continue;
                }
                for (headers, frame) in frames(&packet) {
                    for frame in attack(frame) {
                        let forged = wrap(headers, &frame);
                        known.insert(forged.clone());
                        send(&mouth, &forged);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
                seen.push(packet);
            }
        });
        listening.recv().expect("a sniffer does not panic");
        Sniffer { stop, sent, thread }
    }

    /// Frames that it has sent so far.
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Ends it, and gives the packets it has seen.
    pub fn end(self) -> Vec<Vec<u8>> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().expect("a sniffer does not panic")
    }
}

/// The frames of OxMPI in a packet, each with the headers before the first. A host hands several
/// datagrams to the network at once, to be cut there.
fn frames(packet: &[u8]) -> Vec<(&[u8], &[u8])> {
    let at = match packet.get(12..14) {
        Some([0x88, 0xb5]) => ETHERNET_BYTES,
        Some([0x08, 0x00]) if packet.get(23) == Some(&17) => ETHERNET_BYTES + IP_BYTES + UDP_BYTES,
        _ => return Vec::new(),
    };
    let (headers, mut rest) = packet.split_at(at.min(packet.len()));
    let mut found = Vec::new();
    while let Some(bytes) = frame_bytes(rest).filter(|bytes| *bytes <= rest.len()) {
        let (frame, behind) = rest.split_at(bytes);
        found.push((headers, frame));
        rest = behind;
    }
    found
}

/// A packet of one frame with headers that were seen.
fn wrap(headers: &[u8], frame: &[u8]) -> Vec<u8> {
    let mut packet = headers.to_vec();
    packet.extend(frame);
    if headers.len() > ETHERNET_BYTES {
        let (_, ip) = packet.split_at_mut(ETHERNET_BYTES);
        let total = ip.len() as u16;
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        ip[10..12].fill(0);
        let words = ip[..IP_BYTES].chunks(2);
        let sum: u32 = words
            .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        let udp = &mut ip[IP_BYTES..];
        udp[4..6].copy_from_slice(&(total - IP_BYTES as u16).to_be_bytes());
        // No checksum, which UDP over IPv4 permits.
        udp[6..8].fill(0);
    }
    packet
}

fn packet_socket() -> OwnedFd {
    let all = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: integers only; the descriptor is ours.
    let socket = unsafe {
        let fd = libc::socket(
            libc::AF_PACKET,
            libc::SOCK_RAW | libc::SOCK_NONBLOCK,
            i32::from(all),
        );
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    };
    let name = std::ffi::CString::new(INTERFACE).unwrap();
    // SAFETY: a C string; a structure of plain integers, whose size is told.
    let bound = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as u32,
        )
    };
    assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
    socket
}

/// The next packet that came over the cable, if there is one at the moment.
fn next_arrived(socket: &OwnedFd) -> Option<Vec<u8>> {
    let mut packet = vec![0; 70_000];
    loop {
        // SAFETY: buffers and lengths belong together.
        let (bytes, kind) = unsafe {
            let mut from: libc::sockaddr_ll = std::mem::zeroed();
            let mut length = size_of::<libc::sockaddr_ll>() as u32;
            let bytes = libc::recvfrom(
                socket.as_raw_fd(),
                packet.as_mut_ptr().cast(),
                packet.len(),
                0,
                (&raw mut from).cast(),
                &raw mut length,
            );
            (bytes, from.sll_pkttype)
        };
        let bytes = usize::try_from(bytes).ok()?;
        if kind == PACKET_HOST {
            packet.truncate(bytes);
            return Some(packet);
        }
    }
}

fn send(socket: &OwnedFd, packet: &[u8]) {
    // A full queue is no matter: an attacker has time.
    // SAFETY: pointer and length describe the slice.
    let _ = unsafe { libc::send(socket.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0) };
}
