//! Collectives across several hosts: most of the work among the ranks of each host, little between
//! the hosts.
//!
//! A message to another host costs some twenty times one on the same host, and a byte two to three
//! times. Three shapes follow:
//!
//! - *leaders*: the ranks of a host hand in to their leader (the lowest rank, or the root on its
//!   own host), leaders deal with each other, and the result is handed out. The fewest messages
//!   between hosts: for small data.
//! - *lanes*: the ranks of a host first divide the work among themselves, then each talks to its
//!   counterparts on the other hosts. The fewest bytes between hosts, and every rank's CPU takes
//!   part: for long vectors.
//! - *host order*: a chain or a ring that visits one host after the other, so that it crosses
//!   between two hosts once.
//!
//! The phases are the flat algorithms of the parent module, run among some of the ranks
//! ([`Builder::among`]).

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod exscan;
pub mod gather;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;

mod lanes;
mod phases;

pub use phases::{Phases, on_host, phases};

use super::hosts::Hosts;
use super::position::Position;
use super::schedule::Builder;

/// The rank that builds a schedule, among its hosts.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// Who shares hosts with whom.
    pub hosts: &'a Hosts,
    /// This rank.
    pub rank: u32,
    /// A rank that leads its host instead of the lowest one.
    root: Option<u32>,
}

impl<'a> Here<'a> {
    /// A rank whose host is led by its lowest rank, as are all others.
    pub fn new(hosts: &'a Hosts, rank: u32) -> Here<'a> {
        Here {
            hosts,
            rank,
            root: None,
        }
    }

    /// The same, where the host of `root` is led by it.
    pub fn with_root(hosts: &'a Hosts, rank: u32, root: u32) -> Here<'a> {
        Here {
            hosts,
            rank,
            root: Some(root),
        }
    }

    /// This rank's host.
    fn host(&self) -> u32 {
        self.hosts.host_of(self.rank)
    }

    /// The ranks of this rank's host.
    fn members(&self) -> &'a [u32] {
        self.hosts.members(self.host())
    }

    /// This rank among the ranks of its host.
    fn local(&self) -> Position {
        Position::new(self.hosts.index(self.rank), self.members().len() as u32)
    }

    /// This rank's host among the hosts.
    fn among_hosts(&self) -> Position {
        Position::new(self.host(), self.hosts.count())
    }

    /// The leader of a host.
    fn leader(&self, host: u32) -> u32 {
        match self.root {
            Some(root) if self.hosts.host_of(root) == host => root,
            _ => self.hosts.leader(host),
        }
    }

    fn is_leader(&self) -> bool {
        self.leader(self.host()) == self.rank
    }

    /// Which of its host's ranks the leader of this rank's host is.
    fn top(&self) -> u32 {
        self.hosts.index(self.leader(self.host()))
    }

    /// The host on which something begins or ends: the root's, or the first one.
    fn top_host(&self) -> u32 {
        self.root.map_or(0, |root| self.hosts.host_of(root))
    }

    /// A phase among the ranks of this host, numbered by their index.
    fn on_host<R>(
        &self,
        builder: &mut Builder,
        phase: impl FnOnce(&mut Builder, Position) -> R,
    ) -> R {
        let (members, local) = (self.members(), self.local());
        builder.among(
            |index| members[index as usize],
            |builder| phase(builder, local),
        )
    }

    /// A phase among the leaders, numbered by their hosts; nothing for the other ranks.
    fn between_leaders<R>(
        &self,
        builder: &mut Builder,
        phase: impl FnOnce(&mut Builder, Position) -> R,
    ) -> Option<R> {
        let hosts = self.among_hosts();
        self.is_leader()
            .then(|| builder.among(|host| self.leader(host), |builder| phase(builder, hosts)))
    }
}
