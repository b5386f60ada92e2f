//! New communicators out of old ones.
//!
//! Who leads the new group chooses its number and a board (see `numbers`) and tells the members in a [`Foundation`]; the
//! communicators that one split makes share the number of the old leader's choice, because they have no process in common.

use std::sync::Arc;

use oxmpi_engine::Ticket;

use super::{COMMUNICATORS_MAX, Comm, Communicator};
use crate::error::{ErrorKind, Result};
use crate::group::Group;
use crate::process::Process;
use crate::thread::Level;

/// What a leader tells the members of a new communicator.
#[derive(Clone, Copy, Debug, Default, crate::Plain)]
#[repr(C)]
pub(crate) struct Foundation {
    /// 1 if there is a number: a leader can run out of them.
    has_number: u32,
    number: u32,
    has_board: u32,
    board: u32,
    port: u64,
    base: u64,
}

impl Foundation {
    /// The leader's choice. `boards`: the group is the leader's own and may share a board.
    pub(crate) fn choose(process: &Process, boards: bool) -> Foundation {
        let number = process.numbers.take();
        let mut foundation = Foundation {
            has_number: u32::from(number.is_some()),
            number: number.unwrap_or_default(),
            ..Foundation::default()
        };
        if boards
            && number.is_some()
            && process.boards
            && let Some(ticket) = process.engine.offer_board()
        {
            foundation.has_board = 1;
            foundation.port = u64::from(ticket.port);
            foundation.board = ticket.board;
            foundation.base = ticket.base;
        }
        foundation
    }

    pub(crate) fn number(&self) -> Result<u32, ErrorKind> {
        match self.has_number {
            1 => Ok(self.number),
            _ => Err(ErrorKind::Communicators {
                max: COMMUNICATORS_MAX,
            }),
        }
    }

    pub(crate) fn ticket(&self) -> Option<Ticket> {
        (self.has_board == 1).then_some(Ticket {
            port: self.port as u32,
            board: self.board,
            base: self.base,
        })
    }

    /// The communicator that was chosen for `group`, in which this process is `rank`.
    pub(crate) fn build(
        &self,
        process: &Arc<Process>,
        rank: u32,
        group: Group,
    ) -> Result<Comm, ErrorKind> {
        let mut new = Comm::new(process.clone(), self.number()?, rank, group);
        new.set_board(self.ticket());
        Ok(new)
    }
}

/// What a rank says in a split.
#[derive(Clone, Copy, crate::Plain)]
#[repr(C)]
struct Choice {
    key: i64,
    color: u32,
    /// 0: the rank wants no communicator.
    joins: u32,
    foundation: Foundation,
}

impl Comm {
    /// The same processes with a context of their own: what is sent on one is never received on the
    /// other. Collective.
    pub fn dup(&self) -> Result<Comm, ErrorKind> {
        let mut foundation = [self.foundation()];
        self.bcast_plain(&mut foundation, 0)?;
        foundation[0].build(&self.process, self.rank, self.group().clone())
    }

    /// The choice of the leader of a group as large as this one; nothing from the others.
    fn foundation(&self) -> Foundation {
        match self.rank {
            0 => Foundation::choose(&self.process, self.size > 1),
            _ => Foundation::default(),
        }
    }

    /// Divides the ranks by `color`; within a colour they are ordered by `key`, then by their old
    /// rank. A rank with no colour takes part in the call and gets no communicator. Collective.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Comm>, ErrorKind> {
        let foundation = match self.rank {
            0 => Foundation::choose(&self.process, false),
            _ => Foundation::default(),
        };
        let mine = Choice {
            key,
            color: color.unwrap_or(0),
            joins: u32::from(color.is_some()),
            foundation,
        };
        let mut all = vec![mine; self.size as usize];
        self.allgather_plain(&[mine], &mut all)?;
        let foundation = all[0].foundation;
        foundation.number()?;
        let Some(color) = color else {
            if self.rank == 0 {
                // It is the others' now; this process comes to it again only after all its other numbers.
                self.process.numbers.give_back(foundation.number);
            }
            return Ok(None);
        };
        let mut ranks: Vec<u32> = (0..self.size)
            .filter(|&rank| {
                let choice = all[rank as usize];
                choice.joins == 1 && choice.color == color
            })
            .collect();
        // Stable, so equal keys keep the order of the old ranks.
        ranks.sort_by_key(|&rank| all[rank as usize].key);
        let new_rank = ranks.iter().position(|&rank| rank == self.rank);
        let new_rank = new_rank.expect("this rank has the colour it gave") as u32;
        let members = ranks.iter().map(|&rank| self.process_of(rank)).collect();
        let new = foundation.build(&self.process, new_rank, Group::new(members))?;
        new.with_board().map(Some)
    }

    /// Adds a board if the leader (rank 0) has one to spare. The members hear of it by the communicator's first collective.
    pub(crate) fn with_board(mut self) -> Result<Comm, ErrorKind> {
        if self.size == 1 || !self.process.boards {
            return Ok(self);
        }
        let mut offer = [0u64; 4];
        if self.rank == 0
            && let Some(Ticket { port, board, base }) = self.process.engine.offer_board()
        {
            offer = [1, u64::from(port), u64::from(board), base];
        }
        self.bcast_plain(&mut offer, 0)?;
        let [offered, port, board, base] = offer;
        let (port, board) = (port as u32, board as u32);
        self.set_board((offered == 1).then_some(Ticket { port, board, base }));
        Ok(self)
    }
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    /// The same processes with a context of their own: what is sent on one is never received on the
    /// other. Collective over this communicator.
    pub fn dup(&self) -> Result<Communicator<'mpi, L>> {
        let new = self.comm.dup().map_err(|kind| self.fail("dup", kind))?;
        Ok(Communicator::new(self.process, Arc::new(new)))
    }

    /// Divides the ranks by `color`; within a colour they are ordered by `key`, then by their old
    /// rank. A rank with no colour takes part in the call and gets no communicator. Collective over this
    /// communicator.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Communicator<'mpi, L>>> {
        let new = self.comm.split(color, key);
        let new = new.map_err(|kind| self.fail("split", kind))?;
        Ok(new.map(|new| Communicator::new(self.process, Arc::new(new))))
    }
}
