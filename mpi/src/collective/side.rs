//! One side of a collective, what is read or what is written, as one place that a schedule can
//! name.
//!
//! Contiguous memory is used where it lies; blocks of the variants with v and w may lie anywhere,
//! so their offsets count from the lowest address among them. Memory that is not contiguous is
//! packed into a copy, block after block: a schedule sees packed data and nothing else. `load`
//! fills the copy before a run, `store` brings results back after it; both do nothing where the
//! program's own memory is used.

use super::description::Parts;
use crate::buffer::{Buffer, memory};
use crate::error::ErrorKind;
use oxmpi_schedules::{Block, Place, Region};

/// The memory of one side. Most are one block of the program's memory: an address and a length is
/// all there is to them, and making and dropping one costs nothing.
pub(super) struct Side {
    /// Where the offsets of a schedule count from.
    address: *mut u8,
    /// From there to the end of the last block.
    bytes: usize,
    /// What is not one block of the program's memory.
    scattered: Option<Box<Scattered>>,
}

struct Scattered {
    /// The program's memory.
    parts: Parts,
    /// The packed copy, if one is needed; the side's address is its address then.
    packed: Option<Vec<u8>>,
    /// Where each block lies; empty when they are equal.
    blocks: Vec<Block>,
}

// SAFETY: `address` is memory of a `Buffer`, which may be used from any thread, or of `packed`.
unsafe impl Send for Side {}

impl Side {
    /// A side of which nothing is used.
    #[inline]
    pub(super) fn none() -> Side {
        Side {
            address: std::ptr::dangling_mut(),
            bytes: 0,
            scattered: None,
        }
    }

    #[inline]
    pub(super) fn one(buffer: Buffer) -> Result<Side, ErrorKind> {
        let bytes = buffer.bytes() as usize;
        if let Some(address) = buffer.contiguous() {
            return Ok(Side {
                address,
                bytes,
                scattered: None,
            });
        }
        Side::packed(Parts::Equal(buffer), Vec::new(), bytes)
    }

    #[inline]
    pub(super) fn new(parts: Parts) -> Result<Side, ErrorKind> {
        match parts {
            Parts::Equal(buffer) => Side::one(buffer),
            Parts::Each(buffers) => Side::each(buffers),
        }
    }

    fn each(buffers: Vec<Buffer>) -> Result<Side, ErrorKind> {
        let used = || buffers.iter().filter(|buffer| buffer.bytes() > 0);
        if used().any(|buffer| buffer.contiguous().is_none()) {
            let (blocks, bytes) = consecutive(&buffers)?;
            return Side::packed(Parts::Each(buffers), blocks, bytes);
        }
        let mut side = Side::none();
        let at = |buffer: &Buffer| buffer.contiguous().unwrap_or(side.address);
        let low = used().map(at).min().unwrap_or(side.address);
        let block = |buffer: &Buffer| match buffer.bytes() as usize {
            0 => Block::default(),
            bytes => Block {
                offset: at(buffer) as usize - low as usize,
                bytes,
            },
        };
        let blocks: Vec<Block> = buffers.iter().map(block).collect();
        let ends = blocks.iter().map(|block| block.offset + block.bytes);
        (side.address, side.bytes) = (low, ends.max().unwrap_or(0));
        side.scattered = Some(Box::new(Scattered {
            parts: Parts::Each(buffers),
            packed: None,
            blocks,
        }));
        Ok(side)
    }

    /// A side that is a packed copy even of contiguous memory.
    pub(super) fn copied(buffer: Buffer) -> Result<Side, ErrorKind> {
        let bytes = buffer.bytes() as usize;
        Side::packed(Parts::Equal(buffer), Vec::new(), bytes)
    }

    /// A side that is a packed copy.
    fn packed(parts: Parts, blocks: Vec<Block>, bytes: usize) -> Result<Side, ErrorKind> {
        let mut packed = memory(bytes as u64)?;
        let address = packed.as_mut_ptr();
        let packed = Some(packed);
        let scattered = Scattered {
            parts,
            packed,
            blocks,
        };
        Ok(Side {
            address,
            bytes,
            scattered: Some(Box::new(scattered)),
        })
    }

    /// Moves blocks away from memory that the other side uses too, perhaps between them.
    pub(super) fn keep_apart(&mut self, other: &Side) -> Result<(), ErrorKind> {
        if !self.overlaps(other) {
            return Ok(());
        }
        if let Some(scattered) = &self.scattered
            && let Parts::Each(buffers) = &scattered.parts
        {
            let (blocks, bytes) = consecutive(buffers)?;
            *self = Side::packed(scattered.parts.clone(), blocks, bytes)?;
        }
        Ok(())
    }

    /// Whether the two spans share an address.
    pub(super) fn overlaps(&self, other: &Side) -> bool {
        let (here, there) = (self.address as usize, other.address as usize);
        self.bytes > 0
            && other.bytes > 0
            && here < there.saturating_add(other.bytes)
            && there < here.saturating_add(self.bytes)
    }

    /// Whether a block of one side and a block of the other, both where the program has them, share
    /// an address. Blocks may lie between those of the other side; then only the spans overlap.
    pub(super) fn shares_memory(&self, other: &Side) -> bool {
        if !self.overlaps(other) {
            return false;
        }
        let mut blocks = Vec::new();
        for (side, is_own) in [(self, true), (other, false)] {
            let whole = [Block {
                offset: 0,
                bytes: side.bytes,
            }];
            let used = side.blocks().unwrap_or(&whole).iter();
            blocks.extend(used.filter(|block| block.bytes > 0).map(|block| {
                let start = side.address as usize + block.offset;
                (start, start + block.bytes, is_own)
            }));
        }
        blocks.sort_unstable();
        // How far the blocks of either side reach that begin no later than the one at hand.
        let (mut own_end, mut other_end) = (0, 0);
        for (start, end, is_own) in blocks {
            let (own, across) = match is_own {
                true => (&mut own_end, other_end),
                false => (&mut other_end, own_end),
            };
            if start < across {
                return true;
            }
            *own = end.max(*own);
        }
        false
    }

    #[inline]
    pub(super) fn span(&self) -> (*mut u8, usize) {
        (self.address, self.bytes)
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where each block lies, of blocks that are not equal.
    pub(super) fn blocks(&self) -> Option<&[Block]> {
        match &**self.scattered.as_ref()? {
            Scattered {
                parts: Parts::Each(_),
                blocks,
                ..
            } => Some(blocks),
            _ => None,
        }
    }

    /// The block of a peer, of so many.
    pub(super) fn block(&self, place: Place, peer: u32, peers: u32) -> Region {
        let Block { offset, bytes } = match self.blocks() {
            Some(blocks) => blocks[peer as usize],
            None => {
                let bytes = self.bytes / peers.max(1) as usize;
                let offset = peer as usize * bytes;
                Block { offset, bytes }
            }
        };
        Region {
            place,
            offset,
            bytes,
        }
    }

    /// Packs the program's data into the copy.
    #[inline]
    pub(super) fn load(&mut self) {
        if let Some(scattered) = &mut self.scattered {
            scattered.load();
        }
    }

    /// Brings the first `bytes` of the copy (of equal blocks; else all of it) to where the program
    /// wants them.
    #[inline]
    pub(super) fn store(&self, bytes: usize) {
        if let Some(scattered) = &self.scattered {
            scattered.store(bytes);
        }
    }
}

impl Scattered {
    fn load(&mut self) {
        let Some(packed) = &mut self.packed else {
            return;
        };
        match &self.parts {
            Parts::Equal(buffer) => buffer.pack_into(packed),
            Parts::Each(buffers) => {
                for (buffer, block) in buffers.iter().zip(&self.blocks) {
                    buffer.pack_into(&mut packed[block.offset..][..block.bytes]);
                }
            }
        }
    }

    fn store(&self, bytes: usize) {
        let Some(packed) = &self.packed else {
            return;
        };
        match &self.parts {
            Parts::Equal(buffer) => buffer.unpack(&packed[..bytes]),
            Parts::Each(buffers) => {
                for (buffer, block) in buffers.iter().zip(&self.blocks) {
                    buffer.unpack(&packed[block.offset..][..block.bytes]);
                }
            }
        }
    }
}

/// The blocks of these buffers one after the other, and their bytes together.
fn consecutive(buffers: &[Buffer]) -> Result<(Vec<Block>, usize), ErrorKind> {
    let mut offset = 0usize;
    let mut blocks = Vec::with_capacity(buffers.len());
    for buffer in buffers {
        let bytes = buffer.bytes() as usize;
        blocks.push(Block { offset, bytes });
        offset = match offset.checked_add(bytes) {
            Some(end) => end,
            None => return Err(ErrorKind::Memory { bytes: u64::MAX }),
        };
    }
    Ok((blocks, offset))
}
