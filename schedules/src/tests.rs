//! All ranks of a schedule in one thread: every algorithm against the oracle, in hostile orders.
//!
//! Links keep the order of one pair and nothing else. A send completes at once (eager) or only when
//! it has been matched (rendezvous, reading the sender's memory at that late moment), at random, so
//! an algorithm that relies on either is caught; so is one that waits in a circle.

mod across;
mod barrier;
mod inter;
mod neighbours;
mod phases;

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;

use super::choose::{Algorithm, Collective, rules};
use super::oracle::{self, Case, Scenario, mix};
use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        (mix(self.0) % bound as u64) as usize
    }
}

struct Rank {
    schedule: Schedule,
    execution: Execution,
    send: Vec<u8>,
    receive: Vec<u8>,
    scratch: Vec<u8>,
    done: bool,
}

impl Rank {
    fn memory(&mut self) -> Memory<'_> {
        Memory {
            send: &self.send,
            receive: &mut self.receive,
            scratch: &mut self.scratch,
        }
    }
}

/// A message that has been started: its bytes if they were taken away at once.
struct Sent {
    index: u32,
    region: Region,
    taken: Option<Vec<u8>>,
}

#[derive(Default)]
struct Link {
    sent: VecDeque<Sent>,
    posted: VecDeque<(u32, Region)>,
}

/// Runs the case to its end and compares every rank with the oracle.
fn run(case: &Case, schedules: Vec<Schedule>, random: &mut Random) {
    let size = case.scenario.size;
    let mut members = Vec::new();
    for (rank, schedule) in (0..size).zip(schedules) {
        if let Err(fault) = schedule.validate(Position::new(rank, size), case.extents(rank)) {
            panic!("rank {rank} of {:?}: {fault}\n{schedule}", case.scenario);
        }
        let (send, receive) = case.buffers(rank);
        members.push((schedule, send, receive));
    }
    let ranks = simulate(&case.scenario, members, case.scenario.commutative, random);
    for (number, rank) in (0..).zip(&ranks) {
        if let Err(difference) = case.check(number, &rank.receive) {
            panic!("{difference}\n{}", rank.schedule);
        }
    }
}

/// Runs schedules on their send and receive buffers to the end.
fn simulate(
    what: &dyn std::fmt::Debug,
    members: Vec<(Schedule, Vec<u8>, Vec<u8>)>,
    commutative: bool,
    random: &mut Random,
) -> Vec<Rank> {
    let size = members.len() as u32;
    let start = |(schedule, send, receive): (Schedule, Vec<u8>, Vec<u8>)| Rank {
        scratch: vec![0x5A; schedule.scratch_bytes()],
        schedule,
        execution: Execution::start(),
        send,
        receive,
        done: false,
    };
    let mut ranks: Vec<Rank> = members.into_iter().map(start).collect();
    let mut links: HashMap<(u32, u32), Link> = HashMap::new();
    let mut runnable: Vec<u32> = (0..size).collect();
    let mut matchable: Vec<(u32, u32)> = Vec::new();
    while !runnable.is_empty() || !matchable.is_empty() {
        let pick = random.below(runnable.len() + matchable.len());
        if pick < runnable.len() {
            let rank = runnable.swap_remove(pick);
            advance(
                &mut ranks[rank as usize],
                rank,
                commutative,
                &mut links,
                &mut matchable,
                random,
            );
        } else {
            let pair = matchable.swap_remove(pick - runnable.len());
            deliver(
                pair,
                &mut ranks,
                links.get_mut(&pair).expect("a link with messages"),
                &mut runnable,
            );
        }
    }
    let stuck: Vec<u32> = (0..size)
        .filter(|rank| !ranks[*rank as usize].done)
        .collect();
    assert!(
        stuck.is_empty(),
        "deadlock: ranks {stuck:?} wait for ever in {what:?}"
    );
    assert!(
        links
            .values()
            .all(|link| link.sent.is_empty() && link.posted.is_empty())
    );
    ranks
}

fn advance(
    rank: &mut Rank,
    number: u32,
    commutative: bool,
    links: &mut HashMap<(u32, u32), Link>,
    matchable: &mut Vec<(u32, u32)>,
    random: &mut Random,
) {
    loop {
        match rank.execution.poll(&rank.schedule) {
            Action::Start {
                index,
                transfer:
                    Transfer {
                        direction: Direction::Send,
                        peer,
                        region,
                    },
            } => {
                let eager = random.below(2) == 0;
                let taken = eager.then(|| rank.memory().bytes(region).to_vec());
                if eager {
                    rank.execution.transfer_done(&rank.schedule, index);
                }
                let link = links.entry((number, peer)).or_default();
                link.sent.push_back(Sent {
                    index,
                    region,
                    taken,
                });
                if link.sent.len() <= link.posted.len() {
                    matchable.push((number, peer));
                }
            }
            Action::Start {
                index,
                transfer:
                    Transfer {
                        direction: Direction::Receive,
                        peer,
                        region,
                    },
            } => {
                let link = links.entry((peer, number)).or_default();
                link.posted.push_back((index, region));
                if link.posted.len() <= link.sent.len() {
                    matchable.push((peer, number));
                }
            }
            Action::Run(local) => {
                rank.memory().run(local, &mut |input, into| {
                    oracle::combine(commutative, input, into)
                });
            }
            Action::Wait => return,
            Action::Done => {
                rank.done = true;
                return;
            }
        }
    }
}

fn deliver((from, to): (u32, u32), ranks: &mut [Rank], link: &mut Link, runnable: &mut Vec<u32>) {
    let sent = link
        .sent
        .pop_front()
        .expect("matchable links have a message");
    let (index, region) = link
        .posted
        .pop_front()
        .expect("matchable links have a receive");
    assert_eq!(
        sent.region.bytes, region.bytes,
        "rank {from} sends what rank {to} does not expect"
    );
    let eager = sent.taken.is_some();
    let bytes = sent
        .taken
        .unwrap_or_else(|| ranks[from as usize].memory().bytes(sent.region).to_vec());
    let receiver = &mut ranks[to as usize];
    receiver.memory().bytes_mut(region).copy_from_slice(&bytes);
    receiver.execution.transfer_done(&receiver.schedule, index);
    if receiver.execution.outstanding() == 0 {
        runnable.push(to);
    }
    if !eager {
        let sender = &mut ranks[from as usize];
        sender.execution.transfer_done(&sender.schedule, sent.index);
        if sender.execution.outstanding() == 0 {
            runnable.push(from);
        }
    }
}

/// Every algorithm that the collective's table names, where it can do the call with ranks on these
/// hosts.
fn run_all_algorithms(scenario: Scenario, hosts: Option<&Hosts>) {
    let mut random = Random(mix(scenario.seed));
    let case = scenario.prepare();
    for algorithm in algorithms(case.scenario.collective) {
        if let Some(schedules) = schedules(&case, algorithm, hosts) {
            run(&case, schedules, &mut random);
        }
    }
}

fn algorithms(collective: Collective) -> Vec<Algorithm> {
    let mut named: Vec<Algorithm> = Vec::new();
    for rule in rules(collective) {
        if !named.contains(&rule.algorithm) {
            named.push(rule.algorithm);
        }
    }
    named
}

/// Everybody's schedule by one algorithm.
fn schedules(case: &Case, algorithm: Algorithm, hosts: Option<&Hosts>) -> Option<Vec<Schedule>> {
    let size = case.scenario.size;
    let build = |rank| {
        plan::schedule_by(
            algorithm,
            &case.call(rank),
            Position::new(rank, size),
            hosts,
        )
    };
    (0..size).map(build).collect()
}

fn scenario(collective: Collective, size: u32, root: u32, elements: usize, seed: u64) -> Scenario {
    let (commutative, in_place) = (seed & 1 == 0, seed & 2 == 0);
    Scenario {
        collective,
        size,
        root,
        elements,
        commutative,
        in_place,
        seed,
    }
}

fn has_root(collective: Collective) -> bool {
    use Collective::*;
    matches!(
        collective,
        Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv
    )
}

/// Sizes 1 to 17, every root, both kinds of operation, in place and not, empty, tiny and cut
/// vectors.
fn small_sizes(collective: Collective) {
    for size in 1..=17 {
        let roots = if has_root(collective) { size } else { 1 };
        for root in 0..roots {
            for seed in 0..4 {
                for elements in [0, 1, 2, 700] {
                    run_all_algorithms(scenario(collective, size, root, elements, seed), None);
                }
            }
        }
    }
}

/// A few larger communicators, and vectors beyond the pipelines' segments.
fn large_sizes(collective: Collective) {
    for (size, elements) in [(31, 40), (64, 5), (100, 90), (5, 30_000), (8, 30_000)] {
        for seed in 0..4 {
            for root in if has_root(collective) {
                vec![0, size / 3, size - 1]
            } else {
                vec![0]
            } {
                run_all_algorithms(scenario(collective, size, root, elements, seed), None);
            }
        }
    }
}

macro_rules! each_collective {
    ($($name:ident: $collective:ident),* $(,)?) => {
        $(mod $name {
            #[test]
            fn small_sizes() {
                super::small_sizes(super::Collective::$collective);
            }

            #[test]
            fn large_sizes() {
                super::large_sizes(super::Collective::$collective);
            }
        })*
    };
}

each_collective! {
    barrier_results: Barrier, bcast_results: Bcast, reduce_results: Reduce, allreduce_results: Allreduce, scan_results: Scan, exscan_results: Exscan,
    gather_results: Gather, gatherv_results: Gatherv, scatter_results: Scatter, scatterv_results: Scatterv, allgather_results: Allgather,
    allgatherv_results: Allgatherv, alltoall_results: Alltoall, alltoallv_results: Alltoallv, reduce_scatter_results: ReduceScatter,
}

/// Windows and segments smaller than the tuned ones.
#[test]
fn any_window_and_segment_gives_the_same_result() {
    let mut random = Random(7);
    for size in [1, 2, 3, 5, 8, 13] {
        for seed in 0..4 {
            let run_with =
                |collective,
                 random: &mut Random,
                 build: &dyn Fn(&plan::Call<'_>, Position) -> Schedule| {
                    let case = scenario(collective, size, size / 2, 50, seed).prepare();
                    let build = |rank| build(&case.call(rank), Position::new(rank, size));
                    run(&case, (0..size).map(build).collect(), random);
                };
            for width in [1, 2, 3, 1000] {
                let segment = 7 * width as usize;
                run_with(
                    Collective::Bcast,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Bcast { bytes, root } => {
                            bcast::chain(position, bytes, root, segment)
                        }
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::Scan,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Scan(operand) => scan::chain(position, operand, segment),
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::Exscan,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Exscan(operand) => exscan::chain(position, operand, segment),
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::Gather,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Gather {
                            bytes,
                            root,
                            in_place,
                        } => gather::linear(position, bytes, root, in_place, width),
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::Scatter,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Scatter {
                            bytes,
                            root,
                            in_place,
                        } => scatter::linear(position, bytes, root, in_place, width),
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::Alltoall,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Alltoall { bytes, in_place } => {
                            alltoall::pairwise(position, bytes, in_place, width)
                        }
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::Alltoallv,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::Alltoallv {
                            send,
                            receive,
                            in_place,
                        } => alltoall::pairwise_blocks(position, send, receive, in_place, width),
                        _ => unreachable!(),
                    },
                );
                run_with(
                    Collective::ReduceScatter,
                    &mut random,
                    &|call, position| match *call {
                        plan::Call::ReduceScatter {
                            blocks,
                            commutative,
                            in_place,
                        } => {
                            reduce_scatter::pairwise(position, blocks, commutative, in_place, width)
                        }
                        _ => unreachable!(),
                    },
                );
            }
        }
    }
}

/// Algorithms for large vectors send little more than they must: the reason for their existence.
#[test]
fn large_algorithms_move_the_least() {
    let operand = Operand {
        bytes: 1 << 20,
        element_bytes: 8,
        commutative: true,
        in_place: false,
    };
    let position = Position::new(3, 16);
    let most = 2 * operand.bytes;
    assert!(allreduce::ring(position, operand).bytes_sent() <= most);
    assert!(allreduce::halving_doubling(position, operand).bytes_sent() <= most);
    assert!(reduce::scatter_gather(position, operand, 3).bytes_sent() <= operand.bytes);
    assert!(bcast::chain(position, operand.bytes, 0, 4096).bytes_sent() <= operand.bytes);
    assert!(allreduce::recursive_doubling(position, operand).bytes_sent() == 4 * operand.bytes);
    // Without MPI_IN_PLACE a ring needs no memory of its own.
    assert_eq!(allreduce::ring(position, operand).scratch_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_call_gives_the_oracles_result(
        which in 0..Collective::ALL.len(), size in 1u32..40, root in 0u32..40, elements in 0usize..300, seed: u64,
    ) {
        run_all_algorithms(scenario(Collective::ALL[which], size, root % size, elements, seed), None);
    }

    #[test]
    fn the_table_always_names_an_algorithm_that_fits(
        which in 0..Collective::ALL.len(), size in 1u32..70, elements in 0usize..20_000, seed: u64, cpus in 1u32..70,
    ) {
        let case = scenario(Collective::ALL[which], size, 0, elements / size as usize, seed).prepare();
        let placement = Placement::one_host(size, cpus);
        let schedules = (0..size).map(|rank| plan::schedule(&case.call(rank), Position::new(rank, size), placement));
        run(&case, schedules.collect(), &mut Random(seed));
    }
}
