//! New communicators out of old ones: `dup` and `split`.
//!
//! Both are collective over the parent. The members agree on a number by intersecting what is free
//! on each (see `contexts`); the communicators that one split makes share the number, because they
//! have no process in common.

use std::sync::Arc;

use oxmpi_engine::Ticket;

use super::contexts::Agreement;
use super::{Communicator, Core};
use crate::error::{ErrorKind, Result};
use crate::op::BitAnd;
use crate::thread::Level;

/// What a rank says in a split.
#[derive(Clone, Copy, crate::Plain)]
#[repr(C)]
struct Choice {
    key: i64,
    color: u32,
    /// 0: the rank wants no communicator.
    joins: u32,
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// The same processes with a context of their own: what is sent on one is never received on the
    /// other. Collective over this communicator.
    pub fn dup(&self) -> Result<Communicator<'mpi, L>> {
        let id = self.agree_on_number("dup", true)?;
        let core = &self.core;
        let core = Core::new(id, core.rank, core.size, core.members.clone());
        self.found(core)
    }

    /// Divides the ranks by `color`; within a colour they are ordered by `key`, then by their old
    /// rank. A rank with no colour takes part in the call and gets no communicator. Collective over this
    /// communicator.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Communicator<'mpi, L>>> {
        let mine = Choice {
            key,
            color: color.unwrap_or(0),
            joins: u32::from(color.is_some()),
        };
        let mut all = vec![mine; self.core.size as usize];
        self.allgather(&[mine], &mut all)?;
        let id = self.agree_on_number("split", color.is_some())?;
        let Some(color) = color else { return Ok(None) };

        let mut ranks: Vec<u32> = (0..self.core.size)
            .filter(|&rank| {
                let choice = all[rank as usize];
                choice.joins == 1 && choice.color == color
            })
            .collect();
        // Stable, so equal keys keep the order of the old ranks.
        ranks.sort_by_key(|&rank| all[rank as usize].key);
        let new_rank = ranks.iter().position(|&rank| rank == self.core.rank);
        let new_rank = new_rank.expect("this rank has the colour it gave") as u32;
        let members: Box<[u32]> = ranks.iter().map(|&rank| self.core.process(rank)).collect();
        let core = Core::new(id, new_rank, members.len() as u32, Some(members));
        self.found(core).map(Some)
    }

    /// The new communicator, with a board if its leader (rank 0) has one to spare. The members hear of
    /// it by the communicator's first collective.
    fn found(&self, core: Core) -> Result<Communicator<'mpi, L>> {
        let mut new = Communicator::new(self.shared, Arc::new(core));
        if new.core.size == 1 || !self.shared.boards {
            return Ok(new);
        }
        let mut offer = [0u64; 4];
        if new.core.rank == 0
            && let Some(ticket) = self.shared.engine.offer_board()
        {
            let Ticket { port, board, base } = ticket;
            offer = [1, u64::from(port), u64::from(board), base];
        }
        new.bcast(&mut offer, 0)?;
        let [offered, port, board, base] = offer;
        let (port, board) = (port as u32, board as u32);
        let core = Arc::get_mut(&mut new.core).expect("nobody else has a handle yet");
        core.set_board((offered == 1).then_some(Ticket { port, board, base }));
        Ok(new)
    }

    /// The lowest number that is free on all members.
    fn agree_on_number(&self, call: &'static str, member: bool) -> Result<u32> {
        let contexts = &self.shared.contexts;
        let parent = self.core.id;
        contexts.enter(parent);
        // Leaves on every way out: an error in the allreduce must not block other agreements.
        struct Leave<'a>(&'a super::Contexts, u32);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.leave(self.1);
            }
        }
        let _leave = Leave(contexts, parent);
        loop {
            let mut common = contexts.offer(parent);
            self.allreduce_in_place(&mut common, BitAnd)?;
            match contexts.settle(parent, &common, member) {
                Agreement::Take(id) => return Ok(id),
                Agreement::Again => std::thread::yield_now(),
                Agreement::Exhausted => {
                    let max = super::COMMUNICATORS_MAX;
                    return Err(self.fail(call, ErrorKind::Communicators { max }));
                }
            }
        }
    }
}
