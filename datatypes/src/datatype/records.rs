//! Arrays of structures: a body of a few blocks, repeated at a distance.
//!
//! Copied body by body, each block costs more than its bytes. So a tile of the array, short enough
//! to stay in the nearest cache, is copied block by block: the first block of all its bodies, then
//! the second, each by one loop of `strided`.

use std::ops::Range;

use super::CopyError;
use super::layout::{Layout, Part, Shape};
use super::strided::copy_blocks;

/// Memory that one tile of bodies spans: a quarter of the smallest first-level cache in use.
const TILE_BYTES: usize = 8 << 10;

/// Equal bodies of blocks that ascend and do not overlap.
pub(super) struct Records<'a> {
    parts: &'a [Part],
    /// Where the first body begins, so that no block begins before 0.
    begin: i64,
    stride: usize,
    /// Packed bytes of a body.
    bytes: usize,
    count: usize,
}

impl<'a> Records<'a> {
    /// The records that `count` bodies from `begin` on are; none if they are no such, and an error
    /// if they leave the memory.
    pub(super) fn of(
        body: &'a Layout,
        begin: i64,
        stride: i64,
        count: u64,
        memory: usize,
    ) -> Result<Option<Records<'a>>, CopyError> {
        let (Shape::Sequence(parts), Ok(step)) = (body.shape(), usize::try_from(stride)) else {
            return Ok(None);
        };
        let is_block = |part: &Part| matches!(part.layout.shape(), Shape::Block);
        let span = |part: &Part| {
            let first = i128::from(part.layout.offset());
            first..first + i128::from(part.layout.bytes())
        };
        let ascends = parts
            .windows(2)
            .all(|pair| span(&pair[0]).end <= span(&pair[1]).start);
        let (Some(first), Some(last), true) = (parts.first(), parts.last(), ascends) else {
            return Ok(None);
        };
        let reach = span(first).start..span(last).end;
        if !parts.iter().all(is_block) || reach.end - reach.start > i128::from(stride) {
            return Ok(None);
        }
        let begin = begin.wrapping_add(body.offset());
        let low = i128::from(begin) + reach.start;
        let high = i128::from(begin) + reach.end + i128::from(stride) * (i128::from(count) - 1);
        if low < 0 || high > memory as i128 {
            let (first, end, bytes) = (low, high, memory);
            return Err(CopyError::Outside { first, end, bytes });
        }
        Ok(Some(Records {
            parts,
            begin,
            stride: step,
            bytes: body.bytes() as usize,
            count: count as usize,
        }))
    }

    /// Copies all of them out of the memory that they were made for.
    pub(super) fn gather(&self, memory: &[u8], out: &mut [u8]) {
        self.tiles(|block, memory_range, packed_range| {
            let (from, to) = (&memory[memory_range], &mut out[packed_range]);
            copy_blocks(block, (from, self.stride), (to, self.bytes));
        });
    }

    /// Copies all of them to their places in the memory that they were made for.
    pub(super) fn scatter(&self, packed: &[u8], memory: &mut [u8]) {
        self.tiles(|block, memory_range, packed_range| {
            let (from, to) = (&packed[packed_range], &mut memory[memory_range]);
            copy_blocks(block, (from, self.bytes), (to, self.stride));
        });
    }

    /// Tells `copy` the length of a block, and where the blocks of a tile lie in memory and packed.
    fn tiles(&self, mut copy: impl FnMut(usize, Range<usize>, Range<usize>)) {
        let tile = (TILE_BYTES / self.stride.max(1)).max(1);
        for first in (0..self.count).step_by(tile) {
            let steps = tile.min(self.count - first) - 1;
            for part in self.parts {
                let block = part.layout.bytes() as usize;
                let begin = self.begin.wrapping_add(part.layout.offset()) as usize;
                let in_memory = begin + first * self.stride;
                let packed = part.before as usize + first * self.bytes;
                copy(
                    block,
                    in_memory..in_memory + steps * self.stride + block,
                    packed..packed + steps * self.bytes + block,
                );
            }
        }
    }
}
