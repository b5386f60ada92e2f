//! Raw Ethernet frames without a library: a packet socket with a memory-mapped receive ring,
//! polled, and plain sends past the queues.
//!
//! The frames have the second of the two EtherTypes for local experiments, so that they never meet
//! those of OxMPI itself. A sender has at most `IN_FLIGHT_MAX` frames unacknowledged, an eighth of
//! the ring's slots, so nothing is dropped for lack of room; a credit counts the frames received so
//! far. `ring` is the mapped ring. Opening a packet socket takes CAP_NET_RAW.

mod ring;

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ring::{Ring, Taken};

use super::wire::{Medium, Patience};

/// IEEE 802's second EtherType for local experiments.
const ETHER_TYPE: u16 = 0x88B6;

/// Destination, source, type.
const ETHERNET_BYTES: usize = 14;
/// Behind it: token, kind, payload bytes (short frames are padded on real wires), credit.
const HEADER_BYTES: usize = ETHERNET_BYTES + 16;
const TOKEN: usize = ETHERNET_BYTES;
const KIND: usize = ETHERNET_BYTES + 4;
const LENGTH: usize = ETHERNET_BYTES + 6;
const CREDIT: usize = ETHERNET_BYTES + 8;

const DATA: u16 = 1;
const CREDITS: u16 = 2;

/// Unacknowledged frames at most.
const IN_FLIGHT_MAX: u64 = ring::SLOTS as u64 / 8;
/// Frames between two credits.
const CREDIT_FRAMES: u64 = 32;

/// Longest frame's payload that is tried: that of the usual jumbo frames. Loopback would take more,
/// in a ring of half a gigabyte.
const MTU_MAX: usize = 9216;

/// Frames of a call of sendmmsg.
const TOGETHER_MAX: usize = 32;

/// What ends tell each other: address and token.
const INTRODUCTION_BYTES: usize = 6 + 4;

/// One end.
pub struct Frames {
    socket: OwnedFd,
    ring: Ring,
    /// Of every frame that this end sends; length and kind are filled in.
    header: [u8; HEADER_BYTES],
    /// What frames of the other end carry.
    token: [u8; 4],
    payload_max: usize,
    /// Since the beginning: sent, known to be received, received, told.
    sent: u64,
    acknowledged: u64,
    received: u64,
    told: u64,
    yields: bool,
}

impl Frames {
    /// Opens a packet socket on an interface, and tells the other end by a connection; the other
    /// end does the same.
    pub fn meet(mut by: &TcpStream, interface: u32, yields: bool) -> io::Result<Frames> {
        let socket = open()?;
        let mtu = mtu(&socket, interface)?.min(MTU_MAX);
        let ring = Ring::map(&socket, mtu + ETHERNET_BYTES)?;
        set_option(&socket, libc::PACKET_QDISC_BYPASS, &1i32)?;
        let mine = bind(&socket, interface)?;
        let token = (std::process::id() ^ by.local_addr()?.port() as u32).to_le_bytes();
        let mut introduction = [0; INTRODUCTION_BYTES];
        introduction[..6].copy_from_slice(&mine);
        introduction[6..].copy_from_slice(&token);
        by.write_all(&introduction)?;
        by.read_exact(&mut introduction)?;
        let mut header = [0; HEADER_BYTES];
        header[..6].copy_from_slice(&introduction[..6]);
        header[6..12].copy_from_slice(&mine);
        header[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        header[TOKEN..KIND].copy_from_slice(&token);
        let [.., a, b, c, d] = introduction;
        Ok(Frames {
            socket,
            ring,
            header,
            token: [a, b, c, d],
            payload_max: mtu - (HEADER_BYTES - ETHERNET_BYTES),
            sent: 0,
            acknowledged: 0,
            received: 0,
            told: 0,
            yields,
        })
    }

    /// Whether this process may open packet sockets.
    pub fn permitted() -> bool {
        open().is_ok()
    }

    fn data_header(&self, bytes: usize) -> [u8; HEADER_BYTES] {
        let mut header = self.header;
        header[KIND..LENGTH].copy_from_slice(&DATA.to_le_bytes());
        header[LENGTH..CREDIT].copy_from_slice(&(bytes as u16).to_le_bytes());
        header
    }

    /// Sends one frame, and says false if the kernel has no room for it.
    fn send_one(&mut self, payload: &[u8]) -> io::Result<bool> {
        let header = self.data_header(payload.len());
        let parts = [IoSlice::new(&header), IoSlice::new(payload)];
        let mut message = message(&parts);
        // SAFETY: the descriptor is our socket; header and payload outlive the call, which only
        // reads them.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw mut message, 0) };
        accepted(sent as i64).map(|count| count > 0)
    }

    /// Sends frames of `payload` in one call, and says how many payload bytes the kernel took.
    fn send_many(&mut self, payload: &[u8]) -> io::Result<usize> {
        let chunks = || payload.chunks(self.payload_max).take(TOGETHER_MAX);
        let headers: Vec<_> = chunks()
            .map(|chunk| self.data_header(chunk.len()))
            .collect();
        let parts: Vec<_> = headers
            .iter()
            .zip(chunks())
            .map(|(header, chunk)| [IoSlice::new(header), IoSlice::new(chunk)])
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter()
            .map(|parts| libc::mmsghdr {
                msg_hdr: message(parts),
                msg_len: 0,
            })
            .collect();
        // SAFETY: the descriptor is our socket; headers, parts and payload outlive the call, which
        // only reads them, and there are as many messages as it is told.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                messages.len() as libc::c_uint,
                0,
            )
        };
        let frames = accepted(i64::from(sent))?;
        self.sent += frames as u64;
        Ok(chunks().take(frames).map(<[u8]>::len).sum())
    }

    /// Looks at the next frame; copies its payload to `into` and says how many bytes that were, if
    /// it was data.
    fn take(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let token = self.token;
        let Some(taken) = self.ring.take(|frame| read(frame, token, into)) else {
            return Ok(None);
        };
        match taken {
            Taken::Data(bytes) => {
                self.received += 1;
                if self.received - self.told >= CREDIT_FRAMES {
                    self.give_credit()?;
                }
                Ok(Some(bytes))
            }
            Taken::Credit(frames) => {
                self.acknowledged = self.acknowledged.max(frames);
                Ok(Some(0))
            }
            Taken::Foreign => Ok(Some(0)),
        }
    }

    fn give_credit(&mut self) -> io::Result<()> {
        let mut frame = self.header;
        frame[KIND..LENGTH].copy_from_slice(&CREDITS.to_le_bytes());
        frame[CREDIT..].copy_from_slice(&self.received.to_le_bytes());
        // SAFETY: the descriptor is our socket; the frame lives on this stack and is only read.
        let sent = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
            )
        };
        if accepted(sent as i64)? > 0 {
            self.told = self.received;
        }
        Ok(())
    }
}

impl Medium for Frames {
    fn calls(&self, bytes: usize) -> Vec<usize> {
        if bytes > self.payload_max {
            vec![self.payload_max, self.payload_max * TOGETHER_MAX]
        } else {
            vec![bytes]
        }
    }

    fn send(&mut self, bytes: &[u8], call: usize) -> io::Result<()> {
        let mut rest = bytes;
        let mut patience = Patience::new(self.yields);
        while !rest.is_empty() {
            let frame = rest.len().min(self.payload_max);
            let together = call > self.payload_max && rest.len() > frame;
            let room = IN_FLIGHT_MAX - (self.sent - self.acknowledged);
            if room < (if together { TOGETHER_MAX as u64 } else { 1 }) {
                if self.take(&mut [])?.is_none() {
                    patience.wait()?;
                }
            } else if together {
                let count = self.send_many(rest)?;
                rest = &rest[count..];
            } else if self.send_one(&rest[..frame])? {
                self.sent += 1;
                rest = &rest[frame..];
            }
        }
        Ok(())
    }

    fn receive(&mut self, bytes: &mut [u8], _: usize) -> io::Result<()> {
        let mut received = 0;
        let mut patience = Patience::new(self.yields);
        while received < bytes.len() {
            match self.take(&mut bytes[received..])? {
                Some(count) => received += count,
                None => patience.wait()?,
            }
        }
        Ok(())
    }
}

/// What a frame is; data are copied to `into`.
fn read(frame: &[u8], token: [u8; 4], into: &mut [u8]) -> Taken {
    if frame.len() < HEADER_BYTES || frame[TOKEN..KIND] != token {
        return Taken::Foreign;
    }
    let number = |at: usize| u16::from_le_bytes([frame[at], frame[at + 1]]);
    let payload = &frame[HEADER_BYTES..];
    let bytes = usize::from(number(LENGTH));
    match number(KIND) {
        DATA if bytes <= payload.len().min(into.len()) => {
            into[..bytes].copy_from_slice(&payload[..bytes]);
            Taken::Data(bytes)
        }
        CREDITS => {
            let mut credit = [0; 8];
            credit.copy_from_slice(&frame[CREDIT..HEADER_BYTES]);
            Taken::Credit(u64::from_le_bytes(credit))
        }
        _ => Taken::Foreign,
    }
}

fn message(parts: &[IoSlice<'_>]) -> libc::msghdr {
    // SAFETY: a msghdr is plain data, and all zeroes is one without name, parts or control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // An IoSlice is an iovec by definition.
    message.msg_iov = parts.as_ptr().cast_mut().cast();
    message.msg_iovlen = parts.len() as _;
    message
}

/// What a call that sends says: how much it took, nothing where the kernel has no room for now.
fn accepted(count: i64) -> io::Result<usize> {
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(0),
                _ => Err(error),
            }
        }
    }
}

fn open() -> io::Result<OwnedFd> {
    // Protocol 0: nothing arrives before the ring is there and the socket bound.
    // SAFETY: a system call without memory arguments; the descriptor is checked and owned here.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Binds the socket to an interface and the EtherType of floors; gives the interface's address.
fn bind(socket: &OwnedFd, interface: u32) -> io::Result<[u8; 6]> {
    // SAFETY: a sockaddr_ll is plain data; both calls read or write at most the length they are
    // told, of a variable on this stack.
    unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETHER_TYPE.to_be();
        address.sll_ifindex = interface as i32;
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let place = (&raw mut address).cast();
        if libc::bind(socket.as_raw_fd(), place, length) != 0
            || libc::getsockname(socket.as_raw_fd(), place, &mut length) != 0
        {
            return Err(io::Error::last_os_error());
        }
        let [a, b, c, d, e, f, ..] = address.sll_addr;
        Ok([a, b, c, d, e, f])
    }
}

fn mtu(socket: &OwnedFd, interface: u32) -> io::Result<usize> {
    // SAFETY: an ifreq is plain data; if_indextoname writes at most IF_NAMESIZE bytes, which its
    // name has; the request fills in the member that is read afterwards.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        if libc::if_indextoname(interface, request.ifr_name.as_mut_ptr()).is_null()
            || libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) != 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(request.ifr_ifru.ifru_mtu as usize)
    }
}

fn set_option<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the descriptor is our socket; the kernel reads one `T`.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::wire;
    use std::net::TcpListener;

    #[test]
    fn both_ends_agree_on_when_it_is_over() {
        if !Frames::permitted() {
            eprintln!("SKIPPED: packet sockets take CAP_NET_RAW");
            return;
        }
        // SAFETY: the name is a C string.
        let loopback = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (that, _) = listener.accept().unwrap();
        let meeting = std::thread::spawn(move || Frames::meet(&that, loopback, true));
        let this = Frames::meet(&this, loopback, true).unwrap();
        let that = meeting.join().unwrap().unwrap();
        wire::tests::both_ends_agree_on_when_it_is_over(this, that);
    }

    #[test]
    fn frames_of_others_are_not_read() {
        let mut frame = [0u8; HEADER_BYTES + 4];
        frame[TOKEN..KIND].copy_from_slice(b"abcd");
        frame[KIND] = DATA as u8;
        frame[LENGTH] = 4;
        let taken = |frame: &[u8], token, room: usize| match read(frame, token, &mut [0; 8][..room])
        {
            Taken::Data(bytes) => bytes,
            _ => 0,
        };
        assert_eq!(taken(&frame, *b"abcd", 8), 4);
        assert_eq!(taken(&frame, *b"abce", 8), 0, "another token");
        assert_eq!(taken(&frame, *b"abcd", 3), 0, "more than was asked for");
        assert_eq!(taken(&frame[..HEADER_BYTES + 3], *b"abcd", 8), 0, "cut off");
        assert_eq!(taken(&frame[..20], *b"abcd", 8), 0, "no header");
    }
}
