//! Random programs with windows: epochs of every kind on parts of other ranks, while an oracle that
//! knows the standard's rules for concurrent accesses looks on.
//!
//! What is real: requests as bytes, the batches that hold them back, the service that does them,
//! the words of locks, and what becomes of a lock whose holder dies (`oxmpi-windows`, over the
//! engine's protocol). What is simulated: memory (`target`), the calls of the program (`origin`),
//! and the messages by which fences and exposures are told (here). Ranks of one host touch each
//! other's parts and lock words by themselves, and wake each other; a waiting rank is run only when
//! it is woken or something arrives, so a lost wake-up is a deadlock, which the run reports.
//! `script` draws the programs, `oracle` judges what they see.

mod oracle;
mod origin;
mod script;
mod target;
mod word;

use std::collections::{HashSet, VecDeque};

use oxmpi_engine::turn_lock::{Drawn, Ticket, Turn, Wish};
use oxmpi_matching::Pattern;
use oxmpi_windows::LockKind;
use oxmpi_windows::lock::{self, Held, Told, Try};
use oxmpi_windows::message::{Kind, Request};
use oxmpi_windows::service::Service;

use crate::fabric::{Area, Fabric};
use crate::node::Node;
use crate::random::Random;
use crate::world::{Application, Next};

use oracle::Oracle;
use origin::{Completes, Stream};
use script::{Action, PART_BYTES, PUT, WORD};
use target::{FENCES, LockWords, Memory, Moving, REQUESTS, SYNCHRONISES, Seen, Simulated};
use word::{Begins, COMPLETED, EXPOSED, Heard, begin, now};

/// What a run is made of.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Ranks.
    pub size: u32,
    /// Rounds of epochs.
    pub rounds: u32,
    /// Ranks will die.
    pub deaths: bool,
}

/// The programs of all ranks.
pub struct Windows {
    random: Random,
    /// Ranks of a host, the last one's perhaps fewer.
    host: u32,
    ranks: Vec<Rank>,
    /// The locks of all parts.
    locks: Vec<LockWords>,
    oracle: Oracle,
    dead: Vec<bool>,
    /// Numbers that swaps leave.
    swaps: i64,
    /// Who was told of which dead holder of whose lock.
    tellings: HashSet<(u32, u32, u32)>,
    prepared: bool,
}

/// One rank.
struct Rank {
    script: VecDeque<Action>,
    waits: Option<Waits>,
    done: bool,
    part: Area,
    service: Service<Simulated>,
    /// Answers that have not left.
    leaving: Vec<Moving>,
    /// Words that have not left. Who has given up an epoch because of a death takes none.
    said: Vec<Moving>,
    /// By target.
    streams: Vec<Stream>,
    tags: u32,
    /// By target of this host: the lock that it holds.
    held: Vec<Option<Held>>,
    told: Told,
    /// By target: it is dead; its lock could not be had; it left something unanswered.
    lost: Vec<bool>,
    locked_out: Vec<bool>,
    unexplained: Vec<bool>,
    /// What was read under an exclusive lock.
    counter: Option<i64>,
    /// By target: what the last swap found or left.
    seen: Vec<i64>,
    /// By rank: exposures to it, and epochs of accesses with it, that were begun.
    exposures: Vec<u32>,
    accesses: Vec<u32>,
    /// A fence has failed, and so do all that follow.
    parted: bool,
    /// The engine knows that fences need all ranks.
    bound: bool,
    /// No epoch is open although the script has one: it could not begin.
    closed: bool,
}

impl Rank {
    /// Its program is over, and so is what its service does for others.
    fn is_silent(&self) -> bool {
        self.done && self.service.is_idle() && self.leaving.is_empty()
    }
}

/// What a program waits for.
enum Waits {
    /// The turn of a ticket of a rank of this host.
    Turn(u32, Ticket),
    /// A disrupted lock of a rank of this host.
    Disrupted(u32, Wish),
    /// The end of a synchronisation with these targets.
    Ends(Vec<u32>),
    /// The end of what concerns its own memory, with these targets.
    Locally(Vec<u32>),
    /// The end of an unlock of these targets.
    Unlocks(Vec<u32>),
    /// Words of other programs.
    Words(Heard),
}

/// A rank that runs.
struct Site<'a> {
    node: &'a mut Node,
    fabric: &'a mut Fabric,
}

impl Site<'_> {
    fn rank(&self) -> u32 {
        self.node.rank()
    }

    /// The ranks whose death it knows of.
    fn dead(&self) -> Vec<u32> {
        let mut dead = self.node.protocol().died().to_vec();
        dead.sort_unstable();
        dead
    }
}

impl Windows {
    /// Draws the programs.
    pub fn new(shape: Shape, mut random: Random) -> Windows {
        let parts = shape.size as usize;
        let scripts = script::draw(shape.size, shape.rounds, shape.deaths, &mut random);
        let rank = |script: Vec<Action>| Rank {
            script: script.into(),
            waits: None,
            done: false,
            part: Area {
                buffer: 0,
                start: 0,
            },
            service: Service::default(),
            leaving: Vec::new(),
            said: Vec::new(),
            streams: (0..parts).map(|_| Stream::default()).collect(),
            tags: 0,
            held: vec![None; parts],
            told: Told::new(),
            lost: vec![false; parts],
            locked_out: vec![false; parts],
            unexplained: vec![false; parts],
            counter: None,
            seen: vec![0; parts],
            exposures: vec![0; parts],
            accesses: vec![0; parts],
            parted: false,
            bound: false,
            closed: false,
        };
        Windows {
            host: random.pick(&[1, 1, 2, 3]),
            ranks: scripts.into_iter().map(rank).collect(),
            locks: (0..parts).map(|_| LockWords::new(shape.size)).collect(),
            oracle: Oracle::new(shape.size),
            dead: vec![false; parts],
            swaps: 0,
            tellings: HashSet::new(),
            prepared: false,
            random,
        }
    }

    /// Whether two ranks share a host.
    fn is_near(&self, one: u32, other: u32) -> bool {
        one / self.host == other / self.host
    }

    fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// All ranks have made the window before the first one uses it.
    fn prepare(&mut self, fabric: &Fabric) {
        for (rank, state) in self.ranks.iter_mut().enumerate() {
            state.part = fabric.arena(rank as u32).keep(vec![0; PART_BYTES]);
        }
        self.prepared = true;
    }

    /// The library's service of this rank.
    fn serve(&mut self, site: &mut Site<'_>) {
        self.push(site);
        let rank = site.rank();
        let mut service = std::mem::take(&mut self.ranks[rank as usize].service);
        let any = Pattern {
            context: REQUESTS,
            source: None,
            tag: None,
            signature: 0,
        };
        while let Some(claim) = site.node.claim(&any) {
            let (source, bytes) = (claim.envelope.source, claim.envelope.bytes());
            let area = site.fabric.arena(rank).keep(vec![0; bytes as usize]);
            let received = site.node.receive_claim(site.fabric, claim, area, bytes);
            let area = Some(area);
            if let Ok(request) = received {
                service.arrive(source, Moving { request, area });
            }
        }
        let (host, dead) = (self.host, site.dead());
        let near = move |other: u32| other / host == rank / host;
        let state = &mut self.ranks[rank as usize];
        let mut memory = Memory {
            rank,
            node: site.node,
            fabric: site.fabric,
            seen: Seen {
                words: &self.locks[rank as usize],
                dead: &dead,
            },
            near: &near,
            part: state.part,
            leaving: &mut state.leaving,
        };
        service.step(&mut memory);
        state.service = service;
        let (node, fabric) = (&mut *site.node, &mut *site.fabric);
        let mut is_leaving = |moving: &mut Moving| {
            let is_over = node.take(moving.request).is_some();
            if is_over && let Some(area) = moving.area.take() {
                fabric.arena(rank).free(area);
            }
            !is_over
        };
        state.leaving.retain_mut(&mut is_leaving);
        state.said.retain_mut(&mut is_leaving);
    }

    /// A rank is told that a holder has died: once, and never of a rank that lives.
    fn told(&mut self, rank: u32, target: u32, dead: u32) -> Result<(), String> {
        if !self.dead[dead as usize] {
            return Err(format!(
                "rank {rank} hears that rank {dead} is dead, but it lives"
            ));
        }
        // The same epoch may say it at every flush.
        let is_again = self.ranks[rank as usize].locked_out[target as usize];
        match self.tellings.insert((rank, target, dead)) || is_again {
            true => Ok(()),
            false => Err(format!(
                "rank {rank} is told twice that rank {dead} died with the lock of rank {target}"
            )),
        }
    }
}

/// The calls.
impl Windows {
    /// Makes a call; what it waits for.
    fn perform(&mut self, site: &mut Site<'_>, action: Action) -> Result<Option<Waits>, String> {
        let rank = site.rank();
        if matches!(action, Action::Lock(..) | Action::Start(_)) {
            // After a fence that has failed other epochs can begin.
            self.ranks[rank as usize].closed = false;
        }
        if let Some(target) = action.target() {
            let state = &self.ranks[rank as usize];
            if state.closed || state.lost[target as usize] || state.locked_out[target as usize] {
                return Ok(None);
            }
            let is_flush = matches!(action, Action::Flush(_));
            if !is_flush && self.must_wait(site, target) {
                let script = &mut self.ranks[rank as usize].script;
                script.push_front(action);
                return self.perform(site, Action::Flush(target));
            }
        }
        match action {
            Action::Put {
                target,
                first,
                words,
            } => self.put(site, target, first, words),
            Action::Get {
                target,
                first,
                words,
            } => self.get(site, target, first, words)?,
            Action::Fetch { target, add } => self.fetch(site, target, add)?,
            Action::Accumulate {
                target,
                first,
                words,
                add,
            } => {
                self.accumulate(site, target, (first, words), add);
            }
            Action::Swap { target } => self.swap(site, target)?,
            Action::ReadCounter(target) => self.read_counter(site, target)?,
            Action::WriteCounter(target) => self.write_counter(site, target),
            Action::ReadPair(target) => self.read_pair(site, target)?,
            Action::PutOutside(target) => self.put_outside(site, target),
            Action::Look => self.look(site)?,
            Action::Lock(kind, target) => return self.lock(site, kind, target),
            Action::Unlock(target) => return self.unlock(site, vec![target]),
            Action::LockAll => {
                let all = (0..self.size()).rev();
                let script = &mut self.ranks[rank as usize].script;
                all.for_each(|target| script.push_front(Action::Lock(LockKind::Shared, target)));
            }
            Action::UnlockAll => {
                let all = (0..self.size()).collect();
                return self.unlock(site, all);
            }
            Action::Flush(target) if self.is_near(rank, target) => {}
            Action::Flush(target) => {
                self.begin_flush(site, target)?;
                return Ok(Some(Waits::Ends(vec![target])));
            }
            Action::FlushAll => return self.flush_all(site),
            Action::FlushLocal(target) => return self.flush_locally(site, vec![target]),
            Action::FlushLocalAll => {
                let all = self.within_reach(rank);
                return self.flush_locally(site, all);
            }
            Action::Fence => {
                let script = &mut self.ranks[rank as usize].script;
                script.push_front(Action::Meet(0));
                return self.flush_all(site);
            }
            Action::Meet(round) => return self.meet(site, round),
            Action::Post(origins) => {
                let partners = begin(&mut self.ranks[rank as usize].exposures, &origins);
                self.tell(site, (SYNCHRONISES, EXPOSED), &partners);
            }
            Action::Start(targets) => {
                let partners = begin(&mut self.ranks[rank as usize].accesses, &targets);
                let words = (SYNCHRONISES, EXPOSED);
                return self.hear(site, words, &partners, Begins::Accesses);
            }
            Action::Complete(targets) => {
                let state = &mut self.ranks[rank as usize];
                if std::mem::take(&mut state.closed) {
                    return Ok(None);
                }
                state.script.push_front(Action::Completed(targets));
                return self.flush_all(site);
            }
            Action::Completed(targets) => self.complete(site, &targets),
            Action::Wait(origins) => {
                let partners = now(&self.ranks[rank as usize].exposures, &origins);
                let words = (SYNCHRONISES, COMPLETED);
                return self.hear(site, words, &partners, Begins::Nothing);
            }
        }
        Ok(None)
    }

    fn flush_all(&mut self, site: &mut Site<'_>) -> Result<Option<Waits>, String> {
        let far = self.within_reach(site.rank());
        for target in &far {
            self.begin_flush(site, *target)?;
        }
        Ok(Some(Waits::Ends(far)))
    }

    /// The ranks of other hosts that can still be asked.
    fn within_reach(&self, rank: u32) -> Vec<u32> {
        let state = &self.ranks[rank as usize];
        (0..self.size())
            .filter(|target| !self.is_near(rank, *target))
            .filter(|target| !state.lost[*target as usize] && !state.locked_out[*target as usize])
            .collect()
    }

    /// Completes what concerns this rank's memory: batches leave, and nobody is asked.
    fn flush_locally(
        &mut self,
        site: &mut Site<'_>,
        mut targets: Vec<u32>,
    ) -> Result<Option<Waits>, String> {
        targets.retain(|target| !self.stream(site, *target).is_empty());
        for target in &targets {
            self.send_batch(site, *target);
        }
        Ok(Some(Waits::Locally(targets)))
    }

    /// The own part by loads, behind a fence.
    fn look(&mut self, site: &Site<'_>) -> Result<(), String> {
        let rank = site.rank();
        let began = self.oracle.tick();
        let part = self.ranks[rank as usize].part;
        let puts = {
            let arena = site.fabric.arena(rank);
            let begin = (PUT.start * WORD) as u64;
            arena.read(part, begin, PUT.len() * WORD).to_vec()
        };
        self.oracle.judge_read(rank, PUT.start, &puts, began)
    }

    fn lock(
        &mut self,
        site: &mut Site<'_>,
        kind: LockKind,
        target: u32,
    ) -> Result<Option<Waits>, String> {
        let rank = site.rank();
        if !self.is_near(rank, target) {
            if self.stream(site, target).batch.lock(kind) {
                self.send_batch(site, target);
            }
            return Ok(None);
        }
        let wish = Wish::from(kind);
        let words = &self.locks[target as usize];
        match words.lock.draw(wish, &words.entries[rank as usize]) {
            Drawn::Inside(ticket, turn) => {
                self.ranks[rank as usize].held[target as usize] = Some(Held::Turn(ticket));
                self.wake(site, target, turn);
                Ok(None)
            }
            Drawn::Waits(ticket) => {
                words.lock.announce_sleep();
                Ok(Some(Waits::Turn(target, ticket)))
            }
            Drawn::Disrupted(turn) => {
                words.lock.announce_sleep();
                self.wake(site, target, turn);
                Ok(Some(Waits::Disrupted(target, wish)))
            }
        }
    }

    /// Wakes whoever may have the lock of a rank of this host now.
    fn wake(&mut self, site: &mut Site<'_>, target: u32, turn: Turn) {
        let (rank, host) = (site.rank(), self.host);
        let near = move |other: u32| other / host == rank / host;
        let words = &self.locks[target as usize];
        if !target::wake(site.fabric, words, turn, &near) {
            return;
        }
        if target == rank {
            // The service is stepped at the end of this turn.
            site.fabric.rouse(rank);
            return;
        }
        let mut poke = Vec::new();
        Request::bare(Kind::Poke, 0).encode(&mut poke);
        let sent = target::send(site.node, site.fabric, target, (REQUESTS, 0), poke);
        self.ranks[rank as usize].leaving.extend(sent);
    }

    /// Tries to take a disrupted lock; whether the wait is over.
    fn try_disrupted(
        &mut self,
        site: &mut Site<'_>,
        target: u32,
        wish: Wish,
    ) -> Result<bool, String> {
        let (rank, dead) = (site.rank(), site.dead());
        let words = &self.locks[target as usize];
        if target != rank && dead.contains(&target) {
            words.lock.announce_awake();
            self.ranks[rank as usize].lost[target as usize] = true;
            return Ok(true);
        }
        let seen = Seen { words, dead: &dead };
        let told = &mut self.ranks[rank as usize].told;
        match lock::take_disrupted(&seen, (target, rank), wish, &dead, told) {
            Try::Waits => return Ok(false),
            Try::Held => {
                self.ranks[rank as usize].held[target as usize] = Some(Held::Disrupted);
            }
            Try::Died(holder) => {
                self.told(rank, target, holder)?;
                self.ranks[rank as usize].locked_out[target as usize] = true;
            }
        }
        self.locks[target as usize].lock.announce_awake();
        Ok(true)
    }

    fn unlock(&mut self, site: &mut Site<'_>, targets: Vec<u32>) -> Result<Option<Waits>, String> {
        let rank = site.rank();
        let mut far = Vec::new();
        for target in targets {
            if !self.is_near(rank, target) {
                self.begin_unlock(site, target)?;
                far.push(target);
                continue;
            }
            let state = &mut self.ranks[rank as usize];
            state.locked_out[target as usize] = false;
            if let Some(held) = state.held[target as usize].take() {
                let words = &self.locks[target as usize];
                let turn = lock::release(&words.lock, &words.entries[rank as usize], held);
                self.wake(site, target, turn);
            }
        }
        Ok(Some(Waits::Unlocks(far)))
    }

    /// Whether what was waited for has come.
    fn has_come(&mut self, site: &mut Site<'_>, waits: Waits) -> Result<Option<Waits>, String> {
        let rank = site.rank();
        match waits {
            Waits::Turn(target, ticket) => {
                let words = &self.locks[target as usize];
                let entry = &words.entries[rank as usize];
                if words.lock.has_turn(ticket)
                    && let Ok(turn) = words.lock.enter(ticket, entry)
                {
                    words.lock.announce_awake();
                    self.ranks[rank as usize].held[target as usize] = Some(Held::Turn(ticket));
                    self.wake(site, target, turn);
                    return Ok(None);
                }
                let dead = site.dead();
                let is_before = |other: &u32| {
                    words.entries[*other as usize].is_before(ticket) || *other == target
                };
                if !words.lock.is_disrupted() && !dead.iter().any(is_before) {
                    return Ok(Some(Waits::Turn(target, ticket)));
                }
                let turn = words.lock.disrupt(entry);
                self.wake(site, target, turn);
                self.has_come(site, Waits::Disrupted(target, ticket.wish()))
            }
            Waits::Disrupted(target, wish) => {
                let over = self.try_disrupted(site, target, wish)?;
                Ok((!over).then_some(Waits::Disrupted(target, wish)))
            }
            Waits::Ends(targets) => {
                let left = self.left_of(site, targets, Completes::There)?;
                Ok((!left.is_empty()).then_some(Waits::Ends(left)))
            }
            Waits::Locally(targets) => {
                let left = self.left_of(site, targets, Completes::Here)?;
                Ok((!left.is_empty()).then_some(Waits::Locally(left)))
            }
            Waits::Unlocks(targets) => {
                let left = self.left_of(site, targets.clone(), Completes::There)?;
                if !left.is_empty() {
                    return Ok(Some(Waits::Unlocks(targets)));
                }
                for target in targets {
                    self.ranks[rank as usize].locked_out[target as usize] = false;
                }
                Ok(None)
            }
            Waits::Words(heard) => Ok(self.poll_words(site, heard)?.map(Waits::Words)),
        }
    }

    /// The targets with which a synchronisation has not ended.
    fn left_of(
        &mut self,
        site: &mut Site<'_>,
        targets: Vec<u32>,
        completes: Completes,
    ) -> Result<Vec<u32>, String> {
        let mut left = Vec::new();
        for target in targets {
            if !self.poll_end(site, target, completes)? {
                left.push(target);
            }
        }
        Ok(left)
    }

    /// Whether nobody needs anybody's service any more.
    fn is_silent(&self) -> bool {
        let mut all = self.ranks.iter().zip(&self.dead);
        all.all(|(state, dead)| *dead || state.is_silent() && state.said.is_empty())
    }
}

impl Application for Windows {
    fn step(&mut self, node: &mut Node, fabric: &mut Fabric) -> Result<Next, String> {
        if !self.prepared {
            self.prepare(fabric);
        }
        let rank = node.rank();
        if !std::mem::replace(&mut self.ranks[rank as usize].bound, true) {
            node.bind_members(FENCES, (0..self.size()).collect());
        }
        let compute_max = fabric.faults.compute_max;
        let mut site = Site { node, fabric };
        self.serve(&mut site);
        while !self.ranks[rank as usize].done {
            if let Some(waits) = self.ranks[rank as usize].waits.take() {
                let waits = self.has_come(&mut site, waits)?;
                self.ranks[rank as usize].waits = waits;
                if self.ranks[rank as usize].waits.is_some() {
                    // Whoever waits makes the progress of the process.
                    self.serve(&mut site);
                    return Ok(Next::Wait);
                }
            }
            let Some(action) = self.ranks[rank as usize].script.pop_front() else {
                self.ranks[rank as usize].done = true;
                // Who has words that nobody takes waits for all programs to end.
                (0..self.size()).for_each(|other| site.fabric.rouse(other));
                break;
            };
            let waits = self.perform(&mut site, action)?;
            self.ranks[rank as usize].waits = waits;
            if self.random.chance(30) {
                self.serve(&mut site);
                return Ok(Next::After(self.random.below(1 + compute_max)));
            }
        }
        self.take_back_words(&mut site)?;
        self.serve(&mut site);
        if !self.is_silent() {
            return Ok(Next::Wait);
        }
        // The last one tells the others, who wait.
        (0..self.size()).for_each(|other| site.fabric.rouse(other));
        Ok(Next::Finished)
    }

    fn died(&mut self, rank: u32) {
        self.dead[rank as usize] = true;
    }

    fn check(&mut self, _nodes: &[Node], fabric: &Fabric) -> Result<(), String> {
        let lost = self.dead.contains(&true);
        for rank in 0..self.size() {
            if self.dead[rank as usize] {
                continue;
            }
            let part = self.ranks[rank as usize].part;
            let part = fabric.arena(rank).read(part, 0, PART_BYTES).to_vec();
            self.oracle.judge_part(rank, &part, lost)?;
        }
        Ok(())
    }
}
