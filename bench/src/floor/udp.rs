//! UDP without a library: spinning on non-blocking calls, segmentation left to the kernel on both
//! sides.
//!
//! Two pairs of connected sockets: one for data, one for credits. A sender has at most
//! `IN_FLIGHT_MAX` bytes unacknowledged and the receiver's buffer holds them all, so on a network
//! that drops nothing by itself nothing is lost and nothing is repeated: this is the data path
//! alone, without a protocol. A credit is the number of bytes received so far, and says so every
//! `CREDIT_BYTES`.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

use oxmpi_net::address::PortRange;

use super::wire::{Medium, Patience};

/// Unacknowledged bytes at most: four calls of the largest size. Beyond two of them nothing is
/// gained between CPUs of one machine, and sockets of ordinary users have this much room.
const IN_FLIGHT_MAX: u64 = 256 << 10;

/// Bytes between two credits.
const CREDIT_BYTES: u64 = 32 << 10;

/// Asked of the kernel for each socket, which gives what an ordinary user may have.
const SOCKET_BYTES: libc::c_int = 4 << 20;

/// Segments of a call at most: what kernels since 4.18 take (UDP_MAX_SEGMENTS).
const SEGMENTS_MAX: usize = 64;

/// Payload of a call at most: what the 16-bit lengths of UDP and IP leave.
const CALL_MAX: usize = 65_535 - 8 - 40;

/// Ports of both sockets, as sent to the other end.
const PORTS_BYTES: usize = 4;

/// One end.
pub struct Datagrams {
    data: UdpSocket,
    credits: UdpSocket,
    /// The largest call that is a whole number of segments.
    call_max: usize,
    /// Since the beginning: sent, known to be received, received, told.
    sent: u64,
    acknowledged: u64,
    received: u64,
    told: u64,
    yields: bool,
}

impl Datagrams {
    /// Makes the sockets between the two hosts of a connection, and tells the other end by it; the
    /// other end does the same.
    pub fn meet(mut by: &TcpStream, range: PortRange, yields: bool) -> io::Result<Datagrams> {
        // A listener for both families sees IPv4 addresses in their IPv6 form.
        let (here, there) = (by.local_addr()?.ip(), by.peer_addr()?.ip());
        let (here, there) = (here.to_canonical(), there.to_canonical());
        let data = bind(here, range)?;
        let credits = bind(here, range)?;
        let mut ports = [0; PORTS_BYTES];
        ports[..2].copy_from_slice(&data.local_addr()?.port().to_le_bytes());
        ports[2..].copy_from_slice(&credits.local_addr()?.port().to_le_bytes());
        by.write_all(&ports)?;
        by.read_exact(&mut ports)?;
        let port = |at: usize| u16::from_le_bytes([ports[at], ports[at + 1]]);
        data.connect(SocketAddr::new(there, port(0)))?;
        credits.connect(SocketAddr::new(there, port(2)))?;
        let segment = segment_bytes(&data, here)?;
        let call_max = CALL_MAX.min(segment * SEGMENTS_MAX) / segment * segment;
        let options = [
            (libc::SOL_SOCKET, libc::SO_RCVBUF, SOCKET_BYTES),
            (libc::SOL_SOCKET, libc::SO_SNDBUF, SOCKET_BYTES),
            (libc::SOL_UDP, libc::UDP_GRO, 1),
            (libc::SOL_UDP, libc::UDP_SEGMENT, segment as libc::c_int),
        ];
        for (level, name, value) in options {
            set_option(&data, level, name, value)?;
        }
        data.set_nonblocking(true)?;
        credits.set_nonblocking(true)?;
        Ok(Datagrams {
            data,
            credits,
            call_max,
            sent: 0,
            acknowledged: 0,
            received: 0,
            told: 0,
            yields,
        })
    }

    /// Takes the credits that have come.
    fn take_credits(&mut self, patience: &mut Patience) -> io::Result<()> {
        let mut credit = [0; 8];
        match self.credits.recv(&mut credit) {
            Ok(_) => {
                self.acknowledged = self.acknowledged.max(u64::from_le_bytes(credit));
                Ok(())
            }
            Err(error) => patience.bear(error),
        }
    }

    fn give_credit(&mut self) -> io::Result<()> {
        if self.received - self.told >= CREDIT_BYTES {
            self.credits.send(&self.received.to_le_bytes())?;
            self.told = self.received;
        }
        Ok(())
    }
}

impl Medium for Datagrams {
    fn calls(&self, bytes: usize) -> Vec<usize> {
        let largest = self.call_max.min(bytes);
        if bytes > self.call_max / 2 {
            vec![self.call_max / 2, largest]
        } else {
            vec![largest]
        }
    }

    fn send(&mut self, bytes: &[u8], call: usize) -> io::Result<()> {
        let call = call.min(self.call_max);
        let mut rest = bytes;
        let mut patience = Patience::new(self.yields);
        while !rest.is_empty() {
            let count = rest.len().min(call);
            if self.sent + count as u64 - self.acknowledged > IN_FLIGHT_MAX {
                self.take_credits(&mut patience)?;
                continue;
            }
            match self.data.send(&rest[..count]) {
                Ok(count) => {
                    self.sent += count as u64;
                    rest = &rest[count..];
                }
                Err(error) => patience.bear(error)?,
            }
        }
        Ok(())
    }

    fn receive(&mut self, bytes: &mut [u8], _: usize) -> io::Result<()> {
        let mut received = 0;
        let mut patience = Patience::new(self.yields);
        while received < bytes.len() {
            // A datagram, or a run of them that the kernel has put together; what one end sends,
            // the other expects as a whole.
            match self.data.recv(&mut bytes[received..]) {
                Ok(count) => {
                    received += count;
                    self.received += count as u64;
                    self.give_credit()?;
                }
                Err(error) => patience.bear(error)?,
            }
        }
        Ok(())
    }
}

fn bind(here: IpAddr, range: PortRange) -> io::Result<UdpSocket> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for port in range.attempts(0) {
        match UdpSocket::bind((here, port)) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Payload of a datagram that needs no fragments on the way.
fn segment_bytes(socket: &UdpSocket, here: IpAddr) -> io::Result<usize> {
    let (level, name, headers) = match here {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, 20 + 8),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, 40 + 8),
    };
    let mut mtu: libc::c_int = 0;
    let mut length = size_of_val(&mtu) as libc::socklen_t;
    // SAFETY: the descriptor is the socket's own; the kernel writes at most `length` bytes to
    // `mtu`, which lives on this stack.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut mtu).cast(),
            &mut length,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((mtu as usize).saturating_sub(headers).clamp(1, CALL_MAX))
}

fn set_option(
    socket: &UdpSocket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the descriptor is the socket's own; the kernel reads one integer from this stack.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (that, _) = listener.accept().unwrap();
        let meeting = std::thread::spawn(move || Datagrams::meet(&that, PortRange::ANY, true));
        let this = Datagrams::meet(&this, PortRange::ANY, true).unwrap();
        let that = meeting.join().unwrap().unwrap();
        wire::tests::both_ends_agree_on_when_it_is_over(this, that);
    }
}
