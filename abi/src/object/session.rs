//! A session as C programs know it.

use oxmpi::Attached;

use super::{Errhandler, ErrhandlerSlot};

/// What an `MPI_Session` stands for.
#[derive(Debug)]
pub struct Session {
    /// Who is told of errors.
    pub errhandler: ErrhandlerSlot,
    attached: Attached,
}

impl Session {
    /// A new one.
    pub fn new(errhandler: Errhandler) -> Session {
        Session {
            errhandler: ErrhandlerSlot::new(errhandler),
            attached: Attached::default(),
        }
    }

    /// Space for buffered sends of its communicators.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }
}
