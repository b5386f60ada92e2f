//! Which of this process's boards are handed out to groups of processes, and which can be again.

use std::sync::{Mutex, MutexGuard};

use oxmpi_ports::board::{Board, Ticket};

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

    /// A ticket for a free board of this process, whose port is `port`.
    pub fn offer(&self, port: u32) -> Option<Ticket> {
        let mut states = self.states();
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
                port,
                board: board as u32,
                base,
            })
        })
    }

    /// Takes back a board of this process. The board is free when no member reads it any more.
    pub fn rest(&self, board: Board) {
        let at = board.ticket().board as usize;
        self.states()[at] = State::Resting(Box::new(board));
    }

    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        let states = self.states.lock();
        states.expect("no user code runs under this lock")
    }
}
