//! A session as C programs know it: the session itself, its error handler and its space for buffered sends.

use std::ops::Deref;

use oxmpi::Attached;

use super::{Errhandler, ErrhandlerSlot};

/// What an `MPI_Session` stands for.
#[derive(Debug)]
pub struct Session {
    session: oxmpi::session::Session,
    /// Who is told of errors.
    pub errhandler: ErrhandlerSlot,
    attached: Attached,
}

impl Session {
    /// A new one.
    pub fn new(session: oxmpi::session::Session, errhandler: Errhandler) -> Session {
        Session {
            session,
            errhandler: ErrhandlerSlot::new(errhandler),
            attached: Attached::default(),
        }
    }

    /// Space for buffered sends of its communicators.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }
}

impl Deref for Session {
    type Target = oxmpi::session::Session;

    fn deref(&self) -> &oxmpi::session::Session {
        &self.session
    }
}
