//! Memory that a process lets others use, by address, and what is under way in it.
//!
//! A dynamic window's attached memory is such a list. Who moves data into a region or out of it
//! *holds* it meanwhile ([`Regions::hold`]), so that memory in use is not taken away. Offsets into
//! one region, which `oxmpi::pm` uses, are checked by the same rule ([`place`]).

use std::ops::Range;

/// Where `bytes` bytes from `offset` on lie in memory of `length` bytes, if it has them.
pub fn place(length: u64, offset: u64, bytes: u64) -> Option<Range<u64>> {
    let end = offset.checked_add(bytes)?;
    (end <= length).then_some(offset..end)
}

/// What is done with memory that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is read: data that others get.
    Read,
    /// It is changed: data that others put, or combine.
    Change,
}

/// Why memory was not added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It overlaps this region.
    Overlap {
        /// Where that begins.
        address: u64,
        /// Its length.
        bytes: u64,
    },
    /// It has no address, or goes beyond the last.
    Nowhere,
    /// No region begins there.
    Unknown,
    /// Data is on its way out of the region; that ends without anybody's doing.
    Read,
    /// Data of others is on its way into the region.
    Changed {
        /// The region's length.
        bytes: u64,
        /// How many transfers.
        transfers: u32,
    },
}

/// Regions of a process.
#[derive(Debug, Default)]
pub struct Regions {
    /// Disjoint, ordered by address.
    regions: Vec<Region>,
    /// The addresses of those without bytes, which no access meets.
    empty: Vec<u64>,
}

#[derive(Debug)]
struct Region {
    begin: u64,
    bytes: u64,
    reads: u32,
    changes: u32,
}

impl Region {
    fn end(&self) -> u64 {
        self.begin + self.bytes
    }

    fn overlaps(&self, address: u64, bytes: u64) -> bool {
        address < self.end() && self.begin < address + bytes
    }

    fn holds(&mut self, what: Use) -> &mut u32 {
        match what {
            Use::Read => &mut self.reads,
            Use::Change => &mut self.changes,
        }
    }
}

impl Regions {
    /// Adds memory that overlaps no other.
    pub fn add(&mut self, address: u64, bytes: u64) -> Result<(), Obstacle> {
        let end = address.checked_add(bytes);
        if address == 0 && bytes > 0 || end.is_none() || bytes > i64::MAX as u64 {
            return Err(Obstacle::Nowhere);
        }
        if bytes == 0 {
            self.empty.push(address);
            return Ok(());
        }
        if let Some(other) = self
            .regions
            .iter()
            .find(|region| region.overlaps(address, bytes))
        {
            let (address, bytes) = (other.begin, other.bytes);
            return Err(Obstacle::Overlap { address, bytes });
        }
        let at = self
            .regions
            .partition_point(|region| region.begin < address);
        let region = Region {
            begin: address,
            bytes,
            reads: 0,
            changes: 0,
        };
        self.regions.insert(at, region);
        Ok(())
    }

    /// Removes the region that begins at this address, unless it is held.
    pub fn remove(&mut self, address: u64) -> Result<(), Obstacle> {
        let found = self.regions.iter().position(|one| one.begin == address);
        let Some(at) = found else {
            let empty = self.empty.iter().position(|one| *one == address);
            self.empty.swap_remove(empty.ok_or(Obstacle::Unknown)?);
            return Ok(());
        };
        match self.regions[at] {
            Region {
                changes: transfers @ 1..,
                bytes,
                ..
            } => Err(Obstacle::Changed { bytes, transfers }),
            Region { reads: 1.., .. } => Err(Obstacle::Read),
            _ => {
                self.regions.remove(at);
                Ok(())
            }
        }
    }

    /// Holds what these bytes lie in, if all of them are there. Regions that touch count as one.
    pub fn hold(&mut self, address: u64, bytes: u64, what: Use) -> bool {
        let Some(covering) = self.covering(address, bytes) else {
            return false;
        };
        let covering = &mut self.regions[covering];
        covering.iter_mut().for_each(|one| *one.holds(what) += 1);
        true
    }

    /// Gives back what [`Regions::hold`] has held with the same arguments.
    pub fn release(&mut self, address: u64, bytes: u64, what: Use) {
        let covering = self.covering(address, bytes);
        let covering = &mut self.regions[covering.expect("what is held is not removed")];
        covering.iter_mut().for_each(|one| *one.holds(what) -= 1);
    }

    /// The regions in which these bytes lie, which are at least one.
    fn covering(&self, address: u64, bytes: u64) -> Option<Range<usize>> {
        let end = address.checked_add(bytes)?;
        let first = self
            .regions
            .partition_point(|region| region.end() <= address);
        let mut from = address;
        for (at, region) in self.regions.iter().enumerate().skip(first) {
            if region.begin > from {
                break;
            }
            from = from.max(region.end());
            if from >= end {
                return Some(first..at + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(regions: &mut Regions, address: u64, bytes: u64) -> bool {
        let held = regions.hold(address, bytes, Use::Read);
        if held {
            regions.release(address, bytes, Use::Read);
        }
        held
    }

    #[test]
    fn memory_is_found() {
        let all = &mut Regions::default();
        assert!(!covers(all, 100, 1));
        all.add(100, 50).unwrap();
        all.add(150, 50).unwrap();
        all.add(300, 10).unwrap();
        assert!(covers(all, 100, 100) && covers(all, 199, 1) && covers(all, 300, 10));
        assert!(!covers(all, 99, 2) && !covers(all, 199, 2) && !covers(all, 305, 6));
        assert!(!covers(all, u64::MAX, 2));
        let overlap = Obstacle::Overlap {
            address: 300,
            bytes: 10,
        };
        assert_eq!(all.add(290, 11), Err(overlap));
        assert_eq!(all.add(0, 4), Err(Obstacle::Nowhere));
        all.remove(150).unwrap();
        assert_eq!(all.remove(150), Err(Obstacle::Unknown));
        assert!(!covers(all, 100, 51) && covers(all, 100, 50));
    }

    #[test]
    fn memory_of_no_bytes_is_added_and_removed() {
        let all = &mut Regions::default();
        all.add(104, 0).unwrap();
        all.add(100, 8).unwrap();
        assert!(covers(all, 100, 8) && covers(all, 105, 1));
        all.remove(104).unwrap();
        all.remove(100).unwrap();
        assert_eq!(all.remove(104), Err(Obstacle::Unknown));
    }

    #[test]
    fn memory_in_use_stays() {
        let all = &mut Regions::default();
        all.add(100, 50).unwrap();
        all.add(150, 50).unwrap();
        // Over both.
        assert!(all.hold(140, 20, Use::Change) && all.hold(150, 1, Use::Read));
        let changed = Err(Obstacle::Changed {
            bytes: 50,
            transfers: 1,
        });
        assert_eq!(all.remove(100), changed);
        assert_eq!(all.remove(150), changed);
        all.release(140, 20, Use::Change);
        assert_eq!(all.remove(150), Err(Obstacle::Read));
        assert_eq!(all.remove(100), Ok(()));
        all.release(150, 1, Use::Read);
        assert_eq!(all.remove(150), Ok(()));
    }

    #[test]
    fn a_place_is_within_its_memory_or_nowhere() {
        assert_eq!(place(10, 2, 8), Some(2..10));
        assert_eq!(place(10, 10, 0), Some(10..10));
        for (length, offset, bytes) in [(10, 3, 8), (10, 11, 0), (10, u64::MAX, 2), (0, 0, 1)] {
            assert_eq!(place(length, offset, bytes), None);
        }
    }
}
