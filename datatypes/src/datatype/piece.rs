//! Gathering and scattering a piece of a layout by nested calls: what a packet's payload needs.
//!
//! A [`super::Cursor`] keeps its place between calls and allocates for layouts that nest. A piece
//! of a message is copied in one call and needs neither: the walk descends to the first byte (a
//! division per loop, a binary search per sequence), hands whole bodies to `whole`, and stops when
//! the piece is full.

use super::CopyError;
use super::cursor::{Places, Strip};
use super::layout::{Layout, Shape};
use super::pack::{gather, scatter};

/// What the walk meets: all of a layout at an origin, several of it, or equal blocks.
enum Met<'a> {
    Whole(&'a Layout, i64),
    Bodies {
        body: &'a Layout,
        begin: i64,
        stride: i64,
        count: u64,
    },
    Blocks(Strip<'a>, i64),
}

impl Layout {
    /// Copies the packed bytes from `skip` on out of `memory` until `out` is full.
    pub(super) fn gather_piece(
        &self,
        memory: &[u8],
        origin: i64,
        skip: u64,
        out: &mut [u8],
    ) -> Result<(), CopyError> {
        let mut rest = out;
        let bytes = rest.len();
        self.walk_piece(origin, skip, bytes, &mut |met, bytes| {
            let (out, behind) = std::mem::take(&mut rest).split_at_mut(bytes);
            rest = behind;
            match met {
                Met::Whole(layout, origin) => layout.gather_whole(memory, origin, out),
                Met::Bodies {
                    body,
                    begin,
                    stride,
                    count,
                } => body.gather_bodies(memory, begin, stride, count, out),
                Met::Blocks(strip, origin) => gather(memory, origin, &strip, out),
            }
        })
    }

    /// Copies `packed`, which are the packed bytes from `skip` on, to their places in `memory`.
    pub(super) fn scatter_piece(
        &self,
        packed: &[u8],
        skip: u64,
        memory: &mut [u8],
        origin: i64,
    ) -> Result<(), CopyError> {
        let mut rest = packed;
        self.walk_piece(origin, skip, packed.len(), &mut |met, bytes| {
            let (packed, behind) = rest.split_at(bytes);
            rest = behind;
            match met {
                Met::Whole(layout, origin) => layout.scatter_whole(packed, memory, origin),
                Met::Bodies {
                    body,
                    begin,
                    stride,
                    count,
                } => body.scatter_bodies(packed, memory, begin, stride, count),
                Met::Blocks(strip, origin) => scatter(packed, &strip, memory, origin),
            }
        })
    }

    /// Tells `each` what the packed bytes `skip..skip + bytes` are made of, in packed order, with
    /// the number of bytes. The range lies inside the layout.
    fn walk_piece<'a>(
        &'a self,
        origin: i64,
        skip: u64,
        bytes: usize,
        each: &mut dyn FnMut(Met<'a>, usize) -> Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        if bytes == 0 {
            return Ok(());
        }
        if skip == 0 && bytes as u64 == self.bytes() {
            return each(Met::Whole(self, origin), bytes);
        }
        let begin = origin.wrapping_add(self.offset());
        match self.shape() {
            Shape::Block => each(Met::Blocks(single(skip as i64, bytes), begin), bytes),
            Shape::Vector { stride, block, .. } => {
                let even = |first: u64, count: usize| Strip {
                    block: *block as usize,
                    places: Places::Even {
                        offset: Layout::place(0, *stride, first),
                        stride: *stride,
                        count,
                    },
                };
                walk_blocks(*block, &even, begin, skip, bytes, each)
            }
            Shape::Scatter { block, offsets } => {
                let listed = |first: u64, count: usize| Strip {
                    block: *block as usize,
                    places: Places::Listed {
                        base: 0,
                        offsets: &offsets[first as usize..][..count],
                    },
                };
                walk_blocks(*block, &listed, begin, skip, bytes, each)
            }
            Shape::Loop { stride, body, .. } => {
                let (mut index, mut inside) = (skip / body.bytes(), skip % body.bytes());
                let mut left = bytes;
                while left > 0 {
                    let origin = Layout::place(begin, *stride, index);
                    let count = left as u64 / body.bytes();
                    if inside == 0 && count > 0 {
                        let here = (count * body.bytes()) as usize;
                        let bodies = Met::Bodies {
                            body,
                            begin: origin,
                            stride: *stride,
                            count,
                        };
                        each(bodies, here)?;
                        left -= here;
                        index += count;
                        continue;
                    }
                    let here = left.min((body.bytes() - inside) as usize);
                    body.walk_piece(origin, inside, here, each)?;
                    left -= here;
                    index += 1;
                    inside = 0;
                }
                Ok(())
            }
            Shape::Sequence(parts) => {
                let first = parts.partition_point(|part| part.before <= skip) - 1;
                let mut inside = skip - parts[first].before;
                let mut left = bytes;
                for part in &parts[first..] {
                    let here = left.min((part.layout.bytes() - inside) as usize);
                    part.layout.walk_piece(begin, inside, here, each)?;
                    left -= here;
                    inside = 0;
                    if left == 0 {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Blocks of `block` bytes each: the rest of the first, whole ones, and the beginning of the last.
fn walk_blocks<'a>(
    block: u64,
    strip: &dyn Fn(u64, usize) -> Strip<'a>,
    begin: i64,
    skip: u64,
    bytes: usize,
    each: &mut dyn FnMut(Met<'a>, usize) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let part_of = |index: u64, within: u64, bytes: usize| {
        let offset = strip(index, 1).offset(0).wrapping_add(within as i64);
        Met::Blocks(single(offset, bytes), begin)
    };
    let (mut index, within) = (skip / block, skip % block);
    let mut left = bytes;
    if within > 0 {
        let here = left.min((block - within) as usize);
        each(part_of(index, within, here), here)?;
        left -= here;
        index += 1;
    }
    let whole = left / block as usize;
    if whole > 0 {
        let here = whole * block as usize;
        each(Met::Blocks(strip(index, whole), begin), here)?;
        left -= here;
        index += whole as u64;
    }
    if left > 0 {
        each(part_of(index, 0, left), left)?;
    }
    Ok(())
}

/// One block.
fn single<'a>(offset: i64, bytes: usize) -> Strip<'a> {
    Strip {
        block: bytes,
        places: Places::Even {
            offset,
            stride: 0,
            count: 1,
        },
    }
}
