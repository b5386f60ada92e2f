//! Which algorithm runs when: one table per collective, first rule that fits wins, each with its
//! reason.
//!
//! Every rank must come to the same answer, so a rule looks only at what all ranks know: the size,
//! the bytes, the operation, the placement. The thresholds are named here and nowhere else; they
//! are set by measurement (`oxmpi bench collectives`), and the numbers below hold for a host with
//! ports.
//!
//! Rules for several hosts come first in each table. Their thresholds follow from what messages
//! cost: between hosts 4 µs and 0.25 ns per byte, on one host 0.15 µs and 0.1 ns per byte; sending
//! or receiving one of the former keeps a CPU busy for 1.5 µs.

use super::hosts::Hosts;
use super::position::{Placement, Position};

/// The collectives that have a choice of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the MPI operation of that name")]
pub enum Collective {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Scan,
    Exscan,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    ReduceScatter,
}

impl Collective {
    /// All of them.
    pub const ALL: [Collective; 15] = [
        Collective::Barrier,
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Scan,
        Collective::Exscan,
        Collective::Gather,
        Collective::Gatherv,
        Collective::Scatter,
        Collective::Scatterv,
        Collective::Allgather,
        Collective::Allgatherv,
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::ReduceScatter,
    ];
}

/// A way to run a collective; what it means for each is said in that collective's module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each is the function of that name in the collective's module; from LeaderTree on, in that of `across`"
)]
pub enum Algorithm {
    Dissemination,
    Tree,
    Binomial,
    InOrder,
    Linear,
    Chain,
    Ring,
    Bruck,
    Pairwise,
    RecursiveDoubling,
    RecursiveHalving,
    HalvingDoubling,
    ScatterAllgather,
    ScatterGather,
    LeaderTree,
    LeaderExchange,
    LeaderStar,
    Lanes,
    HostChain,
    HostRing,
}

/// What a rule may look at.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Number of ranks.
    pub size: u32,
    /// Bytes, as the table of the collective counts them.
    pub bytes: usize,
    /// Whether the operation commutes; true where there is none.
    pub commutative: bool,
    /// How ranks share hosts and CPUs.
    pub placement: Placement<'a>,
}

/// Which hosts a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// One or several: the algorithm does not look at them.
    Any,
    /// Several; if the operation does not commute, with ranks in host order.
    Several,
    /// Several, with ranks in host order.
    SeveralInOrder,
}

impl Reach {
    /// Whether a communicator with these hosts is one of those.
    #[inline]
    pub fn covers(self, hosts: Option<&Hosts>, commutative: bool) -> bool {
        match (self, hosts) {
            (Reach::Any, _) => true,
            (_, None) => false,
            (Reach::Several, Some(hosts)) => commutative || hosts.in_rank_order(),
            (Reach::SeveralInOrder, Some(hosts)) => hosts.in_rank_order(),
        }
    }
}

/// Use `algorithm` where everything stated holds.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What to run.
    pub algorithm: Algorithm,
    /// Largest number of bytes.
    pub bytes_max: usize,
    /// Fewest ranks.
    pub ranks_min: u32,
    /// Only for a power of two of ranks.
    pub power_of_two: bool,
    /// Only for operations that commute.
    pub commutative: bool,
    /// Only where ranks outnumber CPUs (true) or do not (false).
    pub oversubscribed: Option<bool>,
    /// Only for such hosts.
    pub reach: Reach,
    /// Why.
    pub reason: &'static str,
}

impl Rule {
    const fn new(algorithm: Algorithm, reason: &'static str) -> Rule {
        Rule {
            algorithm,
            bytes_max: usize::MAX,
            ranks_min: 1,
            power_of_two: false,
            commutative: false,
            oversubscribed: None,
            reach: Reach::Any,
            reason,
        }
    }

    const fn up_to(self, bytes_max: usize) -> Rule {
        Rule { bytes_max, ..self }
    }

    const fn ranks_from(self, ranks_min: u32) -> Rule {
        Rule { ranks_min, ..self }
    }

    const fn power_of_two(self) -> Rule {
        Rule {
            power_of_two: true,
            ..self
        }
    }

    const fn commutative(self) -> Rule {
        Rule {
            commutative: true,
            ..self
        }
    }

    const fn oversubscribed(self, oversubscribed: bool) -> Rule {
        Rule {
            oversubscribed: Some(oversubscribed),
            ..self
        }
    }

    const fn across_hosts(self) -> Rule {
        Rule {
            reach: Reach::Several,
            ..self
        }
    }

    const fn across_hosts_in_order(self) -> Rule {
        Rule {
            reach: Reach::SeveralInOrder,
            ..self
        }
    }

    /// Whether it applies.
    #[inline]
    pub fn fits(&self, situation: &Situation<'_>) -> bool {
        situation.bytes <= self.bytes_max
            && situation.size >= self.ranks_min
            && (!self.power_of_two || situation.size.is_power_of_two())
            && (!self.commutative || situation.commutative)
            && self
                .oversubscribed
                .is_none_or(|oversubscribed| oversubscribed == situation.placement.oversubscribed)
            && self
                .reach
                .covers(situation.placement.hosts, situation.commutative)
    }
}

/// Segment of a pipelined chain: a few ring slots, small enough to stay in the cache between two
/// ranks.
pub const CHAIN_SEGMENT_BYTES: usize = 32 * 1024;
/// Most partners of one rank at a time: bounds requests and unexpected messages, hides one hop's
/// latency.
pub const PARTNERS_MAX: u32 = 32;
/// Partners at a time once blocks are large: more would only fight for the same memory bandwidth.
pub const PARTNERS_LARGE_MAX: u32 = 4;
/// From here a block counts as large in that sense.
pub const PARTNERS_LARGE_BYTES: usize = 32 * 1024;

/// A broadcast up to here is latency only.
const BCAST_TREE_BYTES_MAX: usize = 16 * 1024;
/// A broadcast up to here is cut into one part per rank; beyond, a chain pipelines it.
const BCAST_SCATTER_BYTES_MAX: usize = 512 * 1024;
/// Fewer ranks gain nothing from cutting a broadcast.
const BCAST_SCATTER_RANKS_MIN: u32 = 8;
/// A reduction up to here is latency only.
const REDUCE_TREE_BYTES_MAX: usize = 32 * 1024;
/// An allreduce up to here is latency only.
const ALLREDUCE_DOUBLING_BYTES_MAX: usize = 8 * 1024;
/// Up to here fewer messages beat evenly spread work when ranks take turns.
const ALLREDUCE_TREE_BYTES_MAX: usize = 16 * 1024;
/// From this many bytes per rank the ring's long runs beat the fewer rounds of halving.
const ALLREDUCE_HALVING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A scan up to here is latency only.
const SCAN_DOUBLING_BYTES_MAX: usize = 32 * 1024;
/// Blocks up to here are joined on their way to or from the root …
const GATHER_TREE_BYTES_MAX: usize = 1024;
/// … where there are enough of them for the root's own cost per message to count.
const GATHER_TREE_RANKS_MIN: u32 = 32;
/// An allgather's whole output up to here is latency only.
const ALLGATHER_FEW_ROUNDS_BYTES_MAX: usize = 64 * 1024;
/// The same where ranks take turns and each round costs a turn of everybody.
const ALLGATHER_CROWDED_BYTES_MAX: usize = 1024 * 1024;
/// Blocks of an alltoall up to here are worth copying log₂ size times …
const ALLTOALL_BRUCK_BYTES_MAX: usize = 256;
/// … where that saves enough messages.
const ALLTOALL_BRUCK_RANKS_MIN: u32 = 32;
/// A reduce-scatter's whole vector up to here is mostly latency.
const REDUCE_SCATTER_HALVING_BYTES_MAX: usize = 512 * 1024;

/// Across hosts a broadcast up to here is latency; beyond, a chain through all hosts keeps every
/// rank busy at once, after it has paid for a segment on each of its hops.
const HOSTS_BCAST_TREE_BYTES_MAX: usize = 128 * 1024;
/// Across hosts a reduction up to here goes through leaders: beyond, what lanes save in bytes
/// outweighs their second round between hosts (4 µs are 16 KiB).
const HOSTS_REDUCE_LEADER_BYTES_MAX: usize = 32 * 1024;
/// The same for an allreduce, in which leaders move every byte twice on their hosts.
const HOSTS_ALLREDUCE_LEADER_BYTES_MAX: usize = 16 * 1024;
/// Across hosts a scan up to here is latency; beyond, segments go up the chain of ranks.
const HOSTS_SCAN_LEADER_BYTES_MAX: usize = 32 * 1024;
/// Blocks up to here cost less to be copied by a leader than to be sent and received alone between
/// hosts (1.5 µs are 15 KiB, on either side of a copy).
const HOSTS_GATHER_LEADER_BYTES_MAX: usize = 8 * 1024;
/// Across hosts an allgather's whole output up to here goes through leaders; beyond, the broadcast
/// of all of it on every host costs more than the many rounds of a ring.
const HOSTS_ALLGATHER_LEADER_BYTES_MAX: usize = 256 * 1024;
/// Blocks of an alltoall up to here are worth the copies that a leader makes of every rank's
/// blocks.
const HOSTS_ALLTOALL_LEADER_BYTES_MAX: usize = 256;
/// A reduce-scatter's whole vector up to here goes through leaders.
const HOSTS_REDUCE_SCATTER_LEADER_BYTES_MAX: usize = 8 * 1024;

use Algorithm::*;

const BARRIER: &[Rule] = &[
    Rule::new(LeaderTree, "fewest messages between hosts")
        .across_hosts()
        .oversubscribed(true),
    Rule::new(LeaderExchange, "fewest rounds between hosts").across_hosts(),
    Rule::new(Tree, "fewest messages in total when ranks take turns")
        .oversubscribed(true)
        .ranks_from(3),
    Rule::new(Dissemination, "fewest rounds"),
];
/// Bytes: the buffer.
const BCAST: &[Rule] = &[
    Rule::new(LeaderTree, "one message to each host")
        .across_hosts()
        .up_to(HOSTS_BCAST_TREE_BYTES_MAX),
    Rule::new(HostChain, "crosses to each host once, segments overlap").across_hosts(),
    Rule::new(Binomial, "fewest hops for small buffers").up_to(BCAST_TREE_BYTES_MAX),
    Rule::new(
        ScatterAllgather,
        "each rank sends twice the buffer, not log2(size) times",
    )
    .up_to(BCAST_SCATTER_BYTES_MAX)
    .ranks_from(BCAST_SCATTER_RANKS_MIN)
    .oversubscribed(false),
    Rule::new(Binomial, "fewest messages when ranks take turns").up_to(BCAST_SCATTER_BYTES_MAX),
    Rule::new(Chain, "each rank sends the buffer once, segments overlap").ranks_from(3),
    Rule::new(Binomial, "two ranks: one message"),
];
/// Bytes: the vector.
const REDUCE: &[Rule] = &[
    Rule::new(LeaderTree, "one message from each host")
        .across_hosts()
        .up_to(HOSTS_REDUCE_LEADER_BYTES_MAX),
    Rule::new(Lanes, "fewest bytes between hosts, moved by all ranks").across_hosts(),
    Rule::new(Binomial, "fewest hops")
        .up_to(REDUCE_TREE_BYTES_MAX)
        .commutative(),
    Rule::new(InOrder, "fewest hops in rank order").up_to(REDUCE_TREE_BYTES_MAX),
    Rule::new(ScatterGather, "work and bytes spread over all ranks").ranks_from(4),
    Rule::new(Binomial, "few ranks: nothing to spread").commutative(),
    Rule::new(InOrder, "few ranks, rank order"),
];
/// Bytes: the vector.
const ALLREDUCE: &[Rule] = &[
    Rule::new(LeaderTree, "fewest messages between hosts")
        .across_hosts()
        .up_to(HOSTS_ALLREDUCE_LEADER_BYTES_MAX)
        .oversubscribed(true),
    Rule::new(LeaderExchange, "fewest rounds between hosts")
        .across_hosts()
        .up_to(HOSTS_ALLREDUCE_LEADER_BYTES_MAX),
    Rule::new(Lanes, "fewest bytes between hosts, moved by all ranks").across_hosts(),
    Rule::new(Tree, "fewest messages when ranks take turns")
        .up_to(ALLREDUCE_TREE_BYTES_MAX)
        .oversubscribed(true)
        .ranks_from(3),
    Rule::new(RecursiveDoubling, "fewest rounds, rank order").up_to(ALLREDUCE_DOUBLING_BYTES_MAX),
    Rule::new(HalvingDoubling, "least bytes in few rounds, rank order")
        .up_to(ALLREDUCE_HALVING_BYTES_MAX),
    Rule::new(HalvingDoubling, "nobody stands out: least bytes").power_of_two(),
    Rule::new(Ring, "least bytes for any size")
        .commutative()
        .oversubscribed(false),
    Rule::new(
        HalvingDoubling,
        "least bytes that keep rank order or need few turns",
    ),
];
/// Bytes: the vector. The same for exscan.
const SCAN: &[Rule] = &[
    Rule::new(LeaderExchange, "fewest rounds between hosts")
        .across_hosts_in_order()
        .up_to(HOSTS_SCAN_LEADER_BYTES_MAX),
    Rule::new(RecursiveDoubling, "fewest rounds").up_to(SCAN_DOUBLING_BYTES_MAX),
    Rule::new(
        Chain,
        "each byte is reduced once per rank, segments overlap",
    ),
];
/// Bytes: one rank's block. The same for scatter.
const GATHER: &[Rule] = &[
    Rule::new(LeaderStar, "one message for each host")
        .across_hosts()
        .up_to(HOSTS_GATHER_LEADER_BYTES_MAX),
    Rule::new(Linear, "each byte crosses between hosts once").across_hosts(),
    Rule::new(Binomial, "fewer messages at the root")
        .up_to(GATHER_TREE_BYTES_MAX)
        .ranks_from(GATHER_TREE_RANKS_MIN),
    Rule::new(Linear, "each byte moves once"),
];
/// Only the root knows the sizes, so there is nothing to choose by.
const GATHERV: &[Rule] = &[Rule::new(Linear, "only the root knows the sizes")];
/// Bytes: all blocks together.
const ALLGATHER: &[Rule] = &[
    Rule::new(LeaderExchange, "fewest rounds between hosts")
        .across_hosts()
        .up_to(HOSTS_ALLGATHER_LEADER_BYTES_MAX),
    Rule::new(HostRing, "each byte crosses into a host once").across_hosts(),
    Rule::new(RecursiveDoubling, "fewest rounds, no extra copy")
        .up_to(ALLGATHER_FEW_ROUNDS_BYTES_MAX)
        .power_of_two(),
    Rule::new(Bruck, "fewest rounds for any size").up_to(ALLGATHER_FEW_ROUNDS_BYTES_MAX),
    Rule::new(RecursiveDoubling, "a round costs a turn of everybody")
        .up_to(ALLGATHER_CROWDED_BYTES_MAX)
        .power_of_two()
        .oversubscribed(true),
    Rule::new(Bruck, "a round costs a turn of everybody")
        .up_to(ALLGATHER_CROWDED_BYTES_MAX)
        .oversubscribed(true),
    Rule::new(Ring, "each byte moves once per rank, between neighbours"),
];
/// Bytes: all blocks together.
const ALLGATHERV: &[Rule] = &[
    Rule::new(LeaderExchange, "fewest rounds between hosts")
        .across_hosts()
        .up_to(HOSTS_ALLGATHER_LEADER_BYTES_MAX),
    Rule::new(HostRing, "each byte crosses into a host once").across_hosts(),
    Rule::new(Bruck, "fewest rounds").up_to(ALLGATHER_FEW_ROUNDS_BYTES_MAX),
    Rule::new(Bruck, "a round costs a turn of everybody")
        .up_to(ALLGATHER_CROWDED_BYTES_MAX)
        .oversubscribed(true),
    Rule::new(Ring, "each byte moves once per rank, between neighbours"),
];
/// Bytes: the block from one rank to another.
const ALLTOALL: &[Rule] = &[
    Rule::new(LeaderExchange, "one message for each pair of hosts")
        .across_hosts()
        .up_to(HOSTS_ALLTOALL_LEADER_BYTES_MAX),
    Rule::new(Pairwise, "each byte crosses between hosts once").across_hosts(),
    Rule::new(Bruck, "log2(size) messages instead of size")
        .up_to(ALLTOALL_BRUCK_BYTES_MAX)
        .ranks_from(ALLTOALL_BRUCK_RANKS_MIN),
    Rule::new(Pairwise, "each byte moves once"),
];
/// Nobody knows all sizes, so there is nothing to choose by.
const ALLTOALLV: &[Rule] = &[Rule::new(Pairwise, "nobody knows all sizes")];
/// Bytes: the whole vector.
const REDUCE_SCATTER: &[Rule] = &[
    Rule::new(LeaderExchange, "fewest rounds between hosts")
        .across_hosts()
        .up_to(HOSTS_REDUCE_SCATTER_LEADER_BYTES_MAX),
    Rule::new(Lanes, "fewest bytes between hosts, moved by all ranks").across_hosts(),
    Rule::new(RecursiveHalving, "fewest rounds")
        .up_to(REDUCE_SCATTER_HALVING_BYTES_MAX)
        .commutative(),
    Rule::new(Pairwise, "least bytes, rank order"),
];

/// The rules of a collective; the last one always fits.
#[inline]
pub fn rules(collective: Collective) -> &'static [Rule] {
    match collective {
        Collective::Barrier => BARRIER,
        Collective::Bcast => BCAST,
        Collective::Reduce => REDUCE,
        Collective::Allreduce => ALLREDUCE,
        Collective::Scan | Collective::Exscan => SCAN,
        Collective::Gather | Collective::Scatter => GATHER,
        Collective::Gatherv | Collective::Scatterv => GATHERV,
        Collective::Allgather => ALLGATHER,
        Collective::Allgatherv => ALLGATHERV,
        Collective::Alltoall => ALLTOALL,
        Collective::Alltoallv => ALLTOALLV,
        Collective::ReduceScatter => REDUCE_SCATTER,
    }
}

/// The rule for this situation.
#[inline]
pub fn choose(collective: Collective, situation: &Situation<'_>) -> &'static Rule {
    let mut rules = rules(collective).iter();
    rules
        .find(|rule| rule.fits(situation))
        .expect("the last rule of every table always fits")
}

/// How many partners at a time for blocks of that size.
#[inline]
pub fn partners(position: Position, block_bytes: usize) -> u32 {
    let most = if block_bytes >= PARTNERS_LARGE_BYTES {
        PARTNERS_LARGE_MAX
    } else {
        PARTNERS_MAX
    };
    most.min(position.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_ends_with_a_rule_that_always_fits() {
        let worst = Situation {
            size: 1,
            bytes: usize::MAX,
            commutative: false,
            placement: Placement::one_host(1, 1),
        };
        for collective in Collective::ALL {
            let last = rules(collective).last().expect("a rule");
            assert!(
                last.fits(&worst) && last.oversubscribed.is_none() && last.reach == Reach::Any,
                "{collective:?}"
            );
        }
    }

    #[test]
    fn size_decides_where_it_matters() {
        let at = |collective, bytes| {
            let placement = Placement::one_host(8, 8);
            choose(
                collective,
                &Situation {
                    size: 8,
                    bytes,
                    commutative: true,
                    placement,
                },
            )
            .algorithm
        };
        for collective in [
            Collective::Bcast,
            Collective::Reduce,
            Collective::Allreduce,
            Collective::Scan,
        ] {
            assert_ne!(
                at(collective, 8),
                at(collective, 16 << 20),
                "{collective:?}"
            );
        }
        for collective in [Collective::Allgather, Collective::ReduceScatter] {
            assert_ne!(
                at(collective, 8),
                at(collective, 16 << 20),
                "{collective:?}"
            );
        }
    }
}
