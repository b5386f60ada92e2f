//! Pieces of a file that repeat at a constant distance, as one entry: what processes tell each
//! other about an access, and what copying loops walk over.
//!
//! A list of strips is in ascending order and free of overlap, as the pieces of a view are. A
//! process that reads every second block of 8 bytes of a gigabyte says so in 32 bytes.

use crate::view::{Blocks, Piece};

/// `count` blocks of `block` bytes, the first at `offset`, each `stride` behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Strip {
    pub(crate) offset: u64,
    pub(crate) block: u64,
    pub(crate) stride: u64,
    pub(crate) count: u64,
}

/// Bytes of a strip in a message.
pub(crate) const STRIP_BYTES: usize = 32;

impl Strip {
    /// The byte behind the last block.
    pub(crate) fn end(&self) -> u64 {
        self.offset + (self.count - 1) * self.stride + self.block
    }

    /// Bytes of data.
    pub(crate) fn bytes(&self) -> u64 {
        self.block * self.count
    }

    pub(crate) fn of(blocks: Blocks) -> Strip {
        Strip {
            offset: blocks.offset,
            block: blocks.block,
            stride: blocks.stride,
            count: blocks.count,
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; STRIP_BYTES] {
        let mut bytes = [0; STRIP_BYTES];
        for (place, value) in
            bytes
                .chunks_exact_mut(8)
                .zip([self.offset, self.block, self.stride, self.count])
        {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Strip {
        let value = |at: usize| {
            let bytes = bytes[at * 8..at * 8 + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        Strip {
            offset: value(0),
            block: value(1),
            stride: value(2),
            count: value(3),
        }
    }
}

/// A list of strips that grows by pieces in ascending order.
#[derive(Default, Clone, Debug)]
pub(crate) struct Strips(pub(crate) Vec<Strip>);

impl Strips {
    /// Adds a piece behind all others.
    pub(crate) fn push(&mut self, piece: Piece) {
        if let Some(last) = self.0.last_mut()
            && last.block == piece.bytes
        {
            if last.count == 1 {
                last.stride = piece.offset - last.offset;
                last.count = 2;
                return;
            }
            if last.offset + last.count * last.stride == piece.offset {
                last.count += 1;
                return;
            }
        }
        self.0.push(Strip {
            offset: piece.offset,
            block: piece.bytes,
            stride: piece.bytes,
            count: 1,
        });
    }
}

impl Strips {
    /// Adds a strip behind all others.
    pub(crate) fn push_strip(&mut self, strip: Strip) {
        if strip.count == 1 {
            return self.push(Piece {
                offset: strip.offset,
                bytes: strip.block,
            });
        }
        match self.0.last_mut() {
            Some(last)
                if last.count > 1
                    && (last.block, last.stride) == (strip.block, strip.stride)
                    && last.offset + last.count * last.stride == strip.offset =>
            {
                last.count += strip.count;
            }
            _ => self.0.push(strip),
        }
    }
}

/// Walks through strips up to one place after the other.
#[derive(Clone, Debug)]
pub(crate) struct StripWalk<'s> {
    strips: &'s [Strip],
    /// Blocks of the first strip that are behind, and bytes of the next.
    done: u64,
    within: u64,
}

impl<'s> StripWalk<'s> {
    pub(crate) fn new(strips: &'s [Strip]) -> Self {
        StripWalk {
            strips,
            done: 0,
            within: 0,
        }
    }

    /// Visits everything before byte `end` that was not visited before; returns its bytes.
    pub(crate) fn up_to(&mut self, end: u64, mut visit: impl FnMut(Strip)) -> u64 {
        let mut bytes = 0;
        while let Some(strip) = self.strips.first() {
            let at = strip.offset + self.done * strip.stride + self.within;
            if at >= end {
                break;
            }
            let some = if self.within > 0 || at + strip.block > end {
                // Part of a block.
                let some = (strip.block - self.within).min(end - at);
                self.within += some;
                if self.within == strip.block {
                    self.within = 0;
                    self.done += 1;
                }
                Strip {
                    offset: at,
                    block: some,
                    stride: some,
                    count: 1,
                }
            } else {
                let fit = (end - at - strip.block) / strip.stride + 1;
                let count = fit.min(strip.count - self.done);
                self.done += count;
                Strip {
                    offset: at,
                    count,
                    ..*strip
                }
            };
            bytes += some.bytes();
            visit(some);
            if self.done == strip.count {
                self.strips = &self.strips[1..];
                self.done = 0;
            }
        }
        bytes
    }
}

/// Copies the blocks of a strip from one memory to the next place of another: `spread` from packed
/// data to where they lie, the other way for `gather`.
pub(crate) fn spread(strip: &Strip, base: u64, window: &mut [u8], packed: &[u8]) {
    each_block(strip, base, |at, from, block| match block {
        4 => copy::<4>(&packed[from..], &mut window[at..]),
        8 => copy::<8>(&packed[from..], &mut window[at..]),
        16 => copy::<16>(&packed[from..], &mut window[at..]),
        _ => window[at..at + block].copy_from_slice(&packed[from..from + block]),
    });
}

/// See [`spread`].
pub(crate) fn gather(strip: &Strip, base: u64, window: &[u8], packed: &mut [u8]) {
    each_block(strip, base, |at, into, block| match block {
        4 => copy::<4>(&window[at..], &mut packed[into..]),
        8 => copy::<8>(&window[at..], &mut packed[into..]),
        16 => copy::<16>(&window[at..], &mut packed[into..]),
        _ => packed[into..into + block].copy_from_slice(&window[at..at + block]),
    });
}

#[inline(always)]
fn each_block(strip: &Strip, base: u64, mut visit: impl FnMut(usize, usize, usize)) {
    let (block, stride) = (strip.block as usize, strip.stride as usize);
    let first = (strip.offset - base) as usize;
    // One loop for each length that is common: the compiler knows it in there.
    macro_rules! each {
        ($block:expr) => {
            for index in 0..strip.count as usize {
                visit(first + index * stride, index * $block, $block);
            }
        };
    }
    match block {
        4 => each!(4),
        8 => each!(8),
        16 => each!(16),
        _ => each!(block),
    }
}

#[inline(always)]
fn copy<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (from, to) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>());
    *to.expect("the window holds the block") = *from.expect("the data holds the block");
}

#[cfg(test)]
mod tests;
