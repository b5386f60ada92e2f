//! A communicator as C programs know it: the communicator itself, its name, its error handler, its attributes and its info.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use oxmpi::attribute::Attributes;
use oxmpi::communicator::Comm;
use oxmpi::info::Info;

use super::{Errhandler, ErrhandlerSlot};

/// What an `MPI_Comm` stands for.
pub struct Communicator {
    /// The communicator.
    pub comm: Arc<Comm>,
    name: Mutex<String>,
    /// Who is told of errors.
    pub errhandler: ErrhandlerSlot,
    /// What the program has cached on it.
    pub attributes: Attributes,
    /// The hints that it was given.
    pub info: Mutex<Info>,
}

impl Communicator {
    /// A new one. Those made from another inherit its error handler (MPI 5.0 §9.3), nothing else.
    pub fn new(comm: Arc<Comm>, errhandler: Errhandler) -> Communicator {
        Communicator {
            comm,
            name: Mutex::new(String::new()),
            errhandler: ErrhandlerSlot::new(errhandler),
            attributes: Attributes::new(),
            info: Mutex::new(Info::new()),
        }
    }

    /// Its name; empty if it has none.
    pub fn name(&self) -> String {
        self.name
            .lock()
            .expect("nothing panics while it holds this lock")
            .clone()
    }

    /// Gives it a name.
    pub fn set_name(&self, name: &str) {
        *self
            .name
            .lock()
            .expect("nothing panics while it holds this lock") = name.into();
    }
}

impl Deref for Communicator {
    type Target = Arc<Comm>;

    #[inline]
    fn deref(&self) -> &Arc<Comm> {
        &self.comm
    }
}
