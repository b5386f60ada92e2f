//! Making and freeing windows: collective calls on a communicator (MPI 5.0 §12.2).
//!
//! The ranks tell each other their sizes; then the first rank of each host makes memory for the
//! control block and, where the window's memory is ours to choose, for the parts of all ranks of
//! the host, and tells where it is. So a window takes one piece of shared memory per host.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use oxmpi_engine::{Mapping, PortBuffer};

use super::control::Control;
use super::epoch::Epoch;
use super::lock::HeldLocks;
use super::memory::{Attached, Core, DATA, Keep, Near, Part, REQUESTS};
use super::origin::Origin;
use super::target::Service;
use super::word::Turns;
use super::{Flavor, Window};
use crate::communicator::Comm;
use crate::error::{CommunicatorError, ErrorKind, WindowError};
use crate::info::Info;
use crate::label::Label;
use crate::process::Task;

/// Parts that need not follow each other begin at a page.
const PAGE: u64 = 4096;

/// What a rank tells of its part.
#[derive(Clone, Copy, Debug, Default, oxmpi_datatypes::Plain)]
#[repr(C)]
struct Facts {
    bytes: u64,
    unit: u64,
    /// 1 + the offset in the host's memory, if the program's memory lies there.
    offset: u64,
    /// Where the program's memory lies in its own process.
    address: u64,
    /// 1: the parts of a shared window may be apart.
    apart: u64,
}

/// What the first rank of a host tells of the memory it has made, and every rank of its success.
#[derive(Clone, Copy, Debug, Default, oxmpi_datatypes::Plain)]
#[repr(C)]
struct Made {
    /// 1: it has worked.
    done: u64,
    offset: u64,
}

impl Window {
    /// A window over memory of the program (MPI_Win_create).
    ///
    /// # Safety
    /// The memory must stay valid until the window is freed.
    pub unsafe fn create(
        comm: &Comm,
        base: *mut u8,
        bytes: i64,
        unit: i64,
        info: Option<&Info>,
    ) -> Result<Window, ErrorKind> {
        let (size, unit) = checked(bytes, unit)?;
        if base.is_null() && size > 0 {
            return Err(WindowError::Null { bytes: size }.into());
        }
        let mut facts = Facts {
            bytes: size,
            unit,
            address: base as u64,
            ..Facts::default()
        };
        if size > 0 {
            let offset = comm.process.engine.offset_of(base, size);
            facts.offset = offset.map_or(0, |offset| offset + 1);
        }
        make(comm, Flavor::Create, facts, base, info)
    }

    /// A window over memory that is made for it (MPI_Win_allocate): [`Window::base`].
    pub fn allocate(
        comm: &Comm,
        bytes: i64,
        unit: i64,
        info: Option<&Info>,
    ) -> Result<Window, ErrorKind> {
        let (bytes, unit) = checked(bytes, unit)?;
        let facts = Facts {
            bytes,
            unit,
            apart: 1,
            ..Facts::default()
        };
        make(comm, Flavor::Allocate, facts, std::ptr::null_mut(), info)
    }

    /// A window over memory that all ranks map (MPI_Win_allocate_shared); they must share a host.
    pub fn allocate_shared(
        comm: &Comm,
        bytes: i64,
        unit: i64,
        info: Option<&Info>,
    ) -> Result<Window, ErrorKind> {
        let (bytes, unit) = checked(bytes, unit)?;
        let engine = &comm.process.engine;
        let mut ranks = comm.group().processes().iter();
        if let Some(other) = ranks.position(|process| engine.port_of(*process).is_none()) {
            let (first, other) = (comm.rank, other as u32);
            return Err(WindowError::NotShared { first, other }.into());
        }
        let apart = info.and_then(|info| info.get_text("alloc_shared_noncontig"));
        let facts = Facts {
            bytes,
            unit,
            apart: u64::from(apart.is_some_and(|apart| apart == "true")),
            ..Facts::default()
        };
        make(comm, Flavor::Shared, facts, std::ptr::null_mut(), info)
    }

    /// A window to which memory is attached later (MPI_Win_create_dynamic).
    pub fn create_dynamic(comm: &Comm, info: Option<&Info>) -> Result<Window, ErrorKind> {
        let facts = Facts {
            unit: 1,
            ..Facts::default()
        };
        make(comm, Flavor::Dynamic, facts, std::ptr::null_mut(), info)
    }

    /// Whether no epoch hinders [`Window::free`].
    pub fn check_free(&self) -> Result<(), ErrorKind> {
        Ok(self.epoch.check_free()?)
    }

    /// Ends the window: all ranks wait until none uses it any more. Its memory is gone when the
    /// last handle is dropped. Attributes are deleted before by [`Window::delete_attributes`].
    /// Collective. After an error about epochs, or about a rank that has died, the window is as it
    /// was.
    pub fn free(&self) -> Result<(), ErrorKind> {
        self.epoch.check_free()?;
        let flushed = self.origin.flush_all(&self.core);
        self.meet()?;
        self.end_service();
        flushed
    }

    fn end_service(&self) {
        if let Some(service) = &self.service {
            service.with(Service::close);
            self.core.comm.process.background.step_if_active();
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.end_service();
    }
}

fn checked(bytes: i64, unit: i64) -> Result<(u64, u64), WindowError> {
    if bytes < 0 {
        return Err(WindowError::Size { bytes });
    }
    match u32::try_from(unit) {
        Ok(known) if known > 0 => Ok((bytes as u64, u64::from(known))),
        _ => Err(WindowError::Unit { unit }),
    }
}

/// The window of all ranks' facts.
fn make(
    comm: &Comm,
    flavor: Flavor,
    facts: Facts,
    base: *mut u8,
    info: Option<&Info>,
) -> Result<Window, ErrorKind> {
    if comm.is_inter() {
        let call = flavor.call();
        return Err(CommunicatorError::IsInter { call }.into());
    }
    let comm = Arc::new(comm.dup()?);
    comm.bind_members();
    let mut all = vec![Facts::default(); comm.size as usize];
    comm.allgather_plain(&[facts], &mut all)?;
    let host = Host::of(&comm, flavor, &all);
    let (made, offset) = host.obtain(&comm)?;
    let placed = host.place(&comm, flavor, &all, base, made, offset);
    let done = placed.is_ok();
    agree(
        &comm,
        Made {
            done: done.into(),
            offset: 0,
        },
    )?
    .map_err(|rank| failed(&comm, rank))?;
    let (parts, control, keep) = placed?;
    let members: Arc<[u32]> = comm.group().processes().into();
    for context in [REQUESTS, DATA] {
        let engine = &comm.process.engine;
        engine.set_members(comm.context(context), members.clone());
    }
    let served = !host.is_mapped_by_all(flavor, &all, comm.rank, comm.size);
    let asks = parts.iter().any(|part| !part.direct);
    let works = comm.size > 1 && (served || asks);
    let core = Arc::new(Core {
        comm,
        flavor,
        parts,
        control,
        attached: Attached::default(),
        _keep: keep,
    });
    let origin = Arc::new(Origin::new(core.comm.size));
    let service = works.then(|| {
        let task = Task::new(Service::new(core.clone(), origin.clone()));
        core.comm.process.background.start(task.clone());
        task
    });
    let window = Window {
        epoch: Epoch::new(core.comm.size),
        origin,
        service,
        held: HeldLocks::new(core.comm.size),
        told: Mutex::default(),
        turns: Turns::new(core.comm.size),
        awaited: Mutex::default(),
        is_parted: AtomicBool::new(false),
        label: Label::default(),
        handle: AtomicU64::new(0),
        parts: core.parts.clone(),
        core,
    };
    info.inspect(|info| window.set_info(info));
    Ok(window)
}

/// What every rank says of its part of the work; the first rank that failed, if one did.
fn agree(comm: &Comm, own: Made) -> Result<Result<Vec<Made>, u32>, ErrorKind> {
    let mut all = vec![Made::default(); comm.size as usize];
    comm.allgather_plain(&[own], &mut all)?;
    let failed = all.iter().position(|made| made.done == 0);
    Ok(failed.map_or(Ok(all), |rank| Err(rank as u32)))
}

fn failed(comm: &Comm, leader: u32) -> ErrorKind {
    debug_assert!(leader < comm.size);
    CommunicatorError::LeaderFailed { leader }.into()
}

/// The ranks of this host and where their parts lie in the host's memory.
struct Host {
    /// By place: rank and port.
    near: Vec<(u32, u32)>,
    /// By place: where the part begins, behind the beginning of the host's memory.
    offsets: Vec<u64>,
    bytes: u64,
}

impl Host {
    fn of(comm: &Comm, flavor: Flavor, all: &[Facts]) -> Host {
        let engine = &comm.process.engine;
        let ranks = (0..comm.size).filter_map(|rank| {
            let port = engine.port_of(comm.process_of(rank))?;
            Some((rank, port))
        });
        let near: Vec<(u32, u32)> = ranks.collect();
        let control = Control::bytes(near.len(), comm.size as usize);
        let mut bytes = control.next_multiple_of(PAGE);
        let mut offsets = Vec::new();
        if matches!(flavor, Flavor::Allocate | Flavor::Shared) {
            let apart = near.iter().all(|(rank, _)| all[*rank as usize].apart == 1);
            for (rank, _) in &near {
                if apart {
                    bytes = bytes.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
                }
                offsets.push(bytes);
                bytes = bytes.saturating_add(all[*rank as usize].bytes);
            }
        }
        Host {
            near,
            offsets,
            bytes,
        }
    }

    /// The host's memory: its first rank makes it, all get to know where it is.
    fn obtain(&self, comm: &Comm) -> Result<(Option<PortBuffer>, u64), ErrorKind> {
        let leader = self.near[0].0;
        let made = (leader == comm.rank).then(|| comm.process.engine.allocate(self.bytes));
        let own = Made {
            done: u64::from(!matches!(made, Some(Err(_)))),
            offset: match &made {
                Some(Ok(made)) => made.offset(),
                _ => 0,
            },
        };
        let all = agree(comm, own)?;
        let made = made.transpose()?;
        let all = all.map_err(|rank| failed(comm, rank))?;
        Ok((made, all[leader as usize].offset))
    }

    /// Maps what can be mapped.
    fn place(
        &self,
        comm: &Comm,
        flavor: Flavor,
        all: &[Facts],
        base: *mut u8,
        made: Option<PortBuffer>,
        offset: u64,
    ) -> Result<(Arc<[Part]>, Control, Keep), ErrorKind> {
        let engine = &comm.process.engine;
        let mut mapped: Vec<Mapping> = Vec::new();
        let block = match &made {
            Some(made) => made.address(),
            None => {
                let mapping = engine.map(offset, self.bytes)?;
                let address = mapping.at(offset);
                mapped.push(mapping);
                address
            }
        };
        // SAFETY: the memory was made for this, zero at first; it is kept with the control block.
        let control = unsafe { Control::at(block, self.near.len(), comm.size as usize) };
        let mut parts = Vec::with_capacity(all.len());
        for (rank, facts) in all.iter().enumerate() {
            let index = self.near.iter().position(|(near, _)| *near == rank as u32);
            let near = index.map(|index| Near {
                index,
                port: self.near[index].1,
            });
            let own = rank as u32 == comm.rank;
            let address = match (flavor, near) {
                (Flavor::Allocate | Flavor::Shared, Some(near)) => {
                    Some(block.wrapping_add(self.offsets[near.index] as usize))
                }
                (Flavor::Create, Some(_)) if own => Some(base),
                (Flavor::Create, Some(_)) if facts.bytes == 0 => Some(std::ptr::null_mut()),
                (Flavor::Create, Some(_)) if facts.offset > 0 => {
                    let mapping = engine.map(facts.offset - 1, facts.bytes)?;
                    let address = mapping.at(facts.offset - 1);
                    mapped.push(mapping);
                    Some(address)
                }
                (Flavor::Dynamic, _) if own => Some(std::ptr::null_mut()),
                _ => None,
            };
            parts.push(Part {
                base: address.unwrap_or(std::ptr::null_mut()),
                bytes: facts.bytes,
                unit: facts.unit as u32,
                process: comm.process_of(rank as u32),
                near,
                direct: address.is_some(),
                reach: match address {
                    Some(_) if flavor != Flavor::Dynamic => facts.bytes,
                    _ => 0,
                },
                address: facts.address,
            });
        }
        let keep = Keep {
            _made: made,
            _mapped: mapped,
        };
        Ok((parts.into(), control, keep))
    }

    /// Whether every rank of the window touches this rank's memory by itself.
    fn is_mapped_by_all(&self, flavor: Flavor, all: &[Facts], rank: u32, size: u32) -> bool {
        let facts = &all[rank as usize];
        let is_mapped = match flavor {
            Flavor::Allocate | Flavor::Shared => true,
            Flavor::Create => facts.offset > 0 || facts.bytes == 0,
            Flavor::Dynamic => false,
        };
        is_mapped && self.near.len() == size as usize
    }
}
