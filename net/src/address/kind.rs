//! What a network interface is, from what the kernel says of it and from its name.
//!
//! The question behind it: will other hosts reach this address by the network that carries the job?
//! `system` gathers the [`Traits`]; `choice` uses the [`Kind`]. Names decide only where the
//! kernel's own facts are missing (another namespace's /sys) or say nothing (a tap device is an
//! Ethernet device), because anybody may name an interface anything.

use std::fmt;
use std::net::IpAddr;

/// What an address's interface is. Ordered from what is tried first to what is tried last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A network card, or what stands for one in a container or namespace.
    Ordinary,
    /// An address that nobody assigned (169.254.0.0/16, fe80::/10): works between neighbours on one
    /// wire.
    LinkLocal,
    /// A VPN or another tunnel: slower than the network under it, and often without a way to most
    /// hosts.
    Tunnel,
    /// A bridge to containers or virtual machines on this host: other hosts have the same addresses
    /// on theirs.
    Bridge,
    /// Never leaves the machine.
    Loopback,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Kind::Ordinary,
        Kind::LinkLocal,
        Kind::Tunnel,
        Kind::Bridge,
        Kind::Loopback,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Kind::Ordinary => "ordinary",
            Kind::LinkLocal => "link-local",
            Kind::Tunnel => "tunnel",
            Kind::Bridge => "bridge",
            Kind::Loopback => "loopback",
        })
    }
}

/// What the kernel says of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// IFF_LOOPBACK.
    pub loopback: bool,
    /// The hardware type (ARPHRD_*), where it is known.
    pub hardware: Option<u16>,
    /// A bridge.
    pub bridge: bool,
    /// A bridge with a device of this machine among its ports: the way out of a host of virtual
    /// machines, not an inner network.
    pub bridge_leads_out: bool,
    /// A port of a bridge or a part of a bond.
    pub has_master: bool,
    /// Made by the tun driver.
    pub tun: bool,
}

/// Hardware types of tunnels (linux/if_arp.h): PPP, IPIP, IP6IP6, SIT, GRE, GRE over IPv6, and
/// "none", which tun and WireGuard have.
const TUNNEL_HARDWARE: [u16; 7] = [512, 768, 769, 776, 778, 823, 0xFFFE];
/// Names that VPN programs give to their devices.
const TUNNEL_NAMES: [&str; 8] = [
    "tun",
    "tap",
    "wg",
    "ppp",
    "tailscale",
    "zt",
    "nebula",
    "ipsec",
];
/// Names that container engines and hypervisors give to their inner networks.
const BRIDGE_NAMES: [&str; 12] = [
    "docker", "br-", "virbr", "cni", "podman", "lxcbr", "lxdbr", "flannel", "cali", "vxlan",
    "vboxnet", "vmnet",
];

impl Traits {
    /// What an address on the interface `name` is.
    pub fn kind(&self, name: &str, address: IpAddr) -> Kind {
        let named = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if self.loopback || address.is_loopback() {
            Kind::Loopback
        } else if (self.bridge && !self.bridge_leads_out)
            || (!self.bridge && named(&BRIDGE_NAMES))
            || (self.has_master && name.starts_with("veth"))
        {
            Kind::Bridge
        } else if self.tun
            || self
                .hardware
                .is_some_and(|hardware| TUNNEL_HARDWARE.contains(&hardware))
            || named(&TUNNEL_NAMES)
        {
            Kind::Tunnel
        } else if is_link_local(address) {
            Kind::LinkLocal
        } else {
            Kind::Ordinary
        }
    }
}

/// Whether nobody assigned the address.
pub(super) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, address: &str, traits: Traits) -> Kind {
        traits.kind(name, address.parse().unwrap())
    }

    #[test]
    fn facts_come_before_names() {
        let plain = Traits {
            hardware: Some(1),
            ..Traits::default()
        };
        let bridge = Traits {
            bridge: true,
            ..plain
        };
        let leading_out = Traits {
            bridge_leads_out: true,
            ..bridge
        };
        for (name, address, traits, expected) in [
            ("eth0", "10.1.0.1", plain, Kind::Ordinary),
            ("enp3s0", "2001:db8::1", plain, Kind::Ordinary),
            ("eth0", "fe80::1", plain, Kind::LinkLocal),
            ("eth0", "169.254.3.4", plain, Kind::LinkLocal),
            (
                "lo",
                "127.0.0.1",
                Traits {
                    loopback: true,
                    hardware: Some(772),
                    ..Traits::default()
                },
                Kind::Loopback,
            ),
            // An address on lo that is not 127/8 does not lead there from elsewhere unless somebody
            // routes it.
            (
                "lo",
                "10.9.9.9",
                Traits {
                    loopback: true,
                    ..Traits::default()
                },
                Kind::Loopback,
            ),
            ("docker0", "172.17.0.1", bridge, Kind::Bridge),
            ("docker0", "172.17.0.1", plain, Kind::Bridge),
            ("docker0", "fe80::42", bridge, Kind::Bridge),
            ("lan", "192.168.7.1", bridge, Kind::Bridge),
            // The usual network of a Proxmox host, and a bridge that somebody made by hand around a
            // card.
            ("vmbr0", "192.168.7.1", leading_out, Kind::Ordinary),
            ("br-lan", "192.168.7.1", leading_out, Kind::Ordinary),
            (
                "veth12ab",
                "10.0.0.1",
                Traits {
                    has_master: true,
                    ..plain
                },
                Kind::Bridge,
            ),
            // One end of a pair that somebody made between two namespaces.
            ("veth0", "10.0.0.1", plain, Kind::Ordinary),
            // A part of a bond has no address of its own as a rule; if it has one, it is a card.
            (
                "eth1",
                "10.0.0.1",
                Traits {
                    has_master: true,
                    ..plain
                },
                Kind::Ordinary,
            ),
            (
                "wg0",
                "10.8.0.2",
                Traits {
                    hardware: Some(0xFFFE),
                    ..Traits::default()
                },
                Kind::Tunnel,
            ),
            (
                "office",
                "10.8.0.2",
                Traits {
                    hardware: Some(0xFFFE),
                    ..Traits::default()
                },
                Kind::Tunnel,
            ),
            (
                "office",
                "10.8.0.2",
                Traits { tun: true, ..plain },
                Kind::Tunnel,
            ),
            ("tap0", "10.8.0.2", plain, Kind::Tunnel),
            ("tailscale0", "100.64.0.9", Traits::default(), Kind::Tunnel),
            // IP over InfiniBand.
            (
                "ib0",
                "10.2.0.2",
                Traits {
                    hardware: Some(32),
                    ..Traits::default()
                },
                Kind::Ordinary,
            ),
        ] {
            assert_eq!(
                kind(name, address, traits),
                expected,
                "{name} {address} {traits:?}"
            );
        }
    }
}
