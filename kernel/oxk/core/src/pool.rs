//! Where bytes of unexpected messages lie until a receive comes: blocks of one credit unit each,
//! chained. Chains cannot fragment, so what the credits allow always fits; blocks are handed out in
//! order at first, so most chains are long runs of memory.

use alloc::vec;
use alloc::vec::Vec;

use oxmpi_wire::CREDIT_UNIT;

use crate::bits::NONE;

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = CREDIT_UNIT as usize;

pub(crate) struct Pool {
    bytes: Vec<u8>,
    /// The next block of the same message, or the next vacant one.
    next: Vec<u32>,
    vacant: u32,
}

/// The blocks of a message.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    pub first: u32,
    last: u32,
    /// Bytes that are there.
    pub bytes: u64,
}

impl Chain {
    pub(crate) const EMPTY: Chain = Chain {
        first: NONE,
        last: NONE,
        bytes: 0,
    };
}

impl Pool {
    pub(crate) fn new(blocks: usize) -> Pool {
        let next = (0..blocks).map(|block| {
            if block + 1 < blocks {
                block as u32 + 1
            } else {
                NONE
            }
        });
        Pool {
            bytes: vec![0; blocks * BLOCK_BYTES],
            next: next.collect(),
            vacant: if blocks > 0 { 0 } else { NONE },
        }
    }

    pub(crate) const fn bytes(blocks: usize) -> usize {
        blocks * (BLOCK_BYTES + size_of::<u32>())
    }

    /// Appends bytes to a message. `false`: there are no blocks left, which the credits exclude.
    #[must_use]
    pub(crate) fn append(&mut self, chain: &mut Chain, mut data: &[u8]) -> bool {
        while !data.is_empty() {
            let used = (chain.bytes % BLOCK_BYTES as u64) as usize;
            if used == 0 && !self.grow(chain) {
                return false;
            }
            let take = data.len().min(BLOCK_BYTES - used);
            let (now, later) = data.split_at(take);
            let at = chain.last as usize * BLOCK_BYTES + used;
            self.bytes[at..at + take].copy_from_slice(now);
            chain.bytes += take as u64;
            data = later;
        }
        true
    }

    fn grow(&mut self, chain: &mut Chain) -> bool {
        let block = self.vacant;
        if block == NONE {
            return false;
        }
        self.vacant = self.next[block as usize];
        self.next[block as usize] = NONE;
        match chain.last {
            NONE => chain.first = block,
            last => self.next[last as usize] = block,
        }
        chain.last = block;
        true
    }

    /// The longest run of memory that begins with a block, of at most so many bytes; and the block
    /// behind it.
    pub(crate) fn run(&self, block: u32, bytes_max: u64) -> (&[u8], u32) {
        if block == NONE || bytes_max == 0 {
            return (&[], block);
        }
        let (mut last, mut blocks) = (block, 1);
        while blocks * (BLOCK_BYTES as u64) < bytes_max && self.next[last as usize] == last + 1 {
            last += 1;
            blocks += 1;
        }
        let bytes = bytes_max.min(blocks * BLOCK_BYTES as u64) as usize;
        let at = block as usize * BLOCK_BYTES;
        (&self.bytes[at..at + bytes], self.next[last as usize])
    }

    /// Gives the blocks of a message back.
    pub(crate) fn free(&mut self, chain: Chain) {
        if chain.first != NONE {
            self.next[chain.last as usize] = self.vacant;
            self.vacant = chain.first;
        }
    }
}
