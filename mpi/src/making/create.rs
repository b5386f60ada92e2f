//! What every new communicator is founded on, and duplicates.
//!
//! Who leads the new group chooses its number and a board (see `process/numbers`) and tells the
//! members in a [`Foundation`]. The leader is always a member, so it knows when the number is free
//! again.

use std::sync::Arc;

use oxmpi_engine::Ticket;

use crate::communicator::{Comm, Communicator, Offer};
use crate::error::{ErrorKind, Result};
use crate::group::Group;
use crate::info::Info;
use crate::process::{COMMUNICATORS_MAX, Process};
use crate::thread::Level;
use oxmpi_schedules::plan::Call;

/// What a leader tells the members of a new communicator.
#[derive(Clone, Copy, Debug, Default, oxmpi_datatypes::Plain)]
#[repr(C)]
pub(crate) struct Foundation {
    /// 1 if there is a number: a leader can run out of them.
    has_number: u32,
    has_board: u32,
    number: u64,
    board: u64,
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
            foundation.board = ticket.board.into();
            foundation.base = ticket.base;
        }
        foundation
    }

    /// Takes a choice back that nobody has used.
    pub(crate) fn give_back(&self, process: &Process) {
        debug_assert_eq!(
            self.has_board, 0,
            "a board is given back by who has opened it"
        );
        if self.has_number == 1 {
            process.numbers.give_back(self.number);
        }
    }

    pub(crate) fn number(&self) -> Result<u64, ErrorKind> {
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
            board: self.board as u32,
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

impl Comm {
    /// The same processes with a context of their own: what is sent on one is never received on the
    /// other. The duplicate has the topology too; attributes are copied by
    /// [`Comm::copy_attributes`]. Collective.
    pub fn dup(&self) -> Result<Comm, ErrorKind> {
        let mut foundations = self.foundations_of_duplicate();
        let carrier = self.carrier();
        match self.is_inter() {
            false => carrier.bcast_plain(&mut foundations[..1], 0)?,
            true => carrier.bcast_plain(&mut foundations, 0)?,
        }
        let (own, union) = (foundations[0], foundations[1]);
        let mut new = own.build(&self.process, self.rank, self.group().clone())?;
        if let Some(inter) = self.inter() {
            let union =
                union.build(&self.process, inter.union.rank, inter.union.group().clone())?;
            new.set_inter(inter.with_union(union));
        }
        new.inherit(self);
        Ok(new)
    }

    /// As [`Comm::dup`], with these hints.
    pub fn dup_with_info(&self, info: Option<&Info>) -> Result<Comm, ErrorKind> {
        let new = self.dup()?;
        info.inspect(|info| new.set_info(info));
        Ok(new)
    }

    /// Waits until all members have come so far: before it is given up for good, everybody's
    /// operations on it must be over. Collective.
    pub fn disconnect(&self) -> Result<(), ErrorKind> {
        self.carrier().move_data(&Call::Barrier, &[], &mut [])
    }

    /// The communicator on which all members can be reached: its own collectives, or those of the
    /// union.
    pub(super) fn carrier(&self) -> &Comm {
        match self.inter() {
            None => self,
            Some(inter) => &inter.union,
        }
    }

    /// The leader's choice for a duplicate, and for the duplicate of its union; nothing from the
    /// others.
    pub(super) fn foundations_of_duplicate(&self) -> [Foundation; 2] {
        let carrier = self.carrier();
        let boards = carrier.may_share_board();
        match (carrier.rank, self.is_inter()) {
            (0, false) => [
                Foundation::choose(&self.process, boards),
                Foundation::default(),
            ],
            (0, true) => [
                Foundation::choose(&self.process, false),
                Foundation::choose(&self.process, boards),
            ],
            _ => [Foundation::default(); 2],
        }
    }

    /// Adds a board if the leader (rank 0) has one to spare. The members hear of it by the
    /// communicator's first collective.
    pub(crate) fn with_board(mut self) -> Result<Comm, ErrorKind> {
        if !self.may_share_board() || !self.process.boards {
            return Ok(self);
        }
        let mut offer = [match self.rank {
            0 => Offer::make(&self.process.engine),
            _ => Offer::default(),
        }];
        self.bcast_plain(&mut offer, 0)?;
        self.set_board(offer[0].ticket());
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
    /// rank. A rank with no colour takes part in the call and gets no communicator. Collective over
    /// this communicator.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Communicator<'mpi, L>>> {
        let new = self.comm.split(color, key);
        let new = new.map_err(|kind| self.fail("split", kind))?;
        Ok(new.map(|new| Communicator::new(self.process, Arc::new(new))))
    }
}
