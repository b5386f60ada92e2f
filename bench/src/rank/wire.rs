//! How two processes on two hosts meet without the library: the ends of a bare exchange beside it.
//!
//! What they must tell each other first they tell by the library, be it MPI or a channel
//! (`Acquaintance`). They use the addresses that the library would choose. Ranks that turn out to
//! share a machine (hosts for tests are parts of one) take a CPU each: both would otherwise be
//! alone on their host and free to meet on one.

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
use crate::floor::wire::Medium;
use crate::net::Net;

/// Tag of what ranks tell each other.
const MEETING: i32 = 10;

/// What an acquaintance may come to.
pub type Meeting<T> = Result<T, Box<dyn std::error::Error>>;

/// Two processes that can already tell each other something.
pub trait Acquaintance {
    /// This process: 0 or 1.
    fn rank(&self) -> u32;
    /// Its host, for people.
    fn host(&self) -> String;
    /// Tells the other something.
    fn tell(&mut self, bytes: &[u8]) -> Meeting<()>;
    /// Waits for what the other tells.
    fn hear(&mut self) -> Meeting<Vec<u8>>;
}

/// Ranks 0 and 1 of an MPI job.
pub struct Ranks<'m> {
    /// The process.
    pub mpi: &'m Mpi,
    /// All ranks.
    pub world: &'m Communicator<'m>,
}

impl Acquaintance for Ranks<'_> {
    fn rank(&self) -> u32 {
        self.world.rank()
    }

    fn host(&self) -> String {
        self.mpi.host().to_owned()
    }

    fn tell(&mut self, bytes: &[u8]) -> Meeting<()> {
        Ok(self.world.send(bytes, 1 - self.rank(), MEETING)?)
    }

    fn hear(&mut self) -> Meeting<Vec<u8>> {
        Ok(self.world.recv_vec::<u8>(1 - self.rank(), MEETING)?.0)
    }
}

/// How long one address of the other rank is tried for the bare connection; the library's own
/// connection exists by then, so the host does answer.
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

/// Makes the bare connection, rank 1 listens and tells rank 0 where, and by it whatever else the
/// network needs. `shared`: both are on one CPU.
pub fn meet(ends: &mut dyn Acquaintance, net: Net, shared: bool) -> Meeting<Box<dyn Medium>> {
    let local = Local::read()?;
    let stream = connect(ends, &local)?;
    Ok(medium(stream, &local, net, shared)?)
}

/// A connection between the two, by the addresses that the library would choose.
pub fn connect(ends: &mut dyn Acquaintance, local: &Local) -> Meeting<TcpStream> {
    let policy = Policy::from_env()?;
    if ends.rank() == 1 {
        let listener = listen()?;
        let offered = address::offered(&local.interfaces, &policy)?;
        let port = listener.local_addr()?.port();
        let card = Card::new(&ends.host(), local.machine, port, offered).to_string();
        ends.tell(card.as_bytes())?;
        // Who waits below the library repeats nothing that was lost on the way, so the other says
        // first that it has the card.
        ends.hear()?;
        return Ok(listener.accept()?.0);
    }
    let text = ends.hear()?;
    let card: Card = String::from_utf8_lossy(&text).parse()?;
    ends.tell(&[])?;
    Ok(dial(&card, local, &policy)?)
}

/// The bare mechanism below a network, between the hosts of a connection. Both ends call this.
pub fn medium(
    stream: TcpStream,
    local: &Local,
    net: Net,
    shared: bool,
) -> Result<Box<dyn Medium>, WireError> {
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

/// Two processes of one machine take a CPU each; says whether they have to share one.
pub fn spread_over_cpus(ends: &mut dyn Acquaintance) -> Meeting<bool> {
    let machine = Local::read()?.machine;
    let cpus = pair::usable_cpus();
    let chosen = cpus[ends.rank() as usize % cpus.len()];
    let mut mine = machine.to_le_bytes().to_vec();
    mine.extend((chosen as u64).to_le_bytes());
    ends.tell(&mine)?;
    let other = ends.hear()?;
    if !other.starts_with(&machine.to_le_bytes()) {
        return Ok(false);
    }
    pair::pin(chosen)?;
    Ok(other == mine)
}
