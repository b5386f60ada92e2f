//! Collectives on the simulated job: the library's schedules and executor, the real protocol below
//! them.
//!
//! All ranks make the same calls one after the other, each at its own pace, so calls overlap: a
//! rank may be in the next collective while others are in the last. Results are compared with the
//! collectives' own oracle.

use oxmpi_engine::protocol::{Mode, RequestId};
use oxmpi_matching::Pattern;
use oxmpi_schedules::choose::{Algorithm, Collective, rules};
use oxmpi_schedules::oracle::{Case, Scenario, combine};
use oxmpi_schedules::plan::schedule_by;
use oxmpi_schedules::{
    Action, Direction, Execution, Hosts, Memory, Place, Position, Region, Schedule, Transfer,
};
use oxmpi_wire::{Content, Envelope};

use crate::fabric::{Area, Fabric};
use crate::node::{Node, Sent};
use crate::random::Random;
use crate::world::{Application, Next};

/// One call of everybody.
struct Call {
    case: Case,
    algorithm: Algorithm,
    /// Where the ranks live in this call; the simulated links do not care, the algorithms do.
    hosts: Option<Hosts>,
}

/// One rank inside a call.
struct Member {
    schedule: Schedule,
    execution: Execution,
    send: Area,
    receive: Area,
    scratch: Area,
    under_way: Vec<(RequestId, u32)>,
}

/// The programs of all ranks.
pub struct Collectives {
    calls: Vec<Call>,
    /// Per rank: how many calls are over, and the one it is in.
    progress: Vec<(usize, Option<Member>)>,
    random: Random,
}

/// About as many bytes as one rank's buffers may take in one call: a thousand ranks must fit into
/// memory.
const RANK_BYTES: usize = 16 * 1024;

impl Collectives {
    /// Draws `count` calls for `size` ranks, all of one collective if `only` says so.
    pub fn new(size: u32, count: u32, only: Option<Collective>, mut random: Random) -> Collectives {
        let calls = (0..count).map(|number| {
            let collective = only.unwrap_or_else(|| random.pick(&Collective::ALL));
            let blocks = match collective {
                Collective::Bcast
                | Collective::Reduce
                | Collective::Allreduce
                | Collective::Scan
                | Collective::Exscan => 1,
                _ => size as usize,
            };
            let scenario = Scenario {
                collective,
                size,
                root: random.below(u64::from(size)) as u32,
                elements: random.below((RANK_BYTES / blocks / 6 + 2) as u64) as usize,
                commutative: random.chance(50),
                in_place: random.chance(50),
                seed: random.any(),
            };
            let case = scenario.prepare();
            let hosts = draw_hosts(size, &mut random);
            let algorithm = algorithm(&case, hosts.as_ref(), number);
            Call {
                case,
                algorithm,
                hosts,
            }
        });
        let calls = calls.collect();
        Collectives {
            calls,
            progress: (0..size).map(|_| (0, None)).collect(),
            random,
        }
    }

    fn begin(&self, rank: u32, number: usize, fabric: &mut Fabric) -> Result<Member, String> {
        let call = &self.calls[number];
        let position = Position::new(rank, call.case.scenario.size);
        let schedule = schedule_by(
            call.algorithm,
            &call.case.call(rank),
            position,
            call.hosts.as_ref(),
        );
        let schedule = schedule.ok_or_else(|| {
            format!(
                "{:?} cannot do {:?} on rank {rank} with {:?}",
                call.algorithm, call.case.scenario, call.hosts
            )
        })?;
        let (send, receive) = call.case.buffers(rank);
        let arena = &mut *fabric.arena(rank);
        Ok(Member {
            send: arena.keep(send),
            receive: arena.keep(receive),
            scratch: arena.keep(vec![0x5A; schedule.scratch_bytes()]),
            schedule,
            execution: Execution::start(),
            under_way: Vec::new(),
        })
    }

    /// Goes on as far as possible; true when the call is over on this rank.
    fn advance(
        &self,
        member: &mut Member,
        number: usize,
        node: &mut Node,
        fabric: &mut Fabric,
    ) -> Result<bool, String> {
        let rank = node.rank();
        let mut at = 0;
        while let Some(&(request, index)) = member.under_way.get(at) {
            match node.take(request) {
                None => at += 1,
                Some(Ok(_)) => {
                    member.under_way.swap_remove(at);
                    member.execution.transfer_done(&member.schedule, index);
                }
                Some(Err(failure)) => {
                    return Err(format!("rank {rank}: transfer {index} failed: {failure:?}"));
                }
            }
        }
        loop {
            match member.execution.poll(&member.schedule) {
                Action::Start { index, transfer } => {
                    start(member, number, index, transfer, node, fabric).map_err(|failure| {
                        format!("rank {rank}: transfer {index} failed: {failure}")
                    })?;
                }
                Action::Run(local) => {
                    let commutative = self.calls[number].case.scenario.commutative;
                    let arena = &mut *fabric.arena(rank);
                    let send = arena.lend(member.send);
                    let (mut receive, mut scratch) =
                        (arena.lend(member.receive), arena.lend(member.scratch));
                    let mut memory = Memory {
                        send: &send,
                        receive: &mut receive,
                        scratch: &mut scratch,
                    };
                    memory.run(local, &mut |input, into| combine(commutative, input, into));
                    arena.give_back(member.send, send);
                    arena.give_back(member.receive, receive);
                    arena.give_back(member.scratch, scratch);
                }
                Action::Wait => return Ok(false),
                Action::Done => return Ok(true),
            }
        }
    }
}

/// Hosts that a communicator is spread over at most.
const HOSTS_MAX: u64 = 16;

/// Everybody on one host, in blocks of any length, or anywhere.
fn draw_hosts(size: u32, random: &mut Random) -> Option<Hosts> {
    let count = 1 + random.below(HOSTS_MAX);
    let mut numbers: Vec<u32> = (0..size).map(|_| random.below(count) as u32).collect();
    if random.chance(50) {
        numbers.sort_unstable();
    }
    Hosts::new(numbers.into_iter())
}

/// The algorithms that can do the call take turns, so that as many calls as there are try each of
/// them.
fn algorithm(case: &Case, hosts: Option<&Hosts>, number: u32) -> Algorithm {
    let size = case.scenario.size;
    let able = |algorithm| {
        // Whether an algorithm can do the call is the same on every rank; the last rank is as good
        // as any.
        schedule_by(
            algorithm,
            &case.call(size - 1),
            Position::new(size - 1, size),
            hosts,
        )
        .is_some()
    };
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for rule in rules(case.scenario.collective) {
        if !algorithms.contains(&rule.algorithm) && able(rule.algorithm) {
            algorithms.push(rule.algorithm);
        }
    }
    algorithms[number as usize % algorithms.len()]
}

fn start(
    member: &mut Member,
    number: usize,
    index: u32,
    transfer: Transfer,
    node: &mut Node,
    fabric: &mut Fabric,
) -> Result<(), String> {
    let Transfer {
        direction,
        peer,
        region,
    } = transfer;
    let area = member.area(region);
    // One tag per call: within it, MPI's order between two ranks is all that schedules need.
    let (tag, bytes) = (number as i32, region.bytes as u64);
    let request = match direction {
        Direction::Send => {
            let envelope = Envelope {
                context: 0,
                source: node.rank(),
                tag,
                content: Content::new(bytes, 0),
            };
            match node.send(fabric, peer, envelope, area, Mode::Standard, (false, true)) {
                Ok(Sent::Over) => {
                    member.execution.transfer_done(&member.schedule, index);
                    return Ok(());
                }
                Ok(Sent::Pending(request)) => request,
                Err(failure) => return Err(format!("{failure:?}")),
            }
        }
        Direction::Receive => {
            let pattern = Pattern {
                context: 0,
                source: Some(peer),
                tag: Some(tag),
                signature: 0,
            };
            let request = node.receive(fabric, Some(peer), pattern, area, bytes);
            request.map_err(|failure| format!("{failure:?}"))?
        }
    };
    member.under_way.push((request, index));
    Ok(())
}

impl Member {
    fn area(&self, region: Region) -> Area {
        let base = match region.place {
            Place::Send => self.send,
            Place::Receive => self.receive,
            Place::Scratch => self.scratch,
        };
        Area {
            start: base.start + region.offset,
            ..base
        }
    }
}

impl Application for Collectives {
    fn step(&mut self, node: &mut Node, fabric: &mut Fabric) -> Result<Next, String> {
        let rank = node.rank();
        let (number, member) = std::mem::take(&mut self.progress[rank as usize]);
        if number == self.calls.len() {
            return Ok(Next::Finished);
        }
        let mut member = match member {
            Some(member) => member,
            None => self.begin(rank, number, fabric)?,
        };
        if !self.advance(&mut member, number, node, fabric)? {
            // A transfer may have completed during the call that began it, with nothing to arrive
            // for it any more.
            let over = member
                .under_way
                .iter()
                .any(|(request, _)| node.protocol().is_complete(*request));
            self.progress[rank as usize] = (number, Some(member));
            return Ok(if over { Next::After(1) } else { Next::Wait });
        }
        let arena = &mut *fabric.arena(rank);
        let receive = arena.free(member.receive);
        arena.free(member.send);
        arena.free(member.scratch);
        let algorithm = self.calls[number].algorithm;
        self.calls[number]
            .case
            .check(rank, &receive)
            .map_err(|difference| format!("{algorithm:?}: {difference}"))?;
        self.progress[rank as usize] = (number + 1, None);
        Ok(Next::After(
            1 + self.random.below(1 + fabric.faults.compute_max),
        ))
    }

    fn check(&mut self, _nodes: &[Node], fabric: &Fabric) -> Result<(), String> {
        let left: usize = fabric.kept();
        if left > 0 {
            Err(format!("{left} buffers were never given back"))
        } else {
            Ok(())
        }
    }
}
