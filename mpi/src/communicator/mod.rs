//! Communicators: a group of processes and a context of their own.
//!
//! A context keeps the messages of one communicator apart from those of every other; each
//! communicator has two, one for point-to-point and one for collectives. `contexts` keeps the numbers
//! of this process, `create` agrees on new ones with the other members. Calls on a communicator live
//! beside their kind: `point` and `collective`.

mod contexts;
mod create;

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

pub use contexts::COMMUNICATORS_MAX;
pub(crate) use contexts::Contexts;
use oxmpi_engine::Ticket;

use crate::collective::GroupBoard;
use crate::error::{Error, ErrorKind};
use crate::init::Shared;
use crate::thread::{Funneled, Level};

/// A group of processes that exchange messages among themselves.
///
/// Ranks, tags and order are the communicator's own: a message sent on one is never received on
/// another. It borrows from [`Mpi`](crate::Mpi), so it cannot outlive finalisation.
pub struct Communicator<'mpi, L: Level = Funneled> {
    pub(crate) shared: &'mpi Shared,
    pub(crate) core: Arc<Core>,
    level: PhantomData<L::Handle>,
}

/// What the handles of one communicator share within a process.
pub(crate) struct Core {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// Number of the communicator; its contexts are `2 * id` and `2 * id + 1`.
    id: u32,
    /// Process of each rank; `None` when rank and process number are the same.
    members: Option<Box<[u32]>>,
    /// Collectives begun so far; it numbers their messages so that two in flight cannot mix.
    pub(crate) collectives: AtomicU32,
    /// A call is inside a collective.
    pub(crate) in_collective: AtomicBool,
    /// Where small collectives meet; touched only by who has set `in_collective`.
    pub(crate) board: UnsafeCell<Option<GroupBoard>>,
}

// SAFETY: everything but `board` is Sync, and `in_collective` keeps `board` to one thread at a time.
unsafe impl Sync for Core {}

/// Number of the communicator of all ranks.
const WORLD: u32 = 0;
/// Number of the communicator of the process alone.
const THIS: u32 = 1;

impl Core {
    fn new(id: u32, rank: u32, size: u32, members: Option<Box<[u32]>>) -> Self {
        Core {
            rank,
            size,
            id,
            members,
            collectives: AtomicU32::new(0),
            in_collective: AtomicBool::new(false),
            board: UnsafeCell::new(None),
        }
    }

    /// All ranks. `ticket` is the board that rank 0 has set apart for them.
    pub(crate) fn world(rank: u32, size: u32, ticket: Option<Ticket>) -> Self {
        let mut world = Core::new(WORLD, rank, size, None);
        world.set_board(ticket);
        world
    }

    /// Gives the group the board that its leader chose.
    fn set_board(&mut self, ticket: Option<Ticket>) {
        let members = (0..self.size).map(|rank| self.process(rank)).collect();
        let board = ticket.map(|ticket| GroupBoard::new(ticket, members, self.rank));
        *self.board.get_mut() = board;
    }

    pub(crate) fn this(process: u32) -> Self {
        Core::new(THIS, 0, 1, Some(Box::new([process])))
    }

    /// The context of point-to-point messages.
    #[inline(always)]
    pub(crate) fn point_context(&self) -> u32 {
        2 * self.id
    }

    /// The context of collectives.
    #[inline]
    pub(crate) fn collective_context(&self) -> u32 {
        2 * self.id + 1
    }

    /// The process behind a rank, which must have been checked.
    #[inline(always)]
    pub(crate) fn process(&self, rank: u32) -> u32 {
        match &self.members {
            None => rank,
            Some(members) => members[rank as usize],
        }
    }

    /// Refuses ranks the communicator does not have.
    #[inline(always)]
    pub(crate) fn check_rank(&self, argument: &'static str, rank: u32) -> Result<(), ErrorKind> {
        if rank < self.size {
            return Ok(());
        }
        Err(ErrorKind::Rank {
            argument,
            rank,
            size: self.size,
        })
    }
}

impl<'mpi, L: Level> Communicator<'mpi, L> {
    pub(crate) fn new(shared: &'mpi Shared, core: Arc<Core>) -> Self {
        Communicator {
            shared,
            core,
            level: PhantomData,
        }
    }

    /// This process's number in the communicator, 0 to `size() - 1`.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.core.rank
    }

    /// How many processes the communicator has.
    #[inline]
    pub fn size(&self) -> u32 {
        self.core.size
    }

    /// The rank in the world of a rank of this communicator.
    pub fn world_rank(&self, rank: u32) -> crate::Result<u32> {
        self.core
            .check_rank("rank", rank)
            .map_err(|kind| self.fail("world_rank", kind))?;
        Ok(self.core.process(rank))
    }

    /// Completes an error with the call and this process.
    #[cold]
    pub(crate) fn fail(&self, call: &'static str, kind: impl Into<ErrorKind>) -> Error {
        kind.into().at(
            call,
            self.core.rank,
            self.core.size,
            self.shared.engine.host(),
        )
    }
}

impl<L: Level> Drop for Communicator<'_, L> {
    fn drop(&mut self) {
        // The last handle gives the number back; world and self keep theirs (Mpi holds a handle).
        if let Some(core) = Arc::get_mut(&mut self.core) {
            self.shared.contexts.give_back(core.id);
            if let Some(board) = core.board.get_mut().take() {
                board.close(&self.shared.engine);
            }
        }
    }
}

impl<L: Level> fmt::Debug for Communicator<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.core.rank)
            .field("size", &self.core.size)
            .field("id", &self.core.id)
            .finish()
    }
}
