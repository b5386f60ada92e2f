//! PM in the kernel: frames as messages of an endpoint of /dev/oxk-pm (docs/oxk.md), which the
//! kernel's PM carries over an Ethernet card.
//!
//! The endpoint, and with it the channel on the card, is this process's while it has the device
//! open. A frame that leaves is copied into a slot of mapped memory, and one call (a *turn*) has
//! the kernel take all that are queued; what has come lies in slots that are looked at without a
//! call. The kernel acknowledges, repeats and takes in also while this process computes. What it
//! carries is neither lost nor reordered as long as a connection stands; `link` above is for ends
//! of connections, for peers that take nothing, and for the proof of who sent what.
//!
//! Kernels meet by TCP at the address in a process's card. Who dials says in its first message
//! where it is met itself, so that answers take the same connection. A process that is about to
//! sleep runs the card's receive itself first: PM/Ethernet's interrupt reaping.

mod area;
mod error;
mod port;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::{Address, Batch, Counters, Device};
use area::{Area, SLOT_BYTES, SLOTS};
pub use error::OxkError;
pub use port::{Reservation, permitted};

/// The device of the module oxk_pm.ko.
pub const PATH: &str = "/dev/oxk-pm";
/// Peers of an endpoint at most (`OXKP_PEERS_MAX`).
const PEERS_MAX: usize = 256;
/// Longest frame.
pub const FRAME_BYTES_MAX: usize = SLOT_BYTES;
/// Processes that can be reached: with two that dial each other at once, both connections stay.
pub const PROCESSES_MAX: usize = PEERS_MAX / 2;
/// Frames that one turn takes.
const BATCH_FRAMES: usize = 64;
/// Slots that were looked at are given back in so large groups, if no turn did it before.
const CONSUMED_MAX: u32 = SLOTS / 4;
/// A peer whose kernel has taken nothing for so long keeps no other from being sent to: what is for
/// it is dropped, as a full network does.
const STALLED: Duration = Duration::from_millis(5);
/// Slots that a peer may always have, however many there are.
const SHARE_MIN: usize = 8;
/// Lost peers whose last frames may still have to be looked at.
const KNOWN_MAX: usize = 4 * PEERS_MAX;
/// What the first message of a connection begins with; behind it address and port.
const HELLO: [u8; 4] = *b"OXH1";
const HELLO_BYTES: usize = HELLO.len() + 16 + 2;

/// What the device asks of the kernel.
trait Kernel: Send {
    /// Begins to connect; the peer's name.
    fn connect(&mut self, to: &SocketAddr) -> io::Result<u64>;
    /// Takes what is queued, and slots that were consumed back.
    fn turn(&mut self) -> io::Result<()>;
    /// The same, and runs the card's receive for a moment if nothing has come.
    fn reap(&mut self) -> io::Result<()>;
    /// The next peer that was lost.
    fn news(&mut self) -> Option<News>;
    /// Readable when a message has come, or news.
    fn fd(&self) -> RawFd;
}

/// A peer is lost.
struct News {
    peer: u64,
    /// Nobody listened at the address.
    refused: bool,
}

/// The other end of a connection.
struct Peer {
    /// Where it is met; of one that has dialled, once it has said so.
    address: Option<SocketAddr>,
    /// Slots that hold messages for it, and when one of them was last given back.
    held: usize,
    moved: Instant,
    lost: bool,
}

/// The device. See the module.
pub struct Oxk {
    kernel: Box<dyn Kernel>,
    area: Area,
    interface: String,
    address: SocketAddr,
    peers: HashMap<u64, Peer>,
    /// The peers to send by.
    routes: HashMap<SocketAddr, u64>,
    refused: VecDeque<Address>,
    /// Slots that are nobody's.
    free: Vec<u32>,
    /// Slots that are in the queue or beyond it, in its order, and whom they are for.
    used: Vec<(u32, u64)>,
    /// How many of these, the last, no turn has taken.
    waiting: usize,
    queued: u32,
    /// Messages that have been looked at, and those of them whose slots a turn has given back.
    consumed: u32,
    given_back: u32,
    /// The message shown: sender and length.
    shown: Option<(SocketAddr, usize)>,
    news: u32,
    counters: Counters,
}

impl Oxk {
    fn new(kernel: Box<dyn Kernel>, area: Area, interface: &str, address: SocketAddr) -> Oxk {
        Oxk {
            news: 0,
            kernel,
            area,
            interface: interface.to_owned(),
            address,
            peers: HashMap::new(),
            routes: HashMap::new(),
            refused: VecDeque::new(),
            free: (0..SLOTS).rev().collect(),
            used: Vec::with_capacity(SLOTS as usize),
            waiting: 0,
            queued: 0,
            consumed: 0,
            given_back: 0,
            shown: None,
            counters: Counters::default(),
        }
    }

    /// The peer at an address; the kernel connects to it first if there is none. `None`: all slots
    /// are in use.
    fn route(&mut self, to: SocketAddr) -> io::Result<Option<u64>> {
        if let Some(peer) = self.routes.get(&to) {
            return Ok(Some(*peer));
        }
        let Some(slot) = self.slot() else {
            return Ok(None);
        };
        let connected = self.kernel.connect(&to);
        let peer = connected.inspect_err(|_| self.free.push(slot))?;
        self.know(peer, Some(to));
        let hello = hello(self.address);
        self.queue(slot, peer, &[piece(&hello)]);
        Ok(Some(peer))
    }

    /// A connection has come to be.
    fn know(&mut self, peer: u64, address: Option<SocketAddr>) {
        if self.peers.len() >= KNOWN_MAX {
            self.peers.retain(|_, peer| !peer.lost || peer.held > 0);
        }
        if let Some(address) = address {
            self.routes.insert(address, peer);
        }
        let known = Peer {
            address,
            held: 0,
            moved: Instant::now(),
            lost: false,
        };
        self.peers.insert(peer, known);
    }

    /// A slot that is nobody's.
    fn slot(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            self.reclaim();
        }
        self.free.pop()
    }

    /// Puts a message into the queue; a turn must follow.
    fn queue(&mut self, slot: u32, peer: u64, pieces: &[libc::iovec]) {
        // SAFETY: pieces of a batch are valid until it has been sent, and the others are locals.
        #[allow(unsafe_code)]
        unsafe {
            self.area.put(slot, self.queued, peer, pieces);
        }
        self.queued = self.queued.wrapping_add(1);
        self.area.publish(self.queued);
        self.used.push((slot, peer));
        self.waiting += 1;
        if let Some(peer) = self.peers.get_mut(&peer) {
            if peer.held == 0 {
                peer.moved = Instant::now();
            }
            peer.held += 1;
        }
    }

    /// Has the kernel take what is queued, and the slots that were consumed.
    fn turn(&mut self) -> io::Result<()> {
        let taken = self.kernel.turn();
        self.after_turn(taken)
    }

    fn after_turn(&mut self, taken: io::Result<()>) -> io::Result<()> {
        taken?;
        self.waiting = 0;
        self.given_back = self.consumed;
        Ok(())
    }

    /// Takes back the slots that the kernel does not read any more.
    fn reclaim(&mut self) {
        let taken = self.used.len() - self.waiting;
        let mut at = 0;
        let (area, free, peers) = (&self.area, &mut self.free, &mut self.peers);
        self.used.retain(|(slot, peer)| {
            at += 1;
            if at > taken || area.is_busy(*slot) {
                return true;
            }
            free.push(*slot);
            if let Some(peer) = peers.get_mut(peer) {
                peer.held -= 1;
                peer.moved = Instant::now();
            }
            false
        });
    }

    /// A slot for a frame to a peer, if it may have another.
    fn slot_for(&mut self, peer: u64) -> Option<u32> {
        let share = (SLOTS as usize / self.routes.len().max(1)).max(SHARE_MIN);
        let may = |device: &Oxk| device.peers.get(&peer).is_none_or(|peer| peer.held < share);
        if !may(self) || self.free.is_empty() {
            self.reclaim();
        }
        may(self).then(|| self.free.pop()).flatten()
    }

    fn is_stalled(&self, peer: u64) -> bool {
        let stalled = |peer: &Peer| peer.held > 0 && peer.moved.elapsed() > STALLED;
        self.peers.get(&peer).is_some_and(stalled)
    }

    /// Lets go of the message that is shown.
    fn let_go(&mut self) {
        if self.shown.take().is_some() {
            self.pass();
        }
    }

    /// The next message has been looked at.
    fn pass(&mut self) {
        self.consumed = self.consumed.wrapping_add(1);
        self.area.consume(self.consumed);
        if self.consumed.wrapping_sub(self.given_back) >= CONSUMED_MAX {
            self.counters.receives += 1;
            // The next one tries again.
            let _ = self.turn();
        }
    }

    /// Whose message it is, and whether it is a frame: the first of a peer that has dialled is not.
    fn take(&mut self, peer: u64, bytes: usize) -> Option<SocketAddr> {
        if let Some(known) = self.peers.get(&peer) {
            return known.address;
        }
        let address = read_hello(self.area.message(self.consumed, bytes));
        self.know(peer, None);
        if let (Some(address), Some(known)) = (address, self.peers.get_mut(&peer)) {
            known.address = Some(address);
            self.routes.entry(address).or_insert(peer);
        }
        None
    }

    /// Peers that were lost; to be asked when all that came from them has been looked at.
    #[cold]
    fn hear(&mut self) {
        while let Some(news) = self.kernel.news() {
            self.news = self.news.wrapping_add(1);
            let Some(peer) = self.peers.get_mut(&news.peer) else {
                continue;
            };
            peer.lost = true;
            let Some(address) = peer.address else {
                continue;
            };
            if self.routes.get(&address) == Some(&news.peer) {
                self.routes.remove(&address);
            }
            if news.refused {
                self.refused.push_back(Address::Oxk(address));
            }
        }
    }
}

/// A message as a piece of memory.
fn piece(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

/// What the dialler of a connection says first: where it is met.
fn hello(address: SocketAddr) -> [u8; HELLO_BYTES] {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut message = [0; HELLO_BYTES];
    message[..4].copy_from_slice(&HELLO);
    message[4..20].copy_from_slice(&ip.octets());
    message[20..].copy_from_slice(&address.port().to_be_bytes());
    message
}

fn read_hello(message: &[u8]) -> Option<SocketAddr> {
    let rest = message.strip_prefix(&HELLO)?;
    let (ip, port) = rest.split_first_chunk::<16>()?;
    let port = u16::from_be_bytes(port.try_into().ok()?);
    let ip = Ipv6Addr::from(*ip);
    let ip = ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4);
    Some((ip, port).into())
}

impl Device for Oxk {
    fn describe(&self) -> String {
        let Oxk {
            interface, address, ..
        } = self;
        format!(
            "{} ({interface}), frames of up to {SLOT_BYTES} bytes",
            Address::Oxk(*address)
        )
    }

    fn frame_bytes_max(&self) -> usize {
        SLOT_BYTES
    }

    fn batch_max(&self) -> (usize, usize) {
        (BATCH_FRAMES, BATCH_FRAMES * SLOT_BYTES)
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let Address::Oxk(to) = to else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("PM in the kernel cannot send to {to}"),
            ));
        };
        let Some(peer) = self.route(*to)? else {
            return Ok(0);
        };
        let mut taken = 0;
        while taken < batch.len() {
            match self.slot_for(peer) {
                Some(slot) => {
                    self.queue(slot, peer, batch.pieces(taken, taken + 1));
                    self.counters.frames_out += 1;
                    self.counters.bytes_out += batch.frame_bytes(taken) as u64;
                }
                // Dropped.
                None if self.is_stalled(peer) => {}
                None => break,
            }
            taken += 1;
        }
        if self.waiting > 0 {
            self.counters.sends += 1;
            self.turn()?;
        }
        Ok(taken)
    }

    #[inline]
    fn poll(&mut self) -> bool {
        self.let_go();
        loop {
            // News of a peer come after its last message.
            let news = self.area.news();
            let Some(arrival) = self.area.arrival(self.consumed) else {
                if news != self.news {
                    self.hear();
                }
                return false;
            };
            let sender = match arrival.whole {
                true => self.take(arrival.peer, arrival.bytes),
                false => None,
            };
            let Some(sender) = sender else {
                self.pass();
                continue;
            };
            self.counters.frames_in += 1;
            self.counters.bytes_in += arrival.bytes as u64;
            self.shown = Some((sender, arrival.bytes));
            return true;
        }
    }

    #[inline]
    fn frame(&self) -> &[u8] {
        let bytes = self.shown.map_or(0, |(_, bytes)| bytes);
        self.area.message(self.consumed, bytes)
    }

    fn sender(&self) -> Address {
        let nobody = || (Ipv6Addr::UNSPECIFIED, 0).into();
        Address::Oxk(self.shown.map_or_else(nobody, |(sender, _)| sender))
    }

    /// Exact for none at all and from `high` on, else within half of the truth, as the Ethernet
    /// device's.
    fn backlog(&self, high: usize) -> usize {
        let ahead = u32::from(self.shown.is_some());
        let is_there = |place: usize| {
            let number = self.consumed.wrapping_add(ahead + place as u32);
            self.area.arrival(number).is_some()
        };
        if !is_there(0) {
            return 0;
        }
        let mut at_least = high.min(SLOTS as usize - 1);
        while at_least > 1 && !is_there(at_least - 1) {
            at_least /= 2;
        }
        at_least
    }

    fn room(&self) -> usize {
        SLOTS as usize
    }

    fn fd(&self) -> RawFd {
        self.kernel.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        self.let_go();
        let reaped = self.kernel.reap();
        // The descriptor tells of what has come since the last turn that was made.
        self.after_turn(reaped).is_ok()
            && self.area.arrival(self.consumed).is_none()
            && self.area.news() == self.news
    }

    fn refused(&mut self) -> Option<Address> {
        self.refused.pop_front()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
