//! One call on the board, seen by one member: write, wait for the others, read.
//!
//! Every operation ends with `done`, also one that found the others in disagreement, because they
//! wait for it. Vectors longer than a cell go piece by piece. Reductions combine in the order of
//! the ranks, and every rank combines the same way, so results are the same everywhere; two ranks
//! change places where an operation gives the same bits either way.

use oxmpi_engine::filling::{copy_slice, fill_slice};
use oxmpi_engine::{Board, Engine};

use crate::collective::Combine;
use crate::collective::agreement::{Agreement, collective_name, is_symmetric, operation_name};
use crate::error::ErrorKind;
use crate::group::Group;
use oxmpi_schedules::choose::Collective;
use oxmpi_schedules::plan::Call;
use oxmpi_schedules::{Block, Cut, Operand};

use super::uneven::Rest;
use super::waits::{Arrived, Writable};

/// Up to this many bytes, all ranks' together, every rank combines everything for itself; beyond it
/// each rank combines a part and all collect the parts, which takes two rounds and a fraction of
/// the work.
const FOLD_BYTES_MAX: usize = 32 << 10;

/// One operation on the board, seen by one member.
pub(super) struct Round<'a> {
    pub(super) engine: &'a Engine,
    pub(super) board: &'a mut Board,
    pub(super) members: &'a [u32],
    /// See [`GroupBoard`](crate::communicator::GroupBoard).
    pub(super) group: Option<&'a Group>,
    pub(super) me: usize,
    pub(super) operation: u64,
    pub(super) agreed: Agreement,
    pub(super) root: u32,
}

impl<'a> Round<'a> {
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        call: &Call<'_>,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<Rest, ErrorKind> {
        match *call {
            Call::Gatherv {
                own_bytes,
                blocks,
                root,
                in_place,
            } => self.gatherv(own_bytes, blocks, root, in_place, (send, receive)),
            Call::Scatterv {
                own_bytes,
                blocks,
                root,
                in_place,
            } => self.scatterv(own_bytes, blocks, root, in_place, (send, receive)),
            Call::Alltoallv {
                send: from,
                receive: to,
                ..
            } => self.alltoallv((from, to), (send, receive)),
            _ => self
                .run_even(call, send, receive, combine)
                .map(|()| Rest::Nothing),
        }
    }

    /// A call in which everybody knows everybody's lengths.
    #[inline(always)]
    fn run_even(
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
            Call::Allreduce(operand) => self.allreduce(operand, send, receive, combine),
            Call::Scan(operand) => self.prefix(me + 1, operand, send, receive, combine),
            Call::Exscan(operand) => self.prefix(me, operand, send, receive, combine),
            Call::Gather {
                bytes,
                root,
                in_place,
            } => self.gather(bytes, root, in_place, send, receive),
            Call::Scatter {
                bytes,
                root,
                in_place,
            } => self.scatter(bytes, root, in_place, send, receive),
            Call::Allgather { bytes, in_place } => {
                let block = |member| Block {
                    offset: member * bytes,
                    bytes,
                };
                self.allgather(block, in_place, send, receive)
            }
            Call::Allgatherv { blocks, in_place } => {
                self.allgather(|member| blocks[member], in_place, send, receive)
            }
            Call::Alltoall { bytes, in_place } => self.alltoall(bytes, in_place, send, receive),
            Call::ReduceScatter {
                blocks, in_place, ..
            } => {
                let part = blocks.span(me as u32, me as u32 + 1);
                let total = blocks.total(size as u32);
                self.contribute(if in_place { receive } else { send })?;
                self.wait_for(0, size)?;
                let result = &mut receive[..part.bytes];
                let result = self.fold(size, total, part, result, combine);
                self.done(true, result)
            }
            Call::Gatherv { .. } | Call::Scatterv { .. } | Call::Alltoallv { .. } => {
                unreachable!("`run` keeps these away")
            }
        }
    }

    /// Everybody writes, everybody waits for everybody and reads.
    #[inline(always)]
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

    #[inline(always)]
    fn bcast(&mut self, bytes: usize, root: u32, data: &mut [u8]) -> Result<(), ErrorKind> {
        self.root = root;
        let root = root as usize;
        if self.me == root {
            self.contribute(data)?;
            self.board.run_ahead(self.operation);
            return self.done(false, Ok(()));
        }
        self.pass();
        self.wait_for(root, root + 1)?;
        let result = self.read(root, bytes).map(|from| copy_slice(data, from));
        self.done(false, result)
    }

    #[inline(always)]
    fn reduce(
        &mut self,
        operand: Operand,
        root: u32,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        self.root = root;
        let (size, at_root) = (self.members.len(), self.me == root as usize);
        for piece in pieces(operand.bytes, self.piece(operand.element_bytes)) {
            self.contribute(within(own(operand, send, receive), piece))?;
            let mut result = Ok(());
            if at_root {
                self.wait_for(0, size)?;
                result = self.fold(
                    size,
                    piece.bytes,
                    whole(piece),
                    within_mut(receive, piece),
                    combine,
                );
            }
            self.done(at_root, result)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn allreduce(
        &mut self,
        operand: Operand,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let (size, bytes) = (self.members.len(), operand.bytes);
        let goes_by_parts = size > 2 && bytes * size > FOLD_BYTES_MAX;
        if goes_by_parts || bytes > self.board.cell_bytes() {
            return self.allreduce_by_pieces(operand, send, receive, combine);
        }
        let own = own(operand, send, receive);
        self.contribute(own)?;
        self.wait_for(0, size)?;
        let result = &mut receive[..bytes];
        let outcome = match size == 2 && is_symmetric(self.agreed.operation) {
            true => {
                let own = (!operand.in_place).then(|| &send[..bytes]);
                self.fold_two(own, result, combine)
            }
            false => self.fold(size, bytes, whole_of(bytes), result, combine),
        };
        self.done(true, outcome)
    }

    #[inline(never)]
    fn allreduce_by_pieces(
        &mut self,
        operand: Operand,
        send: &[u8],
        receive: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let size = self.members.len();
        for piece in pieces(operand.bytes, self.piece(operand.element_bytes)) {
            self.contribute(within(own(operand, send, receive), piece))?;
            self.wait_for(0, size)?;
            let result = within_mut(receive, piece);
            if size > 2 && piece.bytes * size > FOLD_BYTES_MAX {
                self.combine_by_parts(piece.bytes, operand.element_bytes, result, combine)?;
                continue;
            }
            let outcome = match size == 2 && is_symmetric(self.agreed.operation) {
                true => {
                    let own = (!operand.in_place).then(|| within(send, piece));
                    self.fold_two(own, result, combine)
                }
                false => self.fold(size, piece.bytes, whole(piece), result, combine),
            };
            self.done(true, outcome)?;
        }
        Ok(())
    }

    /// The combination of two vectors by an operation that does not care which of them is the left
    /// one: the other's is copied from the board, which the processor does faster than any loop,
    /// and the own one, which is near, is combined into the copy. Without an own one it is taken
    /// from the board.
    #[inline(always)]
    fn fold_two(
        &self,
        own: Option<&[u8]>,
        into: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        copy_slice(into, self.read(1 - self.me, into.len())?);
        match own {
            Some(own) => combine(own, into),
            None => combine(self.read(self.me, into.len())?, into),
        }
        Ok(())
    }

    #[inline(always)]
    fn allgather(
        &mut self,
        block: impl Fn(usize) -> Block,
        in_place: bool,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        let (me, size) = (self.me, self.members.len());
        self.contribute(match in_place {
            true => within(receive, block(me)),
            false => send,
        })?;
        self.wait_for(0, size)?;
        let copy = |member: usize| -> Result<(), ErrorKind> {
            let block = block(member);
            copy_slice(within_mut(receive, block), self.read(member, block.bytes)?);
            Ok(())
        };
        let result = (0..size).try_for_each(copy);
        self.done(true, result)
    }

    /// Everybody writes a piece of each of its blocks. In place a piece is on the board before
    /// another one takes its place.
    #[inline(always)]
    fn alltoall(
        &mut self,
        bytes: usize,
        in_place: bool,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        let (me, size) = (self.me, self.members.len());
        let piece_bytes = match bytes * size <= self.board.cell_bytes() {
            true => bytes.max(1),
            false => self.piece(1) / size,
        };
        for piece in pieces(bytes, piece_bytes) {
            self.begin_writing(piece.bytes * size)?;
            let note = self.note(piece.bytes * size);
            let source = if in_place { &*receive } else { send };
            self.board
                .write(self.operation, note, piece.bytes * size, |cell| {
                    for member in (0..size).filter(|&member| member != me) {
                        let block = &source[member * bytes + piece.offset..][..piece.bytes];
                        fill_slice(&mut cell[member * piece.bytes..][..piece.bytes], block);
                    }
                });
            // Its own block does not go over the board.
            if !in_place {
                let own = piece.offset + me * bytes..piece.offset + me * bytes + piece.bytes;
                copy_slice(&mut receive[own.clone()], &send[own]);
            }
            self.wait_for(0, size)?;
            let mut copy = |member: usize| -> Result<(), ErrorKind> {
                let from =
                    &self.read(member, piece.bytes * size)?[me * piece.bytes..][..piece.bytes];
                copy_slice(
                    &mut receive[member * bytes + piece.offset..][..piece.bytes],
                    from,
                );
                Ok(())
            };
            let others = |member: &usize| *member != me;
            let result = (0..size).filter(others).try_for_each(&mut copy);
            self.done(true, result)?;
        }
        Ok(())
    }

    /// The largest piece that a cell holds without cutting an element.
    #[inline(always)]
    fn piece(&self, element_bytes: usize) -> usize {
        let cell_bytes = self.board.cell_bytes();
        (cell_bytes - cell_bytes % element_bytes.max(1)).max(1)
    }

    /// The combination of the members below `end`, into `receive`.
    #[inline(always)]
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
            _ => {
                let all = Block {
                    offset: 0,
                    bytes: operand.bytes,
                };
                self.fold(end, operand.bytes, all, receive, combine)
            }
        };
        self.done(end == self.members.len(), result)
    }

    #[inline(always)]
    fn gather(
        &mut self,
        bytes: usize,
        root: u32,
        in_place: bool,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        self.root = root;
        self.contribute(match in_place {
            true => &receive[self.me * bytes..][..bytes],
            false => send,
        })?;
        if self.me != root as usize {
            return self.done(false, Ok(()));
        }
        let size = self.members.len();
        self.wait_for(0, size)?;
        let copy = |member: usize| -> Result<(), ErrorKind> {
            copy_slice(
                &mut receive[member * bytes..][..bytes],
                self.read(member, bytes)?,
            );
            Ok(())
        };
        let result = (0..size).try_for_each(copy);
        self.done(true, result)
    }

    #[inline(always)]
    fn scatter(
        &mut self,
        bytes: usize,
        root: u32,
        in_place: bool,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), ErrorKind> {
        self.root = root;
        let (root, me) = (root as usize, self.me);
        if me == root {
            self.contribute(send)?;
            if in_place {
                return self.done(false, Ok(()));
            }
            copy_slice(receive, &send[me * bytes..][..bytes]);
            return self.done(false, Ok(()));
        }
        self.pass();
        self.wait_for(root, root + 1)?;
        let all = self.read(root, bytes * self.members.len());
        let result = all.map(|all| copy_slice(receive, &all[me * bytes..][..bytes]));
        self.done(false, result)
    }

    /// After everybody has written its vector: each rank combines one part of it, then all collect
    /// the parts.
    fn combine_by_parts(
        &mut self,
        bytes: usize,
        element_bytes: usize,
        result: &mut [u8],
        combine: &mut Combine<'_>,
    ) -> Result<(), ErrorKind> {
        let (me, size) = (self.me, self.members.len());
        let cut = Cut::elements(bytes, element_bytes, size as u32);
        let part = cut.part(me as u32);
        let outcome = self.fold(size, bytes, part, within_mut(result, part), combine);
        self.done(true, outcome)?;

        self.contribute(within(result, part))?;
        self.wait_for(0, size)?;
        let copy = |member: usize| -> Result<(), ErrorKind> {
            let part = cut.part(member as u32);
            within_mut(result, part).copy_from_slice(self.read(member, part.bytes)?);
            Ok(())
        };
        let outcome = (0..size).filter(|&member| member != me).try_for_each(copy);
        self.done(true, outcome)
    }

    /// Combines a part of what the members below `end` wrote, each `bytes` long, in the order of
    /// the ranks.
    #[inline(always)]
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
        copy_slice(into, of(end - 1)?);
        for member in (0..end - 1).rev() {
            combine(of(member)?, into);
        }
        Ok(())
    }

    /// Begins an operation and writes this member's part.
    #[inline(always)]
    pub(super) fn contribute(&mut self, data: &[u8]) -> Result<(), ErrorKind> {
        self.begin_writing(data.len())?;
        let note = self.note(data.len());
        self.board.write(self.operation, note, data.len(), |cell| {
            fill_slice(cell, data)
        });
        Ok(())
    }

    /// Begins an operation and waits until this member may write so many bytes.
    #[inline(always)]
    pub(super) fn begin_writing(&mut self, bytes: usize) -> Result<(), ErrorKind> {
        self.operation = self.board.begin();
        match self.board.is_writable(self.operation, bytes) {
            true => Ok(()),
            false => self.wait_for_room(bytes),
        }
    }

    /// Out of line, as [`Round::keep_waiting`]: what a waiting thread does is long, and would push
    /// out of the registers what the short way has there.
    #[inline(never)]
    fn wait_for_room(&mut self, bytes: usize) -> Result<(), ErrorKind> {
        let needed = self.needed();
        let mut writable = Writable {
            board: &mut *self.board,
            processes: self.members,
            operation: self.operation,
            bytes,
        };
        Ok(self.engine.wait_until(&mut writable, needed)?)
    }

    /// The processes without any of which nobody gets on here.
    fn needed(&self) -> &'a [u32] {
        self.group.map_or(self.members, Group::processes)
    }

    /// Begins an operation in which this member only reads.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.operation = self.board.begin();
    }

    #[inline(always)]
    pub(super) fn wait_for(&self, first: usize, end: usize) -> Result<(), ErrorKind> {
        let arrived = |member: &usize| self.board.has_arrived(self.operation, *member);
        match (first..end).find(|member| !arrived(member)) {
            None => Ok(()),
            Some(next) => self.keep_waiting(next, end),
        }
    }

    #[inline(never)]
    fn keep_waiting(&self, next: usize, end: usize) -> Result<(), ErrorKind> {
        let mut arrived = Arrived {
            board: self.board,
            processes: self.members,
            operation: self.operation,
            next,
            end,
        };
        Ok(self.engine.wait_until(&mut arrived, self.needed())?)
    }

    /// What a member wrote, after a check that it means the same call.
    #[inline(always)]
    fn read(&self, member: usize, bytes: usize) -> Result<&[u8], ErrorKind> {
        let (found, expected) = (self.board.note(self.operation, member), self.note(bytes));
        if found != expected {
            return Err(disagreement(member as u32, expected, found));
        }
        Ok(self.board.read(self.operation, member, bytes))
    }

    /// Lets the others go on, also when what they wrote was wrong.
    #[inline(always)]
    pub(super) fn done(
        &mut self,
        saw_everybody: bool,
        result: Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        self.board.finish(self.operation, saw_everybody);
        result
    }

    /// The call in a word: which, with which operation and root, after which roots, how many
    /// bytes. Cells hold less than 2^24 of them.
    #[inline(always)]
    pub(super) fn note(&self, bytes: usize) -> u64 {
        let Agreement {
            collective,
            operation,
            trail,
        } = self.agreed;
        (collective as u64) << 60
            | u64::from(operation) << 56
            | u64::from(self.root) << 32
            | u64::from(trail) << 24
            | bytes as u64
    }
}

/// Where a rank's input of a reduction lies.
fn own<'a>(operand: Operand, send: &'a [u8], receive: &'a [u8]) -> &'a [u8] {
    if operand.in_place { receive } else { send }
}

/// All of so many bytes.
fn whole_of(bytes: usize) -> Block {
    Block { offset: 0, bytes }
}

/// All of what was written for a piece.
fn whole(piece: Block) -> Block {
    Block { offset: 0, ..piece }
}

pub(super) fn within(data: &[u8], block: Block) -> &[u8] {
    &data[block.offset..][..block.bytes]
}

pub(super) fn within_mut(data: &mut [u8], block: Block) -> &mut [u8] {
    &mut data[block.offset..][..block.bytes]
}

/// What two notes disagree on.
#[cold]
pub(super) fn disagreement(peer: u32, expected: u64, found: u64) -> ErrorKind {
    let part = |shift: u32, bits: u32| {
        let part = |note: u64| (note >> shift) & ((1 << bits) - 1);
        (part(expected), part(found))
    };
    let differ = |(here, there): (u64, u64)| here != there;
    let (collectives, operations, roots) = (part(60, 4), part(56, 4), part(32, 24));
    if differ(collectives) {
        let name = |number: u64| match Collective::ALL.get(number as usize) {
            Some(collective) => collective_name(*collective),
            None => "another call".to_owned(),
        };
        let (here, there) = (name(collectives.0), name(collectives.1));
        return ErrorKind::DifferentCollective { peer, here, there };
    }
    if differ(operations) {
        let name = |number: u64| operation_name(number as u8);
        let (here, there) = (name(operations.0), name(operations.1));
        return ErrorKind::DifferentOperation { peer, here, there };
    }
    if differ(roots) {
        let (here, there) = (roots.0 as u32, roots.1 as u32);
        return ErrorKind::DifferentRoot { peer, here, there };
    }
    let (expected, got) = part(0, 24);
    if expected == got {
        return ErrorKind::EarlierRoot { peer };
    }
    ErrorKind::CollectiveMismatch {
        peer,
        expected,
        got,
    }
}

/// The pieces of at most `piece` bytes that make up `bytes`; one empty piece of nothing.
fn pieces(bytes: usize, piece: usize) -> impl Iterator<Item = Block> {
    let count = bytes.div_ceil(piece).max(1);
    (0..count).map(move |index| {
        let offset = index * piece;
        let bytes = piece.min(bytes - offset);
        Block { offset, bytes }
    })
}
