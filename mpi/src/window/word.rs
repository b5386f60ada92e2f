//! The words by which ranks tell each other that memory is exposed and that accesses are over
//! (MPI 5.0 §12.5.2).
//!
//! The n-th exposure of one rank to another belongs to the n-th epoch of accesses that the other
//! begins with it, and their words carry that number: where one of the two gave up because a third
//! has died, its words cannot be taken for those of the next epoch.

use std::sync::atomic::{AtomicU32, Ordering};

use oxmpi_engine::{Mode, Request, RequestId, WaitedForAll};

use super::memory::Core;
use crate::any_request::AnyRequest;
use crate::buffer::Buffer;
use crate::error::ErrorKind;
use crate::status::{Source, Tag};

/// What a word says.
#[derive(Clone, Copy)]
pub(super) enum Word {
    /// The sender's memory is exposed.
    Exposed = 0,
    /// The sender's accesses are over.
    Completed = 1,
}

/// Numbers of epochs are counted round in the tags.
const NUMBER_MASK: u32 = 0x1fff_ffff;

/// By rank: how many exposures and how many epochs of accesses were begun.
pub(super) struct Turns {
    exposures: Box<[AtomicU32]>,
    accesses: Box<[AtomicU32]>,
}

impl Turns {
    pub(super) fn new(size: u32) -> Turns {
        let zeros = || (0..size).map(|_| AtomicU32::new(0)).collect();
        Turns {
            exposures: zeros(),
            accesses: zeros(),
        }
    }

    /// The ranks, each with the number of the exposure that begins.
    pub(super) fn expose(&self, ranks: &[u32]) -> Vec<Partner> {
        next_of(&self.exposures, ranks)
    }

    /// The ranks, each with the number of the epoch of accesses that begins.
    pub(super) fn access(&self, ranks: &[u32]) -> Vec<Partner> {
        next_of(&self.accesses, ranks)
    }

    /// The ranks, each with the number of the epoch of accesses that was begun last.
    pub(super) fn accessed(&self, ranks: &[u32]) -> Vec<Partner> {
        let number = |rank: u32| self.accesses[rank as usize].load(Ordering::Relaxed);
        let partner = |&rank: &u32| Partner {
            rank,
            number: number(rank),
        };
        ranks.iter().map(partner).collect()
    }
}

fn next_of(counts: &[AtomicU32], ranks: &[u32]) -> Vec<Partner> {
    let next = |&rank: &u32| Partner {
        rank,
        number: counts[rank as usize]
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1),
    };
    ranks.iter().map(next).collect()
}

/// A rank, and the number of the epoch with it.
#[derive(Clone, Copy)]
pub(super) struct Partner {
    rank: u32,
    number: u32,
}

impl Partner {
    fn tag(self, word: Word) -> i32 {
        ((self.number & NUMBER_MASK) << 1 | word as u32) as i32
    }
}

/// Words that are waited for.
#[derive(Default)]
pub(super) struct Words {
    partners: Vec<Partner>,
    requests: Vec<RequestId>,
}

impl Words {
    /// Begins to wait for a word of each partner.
    pub(super) fn await_from(
        core: &Core,
        partners: Vec<Partner>,
        word: Word,
    ) -> Result<Words, ErrorKind> {
        let begin = |partner: &Partner| {
            let (source, tag) = (Source::Rank(partner.rank), Tag::Is(partner.tag(word)));
            let nothing = Buffer::empty();
            let begun = core.comm.irecv_buffer(&nothing, Some(source), tag)?;
            Ok(begun.message().expect("a receive is a request at first"))
        };
        let requests: Result<_, ErrorKind> = partners.iter().map(begin).collect();
        Ok(Words {
            requests: requests?,
            partners,
        })
    }

    /// Whether waiting would end at once.
    pub(super) fn are_ready(&self, core: &Core) -> bool {
        let engine = core.engine();
        let processes = self.partners.iter();
        let processes = processes.map(|partner| core.part(partner.rank).process);
        let is_complete = |id: &RequestId| engine.is_complete(Request::Pending(*id));
        self.requests.iter().all(is_complete) || !engine.dead_among(processes).is_empty()
    }

    /// Waits for all. When one of those that were to say them has died, nobody is waited for any
    /// more: the living may have given up for the same reason.
    pub(super) fn wait(&self, core: &Core) -> Result<(), ErrorKind> {
        let engine = core.engine();
        let needed = |peer: u32| {
            let mut partners = self.partners.iter();
            partners.any(|partner| core.part(partner.rank).process == peer)
        };
        match engine.wait_for_all(&self.requests, needed) {
            Ok(()) => Ok(()),
            Err(WaitedForAll::Failed(error)) => Err(error.into()),
            Err(WaitedForAll::GaveUp(error)) => {
                for id in &self.requests {
                    engine.cancel(Request::Pending(*id));
                    let _ = engine.wait(Request::Pending(*id));
                }
                Err(error.into())
            }
        }
    }

    /// Those that say them.
    pub(super) fn partners(&self) -> &[Partner] {
        &self.partners
    }
}

/// Sends a word to each partner; the first error is told.
pub(super) fn tell(core: &Core, partners: &[Partner], word: Word) -> Result<(), ErrorKind> {
    let mut told = Ok(());
    for partner in partners {
        let (nothing, rank) = (Buffer::empty(), Some(partner.rank));
        let sent = core
            .comm
            .isend_buffer(&nothing, rank, partner.tag(word), Mode::Standard);
        told = told.and(sent.map(AnyRequest::detach));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_with_a_rank_are_numbered_on_both_sides_alike() {
        let (origin, target) = (Turns::new(3), Turns::new(3));
        let tags = |partners: Vec<Partner>, word| -> Vec<i32> {
            partners.iter().map(|partner| partner.tag(word)).collect()
        };
        for _ in 0..3 {
            let exposed = tags(target.expose(&[0]), Word::Completed);
            let accesses = origin.access(&[2, 1]);
            assert_eq!(exposed, tags(accesses[..1].to_vec(), Word::Completed));
            assert_ne!(exposed, tags(accesses, Word::Exposed));
            assert_eq!(exposed, tags(origin.accessed(&[2]), Word::Completed));
        }
        origin.accesses[1].store(u32::MAX, Ordering::Relaxed);
        assert!(tags(origin.accessed(&[1]), Word::Completed)[0] > 0);
        assert_eq!(tags(origin.access(&[1]), Word::Exposed), [0]);
    }
}
