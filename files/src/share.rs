//! What an aggregating rank accesses for all: its part of the file, whose pieces lie in it, and the
//! way between a window's memory and file or data.

use oxmpi_core::FileError;
use oxmpi_core::buffer::Buffer;

use crate::aggregate::Reach;
use crate::job::Inner;
use crate::strip::{Strip, StripWalk, spread};
use crate::view::Piece;

/// How an access to a file went.
pub(crate) type Outcome = std::result::Result<(), Box<FileError>>;

/// A part of the file that this rank accesses for all.
pub(crate) struct Share {
    pub(crate) part: Reach,
    /// Who has something in it, and what.
    pub(crate) ranks: Vec<(u32, Vec<Strip>)>,
}

pub(crate) fn walks(share: &Share) -> Vec<(u32, StripWalk<'_>)> {
    let ranks = share.ranks.iter();
    ranks
        .map(|(rank, strips)| (*rank, StripWalk::new(strips)))
        .collect()
}

/// What each rank has in a window: the rank, its strips and their bytes. Ranks with nothing in it
/// are left out.
pub(crate) fn parts_of(
    walks: &mut [(u32, StripWalk<'_>)],
    window: Reach,
) -> Vec<(u32, Vec<Strip>, u64)> {
    let parts = walks.iter_mut().map(|(rank, walk)| {
        let mut strips = Vec::new();
        let bytes = walk.up_to(window.end, |strip| strips.push(strip));
        (*rank, strips, bytes)
    });
    parts.filter(|(_, _, bytes)| *bytes > 0).collect()
}

/// This rank's place in its data for each part.
pub(crate) struct Places<'s> {
    /// For each part: where in its strips, and the next byte of the data.
    walks: Vec<(StripWalk<'s>, u64)>,
}

impl<'s> Places<'s> {
    /// By this rank's strips in each part.
    pub(crate) fn new(own: &'s [Vec<Strip>]) -> Self {
        let mut before = 0;
        let walks = own.iter().map(|strips| {
            let at = before;
            before += strips.iter().map(Strip::bytes).sum::<u64>();
            (StripWalk::new(strips), at)
        });
        Places {
            walks: walks.collect(),
        }
    }

    /// Goes on to the end of a window; the range of this rank's data in it.
    pub(crate) fn next(
        &mut self,
        index: usize,
        end: u64,
        visit: impl FnMut(Strip),
    ) -> std::ops::Range<u64> {
        let (walk, at) = &mut self.walks[index];
        let begin = *at;
        *at += walk.up_to(end, visit);
        begin..*at
    }
}

pub(crate) fn spread_all(strips: &[Strip], base: u64, memory: &mut [u8], packed: &[u8]) {
    let mut at = 0;
    for strip in strips {
        spread(strip, base, memory, &packed[at..]);
        at += strip.bytes() as usize;
    }
}

/// Calls `visit` with the packed bytes of a buffer.
pub(crate) fn with_packed(buffer: &Buffer, visit: impl FnOnce(&[u8])) {
    let Some(address) = buffer.contiguous() else {
        let mut packed = vec![0; buffer.bytes() as usize];
        buffer.pack_into(&mut packed);
        return visit(&packed);
    };
    // SAFETY: the buffer's promise covers the bytes, which the program does not change now.
    visit(unsafe { std::slice::from_raw_parts(address, buffer.bytes() as usize) });
}

pub(crate) fn write_ranges(file: &Inner, ranges: &[Piece], base: u64, memory: &[u8]) -> Outcome {
    ranges.iter().try_for_each(|range| {
        let at = (range.offset - base) as usize;
        let _guard = file.guard(|| *range)?;
        file.disk
            .write(range.offset, &memory[at..at + range.bytes as usize])
    })
}

pub(crate) fn read_ranges(file: &Inner, ranges: &[Piece], base: u64, memory: &mut [u8]) -> Outcome {
    for range in ranges {
        let at = (range.offset - base) as usize;
        let place = &mut memory[at..at + range.bytes as usize];
        let got = file.disk.read(range.offset, place)?;
        place[got..].fill(0);
    }
    Ok(())
}
