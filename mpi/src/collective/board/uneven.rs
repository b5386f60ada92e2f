//! Calls in which nobody knows everybody's lengths: gatherv, scatterv, alltoallv.
//!
//! The writer decides what goes over the board, and what it has written tells the reader: a block
//! that is too long for the board is announced with its length and follows as a message. A
//! contribution with blocks for several members begins with a directory: for each member where its
//! block lies and how long it is. The reader compares the length with its own count, so members
//! that disagree are told.
//!
//! In a gatherv and a scatterv each block is judged apart. In an alltoallv a member whose blocks do
//! not all fit announces that, everybody sees it, and all blocks travel as messages.

use oxmpi_engine::filling::{copy_slice, fill_slice};

use super::ROOTED_BYTES_MAX;
use super::round::{Round, disagreement, within, within_mut};
use crate::error::ErrorKind;
use oxmpi_schedules::Block;

/// What a call has left to messages, as this member knows it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::collective) enum Rest {
    /// All is done.
    Nothing,
    /// All of this member's part.
    All,
    /// The root's exchange with these members.
    With(Vec<u32>),
}

impl Rest {
    fn with(members: Vec<u32>) -> Rest {
        match members.is_empty() {
            true => Rest::Nothing,
            false => Rest::With(members),
        }
    }
}

/// In the length of a note: the data follow as messages. Cells hold fewer bytes.
const LONG: u64 = (1 << LENGTH_BITS) - 1;
const LENGTH_BITS: u32 = 24;

/// An entry of a directory: where the block lies above, its length below; [`LONG`] is the place of
/// a block that follows as a message.
const ENTRY_BYTES: usize = 8;
const ENTRY_LENGTH_BITS: u32 = 64 - LENGTH_BITS;

/// Bytes of a directory of so many members.
pub(super) fn directory_bytes(size: usize) -> usize {
    size * ENTRY_BYTES
}

/// Both buffers of a call.
type Buffers<'a> = (&'a [u8], &'a mut [u8]);

impl Round<'_> {
    #[inline(always)]
    pub(super) fn gatherv(
        &mut self,
        own_bytes: usize,
        blocks: &[Block],
        root: u32,
        in_place: bool,
        (send, receive): Buffers<'_>,
    ) -> Result<Rest, ErrorKind> {
        self.root = root;
        let (me, root) = (self.me, root as usize);
        if me != root {
            let is_long = own_bytes > self.rooted_bytes_max();
            match is_long {
                true => self.announce(own_bytes)?,
                false => self.contribute(send)?,
            }
            self.done(false, Ok(()))?;
            return Ok(if is_long { Rest::All } else { Rest::Nothing });
        }
        self.pass();
        self.wait_for_others()?;
        if !in_place {
            copy_slice(within_mut(receive, blocks[me]), send);
        }
        let mut long = Vec::new();
        let mut take = |member: usize| -> Result<(), ErrorKind> {
            let (length, data) = self.whole_of(member)?;
            check_length(member, blocks[member].bytes, length)?;
            match data {
                Some(data) => copy_slice(within_mut(receive, blocks[member]), data),
                None => long.push(member as u32),
            }
            Ok(())
        };
        let taken = self.others().try_for_each(&mut take);
        self.done(true, taken)?;
        Ok(Rest::with(long))
    }

    #[inline(always)]
    pub(super) fn scatterv(
        &mut self,
        own_bytes: usize,
        blocks: &[Block],
        root: u32,
        in_place: bool,
        (send, receive): Buffers<'_>,
    ) -> Result<Rest, ErrorKind> {
        self.root = root;
        let (me, root) = (self.me, root as usize);
        if me == root {
            let room = self.rooted_bytes_max();
            let long = self.write_blocks(send, |member| blocks[member], room)?;
            if !in_place {
                copy_slice(receive, within(send, blocks[me]));
            }
            self.done(false, Ok(()))?;
            return Ok(Rest::with(long));
        }
        self.pass();
        self.wait_for(root, root + 1)?;
        let mut rest = Rest::Nothing;
        let taken = self.block_of(root).and_then(|(length, data)| {
            check_length(root, own_bytes, length)?;
            match data {
                Some(data) => copy_slice(receive, data),
                None => rest = Rest::All,
            }
            Ok(())
        });
        self.done(false, taken)?;
        Ok(rest)
    }

    #[inline(always)]
    pub(super) fn alltoallv(
        &mut self,
        (from, to): (&[Block], &[Block]),
        (send, receive): Buffers<'_>,
    ) -> Result<Rest, ErrorKind> {
        let me = self.me;
        let total: usize = self.others().map(|member| from[member].bytes).sum();
        let room = self.board.cell_bytes();
        let mut any_long = total > room - directory_bytes(from.len());
        match any_long {
            true => self.announce(total)?,
            false => {
                self.write_blocks(send, |member| from[member], room)?;
            }
        }
        self.wait_for_others()?;
        let mut take = |member: usize| -> Result<(), ErrorKind> {
            let (length, data) = self.block_of(member)?;
            match data {
                None => any_long = true,
                Some(data) => {
                    check_length(member, to[member].bytes, length)?;
                    // Messages will bring all if they bring anything.
                    if !any_long {
                        copy_slice(within_mut(receive, to[member]), data);
                    }
                }
            }
            Ok(())
        };
        let taken = self.others().try_for_each(&mut take);
        if !any_long {
            copy_slice(within_mut(receive, to[me]), within(send, from[me]));
        }
        self.done(true, taken)?;
        Ok(if any_long { Rest::All } else { Rest::Nothing })
    }

    /// The members but this one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.members.len()).filter(move |&member| member != me)
    }

    #[inline(always)]
    fn wait_for_others(&self) -> Result<(), ErrorKind> {
        self.wait_for(0, self.me)?;
        self.wait_for(self.me + 1, self.members.len())
    }

    /// The most that goes over the board from or to a root: messages win once they are long, but
    /// where ranks take turns on the CPUs each hop of one waits for a turn.
    #[inline(always)]
    fn rooted_bytes_max(&self) -> usize {
        let size = self.members.len();
        let room = self.board.cell_bytes();
        match size > self.engine.usable_cpus() as usize {
            true => room,
            false => room.min(ROOTED_BYTES_MAX.max(directory_bytes(size))),
        }
    }

    /// Says that so many bytes follow as messages.
    #[cold]
    fn announce(&mut self, bytes: usize) -> Result<(), ErrorKind> {
        self.begin_writing(size_of::<u64>())?;
        let note = self.note(LONG as usize);
        let write = |cell: &mut [u8]| cell.copy_from_slice(&(bytes as u64).to_ne_bytes());
        self.board
            .write(self.operation, note, size_of::<u64>(), write);
        Ok(())
    }

    /// Writes the others' blocks, as many as fit into so many bytes with their directory; the
    /// members whose blocks do not.
    #[inline(always)]
    fn write_blocks(
        &mut self,
        data: &[u8],
        block: impl Fn(usize) -> Block,
        room: usize,
    ) -> Result<Vec<u32>, ErrorKind> {
        let (me, size) = (self.me, self.members.len());
        let bytes = |member| if member == me { 0 } else { block(member).bytes };
        let total = places((0..size).map(bytes), room)
            .zip((0..size).map(bytes))
            .filter_map(|(place, bytes)| place.map(|place| place + bytes))
            .fold(directory_bytes(size), usize::max);
        let mut long = Vec::new();
        self.begin_writing(total)?;
        let note = self.note(total);
        self.board.write(self.operation, note, total, |cell| {
            for (member, place) in places((0..size).map(bytes), room).enumerate() {
                let bytes = bytes(member);
                match place {
                    Some(place) => {
                        let from = &data[block(member).offset..][..bytes];
                        fill_slice(&mut cell[place..][..bytes], from);
                    }
                    None => long.push(member as u32),
                }
                let entry = &mut cell[member * ENTRY_BYTES..][..ENTRY_BYTES];
                entry.copy_from_slice(&to_entry(place, bytes).to_ne_bytes());
            }
        });
        Ok(long)
    }

    /// The length of what a member has for one reader, and the bytes if they are on the board.
    #[inline(always)]
    fn whole_of(&self, member: usize) -> Result<(u64, Option<&[u8]>), ErrorKind> {
        let note = self.board.note(self.operation, member);
        let (expected, found) = (self.note(0), note & !LONG);
        if found != expected {
            return Err(disagreement(member as u32, expected, found));
        }
        let bytes = note & LONG;
        if bytes == LONG {
            let length = self.board.read(self.operation, member, size_of::<u64>());
            return Ok((to_word(length), None));
        }
        let data = self.board.read(self.operation, member, bytes as usize);
        Ok((bytes, Some(data)))
    }

    /// The same of a member that has a block for each: of the one that is for this member.
    #[inline(always)]
    fn block_of(&self, member: usize) -> Result<(u64, Option<&[u8]>), ErrorKind> {
        let (length, Some(all)) = self.whole_of(member)? else {
            return Ok((0, None));
        };
        let entry = all.get(self.me * ENTRY_BYTES..(self.me + 1) * ENTRY_BYTES);
        let (place, bytes) = from_entry(entry.map_or(0, to_word));
        let Some(place) = place else {
            return Ok((bytes, None));
        };
        // What another process wrote is not believed.
        let block = all.get(place..).and_then(|rest| rest.get(..bytes as usize));
        match block {
            Some(block) => Ok((bytes, Some(block))),
            None => Err(mismatch(member, bytes, length)),
        }
    }
}

/// Where blocks of these lengths lie behind their directory, of which as many as fit into `room`.
fn places(
    bytes: impl ExactSizeIterator<Item = usize>,
    room: usize,
) -> impl Iterator<Item = Option<usize>> {
    let mut end = directory_bytes(bytes.len());
    bytes.map(move |bytes| {
        let place = end;
        let fits = bytes <= room.saturating_sub(place);
        end += if fits { bytes } else { 0 };
        fits.then_some(place)
    })
}

fn to_entry(place: Option<usize>, bytes: usize) -> u64 {
    let place = place.map_or(LONG, |place| place as u64);
    let length_max = (1 << ENTRY_LENGTH_BITS) - 1;
    place << ENTRY_LENGTH_BITS | (bytes as u64).min(length_max)
}

fn from_entry(entry: u64) -> (Option<usize>, u64) {
    let (place, bytes) = (
        entry >> ENTRY_LENGTH_BITS,
        entry & ((1 << ENTRY_LENGTH_BITS) - 1),
    );
    ((place != LONG).then_some(place as usize), bytes)
}

fn to_word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("an entry is a word"))
}

fn check_length(peer: usize, expected: usize, got: u64) -> Result<(), ErrorKind> {
    match expected as u64 == got {
        true => Ok(()),
        false => Err(mismatch(peer, expected as u64, got)),
    }
}

#[cold]
fn mismatch(peer: usize, expected: u64, got: u64) -> ErrorKind {
    ErrorKind::CollectiveMismatch {
        peer: peer as u32,
        expected,
        got,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_their_directory_and_the_long_ones_do_not() {
        let lengths = [8, 0, 100, 16];
        let found: Vec<_> = places(lengths.into_iter(), 32 + 24).collect();
        assert_eq!(found, [Some(32), Some(40), None, Some(40)]);
        assert!(places(lengths.into_iter(), 4096).all(|place| place.is_some()));
    }

    #[test]
    fn an_entry_says_where_and_how_long() {
        for (place, bytes) in [(Some(32), 8), (Some(0xff_fffe), 0), (None, 1 << 33)] {
            assert_eq!(from_entry(to_entry(place, bytes)), (place, bytes as u64));
        }
    }
}
