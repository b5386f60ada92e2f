//! Which ranks of a communicator share a host: computed once per communicator, asked by the table
//! and by the algorithms in `across`.
//!
//! Hosts are numbered 0, 1, … in the order of their lowest ranks, whatever numbers they have
//! elsewhere, so every rank comes to the same description from the same list. *Host order* is all
//! ranks of host 0, then all of host 1, and so on, each by rising rank. A communicator on one host
//! has no such description: what holds there needs none.

/// The hosts of a communicator's ranks; there are at least two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Host of every rank.
    host: Box<[u32]>,
    /// Ranks in host order.
    order: Box<[u32]>,
    /// Where each rank stands in that order.
    place: Box<[u32]>,
    /// Where each host begins in that order, and where the last one ends.
    starts: Box<[u32]>,
    /// Fewest ranks on a host.
    least: u32,
    in_rank_order: bool,
}

impl Hosts {
    /// From any number for the host of each rank; `None` if there is only one host.
    pub fn new(numbers: impl Iterator<Item = u32> + Clone) -> Option<Hosts> {
        let first = numbers.clone().next()?;
        if numbers.clone().all(|number| number == first) {
            return None;
        }
        let numbers: Vec<u32> = numbers.collect();
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_by_key(|&rank| (numbers[rank as usize], rank));
        // Runs of one number are hosts; their first ranks give the order among them.
        let mut runs: Vec<&[u32]> = order
            .chunk_by(|&a, &b| numbers[a as usize] == numbers[b as usize])
            .collect();
        runs.sort_by_key(|members| members[0]);
        let least = runs.iter().map(|members| members.len()).min();
        let (mut host, mut place) = (vec![0; numbers.len()], vec![0; numbers.len()]);
        let (mut starts, mut next) = (vec![0], 0);
        for (number, members) in (0..).zip(&runs) {
            for &rank in *members {
                host[rank as usize] = number;
                place[rank as usize] = next;
                next += 1;
            }
            starts.push(next);
        }
        Some(Hosts {
            host: host.into(),
            place: place.into(),
            starts: starts.into(),
            least: least.unwrap_or_default() as u32,
            in_rank_order: runs.concat().is_sorted(),
            order: runs.concat().into(),
        })
    }

    /// Number of hosts, at least 2.
    #[inline]
    pub fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Number of ranks.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.host.len() as u32
    }

    /// The host of a rank.
    #[inline]
    pub fn host_of(&self, rank: u32) -> u32 {
        self.host[rank as usize]
    }

    /// The ranks of a host, rising.
    #[inline]
    pub fn members(&self, host: u32) -> &[u32] {
        let (start, end) = (self.start(host), self.start(host + 1));
        &self.order[start as usize..end as usize]
    }

    /// The lowest rank of a host.
    #[inline]
    pub fn leader(&self, host: u32) -> u32 {
        self.order[self.start(host) as usize]
    }

    /// Number of ranks on the host with the fewest.
    #[inline]
    pub fn least(&self) -> u32 {
        self.least
    }

    /// Where a host begins in host order; for the number of hosts, where the last one ends.
    #[inline]
    pub fn start(&self, host: u32) -> u32 {
        self.starts[host as usize]
    }

    /// Ranks in host order.
    #[inline]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where a rank stands in host order.
    #[inline]
    pub fn place(&self, rank: u32) -> u32 {
        self.place[rank as usize]
    }

    /// Which of its host's ranks a rank is: 0 for the leader.
    #[inline]
    pub fn index(&self, rank: u32) -> u32 {
        self.place(rank) - self.start(self.host_of(rank))
    }

    /// Whether the ranks of a host follow one another without others between them.
    #[inline]
    pub fn is_run(&self, host: u32) -> bool {
        let members = self.members(host);
        members[members.len() - 1] - members[0] == members.len() as u32 - 1
    }

    /// Whether host order is rank order: then combining host by host keeps the order of the ranks.
    #[inline]
    pub fn in_rank_order(&self) -> bool {
        self.in_rank_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_lowest_ranks() {
        let hosts = Hosts::new([7, 3, 7, 0, 3].into_iter()).expect("three hosts");
        assert_eq!((hosts.count(), hosts.ranks(), hosts.least()), (3, 5, 1));
        assert_eq!(hosts.members(0), [0, 2]);
        assert_eq!(hosts.members(1), [1, 4]);
        assert_eq!(hosts.members(2), [3]);
        assert_eq!(hosts.order(), [0, 2, 1, 4, 3]);
        assert_eq!(
            (hosts.leader(1), hosts.host_of(4), hosts.index(4)),
            (1, 1, 1)
        );
        assert!((0..5).all(|rank| hosts.order()[hosts.place(rank) as usize] == rank));
        assert!(!hosts.in_rank_order() && hosts.is_run(2) && !hosts.is_run(0));
    }

    #[test]
    fn runs_of_ranks_are_in_rank_order_and_one_host_needs_no_description() {
        let hosts = Hosts::new([5, 5, 1, 1, 1].into_iter()).expect("two hosts");
        assert!(hosts.in_rank_order());
        assert_eq!(Hosts::new([4, 4, 4].into_iter()), None);
        assert_eq!(Hosts::new([].into_iter()), None);
    }
}
