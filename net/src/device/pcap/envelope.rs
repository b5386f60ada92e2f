//! What the network puts around a frame, for captures: a real Ethernet header, or headers of
//! Ethernet, IP and UDP made up so that Wireshark shows a conversation.
//!
//! A device hands over frames without them. What is made up: hardware addresses (from the IP
//! addresses), time to live, and checksums, which are 0 ("not computed") wherever that is allowed:
//! not for UDP over IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::device::Address;
use crate::device::ethernet::ETHERTYPE;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const PROTOCOL_UDP: u8 = 17;
const UDP_HEADER_BYTES: usize = 8;
const IPV4_HEADER_BYTES: usize = 20;
/// Says nothing about a made-up packet; as most systems send it.
const TIME_TO_LIVE: u8 = 64;

/// Writes a frame with its headers.
pub(super) fn write(from: &Address, to: &Address, frame: &[u8], out: &mut Vec<u8>) {
    match (from, to) {
        (Address::Udp(from) | Address::Oxk(from), Address::Udp(to) | Address::Oxk(to)) => {
            udp(*from, *to, frame, out)
        }
        _ => ethernet(hardware(from), hardware(to), ETHERTYPE, out),
    }
    out.extend_from_slice(frame);
}

fn hardware(address: &Address) -> [u8; 6] {
    match address {
        Address::Ethernet(address) => *address,
        Address::Udp(address) | Address::Oxk(address) => made_up(address.ip()),
    }
}

/// A locally administered address that shows the last bytes of an IP address.
fn made_up(address: IpAddr) -> [u8; 6] {
    let [a, b, c, d] = match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => *address.octets().last_chunk().expect("16 bytes end with 4"),
    };
    [2, 0, a, b, c, d]
}

fn ethernet(from: [u8; 6], to: [u8; 6], ethertype: u16, out: &mut Vec<u8>) {
    out.extend(to);
    out.extend(from);
    out.extend(ethertype.to_be_bytes());
}

fn udp(from: SocketAddr, to: SocketAddr, frame: &[u8], out: &mut Vec<u8>) {
    let datagram_bytes = UDP_HEADER_BYTES + frame.len();
    let [a, b] = from.port().to_be_bytes();
    let [c, d] = to.port().to_be_bytes();
    let [e, f] = length(datagram_bytes);
    let mut header = [a, b, c, d, e, f, 0, 0];
    let (source, destination) = (made_up(from.ip()), made_up(to.ip()));
    match same_family(from.ip(), to.ip()) {
        Ok((from, to)) => {
            ethernet(source, destination, ETHERTYPE_IPV4, out);
            // Version 4 and five words of header; no service class.
            out.extend([0x45, 0]);
            out.extend(length(IPV4_HEADER_BYTES + datagram_bytes));
            // No identification; not to be fragmented.
            out.extend([0, 0, 0x40, 0]);
            out.extend([TIME_TO_LIVE, PROTOCOL_UDP, 0, 0]);
            out.extend(from.octets());
            out.extend(to.octets());
        }
        Err((from, to)) => {
            ethernet(source, destination, ETHERTYPE_IPV6, out);
            // Version 6; no traffic class, no flow.
            out.extend([0x60, 0, 0, 0]);
            out.extend(length(datagram_bytes));
            out.extend([PROTOCOL_UDP, TIME_TO_LIVE]);
            out.extend(from.octets());
            out.extend(to.octets());
            let pseudo_header = [[e, f], [0, PROTOCOL_UDP]];
            let sum = checksum(&[
                &from.octets(),
                &to.octets(),
                pseudo_header.as_flattened(),
                &header,
                frame,
            ]);
            header[6..].copy_from_slice(&sum.to_be_bytes());
        }
    }
    out.extend(header);
}

/// The checksum of UDP over parts of which all but the last have even lengths (RFC 768): the
/// complement of the sum in ones' complement, and never 0.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        let words = part.chunks(2);
        sum += words
            .map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0)))
            .sum::<u64>();
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xFFFF,
        sum => sum,
    }
}

/// Both addresses in one family: IPv4 if both can be written so. A socket of IPv6 that is bound to
/// no address in particular also speaks IPv4.
fn same_family(from: IpAddr, to: IpAddr) -> Result<(Ipv4Addr, Ipv4Addr), (Ipv6Addr, Ipv6Addr)> {
    let as_v4 = |address: IpAddr| match address.to_canonical() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Some(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => None,
    };
    let as_v6 = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    as_v4(from)
        .zip(as_v4(to))
        .ok_or_else(|| (as_v6(from), as_v6(to)))
}

/// Datagrams are no longer than a length can say; should one be, the capture still holds all of it.
fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(from: &str, to: &str, bytes: usize) -> Vec<u8> {
        let address = |text: &str| Address::Udp(text.parse().unwrap());
        let mut out = Vec::new();
        write(&address(from), &address(to), &vec![7; bytes], &mut out);
        out.truncate(out.len() - bytes);
        out
    }

    #[test]
    fn an_ipv4_datagram() {
        assert_eq!(
            written("10.0.0.1:5000", "10.0.0.2:5001", 40),
            [
                2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1, 8, 0, // Ethernet
                0x45, 0, 0, 68, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, // IP
                0x13, 0x88, 0x13, 0x89, 0, 48, 0, 0, // UDP
            ]
        );
    }

    #[test]
    fn families_are_not_mixed() {
        let ethertype = |packet: &[u8]| u16::from_be_bytes([packet[12], packet[13]]);
        assert_eq!(ethertype(&written("[::]:1", "10.0.0.2:2", 0)), 0x0800);
        let six = written("[fe80::1]:1", "[fe80::2]:2", 9);
        assert_eq!(ethertype(&six), 0x86DD);
        assert_eq!(six.len(), 14 + 40 + 8);
        assert_eq!(six[18..20], [0, 17]);
        assert_eq!(written("[fe80::1]:1", "10.0.0.2:2", 9).len(), six.len());
    }

    #[test]
    fn raw_ethernet_is_as_it_was() {
        let mut out = Vec::new();
        let (from, to) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        write(
            &Address::Ethernet(from),
            &Address::Ethernet(to),
            &[9],
            &mut out,
        );
        assert_eq!(out, [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5, 9]);
    }
}
