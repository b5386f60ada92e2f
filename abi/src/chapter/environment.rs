//! Starting, ending and describing the process (MPI 5.0 §11.1 to §11.3), and memory for messages
//! (§9.2).

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use crate::argument::{FlagOut, Out, TextOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::fatal;
use crate::handle::{Handle, Object};
use crate::object::{Communicator, Errhandler, Info, handle_for};
use crate::stage::{self, World};

/// The level of thread support that the world was given.
static LEVEL: AtomicI32 = AtomicI32::new(MPI_THREAD_SINGLE);
/// The thread that initialised the world.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Memory of MPI_Alloc_mem begins at a cache line: rings and boards copy such blocks fastest.
const MEMORY_ALIGN: usize = 64;
/// Up to this size memory of MPI_Alloc_mem is ordinary memory.
const PAGE_BYTES: i64 = 4096;

pub fn init(call: &Call, _: *mut c_void, _: *mut c_void) -> Result<(), Failure> {
    begin(call, MPI_THREAD_SINGLE).map(|_| ())
}

pub fn init_thread(
    call: &Call,
    _: *mut c_void,
    _: *mut c_void,
    required: i32,
    provided: Out<i32>,
) -> Result<(), Failure> {
    provided.set(begin(call, required)?);
    Ok(())
}

/// The world begins, with at most the level of threads that was asked for.
fn begin(call: &Call, required: i32) -> Result<i32, Failure> {
    if !stage::LEVELS.contains(&required) {
        let text = format!(
            "{required} is not a level of thread support; use one of MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE"
        );
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    if !stage::move_world(World::Before, World::Inside) {
        let why = match stage::world() {
            World::After => {
                "MPI_Finalize was called before, and the world cannot be initialised again"
            }
            _ => "it was called before; a process initialises once",
        };
        return Err(Failure::new(
            MPI_ERR_OTHER,
            format!("{}: {why}", call.name()),
        ));
    }
    let process = match stage::join(required) {
        Ok(process) => process,
        Err(failure) => {
            stage::move_world(World::Inside, World::Before);
            return Err(failure);
        }
    };
    // What was asked of it before did not know the job.
    Info::table().uninstall(MPI_INFO_ENV);
    let provided = required.min(stage::level_max());
    LEVEL.store(provided, Ordering::Relaxed);
    let _ = MAIN.set(thread::current().id());
    let worlds = [
        (MPI_COMM_WORLD, process.world()),
        (MPI_COMM_SELF, process.this()),
    ];
    for (handle, comm) in worlds {
        comm.set_handle(handle.0 as u64);
        let communicator = Communicator::new(Arc::new(comm), Errhandler::initial());
        Communicator::table().install(handle, communicator);
    }
    Ok(provided)
}

pub fn finalize(_: &Call) -> Result<(), Failure> {
    if stage::world() != World::Inside {
        let why = match stage::world() {
            World::After => "it was called before",
            _ => "MPI_Init was not called",
        };
        return Err(Failure::new(MPI_ERR_OTHER, format!("MPI_Finalize: {why}")));
    }
    // First of all, while everything works, the attributes of MPI_COMM_SELF, the last one first
    // (§11.2.4).
    if let Some(this) = Communicator::table().get(MPI_COMM_SELF) {
        this.delete_attributes()?;
    }
    let process = stage::joined()?;
    process.attached.detach()?;
    stage::move_world(World::Inside, World::After);
    Communicator::table().uninstall(MPI_COMM_WORLD);
    Communicator::table().uninstall(MPI_COMM_SELF);
    stage::leave();
    Ok(())
}

pub fn initialized(_: &Call, flag: FlagOut) -> Result<(), Failure> {
    flag.set(stage::world() != World::Before);
    Ok(())
}

pub fn finalized(_: &Call, flag: FlagOut) -> Result<(), Failure> {
    flag.set(stage::world() == World::After);
    Ok(())
}

pub fn query_thread(_: &Call, provided: Out<i32>) -> Result<(), Failure> {
    provided.set(LEVEL.load(Ordering::Relaxed));
    Ok(())
}

pub fn is_thread_main(_: &Call, flag: FlagOut) -> Result<(), Failure> {
    flag.set(MAIN.get() == Some(&thread::current().id()));
    Ok(())
}

pub fn abort(_: &Call, _: &Communicator, code: i32) -> Result<(), Failure> {
    if let Some(process) = stage::process() {
        process.set_abort(code);
    }
    std::process::exit(code)
}

pub fn get_processor_name(_: &Call, name: TextOut, length: Out<i32>) -> Result<(), Failure> {
    let host = fatal::host();
    length.set(name.set(host.as_bytes()));
    Ok(())
}

pub fn get_hw_resource_info(_: &Call, hw_info: Out<Handle>) -> Result<(), Failure> {
    let info = Info::new();
    // What is known of every process: it shares memory with those of its host.
    info.set("mpi_shared_memory", "true")?;
    hw_info.set(handle_for(info)?);
    Ok(())
}

pub fn alloc_mem(
    _: &Call,
    size: i64,
    info: Option<&Info>,
    base: Out<*mut c_void>,
) -> Result<(), Failure> {
    let asked = info.and_then(|info| info.get_text("mpi_minimum_memory_alignment"));
    let asked = asked.and_then(|bytes| bytes.trim().parse::<usize>().ok());
    let align = asked.filter(|bytes| bytes.is_power_of_two());
    let align = align.unwrap_or(MEMORY_ALIGN).max(MEMORY_ALIGN);
    // What is longer than a page lies where the other processes of the host can map it, so that
    // windows over it are reached directly; if there is none of that, ordinary memory serves as
    // well.
    if size > PAGE_BYTES
        && let Ok(memory) = stage::joined()?.allocate_memory(size as u64, align as u64)
    {
        base.set(memory.cast());
        return Ok(());
    }
    let mut memory: *mut c_void = std::ptr::null_mut();
    // SAFETY: `memory` is a place for an address.
    let refused = unsafe { libc::posix_memalign(&mut memory, align, (size as usize).max(1)) };
    if refused != 0 {
        return Err(Failure::new(
            MPI_ERR_NO_MEM,
            format!("no memory for {size} bytes"),
        ));
    }
    ordinary().insert(memory.addr());
    base.set(memory);
    Ok(())
}

pub fn free_mem(_: &Call, base: *mut c_void) -> Result<(), Failure> {
    if stage::process().is_some_and(|process| process.free_memory(base.cast())) {
        return Ok(());
    }
    if base.is_null() {
        return Ok(());
    }
    if !ordinary().remove(&base.addr()) {
        let text = format!(
            "base is {base:p}, which is not memory of MPI_Alloc_mem, or no longer: each block is \
             freed once, by the address that MPI_Alloc_mem gave"
        );
        return Err(Failure::new(MPI_ERR_BASE, text));
    }
    // SAFETY: the address is one that `alloc_mem` got from the C library, and nobody has freed it.
    unsafe { libc::free(base) };
    Ok(())
}

/// The blocks of MPI_Alloc_mem that are ordinary memory, by their addresses.
fn ordinary() -> MutexGuard<'static, BTreeSet<usize>> {
    static ORDINARY: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    ORDINARY.lock().unwrap_or_else(PoisonError::into_inner)
}
