//! At which addresses of this host a socket takes what others send.
//!
//! Without a policy that is everywhere. A policy narrows it to the addresses that the process
//! offers: where that is one, sockets are bound to it; where they are several, which one socket
//! cannot be bound to, it is bound to all and a filter in the kernel drops what was sent to any
//! other.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::RawFd;

use super::choice::{NothingOffered, Use, judge, offered};
use super::kind::is_link_local;
use super::{Interface, Policy};

/// Where sockets listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// At all addresses, also those that this host will have.
    Everywhere,
    /// At one, with the number of its interface where the address needs one.
    One(IpAddr, u32),
    /// At several.
    Several(Vec<IpAddr>),
}

impl Reach {
    /// What a policy leaves of this host's addresses.
    pub fn new(interfaces: &[Interface], policy: &Policy) -> Result<Reach, NothingOffered> {
        if *policy == Policy::default() {
            return Ok(Reach::Everywhere);
        }
        // Its error is that nothing is left.
        offered(interfaces, policy)?;
        let is_used =
            |interface: &&Interface| matches!(judge(interface, policy), Use::Chosen | Use::Offered);
        let used: Vec<&Interface> = interfaces.iter().filter(is_used).collect();
        Ok(match used[..] {
            [only] => {
                let scope = if is_link_local(only.address) {
                    only.index
                } else {
                    0
                };
                Reach::One(only.address, scope)
            }
            _ => Reach::Several(used.iter().map(|interface| interface.address).collect()),
        })
    }

    /// What to bind a socket to, in the order to be tried: later ones are for kernels without IPv6.
    pub(crate) fn names(&self, port: u16) -> Vec<SocketAddr> {
        match self {
            Reach::One(IpAddr::V6(address), scope) => {
                vec![SocketAddrV6::new(*address, port, 0, *scope).into()]
            }
            Reach::One(address, _) => vec![(*address, port).into()],
            Reach::Everywhere | Reach::Several(_) => vec![
                (Ipv6Addr::UNSPECIFIED, port).into(),
                (Ipv4Addr::UNSPECIFIED, port).into(),
            ],
        }
    }

    /// Lets a socket take only what was sent to one of several addresses. Before it is bound, so
    /// that nothing slips in.
    pub(crate) fn narrow(&self, socket: RawFd) -> io::Result<()> {
        let Reach::Several(addresses) = self else {
            return Ok(());
        };
        let mut program = program(addresses);
        let program = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: the structure is a local that names a vector of so many instructions; the kernel
        // copies them.
        let outcome = unsafe {
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of::<libc::sock_fprog>() as libc::socklen_t,
            )
        };
        match outcome {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Takes a filter off a connection that has passed it: its addresses do not change any more.
pub(crate) fn widen(socket: RawFd) {
    let none = 0i32;
    // SAFETY: pointer and length describe the local. A socket without a filter says so, and that is
    // what is wanted.
    unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_DETACH_FILTER,
            (&raw const none).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
}

/// Bytes of a packet that may pass: all of it.
const WHOLE: u32 = u32::MAX;
/// Where the destination stands in a header of IPv4 and of IPv6.
const DESTINATION_V4: i32 = 16;
const DESTINATION_V6: i32 = 24;

/// A classic BPF program that lets packets to these addresses pass. Each address is compared and
/// accepted on its own, so that all jumps stay short.
fn program(addresses: &[IpAddr]) -> Vec<libc::sock_filter> {
    let mut four = vec![load(libc::BPF_W, DESTINATION_V4)];
    let mut six = Vec::new();
    for address in addresses {
        match address {
            IpAddr::V4(address) => {
                four.extend([equal_or_skip(address.to_bits(), 1), finish(WHOLE)]);
            }
            IpAddr::V6(address) => {
                let octets = address.octets();
                for (place, word) in octets.chunks_exact(4).enumerate() {
                    let word = word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
                    let place = place as u8;
                    six.push(load(libc::BPF_W, DESTINATION_V6 + 4 * i32::from(place)));
                    // Behind the last word stands the acceptance; two instructions for each word
                    // before.
                    six.push(equal_or_skip(word, 2 * (3 - place) + 1));
                }
                six.push(finish(WHOLE));
            }
        }
    }
    four.push(finish(0));
    six.push(finish(0));
    let version = [
        load(libc::BPF_B, 0),
        instruction(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 4, 0),
        equal_or_skip(4, 1),
        instruction(libc::BPF_JMP | libc::BPF_JA, six.len() as u32, 0),
    ];
    version.into_iter().chain(six).chain(four).collect()
}

/// Loads what lies at an offset of the header of IP; a packet that ends before is refused.
fn load(size: u32, offset: i32) -> libc::sock_filter {
    let place = (libc::SKF_NET_OFF + offset) as u32;
    instruction(libc::BPF_LD | size | libc::BPF_ABS, place, 0)
}

/// Goes on if the value loaded is this one, else skips so many instructions.
fn equal_or_skip(value: u32, skipped: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, skipped)
}

fn finish(bytes: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, bytes, 0)
}

fn instruction(code: u32, value: u32, skipped: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: skipped,
        k: value,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{INCLUDE, Kind};
    use super::*;

    fn interface(name: &str, index: u32, address: &str) -> Interface {
        Interface {
            name: name.into(),
            index,
            address: address.parse().unwrap(),
            prefix: 24,
            kind: Kind::Ordinary,
            up: true,
            speed_mbit: None,
        }
    }

    fn reach(include: &str, exclude: &str) -> Result<Reach, NothingOffered> {
        let there = [
            interface("eth0", 2, "10.1.0.1"),
            interface("eth0", 2, "fe80::1"),
            interface("eth1", 3, "10.2.0.1"),
        ];
        let value = |name: &str| Some(if name == INCLUDE { include } else { exclude }.to_owned());
        Reach::new(&there, &Policy::from_variables(value).unwrap())
    }

    #[test]
    fn a_policy_narrows_where_sockets_listen() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(reach("", ""), Ok(Reach::Everywhere));
        assert_eq!(reach("10.1.0.0/16", ""), Ok(Reach::One(ip("10.1.0.1"), 0)));
        assert_eq!(reach("fe80::/10", ""), Ok(Reach::One(ip("fe80::1"), 2)));
        let both = Reach::Several(vec![ip("10.1.0.1"), ip("fe80::1")]);
        assert_eq!(reach("eth0", ""), Ok(both.clone()));
        assert_eq!(reach("", "eth1"), Ok(both));
        assert!(reach("10.9.0.0/16", "").is_err());
        let scoped = Reach::One(ip("fe80::1"), 2).names(7);
        assert_eq!(scoped, ["[fe80::1%2]:7".parse().unwrap()]);
    }
}
