//! ICMP echo: the round trip of IP alone, answered by the other host's kernel.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::median;

/// Type, code, checksum, identifier, sequence (RFC 792).
const HEADER_BYTES: usize = 8;
/// Type of a request.
const ECHO: u8 = 8;
/// Type of an answer.
const REPLY: u8 = 0;
/// The longest header of IP, which a raw socket puts before what it has received.
const IP_HEADER_BYTES_MAX: usize = 60;
/// Round trips before any counts.
const WARM: usize = 20;
/// Who has not answered by then does not answer.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Round trips of `bytes` of payload to a host, ns, by a socket that needs no privilege where the
/// kernel permits it (`net.ipv4.ping_group_range`), and a raw one elsewhere, which takes
/// CAP_NET_RAW. Who asks looks again and again.
pub fn round_trip_ns(host: Ipv4Addr, bytes: usize, time: Duration) -> io::Result<f64> {
    let (socket, is_raw) = match open(host, libc::SOCK_DGRAM) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            (open(host, libc::SOCK_RAW)?, true)
        }
        found => (found?, false),
    };
    let mut request = vec![0u8; HEADER_BYTES + bytes];
    let mut answer = vec![0u8; IP_HEADER_BYTES_MAX + HEADER_BYTES + bytes];
    request[0] = ECHO;
    request[4..6].copy_from_slice(&(std::process::id() as u16).to_be_bytes());
    let mut found = Vec::new();
    let (began, mut sequence) = (Instant::now(), 0u16);
    while began.elapsed() < time || found.len() < 2 * WARM {
        sequence = sequence.wrapping_add(1);
        request[6..8].copy_from_slice(&sequence.to_be_bytes());
        request[2..4].fill(0);
        let sum = checksum(&request);
        request[2..4].copy_from_slice(&sum.to_be_bytes());
        let start = Instant::now();
        send(&socket, &request)?;
        loop {
            let count = receive(&socket, &mut answer)?;
            if is_answer(&answer[..count], &request, is_raw) {
                break;
            }
            if start.elapsed() > SILENCE_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        found.push(start.elapsed().as_nanos() as f64);
    }
    Ok(median(&mut found[WARM..]))
}

/// Whether these bytes answer the request. Without a raw socket the kernel has seen to the
/// identifier, which is its own.
fn is_answer(found: &[u8], request: &[u8], is_raw: bool) -> bool {
    let header = match (is_raw, found.first()) {
        // The length of IP's header is given in words of four bytes.
        (true, Some(first)) => usize::from(first & 15) * 4,
        _ => 0,
    };
    let Some(message) = found
        .get(header..)
        .filter(|rest| rest.len() >= HEADER_BYTES)
    else {
        return false;
    };
    message[0] == REPLY
        && message[6..8] == request[6..8]
        && (!is_raw || message[4..6] == request[4..6])
}

/// The ones' complement of the sum of all pairs of bytes (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    let words = pairs.map(|pair| u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > u32::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn open(host: Ipv4Addr, kind: libc::c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a system call without memory; its answer is checked before it is owned.
    let number = unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_ICMP) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else has the number.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from(host).to_be(),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: the address lives on this stack and has the length that is given.
    let answer = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    match answer {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads `bytes`, which outlives the call.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    match sent {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// 0 if nothing is there.
fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the length of `bytes` into it.
    let count = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            0,
        )
    };
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_other_messages() {
        let request = [ECHO, 0, 0, 0, 7, 7, 0, 9];
        let reply = [REPLY, 0, 0, 0, 7, 7, 0, 9];
        assert!(is_answer(&reply, &request, false));
        assert!(!is_answer(&request, &request, false), "one's own request");
        let mut raw = vec![0; 20];
        raw[0] = 0x45;
        raw.extend(reply);
        assert!(is_answer(&raw, &request, true));
        raw[24] = 8;
        assert!(!is_answer(&raw, &request, true), "somebody else's");
        assert!(!is_answer(&raw[..24], &request, true));
        assert!(!is_answer(&[], &request, true));
    }

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // The example of its section 3: the sum is ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn this_host_answers_where_the_socket_is_permitted() {
        match round_trip_ns(Ipv4Addr::LOCALHOST, 8, Duration::ZERO) {
            Ok(time) => assert!(time > 0.0),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("SKIPPED: no socket for ICMP here: {error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}
