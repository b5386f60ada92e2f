//! The engine's calls for boards: a group's first member offers one, every member opens and closes
//! it.

use oxmpi_ports::board::{Board, Ticket};

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// A board for a group whose first member is this process, if one is free.
    pub fn offer_board(&self) -> Option<Ticket> {
        self.boards.offer(self.shared.port)
    }

    /// Opens the board of a ticket as member `me` of `members` (processes of this host, by rank in
    /// the group).
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

    /// Gives a board back. A group that has lost a member cannot end its operations; its board is
    /// free again when every member that lives has given it back.
    pub fn close_board(&self, board: Board) {
        board.leave();
        if board.ticket().port == self.shared.port {
            self.boards.rest(board);
        }
    }
}
