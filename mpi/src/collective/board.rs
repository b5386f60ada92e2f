//! Small collectives on one host: everybody writes on a board, and reads what the others wrote.
//!
//! A message between two ranks costs matching and a ring; a board costs one store per rank and one load per
//! pair, and where ranks take turns on few CPUs everybody needs to run only once. The leader of a group
//! (its rank 0) hands out the board when the group is made. Contributions carry a note of what they are, so
//! ranks that disagree on the call are told instead of reading nonsense.
//!
//! Whether a call runs here may depend only on what all ranks know: the call and the size.

use oxmpi_engine::{Board, Condition, Engine, EngineError, Ticket};

use super::Combine;
use crate::collectives::plan::Call;
use crate::collectives::{Block, Cut, Operand};
use crate::error::ErrorKind;

/// A vector up to this size is combined by every rank for itself; beyond it each rank combines a part and all
/// collect the parts, which takes two rounds and a fraction of the work. About the work of a hand-off.
const FOLD_BYTES_MAX: usize = 2 << 10;

/// The board of a communicator, opened when it is first needed: many communicators never see a collective.
pub(crate) struct GroupBoard {
    ticket: Ticket,
    /// Processes, by rank.
    members: Vec<u32>,
    me: usize,
    open: Option<Board>,
}

impl GroupBoard {
    pub(crate) fn new(ticket: Ticket, members: Vec<u32>, me: u32) -> Self {
        let me = me as usize;
        GroupBoard {
            ticket,
            members,
            me,
            open: None,
        }
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

    fn open(&mut self, engine: &Engine) -> Result<&mut Board, EngineError> {
        match &mut self.open {
            Some(board) => Ok(board),
            none => {
                Ok(none.insert(engine.open_board(self.ticket, self.members.clone(), self.me)?))
            }
        }
    }

    /// Runs the call here if it suits a board.
    pub(super) fn run(
        &mut self,
        engine: &Engine,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Option<Result<(), ErrorKind>> {
        let size = self.members.len();
        let board = match self.open(engine) {
            Ok(board) => board,
            Err(error) => return Some(Err(error.into())),
        };
        if contribution(call, size).is_none_or(|bytes| bytes > board.cell_bytes()) {
            return None;
        }
        let mut round = Round {
            engine,
            operation: 0,
            kind: call.collective() as u8,
            root: 0,
            board: self.open.as_mut()?,
            members: &self.members,
            me: self.me,
        };
        Some(round.run(call, send, receive, combine))
    }
}

/// The most bytes a rank writes for this call; `None` where nobody knows that of everybody.
fn contribution(call: &Call<'_>, size: usize) -> Option<usize> {
    Some(match call {
        Call::Barrier => 0,
        Call::Bcast { bytes, .. } | Call::Gather { bytes, .. } | Call::Allgather { bytes, .. } => {
            *bytes
        }
        Call::Reduce { operand, .. } => operand.bytes,
        Call::Allreduce(operand) | Call::Scan(operand) | Call::Exscan(operand) => operand.bytes,
        Call::Allgatherv { blocks, .. } => blocks.iter().map(|b| b.bytes).max().unwrap_or(0),
        Call::Scatter { bytes, .. } | Call::Alltoall { bytes, .. } => bytes.saturating_mul(size),
        Call::ReduceScatter { blocks, .. } => blocks.total(size as u32),
        Call::Gatherv { .. } | Call::Scatterv { .. } | Call::Alltoallv { .. } => return None,
    })
}

/// One operation on the board, seen by one member.
struct Round<'a> {
    engine: &'a Engine,
    board: &'a mut Board,
    members: &'a [u32],
    me: usize,
    operation: u64,
    kind: u8,
    root: u32,
}

impl Round<'_> {
    fn run(
        &mut self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let size = self.members.len();
        let me = self.me;
        match *call {
            Call::Barrier => self.everybody(&[], |round| {
                (0..size).try_for_each(|member| round.read(member, 0).map(drop))
            }),
            Call::Bcast { bytes, root } => self.bcast(bytes, root, receive),
            Call::Reduce { operand, root } => self.reduce(operand, root, send, receive, combine),
            Call::Allreduce(operand) if size > 2 && operand.bytes > FOLD_BYTES_MAX => {
                self.allreduce_by_parts(operand, send, receive, combine)
            }
            Call::Allreduce(operand) => {
                self.contribute(own(operand, send, receive))?;
                self.wait_for(0, size)?;
                let result = self.fold(size, operand.bytes, whole(operand), receive, combine);
                self.done(true, result)
            }
            Call::Scan(operand) => self.prefix(me + 1, operand, send, receive, combine),
            Call::Exscan(operand) => self.prefix(me, operand, send, receive, combine),
            Call::Gather { bytes, root, .. } => self.gather(bytes, root, send, receive),
            Call::Scatter { bytes, root, .. } => self.scatter(bytes, root, send, receive),
            Call::Allgather { bytes, .. } => self.everybody(send, |round| {
                for member in 0..size {
                    let block = &mut receive[member * bytes..][..bytes];
                    block.copy_from_slice(round.read(member, bytes)?);
                }
                Ok(())
            }),
            Call::Allgatherv { blocks, .. } => self.everybody(send, |round| {
                for (member, block) in blocks.iter().enumerate() {
                    let place = &mut receive[block.offset..][..block.bytes];
                    place.copy_from_slice(round.read(member, block.bytes)?);
                }
                Ok(())
            }),
            Call::Alltoall { bytes, .. } => self.everybody(send, |round| {
                for member in 0..size {
                    let all = round.read(member, bytes * size)?;
                    receive[member * bytes..][..bytes].copy_from_slice(&all[me * bytes..][..bytes]);
                }
                Ok(())
            }),
            Call::ReduceScatter { blocks, .. } => {
                let part = blocks.span(me as u32, me as u32 + 1);
                let total = blocks.total(size as u32);
                self.everybody(send, |round| {
                    round.fold(size, total, part, receive, combine)
                })
            }
            Call::Gatherv { .. } | Call::Scatterv { .. } | Call::Alltoallv { .. } => {
                unreachable!("`contribution` keeps these away")
            }
        }
    }

    /// Everybody writes, everybody waits for everybody and reads.
    fn everybody(
        &mut self,
        data: &[u8],
        read: impl FnOnce(&Self) -> Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        self.contribute(data)?;
        self.wait_for(0, self.members.len())?;
        let result = read(self);
        self.done(true, result)
    }

    fn bcast(&mut self, bytes: usize, root: u32, data: &mut [u8]) -> Result<(), ErrorKind> {
        self.root = root;
        let root = root as usize;
        if self.me == root {
            self.contribute(data)?;
            return self.done(false, Ok(()));
        }
        self.pass();
        self.wait_for(root, root + 1)?;
        let result = self
            .read(root, bytes)
            .map(|from| data.copy_from_slice(from));
        self.done(false, result)
    }

    fn reduce(
        &mut self,
        operand: Operand,
        root: u32,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        self.root = root;
        self.contribute(own(operand, send, receive))?;
        if self.me != root as usize {
            return self.done(false, Ok(()));
        }
        let size = self.members.len();
        self.wait_for(0, size)?;
        let result = self.fold(size, operand.bytes, whole(operand), receive, combine);
        self.done(true, result)
    }

    /// The combination of the members below `end`, into `receive`.
    fn prefix(
        &mut self,
        end: usize,
        operand: Operand,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        self.contribute(own(operand, send, receive))?;
        self.wait_for(0, end)?;
        let result = match end {
            0 => Ok(()),
            _ => self.fold(end, operand.bytes, whole(operand), receive, combine),
        };
        self.done(end == self.members.len(), result)
    }

    fn gather(
        &mut self,
        bytes: usize,
        root: u32,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        self.root = root;
        self.contribute(send)?;
        if self.me != root as usize {
            return self.done(false, Ok(()));
        }
        let size = self.members.len();
        self.wait_for(0, size)?;
        let copy = |member: usize| -> Result<(), ErrorKind> {
            receive[member * bytes..][..bytes].copy_from_slice(self.read(member, bytes)?);
            Ok(())
        };
        let result = (0..size).try_for_each(copy);
        self.done(true, result)
    }

    fn scatter(
        &mut self,
        bytes: usize,
        root: u32,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        self.root = root;
        let (root, me) = (root as usize, self.me);
        if me == root {
            self.contribute(send)?;
            receive.copy_from_slice(&send[me * bytes..][..bytes]);
            return self.done(false, Ok(()));
        }
        self.pass();
        self.wait_for(root, root + 1)?;
        let all = self.read(root, bytes * self.members.len());
        let result = all.map(|all| receive.copy_from_slice(&all[me * bytes..][..bytes]));
        self.done(false, result)
    }

    /// Each rank combines one part of the vector, then all collect the parts.
    fn allreduce_by_parts(
        &mut self,
        operand: Operand,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let (size, bytes) = (self.members.len(), operand.bytes);
        let cut = Cut::elements(bytes, operand.element_bytes, size as u32);
        self.contribute(own(operand, send, receive))?;
        self.wait_for(0, size)?;
        let part = cut.part(self.me as u32);
        let combined = &mut receive[part.offset..][..part.bytes];
        let result = self.fold(size, bytes, part, combined, combine);
        self.done(true, result)?;

        let part = &receive[part.offset..][..part.bytes];
        self.contribute(part)?;
        self.wait_for(0, size)?;
        let me = self.me;
        let copy = |member: usize| -> Result<(), ErrorKind> {
            let part = cut.part(member as u32);
            let from = self.read(member, part.bytes)?;
            receive[part.offset..][..part.bytes].copy_from_slice(from);
            Ok(())
        };
        let result = (0..size).filter(|&member| member != me).try_for_each(copy);
        self.done(true, result)
    }

    /// Combines a part of what the members below `end` wrote, each `bytes` long, in the order of the ranks.
    fn fold(
        &self,
        end: usize,
        bytes: usize,
        part: Block,
        into: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let of = |member| -> Result<&[u8], ErrorKind> {
            Ok(&self.read(member, bytes)?[part.offset..][..part.bytes])
        };
        // From the right, because an operation combines its input from the left.
        into.copy_from_slice(of(end - 1)?);
        for member in (0..end - 1).rev() {
            combine(of(member)?, into);
        }
        Ok(())
    }

    /// Begins an operation in which this member writes.
    #[inline]
    fn contribute(&mut self, data: &[u8]) -> Result<(), ErrorKind> {
        self.operation = self.board.begin();
        if !self.board.is_writable(self.operation) {
            let (board, operation) = (&mut *self.board, self.operation);
            self.engine
                .wait_until(&mut Writable { board, operation }, self.members)?;
        }
        let note = self.note(data.len());
        self.board.write(self.operation, note, data.len(), |cell| {
            cell.copy_from_slice(data)
        });
        Ok(())
    }

    /// Begins an operation in which this member only reads.
    fn pass(&mut self) {
        self.operation = self.board.begin();
    }

    #[inline]
    fn wait_for(&self, first: usize, end: usize) -> Result<(), ErrorKind> {
        let mut arrived = Arrived {
            board: self.board,
            operation: self.operation,
            next: first,
            end,
        };
        if !arrived.is_met() {
            self.engine.wait_until(&mut arrived, self.members)?;
        }
        Ok(())
    }

    /// What a member wrote, after a check that it means the same call.
    #[inline]
    fn read(&self, member: usize, bytes: usize) -> Result<&[u8], ErrorKind> {
        let (found, expected) = (self.board.note(self.operation, member), self.note(bytes));
        if found != expected {
            return Err(disagreement(member as u32, expected, found));
        }
        Ok(self.board.read(self.operation, member, bytes))
    }

    /// Lets the others go on, also when what they wrote was wrong.
    fn done(
        &mut self,
        saw_everybody: bool,
        result: Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        self.board.finish(self.operation, saw_everybody);
        result
    }

    /// The call in a word: which, with which root, how many bytes.
    #[inline]
    fn note(&self, bytes: usize) -> u64 {
        u64::from(self.kind) << 56 | u64::from(self.root) << 32 | bytes as u64
    }
}

/// Where a rank's input of a reduction lies.
fn own<'a>(operand: Operand, send: &'a [u8], receive: &'a [u8]) -> &'a [u8] {
    if operand.in_place { receive } else { send }
}

fn whole(operand: Operand) -> Block {
    Block {
        offset: 0,
        bytes: operand.bytes,
    }
}

/// What two notes disagree on.
#[cold]
fn disagreement(peer: u32, expected: u64, found: u64) -> ErrorKind {
    use crate::collectives::choose::Collective;
    let name = |note: u64| {
        let collective = Collective::ALL.get((note >> 56) as usize);
        collective.map_or("another call".to_owned(), |c| {
            format!("{c:?}").to_lowercase()
        })
    };
    let root = |note: u64| (note >> 32) as u32 & 0xff_ffff;
    if expected >> 56 != found >> 56 {
        let (here, there) = (name(expected), name(found));
        return ErrorKind::DifferentCollective { peer, here, there };
    }
    if root(expected) != root(found) {
        let (here, there) = (root(expected), root(found));
        return ErrorKind::DifferentRoot { peer, here, there };
    }
    let (expected, got) = (expected & 0xffff_ffff, found & 0xffff_ffff);
    ErrorKind::CollectiveMismatch {
        peer,
        expected,
        got,
    }
}

/// Members `next..end` have written.
struct Arrived<'a> {
    board: &'a Board,
    operation: u64,
    next: usize,
    end: usize,
}

impl Condition for Arrived<'_> {
    #[inline(always)]
    fn is_met(&mut self) -> bool {
        while self.next < self.end && self.board.has_arrived(self.operation, self.next) {
            self.next += 1;
        }
        self.next == self.end
    }

    fn before_sleep(&mut self) {
        self.board.announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.board.announce_awake();
    }
}

/// The others are done with what this member wrote the time before last.
struct Writable<'a> {
    board: &'a mut Board,
    operation: u64,
}

impl Condition for Writable<'_> {
    #[inline(always)]
    fn is_met(&mut self) -> bool {
        self.board.is_writable(self.operation)
    }

    fn before_sleep(&mut self) {
        self.board.announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.board.announce_awake();
    }
}
