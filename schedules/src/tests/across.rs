//! Collectives across hosts: every algorithm on random maps of ranks to hosts against the oracle,
//! and what crosses between hosts.

use super::barrier::nobody_leaves_without;
use super::*;

/// A map of ranks to 2 to `most` hosts, by seed: in blocks, dealt round, or at random; hosts may
/// have any number of ranks.
pub(super) fn map(size: u32, most: u32, seed: u64) -> Vec<u32> {
    let mut random = Random(mix(seed ^ 0xB0C5));
    let hosts = 2 + random.below(most.max(2) as usize - 1) as u32;
    match random.below(4) {
        0 => (0..size).map(|rank| rank * hosts / size).collect(),
        1 => (0..size).map(|rank| rank % hosts).collect(),
        2 => {
            let mut blocks: Vec<u32> = (0..size)
                .map(|_| random.below(hosts as usize) as u32)
                .collect();
            blocks.sort_unstable();
            blocks
        }
        _ => (0..size)
            .map(|_| random.below(hosts as usize) as u32)
            .collect(),
    }
}

pub(super) fn hosts(numbers: &[u32]) -> Option<Hosts> {
    Hosts::new(numbers.iter().copied())
}

/// Blocks of ranks, equal on all hosts.
fn even(hosts_count: u32, ranks_per_host: u32) -> Hosts {
    let numbers = (0..hosts_count * ranks_per_host).map(|rank| rank / ranks_per_host);
    Hosts::new(numbers).expect("several hosts")
}

/// Small communicators, every root, all kinds of calls.
fn small(collective: Collective) {
    for size in 2..=12 {
        for seed in 0..12 {
            let numbers = map(size, size.min(16), seed ^ u64::from(size) << 8);
            let roots = if has_root(collective) { size } else { 1 };
            for root in 0..roots {
                for elements in [0, 1, 2, 300] {
                    let scenario = scenario(collective, size, root, elements, seed);
                    run_all_algorithms(scenario, hosts(&numbers).as_ref());
                }
            }
        }
    }
}

/// Up to 16 hosts, and vectors beyond the pipelines' segments.
fn large(collective: Collective) {
    for (size, elements) in [(33, 40), (64, 7), (100, 60), (9, 30_000)] {
        for seed in 0..8 {
            let numbers = map(size, 16, seed ^ u64::from(size) << 8);
            let scenario = scenario(collective, size, size / 3, elements, seed);
            run_all_algorithms(scenario, hosts(&numbers).as_ref());
        }
    }
}

macro_rules! each_collective {
    ($($name:ident: $collective:ident),* $(,)?) => {
        $(mod $name {
            #[test]
            fn small() {
                super::small(super::Collective::$collective);
            }

            #[test]
            fn large() {
                super::large(super::Collective::$collective);
            }
        })*
    };
}

each_collective! {
    barrier: Barrier, bcast: Bcast, reduce: Reduce, allreduce: Allreduce, scan: Scan, exscan: Exscan, gather: Gather, scatter: Scatter,
    allgather: Allgather, allgatherv: Allgatherv, alltoall: Alltoall, reduce_scatter: ReduceScatter,
}

#[test]
fn a_barrier_lets_nobody_out_before_everybody_is_in() {
    for seed in 0..60 {
        let size = 2 + seed as u32 % 20;
        let Some(hosts) = hosts(&map(size, 8, seed)) else {
            continue;
        };
        let case = scenario(Collective::Barrier, size, 0, 0, 0).prepare();
        for algorithm in [Algorithm::LeaderTree, Algorithm::LeaderExchange] {
            let schedules = schedules(&case, algorithm, Some(&hosts)).expect("both do barriers");
            (0..size).for_each(|absent| nobody_leaves_without(absent, &schedules));
        }
    }
}

/// What crosses between hosts in one call.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traffic {
    messages: u32,
    bytes: usize,
    /// The most bytes that leave one host.
    leaving_max: usize,
    /// Messages between hosts on the longest path.
    depth: u32,
}

fn traffic(schedules: &[Schedule], hosts: &Hosts) -> Traffic {
    let mut traffic = Traffic::default();
    let mut leaving = vec![0; hosts.count() as usize];
    for (rank, schedule) in (0..).zip(schedules) {
        for transfer in schedule.transfers() {
            let crosses = hosts.host_of(rank) != hosts.host_of(transfer.peer);
            if crosses && transfer.direction == Direction::Send {
                traffic.messages += 1;
                traffic.bytes += transfer.region.bytes;
                leaving[hosts.host_of(rank) as usize] += transfer.region.bytes;
            }
        }
    }
    traffic.leaving_max = leaving.into_iter().max().unwrap_or(0);
    traffic.depth = depth(schedules, hosts);
    traffic
}

/// Runs rounds as their messages arrive, counting how many crossings each had to wait for.
fn depth(schedules: &[Schedule], hosts: &Hosts) -> u32 {
    let mut clocks = vec![0; schedules.len()];
    let mut rounds = vec![0; schedules.len()];
    let mut sent = vec![false; schedules.len()];
    let mut links: HashMap<(u32, u32), VecDeque<u32>> = HashMap::new();
    let mut moved = true;
    while moved {
        moved = false;
        for (rank, schedule) in (0..).zip(schedules) {
            let at = rank as usize;
            let Some(round) = schedule.round(rounds[at]) else {
                continue;
            };
            let of = |direction| {
                let transfers = round.transfers.iter();
                transfers.filter(move |transfer| transfer.direction == direction)
            };
            if !sent[at] {
                for send in of(Direction::Send) {
                    let crosses = hosts.host_of(rank) != hosts.host_of(send.peer);
                    let arrives = clocks[at] + u32::from(crosses);
                    links
                        .entry((rank, send.peer))
                        .or_default()
                        .push_back(arrives);
                }
                (sent[at], moved) = (true, true);
            }
            let mut needed: HashMap<u32, usize> = HashMap::new();
            of(Direction::Receive)
                .for_each(|receive| *needed.entry(receive.peer).or_default() += 1);
            let here = |peer| links.get(&(peer, rank)).map_or(0, VecDeque::len);
            if needed.iter().any(|(&peer, &count)| here(peer) < count) {
                continue;
            }
            for (peer, count) in needed {
                let link = links.entry((peer, rank)).or_default();
                clocks[at] = link.drain(..count).fold(clocks[at], u32::max);
            }
            (rounds[at], sent[at], moved) = (rounds[at] + 1, false, true);
        }
    }
    clocks.into_iter().max().unwrap_or(0)
}

fn traffic_of(
    collective: Collective,
    algorithm: Algorithm,
    hosts: &Hosts,
    elements: usize,
) -> Traffic {
    // Seed 1 is an operation that does not commute, not in place.
    let seed = u64::from(hosts.in_rank_order());
    let case = scenario(collective, hosts.ranks(), 0, elements, seed).prepare();
    let schedules = schedules(&case, algorithm, Some(hosts)).expect("it can do that");
    traffic(&schedules, hosts)
}

/// ⌈log₂ n⌉.
fn levels(count: u32) -> u32 {
    count.next_power_of_two().ilog2()
}

#[test]
fn small_collectives_cross_between_hosts_as_rarely_as_possible() {
    for seed in 0..200 {
        let size = 2 + seed as u32 % 40;
        let Some(hosts) = hosts(&map(size, 16, seed)) else {
            continue;
        };
        let count = hosts.count();
        let between = |collective, algorithm| {
            let Traffic {
                messages, depth, ..
            } = traffic_of(collective, algorithm, &hosts, 2);
            (messages, depth)
        };
        use Algorithm::{LeaderExchange, LeaderStar, LeaderTree};
        let tree = |collective, ways| {
            let (messages, depth) = between(collective, LeaderTree);
            assert_eq!(messages, ways * (count - 1), "{collective:?} on {hosts:?}");
            assert!(
                depth <= ways * levels(count),
                "{collective:?}: {depth} hops on {hosts:?}"
            );
        };
        tree(Collective::Barrier, 2);
        tree(Collective::Allreduce, 2);
        tree(Collective::Bcast, 1);
        tree(Collective::Reduce, 1);
        for collective in [Collective::Gather, Collective::Scatter] {
            assert_eq!(between(collective, LeaderStar), (count - 1, 1));
        }
        let rounds = levels(count);
        assert_eq!(
            between(Collective::Barrier, LeaderExchange),
            (count * rounds, rounds)
        );
        assert_eq!(
            between(Collective::Allgather, LeaderExchange),
            (count * rounds, rounds)
        );
        assert_eq!(
            between(Collective::Alltoall, LeaderExchange),
            (count * (count - 1), 1)
        );
        let (messages, depth) = between(Collective::Allreduce, LeaderExchange);
        // Hosts beyond a power of two hand in before and hear after.
        assert!(
            depth <= rounds + 1 && messages <= count * rounds,
            "{messages}, {depth}: {hosts:?}"
        );
        if hosts.in_rank_order() {
            let (_, depth) = between(Collective::Scan, LeaderExchange);
            assert!(depth <= rounds, "{depth} hops on {hosts:?}");
        }
    }
}

#[test]
fn long_vectors_leave_a_host_about_once_per_direction() {
    let bytes = 3 * 40_000;
    for (count, ranks) in [(2, 4), (4, 3), (8, 2), (2, 1)] {
        let hosts = even(count, ranks);
        let leaving =
            |collective, algorithm| traffic_of(collective, algorithm, &hosts, 40_000).leaving_max;
        // An allreduce must move 2·(n − 1)/n of the vector out of each of n hosts; a bit more where
        // parts are uneven.
        let least = 2 * bytes * (count as usize - 1) / count as usize;
        let allreduce = leaving(Collective::Allreduce, Algorithm::Lanes);
        assert!(
            allreduce >= least - 1000 && allreduce < least + 1000,
            "{allreduce} of {least}"
        );
        // Halving moves less than the vector; who stands for half of all hosts then passes half of
        // it on.
        assert!(leaving(Collective::Reduce, Algorithm::Lanes) <= bytes * 3 / 2);
        assert_eq!(leaving(Collective::Bcast, Algorithm::HostChain), bytes);
    }
    let hosts = even(3, 4);
    let all = 12 * 3 * 100;
    let ring = traffic_of(Collective::Allgather, Algorithm::HostRing, &hosts, 100);
    // Everything but what the next rank has itself.
    assert_eq!(ring.leaving_max, all - 3 * 100);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_call_on_any_hosts_gives_the_oracles_result(
        which in 0..Collective::ALL.len(), root in 0u32..40, elements in 0usize..200, seed: u64,
        numbers in prop::collection::vec(0u32..16, 1..40),
    ) {
        let size = numbers.len() as u32;
        let scenario = scenario(Collective::ALL[which], size, root % size, elements, seed);
        run_all_algorithms(scenario, hosts(&numbers).as_ref());
    }

    #[test]
    fn the_table_always_names_an_algorithm_that_fits(
        which in 0..Collective::ALL.len(), elements in 0usize..60_000, seed: u64, oversubscribed: bool,
        numbers in prop::collection::vec(0u32..6, 1..20),
    ) {
        let size = numbers.len() as u32;
        let case = scenario(Collective::ALL[which], size, 0, elements / size as usize, seed).prepare();
        let hosts = hosts(&numbers);
        let placement = Placement { hosts: hosts.as_ref(), oversubscribed };
        let schedules = (0..size).map(|rank| plan::schedule(&case.call(rank), Position::new(rank, size), placement));
        run(&case, schedules.collect(), &mut Random(seed));
    }
}
