//! Whose memory a window is made of, and which way leads to it.
//!
//! [`Core`] is what the calls of the program and the service share: the ranks' parts, the words of
//! the host, the memory attached to a dynamic window.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::turn_lock::Turn;
use oxmpi_engine::{Engine, Mapping, PortBuffer};

use super::control::Control;
use super::message::Refusal;
use super::{Flavor, SharedPart};
use crate::communicator::{Comm, Context};
use crate::error::{ErrorKind, WindowError};

/// The context of requests to services, in the window's own communicator.
pub(super) const REQUESTS: Context = Context::Partitioned;
/// The context of data and answers.
pub(super) const DATA: Context = Context::Making;

/// A rank's memory as this process sees it.
pub(super) struct Part {
    /// Where it lies here; null if it is reached by message, or has no bytes.
    pub base: *mut u8,
    pub bytes: u64,
    pub unit: u32,
    /// The process behind the rank.
    pub process: u32,
    /// Its place among the ranks of this host, and its port.
    pub near: Option<Near>,
    /// This process may touch the memory itself.
    pub direct: bool,
    /// Bytes behind `base` that an operation may touch without a further question: all of them, or
    /// none if the memory is reached by message, or attached.
    pub reach: u64,
    /// Where it lies in its own process, if it is the program's.
    pub address: u64,
}

/// A rank of this host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Its place in the control block.
    pub index: usize,
    pub port: u32,
}

// SAFETY: an address that is used by whoever keeps MPI's rules; the rest is plain.
unsafe impl Send for Part {}
// SAFETY: as above.
unsafe impl Sync for Part {}

/// What keeps the memory there.
pub(super) struct Keep {
    /// The memory of the host that this process has made for all.
    pub _made: Option<PortBuffer>,
    /// Memory that other processes have made.
    pub _mapped: Vec<Mapping>,
}

/// See the top of this file.
pub(super) struct Core {
    pub comm: Arc<Comm>,
    pub flavor: Flavor,
    pub parts: Arc<[Part]>,
    pub control: Control,
    pub attached: Attached,
    /// Dropped last: the parts and the control block lie in it.
    pub _keep: Keep,
}

impl Core {
    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.comm.process.engine
    }

    #[inline(always)]
    pub(super) fn part(&self, rank: u32) -> &Part {
        &self.parts[rank as usize]
    }

    pub(super) fn own(&self) -> &Part {
        self.part(self.comm.rank)
    }

    /// This rank's place in the control block of its host.
    pub(super) fn own_index(&self) -> usize {
        self.own().near.expect("a rank shares its own host").index
    }

    pub(super) fn own_base(&self) -> *mut u8 {
        self.own().base
    }

    /// Where a rank's memory lies here; without a rank, that of the first one that has some.
    pub(super) fn shared_part(&self, rank: Option<u32>) -> SharedPart {
        let part = match rank {
            Some(rank) => Some(self.part(rank)),
            None => self.parts.iter().find(|part| part.bytes > 0),
        };
        let mapped = part.filter(|part| !part.base.is_null());
        SharedPart {
            base: mapped.map_or(std::ptr::null_mut(), |part| part.base),
            bytes: mapped.map_or(0, |part| part.bytes),
            unit: part.map_or(1, |part| part.unit),
        }
    }

    /// The address of `begin..end`, bytes counted from the beginning of this rank's memory (from
    /// address 0 in a dynamic window), if all of them belong to it.
    pub(super) fn own_address(&self, begin: i64, end: i64) -> Option<*mut u8> {
        if self.flavor == Flavor::Dynamic {
            let bytes = end.checked_sub(begin)?;
            let inside = self.attached.covers(begin as u64, bytes as u64);
            return inside.then_some(begin as usize as *mut u8);
        }
        let own = self.own();
        let inside = begin >= 0 && end >= begin && end as u64 <= own.bytes;
        inside.then(|| own.base.wrapping_add(begin as usize))
    }

    /// Wakes whoever may have the lock of a rank of this host now. True: that is a rank of another
    /// host, for which the service of the locked rank waits.
    pub(super) fn wake(&self, index: usize, turn: Turn) -> bool {
        if !turn.has_sleepers {
            return false;
        }
        let mut is_far = false;
        for (rank, part) in self.parts.iter().enumerate() {
            if self.control.entry(index, rank as u32).has(turn) {
                match part.near {
                    Some(near) => self.engine().wake(near.port),
                    None => is_far = true,
                }
            }
        }
        is_far
    }

    /// The error of a target that could not do its part.
    pub(super) fn refused(&self, target: u32, refusal: Refusal) -> ErrorKind {
        match refusal {
            Refusal::Memory {
                displacement,
                bytes,
            } if self.flavor == Flavor::Dynamic => WindowError::NotAttached {
                target,
                address: displacement as u64,
                bytes,
            }
            .into(),
            Refusal::Memory {
                displacement,
                bytes,
            } => WindowError::Range {
                target,
                displacement,
                unit: 1,
                begin: displacement,
                end: displacement.saturating_add_unsigned(bytes),
                bytes: self.part(target).bytes,
            }
            .into(),
            Refusal::Died { process } => self.engine().loss_of(process).into(),
            Refusal::Garbled => WindowError::Garbled { target }.into(),
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let engine = self.engine().clone();
        for context in [REQUESTS, DATA] {
            engine.forget_members(self.comm.context(context));
        }
    }
}

/// Memory attached to a dynamic window: disjoint, ordered by address.
#[derive(Default)]
pub(super) struct Attached(Mutex<Vec<(u64, u64)>>);

impl Attached {
    fn regions(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, address: u64, bytes: u64) -> Result<(), WindowError> {
        let mut regions = self.regions();
        let end = address.checked_add(bytes);
        if address == 0 && bytes > 0 || end.is_none() || bytes > i64::MAX as u64 {
            return Err(WindowError::Null { bytes });
        }
        let overlaps = |&&(begin, length): &&(u64, u64)| {
            bytes > 0 && length > 0 && address < begin + length && begin < address + bytes
        };
        if let Some(&(other, other_bytes)) = regions.iter().find(overlaps) {
            return Err(WindowError::Overlap {
                address,
                bytes,
                other,
                other_bytes,
            });
        }
        let at = regions.partition_point(|region| *region < (address, bytes));
        regions.insert(at, (address, bytes));
        Ok(())
    }

    pub(super) fn remove(&self, address: u64) -> Result<(), WindowError> {
        let mut regions = self.regions();
        let at = regions.iter().position(|(begin, _)| *begin == address);
        let at = at.ok_or(WindowError::Detach { address })?;
        regions.remove(at);
        Ok(())
    }

    /// Whether all of the bytes are attached. Regions that touch count as one.
    fn covers(&self, address: u64, bytes: u64) -> bool {
        let regions = self.regions();
        let mut from = address;
        let Some(end) = address.checked_add(bytes) else {
            return false;
        };
        let first = regions.partition_point(|(begin, _)| *begin <= address);
        for &(begin, length) in &regions[first.saturating_sub(1)..] {
            if begin > from {
                break;
            }
            from = from.max(begin + length);
            if from >= end {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_memory_is_found() {
        let attached = Attached::default();
        assert!(!attached.covers(100, 1));
        attached.add(100, 50).unwrap();
        attached.add(150, 50).unwrap();
        attached.add(300, 10).unwrap();
        assert!(attached.covers(100, 100) && attached.covers(199, 1) && attached.covers(300, 10));
        assert!(!attached.covers(99, 2) && !attached.covers(199, 2) && !attached.covers(305, 6));
        assert!(!attached.covers(u64::MAX, 2));
        assert!(matches!(
            attached.add(290, 11),
            Err(WindowError::Overlap { other: 300, .. })
        ));
        assert!(matches!(attached.add(0, 4), Err(WindowError::Null { .. })));
        attached.remove(150).unwrap();
        let missing = Err(WindowError::Detach { address: 150 });
        assert_eq!(attached.remove(150), missing);
        assert!(!attached.covers(100, 51) && attached.covers(100, 50));
    }
}
