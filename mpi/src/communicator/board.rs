//! The board that a communicator's members of one host share: how its leader hands it out, and when
//! it is opened.
//!
//! What happens on it is in `collective/board`.

use oxmpi_engine::{Board, Engine, EngineError, Ticket};

use crate::group::Group;

/// How a leader tells the members which board it has set apart, if any.
#[derive(Clone, Copy, Debug, Default, oxmpi_datatypes::Plain)]
#[repr(C)]
pub(crate) struct Offer {
    /// 1 if there is one.
    is_made: u64,
    port: u64,
    board: u64,
    base: u64,
}

impl Offer {
    /// The leader's, from the boards that it has to spare.
    pub(crate) fn make(engine: &Engine) -> Offer {
        match engine.offer_board() {
            None => Offer::default(),
            Some(Ticket { port, board, base }) => Offer {
                is_made: 1,
                port: u64::from(port),
                board: u64::from(board),
                base,
            },
        }
    }

    pub(crate) fn ticket(&self) -> Option<Ticket> {
        (self.is_made == 1).then_some(Ticket {
            port: self.port as u32,
            board: self.board as u32,
            base: self.base,
        })
    }
}

/// The board of a communicator, opened when it is first needed: many communicators never see a
/// collective.
pub(crate) struct GroupBoard {
    ticket: Ticket,
    /// Processes, by rank.
    pub(crate) members: Vec<u32>,
    /// This process's rank.
    pub(crate) me: usize,
    /// All processes of a communicator of several hosts: what is done here is then a part of what
    /// all do, and members that live may have left because one of another host has died.
    pub(crate) group: Option<Group>,
    pub(crate) open: Option<Board>,
}

impl GroupBoard {
    pub(crate) fn new(ticket: Ticket, members: Vec<u32>, me: u32) -> Self {
        let me = me as usize;
        GroupBoard {
            ticket,
            members,
            me,
            group: None,
            open: None,
        }
    }

    /// The part of a group that lives on this host.
    pub(crate) fn of(mut self, group: Group) -> Self {
        self.group = Some(group);
        self
    }

    /// Gives the board back to its leader, for another group.
    pub(crate) fn close(mut self, engine: &Engine) {
        // Only an open board can be given back; a failure leaves it unused, which harms nobody.
        if self.open(engine).is_ok()
            && let Some(board) = self.open
        {
            engine.close_board(board);
        }
    }

    /// The board, opened if it was not yet.
    #[inline(always)]
    pub(crate) fn open(&mut self, engine: &Engine) -> Result<&mut Board, EngineError> {
        match &mut self.open {
            Some(board) => Ok(board),
            none => Self::open_now(none, engine, self.ticket, &self.members, self.me),
        }
    }

    #[cold]
    #[inline(never)]
    fn open_now<'b>(
        place: &'b mut Option<Board>,
        engine: &Engine,
        ticket: Ticket,
        members: &[u32],
        me: usize,
    ) -> Result<&'b mut Board, EngineError> {
        let board = engine.open_board(ticket, members.to_vec(), me)?;
        Ok(place.insert(board))
    }
}
