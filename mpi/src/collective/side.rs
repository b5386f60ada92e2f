//! One side of a collective, what is read or what is written, as one place that a schedule can name.
//!
//! Contiguous memory is used where it lies; blocks of the variants with v and w may lie anywhere, so their offsets count from the
//! lowest address among them. Memory that is not contiguous is packed into a copy, block after block: a schedule sees packed data
//! and nothing else. `load` fills the copy before a run, `store` brings results back after it; both do nothing
//! where the program's own memory is used.

use super::description::Parts;
use crate::buffer::{Buffer, memory};
use crate::collectives::{Block, Place, Region};
use crate::error::ErrorKind;

/// The memory of one side.
pub(super) struct Side {
    /// Where the offsets of a schedule count from.
    address: *mut u8,
    /// From there to the end of the last block.
    bytes: usize,
    /// The program's memory.
    parts: Parts,
    /// The packed copy, if one is needed; `address` is its address then.
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
            parts: Parts::Equal(Buffer::empty()),
            packed: None,
            blocks: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn one(buffer: Buffer) -> Result<Side, ErrorKind> {
        let bytes = buffer.bytes() as usize;
        let mut side = Side {
            bytes,
            ..Side::none()
        };
        match buffer.contiguous() {
            Some(address) => side.address = address,
            None => side.stage()?,
        }
        side.parts = Parts::Equal(buffer);
        Ok(side)
    }

    #[inline]
    pub(super) fn new(parts: Parts) -> Result<Side, ErrorKind> {
        match parts {
            Parts::Equal(buffer) => Side::one(buffer),
            Parts::Each(buffers) => Side::each(buffers),
        }
    }

    fn each(buffers: Vec<Buffer>) -> Result<Side, ErrorKind> {
        let mut side = Side::none();
        let used = || buffers.iter().filter(|buffer| buffer.bytes() > 0);
        if used().all(|buffer| buffer.contiguous().is_some()) {
            let address = |buffer: &Buffer| buffer.contiguous().map_or(0, |at| at as usize);
            let low = used().map(address).min().unwrap_or(0);
            let block = |buffer: &Buffer| match buffer.bytes() as usize {
                0 => Block::default(),
                bytes => Block {
                    offset: address(buffer) - low,
                    bytes,
                },
            };
            side.blocks = buffers.iter().map(block).collect();
            if let Some(lowest) = used().min_by_key(|buffer| address(buffer)) {
                side.address = lowest
                    .contiguous()
                    .expect("all used buffers are contiguous");
            }
            let ends = side.blocks.iter().map(|block| block.offset + block.bytes);
            side.bytes = ends.max().unwrap_or(0);
        } else {
            side.blocks = consecutive(&buffers)?;
            side.bytes = side.blocks.iter().map(|block| block.bytes).sum();
            side.stage()?;
        }
        side.parts = Parts::Each(buffers);
        Ok(side)
    }

    /// Goes over to a packed copy.
    fn stage(&mut self) -> Result<(), ErrorKind> {
        let packed = self.packed.insert(memory(self.bytes as u64)?);
        self.address = packed.as_mut_ptr();
        Ok(())
    }

    /// Moves the data away from memory that the other side uses too.
    pub(super) fn keep_apart(&mut self, other: &Side) -> Result<(), ErrorKind> {
        if !self.overlaps(other) || self.packed.is_some() {
            return Ok(());
        }
        if let Parts::Each(buffers) = &self.parts {
            self.blocks = consecutive(buffers)?;
            self.bytes = self.blocks.iter().map(|block| block.bytes).sum();
        }
        self.stage()
    }

    /// Whether the two spans share an address.
    pub(super) fn overlaps(&self, other: &Side) -> bool {
        let (here, there) = (self.address as usize, other.address as usize);
        self.bytes > 0
            && other.bytes > 0
            && here < there.saturating_add(other.bytes)
            && there < here.saturating_add(self.bytes)
    }

    /// Whether all of it is one block of the program's memory.
    pub(super) fn is_whole(&self) -> bool {
        self.packed.is_none() && matches!(self.parts, Parts::Equal(_))
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
        match self.parts {
            Parts::Equal(_) => None,
            Parts::Each(_) => Some(&self.blocks),
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
    pub(super) fn load(&mut self) {
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

    /// Brings the first `bytes` of the copy (of equal blocks; else all of it) to where the program wants them.
    pub(super) fn store(&self, bytes: usize) {
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

/// The blocks of these buffers one after the other.
fn consecutive(buffers: &[Buffer]) -> Result<Vec<Block>, ErrorKind> {
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
    Ok(blocks)
}
