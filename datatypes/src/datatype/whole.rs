//! Gathering and scattering all of a layout at once, by nested calls instead of a cursor.
//!
//! A cursor can stop and go on anywhere, and pays for it at every block. A whole message needs none
//! of that, and most messages are packed whole. The copying of strips is that of `pack`, so both
//! ways give the same bytes.

use super::CopyError;
use super::cursor::{Places, Strip};
use super::layout::{Layout, Shape};
use super::pack::{gather, listed, scatter};
use super::records::Records;

impl Layout {
    /// Copies all of it out of `memory`. Nested layouts are nested calls; how deep they nest is
    /// bounded with the type's depth.
    pub(super) fn gather_whole(
        &self,
        memory: &[u8],
        origin: i64,
        out: &mut [u8],
    ) -> Result<(), CopyError> {
        let begin = origin.wrapping_add(self.offset());
        match self.shape() {
            Shape::Block => {
                let reach = listed(begin, 0, 0, out.len(), memory.len())?;
                copy(&memory[reach], out);
                Ok(())
            }
            Shape::Loop {
                count,
                stride,
                body,
            } => body.gather_bodies(memory, begin, *stride, *count, out),
            Shape::Sequence(parts) => {
                let mut rest = out;
                for part in parts.iter() {
                    let (out, behind) = rest.split_at_mut(part.layout.bytes() as usize);
                    part.layout.gather_whole(memory, begin, out)?;
                    rest = behind;
                }
                Ok(())
            }
            Shape::Vector { .. } | Shape::Scatter { .. } => {
                gather(memory, begin, &self.leaf(), out)
            }
        }
    }

    /// Copies all of it to its places in `memory`; the mirror of `gather_whole`.
    pub(super) fn scatter_whole(
        &self,
        packed: &[u8],
        memory: &mut [u8],
        origin: i64,
    ) -> Result<(), CopyError> {
        let begin = origin.wrapping_add(self.offset());
        match self.shape() {
            Shape::Block => {
                let reach = listed(begin, 0, 0, packed.len(), memory.len())?;
                copy(packed, &mut memory[reach]);
                Ok(())
            }
            Shape::Loop {
                count,
                stride,
                body,
            } => body.scatter_bodies(packed, memory, begin, *stride, *count),
            Shape::Sequence(parts) => {
                let mut rest = packed;
                for part in parts.iter() {
                    let (packed, behind) = rest.split_at(part.layout.bytes() as usize);
                    part.layout.scatter_whole(packed, memory, begin)?;
                    rest = behind;
                }
                Ok(())
            }
            Shape::Vector { .. } | Shape::Scatter { .. } => {
                scatter(packed, &self.leaf(), memory, begin)
            }
        }
    }

    /// Copies this layout `count` times out of `memory`, the first time from `begin` on.
    pub(super) fn gather_bodies(
        &self,
        memory: &[u8],
        begin: i64,
        stride: i64,
        count: u64,
        out: &mut [u8],
    ) -> Result<(), CopyError> {
        if let Some(records) = Records::of(self, begin, stride, count, memory.len())? {
            records.gather(memory, out);
            return Ok(());
        }
        let pieces = out.chunks_exact_mut(self.bytes() as usize);
        (0..count).zip(pieces).try_for_each(|(index, out)| {
            self.gather_whole(memory, Layout::place(begin, stride, index), out)
        })
    }

    /// The mirror of `gather_bodies`.
    pub(super) fn scatter_bodies(
        &self,
        packed: &[u8],
        memory: &mut [u8],
        begin: i64,
        stride: i64,
        count: u64,
    ) -> Result<(), CopyError> {
        if let Some(records) = Records::of(self, begin, stride, count, memory.len())? {
            records.scatter(packed, memory);
            return Ok(());
        }
        let pieces = packed.chunks_exact(self.bytes() as usize);
        (0..count).zip(pieces).try_for_each(|(index, packed)| {
            self.scatter_whole(packed, memory, Layout::place(begin, stride, index))
        })
    }

    /// All blocks of a vector or scatter as one strip, relative to its begin.
    fn leaf(&self) -> Strip<'_> {
        match self.shape() {
            Shape::Vector {
                count,
                stride,
                block,
            } => Strip {
                block: *block as usize,
                places: Places::Even {
                    offset: 0,
                    stride: *stride,
                    count: *count as usize,
                },
            },
            Shape::Scatter { block, offsets } => Strip {
                block: *block as usize,
                places: Places::Listed { base: 0, offsets },
            },
            _ => unreachable!("blocks, loops and sequences are taken apart before"),
        }
    }
}

/// Copies a single block.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    match from.len() {
        4 => copy_exactly::<4>(from, to),
        8 => copy_exactly::<8>(from, to),
        12 => copy_exactly::<12>(from, to),
        16 => copy_exactly::<16>(from, to),
        _ => to.copy_from_slice(from),
    }
}

#[inline]
fn copy_exactly<const N: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
        *to = *from;
    }
}
