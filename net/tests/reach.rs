//! Processes are reached at the addresses that the policy leaves, and at no other. Every address of
//! 127.0.0.0/8 is one of this host, and only the first is an interface's.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use oxmpi_net::address::{INCLUDE, Local, Policy, PortRange, Reach};
use oxmpi_net::device::Device;
use oxmpi_net::device::udp::{Families, Udp};
use oxmpi_net::tcp::Listener;

/// Longer than a datagram on loopback takes; what is dropped cannot be waited for otherwise.
const SILENCE: Duration = Duration::from_millis(300);

fn policy(include: &str) -> Policy {
    Policy::from_variables(|name| (name == INCLUDE).then(|| include.to_owned())).unwrap()
}

fn bind(include: &str) -> (Listener, Udp) {
    Listener::bind_under(policy(include), PortRange::ANY, 0, |port, reach| {
        Udp::bind_at(reach, port, 1500, Families::Both).map_err(io::Error::other)
    })
    .unwrap()
}

/// Whether a connection to the address is made.
fn connects(ip: &str, port: u16) -> Result<(), ErrorKind> {
    let to = SocketAddr::new(ip.parse().unwrap(), port);
    TcpStream::connect_timeout(&to, SILENCE)
        .map(drop)
        .map_err(|error| error.kind())
}

/// Whether a datagram to the address arrives.
fn arrives(udp: &mut Udp, ip: &str) -> bool {
    let from = if ip.contains(':') {
        "[::1]:0"
    } else {
        "127.0.0.1:0"
    };
    let to = SocketAddr::new(ip.parse().unwrap(), udp.port());
    let sender = UdpSocket::bind(from).unwrap();
    let _ = sender.send_to(&[1, 2, 3], to);
    let begin = Instant::now();
    while begin.elapsed() < SILENCE {
        if udp.poll() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn without_a_policy_all_addresses_are_listened_at() {
    let (listener, mut udp) = bind("");
    for ip in ["127.0.0.1", "127.0.0.2"] {
        assert_eq!(connects(ip, listener.port()), Ok(()), "{ip}");
        assert!(arrives(&mut udp, ip), "{ip}");
    }
}

#[test]
fn one_address_is_bound_to() {
    let (listener, mut udp) = bind("127.0.0.1");
    assert_eq!(connects("127.0.0.1", listener.port()), Ok(()));
    let refused = Err(ErrorKind::ConnectionRefused);
    assert_eq!(connects("127.0.0.2", listener.port()), refused);
    assert!(arrives(&mut udp, "127.0.0.1"));
    assert!(!arrives(&mut udp, "127.0.0.2"));
}

#[test]
fn of_several_addresses_the_others_are_filtered() {
    let addresses: Vec<IpAddr> = ["127.0.0.1", "::1", "127.0.0.3"]
        .map(|ip| ip.parse().unwrap())
        .to_vec();
    let reach = Reach::Several(addresses);
    let mut udp = Udp::bind_at(&reach, 0, 1500, Families::Both).unwrap();
    assert!(arrives(&mut udp, "127.0.0.1") && arrives(&mut udp, "127.0.0.3"));
    assert!(!arrives(&mut udp, "127.0.0.2"));
    if Local::read()
        .unwrap()
        .interfaces
        .iter()
        .any(|one| one.address.is_ipv6())
    {
        assert!(arrives(&mut udp, "::1"));
    }
}

/// What an interface with two addresses makes of it, for connections.
#[test]
fn an_interface_that_is_named_is_listened_at_and_no_other() {
    let local = Local::read().unwrap();
    let on_lo: Vec<IpAddr> = local
        .interfaces
        .iter()
        .filter(|one| one.name == "lo")
        .map(|one| one.address)
        .collect();
    let (listener, mut udp) = bind("lo");
    for ip in &on_lo {
        assert_eq!(connects(&ip.to_string(), listener.port()), Ok(()), "{ip}");
        assert!(arrives(&mut udp, &ip.to_string()), "{ip}");
    }
    // Bound to one address the kernel refuses, with a filter for two it is silent.
    let outcome = connects("127.0.0.2", listener.port());
    assert_eq!(
        outcome,
        Err(match on_lo.len() {
            1 => ErrorKind::ConnectionRefused,
            _ => ErrorKind::TimedOut,
        })
    );
    assert!(!arrives(&mut udp, "127.0.0.2"));
    let mut others = local
        .interfaces
        .iter()
        .filter(|one| one.name != "lo" && one.up && one.address.is_ipv4());
    match others.next() {
        Some(other) => assert!(connects(&other.address.to_string(), listener.port()).is_err()),
        None => eprintln!("skipped: this host has no address but loopback"),
    }
}
