//! A position in a layout's packed bytes, and what lies there.
//!
//! Seeking descends the layout once, whatever the offset: a division per loop, a binary search per
//! sequence. From there the cursor yields strips (equal blocks at once, what copying loops want) or
//! runs (one contiguous piece each, what iovecs want). It allocates only for layouts that nest, and
//! holds indexes and references only, so whoever must stop can drop it and seek again to
//! [`Cursor::position`] later.

use super::layout::{Layout, Shape};

/// A contiguous piece of memory, relative to the buffer's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Run {
    /// Where it begins; may be negative.
    pub offset: i64,
    /// How long it is.
    pub bytes: usize,
}

/// Equal blocks that follow each other in packed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip<'a> {
    /// Bytes of each block.
    pub block: usize,
    /// Where the blocks are.
    pub places: Places<'a>,
}

/// Where the blocks of a strip begin, relative to the buffer's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places<'a> {
    /// At a constant distance.
    Even {
        /// Begin of the first.
        offset: i64,
        /// From one to the next.
        stride: i64,
        /// How many.
        count: usize,
    },
    /// Anywhere.
    Listed {
        /// What is added to every offset.
        base: i64,
        /// One per block.
        offsets: &'a [i64],
    },
}

impl Strip<'_> {
    /// Number of blocks.
    pub fn count(&self) -> usize {
        match self.places {
            Places::Even { count, .. } => count,
            Places::Listed { offsets, .. } => offsets.len(),
        }
    }

    /// Packed bytes.
    pub fn bytes(&self) -> usize {
        self.block * self.count()
    }

    /// Where block `index` begins.
    pub fn offset(&self, index: usize) -> i64 {
        match self.places {
            Places::Even { offset, stride, .. } => Layout::place(offset, stride, index as u64),
            Places::Listed { base, offsets } => base.wrapping_add(offsets[index]),
        }
    }
}

/// Walks through a layout from any packed offset. Call order: [`Cursor::seek`] any time, then
/// strips or runs.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    root: &'a Layout,
    /// The loops and sequences around the leaf, outermost first.
    around: Vec<Frame<'a>>,
    /// The block, vector or scatter that is being yielded.
    leaf: Leaf<'a>,
    position: u64,
}

/// A loop or sequence that has been entered.
#[derive(Clone, Debug)]
struct Frame<'a> {
    layout: &'a Layout,
    /// The layout's own begin, relative to the buffer's origin.
    base: i64,
    /// The repetition or part to enter next.
    next: u64,
}

#[derive(Clone, Debug)]
struct Leaf<'a> {
    layout: &'a Layout,
    base: i64,
    block: u64,
    /// Blocks there are, and the one to yield next.
    count: u64,
    next: u64,
    /// Bytes of that block already yielded.
    within: u64,
}

impl<'a> Cursor<'a> {
    /// At the begin.
    pub fn new(root: &'a Layout) -> Cursor<'a> {
        Cursor::at(root, 0)
    }

    /// At a packed offset; beyond the end means at the end.
    pub fn at(root: &'a Layout, position: u64) -> Cursor<'a> {
        let leaf = Leaf {
            layout: root,
            base: 0,
            block: 1,
            count: 0,
            next: 0,
            within: 0,
        };
        let mut cursor = Cursor {
            root,
            around: Vec::new(),
            leaf,
            position: 0,
        };
        cursor.seek(position);
        cursor
    }

    /// Packed bytes before the cursor.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Packed bytes that are left.
    pub fn left(&self) -> u64 {
        self.root.bytes() - self.position
    }

    /// Goes to a packed offset; beyond the end means to the end.
    pub fn seek(&mut self, position: u64) {
        self.around.clear();
        self.position = position.min(self.root.bytes());
        if self.position == self.root.bytes() {
            self.leaf.next = 0;
            self.leaf.count = 0;
            self.leaf.within = 0;
            return;
        }
        self.descend(self.root, self.root.offset(), self.position);
    }

    /// Enters `layout`, whose begin is `base`, down to the leaf that holds its packed byte
    /// `inside`.
    fn descend(&mut self, mut layout: &'a Layout, mut base: i64, mut inside: u64) {
        loop {
            let (next, below, origin) = match layout.shape() {
                Shape::Block => return self.enter(layout, base, layout.bytes(), 1, inside),
                Shape::Vector { count, block, .. } => {
                    return self.enter(layout, base, *block, *count, inside);
                }
                Shape::Scatter { block, offsets } => {
                    return self.enter(layout, base, *block, offsets.len() as u64, inside);
                }
                Shape::Loop { stride, body, .. } => {
                    let index = if inside < body.bytes() {
                        0
                    } else {
                        inside / body.bytes()
                    };
                    inside -= index * body.bytes();
                    (index + 1, &**body, Layout::place(base, *stride, index))
                }
                Shape::Sequence(parts) => {
                    let index = match inside {
                        0 => 0,
                        _ => parts.partition_point(|part| part.before <= inside) - 1,
                    };
                    inside -= parts[index].before;
                    (index as u64 + 1, &parts[index].layout, base)
                }
            };
            self.around.push(Frame { layout, base, next });
            base = origin.wrapping_add(below.offset());
            layout = below;
        }
    }

    fn enter(&mut self, layout: &'a Layout, base: i64, block: u64, count: u64, inside: u64) {
        let (next, within) = if inside == 0 {
            (0, 0)
        } else {
            (inside / block, inside % block)
        };
        self.leaf = Leaf {
            layout,
            base,
            block,
            count,
            next,
            within,
        };
    }

    /// Goes to the leaf after the one that is used up.
    fn advance(&mut self) -> bool {
        while let Some(frame) = self.around.last_mut() {
            let index = frame.next;
            let (below, origin) = match frame.layout.shape() {
                Shape::Loop {
                    count,
                    stride,
                    body,
                } if index < *count => (&**body, Layout::place(frame.base, *stride, index)),
                Shape::Sequence(parts) if index < parts.len() as u64 => {
                    (&parts[index as usize].layout, frame.base)
                }
                _ => {
                    self.around.pop();
                    continue;
                }
            };
            frame.next += 1;
            self.descend(below, origin.wrapping_add(below.offset()), 0);
            return true;
        }
        false
    }

    /// The next blocks, of `limit` bytes or less together; none at the end or when the limit is 0.
    pub fn strip(&mut self, limit: usize) -> Option<Strip<'a>> {
        let limit = limit as u64;
        if limit == 0 {
            return None;
        }
        while self.leaf.next == self.leaf.count {
            if !self.advance() {
                return None;
            }
        }
        let leaf = &mut self.leaf;
        let stride = match leaf.layout.shape() {
            Shape::Vector { stride, .. } => *stride,
            _ => 0,
        };
        let list: Option<&'a [i64]> = match leaf.layout.shape() {
            Shape::Scatter { offsets, .. } => Some(offsets),
            _ => None,
        };
        if leaf.within > 0 || limit < leaf.block {
            let begin = match list {
                Some(offsets) => leaf.base.wrapping_add(offsets[leaf.next as usize]),
                None => Layout::place(leaf.base, stride, leaf.next),
            };
            let bytes = limit.min(leaf.block - leaf.within);
            let offset = begin.wrapping_add(leaf.within as i64);
            leaf.within += bytes;
            if leaf.within == leaf.block {
                leaf.within = 0;
                leaf.next += 1;
            }
            self.position += bytes;
            return Some(Strip {
                block: bytes as usize,
                places: Places::Even {
                    offset,
                    stride: 0,
                    count: 1,
                },
            });
        }
        let left = leaf.count - leaf.next;
        // The division is spared where it can be seen that everything fits.
        let count = match left.checked_mul(leaf.block) {
            Some(bytes) if bytes <= limit => left,
            _ => left.min(limit / leaf.block),
        };
        let places = match list {
            Some(offsets) => {
                let from = leaf.next as usize;
                Places::Listed {
                    base: leaf.base,
                    offsets: &offsets[from..from + count as usize],
                }
            }
            None => {
                let offset = Layout::place(leaf.base, stride, leaf.next);
                Places::Even {
                    offset,
                    stride,
                    count: count as usize,
                }
            }
        };
        leaf.next += count;
        self.position += count * leaf.block;
        Some(Strip {
            block: leaf.block as usize,
            places,
        })
    }

    /// The next contiguous piece, of `limit` bytes or less.
    pub fn run(&mut self, limit: usize) -> Option<Run> {
        let block = match self.leaf.next < self.leaf.count {
            true => self.leaf.block,
            // The leaf will change; whatever comes is cut to one block below.
            false => {
                if !self.advance() {
                    return None;
                }
                self.leaf.block
            }
        };
        let strip = self.strip(limit.min(usize::try_from(block).unwrap_or(usize::MAX)))?;
        Some(Run {
            offset: strip.offset(0),
            bytes: strip.block,
        })
    }

    /// Fills `runs` with the next pieces, together `limit` bytes or less, joining those that touch;
    /// returns how many it filled. The cursor then stands behind the last of them.
    pub fn fill(&mut self, runs: &mut [Run], mut limit: usize) -> usize {
        let mut filled = 0;
        loop {
            let before = self.position;
            let Some(run) = self.run(limit) else {
                return filled;
            };
            limit -= run.bytes;
            if let Some(last) = runs[..filled].last_mut()
                && last.offset.checked_add_unsigned(last.bytes as u64) == Some(run.offset)
            {
                last.bytes += run.bytes;
                continue;
            }
            let Some(slot) = runs.get_mut(filled) else {
                self.seek(before);
                return filled;
            };
            *slot = run;
            filled += 1;
        }
    }

    /// The rest as contiguous pieces.
    pub fn runs(self) -> Runs<'a> {
        Runs(self)
    }
}

/// Iterator over the contiguous pieces of a layout, in packed order.
#[derive(Clone, Debug)]
pub struct Runs<'a>(Cursor<'a>);

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        self.0.run(usize::MAX)
    }
}
