//! Channels: virtual networks on one wire. A process owns a channel of each interface it speaks through, and its socket filter lets in nothing else.
//!
//! Who has which number is decided on each host without a daemon and without files: a number is taken by binding a socket to an abstract name,
//! which the kernel gives to one process at a time, in each network namespace (as interfaces are), and frees when the process is gone, however it
//! went. A child that was forked and has not executed another program holds on to its parent's channels.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Highest number: as many virtual networks as a VLAN tag can name, and far more than processes that share an interface.
pub const CHANNELS_MAX: u16 = 4095;

/// A channel of an interface; nobody else on this host has it until it is dropped.
#[derive(Debug)]
pub struct Channel {
    number: u16,
    interface_index: u32,
    /// Bound to the name that stands for the channel; nothing is ever sent to it.
    _claim: UnixDatagram,
}

impl Channel {
    /// Takes the lowest channel that is free on the interface with this number.
    pub fn claim(interface_index: u32) -> io::Result<Channel> {
        let mut channels = Channel::claim_all(&[interface_index])?;
        Ok(channels.remove(0))
    }

    /// Takes the lowest channel that is free on all these interfaces: a trunk's frames carry one number, whichever way they take.
    pub fn claim_all(interface_indices: &[u32]) -> io::Result<Vec<Channel>> {
        for number in 1..=CHANNELS_MAX {
            let claims = interface_indices
                .iter()
                .map(|index| Channel::claim_number(*index, number));
            match claims.collect::<io::Result<Vec<Channel>>>() {
                Ok(channels) => return Ok(channels),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!(
                "all {CHANNELS_MAX} channels of interfaces {interface_indices:?} are taken by processes of this host (`ss -xl | grep oxmpi-channel` lists them)"
            ),
        ))
    }

    fn claim_number(interface_index: u32, number: u16) -> io::Result<Channel> {
        let name = format!("oxmpi-channel-{interface_index}-{number}");
        let claim = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
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
}
