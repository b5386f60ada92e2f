//! Whose memory a window is made of, and which way leads to it.
//!
//! [`Core`] is what the calls of the program and the service share: the ranks' parts, the words of
//! the host, the memory attached to a dynamic window.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxmpi_engine::turn_lock::Turn;
use oxmpi_engine::{Condition, Engine, Mapping, PortBuffer};
use oxmpi_windows::message::Refusal;
use oxmpi_windows::region::{Obstacle, Regions, Use};

use super::control::Control;
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
        // A rank without memory has no address that could be of use; MPICH's answer is the same.
        let mapped = part.filter(|part| part.bytes > 0 && !part.base.is_null());
        SharedPart {
            base: mapped.map_or(std::ptr::null_mut(), |part| part.base),
            bytes: mapped.map_or(0, |part| part.bytes),
            unit: part.map_or(1, |part| part.unit),
        }
    }

    /// The address of `begin..end`, bytes counted from the beginning of this rank's memory (from
    /// address 0 in a dynamic window), if all of them belong to it. Attached memory is held for as
    /// long as it is used.
    pub(super) fn own_address(
        &self,
        begin: i64,
        end: i64,
        what: Use,
    ) -> Option<(*mut u8, Option<Held>)> {
        if self.flavor == Flavor::Dynamic {
            let bytes = end.checked_sub(begin)?;
            let held = self.attached.hold(begin as u64, bytes as u64, what)?;
            return Some((begin as usize as *mut u8, Some(held)));
        }
        let own = self.own();
        let inside = begin >= 0 && end >= begin && end as u64 <= own.bytes;
        inside.then(|| (own.base.wrapping_add(begin as usize), None))
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

/// Memory attached to a dynamic window.
#[derive(Default)]
pub(super) struct Attached(Arc<Mutex<Regions>>);

/// Attached memory that is being used: it cannot be detached meanwhile.
pub(super) struct Held {
    attached: Attached,
    address: u64,
    bytes: u64,
    what: Use,
}

impl Attached {
    fn regions(&self) -> MutexGuard<'_, Regions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, address: u64, bytes: u64) -> Result<(), WindowError> {
        let added = self.regions().add(address, bytes);
        added.map_err(|obstacle| refusal(obstacle, address, bytes))
    }

    /// Tells of data that is on its way out by `Ok(false)`: nothing was removed then.
    pub(super) fn remove(&self, address: u64) -> Result<bool, WindowError> {
        match self.regions().remove(address) {
            Ok(()) => Ok(true),
            Err(Obstacle::Read) => Ok(false),
            Err(obstacle) => Err(refusal(obstacle, address, 0)),
        }
    }

    fn hold(&self, address: u64, bytes: u64, what: Use) -> Option<Held> {
        let held = self.regions().hold(address, bytes, what);
        held.then(|| Held {
            attached: Attached(self.0.clone()),
            address,
            bytes,
            what,
        })
    }
}

/// A thread detaches memory, and waits for data that leaves it.
pub(super) struct Detached<'a> {
    attached: &'a Attached,
    address: u64,
    outcome: Option<Result<(), WindowError>>,
}

impl<'a> Detached<'a> {
    pub(super) fn new(attached: &'a Attached, address: u64) -> Self {
        Detached {
            attached,
            address,
            outcome: None,
        }
    }

    /// What has come of it, once it is met.
    pub(super) fn outcome(self) -> Result<(), WindowError> {
        self.outcome.expect("it was waited for")
    }
}

impl Condition for Detached<'_> {
    fn is_met(&mut self) -> bool {
        if self.outcome.is_none() {
            self.outcome = match self.attached.remove(self.address) {
                Ok(false) => None,
                Ok(true) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
        }
        self.outcome.is_some()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let regions = &mut self.attached.regions();
        regions.release(self.address, self.bytes, self.what);
    }
}

fn refusal(obstacle: Obstacle, address: u64, bytes: u64) -> WindowError {
    match obstacle {
        Obstacle::Nowhere => WindowError::Null { bytes },
        Obstacle::Overlap {
            address: other,
            bytes: other_bytes,
        } => WindowError::Overlap {
            address,
            bytes,
            other,
            other_bytes,
        },
        Obstacle::Unknown => WindowError::Detach { address },
        Obstacle::Changed { bytes, transfers } => WindowError::InUse {
            address,
            bytes,
            transfers,
        },
        Obstacle::Read => unreachable!("who removes waits until it has been read"),
    }
}
