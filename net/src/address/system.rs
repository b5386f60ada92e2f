//! Asks the operating system for this host's interfaces and for what tells this machine from
//! others.
//!
//! The only part of [`super`] with side effects and unsafe code: getifaddrs(3) gives addresses,
//! masks, flags and hardware types; /sys/class/net gives what it does not (bridges, masters, tun,
//! speed). A /sys that belongs to another network namespace is recognised by its interface numbers
//! and not believed.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::CStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::{Interface, Traits};

/// The kernel did not list the interfaces.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot list the network interfaces of this host (getifaddrs: {0}): netlink sockets must be permitted"
)]
pub struct InterfacesError(std::io::Error);

/// One entry of the kernel's list, out of its hands.
struct Entry {
    name: String,
    flags: u32,
    content: Content,
}

enum Content {
    /// An address and its prefix length.
    Address(IpAddr, u8),
    /// The interface itself: number and hardware type.
    Link(u32, u16),
}

/// Every address of this host, in the kernel's order.
pub(super) fn interfaces() -> Result<Vec<Interface>, InterfacesError> {
    let entries = entries()?;
    let links: HashMap<&str, (u32, u16)> = entries
        .iter()
        .filter_map(|entry| match entry.content {
            Content::Link(index, hardware) => Some((entry.name.as_str(), (index, hardware))),
            Content::Address(..) => None,
        })
        .collect();
    let interface = |entry: &Entry| {
        let Content::Address(address, prefix) = entry.content else {
            return None;
        };
        let link = links.get(entry.name.as_str());
        let index = link.map_or(0, |(index, _)| *index);
        let sysfs = Sysfs::of(&entry.name, index);
        let set = |flag: libc::c_int| entry.flags & flag as u32 != 0;
        let traits = Traits {
            loopback: set(libc::IFF_LOOPBACK),
            hardware: link.map(|(_, hardware)| *hardware),
            bridge: sysfs.has("bridge"),
            bridge_leads_out: sysfs.bridge_leads_out(),
            has_master: sysfs.has("master"),
            tun: sysfs.has("tun_flags"),
        };
        Some(Interface {
            kind: traits.kind(&entry.name, address),
            name: entry.name.clone(),
            index,
            address,
            prefix,
            up: set(libc::IFF_UP) && set(libc::IFF_RUNNING),
            speed_mbit: sysfs.speed_mbit(),
        })
    };
    Ok(entries.iter().filter_map(interface).collect())
}

/// The random name that the kernel gave itself when it was booted; the same in all namespaces and
/// containers on it.
pub fn boot_id() -> Option<String> {
    let told = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let name = told.trim();
    (!name.is_empty() && name.len() <= 64).then(|| name.to_owned())
}

/// A number that two processes share exactly when loopback leads from one to the other: same boot
/// of the same kernel, same network namespace. 0 where that cannot be found out, which no process
/// takes for equal.
pub(super) fn machine() -> u64 {
    let namespace = fs::read_link("/proc/self/ns/net");
    let (Some(boot), Ok(namespace)) = (boot_id(), namespace) else {
        return 0;
    };
    let digest = Sha256::new()
        .chain_update(boot)
        .chain_update(namespace.as_os_str().as_encoded_bytes())
        .finalize();
    u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

/// An interface's folder in /sys, if it speaks of the interface we mean.
struct Sysfs(Option<PathBuf>);

impl Sysfs {
    fn of(name: &str, index: u32) -> Sysfs {
        let folder = PathBuf::from("/sys/class/net").join(name);
        let there = fs::read_to_string(folder.join("ifindex")).ok();
        let same = there.and_then(|text| text.trim().parse().ok()) == Some(index);
        Sysfs(same.then_some(folder))
    }

    fn has(&self, entry: &str) -> bool {
        self.0
            .as_ref()
            .is_some_and(|folder| folder.join(entry).exists())
    }

    /// Whether a port of this bridge is a device of the machine rather than one end of a pair or a
    /// tap.
    fn bridge_leads_out(&self) -> bool {
        let ports = self
            .0
            .as_ref()
            .and_then(|folder| fs::read_dir(folder.join("brif")).ok());
        let is_device = |port: fs::DirEntry| {
            PathBuf::from("/sys/class/net")
                .join(port.file_name())
                .join("device")
                .exists()
        };
        ports.is_some_and(|ports| ports.flatten().any(is_device))
    }

    /// The driver's word; virtual ones answer with an error or -1.
    fn speed_mbit(&self) -> Option<u32> {
        let text = fs::read_to_string(self.0.as_ref()?.join("speed")).ok()?;
        text.trim().parse().ok().filter(|speed| *speed > 0)
    }
}

fn entries() -> Result<Vec<Entry>, InterfacesError> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call writes one pointer into `list`, which lives through it.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(InterfacesError(std::io::Error::last_os_error()));
    }
    let mut entries = Vec::new();
    let mut next = list;
    // SAFETY: `next` is null or an entry of the list, which getifaddrs made and which is freed only
    // below, after the last look at it.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: the name of an entry is a string with an end, and lives as long as the list.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        // SAFETY: address and mask of an entry are null or socket addresses whose family says how
        // long they are (getifaddrs(3)).
        if let Some(content) = unsafe { content(entry.ifa_addr, entry.ifa_netmask) } {
            entries.push(Entry {
                name: name.to_string_lossy().into_owned(),
                flags: entry.ifa_flags,
                content,
            });
        }
        next = entry.ifa_next;
    }
    // SAFETY: `list` came from getifaddrs and is freed once; nothing keeps a reference into it,
    // entries own what they hold.
    unsafe { libc::freeifaddrs(list) };
    Ok(entries)
}

/// What an entry says; None for families that are no concern of ours.
///
/// # Safety
/// `address` and `mask` are null or point to a socket address of the length that its family has.
unsafe fn content(address: *const libc::sockaddr, mask: *const libc::sockaddr) -> Option<Content> {
    // SAFETY: the caller's promise; the family is in every socket address.
    let family = i32::from(unsafe { address.as_ref() }?.sa_family);
    if family == libc::AF_PACKET {
        // SAFETY: the caller's promise, for this family.
        let link = unsafe { address.cast::<libc::sockaddr_ll>().read_unaligned() };
        return Some(Content::Link(
            u32::try_from(link.sll_ifindex).ok()?,
            link.sll_hatype,
        ));
    }
    // SAFETY: the caller's promise, for both.
    let (address, mask) = unsafe { (ip(address, family)?, ip(mask, family)?) };
    let prefix = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    Some(Content::Address(address, prefix as u8))
}

/// The IP address in a socket address of the family; a mask's own family field is not always filled
/// in.
///
/// # Safety
/// `address` is null or points to a socket address of the length that `family` has.
unsafe fn ip(address: *const libc::sockaddr, family: i32) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    match family {
        libc::AF_INET => {
            // SAFETY: the caller's promise, for this family.
            let address = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the caller's promise, for this family.
            let address = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Kind;

    #[test]
    fn interfaces_have_numbers_and_loopback_is_known() {
        let interfaces = interfaces().unwrap();
        for interface in &interfaces {
            assert!(interface.index > 0, "{interface:?}");
            if interface.name == "lo" {
                assert_eq!(interface.kind, Kind::Loopback, "{interface:?}");
            }
        }
    }

    #[test]
    fn a_machine_is_the_same_every_time() {
        assert_eq!(machine(), machine());
    }
}
