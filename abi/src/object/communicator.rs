//! A communicator as C programs know it: the communicator itself, which carries name, attributes
//! and hints, and its error handler.

use std::ops::Deref;
use std::sync::Arc;

use oxmpi_core::communicator::Comm;

use super::{Errhandler, ErrhandlerSlot};
use crate::failure::Failure;
use crate::handle::Handle;
use crate::request_table;

/// What an `MPI_Comm` stands for.
pub struct Communicator {
    /// The communicator.
    pub comm: Arc<Comm>,
    /// Who is told of errors.
    pub errhandler: ErrhandlerSlot,
}

impl Communicator {
    /// A new one. Those made from another inherit its error handler (MPI 5.0 §9.3).
    pub fn new(comm: Arc<Comm>, errhandler: Errhandler) -> Communicator {
        Communicator {
            comm,
            errhandler: ErrhandlerSlot::new(errhandler),
        }
    }

    /// Gives a communicator a handle, which it remembers.
    pub fn new_handle(
        comm: impl Into<Arc<Comm>>,
        errhandler: Errhandler,
    ) -> Result<Handle, Failure> {
        let comm = comm.into();
        let handle = super::handle_for(Communicator::new(comm.clone(), errhandler))?;
        comm.set_handle(handle.0 as u64);
        Ok(handle)
    }

    /// Its name as text; empty if it has none.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.comm.name()).into_owned()
    }
}

impl Deref for Communicator {
    type Target = Arc<Comm>;

    #[inline]
    fn deref(&self) -> &Arc<Comm> {
        &self.comm
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        request_table::keep_for_requests(&self.comm);
    }
}
