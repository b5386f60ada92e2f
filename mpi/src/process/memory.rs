//! Memory for the program that the other processes of the host can map (MPI_Alloc_mem): sends out
//! of it are copied once, and windows over it are reached without messages.

use std::sync::{Mutex, MutexGuard, PoisonError};

use oxmpi_engine::PortBuffer;

use super::Process;
use crate::error::ErrorKind;

/// What the program has been given, by address.
#[derive(Default)]
pub(crate) struct Allocated(Mutex<Vec<PortBuffer>>);

impl Allocated {
    fn list(&self) -> MutexGuard<'_, Vec<PortBuffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Memory for the program, zeroed and aligned to a page: whole pages, so not for a few bytes.
    pub fn allocate_memory(&self, bytes: u64) -> Result<*mut u8, ErrorKind> {
        let memory = self.engine.allocate(bytes)?;
        let address = memory.address();
        self.allocated.list().push(memory);
        Ok(address)
    }

    /// Takes it back. False: the address is none that was given out here.
    pub fn free_memory(&self, address: *const u8) -> bool {
        let mut list = self.allocated.list();
        let found = list
            .iter()
            .position(|memory| memory.address() == address.cast_mut());
        let memory = found.map(|at| list.swap_remove(at));
        // Giving memory back is a call of the system: not under the lock.
        drop(list);
        memory.is_some()
    }
}
