//! What a network interface is, as far as raw frames are concerned: address, longest frame, and
//! whether it is an Ethernet at all.
//!
//! Asked of the kernel by getifaddrs(3) and ioctl, which answer for the network namespace that the
//! caller is in; /sys may show another one's.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;

use super::EthernetError;
use crate::device::sys::{Socket, check};

/// A network interface of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as eth0.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// Its hardware address; zeros if it is no Ethernet.
    pub mac: [u8; 6],
    /// Longest packet that it sends: what a frame may have.
    pub mtu: usize,
    /// Up, and with a carrier.
    pub up: bool,
    /// It leads nowhere but back.
    pub loopback: bool,
    /// Its packets begin with an Ethernet header (ARPHRD_ETHER): cards, bridges, bonds, VLANs,
    /// veth, tap.
    pub ethernet: bool,
}

impl Interface {
    /// The interface of this name.
    pub fn named(name: &str) -> Result<Interface, EthernetError> {
        let all = interfaces()?;
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        let there = names.join(", ");
        let named = all.into_iter().find(|one| one.name == name);
        named.ok_or_else(|| EthernetError::Missing {
            interface: name.to_owned(),
            there,
        })
    }

    /// Whether raw frames can leave and arrive by it.
    pub fn is_suitable(&self) -> bool {
        self.up && self.ethernet && !self.loopback && self.mac != [0; 6]
    }
}

/// All interfaces of this host, in the kernel's order.
pub fn interfaces() -> Result<Vec<Interface>, EthernetError> {
    let failed = |source| EthernetError::System {
        what: "list the interfaces",
        interface: "this host".to_owned(),
        source,
    };
    let mut list = std::ptr::null_mut();
    // SAFETY: the pointer is a local, and the list it is set to is ours to free.
    check(unsafe { libc::getifaddrs(&mut list) }).map_err(failed)?;
    let mut interfaces = Vec::new();
    let mut next = list;
    // SAFETY: `next` is null or an entry of the list, which is freed only below, after the last
    // look at it.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: entries come from getifaddrs(3), which keeps the promise.
        interfaces.extend(unsafe { read(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: `list` came from getifaddrs and is freed once; what was read of it is owned.
    unsafe { libc::freeifaddrs(list) };
    let socket = Socket::new(libc::AF_UNIX, libc::SOCK_DGRAM, 0).map_err(failed)?;
    // One whose MTU is not known any more has gone since it was listed.
    interfaces.retain_mut(
        |interface: &mut Interface| match mtu(&socket, &interface.name) {
            Ok(mtu) => {
                interface.mtu = mtu;
                true
            }
            Err(_) => false,
        },
    );
    Ok(interfaces)
}

/// The interface that an entry is about, if it is one of those that say what an interface is rather
/// than an address of it. The MTU is not known yet.
///
/// # Safety
/// The name is a string with an end, and the address is null or as long as its family says.
unsafe fn read(entry: &libc::ifaddrs) -> Option<Interface> {
    // SAFETY: the caller's promise; the family is in every socket address.
    let family = i32::from(unsafe { entry.ifa_addr.as_ref() }?.sa_family);
    if family != libc::AF_PACKET {
        return None;
    }
    // SAFETY: the caller's promise, for this family.
    let (address, name) = unsafe {
        let address = entry.ifa_addr.cast::<libc::sockaddr_ll>();
        (address.read_unaligned(), CStr::from_ptr(entry.ifa_name))
    };
    let ethernet = address.sll_hatype == libc::ARPHRD_ETHER && address.sll_halen == 6;
    let mac = address.sll_addr.first_chunk().filter(|_| ethernet);
    let has = |flag: i32| entry.ifa_flags & flag as u32 != 0;
    Some(Interface {
        name: name.to_string_lossy().into_owned(),
        index: u32::try_from(address.sll_ifindex).ok()?,
        mac: mac.copied().unwrap_or_default(),
        mtu: 0,
        // Not IFF_RUNNING, which the kernel brings up to date with a delay of up to a second.
        up: has(libc::IFF_UP) && has(libc::IFF_LOWER_UP),
        loopback: has(libc::IFF_LOOPBACK),
        ethernet,
    })
}

fn mtu(socket: &Socket, name: &str) -> io::Result<usize> {
    let mut request = request(name).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: the request is a local, and this call fills the member of its union that is read
    // below.
    check(unsafe { libc::ioctl(socket.fd(), libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: what the kernel has just filled in.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(usize::try_from(mtu).unwrap_or(0))
}

/// A request about the interface, if a name can be so long.
fn request(name: &str) -> Option<libc::ifreq> {
    // SAFETY: zero is a valid request about an interface without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_and_not_suitable() {
        let Ok(lo) = Interface::named("lo") else {
            eprintln!("skipped: this host has no interface lo");
            return;
        };
        assert!(lo.loopback && !lo.ethernet && !lo.is_suitable(), "{lo:?}");
        assert!(lo.index > 0 && lo.mtu >= 1280, "{lo:?}");
        assert!(interfaces().unwrap().contains(&lo));
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        for name in ["", "oxnone0", "far-too-long-for-an-interface", "a\0b"] {
            let error = Interface::named(name).unwrap_err().to_string();
            let begin = format!("there is no network interface {name:?} here (there is ");
            assert!(error.starts_with(&begin), "{error}");
        }
    }
}
