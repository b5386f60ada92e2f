//! The tree of agents: which process starts which.
//!
//! A process that is responsible for some hosts cuts them into at most `fanout` runs; the first
//! host of a run gets an agent, which is responsible for the rest of the run in the same way. No
//! process has more than `fanout` connections below it and the depth is a logarithm. Pure, so the
//! head knows the whole tree as well.

/// A run of hosts: the first starts the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limb {
    /// The host whose agent is started from here.
    pub(crate) host: (u32, String),
    /// What that agent is responsible for.
    pub(crate) below: Vec<(u32, String)>,
}

/// Cuts hosts into runs whose lengths differ by one at most.
pub(crate) fn limbs(hosts: &[(u32, String)], fanout: usize) -> Vec<Limb> {
    let count = fanout.clamp(1, hosts.len().max(1));
    let mut rest = hosts;
    let mut limbs = Vec::with_capacity(count);
    for left in (1..=count).rev() {
        let (run, others) = rest.split_at(rest.len().div_ceil(left));
        rest = others;
        if let [host, below @ ..] = run {
            limbs.push(Limb {
                host: host.clone(),
                below: below.to_vec(),
            });
        }
    }
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(count: u32) -> Vec<(u32, String)> {
        (0..count).map(|host| (host, format!("h{host}"))).collect()
    }

    /// The agents below, and how deep they go.
    fn walk(hosts: &[(u32, String)], fanout: usize, seen: &mut Vec<u32>) -> usize {
        let limbs = limbs(hosts, fanout);
        assert!(limbs.len() <= fanout);
        let mut depth = 0;
        for limb in limbs {
            seen.push(limb.host.0);
            depth = depth.max(1 + walk(&limb.below, fanout, seen));
        }
        depth
    }

    #[test]
    fn every_host_is_reached_once_and_soon() {
        for (count, fanout, deepest) in [
            (0, 32, 0),
            (1, 32, 1),
            (32, 32, 1),
            (33, 32, 2),
            (1000, 32, 2),
            (7, 2, 3),
            (200, 8, 3),
            (5, 1, 5),
        ] {
            let mut seen = Vec::new();
            let depth = walk(&hosts(count), fanout, &mut seen);
            assert_eq!(depth, deepest, "{count} hosts, {fanout} at a time");
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn runs_are_even() {
        let lengths: Vec<usize> = limbs(&hosts(10), 4)
            .iter()
            .map(|limb| limb.below.len() + 1)
            .collect();
        assert_eq!(lengths, [3, 3, 2, 2]);
    }
}
