//! Which of this process's boards are handed out to groups of processes, and which can be again.

use std::sync::Mutex;

use oxmpi_ports::board::{Board, Ticket};

use crate::engine::Engine;
use crate::error::EngineError;

/// The boards in this process's port.
pub(crate) struct Boards {
    states: Mutex<Vec<State>>,
}

enum State {
    /// Nobody has it; so many operations have been done on it.
    Free { base: u64 },
    /// A group has it.
    Out,
    /// Given back by this process; others may still read.
    Resting(Box<Board>),
}

impl Boards {
    pub fn new(boards: usize) -> Self {
        Self {
            states: Mutex::new((0..boards).map(|_| State::Free { base: 0 }).collect()),
        }
    }
}

impl Engine {
    /// A board for a group whose first member is this process, if one is free.
    pub fn offer_board(&self) -> Option<Ticket> {
        let mut states = self
            .boards
            .states
            .lock()
            .expect("no user code runs under this lock");
        states.iter_mut().enumerate().find_map(|(board, state)| {
            if let State::Resting(resting) = state
                && resting.is_quiet()
            {
                *state = State::Free {
                    base: resting.next_base(),
                };
            }
            let State::Free { base } = *state else {
                return None;
            };
            *state = State::Out;
            Some(Ticket {
                port: self.shared.port,
                board: board as u32,
                base,
            })
        })
    }

    /// Opens the board of a ticket as member `me` of `members` (processes of this host, by rank in the group).
    ///
    /// # Panics
    /// When a member is on another host.
    pub fn open_board(
        &self,
        ticket: Ticket,
        members: Vec<u32>,
        me: usize,
    ) -> Result<Board, EngineError> {
        let handler = self.shared.enter();
        let port = |process: u32| {
            let port = handler.places().port(process);
            port.expect("a board is for processes of one host")
        };
        let members = members.into_iter().map(port).collect();
        Board::open(handler.port(), ticket, members, me)
            .map_err(|error| EngineError::memory(self.rank(), self.host(), &error))
    }

    /// Gives a board back. A group that has lost a member cannot end its operations; its board is free
    /// again when every member that lives has given it back.
    pub fn close_board(&self, board: Board) {
        board.leave();
        if board.ticket().port == self.shared.port {
            let mut states = self
                .boards
                .states
                .lock()
                .expect("no user code runs under this lock");
            let at = board.ticket().board as usize;
            states[at] = State::Resting(Box::new(board));
        }
    }
}
