//! The words by which simulated programs tell each other: fences, exposures, ends of accesses. They
//! stand for those of the library, with its rules for ranks that die: the engine tells a rank that
//! waits for a word of a fence; a rank that waits for words of a group looks itself.

use oxmpi_engine::protocol::{Failure, RequestId};

use super::script::Action;
use super::target::{self, FENCES, SYNCHRONISES};
use super::{Site, Waits, Windows};
use crate::fabric::Area;

/// Tags of the words between two programs, with the number of the epoch above them.
pub(super) const EXPOSED: u32 = 0;
pub(super) const COMPLETED: u32 = 1;

/// Words that are waited for.
pub(super) struct Heard {
    words: Vec<(RequestId, Area)>,
    /// Those who say them.
    members: Vec<u32>,
    begins: Begins,
    /// One of them has died.
    failed: bool,
}

/// What begins with the last word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    Nothing,
    /// What follows a fence.
    Fenced,
    /// Accesses to those who have said it.
    Accesses,
}

/// The ranks, each with the number of the epoch that begins with it.
pub(super) fn begin(numbers: &mut [u32], others: &[u32]) -> Vec<(u32, u32)> {
    for other in others {
        numbers[*other as usize] += 1;
    }
    now(numbers, others)
}

/// The ranks, each with the number of the epoch that was begun with it last.
pub(super) fn now(numbers: &[u32], others: &[u32]) -> Vec<(u32, u32)> {
    others
        .iter()
        .map(|other| (*other, numbers[*other as usize]))
        .collect()
}

impl Windows {
    /// A round of a fence's second half: as in the library's barrier each rank hears of one other,
    /// which has heard of twice as many in every round before.
    pub(super) fn meet(
        &mut self,
        site: &mut Site<'_>,
        round: u32,
    ) -> Result<Option<Waits>, String> {
        let (rank, size, distance) = (site.rank(), self.size(), 1 << round);
        let state = &mut self.ranks[rank as usize];
        state.closed = state.parted;
        if state.parted || distance >= size {
            return Ok(None);
        }
        state.script.push_front(Action::Meet(round + 1));
        self.tell(site, (FENCES, 0), &[((rank + distance) % size, round)]);
        let from = ((rank + size - distance) % size, round);
        self.hear(site, (FENCES, 0), &[from], Begins::Fenced)
    }

    /// The accesses to these ranks are over.
    pub(super) fn complete(&mut self, site: &mut Site<'_>, targets: &[u32]) {
        let partners = now(&self.ranks[site.rank() as usize].accesses, targets);
        self.tell(site, (SYNCHRONISES, COMPLETED), &partners);
    }

    pub(super) fn tell(
        &mut self,
        site: &mut Site<'_>,
        (context, word): (u64, u32),
        partners: &[(u32, u32)],
    ) {
        let rank = site.rank() as usize;
        for (other, number) in partners {
            let tag = (context, number << 1 | word);
            let sent = target::send(site.node, site.fabric, *other, tag, Vec::new());
            self.ranks[rank].said.extend(sent);
        }
    }

    pub(super) fn hear(
        &mut self,
        site: &mut Site<'_>,
        (context, word): (u64, u32),
        partners: &[(u32, u32)],
        begins: Begins,
    ) -> Result<Option<Waits>, String> {
        let rank = site.rank();
        let mut words = Vec::new();
        for (other, number) in partners {
            let area = site.fabric.arena(rank).keep(Vec::new());
            let pattern = target::pattern(context, *other, number << 1 | word);
            let heard = site
                .node
                .receive(site.fabric, Some(*other), pattern, area, 0);
            let request = heard.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
            words.push((request, area));
        }
        Ok(Some(Waits::Words(Heard {
            words,
            members: partners.iter().map(|(other, _)| *other).collect(),
            begins,
            failed: false,
        })))
    }

    /// Looks which words have come. Where all are needed the engine ends every wait when one has
    /// died; elsewhere whoever waits looks for the death itself.
    pub(super) fn poll_words(
        &mut self,
        site: &mut Site<'_>,
        mut heard: Heard,
    ) -> Result<Option<Heard>, String> {
        let rank = site.rank();
        let is_dead = |peer: &u32| site.node.protocol().is_dead(*peer);
        let gives_up = heard.begins != Begins::Fenced && heard.members.iter().any(is_dead);
        let mut left = Vec::new();
        for (request, area) in heard.words {
            let mut outcome = site.node.take(request);
            if outcome.is_none() && gives_up {
                let cancelled = site.node.cancel(site.fabric, request);
                cancelled.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
                outcome = site.node.take(request);
                heard.failed = true;
            }
            match outcome {
                None => {
                    left.push((request, area));
                    continue;
                }
                Some(Ok(_)) => {}
                Some(Err(Failure::PeerDied { peer })) if self.dead[peer as usize] => {
                    heard.failed = true;
                }
                Some(Err(failure)) => {
                    return Err(format!("rank {rank} waits for a word: {failure:?}"));
                }
            }
            site.fabric.arena(rank).free(area);
        }
        heard.words = left;
        if !heard.words.is_empty() {
            return Ok(Some(heard));
        }
        if heard.failed && heard.begins != Begins::Nothing {
            let state = &mut self.ranks[rank as usize];
            state.closed = true;
            state.parted |= heard.begins == Begins::Fenced;
        }
        if heard.failed && heard.begins == Begins::Accesses {
            self.complete(site, &heard.members);
        }
        Ok(None)
    }

    /// Where all programs are over, words that have not left are taken by nobody: the ranks that
    /// they are for gave up because of a death.
    pub(super) fn take_back_words(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        let mut all = self.ranks.iter().zip(&self.dead);
        if !self.dead.contains(&true) || !all.all(|(state, dead)| *dead || state.done) {
            return Ok(());
        }
        let rank = site.rank();
        for word in &self.ranks[rank as usize].said {
            let cancelled = site.node.cancel(site.fabric, word.request);
            cancelled.map_err(|failure| format!("rank {rank} gives up: {failure:?}"))?;
        }
        Ok(())
    }
}
