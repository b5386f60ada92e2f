//! How two ranks on two hosts meet without the library: the ends of a bare exchange beside it.
//!
//! They use the addresses that the library would choose. Ranks that turn out to share a machine (hosts for tests are parts of one) take a
//! CPU each: both would otherwise be alone on their host and free to meet on one.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use oxmpi::{Communicator, Mpi};
use oxmpi_net::Card;
use oxmpi_net::address::{self, Local, Policy, PortRange};
use thiserror::Error;

use crate::floor::packet::Frames;
use crate::floor::pair;
use crate::floor::tcp::Connection;
use crate::floor::udp::Datagrams;
use crate::floor::wire::Carrier;
use crate::net::Net;

const CARD: i32 = 10;
const MACHINE: i32 = 11;

/// How long one address of the other rank is tried for the bare connection; the library's own connection exists by then, so the
/// host does answer.
const DIAL_MAX: Duration = Duration::from_secs(2);

/// Why there is no bare connection to compare with.
#[derive(Debug, Error)]
pub enum WireError {
    /// No port.
    #[error(
        "no port for the bare connection: all of {range} are taken or refused; OXMPI_PORT_RANGE is too narrow, it needs one more than the ranks"
    )]
    NoPort {
        /// Where one was looked for.
        range: PortRange,
    },
    /// The other rank cannot be reached.
    #[error(
        "rank 1 on {host} does not answer at {tried} although the library reaches it; is a firewall between, and OXMPI_PORT_RANGE not set?"
    )]
    Unreachable {
        /// Its host.
        host: String,
        /// Where it was looked for.
        tried: String,
    },
    /// The bare mechanism does not work here.
    #[error("bare {} between the two hosts: {error}", .net.name())]
    Mechanism {
        /// Which.
        net: Net,
        /// What the system said.
        error: std::io::Error,
    },
    /// No interface to open a packet socket on.
    #[error("{address} belongs to no interface of this host, so no frames can be sent from it")]
    NoInterface {
        /// The address.
        address: std::net::IpAddr,
    },
    /// Figure and floor would not belong together.
    #[error(
        "{}={} was asked for, and the ranks talk by {transport}: do all hosts have the same version of oxmpi?",
        crate::net::VARIABLE, .net.word()
    )]
    OtherNetwork {
        /// What was asked for.
        net: Net,
        /// What the engine says.
        transport: String,
    },
}

/// Makes the bare connection, rank 1 listens and tells rank 0 where, and by it whatever else the network needs.
pub fn meet(
    mpi: &Mpi,
    world: &Communicator<'_>,
    net: Net,
) -> Result<Box<dyn Carrier>, Box<dyn std::error::Error>> {
    let (policy, local) = (Policy::from_env()?, Local::read()?);
    let shared = spread_over_cpus(world, local.machine)?;
    let stream = if world.rank() == 1 {
        let listener = listen()?;
        let offered = address::offered(&local.interfaces, &policy)?;
        let port = listener.local_addr()?.port();
        let card = Card::new(mpi.host(), local.machine, port, offered).to_string();
        world.send(card.as_bytes(), 0, CARD)?;
        listener.accept()?.0
    } else {
        let (text, _) = world.recv_vec::<u8>(1, CARD)?;
        let card: Card = String::from_utf8_lossy(&text).parse()?;
        dial(&card, &local, &policy)?
    };
    Ok(carrier(stream, &local, net, shared)?)
}

/// The bare mechanism below a network, between the hosts of a connection. Both ends call this.
pub fn carrier(
    stream: TcpStream,
    local: &Local,
    net: Net,
    shared: bool,
) -> Result<Box<dyn Carrier>, WireError> {
    let mechanism = |error| WireError::Mechanism { net, error };
    Ok(match net {
        Net::Tcp => Box::new(Connection::new(stream, shared).map_err(mechanism)?),
        Net::Udp => {
            let range = PortRange::from_env().unwrap_or_default();
            Box::new(Datagrams::meet(&stream, range, shared).map_err(mechanism)?)
        }
        Net::Ethernet => {
            let address = stream.local_addr().map_err(mechanism)?.ip().to_canonical();
            let interface = local
                .interfaces
                .iter()
                .find(|interface| interface.address == address)
                .ok_or(WireError::NoInterface { address })?;
            Box::new(Frames::meet(&stream, interface.index, shared).map_err(mechanism)?)
        }
    })
}

fn listen() -> Result<TcpListener, Box<dyn std::error::Error>> {
    let range = PortRange::from_env()?;
    let wildcards = |port| {
        [
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ]
    };
    // The library's listener of this rank has the first one.
    range
        .attempts(1)
        .flat_map(wildcards)
        .find_map(|address| TcpListener::bind(address).ok())
        .ok_or_else(|| WireError::NoPort { range }.into())
}

fn dial(card: &Card, local: &Local, policy: &Policy) -> Result<TcpStream, WireError> {
    let candidates = address::order(card, local, policy);
    candidates
        .iter()
        .find_map(|candidate| TcpStream::connect_timeout(&candidate.address, DIAL_MAX).ok())
        .ok_or_else(|| WireError::Unreachable {
            host: card.host.clone(),
            tried: candidates
                .iter()
                .map(|candidate| candidate.address.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// Ranks 0 and 1 of one machine take a CPU each; says whether they have to share one.
pub fn spread_over_cpus(
    world: &Communicator<'_>,
    machine: u64,
) -> Result<bool, Box<dyn std::error::Error>> {
    let cpus = pair::usable_cpus();
    let rank = world.rank();
    let chosen = cpus[rank as usize % cpus.len()];
    let (mine, mut other) = ([machine, chosen as u64], [0; 2]);
    if rank == 0 {
        world.send(&mine, 1, MACHINE)?;
        world.recv(&mut other, 1, MACHINE)?;
    } else {
        world.recv(&mut other, 0, MACHINE)?;
        world.send(&mine, 0, MACHINE)?;
    }
    if other[0] != machine {
        return Ok(false);
    }
    pair::pin(chosen)?;
    Ok(other == mine)
}
