//! A host of the job as seen from its process: the ranks here, the branches to agents below.
//!
//! The head and every agent consist of one `Node` and what is above it: signals, output and
//! supervision for the head, a connection to its parent for an agent. `down` carries out a frame
//! from above, here or below; `poll_up` yields what goes up. Fences are gathered here: one frame
//! goes up when all below have sent theirs. Nothing waits: `poll_entries` and `poll_deadline` say
//! when `handle_ready` has something to do.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::branch::Branch;
use crate::frame::{Down, Grow, Puts, Up};
use crate::job::LaunchError;
use crate::local_ranks::{LocalRanks, StartRanks};
use crate::{tree, warden};

/// The ranks of this host and the branches below it.
#[derive(Default)]
pub(crate) struct Node {
    /// The number of this host; None when the head has no ranks on its own.
    host: Option<u32>,
    local: Option<LocalRanks>,
    branches: Vec<Branch>,
    gathering: Gathering,
    /// The number of this host's ranks in the gathering.
    local_number: usize,
    /// The branches' numbers in it.
    branch_numbers: Vec<usize>,
    up: VecDeque<Up>,
    ending: bool,
    /// This process is there for the job alone and adopts what a killed warden leaves behind.
    adopts: bool,
}

/// Fences on their way up: what each contributor (this host's ranks, each branch) has sent.
#[derive(Debug, Default)]
struct Gathering {
    contributors: Vec<Contributor>,
    puts: Puts,
}

/// Where a contributor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contributor {
    /// Ranks of it are outside of the fence.
    Outside,
    /// All its ranks that have not ended are in the fence.
    Inside,
    /// All its ranks have ended: no fence waits for it.
    Gone,
}

impl Gathering {
    /// The number of another contributor.
    fn add(&mut self) -> usize {
        self.contributors.push(Contributor::Outside);
        self.contributors.len() - 1
    }

    /// A contributor has sent a fence, or is gone. What is to be said above, if this was all that
    /// was waited for.
    fn handle(&mut self, number: usize, state: Contributor, puts: Puts) -> Option<Up> {
        self.puts.extend(puts);
        let entry = self.contributors.get_mut(number)?;
        if *entry == Contributor::Gone {
            return None;
        }
        *entry = state;
        if self.contributors.contains(&Contributor::Outside) {
            return None;
        }
        let puts = std::mem::take(&mut self.puts);
        if !self.contributors.contains(&Contributor::Inside) {
            return Some(Up::Deserted(puts));
        }
        for entry in &mut self.contributors {
            if *entry == Contributor::Inside {
                *entry = Contributor::Outside;
            }
        }
        Some(Up::Fence(puts))
    }
}

impl Node {
    pub(crate) fn new(host: Option<u32>) -> Node {
        let mut node = Node::default();
        node.host = host;
        node
    }

    /// What a killed warden leaves behind becomes a child of this process, and is killed.
    pub(crate) fn adopt_orphans(&mut self) {
        warden::adopt_orphans();
        self.adopts = true;
    }

    /// Starts the agents of the hosts below, with the signal mask `mask`.
    pub(crate) fn grow(&mut self, plan: &Grow, mask: libc::sigset_t, now: Instant) {
        for limb in tree::limbs(&plan.below, plan.fanout as usize) {
            let branch = Branch::start(limb, plan, mask, now, &mut self.up);
            self.branches.push(branch);
            self.branch_numbers.push(self.gathering.add());
        }
    }

    /// Starts the ranks of this host.
    pub(crate) fn start_ranks(&mut self, start: StartRanks<'_>) -> Result<(), LaunchError> {
        let highest = self.branches.iter().filter_map(Branch::highest).max();
        self.local = Some(LocalRanks::start(start, highest.unwrap_or(0))?);
        self.local_number = self.gathering.add();
        Ok(())
    }

    /// The ranks of this host will never run: nothing is waited for here.
    pub(crate) fn excuse(&mut self, text: String) {
        let hosts = self.host.into_iter().collect();
        self.up.push_back(Up::Lost { hosts, text });
    }

    /// Carries out what comes from above, here and below. (`Grow` and `Run` are passed on only.)
    pub(crate) fn down(&mut self, frame: &Down, now: Instant) {
        match frame {
            Down::Credit { host, bytes } => {
                if self.host == Some(*host) {
                    self.local.iter_mut().for_each(|local| local.widen(*bytes));
                } else if let Some(branch) = self.way_to(*host) {
                    branch.send(frame);
                }
            }
            Down::Stdin(bytes) => {
                let mut elsewhere = true;
                if let Some(local) = &mut self.local {
                    local.feed(bytes, &mut self.up);
                    elsewhere = !local.has_the_reader();
                }
                if elsewhere {
                    self.below(frame);
                }
            }
            Down::Signal(signal) => {
                self.local
                    .iter_mut()
                    .for_each(|local| local.signal(*signal));
                self.below(frame);
            }
            Down::FenceOver(all) => {
                let mut said = VecDeque::new();
                let local = self.local.iter_mut();
                local.for_each(|local| local.fence_over(all, &mut said));
                self.take_in(self.local_number, said);
                self.below(frame);
            }
            Down::Died { rank, death } => {
                let local = self.local.iter();
                local.for_each(|local| local.record_death(*rank, *death));
                self.below(frame);
            }
            Down::Finished { rank } => {
                let local = self.local.iter();
                local.for_each(|local| local.record_finish(*rank));
                self.below(frame);
            }
            Down::Look => {
                let looked = self.local.iter().zip(self.host);
                let said = looked.flat_map(|(local, host)| local.look(host));
                self.up.extend(said);
                self.below(frame);
            }
            Down::End => {
                self.ending = true;
                match (&mut self.local, self.host) {
                    (Some(local), _) => local.end(),
                    // Its ranks never ran.
                    (None, Some(host)) => self.up.push_back(Up::Over { host }),
                    (None, None) => {}
                }
                self.below(frame);
                self.part(now);
            }
            Down::Grow(_) | Down::Run(_) => self.below(frame),
        }
        self.branches.iter_mut().for_each(Branch::write);
    }

    /// What goes up next.
    pub(crate) fn poll_up(&mut self) -> Option<Up> {
        self.up.pop_front()
    }

    /// Passes on what this host's ranks or a branch have said; fences wait for each other here.
    fn take_in(&mut self, number: usize, said: VecDeque<Up>) {
        for frame in said {
            let gathered = match frame {
                Up::Fence(puts) => self.gathering.handle(number, Contributor::Inside, puts),
                Up::Deserted(puts) => self.gathering.handle(number, Contributor::Gone, puts),
                other => Some(other),
            };
            self.up.extend(gathered);
        }
    }

    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        self.local
            .iter()
            .for_each(|local| local.poll_entries(entries));
        let branches = self.branches.iter();
        branches.for_each(|branch| branch.poll_entries(entries));
    }

    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        let local = self.local.iter().filter_map(LocalRanks::poll_deadline);
        let branches = self.branches.iter().filter_map(Branch::poll_deadline);
        local.chain(branches).min()
    }

    /// Handles whatever has happened here and below.
    pub(crate) fn handle_ready(&mut self, now: Instant) -> Result<(), LaunchError> {
        if let Some(local) = &mut self.local {
            let guarded = !local.is_unguarded();
            let mut said = VecDeque::new();
            local.handle_ready(now, &mut said)?;
            if self.adopts && guarded && local.is_unguarded() {
                let shells: Vec<i32> = self.branches.iter().filter_map(Branch::pid).collect();
                warden::kill_orphans(&shells);
            }
            self.take_in(self.local_number, said);
        }
        for place in 0..self.branches.len() {
            let mut said = VecDeque::new();
            self.branches[place].handle_ready(now, &mut said);
            self.take_in(self.branch_numbers[place], said);
        }
        if self.ending {
            self.part(now);
        }
        Ok(())
    }

    /// Nothing is left, here and below.
    pub(crate) fn is_over(&self) -> bool {
        self.local.as_ref().is_none_or(LocalRanks::is_over)
            && self.branches.iter().all(Branch::is_gone)
            && self.up.is_empty()
    }

    /// The end was not confirmed from below.
    pub(crate) fn abandon(&mut self, after: Duration, now: Instant) {
        for branch in &mut self.branches {
            branch.abandon(after, now, &mut self.up);
        }
    }

    /// Agents that have nothing left to do end; those that have not even greeted never will.
    fn part(&mut self, now: Instant) {
        for branch in &mut self.branches {
            if branch.is_awaited() {
                branch.give_up(now);
            } else if branch.is_over() {
                branch.leave(now);
            }
        }
    }

    fn below(&mut self, frame: &Down) {
        self.branches
            .iter_mut()
            .for_each(|branch| branch.send(frame));
    }

    fn way_to(&mut self, host: u32) -> Option<&mut Branch> {
        self.branches
            .iter_mut()
            .find(|branch| branch.leads_to(host))
    }
}

impl Drop for Node {
    /// All agents are told before any is waited for, and before the ranks here are.
    fn drop(&mut self) {
        let now = Instant::now();
        self.branches
            .iter_mut()
            .for_each(|branch| branch.leave(now));
        self.local = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn puts(key: &str) -> Puts {
        vec![(key.to_owned(), "x".to_owned())]
    }

    #[test]
    fn a_fence_goes_up_when_all_have_come() {
        use Contributor::Inside;
        let mut gathering = Gathering::default();
        (0..3).for_each(|number| assert_eq!(gathering.add(), number));
        assert_eq!(gathering.handle(0, Inside, puts("a")), None);
        assert_eq!(gathering.handle(2, Inside, Vec::new()), None);
        let all = [puts("a"), puts("b")].concat();
        assert_eq!(gathering.handle(1, Inside, puts("b")), Some(Up::Fence(all)));
        assert_eq!(gathering.handle(1, Inside, puts("c")), None, "the next");
    }

    #[test]
    fn a_fence_does_not_wait_for_who_is_gone() {
        use Contributor::{Gone, Inside};
        let mut gathering = Gathering::default();
        (0..3).for_each(|number| assert_eq!(gathering.add(), number));
        assert_eq!(gathering.handle(0, Inside, puts("a")), None);
        assert_eq!(
            gathering.handle(0, Gone, Vec::new()),
            None,
            "inside, then gone"
        );
        assert_eq!(gathering.handle(1, Gone, puts("b")), None);
        let all = [puts("a"), puts("b")].concat();
        assert_eq!(
            gathering.handle(2, Inside, Vec::new()),
            Some(Up::Fence(all))
        );
        assert_eq!(
            gathering.handle(2, Inside, Vec::new()),
            Some(Up::Fence(Vec::new())),
            "the next"
        );
        assert_eq!(
            gathering.handle(2, Gone, puts("c")),
            Some(Up::Deserted(puts("c")))
        );
    }
}
