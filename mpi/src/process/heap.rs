//! Memory for the program that the other processes of the host can map (MPI_Alloc_mem).
//!
//! Taking an extent costs several system calls, and every other process that maps it some more. So
//! a long block gets an extent of its own, and shorter ones share a region. What is free in a region
//! is a [`FreeList`]: pieces by address, joined with their neighbours when they come back. Windows
//! over such memory, and sends out of it, need no copy through a third place.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use oxmpi_engine::PortBuffer;

use super::Process;
use crate::error::ErrorKind;

/// Blocks up to this size share regions. At this length a copy of the block costs more than taking
/// an extent for it.
const REGION_BYTES: u64 = 2 << 20;

/// All such memory of a process.
#[derive(Default)]
pub(crate) struct Heap(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    /// Memory that blocks share, by the number that it was given.
    regions: BTreeMap<u64, Region>,
    made: u64,
    /// Every block in use, by its address.
    used: HashMap<u64, Block>,
}

struct Region {
    /// Kept for its drop.
    _memory: PortBuffer,
    free: FreeList,
    used: usize,
}

enum Block {
    /// It has memory of its own, which goes with it.
    Alone(#[allow(dead_code, reason = "kept for its drop")] PortBuffer),
    /// It lies in the region of this number.
    Part { region: u64, bytes: u64 },
}

impl Process {
    /// Memory that the other processes of the host can map. The alignment is a power of two.
    pub fn allocate_memory(&self, bytes: u64, align: u64) -> Result<*mut u8, ErrorKind> {
        let bytes = bytes.max(1);
        let mut blocks = self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.saturating_add(align) > REGION_BYTES {
            // Extents begin at pages; a stronger wish costs as much again.
            let room = if align > 4096 {
                bytes.saturating_add(align)
            } else {
                bytes
            };
            let memory = self.engine.allocate(room)?;
            let address = (memory.address() as u64).next_multiple_of(align);
            blocks.used.insert(address, Block::Alone(memory));
            return Ok(address as *mut u8);
        }
        let fitting = blocks.regions.iter_mut().find_map(|(number, region)| {
            let address = region.free.take(bytes, align)?;
            region.used += 1;
            Some((*number, address))
        });
        let (region, address) = match fitting {
            Some(found) => found,
            None => {
                let memory = self.engine.allocate(REGION_BYTES)?;
                let mut free = FreeList::new(memory.address() as u64, memory.bytes());
                let address = free.take(bytes, align);
                let address = address.expect("a new region has room for a block that is smaller");
                let number = blocks.made;
                blocks.made += 1;
                let (_memory, used) = (memory, 1);
                let region = Region {
                    _memory,
                    free,
                    used,
                };
                blocks.regions.insert(number, region);
                (number, address)
            }
        };
        blocks.used.insert(address, Block::Part { region, bytes });
        Ok(address as *mut u8)
    }

    /// Takes memory of [`Process::allocate_memory`] back; false if the address is not of such memory.
    pub fn free_memory(&self, address: *const u8) -> bool {
        let mut blocks = self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = address as u64;
        let Some(block) = blocks.used.remove(&address) else {
            return false;
        };
        let Block::Part { region, bytes } = block else {
            return true;
        };
        let several = blocks.regions.len() > 1;
        if let Some(found) = blocks.regions.get_mut(&region) {
            found.free.give(address, bytes);
            found.used -= 1;
            // One empty region stays for programs that take and give in turns.
            if found.used == 0 && several {
                blocks.regions.remove(&region);
            }
        }
        true
    }
}

/// Free pieces of a region: address and length. Neighbours are always joined.
#[derive(Debug, PartialEq, Eq)]
struct FreeList(BTreeMap<u64, u64>);

impl FreeList {
    fn new(address: u64, bytes: u64) -> FreeList {
        FreeList(BTreeMap::from([(address, bytes)]))
    }

    /// The first piece that is long enough, cut to size.
    fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let (start, length, address) = self.0.iter().find_map(|(&start, &length)| {
            let address = start.next_multiple_of(align);
            (address + bytes <= start + length).then_some((start, length, address))
        })?;
        self.0.remove(&start);
        if address > start {
            self.0.insert(start, address - start);
        }
        let (end, next) = (start + length, address + bytes);
        if next < end {
            self.0.insert(next, end - next);
        }
        Some(address)
    }

    /// A piece is free again.
    fn give(&mut self, address: u64, bytes: u64) {
        let (mut start, mut end) = (address, address + bytes);
        if let Some((&before, &length)) = self.0.range(..address).next_back()
            && before + length == address
        {
            start = before;
        }
        if let Some(length) = self.0.remove(&end) {
            end += length;
        }
        self.0.insert(start, end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random takes and gives: pieces never overlap, lie where asked, and all come back as one.
    #[test]
    fn pieces_never_overlap_and_become_one_again() {
        for seed in 1..=200_u64 {
            let mut state = seed;
            let mut random = |end: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % end
            };
            let (base, bytes) = (0x7000 + random(512) * 64, 1 << 16);
            let mut free = FreeList::new(base, bytes);
            let mut used: Vec<(u64, u64)> = Vec::new();
            for _ in 0..300 {
                if random(3) < 2 {
                    let (length, align) = (1 + random(3000), 1 << random(9));
                    if let Some(at) = free.take(length, align) {
                        assert_eq!(at % align, 0, "seed {seed}");
                        assert!(at >= base && at + length <= base + bytes, "seed {seed}");
                        let apart = |other: &(u64, u64)| at + length <= other.0 || other.1 <= at;
                        assert!(used.iter().all(apart), "seed {seed}");
                        used.push((at, at + length));
                    } else {
                        let total: u64 = free.0.values().sum();
                        let taken: u64 = used.iter().map(|piece| piece.1 - piece.0).sum();
                        assert_eq!(total + taken, bytes, "seed {seed}");
                    }
                } else if !used.is_empty() {
                    let (start, end) = used.swap_remove(random(used.len() as u64) as usize);
                    free.give(start, end - start);
                }
            }
            for (start, end) in used {
                free.give(start, end - start);
            }
            assert_eq!(free, FreeList::new(base, bytes), "seed {seed}");
        }
    }
}
