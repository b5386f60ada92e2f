//! Who builds a schedule: a rank of a communicator, and how the ranks share hosts.
//!
//! Rank arithmetic modulo the size lives here so that no algorithm writes it twice.

use super::hosts::Hosts;

/// A rank and the size of its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// This rank, below `size`.
    pub rank: u32,
    /// Number of ranks, at least 1.
    pub size: u32,
}

impl Position {
    /// A position; panics when `rank` is not below `size`, which the communicator guarantees.
    #[inline]
    pub fn new(rank: u32, size: u32) -> Position {
        assert!(
            rank < size,
            "rank {rank} is outside a communicator of {size}"
        );
        Position { rank, size }
    }

    /// The rank `distance` (at most the size) above this one, around the ring.
    #[inline]
    pub(crate) fn above(self, distance: u32) -> u32 {
        let sum = u64::from(self.rank) + u64::from(distance);
        let size = u64::from(self.size);
        (if sum >= size { sum - size } else { sum }) as u32
    }

    /// The rank `distance` (at most the size) below this one, around the ring.
    #[inline]
    pub(crate) fn below(self, distance: u32) -> u32 {
        if distance <= self.rank {
            self.rank - distance
        } else {
            self.rank + (self.size - distance)
        }
    }

    /// This position counted from `root`, which becomes 0.
    #[inline]
    pub(crate) fn seen_from(self, root: u32) -> Position {
        assert!(
            root < self.size,
            "root {root} is outside a communicator of {}",
            self.size
        );
        Position {
            rank: self.below(root),
            size: self.size,
        }
    }
}

/// How ranks share hosts and hosts share CPUs; the same on every rank, or their choices would
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement<'a> {
    /// Who shares a host with whom, where there are several.
    pub hosts: Option<&'a Hosts>,
    /// Ranks must take turns on the CPUs: then the number of messages in total decides, not the
    /// longest path.
    pub oversubscribed: bool,
}

impl<'a> Placement<'a> {
    /// Everyone on one host with that many usable CPUs (affinity and quota counted).
    #[inline]
    pub fn one_host(ranks: u32, cpus: u32) -> Placement<'static> {
        Placement {
            hosts: None,
            oversubscribed: ranks > cpus,
        }
    }

    /// Ranks on several hosts. Nobody knows the CPUs of other hosts, so all ranks agree that
    /// everybody has one.
    #[inline]
    pub fn several_hosts(hosts: &'a Hosts) -> Placement<'a> {
        Placement {
            hosts: Some(hosts),
            oversubscribed: false,
        }
    }
}
