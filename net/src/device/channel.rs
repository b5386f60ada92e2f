//! Channels: virtual networks on one wire. A process owns a channel of each interface it speaks
//! through, and its socket filter lets in nothing else.
//!
//! Who has which number is decided on each host without a daemon and without files: a number is
//! taken by binding a socket to an abstract name, which the kernel gives to one process at a time,
//! in each network namespace (as interfaces are), and frees when the process is gone, however it
//! went. A child that was forked and has not executed another program holds on to its parent's
//! channels.
//!
//! Any local user can bind any abstract name, also without the right to open packet sockets. So a
//! process that finds all numbers taken, some of them by other users, takes a number by a second
//! name, which holds its own user: numbers that others merely squat on are no loss then. That two
//! users share a number costs both a look at the other's frames, which are of no session of theirs.
//! The kernel's word for a holder's user (SO_PEERCRED) is what counts, not the name.

use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::sys;

/// Highest number: as many virtual networks as a VLAN tag can name, and far more than processes
/// that share an interface.
pub const CHANNELS_MAX: u16 = 4095;

/// A channel of an interface; nobody else on this host has it until it is dropped.
#[derive(Debug)]
pub struct Channel {
    number: u16,
    interface_index: u32,
    /// Bound to the name that stands for the channel. It listens so that others can ask the kernel
    /// whose it is; nothing is accepted.
    _claim: UnixListener,
}

/// Whose a name is.
#[derive(Clone, Copy)]
enum Owner {
    /// The first process's that binds it.
    Anybody,
    /// This user's.
    User(u32),
}

impl Owner {
    fn name(self, interface_index: u32, number: u16) -> String {
        match self {
            Owner::Anybody => format!("oxmpi-channel-{interface_index}-{number}"),
            Owner::User(uid) => format!("oxmpi-channel-{interface_index}-{number}-of-{uid}"),
        }
    }
}

impl Channel {
    /// Takes the lowest channel that is free on the interface with this number.
    pub fn claim(interface_index: u32) -> io::Result<Channel> {
        let mut channels = Channel::claim_all(&[interface_index])?;
        Ok(channels.remove(0))
    }

    /// Takes the lowest channel that is free on all these interfaces: a trunk's frames carry one
    /// number, whichever way they take.
    pub fn claim_all(interface_indices: &[u32]) -> io::Result<Vec<Channel>> {
        let own = sys::user();
        if let Some(channels) = Channel::claim_by(Owner::Anybody, interface_indices)? {
            return Ok(channels);
        }
        let others = holders(Owner::Anybody, interface_indices, own);
        if !others.is_empty()
            && let Some(channels) = Channel::claim_by(Owner::User(own), interface_indices)?
        {
            return Ok(channels);
        }
        Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            taken(interface_indices, own, &others),
        ))
    }

    /// The lowest number that is free under names of this kind; none if all are taken.
    fn claim_by(owner: Owner, interface_indices: &[u32]) -> io::Result<Option<Vec<Channel>>> {
        for number in 1..=CHANNELS_MAX {
            let claims = interface_indices
                .iter()
                .map(|index| Channel::claim_number(owner, *index, number));
            match claims.collect::<io::Result<Vec<Channel>>>() {
                Ok(channels) => return Ok(Some(channels)),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn claim_number(owner: Owner, interface_index: u32, number: u16) -> io::Result<Channel> {
        let name = owner.name(interface_index, number);
        let claim = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        Ok(Channel {
            number,
            interface_index,
            _claim: claim,
        })
    }

    /// Its number, from 1.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The kernel's number of the interface that it is a channel of.
    pub fn interface_index(&self) -> u32 {
        self.interface_index
    }
}

/// The users other than `own` that hold names, as the kernel tells.
fn holders(owner: Owner, interface_indices: &[u32], own: u32) -> BTreeSet<u32> {
    let numbers = 1..=CHANNELS_MAX;
    let names = numbers.flat_map(|number| {
        let name = move |index: &u32| owner.name(*index, number);
        interface_indices.iter().map(name)
    });
    names
        .filter_map(|name| sys::holder_of(name.as_bytes()))
        .filter(|uid| *uid != own)
        .collect()
}

fn taken(interface_indices: &[u32], own: u32, others: &BTreeSet<u32>) -> String {
    let whose = match others.is_empty() {
        true => format!("all of them by processes of user {own}, which is this one's"),
        false => {
            let users: Vec<String> = others.iter().map(u32::to_string).collect();
            format!("some of them by user {}", users.join(", "))
        }
    };
    format!(
        "all {CHANNELS_MAX} channels of interfaces {interface_indices:?} are taken by processes of this host, {whose} (`ss -xlp | grep oxmpi-channel` lists them)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No interface has such a number, so that the tests meet nobody else's channels.
    const NOWHERE: u32 = u32::MAX - 1;

    #[test]
    fn each_claim_is_another_channel_until_it_is_dropped() {
        let mut channels: Vec<Channel> =
            (0..40).map(|_| Channel::claim(NOWHERE).unwrap()).collect();
        let numbers: Vec<u16> = channels.iter().map(Channel::number).collect();
        assert_eq!(numbers, (1..=40).collect::<Vec<u16>>());
        drop(channels.remove(6));
        let again = Channel::claim(NOWHERE).unwrap();
        assert_eq!((again.number(), again.interface_index()), (7, NOWHERE));
        assert_eq!(Channel::claim(NOWHERE - 1).unwrap().number(), 1);
        let trunk = Channel::claim_all(&[NOWHERE - 1, NOWHERE]).unwrap();
        let numbers: Vec<u16> = trunk.iter().map(Channel::number).collect();
        assert_eq!(numbers, [41, 41]);
    }

    #[test]
    fn the_kernel_tells_whose_a_channel_is() {
        let channel = Channel::claim(NOWHERE - 2).unwrap();
        let name = Owner::Anybody.name(NOWHERE - 2, channel.number());
        assert_eq!(sys::holder_of(name.as_bytes()), Some(sys::user()));
        drop(channel);
        assert_eq!(sys::holder_of(name.as_bytes()), None);
    }

    #[test]
    fn the_error_names_the_users() {
        assert_eq!(
            taken(&[2], 1000, &BTreeSet::from([1001, 65534])),
            "all 4095 channels of interfaces [2] are taken by processes of this host, some of them by user 1001, 65534 (`ss -xlp | grep oxmpi-channel` lists them)"
        );
        assert_eq!(
            taken(&[2, 3], 1000, &BTreeSet::new()),
            "all 4095 channels of interfaces [2, 3] are taken by processes of this host, all of them by processes of user 1000, which is this one's (`ss -xlp | grep oxmpi-channel` lists them)"
        );
    }
}
