//! How a process talks to the others, for people to read.

use oxmpi_net::choice::Choice;
use oxmpi_ports::fetch;

use super::handler::Handler;

/// How the processes of this job talk, for people to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The process has nobody to talk to.
    Alone,
    /// Through ports; long messages in a single copy where that is measured to be cheaper.
    PortsAndSingleCopy,
    /// Through ports; the kernel does not permit to read other processes' memory.
    PortsOnly,
    /// Through ports; single copies are switched off.
    SingleCopyOff,
    /// Every other process is on another host.
    Network(Choice),
    /// Through ports on this host, by a network to others.
    PortsAndNetwork(Choice),
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::Network(choice) => return choice.fmt(f),
            Transport::PortsAndNetwork(choice) => {
                return write!(f, "ports on this host, to others {choice}");
            }
            Transport::Alone => "alone, nobody to talk to",
            Transport::PortsAndSingleCopy => "ports, single copy where it is faster",
            Transport::PortsOnly => "ports, no single copy (the kernel refuses it)",
            Transport::SingleCopyOff => "ports, no single copy (switched off)",
        })
    }
}

impl Handler {
    /// How this process talks to the others, found out by asking the kernel.
    pub fn transport(&self) -> Transport {
        let me = self.port().index();
        let attached = |&port: &u32| port != me && self.segment().pid(port) != 0;
        if let Some(remote) = &self.ways.remote {
            return match self.places().is_alone_here() {
                true => Transport::Network(remote.choice),
                false => Transport::PortsAndNetwork(remote.choice),
            };
        }
        match (0..self.segment().ports()).find(attached) {
            _ if self.segment().ports() == 1 => Transport::Alone,
            _ if !self.memory.single_copy => Transport::SingleCopyOff,
            Some(port) if fetch::is_refused(self.segment().pid(port)) => Transport::PortsOnly,
            _ => Transport::PortsAndSingleCopy,
        }
    }
}
