//! Gathering and scattering between slices: the safe form of what the engine does with addresses.
//!
//! All of a message is walked through by `whole`, a piece of it by `piece`; both spare the
//! book-keeping of a [`Cursor`], which can stop and go on anywhere. The loops over evenly spaced
//! blocks are in `strided`.

use std::ops::Range;

use super::CopyError;
use super::cursor::{Cursor, Places, Strip};
use super::layout::Layout;
use super::strided::copy_blocks;

impl Layout {
    /// Copies the packed bytes `range` out of `memory` into `out`, which is as long as the range.
    /// `origin` is where in `memory` the buffer's address points; it is negative if the memory
    /// begins behind that.
    pub fn pack(
        &self,
        memory: &[u8],
        origin: i64,
        range: Range<u64>,
        out: &mut [u8],
    ) -> Result<(), CopyError> {
        self.check(&range, out.len())?;
        self.gather_piece(memory, origin, range.start, out)
    }

    /// Copies `packed`, which are the packed bytes `range`, to their places in `memory`.
    pub fn unpack(
        &self,
        packed: &[u8],
        range: Range<u64>,
        memory: &mut [u8],
        origin: i64,
    ) -> Result<(), CopyError> {
        self.check(&range, packed.len())?;
        self.scatter_piece(packed, range.start, memory, origin)
    }

    fn check(&self, range: &Range<u64>, buffer: usize) -> Result<(), CopyError> {
        let fits = range.start <= range.end
            && range.end <= self.bytes()
            && range.end - range.start == buffer as u64;
        if fits {
            return Ok(());
        }
        Err(CopyError::Range {
            begin: range.start,
            end: range.end,
            total: self.bytes(),
            buffer,
        })
    }
}

impl Cursor<'_> {
    /// Copies the next packed bytes out of `memory` until `out` is full or nothing is left; returns
    /// how many.
    pub fn pack(&mut self, memory: &[u8], origin: i64, out: &mut [u8]) -> Result<usize, CopyError> {
        let mut done = 0;
        while let Some(strip) = self.strip(out.len() - done) {
            let bytes = strip.bytes();
            gather(memory, origin, &strip, &mut out[done..done + bytes])?;
            done += bytes;
        }
        Ok(done)
    }

    /// Copies `packed` to the next places in `memory` until it is used up or nothing is left;
    /// returns how many bytes.
    pub fn unpack(
        &mut self,
        packed: &[u8],
        memory: &mut [u8],
        origin: i64,
    ) -> Result<usize, CopyError> {
        let mut done = 0;
        while let Some(strip) = self.strip(packed.len() - done) {
            let bytes = strip.bytes();
            scatter(&packed[done..done + bytes], &strip, memory, origin)?;
            done += bytes;
        }
        Ok(done)
    }
}

pub(super) fn gather(
    memory: &[u8],
    origin: i64,
    strip: &Strip<'_>,
    out: &mut [u8],
) -> Result<(), CopyError> {
    match strip.places {
        Places::Even {
            offset,
            stride,
            count,
        } => {
            let (lowest, reach) =
                even_reach(origin, offset, stride, count, strip.block, memory.len())?;
            let memory = &memory[reach];
            match strip.block {
                _ if count == 1 => out.copy_from_slice(memory),
                block if stride >= block as i64 => {
                    copy_blocks(block, (memory, stride as usize), (out, block));
                }
                block => {
                    for (index, out) in out.chunks_exact_mut(block).enumerate() {
                        let at = place(lowest, stride, index);
                        out.copy_from_slice(&memory[at..at + block]);
                    }
                }
            }
        }
        Places::Listed { base, offsets } => match strip.block {
            4 => gather_listed::<4>(memory, origin, base, offsets, out)?,
            8 => gather_listed::<8>(memory, origin, base, offsets, out)?,
            16 => gather_listed::<16>(memory, origin, base, offsets, out)?,
            block => {
                for (out, offset) in out.chunks_exact_mut(block).zip(offsets) {
                    out.copy_from_slice(
                        &memory[listed(origin, base, *offset, block, memory.len())?],
                    );
                }
            }
        },
    }
    Ok(())
}

pub(super) fn scatter(
    packed: &[u8],
    strip: &Strip<'_>,
    memory: &mut [u8],
    origin: i64,
) -> Result<(), CopyError> {
    match strip.places {
        Places::Even {
            offset,
            stride,
            count,
        } => {
            let (lowest, reach) =
                even_reach(origin, offset, stride, count, strip.block, memory.len())?;
            let memory = &mut memory[reach];
            match strip.block {
                _ if count == 1 => memory.copy_from_slice(packed),
                block if stride >= block as i64 => {
                    copy_blocks(block, (packed, block), (memory, stride as usize));
                }
                block => {
                    for (index, packed) in packed.chunks_exact(block).enumerate() {
                        let at = place(lowest, stride, index);
                        memory[at..at + block].copy_from_slice(packed);
                    }
                }
            }
        }
        Places::Listed { base, offsets } => match strip.block {
            4 => scatter_listed::<4>(packed, memory, origin, base, offsets)?,
            8 => scatter_listed::<8>(packed, memory, origin, base, offsets)?,
            16 => scatter_listed::<16>(packed, memory, origin, base, offsets)?,
            block => {
                for (packed, offset) in packed.chunks_exact(block).zip(offsets) {
                    let reach = listed(origin, base, *offset, block, memory.len())?;
                    memory[reach].copy_from_slice(packed);
                }
            }
        },
    }
    Ok(())
}

/// What an even strip reaches of the memory, and where in that its first block begins.
fn even_reach(
    origin: i64,
    offset: i64,
    stride: i64,
    count: usize,
    block: usize,
    bytes: usize,
) -> Result<(usize, Range<usize>), CopyError> {
    let begin = i128::from(origin) + i128::from(offset);
    let last = i128::from(stride) * (count as i128 - 1);
    let (first, end) = (begin + last.min(0), begin + last.max(0) + block as i128);
    if first < 0 || end > bytes as i128 {
        return Err(CopyError::Outside { first, end, bytes });
    }
    Ok(((begin - first) as usize, first as usize..end as usize))
}

pub(super) fn listed(
    origin: i64,
    base: i64,
    offset: i64,
    block: usize,
    bytes: usize,
) -> Result<Range<usize>, CopyError> {
    let first = i128::from(origin) + i128::from(base.wrapping_add(offset));
    let end = first + block as i128;
    if first < 0 || end > bytes as i128 {
        return Err(CopyError::Outside { first, end, bytes });
    }
    Ok(first as usize..end as usize)
}

/// Begin of block `index`; the reach has been checked, so wrapping terms end inside it.
#[inline]
fn place(lowest: usize, stride: i64, index: usize) -> usize {
    lowest.wrapping_add((stride as usize).wrapping_mul(index))
}

#[inline]
fn gather_listed<const N: usize>(
    memory: &[u8],
    origin: i64,
    base: i64,
    offsets: &[i64],
    out: &mut [u8],
) -> Result<(), CopyError> {
    let (out, _) = out.as_chunks_mut::<N>();
    for (out, offset) in out.iter_mut().zip(offsets) {
        out.copy_from_slice(&memory[listed(origin, base, *offset, N, memory.len())?]);
    }
    Ok(())
}

#[inline]
fn scatter_listed<const N: usize>(
    packed: &[u8],
    memory: &mut [u8],
    origin: i64,
    base: i64,
    offsets: &[i64],
) -> Result<(), CopyError> {
    let (packed, _) = packed.as_chunks::<N>();
    for (packed, offset) in packed.iter().zip(offsets) {
        let reach = listed(origin, base, *offset, N, memory.len())?;
        memory[reach].copy_from_slice(packed);
    }
    Ok(())
}
