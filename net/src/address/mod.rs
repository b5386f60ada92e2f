//! Which addresses a process offers to its job, and in which order a peer tries them.
//!
//! The choice is pure: [`offered`] turns this host's [`Interface`]s and a [`Policy`] into what a
//! [`crate::Card`] carries, [`order`] turns a peer's card into [`Candidate`]s, each with its
//! reason. Only `system` asks the operating system, and `kind` says what an interface is from what
//! it was told. Nothing is left out for good except what cannot work (another machine's loopback,
//! an address this host has itself) and what the user excluded: docker bridges and VPNs stand last,
//! because sometimes they are all there is.

pub mod card;
mod choice;
mod kind;
mod policy;
mod reach;
mod system;
#[cfg(test)]
mod tests;

pub use choice::{Candidate, LeftOut, NothingOffered, Use, Why, explain, judge, offered, order};
pub use kind::{Kind, Traits};
pub use policy::{
    Cidr, EXCLUDE, INCLUDE, PORT_RANGE, Policy, PolicyError, PortRange, PortRangeError, Selector,
};
pub use reach::Reach;
pub(crate) use reach::widen;
pub use system::{InterfacesError, boot_id};

use std::fmt;
use std::net::IpAddr;

/// One address of one network interface of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as eth0.
    pub name: String,
    /// The kernel's number for it, which an IPv6 link-local address needs beside it.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
    /// Leading bits of the address that its network shares.
    pub prefix: u8,
    /// What it is.
    pub kind: Kind,
    /// Up, and with a carrier.
    pub up: bool,
    /// Speed in Mbit/s, where the driver tells.
    pub speed_mbit: Option<u32>,
}

impl Interface {
    /// The network it is in.
    pub fn network(&self) -> Cidr {
        Cidr::new(self.address, self.prefix)
    }

    /// Whether it is the link-local address of a network that other hosts are not on.
    fn is_inner(&self) -> bool {
        matches!(self.kind, Kind::Bridge | Kind::Tunnel) && kind::is_link_local(self.address)
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}/{}", self.name, self.address, self.prefix)
    }
}

/// An address that a process tells its job, in a [`crate::Card`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The address.
    pub address: IpAddr,
    /// Leading bits of the address that its network shares.
    pub prefix: u8,
    /// What the interface is.
    pub kind: Kind,
    /// The user named it in [`INCLUDE`]: it is as good as an ordinary one, whatever it is.
    pub chosen: bool,
}

/// This process's place in the network: what it needs to judge the card of another.
#[derive(Clone, Debug)]
pub struct Local {
    /// As in [`crate::Card::machine`].
    pub machine: u64,
    /// Every address of this host.
    pub interfaces: Vec<Interface>,
}

impl Local {
    /// Asks the operating system.
    pub fn read() -> Result<Local, InterfacesError> {
        Ok(Local {
            machine: system::machine(),
            interfaces: system::interfaces()?,
        })
    }
}
