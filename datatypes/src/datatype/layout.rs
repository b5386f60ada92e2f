//! Layouts: where the bytes of a typemap lie, as a small program of blocks and loops.
//!
//! A layout is normalised when it is built: neighbouring blocks are merged, loops over contiguous
//! bodies are blocks, loops that continue each other are one, and a loop over one block is a
//! [`Shape::Vector`], the case that the copying code is fastest at. Offsets inside are relative to
//! the enclosing layout, so bodies are shared, not copied.
//!
//! Arithmetic on offsets wraps on purpose: [`super::Datatype`] has checked that every byte's final
//! offset fits in 64 bits, and sums of wrapped terms are right whenever their result fits.

use std::sync::Arc;

/// Where some bytes lie relative to an origin, and in which order they are packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    offset: i64,
    bytes: u64,
    shape: Shape,
}

/// How a layout's bytes are spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One contiguous block of all bytes (or none at all).
    Block,
    /// Equal blocks at a constant distance.
    Vector {
        /// Number of blocks, at least 2.
        count: u64,
        /// From the begin of one block to that of the next.
        stride: i64,
        /// Bytes of each.
        block: u64,
    },
    /// Equal blocks anywhere.
    Scatter {
        /// Bytes of each.
        block: u64,
        /// Where each begins.
        offsets: Arc<[i64]>,
    },
    /// A body at a constant distance.
    Loop {
        /// Number of repetitions, at least 2.
        count: u64,
        /// From one repetition to the next.
        stride: i64,
        /// What is repeated; never empty.
        body: Arc<Layout>,
    },
    /// Different layouts, one after the other in packed order.
    Sequence(Arc<[Part]>),
}

/// A layout in a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Packed bytes of the parts before it.
    pub before: u64,
    /// Its layout, relative to the sequence; never empty.
    pub layout: Layout,
}

/// A sequence in a sequence is dissolved when it has no more parts than this; longer ones stay
/// shared, which bounds what types built from types can grow to.
const DISSOLVED_PARTS_MAX: usize = 8;

impl Layout {
    /// A block at the origin.
    pub(crate) fn block(bytes: u64) -> Layout {
        Layout {
            offset: 0,
            bytes,
            shape: Shape::Block,
        }
    }

    /// Where the shape begins, relative to the origin.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Packed bytes of all of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How the bytes are spread.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Offset and length, if all bytes lie together in packed order.
    pub fn contiguous(&self) -> Option<(i64, u64)> {
        matches!(self.shape, Shape::Block).then_some((self.offset, self.bytes))
    }

    /// Offset of block or repetition `index`, relative to this layout's own origin.
    pub(crate) fn place(offset: i64, stride: i64, index: u64) -> i64 {
        offset.wrapping_add(stride.wrapping_mul(index as i64))
    }

    pub(crate) fn shifted(mut self, by: i64) -> Layout {
        self.offset = self.offset.wrapping_add(by);
        self
    }

    /// `count` copies, `stride` apart. The caller has checked that the packed size fits.
    pub(crate) fn repeated(&self, count: u64, stride: i64) -> Layout {
        let wrap = |shape| Layout {
            offset: self.offset,
            bytes: self.bytes * count,
            shape,
        };
        match (&self.shape, count) {
            _ if count == 0 || self.bytes == 0 => Layout::block(0),
            (_, 1) => self.clone(),
            (Shape::Block, _) if stride as u64 == self.bytes => wrap(Shape::Block),
            (Shape::Block, _) => wrap(Shape::Vector {
                count,
                stride,
                block: self.bytes,
            }),
            (
                Shape::Vector {
                    count: inner,
                    stride: step,
                    block,
                },
                _,
            ) if continues(*inner, *step, stride) => wrap(Shape::Vector {
                count: inner * count,
                stride: *step,
                block: *block,
            }),
            (
                Shape::Loop {
                    count: inner,
                    stride: step,
                    body,
                },
                _,
            ) if continues(*inner, *step, stride) => wrap(Shape::Loop {
                count: inner * count,
                stride: *step,
                body: Arc::clone(body),
            }),
            _ => wrap(Shape::Loop {
                count,
                stride,
                body: Arc::new(self.clone().shifted(self.offset.wrapping_neg())),
            }),
        }
    }

    /// [`Layout::repeated`] for a layout that is already shared: no allocation.
    pub(crate) fn repeated_shared(layout: &Arc<Layout>, count: u64, stride: i64) -> Layout {
        let loops = match &layout.shape {
            Shape::Block => false,
            Shape::Vector {
                count: inner,
                stride: step,
                ..
            }
            | Shape::Loop {
                count: inner,
                stride: step,
                ..
            } => !continues(*inner, *step, stride),
            Shape::Scatter { .. } | Shape::Sequence(_) => true,
        };
        if loops && count > 1 {
            let shape = Shape::Loop {
                count,
                stride,
                body: Arc::clone(layout),
            };
            return Layout {
                offset: 0,
                bytes: layout.bytes * count,
                shape,
            };
        }
        layout.repeated(count, stride)
    }
}

/// Whether a repetition at `stride` goes on where the inner one ends.
fn continues(inner_count: u64, inner_stride: i64, stride: i64) -> bool {
    inner_stride.checked_mul(inner_count as i64) == Some(stride)
}

/// Layouts one after the other.
pub(crate) struct LayoutBuilder {
    parts: Vec<Layout>,
}

impl LayoutBuilder {
    pub(crate) fn new() -> LayoutBuilder {
        LayoutBuilder { parts: Vec::new() }
    }

    pub(crate) fn push(&mut self, next: &Layout) {
        match &next.shape {
            _ if next.bytes == 0 => {}
            Shape::Sequence(inner) if inner.len() <= DISSOLVED_PARTS_MAX => {
                for part in inner.iter() {
                    self.push(&part.layout.clone().shifted(next.offset));
                }
            }
            Shape::Block => self.push_contiguous(next.offset, next.bytes),
            _ => self.parts.push(next.clone()),
        }
    }

    /// The same of one block.
    pub(crate) fn push_contiguous(&mut self, at: i64, length: u64) {
        match self.parts.last_mut() {
            _ if length == 0 => {}
            Some(Layout {
                offset,
                bytes,
                shape: Shape::Block,
            }) if offset.wrapping_add(*bytes as i64) == at => {
                *bytes += length;
            }
            _ => self.parts.push(Layout {
                offset: at,
                bytes: length,
                shape: Shape::Block,
            }),
        }
    }

    pub(crate) fn finish(mut self) -> Layout {
        match self.parts.len() {
            0 => return Layout::block(0),
            1 => return self.parts.swap_remove(0),
            _ => {}
        }
        if let Some(blocks) = equal_blocks(&self.parts) {
            return blocks;
        }
        let mut bytes = 0;
        let parts = self.parts.into_iter().map(|layout| {
            let before = bytes;
            bytes += layout.bytes;
            Part { before, layout }
        });
        let shape = Shape::Sequence(parts.collect());
        Layout {
            offset: 0,
            bytes,
            shape,
        }
    }
}

/// Two or more blocks of one length as a vector, if they are evenly spaced, or as a list of
/// offsets.
fn equal_blocks(parts: &[Layout]) -> Option<Layout> {
    let (first, second) = (&parts[0], &parts[1]);
    let block = first.bytes;
    if !parts
        .iter()
        .all(|part| part.bytes == block && matches!(part.shape, Shape::Block))
    {
        return None;
    }
    let count = parts.len() as u64;
    let bytes = block * count;
    let stride = second.offset.wrapping_sub(first.offset);
    if parts
        .windows(2)
        .all(|pair| pair[1].offset.wrapping_sub(pair[0].offset) == stride)
    {
        return Some(Layout {
            offset: first.offset,
            bytes,
            shape: Shape::Vector {
                count,
                stride,
                block,
            },
        });
    }
    let offsets = parts.iter().map(|part| part.offset).collect();
    Some(Layout {
        offset: 0,
        bytes,
        shape: Shape::Scatter { block, offsets },
    })
}
