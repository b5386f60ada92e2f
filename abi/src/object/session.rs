//! A session as C programs know it: the session itself and its error handler.

use std::ops::Deref;

use super::{Errhandler, ErrhandlerSlot};

/// What an `MPI_Session` stands for.
#[derive(Debug)]
pub struct Session {
    session: oxmpi_core::session::Session,
    /// Who is told of errors.
    pub errhandler: ErrhandlerSlot,
}

impl Session {
    /// A new one.
    pub fn new(session: oxmpi_core::session::Session, errhandler: Errhandler) -> Session {
        Session {
            session,
            errhandler: ErrhandlerSlot::new(errhandler),
        }
    }
}

impl Deref for Session {
    type Target = oxmpi_core::session::Session;

    fn deref(&self) -> &oxmpi_core::session::Session {
        &self.session
    }
}
