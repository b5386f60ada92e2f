//! What a process offers, and in which order a peer tries it.
//!
//! Both are pure and say why. [`offered`] runs once in each process and fills its card; [`order`]
//! runs in the process that dials, with the card of the one it wants to reach. The kernel's routing
//! table still decides by which interface a connection leaves.

use std::cmp::Reverse;
use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use super::card::Card;
use super::policy::{EXCLUDE, INCLUDE};
use super::{Interface, Kind, Local, Offered, Policy, Selector};

/// What becomes of one of this host's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// Offered, because the user named it.
    Chosen,
    /// Offered, for what it is; all but ordinary ones only for when nothing else reaches this
    /// process.
    Offered,
    /// Not offered: the interface is down.
    Down,
    /// Not offered: a link-local address of a bridge or tunnel, which means nothing on any wire
    /// that another host shares.
    Inner,
    /// Not offered: the user named others.
    NotIncluded,
    /// Not offered: the user excluded it.
    Excluded(Selector),
}

/// What becomes of an address of this host under a policy.
pub fn judge(interface: &Interface, policy: &Policy) -> Use {
    if let Some(word) = policy.excluded_by(interface) {
        Use::Excluded(word.clone())
    } else if !policy.include.is_empty() && policy.included_by(interface).is_none() {
        Use::NotIncluded
    } else if !interface.up {
        Use::Down
    } else if !policy.include.is_empty() {
        Use::Chosen
    } else if interface.is_inner() {
        Use::Inner
    } else {
        Use::Offered
    }
}

/// No address of this host may be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingOffered {
    /// The include list matches nothing that is up.
    #[error(
        "{INCLUDE}={include} matches no interface of this host that is up{}: there is {there}; name one of these or unset {INCLUDE}",
        excluding(exclude)
    )]
    NotIncluded {
        /// The list.
        include: String,
        /// The other list, which may have taken what this one left.
        exclude: String,
        /// What there is.
        there: String,
    },
    /// The exclude list takes everything.
    #[error(
        "{EXCLUDE}={exclude} leaves no address of this host: there is {there}; leave one of these"
    )]
    Excluded {
        /// The list.
        exclude: String,
        /// What there is.
        there: String,
    },
    /// There is nothing, not even loopback.
    #[error(
        "no network interface of this host is up (there is {there}): ip link set lo up makes at least loopback work"
    )]
    Nothing {
        /// What there is.
        there: String,
    },
}

fn excluding(exclude: &str) -> String {
    match exclude {
        "" => String::new(),
        _ => format!(" and not excluded by {EXCLUDE}={exclude}"),
    }
}

/// What a process with these interfaces puts into its card, best first: what the user named in the
/// user's order, then by kind, faster cards first, and IPv4 before IPv6 because networks that
/// filter one of them mostly filter IPv6.
pub fn offered(interfaces: &[Interface], policy: &Policy) -> Result<Vec<Offered>, NothingOffered> {
    let mut used: Vec<(&Interface, bool)> = interfaces
        .iter()
        .filter_map(|interface| match judge(interface, policy) {
            Use::Chosen => Some((interface, true)),
            Use::Offered => Some((interface, false)),
            Use::Down | Use::Inner | Use::NotIncluded | Use::Excluded(_) => None,
        })
        .collect();
    if used.is_empty() {
        return Err(nothing(interfaces, policy));
    }
    used.sort_by_key(|(interface, _)| {
        (
            policy.included_by(interface),
            interface.kind,
            Reverse(interface.speed_mbit),
            interface.address.is_ipv6(),
        )
    });
    let offer = |(interface, chosen): (&Interface, bool)| Offered {
        address: interface.address,
        prefix: interface.prefix,
        kind: interface.kind,
        chosen,
    };
    Ok(used.into_iter().map(offer).collect())
}

fn nothing(interfaces: &[Interface], policy: &Policy) -> NothingOffered {
    let there = if interfaces.is_empty() {
        "none".to_owned()
    } else {
        let text = |interface: &Interface| {
            let down = if interface.up { "" } else { " (down)" };
            format!("{interface}{down}")
        };
        interfaces.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let (include, exclude) = (words(&policy.include), words(&policy.exclude));
    if !include.is_empty() {
        NothingOffered::NotIncluded {
            include,
            exclude,
            there,
        }
    } else if interfaces
        .iter()
        .any(|interface| policy.excluded_by(interface).is_some())
    {
        NothingOffered::Excluded { exclude, there }
    } else {
        NothingOffered::Nothing { there }
    }
}

fn words(selectors: &[Selector]) -> String {
    selectors
        .iter()
        .map(Selector::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// An address to dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where to.
    pub address: SocketAddr,
    /// Why at this place.
    pub why: Why,
}

/// Why an address is tried, in the order of trying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// In the network of an ordinary interface here, whose name this is: nothing lies between.
    SameNetwork(String),
    /// Ordinary, or named by the user there.
    Routed,
    /// Only if nothing else reaches the peer.
    LastResort(Kind),
    /// The peer is on this machine, where loopback leads to it.
    SameMachine,
}

impl Why {
    fn place(&self) -> (u8, Option<Kind>) {
        match self {
            Why::SameNetwork(_) => (0, None),
            Why::Routed => (1, None),
            Why::LastResort(kind) => (2, Some(*kind)),
            Why::SameMachine => (3, None),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::SameNetwork(name) => write!(formatter, "same network as {name}"),
            Why::Routed => formatter.write_str("by routing"),
            Why::LastResort(kind) => write!(formatter, "{kind}, only if nothing else reaches it"),
            Why::SameMachine => formatter.write_str("loopback, same machine"),
        }
    }
}

/// Why an address of a card is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Loopback of another machine.
    OtherLoopback,
    /// This host has the same address: dialling it reaches this host.
    Ours(String),
    /// Link-local, and no interface here has a link-local address of the same family.
    NoWire,
    /// Excluded by the user.
    Excluded(Selector),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::OtherLoopback => formatter.write_str("loopback of another machine"),
            LeftOut::Ours(name) => write!(formatter, "{name} of this host has it, too"),
            LeftOut::NoWire => formatter.write_str("link-local, and no interface here is"),
            LeftOut::Excluded(word) => write!(formatter, "excluded by {EXCLUDE} ({word})"),
        }
    }
}

/// In which order a dialler at `local` tries the addresses of `card`.
pub fn order(card: &Card, local: &Local, policy: &Policy) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = card
        .addresses
        .iter()
        .filter_map(|offered| candidates(offered, card, local, policy).ok())
        .flatten()
        .collect();
    // Stable: within a place the peer's own order stays.
    candidates.sort_by_key(|candidate| candidate.why.place());
    candidates
}

/// The same for people: what is tried and why, and what is not and why not.
pub fn explain(card: &Card, local: &Local, policy: &Policy) -> String {
    let tried = order(card, local, policy)
        .into_iter()
        .map(|Candidate { address, why }| format!("{address} ({why})"));
    let left_out = card.addresses.iter().filter_map(|offered| {
        let reason = candidates(offered, card, local, policy).err()?;
        Some(format!("not {} ({reason})", offered.address))
    });
    let parts: Vec<String> = tried.chain(left_out).collect();
    if parts.is_empty() {
        "it offers no address".to_owned()
    } else {
        parts.join(", ")
    }
}

/// What one offered address gives: one candidate, or for an IPv6 link-local address one for each
/// wire it may be on.
fn candidates(
    offered: &Offered,
    card: &Card,
    local: &Local,
    policy: &Policy,
) -> Result<Vec<Candidate>, LeftOut> {
    let same_machine = card.is_on(local.machine);
    if let Some(word) = policy.excludes_address(offered.address) {
        return Err(LeftOut::Excluded(word.clone()));
    }
    if offered.kind == Kind::Loopback {
        if !same_machine {
            return Err(LeftOut::OtherLoopback);
        }
    } else if let Some(ours) = local
        .interfaces
        .iter()
        .find(|ours| ours.address == offered.address)
        && !same_machine
    {
        return Err(LeftOut::Ours(ours.name.clone()));
    }
    let usable = |ours: &&Interface| matches!(judge(ours, policy), Use::Chosen | Use::Offered);
    let ours = || local.interfaces.iter().filter(usable);
    if let IpAddr::V6(address) = offered.address
        && address.is_unicast_link_local()
    {
        // The same network exists on every wire; which one leads to the peer shows only by trying.
        let on_wire = |ours: &Interface| Candidate {
            address: SocketAddrV6::new(address, card.port, 0, ours.index).into(),
            why: if offered.chosen {
                Why::SameNetwork(ours.name.clone())
            } else {
                Why::LastResort(offered.kind)
            },
        };
        let wires = ours().filter(|ours| ours.kind == Kind::LinkLocal && ours.address.is_ipv6());
        let found: Vec<Candidate> = wires.map(on_wire).collect();
        return if found.is_empty() {
            Err(LeftOut::NoWire)
        } else {
            Ok(found)
        };
    }
    let good = |kind: Kind, chosen: bool| kind == Kind::Ordinary || chosen;
    let neighbour = ours().find(|ours| {
        good(ours.kind, policy.included_by(ours).is_some())
            && ours.network().contains(offered.address)
    });
    let why = match neighbour {
        _ if offered.kind == Kind::Loopback => Why::SameMachine,
        _ if !good(offered.kind, offered.chosen) => Why::LastResort(offered.kind),
        Some(ours) => Why::SameNetwork(ours.name.clone()),
        None => Why::Routed,
    };
    let address = SocketAddr::new(offered.address, card.port);
    Ok(vec![Candidate { address, why }])
}
