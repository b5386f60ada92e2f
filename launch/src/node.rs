//! A host of the job as seen from its process: the crew here, the branches to agents below.
//!
//! The head and every agent consist of one `Node` and what is above it: signals, output and conduct for the
//! head, a connection to its parent for an agent. `down` carries out a frame from above, here or below;
//! `poll_up` yields what goes up. Fences are gathered here: one frame goes up when all below have sent theirs.
//! Nothing waits: `poll_entries` and `poll_deadline` say when `handle_ready` has something to do.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::branch::Branch;
use crate::crew::{Crew, Muster};
use crate::frame::{Down, Grow, Puts, Up};
use crate::job::LaunchError;
use crate::{tree, warden};

/// The crew of this host and the branches below it.
#[derive(Default)]
pub(crate) struct Node {
    /// The number of this host; None when the head has no ranks on its own.
    host: Option<u32>,
    crew: Option<Crew>,
    branches: Vec<Branch>,
    gathering: Gathering,
    up: VecDeque<Up>,
    ending: bool,
    /// This process is there for the job alone and adopts what a killed warden leaves behind.
    adopts: bool,
}

/// Fences on their way up: what each contributor has sent.
#[derive(Debug, Default)]
struct Gathering {
    come: usize,
    puts: Puts,
}

impl Gathering {
    /// Takes one contribution of `expected`; all of them together when it was the last.
    fn handle(&mut self, puts: Puts, expected: usize) -> Option<Puts> {
        self.puts.extend(puts);
        self.come += 1;
        if self.come < expected {
            return None;
        }
        self.come = 0;
        Some(std::mem::take(&mut self.puts))
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
        }
    }

    /// Starts the ranks of this host.
    pub(crate) fn muster(&mut self, muster: Muster<'_>) -> Result<(), LaunchError> {
        let highest = self.branches.iter().filter_map(Branch::highest).max();
        self.crew = Some(Crew::start(muster, highest.unwrap_or(0))?);
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
                    self.crew.iter_mut().for_each(|crew| crew.widen(*bytes));
                } else if let Some(branch) = self.way_to(*host) {
                    branch.send(frame);
                }
            }
            Down::Stdin(bytes) => match &mut self.crew {
                Some(crew) if crew.has_first() => crew.feed(bytes, &mut self.up),
                _ => self.below(frame),
            },
            Down::Signal(signal) => {
                self.crew.iter_mut().for_each(|crew| crew.signal(*signal));
                self.below(frame);
            }
            Down::FenceOver(all) => {
                let crew = self.crew.iter_mut();
                crew.for_each(|crew| crew.fence_over(all, &mut self.up));
                self.below(frame);
            }
            Down::End => {
                self.ending = true;
                match (&mut self.crew, self.host) {
                    (Some(crew), _) => crew.end(),
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
        while let Some(frame) = self.up.pop_front() {
            let Up::Fence(puts) = frame else {
                return Some(frame);
            };
            let contributors = self.branches.len() + usize::from(self.crew.is_some());
            if let Some(all) = self.gathering.handle(puts, contributors) {
                return Some(Up::Fence(all));
            }
        }
        None
    }

    pub(crate) fn poll_entries(&self, entries: &mut Vec<libc::pollfd>) {
        self.crew.iter().for_each(|crew| crew.poll_entries(entries));
        let branches = self.branches.iter();
        branches.for_each(|branch| branch.poll_entries(entries));
    }

    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        let crew = self.crew.iter().filter_map(Crew::poll_deadline);
        let branches = self.branches.iter().filter_map(Branch::poll_deadline);
        crew.chain(branches).min()
    }

    /// Handles whatever has happened here and below.
    pub(crate) fn handle_ready(&mut self, now: Instant) -> Result<(), LaunchError> {
        if let Some(crew) = &mut self.crew {
            let guarded = !crew.is_unguarded();
            crew.handle_ready(now, &mut self.up)?;
            if self.adopts && guarded && crew.is_unguarded() {
                let shells: Vec<i32> = self.branches.iter().filter_map(Branch::pid).collect();
                warden::kill_orphans(&shells);
            }
        }
        for branch in &mut self.branches {
            branch.handle_ready(now, &mut self.up);
        }
        if self.ending {
            self.part(now);
        }
        Ok(())
    }

    /// Nothing is left, here and below.
    pub(crate) fn is_over(&self) -> bool {
        self.crew.as_ref().is_none_or(Crew::is_over)
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
        self.crew = None;
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
        let mut gathering = Gathering::default();
        assert_eq!(gathering.handle(puts("a"), 3), None);
        assert_eq!(gathering.handle(Vec::new(), 3), None);
        let all = gathering.handle(puts("b"), 3).unwrap();
        assert_eq!(all, [puts("a"), puts("b")].concat());
        assert_eq!(
            gathering.handle(puts("c"), 1),
            Some(puts("c")),
            "the next fence"
        );
    }
}
