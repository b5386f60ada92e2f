//! What a member of a board waits for: the others' contributions, and room for its own. A member
//! that has finalised without doing its part ends the wait, and is named.

use oxmpi_engine::{Board, Condition};

/// Members `next..end` have written.
pub(super) struct Arrived<'a> {
    pub board: &'a Board,
    /// The processes of the members.
    pub processes: &'a [u32],
    pub operation: u64,
    pub next: usize,
    pub end: usize,
}

impl Condition for Arrived<'_> {
    #[inline(always)]
    fn is_met(&mut self) -> bool {
        while self.next < self.end && self.board.has_arrived(self.operation, self.next) {
            self.next += 1;
        }
        self.next == self.end
    }

    fn awaited(&self) -> Option<u32> {
        Some(self.processes[self.next])
    }

    fn before_sleep(&mut self) {
        self.board.announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.board.announce_awake();
    }
}

/// The others are done with what lies where this member is to write so many bytes.
pub(super) struct Writable<'a> {
    pub board: &'a mut Board,
    /// The processes of the members.
    pub processes: &'a [u32],
    pub operation: u64,
    pub bytes: usize,
}

impl Condition for Writable<'_> {
    #[inline(always)]
    fn is_met(&mut self) -> bool {
        self.board.is_writable(self.operation, self.bytes)
    }

    fn awaited(&self) -> Option<u32> {
        let behind = self.board.behind(self.operation, self.bytes)?;
        Some(self.processes[behind])
    }

    fn before_sleep(&mut self) {
        self.board.announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.board.announce_awake();
    }
}
